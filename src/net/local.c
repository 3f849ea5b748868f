#include "net/local.h"

#include "base/buf.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

enum { KEEP_BUFFER_BYTES = 256 * 1024 };   /* larger ones are freed when they have been read */

struct local_pair;

struct local_end {
    struct stream stream;
    struct local_pair *pair;
    const struct stream_events *events;   /* NULL: not started */
    void *ctx;
    bool open, paused, end_told;
    bool later;                           /* a WRITE_LATER is under way; `rest` is what the other end has no room for */
    struct iovec *rest;
    size_t rest_count, rest_first;
    struct buf spare;

    /* Under the pair's lock. */
    struct buf inbox;                     /* what the other end wrote */
    bool closed;
    bool waits;                           /* for room in the other's inbox */
    bool mailed;                          /* a letter to this end is under way */
    struct mail mail;
};

struct local_pair {
    pthread_mutex_t lock;                 /* a leaf: posting mail is all that is done under it */
    unsigned refs;                        /* open ends and letters under way; under the lock */
    struct local_end end[2];              /* 0 connected, 1 accepted */
    struct local_port *port;              /* until accepted */
    struct addr remote;                   /* who connected */
    struct mail arrival;
};

struct local_port {
    pthread_mutex_t lock;
    unsigned refs;                        /* under the lock, as the next */
    bool closed;
    struct loop *loop;
    struct listener_events events;
};

static struct local_end *end_of(struct stream *s) { return (struct local_end *)s; }
static struct local_end *other(struct local_end *e) { return &e->pair->end[e == &e->pair->end[0]]; }

static void assert_on_its_loop(struct local_end *e) { assert_on_loop(&e->stream.loop->tasks); }

/* --- life of a pair --- */

