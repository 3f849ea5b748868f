#include "kit/sim_world.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { READ_MAX = 65536, TINY_READ_MAX = 64, PIECES_MAX = 6 };

/* One direction of a connection: what the end of that side writes, and the other reads. */
struct sim_dir {
    struct sim_conn *conn;
    int side;                     /* who writes */
    struct buf fifo;              /* sent, not yet read; what has been read is cut off its front now and then */
    size_t head;
    uint64_t sent, arrived, taken;/* counted in bytes since the connection began */
    size_t window;
    uint32_t delay_us;
    int64_t last_us;              /* arrival of the latest piece: the next is not before it */
    bool end_sent, end_arrived;   /* the writer closed in good order */
};

struct sim_end {
    struct stream base;           /* must be first */
    struct sim_conn *conn;
    struct sim_loop *loop;
    struct sim_ready ready;
    const struct stream_events *events;   /* NULL: not started */
    void *ctx;
    int side;
    bool open;                    /* its owner has it, or will be given it */
    bool paused;
    bool broken;                  /* a reset arrived */
    bool failed_write;            /* the owner wrote after that: it is told even when paused */
    bool end_told;
    bool half_closed;             /* it has said that nothing more comes */
    bool later;                   /* a WRITE_LATER is under way; `rest` is what the window has not let through */
    bool later_over;
    struct iovec *rest;
    size_t rest_count, rest_first;
};

struct sim_conn {
    struct list_node node;
    struct sim *sim;
    struct sim_end end[2];        /* 0 connected, 1 accepted */
    struct sim_dir dir[2];
    struct addr addr[2];
    int64_t hang_until_us;
    struct sim_ready accept;      /* in the listener's loop */
    struct sim_listener *listener;/* until accepted */
};

struct sim_listener {
    struct listener base;
    struct list_node node;
    struct sim_loop *loop;
    struct addr at;
    struct listener_events events;
    bool closed;
};

struct sim_connect {
    struct connect base;
    struct list_node node;
    struct sim_loop *loop;
    struct sim_ready ready;
    struct addr to;
    connect_done *done;
    void *ctx;
    struct sim_conn *conn;        /* once the listener has it */
    enum err_code failure;
    bool over;                    /* decided: established, failed or cancelled */
    bool told;
    char text[ADDR_TEXT_MAX];
};

static bool dead(const struct sim_end *e) { return !sim_loop_alive(e->loop); }
static struct sim_end *reader_of(struct sim_dir *d) { return &d->conn->end[1 - d->side]; }
static struct sim_end *end_of(struct stream *s) { return (struct sim_end *)s; }

/* --- a piece on its way --- */

static int64_t blocked_until(struct sim_conn *c)
{
    int64_t until = list_empty(&c->sim->partitions) ? c->sim->now_us : sim_blocked_until(c->sim, &c->addr[0], &c->addr[1]);
    return c->hang_until_us > until ? c->hang_until_us : until;
}

/* True when the event has been put off because nothing passes now. */
static bool put_off(struct sim_conn *c, void (*run)(struct sim *, void *, int64_t), void *p, int64_t n)
{
    int64_t wait_us = blocked_until(c) - c->sim->now_us;
    if (wait_us <= 0) return false;
    sim_push(c->sim, wait_us + sim_draw(c->sim, 1, 500), run, p, n);
    return true;
}

static void wake(struct sim_end *e)
{
    if (e->open && !dead(e)) sim_ready_add(e->loop, &e->ready);
}

static void arrive_bytes(struct sim *s, void *p, int64_t n)
{
    struct sim_dir *d = p;
    if (put_off(d->conn, arrive_bytes, p, n)) return;
    d->arrived += (uint64_t)n;
    sim_note(s, 'b', (uint64_t)n);
    if (d->end_sent && d->arrived == d->sent) d->end_arrived = true;
    wake(reader_of(d));
}

static int64_t next_arrival(struct sim_dir *d)
{
    struct sim *s = d->conn->sim;
    int64_t at = s->now_us + d->delay_us + sim_draw(s, 0, d->delay_us / 4);
    if (sim_chance(s, s->options.spike_permille)) at += sim_draw(s, 0, s->options.spike_max_us);
    if (at < d->last_us) at = d->last_us;
    d->last_us = at;
    return at - s->now_us;
}

