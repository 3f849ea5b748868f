#include "net/conn.h"

#include <assert.h>
#include <stdlib.h>

enum {
    SPARES_MAX = 16,
    SPARE_BYTES_MAX = 512 * 1024,   /* larger buffers are freed, not kept */
    IOV_PARTS_MAX = 256,
};

/* A piece of output: pinned bytes, or a range of the output buffer. */
struct part {
    struct pinned pinned;   /* bytes.p NULL: the range */
    size_t at;
    size_t n;
};

struct output {
    struct buf bytes;
    struct buf parts;       /* of struct part */
    size_t ranged;          /* bytes of the buffer that are in parts */
    size_t total;
};

struct conn {
    struct list_node node;      /* in dirty or closing */
    struct conn_group *group;
    struct stream *stream;
    const struct conn_events *events;
    struct conn_limits limits;
    void *ctx;
    struct buf in;              /* a unit that has not come whole */
    struct output out;          /* gathered in this turn */
    struct output writing;      /* on its way: WRITE_LATER */
    bool is_writing;
    bool held;                  /* by its owner */
    bool paused;                /* too much is unsent: nothing is read, nor handed over */
    bool finishing;             /* what is unsent is the last that is said; what comes is thrown away */
    bool said_end;
    bool closed;
    struct timer timer;         /* paused: ends what is stalled; else: goes on with `in` in a turn of its own */
    int64_t active_ms;
};

/* --- buffers --- */

static struct buf take_buffer(struct conn_group *g)
{
    return g->spares ? g->spare[--g->spares] : BUF_EMPTY;
}

static void give_back(struct conn_group *g, struct buf *b)
{
    if (g->spares < SPARES_MAX && b->cap && b->cap <= SPARE_BYTES_MAX) {
        b->n = 0;
        g->spare[g->spares++] = *b;
        *b = BUF_EMPTY;
    } else {
        buf_done(b);
    }
}

static void output_done(struct conn_group *g, struct output *o)
{
    struct part *parts = (struct part *)(void *)o->parts.p;
    for (size_t i = 0; i < o->parts.n / sizeof *parts; i++) pin_release(&parts[i].pinned);
    give_back(g, &o->bytes);
    give_back(g, &o->parts);
    *o = (struct output){.bytes = BUF_EMPTY, .parts = BUF_EMPTY};
}

/* --- output --- */

static void add_range(struct output *o)
{
    if (o->ranged == o->bytes.n) return;
    struct part part = {.at = o->ranged, .n = o->bytes.n - o->ranged};
    buf_put(&o->parts, &part, sizeof part);
    o->total += part.n;
    o->ranged = o->bytes.n;
}

struct buf *conn_out(struct conn *c)
{
    if (!c->out.bytes.cap) c->out.bytes = take_buffer(c->group);
    return &c->out.bytes;
}

void conn_out_pinned(struct conn *c, struct pinned *p)
{
    struct output *o = &c->out;
    if (!o->parts.cap) o->parts = take_buffer(c->group);
    add_range(o);
    struct part part = {.pinned = *p, .n = p->bytes.n};
    buf_put(&o->parts, &part, sizeof part);
    o->total += part.n;
    *p = (struct pinned){{NULL, 0}, NULL, NULL};
}

static void mark_dirty(struct conn *c)
{
    if (!list_linked(&c->node)) list_add(&c->group->dirty, &c->node);
}

void conn_sent(struct conn *c)
{
    if (!c->closed) mark_dirty(c);
}

size_t conn_unsent_bytes(const struct conn *c)
{
    return c->out.total + (c->out.bytes.n - c->out.ranged) + c->writing.total;
}

int64_t conn_active_ms(const struct conn *c) { return c->active_ms; }

/* Memory for replies is bounded: who does not read them is not read from, and in the end closed. Units that have come already
 * wait in `in`. */
static void pause_if_over(struct conn *c)
{
    if (c->closed || c->paused || conn_unsent_bytes(c) <= c->limits.max_unsent_bytes) return;
    c->paused = true;
    stream_pause(c->stream, true);
    timer_start(&c->group->loop->tasks, &c->timer, c->limits.stalled_close_ms);
}

