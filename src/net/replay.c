#include "net/replay.h"

#include "base/buf.h"

#include <stdlib.h>

struct replay {
    struct stream stream;
    struct stream *below;
    const struct stream_events *events;
    void *ctx;
    struct buf first;
    struct timer again;
    bool paused, closed, busy;
};

static struct replay *of(struct stream *s) { return (struct replay *)s; }

static void release(struct replay *r)
{
    buf_done(&r->first);
    free(r);
}

static void give_first(void *ctx)
{
    struct replay *r = ctx;
    struct buf first = r->first;
    if (r->paused) return;
    r->first = BUF_EMPTY;
    r->busy = true;
    if (first.n) r->events->data(r->ctx, first.p, first.n);
    r->busy = false;
    buf_done(&first);
    if (r->closed) release(r);
    else if (!r->paused) stream_pause(r->below, false);
}

static void on_data(void *ctx, uint8_t *p, size_t n)
{
    struct replay *r = ctx;
    r->events->data(r->ctx, p, n);
}

static void on_end(void *ctx, err_t e)
{
    struct replay *r = ctx;
    r->events->end(r->ctx, e);
}

static void on_written(void *ctx)
{
    struct replay *r = ctx;
    r->events->written(r->ctx);
}

static void op_start(struct stream *stream, const struct stream_events *events, void *ctx)
{
    static const struct stream_events below = {on_data, on_end, on_written};
    struct replay *r = of(stream);
    r->events = events;
    r->ctx = ctx;
    stream_start(r->below, &below, r);
    stream_pause(r->below, true);
    timer_start(&stream->loop->tasks, &r->again, 0);
}

static void op_pause(struct stream *stream, bool paused)
{
    struct replay *r = of(stream);
    r->paused = paused;
    if (!r->first.n && !r->busy) stream_pause(r->below, paused);
    else if (!paused && !r->busy) timer_start(&stream->loop->tasks, &r->again, 0);
}

static enum write_result op_write(struct stream *stream, const struct iovec *parts, size_t count)
{
    return stream_write(of(stream)->below, parts, count);
}

static struct addr op_local(struct stream *stream) { return stream_local(of(stream)->below); }
static bool op_half_close(struct stream *stream) { return stream_half_close(of(stream)->below); }

static void op_close(struct stream *stream)
{
    struct replay *r = of(stream);
    if (r->closed) return;
    r->closed = true;
    timer_stop(&stream->loop->tasks, &r->again);
    stream_close(r->below);
    if (!r->busy) release(r);
}

struct stream *replay_stream_new(struct stream *below, struct slice first)
{
    static const struct stream_ops ops = {op_start, op_pause, op_write, op_close, op_local, op_half_close};
    struct replay *r = must_zero(sizeof *r);
    r->stream = (struct stream){below->loop, &ops};
    r->below = below;
    buf_put_slice(&r->first, first);
    timer_init(&r->again, give_first, r);
    return &r->stream;
}