/* n bytes have been added to the fifo; they arrive in one or several pieces. */
static void launch(struct sim_dir *d, size_t n)
{
    struct sim *s = d->conn->sim;
    d->sent += n;
    if (n > 1 && sim_chance(s, s->options.split_permille)) {
        for (uint32_t pieces = sim_draw(s, 1, PIECES_MAX - 1); pieces && n > 1; pieces--) {
            size_t part = sim_draw(s, 1, n > 16 && sim_chance(s, 500) ? 16 : (uint32_t)n - 1);
            sim_push(s, next_arrival(d), arrive_bytes, d, (int64_t)part);
            d->last_us += sim_draw(s, 0, d->delay_us);
            n -= part;
        }
    }
    sim_push(s, next_arrival(d), arrive_bytes, d, (int64_t)n);
}

static void arrive_end(struct sim *s, void *p, int64_t n)
{
    struct sim_dir *d = p;
    if (put_off(d->conn, arrive_end, p, n)) return;
    sim_note(s, 'e', 0);
    d->end_sent = true;
    if (d->arrived == d->sent) d->end_arrived = true;
    wake(reader_of(d));
}

/* n 0: what had arrived may still be read; otherwise it is lost as well. */
static void arrive_reset(struct sim *s, void *p, int64_t n)
{
    struct sim_end *e = p;
    if (put_off(e->conn, arrive_reset, p, n)) return;
    sim_note(s, 'r', (uint64_t)n);
    struct sim_dir *in = &e->conn->dir[1 - e->side];
    e->broken = true;
    if (n) in->taken = in->arrived;
    wake(e);
}

static void send_reset(struct sim_end *to)
{
    struct sim *s = to->conn->sim;
    if (to->open) sim_push(s, to->conn->dir[1 - to->side].delay_us + sim_draw(s, 0, 1000), arrive_reset, to, sim_chance(s, 500));
}

/* --- writing --- */

static size_t window_left(const struct sim_dir *d)
{
    size_t under_way = (size_t)(d->sent - d->taken);
    return under_way < d->window ? d->window - under_way : 0;
}

/* Drops what has been read from the front, when that is most of it. */
static void trim(struct sim_dir *d)
{
    if (d->head < 4096 || d->head < d->fifo.n / 2) return;
    memmove(d->fifo.p, d->fifo.p + d->head, d->fifo.n - d->head);
    d->fifo.n -= d->head;
    d->head = 0;
}

/* Sends what the window lets through; true: all of it. */
static bool pump(struct sim_dir *d, struct iovec *parts, size_t count, size_t *first)
{
    size_t left = window_left(d), n = 0;
    trim(d);
    while (*first < count) {
        struct iovec *part = &parts[*first];
        size_t take = part->iov_len < left - n ? part->iov_len : left - n;
        buf_put(&d->fifo, part->iov_base, take);
        n += take;
        part->iov_base = (uint8_t *)part->iov_base + take;
        part->iov_len -= take;
        if (part->iov_len) break;
        ++*first;
    }
    if (n) launch(d, n);
    return *first == count;
}

static enum write_result op_write(struct stream *stream, const struct iovec *parts, size_t count)
{
    struct sim_end *e = end_of(stream);
    if (dead(e)) return WRITE_DONE;
    assert_on_loop(&e->base.loop->tasks);
    assert(e->open && !e->later && "one write at a time");
    assert(!e->half_closed);
    struct sim_dir *d = &e->conn->dir[e->side];
    if (e->broken || e->conn->dir[1 - e->side].end_arrived) {   /* there is nobody to read it */
        e->failed_write = e->broken;
        wake(e);
        return WRITE_DONE;
    }
    struct iovec *rest = must_alloc((count ? count : 1) * sizeof *rest);
    memcpy(rest, parts, count * sizeof *rest);
    size_t first = 0;
    if (pump(d, rest, count, &first)) {
        free(rest);
        return WRITE_DONE;
    }
    e->rest = rest;
    e->rest_count = count;
    e->rest_first = first;
    e->later = true;
    return WRITE_LATER;
}