static void check_unsent(struct conn *c)
{
    pause_if_over(c);
    if (!c->paused || conn_unsent_bytes(c) > c->limits.max_unsent_bytes / 2) return;
    c->paused = false;
    timer_start(&c->group->loop->tasks, &c->timer, 0);
}

/* The iovecs for all parts of an output. */
static size_t gather(struct output *o, struct iovec *iov)
{
    struct part *parts = (struct part *)(void *)o->parts.p;
    size_t count = o->parts.n / sizeof *parts;
    for (size_t i = 0; i < count; i++) {
        void *p = parts[i].pinned.bytes.p ? (void *)parts[i].pinned.bytes.p : o->bytes.p + parts[i].at;
        iov[i] = (struct iovec){p, parts[i].n};
    }
    return count;
}

static enum write_result write_output(struct conn *c, struct output *o)
{
    struct iovec few[IOV_PARTS_MAX];
    size_t count = o->parts.n / sizeof(struct part);
    struct iovec *iov = count <= IOV_PARTS_MAX ? few : must_alloc(count * sizeof *iov);
    gather(o, iov);
    enum write_result result = stream_write(c->stream, iov, count);
    if (iov != few) free(iov);
    return result;
}

static void flush(struct conn *c)
{
    if (c->is_writing) return;   /* goes on when that is done */
    if (c->said_end) {
        output_done(c->group, &c->out);
        return;
    }
    if (!c->out.parts.cap) c->out.parts = take_buffer(c->group);
    add_range(&c->out);
    if (!c->out.total) {
        output_done(c->group, &c->out);
        return;
    }
    c->active_ms = tasks_mono_ms(&c->group->loop->tasks);
    c->writing = c->out;
    c->out = (struct output){.bytes = BUF_EMPTY, .parts = BUF_EMPTY};
    if (write_output(c, &c->writing) == WRITE_DONE) output_done(c->group, &c->writing);
    else c->is_writing = true;
    check_unsent(c);
}

static void on_written(void *ctx)
{
    struct conn *c = ctx;
    c->is_writing = false;
    output_done(c->group, &c->writing);
    c->active_ms = tasks_mono_ms(&c->group->loop->tasks);
    if (c->paused) timer_start(&c->group->loop->tasks, &c->timer, c->limits.stalled_close_ms);
    check_unsent(c);
    if (conn_unsent_bytes(c) || c->finishing) mark_dirty(c);
    if (c->events->taken) c->events->taken(c->ctx);
}

/* --- input --- */

/* Hands over the whole units at the front of p; returns how many bytes they took. */
static size_t take_units(struct conn *c, uint8_t *p, size_t n)
{
    size_t done = 0;
    while (done < n && !c->closed && !c->paused && !c->held) {
        size_t size;
        err_t e = c->events->size(p + done, n - done, &size);
        if (e) {
            c->events->end(c->ctx, e);
            break;
        }
        if (!size || size > n - done) break;
        c->events->unit(c->ctx, p + done, size);
        done += size;
        pause_if_over(c);
    }
    return done;
}

/* Adds to the unit that is incomplete no more than it needs, so that the units behind it are not copied. The buffer grows
 * with what has come, not with what a length field promises. Returns the bytes used. */
static size_t complete_unit(struct conn *c, const uint8_t *p, size_t n)
{
    size_t size;
    err_t e = c->events->size(c->in.p, c->in.n, &size);
    if (e) {
        c->events->end(c->ctx, e);
        return n;
    }
    size_t want = size ? size - c->in.n : 1;
    size_t use = want < n ? want : n;
    buf_put(&c->in, p, use);
    if (size && use == want) {
        struct buf whole = c->in;
        c->in = BUF_EMPTY;
        struct conn_group *g = c->group;
        c->events->unit(c->ctx, whole.p, whole.n);
        give_back(g, &whole);
        pause_if_over(c);
    }
    return use;
}

static void keep_rest(struct conn *c, const uint8_t *p, size_t n)
{
    if (!n || c->closed) return;
    if (!c->in.cap) c->in = take_buffer(c->group);
    buf_put(&c->in, p, n);
}