static void pair_unref(struct local_pair *p)
{
    pthread_mutex_lock(&p->lock);
    bool last = !--p->refs;
    pthread_mutex_unlock(&p->lock);
    if (!last) return;
    for (int i = 0; i < 2; i++) {
        buf_done(&p->end[i].inbox);
        buf_done(&p->end[i].spare);
    }
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* Under the lock. The loop of an end that has closed may be gone: nothing is posted to it. */
static void wake(struct local_end *e)
{
    if (e->closed || e->mailed) return;
    e->mailed = true;
    e->pair->refs++;
    tasks_post(&e->stream.loop->tasks, &e->mail);
}

static void wake_self(struct local_end *e)
{
    pthread_mutex_lock(&e->pair->lock);
    wake(e);
    pthread_mutex_unlock(&e->pair->lock);
}

/* --- writing --- */

/* Under the lock; true: all of it is in the other's inbox, or nobody will read it. */
static bool move_rest(struct local_end *e, struct iovec *parts, size_t count, size_t *first)
{
    struct local_end *to = other(e);
    if (to->closed) return true;
    size_t before = to->inbox.n;
    while (*first < count && to->inbox.n < LOCAL_WINDOW) {
        struct iovec *part = &parts[*first];
        size_t room = LOCAL_WINDOW - to->inbox.n, n = part->iov_len < room ? part->iov_len : room;
        if (n) buf_put(&to->inbox, part->iov_base, n);
        part->iov_base = (uint8_t *)part->iov_base + n;
        part->iov_len -= n;
        if (!part->iov_len) ++*first;
    }
    if (to->inbox.n > before) wake(to);
    e->waits = *first < count;
    return !e->waits;
}

static enum write_result op_write(struct stream *stream, const struct iovec *parts, size_t count)
{
    struct local_end *e = end_of(stream);
    assert_on_its_loop(e);
    assert(e->open && !e->later && "one write at a time");
    struct iovec *rest = must_alloc((count ? count : 1) * sizeof *rest);
    memcpy(rest, parts, count * sizeof *rest);
    size_t first = 0;
    pthread_mutex_lock(&e->pair->lock);
    bool done = move_rest(e, rest, count, &first);
    pthread_mutex_unlock(&e->pair->lock);
    if (done) {
        free(rest);
        return WRITE_DONE;
    }
    e->later = true;
    e->rest = rest;
    e->rest_count = count;
    e->rest_first = first;
    return WRITE_LATER;
}

static void drop_rest(struct local_end *e)
{
    free(e->rest);
    e->rest = NULL;
    e->later = false;
}

static void write_on(struct local_end *e)
{
    pthread_mutex_lock(&e->pair->lock);
    bool done = move_rest(e, e->rest, e->rest_count, &e->rest_first);
    pthread_mutex_unlock(&e->pair->lock);
    if (!done) return;
    drop_rest(e);
    e->events->written(e->ctx);
}

/* --- reading --- */

static void give_back_buffer(struct local_end *e, struct buf *b)
{
    if (b->cap > KEEP_BUFFER_BYTES || e->spare.cap) {
        buf_done(b);
        return;
    }
    e->spare = *b;
    buf_clear(&e->spare);
}

static void read_on(struct local_end *e)
{
    pthread_mutex_lock(&e->pair->lock);
    struct buf bytes = e->inbox;
    e->inbox = bytes.n ? e->spare : bytes;
    if (bytes.n) e->spare = BUF_EMPTY;
    if (bytes.n && other(e)->waits) wake(other(e));
    bool over = other(e)->closed;
    pthread_mutex_unlock(&e->pair->lock);
    if (bytes.n) {
        e->events->data(e->ctx, bytes.p, bytes.n);
        give_back_buffer(e, &bytes);
    }
    if (!over || !e->open || e->paused || e->end_told) return;
    e->end_told = true;
    e->events->end(e->ctx, NULL);
}

/* A letter: there is something to read, room to write, or the other end has closed. Whatever runs here may close this end. */
static void deliver(struct mail *m)
{
    struct local_end *e = LIST_OWNER(m, struct local_end, mail);
    struct local_pair *pair = e->pair;
    pthread_mutex_lock(&pair->lock);
    e->mailed = false;
    pthread_mutex_unlock(&pair->lock);
    if (e->open && e->later) write_on(e);
    if (e->open && e->events && !e->paused) read_on(e);
    pair_unref(pair);
}

static void op_start(struct stream *stream, const struct stream_events *events, void *ctx)
{
    struct local_end *e = end_of(stream);
    assert_on_its_loop(e);
    e->events = events;
    e->ctx = ctx;
    wake_self(e);
}

static void op_pause(struct stream *stream, bool paused)
{
    struct local_end *e = end_of(stream);
    assert_on_its_loop(e);
    if (e->paused && !paused) wake_self(e);
    e->paused = paused;
}

static void op_close(struct stream *stream)
{
    struct local_end *e = end_of(stream);
    struct local_pair *pair = e->pair;
    assert_on_its_loop(e);
    if (!e->open) return;
    e->open = false;
    drop_rest(e);
    pthread_mutex_lock(&pair->lock);
    e->closed = true;
    wake(other(e));
    pthread_mutex_unlock(&pair->lock);
    pair_unref(pair);
}

static const struct addr here = {.ip = {127, 0, 0, 1}};
static struct addr op_local(struct stream *stream) { (void)stream; return here; }

static const struct stream_ops local_ops = {.start = op_start, .pause = op_pause, .write = op_write, .close = op_close, .local = op_local};

/* --- ports --- */

struct local_port *local_port_new(struct loop *loop, const struct listener_events *events)
{
    struct local_port *p = must_zero(sizeof *p);
    pthread_mutex_init(&p->lock, NULL);
    p->refs = 1;
    p->loop = loop;
    p->events = *events;
    return p;
}

struct local_port *local_port_ref(struct local_port *p)
{
    pthread_mutex_lock(&p->lock);
    p->refs++;
    pthread_mutex_unlock(&p->lock);
    return p;
}

void local_port_unref(struct local_port *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    bool last = !--p->refs;
    pthread_mutex_unlock(&p->lock);
    if (!last) return;
    pthread_mutex_destroy(&p->lock);
    free(p);
}

void local_port_close(struct local_port *p)
{
    if (!p) return;
    pthread_mutex_lock(&p->lock);
    p->closed = true;
    pthread_mutex_unlock(&p->lock);
    local_port_unref(p);
}

/* The letter of a new connection, at the loop of the port. */
static void arrive(struct mail *m)
{
    struct local_pair *pair = LIST_OWNER(m, struct local_pair, arrival);
    struct local_port *port = pair->port;
    pair->port = NULL;
    if (port->closed) op_close(&pair->end[1].stream);
    else port->events.accepted(port->events.ctx, &pair->end[1].stream, &pair->remote);
    local_port_unref(port);
    pair_unref(pair);
}

static struct local_pair *pair_new(struct loop *connects, struct loop *accepts)
{
    struct local_pair *pair = must_zero(sizeof *pair);
    pthread_mutex_init(&pair->lock, NULL);
    pair->refs = 3;   /* two ends, and the letter of its arrival */
    for (int i = 0; i < 2; i++) {
        struct local_end *e = &pair->end[i];
        *e = (struct local_end){.stream = {i ? accepts : connects, &local_ops}, .pair = pair, .open = true, .mail.deliver = deliver};
    }
    pair->arrival.deliver = arrive;
    return pair;
}

/* The letter is posted under the lock: after local_port_close() the loop may be gone. */
err_t local_connect(struct loop *loop, struct local_port *p, const struct addr *remote, struct stream **out)
{
    struct local_pair *pair = NULL;
    pthread_mutex_lock(&p->lock);
    if (!p->closed) {
        pair = pair_new(loop, p->loop);
        pair->port = p;
        pair->remote = remote ? *remote : here;
        p->refs++;
        tasks_post(&p->loop->tasks, &pair->arrival);
    }
    pthread_mutex_unlock(&p->lock);
    if (!pair) return err_new(ERR_CLOSED, "nobody listens in this process");
    *out = &pair->end[0].stream;
    return NULL;
}