static void drop_rest(struct sim_end *e)
{
    free(e->rest);
    e->rest = NULL;
    e->rest_count = e->rest_first = 0;
}

/* The reader took bytes some time ago, and the writer learns it now. */
static void arrive_window(struct sim *s, void *p, int64_t n)
{
    struct sim_dir *d = p;
    struct sim_end *e = &d->conn->end[d->side];
    if (put_off(d->conn, arrive_window, p, n)) return;
    (void)s;
    if (!e->open || dead(e) || !e->later || e->later_over || e->broken) return;
    if (!pump(d, e->rest, e->rest_count, &e->rest_first)) return;
    drop_rest(e);
    e->later_over = true;
    wake(e);
}

static void tell_written(struct sim_end *e)
{
    drop_rest(e);
    e->later = e->later_over = false;
    e->events->written(e->ctx);
}

/* --- reading: what one end has to do in its loop's turn --- */

static void tell_end(struct sim_end *e, err_t why)
{
    e->end_told = true;
    e->events->end(e->ctx, why);
}

/* One read, as large as a real one may be; the bytes stand in memory of exactly their size, so that a sanitizer sees past it. */
static void read_once(struct sim_end *e, struct sim_dir *in)
{
    struct sim *s = e->conn->sim;
    size_t n = (size_t)(in->arrived - in->taken);
    size_t most = sim_chance(s, 30) ? sim_draw(s, 1, TINY_READ_MAX) : READ_MAX;
    if (n > most) n = most;
    uint8_t *copy = must_alloc(n);
    memcpy(copy, in->fifo.p + in->head, n);
    in->head += n;
    in->taken += n;
    if (in->head == in->fifo.n) in->head = in->fifo.n = 0;
    sim_note(s, map_hash(slice_of(copy, n)), n);
    struct sim_end *writer = &e->conn->end[1 - e->side];
    if (writer->later) sim_push(s, e->conn->dir[e->side].delay_us, arrive_window, in, 0);
    e->events->data(e->ctx, copy, n);
    free(copy);
}

static bool may_read(const struct sim_end *e) { return e->open && e->events && !e->paused; }

static void serve(struct sim_ready *r)
{
    struct sim_end *e = LIST_OWNER(r, struct sim_end, ready);
    struct sim_dir *in = &e->conn->dir[1 - e->side];
    if (!e->open || !e->events) return;
    if (e->later && e->broken) e->failed_write = true;
    if (e->later_over || (e->later && e->broken)) tell_written(e);
    if (may_read(e) && in->arrived > in->taken) {
        read_once(e, in);
        if (e->open) sim_ready_add(e->loop, &e->ready);   /* more, or the end, in the next turn */
        return;
    }
    if (!e->open || e->end_told) return;
    if (e->broken && (may_read(e) || e->failed_write)) {
        tell_end(e, err_new(ERR_NETWORK, "connection reset"));
    } else if (in->end_arrived && may_read(e)) {
        if (e->later) tell_written(e);
        if (e->open && !e->end_told) tell_end(e, NULL);
    }
}

static void op_start(struct stream *stream, const struct stream_events *events, void *ctx)
{
    struct sim_end *e = end_of(stream);
    assert_on_loop(&e->base.loop->tasks);
    e->events = events;
    e->ctx = ctx;
    wake(e);
}

static void op_pause(struct stream *stream, bool paused)
{
    struct sim_end *e = end_of(stream);
    assert_on_loop(&e->base.loop->tasks);
    e->paused = paused;
    if (!paused) wake(e);
}

static void op_close(struct stream *stream)
{
    struct sim_end *e = end_of(stream);
    struct sim *s = e->conn->sim;
    if (dead(e) || !e->open) return;
    assert_on_loop(&e->base.loop->tasks);
    struct sim_dir *out = &e->conn->dir[e->side], *in = &e->conn->dir[1 - e->side];
    e->open = false;
    drop_rest(e);
    if (e->broken) return;
    if (in->arrived > in->taken) send_reset(&e->conn->end[1 - e->side]);   /* as a kernel does when unread bytes are thrown away */
    else if (!e->half_closed) sim_push(s, next_arrival(out), arrive_end, out, 0);
}