static void on_data(void *ctx, uint8_t *p, size_t n)
{
    struct conn *c = ctx;
    c->active_ms = tasks_mono_ms(&c->group->loop->tasks);
    if (c->finishing) return;
    while (n && c->in.n && !c->closed) {
        size_t used = complete_unit(c, p, n);
        p += used;
        n -= used;
    }
    if (!n || c->closed) return;
    size_t used = take_units(c, p, n);
    keep_rest(c, p + used, n - used);
}

/* Enough was taken: units that wait in `in` come first, then reading goes on. */
static void go_on(struct conn *c)
{
    if (c->in.n) {
        struct buf had = c->in;
        c->in = BUF_EMPTY;
        size_t used = take_units(c, had.p, had.n);
        keep_rest(c, had.p + used, had.n - used);
        give_back(c->group, &had);
    }
    if (!c->closed && !c->paused && !c->held) stream_pause(c->stream, false);
}

static void on_timer(void *ctx)
{
    struct conn *c = ctx;
    if (!c->paused && c->held) return;
    if (!c->paused) go_on(c);
    else c->events->end(c->ctx, err_new(ERR_BUSY, "%zu bytes of replies were not taken", conn_unsent_bytes(c)));
}

void conn_hold(struct conn *c, bool hold)
{
    if (c->closed || c->held == hold) return;
    c->held = hold;
    if (c->paused) return;
    if (hold) stream_pause(c->stream, true);
    else timer_start(&c->group->loop->tasks, &c->timer, 0);
}

static void on_end(void *ctx, err_t e)
{
    struct conn *c = ctx;
    c->events->end(c->ctx, e);
}

static const struct stream_events stream_events = {.data = on_data, .end = on_end, .written = on_written};

/* --- life --- */

struct conn *conn_new(struct conn_group *g, struct stream *s, const struct conn_events *events, const struct conn_limits *limits, void *ctx)
{
    struct conn *c = must_zero(sizeof *c);
    list_node_init(&c->node);
    c->group = g;
    c->stream = s;
    c->events = events;
    c->limits = *limits;
    c->ctx = ctx;
    c->active_ms = tasks_mono_ms(&g->loop->tasks);
    timer_init(&c->timer, on_timer, c);
    stream_start(s, &stream_events, c);
    return c;
}

/* The other end closes when it has read that nothing more comes; until then its bytes are read, so that none is unread at the end. */
static void say_end(struct conn *c)
{
    c->said_end = true;
    buf_done(&c->in);
    if (stream_half_close(c->stream)) stream_pause(c->stream, false);
    else c->events->end(c->ctx, NULL);
}

void conn_finish(struct conn *c)
{
    if (c->closed || c->finishing) return;
    c->finishing = true;
    c->held = true;
    mark_dirty(c);
}

void conn_close(struct conn *c)
{
    if (c->closed) return;
    flush(c);
    c->closed = true;
    timer_stop(&c->group->loop->tasks, &c->timer);
    stream_close(c->stream);
    list_remove(&c->node);
    list_add(&c->group->closing, &c->node);
}

static void free_closed(struct conn_group *g)
{
    LIST_EACH(&g->closing, node) {
        struct conn *c = LIST_OWNER(node, struct conn, node);
        list_remove(node);
        output_done(g, &c->out);
        output_done(g, &c->writing);
        buf_done(&c->in);
        free(c);
    }
}

static void end_turn(void *ctx)
{
    struct conn_group *g = ctx;
    while (!list_empty(&g->dirty)) {
        struct conn *c = LIST_OWNER(list_first(&g->dirty), struct conn, node);
        list_remove(&c->node);
        flush(c);
        if (c->finishing && !c->said_end && !c->closed && !conn_unsent_bytes(c)) say_end(c);
    }
    free_closed(g);
}

void conn_group_init(struct conn_group *g, struct loop *loop)
{
    g->loop = loop;
    g->hook = (struct turn_hook){.run = end_turn, .ctx = g};
    list_init(&g->dirty);
    list_init(&g->closing);
    g->spare = must_alloc(SPARES_MAX * sizeof *g->spare);
    g->spares = 0;
    tasks_on_turn_end(&loop->tasks, &g->hook);
}

void conn_group_done(struct conn_group *g)
{
    assert(list_empty(&g->dirty));
    free_closed(g);
    tasks_off_turn_end(&g->loop->tasks, &g->hook);
    while (g->spares) buf_done(&g->spare[--g->spares]);
    free(g->spare);
}