static bool op_half_close(struct stream *stream)
{
    struct sim_end *e = end_of(stream);
    struct sim_dir *out = &e->conn->dir[e->side];
    if (dead(e) || e->broken) return true;
    assert_on_loop(&e->base.loop->tasks);
    assert(e->open && !e->later && !e->half_closed);
    e->half_closed = true;
    sim_push(e->conn->sim, next_arrival(out), arrive_end, out, 0);
    return true;
}

static struct addr op_local(struct stream *stream) { return end_of(stream)->conn->addr[end_of(stream)->side]; }

static const struct stream_ops sim_stream_ops = {.start = op_start, .pause = op_pause, .write = op_write, .close = op_close, .local = op_local,
                                                  .half_close = op_half_close};

/* --- connecting and accepting --- */

static void init_end(struct sim_conn *c, int side, struct sim_loop *l)
{
    struct sim *s = c->sim;
    struct sim_options *o = &s->options;
    c->end[side] = (struct sim_end){.base = {&l->base, &sim_stream_ops}, .conn = c, .loop = l, .side = side, .open = true};
    c->end[side].ready.run = serve;
    list_node_init(&c->end[side].ready.node);
    c->dir[side] = (struct sim_dir){.conn = c, .side = side, .fifo = BUF_EMPTY};
    c->dir[side].window = sim_draw(s, o->window_min_bytes, o->window_max_bytes);
    c->dir[side].delay_us = sim_draw(s, o->delay_min_us, o->delay_max_us);
}

static void run_accept(struct sim_ready *r)
{
    struct sim_conn *c = LIST_OWNER(r, struct sim_conn, accept);
    struct sim_listener *l = c->listener;
    c->listener = NULL;
    if (l->closed) {
        c->end[1].open = false;
        send_reset(&c->end[0]);
    } else {
        l->events.accepted(l->events.ctx, &c->end[1].base, &c->addr[0]);
    }
}

static uint16_t free_port(struct sim *s) { return s->next_port = s->next_port >= 65000 ? 20000 : s->next_port + 1; }

static struct sim_conn *conn_new(struct sim_connect *k, struct sim_listener *l)
{
    struct sim *s = k->loop->process->sim;
    struct sim_conn *c = must_zero(sizeof *c);
    c->sim = s;
    list_add(&s->conns, &c->node);
    c->addr[0] = k->loop->process->ip;
    c->addr[0].port = free_port(s);
    c->addr[1] = k->to;
    init_end(c, 0, k->loop);
    init_end(c, 1, l->loop);
    c->listener = l;
    c->accept.run = run_accept;
    list_node_init(&c->accept.node);
    sim_ready_add(l->loop, &c->accept);
    return c;
}

static bool any_ip(const struct addr *a)
{
    for (int i = 0; i < (a->v6 ? 16 : 4); i++)
        if (a->ip[i]) return false;
    return true;
}

static bool loopback(const struct addr *a)
{
    static const uint8_t v6[16] = {[15] = 1};
    return a->v6 ? memcmp(a->ip, v6, 16) == 0 : a->ip[0] == 127;
}

static struct sim_listener *find_listener(struct sim *s, const struct addr *ip, uint16_t port)
{
    LIST_EACH(&s->listeners, n) {
        struct sim_listener *l = LIST_OWNER(n, struct sim_listener, node);
        if (!l->closed && l->at.port == port && sim_loop_alive(l->loop) && sim_same_ip(&l->loop->process->ip, ip)) return l;
    }
    return NULL;
}

static void decide(struct sim_connect *k, enum err_code failure)
{
    if (k->over) return;
    k->over = true;
    k->failure = failure;
    if (sim_loop_alive(k->loop)) sim_ready_add(k->loop, &k->ready);
}

static void connect_timeout(struct sim *s, void *p, int64_t n)
{
    (void)s;
    (void)n;
    decide(p, ERR_TIMEOUT);
}

static void connect_failed(struct sim *s, void *p, int64_t n)
{
    (void)s;
    decide(p, (enum err_code)n);
}

/* The answer is back. A connection that nobody waits for any more is closed at once. */
static void connect_established(struct sim *s, void *p, int64_t n)
{
    struct sim_connect *k = p;
    if (put_off(k->conn, connect_established, p, n)) return;
    (void)s;
    if (k->over && sim_loop_alive(k->loop)) {
        k->conn->end[0].open = false;
        send_reset(&k->conn->end[1]);
    }
    decide(k, ERR_NONE);
}

static void connect_arrives(struct sim *s, void *p, int64_t n)
{
    struct sim_connect *k = p;
    if (k->over || !sim_loop_alive(k->loop)) return;
    int64_t wait_us = sim_blocked_until(s, &k->loop->process->ip, &k->to) - s->now_us;
    if (wait_us > 0) {
        sim_push(s, wait_us + 1, connect_arrives, p, n);
        return;
    }
    struct sim_listener *l = find_listener(s, &k->to, k->to.port);
    if (!l || sim_chance(s, s->options.refuse_permille)) {
        sim_push(s, sim_draw(s, s->options.delay_min_us, s->options.delay_max_us), connect_failed, k, ERR_NETWORK);
        return;
    }
    k->conn = conn_new(k, l);
    sim_note(s, 'c', k->to.port);
    sim_push(s, k->conn->dir[1].delay_us, connect_established, k, 0);
}

static void run_connect(struct sim_ready *r)
{
    struct sim_connect *k = LIST_OWNER(r, struct sim_connect, ready);
    if (k->told) return;
    k->told = true;
    if (k->failure == ERR_NONE) k->done(k->ctx, NULL, &k->conn->end[0].base);
    else if (k->failure == ERR_TIMEOUT) k->done(k->ctx, err_new(ERR_TIMEOUT, "connecting to %s took too long", k->text), NULL);
    else if (k->failure == ERR_ADDRESS) k->done(k->ctx, err_new(ERR_ADDRESS, "no such host: %s", k->text), NULL);
    else k->done(k->ctx, err_new(ERR_NETWORK, "connecting to %s: connection refused", k->text), NULL);
}

static bool resolve(struct sim_connect *k, struct slice host, uint16_t port)
{
    struct sim *s = k->loop->process->sim;
    const char *known = map_get(&s->names, host);
    if (known) host = slice_text(known);
    if (slice_eq(host, SLICE("localhost"))) host = SLICE("127.0.0.1");
    char text[ADDR_TEXT_MAX];
    snprintf(text, sizeof text, memchr(host.p, ':', host.n) ? "[%.*s]:%u" : "%.*s:%u", SLICE_ARG(host), port);
    memcpy(k->text, text, sizeof text);
    err_t e = addr_parse(slice_text(text), &k->to);
    bool fine = !e;
    err_free(e);
    if (fine && loopback(&k->to)) {
        k->to = k->loop->process->ip;
        k->to.port = port;
    }
    return fine;
}

static err_t op_connect(struct loop *loop, struct slice host, uint16_t port, int64_t timeout_ms, connect_done *done, void *ctx,
                        struct connect **out)
{
    struct sim_loop *l = sim_loop_of(loop);
    struct sim *s = l->process->sim;
    assert_on_loop(&loop->tasks);
    struct sim_connect *k = must_zero(sizeof *k);
    *k = (struct sim_connect){.base.loop = loop, .loop = l, .done = done, .ctx = ctx};
    k->ready.run = run_connect;
    list_node_init(&k->ready.node);
    list_add(&s->connects, &k->node);
    if (resolve(k, host, port)) sim_push(s, sim_draw(s, s->options.delay_min_us, s->options.delay_max_us), connect_arrives, k, 0);
    else sim_push(s, sim_draw(s, 100, 20000), connect_failed, k, ERR_ADDRESS);
    if (timeout_ms > 0) sim_push(s, timeout_ms * 1000, connect_timeout, k, 0);
    *out = &k->base;
    return NULL;
}

static void op_connect_cancel(struct connect *connect)
{
    struct sim_connect *k = (struct sim_connect *)connect;
    assert(!k->told && "a connect that is over cannot be cancelled");
    k->told = true;
    if (k->over && k->failure == ERR_NONE) op_close(&k->conn->end[0].base);
    k->over = true;
}

static err_t op_listen(struct loop *loop, const struct addr *at, const struct listener_events *events, struct listener **out)
{
    struct sim_loop *l = sim_loop_of(loop);
    struct sim *s = l->process->sim;
    char text[ADDR_TEXT_MAX];
    if (!any_ip(at) && !loopback(at) && !sim_same_ip(at, &l->process->ip))
        return err_new(ERR_ADDRESS, "cannot listen at %s: not an address of this machine", addr_format(at, text));
    if (at->port && find_listener(s, &l->process->ip, at->port))
        return err_new(ERR_NETWORK, "cannot listen at %s: in use", addr_format(at, text));
    struct sim_listener *listener = must_zero(sizeof *listener);
    *listener = (struct sim_listener){.base.loop = loop, .loop = l, .at = *at, .events = *events};
    while (!listener->at.port) {
        uint16_t port = free_port(s);
        if (!find_listener(s, &l->process->ip, port)) listener->at.port = port;
    }
    list_add(&s->listeners, &listener->node);
    *out = &listener->base;
    return NULL;
}

static struct addr op_listener_addr(const struct listener *l) { return ((const struct sim_listener *)l)->at; }
static void op_listener_close(struct listener *l) { ((struct sim_listener *)l)->closed = true; }

const struct loop_ops sim_loop_ops = {
    .listen = op_listen,
    .listener_addr = op_listener_addr,
    .listener_close = op_listener_close,
    .connect = op_connect,
    .connect_cancel = op_connect_cancel,
};

/* --- trouble, and the end of it all --- */

void sim_net_kill(struct sim *s, struct sim_process *p)
{
    LIST_EACH(&s->conns, n) {
        struct sim_conn *c = LIST_OWNER(n, struct sim_conn, node);
        for (int side = 0; side < 2; side++) {
            struct sim_end *e = &c->end[side];
            if (!e->open || e->loop->process != p) continue;
            e->open = false;
            drop_rest(e);
            send_reset(&c->end[1 - side]);
        }
    }
}

static bool whole(const struct sim_conn *c)
{
    return c->end[0].open && c->end[1].open && !c->end[0].broken && !c->end[1].broken && !c->listener;
}

size_t sim_connections(const struct sim *s)
{
    size_t count = 0;
    for (const struct list_node *n = s->conns.head.next; n != &s->conns.head; n = n->next) count += whole(LIST_OWNER(n, struct sim_conn, node));
    return count;
}

static struct sim_conn *pick(struct sim *s)
{
    size_t count = sim_connections(s);
    if (!count) return NULL;
    size_t skip = random_below(&s->random, (uint32_t)count);
    LIST_EACH(&s->conns, n) {
        struct sim_conn *c = LIST_OWNER(n, struct sim_conn, node);
        if (whole(c) && !skip--) return c;
    }
    return NULL;
}

bool sim_cut_one(struct sim *s)
{
    struct sim_conn *c = pick(s);
    if (!c) return false;
    send_reset(&c->end[0]);
    send_reset(&c->end[1]);
    return true;
}

bool sim_hang_one(struct sim *s, int64_t ms)
{
    struct sim_conn *c = pick(s);
    if (!c) return false;
    c->hang_until_us = s->now_us + ms * 1000;
    return true;
}

void sim_net_free(struct sim *s)
{
    LIST_EACH(&s->conns, n) {
        struct sim_conn *c = LIST_OWNER(n, struct sim_conn, node);
        for (int side = 0; side < 2; side++) {
            drop_rest(&c->end[side]);
            buf_done(&c->dir[side].fifo);
        }
        free(c);
    }
    LIST_EACH(&s->connects, n) free(LIST_OWNER(n, struct sim_connect, node));
    LIST_EACH(&s->listeners, n) free(LIST_OWNER(n, struct sim_listener, node));
}
