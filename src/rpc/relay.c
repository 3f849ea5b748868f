#include "rpc/relay.h"

#include "base/log.h"
#include "net/conn.h"
#include "net/local.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    HOLD_BYTES = 1 << 20,               /* unsent to somebody: who talks to him waits */
    UNSENT_MAX = 64 << 20,
    STALLED_MS = 30000,
    SCAN_MS = 5000,
    HEAD_BYTES = 8,                     /* total, form and length of the header */
    CONNECT_MS = 3000,
    WATCHED_MAX = 1024,                 /* of one client at a time */
};

struct relayed;

struct end {
    struct relayed *of;
    struct conn *conn;                  /* NULL: not connected, or not yet */
    struct connect *connecting;
    struct buf waiting;                 /* frames, until it is connected */
};

struct relayed {
    struct list_node node;
    struct rpc_relay *relay;
    struct addr remote;
    struct end client;
    struct end **servers;               /* by number; NULL where there is none yet */
    size_t count;
    struct end *asked_by;               /* the server that asked the client something last */
    struct buf watched;                 /* int32_t: opaques of requests whose replies are looked at */
    bool holds_servers, holds_client;
    size_t owed;                        /* requests of the client that wait for their replies */
    struct timer look;                  /* again, whether somebody is still slow */
};

struct rpc_relay {
    struct loop *loop;
    struct rpc_relay_options options;
    struct conn_group group;
    struct list all;
    struct timer scan;
    struct buf head;                    /* a header that is decoded */
    struct buf changed;                 /* a frame that is sent instead of another */
    struct frame frame;
    struct relay_choice choice;
    bool quiet;                         /* nothing more is read from clients */
};

/* --- who is slow --- */

static bool is_slow(const struct end *e, bool was)
{
    return (e->conn ? conn_unsent_bytes(e->conn) : e->waiting.n) > (was ? HOLD_BYTES / 2 : HOLD_BYTES);
}

static void hold_servers(struct relayed *x)
{
    x->holds_servers = is_slow(&x->client, x->holds_servers);
    for (size_t i = 0; i < x->count; i++)
        if (x->servers[i] && x->servers[i]->conn) conn_hold(x->servers[i]->conn, x->holds_servers);
}

static void hold_client(struct relayed *x)
{
    bool slow = false;
    for (size_t i = 0; i < x->count; i++) slow |= x->servers[i] && is_slow(x->servers[i], x->holds_client);
    x->holds_client = slow;
    conn_hold(x->client.conn, slow || x->relay->quiet);
}

/* A client that does not read holds back the servers; a server that does not, the client. */
static void look_again(void *ctx)
{
    struct relayed *x = ctx;
    hold_servers(x);
    hold_client(x);
}

/* Once more when this turn's output has gone out: what is left then is on its way, and `taken` comes. */
static void look(struct relayed *x)
{
    look_again(x);
    if (x->holds_servers || x->holds_client) timer_start(&x->relay->loop->tasks, &x->look, 0);
}

/* --- life --- */

static void end_free(struct end *e)
{
    if (!e) return;
    if (e->connecting) connect_cancel(e->connecting);
    if (e->conn) conn_close(e->conn);
    buf_done(&e->waiting);
    free(e);
}

static void close_all(struct relayed *x, const char *why)
{
    char text[ADDR_TEXT_MAX];
    log_debug("relay.closed remote=%s why=\"%s\"", addr_format(&x->remote, text), why);
    timer_stop(&x->relay->loop->tasks, &x->look);
    for (size_t i = 0; i < x->count; i++) end_free(x->servers[i]);
    conn_close(x->client.conn);
    list_remove(&x->node);
    buf_done(&x->watched);
    free(x->servers);
    free(x);
}

static void refuse(struct relayed *x, err_t e)
{
    char text[ADDR_TEXT_MAX];
    log_info("relay.refused remote=%s why=\"%s\"", addr_format(&x->remote, text), err_text(e));
    err_free(e);
    close_all(x, "broken frame");
}

static void on_end(void *ctx, err_t e)
{
    struct end *end = ctx;
    if (err_code(e) == ERR_FRAME || err_code(e) == ERR_BUSY) {
        refuse(end->of, e);
        return;
    }
    err_drop(e, "a connection of a relay has ended");
    close_all(end->of, "one end has closed");
}

static void on_taken(void *ctx) { look(((struct end *)ctx)->of); }

/* --- frames --- */

/* The header is decoded from a copy, without the body: decoding changes the bytes. */
static err_t read_head(struct rpc_relay *r, const uint8_t *p, size_t n, struct frame *out)
{
    size_t header = n < HEAD_BYTES ? 0 : get_be32(p + 4) & 0xFFFFFF;
    size_t all = n < HEAD_BYTES || header > n - HEAD_BYTES ? n : HEAD_BYTES + header;
    buf_clear(&r->head);
    buf_put(&r->head, p, all);
    put_be32(r->head.p, (uint32_t)(all - FRAME_LENGTH_BYTES));
    return frame_decode(r->head.p, r->head.n, out);
}

static void pass_on(struct end *to, struct slice frame)
{
    if (!to->conn) {
        buf_put_slice(&to->waiting, frame);
        if (is_slow(to, false)) look(to->of);
        return;
    }
    buf_put_slice(conn_out(to->conn), frame);
    conn_sent(to->conn);
    if (conn_unsent_bytes(to->conn) > HOLD_BYTES) look(to->of);
}

static void answer(struct relayed *x, const struct frame *f, int32_t code, const char *remark, struct slice body)
{
    struct frame_head head = {
        .form = f->form, .code = code, .language = LANGUAGE_OTHER, .version = RPC_VERSION, .opaque = f->opaque, .flag = FRAME_FLAG_RESPONSE,
        .remark = *remark ? slice_text(remark) : (struct slice){NULL, 0},
    };
    struct frame_writer w;
    if (f->flag & (FRAME_FLAG_ONEWAY | FRAME_FLAG_RESPONSE)) return;
    frame_begin(&w, conn_out(x->client.conn), &head);
    frame_end(&w, body.n);
    buf_put_slice(conn_out(x->client.conn), body);
    conn_sent(x->client.conn);
}

/* --- servers --- */

static const struct conn_events events_of_server;
static const struct conn_limits limits = {.max_unsent_bytes = UNSENT_MAX, .stalled_close_ms = STALLED_MS};

static void begin_with(struct end *e, struct stream *s)
{
    struct rpc_relay *r = e->of->relay;
    e->conn = conn_new(&r->group, s, &events_of_server, &limits, e);
    if (e->of->holds_servers) conn_hold(e->conn, true);
    if (!e->waiting.n) return;
    buf_put_slice(conn_out(e->conn), buf_slice(&e->waiting));
    conn_sent(e->conn);
    buf_done(&e->waiting);
}

static bool wants_reply(const struct frame *f) { return !(f->flag & (FRAME_FLAG_ONEWAY | FRAME_FLAG_RESPONSE)); }

/* A request has its reply. */
static void paid(struct relayed *x, const struct frame *request)
{
    if (wants_reply(request) && x->owed) x->owed--;
}

/* Each request that waited is told why; the next one tries again. Takes error. */
static void give_up(struct end *e, err_t error)
{
    struct relayed *x = e->of;
    struct buf waiting = e->waiting;
    char remark[RELAY_REFUSAL_MAX];
    snprintf(remark, sizeof remark, "the broker cannot be reached: %s", err_text(error));
    err_free(error);
    e->waiting = BUF_EMPTY;
    for (size_t at = 0, size = 0; at < waiting.n; at += size) {
        err_t wrong = frame_size(waiting.p + at, waiting.n - at, &size);
        assert(!wrong && size && size <= waiting.n - at);   /* it has been cut before */
        wrong = read_head(x->relay, waiting.p + at, size, &x->relay->frame);
        if (!wrong) paid(x, &x->relay->frame);
        if (!wrong) answer(x, &x->relay->frame, RESPONSE_SYSTEM_ERROR, remark, (struct slice){NULL, 0});
        err_free(wrong);
    }
    buf_done(&waiting);
    look(x);
}

static void on_connected(void *ctx, err_t error, struct stream *s)
{
    struct end *e = ctx;
    e->connecting = NULL;
    if (error) give_up(e, error);
    else begin_with(e, s);
}

static struct end *end_of(struct relayed *x, size_t server)
{
    if (server >= x->count) {
        struct end **more = must_zero((server + 1) * sizeof(struct end *));
        if (x->count) memcpy(more, x->servers, x->count * sizeof(struct end *));
        free(x->servers);
        x->servers = more;
        x->count = server + 1;
    }
    if (!x->servers[server]) {
        x->servers[server] = must_zero(sizeof(struct end));
        x->servers[server]->of = x;
    }
    return x->servers[server];
}

static err_t begin_connect(struct end *e, size_t server)
{
    struct rpc_relay *r = e->of->relay;
    struct slice address = {NULL, 0}, host;
    struct stream *s;
    uint16_t port;
    struct local_port *here = r->options.place(r->options.ctx, server, &address);
    err_t error = here ? local_connect(r->loop, here, &e->of->remote, &s) : addr_split(address, &host, &port);
    if (error) return error;
    if (here) begin_with(e, s);
    else error = loop_connect(r->loop, host, port, CONNECT_MS, on_connected, e, &e->connecting);
    return error;
}

static void ask(struct relayed *x, size_t server, struct slice frame)
{
    struct end *e = end_of(x, server);
    pass_on(e, frame);
    if (e->conn || e->connecting) return;
    err_t error = begin_connect(e, server);
    if (error) give_up(e, error);
}

/* --- watched replies --- */

static bool watch(struct relayed *x, int32_t opaque)
{
    if (x->watched.n >= WATCHED_MAX * sizeof opaque) return false;
    buf_put(&x->watched, &opaque, sizeof opaque);
    return true;
}

static bool was_watched(struct relayed *x, int32_t opaque)
{
    int32_t *all = (int32_t *)(void *)x->watched.p;
    size_t count = x->watched.n / sizeof *all;
    for (size_t i = 0; i < count; i++) {
        if (all[i] != opaque) continue;
        all[i] = all[count - 1];
        x->watched.n -= sizeof *all;
        return true;
    }
    return false;
}

/* --- frames --- */

/* The same request, to be answered by nobody. */
static struct slice as_oneway(struct rpc_relay *r, const struct frame *f, struct slice body)
{
    struct frame_head head = {.form = f->form, .code = f->code, .language = f->language, .version = f->version, .opaque = f->opaque,
                              .flag = f->flag | FRAME_FLAG_ONEWAY, .remark = f->remark};
    struct frame_writer w;
    buf_clear(&r->changed);
    frame_begin(&w, &r->changed, &head);
    for (size_t i = 0; i < f->count; i++) frame_put(&w, f->fields[i].name, f->fields[i].value);
    frame_end(&w, body.n);
    buf_put_slice(&r->changed, body);
    return buf_slice(&r->changed);
}

static void take_request(struct relayed *x, const struct frame *f, struct slice frame, struct slice body)
{
    struct rpc_relay *r = x->relay;
    struct relay_choice *c = &r->choice;
    *c = (struct relay_choice){.body = BUF_EMPTY};
    r->options.choose(r->options.ctx, f, body, c);
    if (c->count && c->watch && !watch(x, f->opaque)) {
        answer(x, f, RESPONSE_SYSTEM_BUSY, "too many requests at a time", (struct slice){NULL, 0});
        return;
    }
    if (!c->count) answer(x, f, c->code, c->remark, buf_slice(&c->body));
    buf_done(&c->body);
    size_t others = c->count > 1 ? c->count : 0, first = c->count ? c->servers[0] : 0;
    struct slice oneway = others ? as_oneway(r, f, body) : (struct slice){NULL, 0};
    if (c->count && wants_reply(f)) x->owed++;
    for (size_t i = 1; i < others; i++) ask(x, c->servers[i], oneway);
    if (c->count) ask(x, first, frame);
}

static void on_client_frame(void *ctx, uint8_t *p, size_t n)
{
    struct relayed *x = ((struct end *)ctx)->of;
    struct frame *f = &x->relay->frame;
    err_t e = read_head(x->relay, p, n, f);
    if (e) {
        refuse(x, e);
        return;
    }
    struct slice body = slice_skip(slice_of(p, n), x->relay->head.n);
    if (!(f->flag & FRAME_FLAG_RESPONSE)) take_request(x, f, slice_of(p, n), body);
    else if (x->asked_by) pass_on(x->asked_by, slice_of(p, n));
}

static struct slice look_at_reply(struct rpc_relay *r, struct frame *f, struct slice frame)
{
    buf_clear(&r->changed);
    f->body = slice_skip(frame, r->head.n);
    r->options.reply(r->options.ctx, f, &r->changed);
    return r->changed.n ? buf_slice(&r->changed) : frame;
}

static void on_server_frame(void *ctx, uint8_t *p, size_t n)
{
    struct end *end = ctx;
    struct relayed *x = end->of;
    struct frame *f = &x->relay->frame;
    err_t e = read_head(x->relay, p, n, f);
    if (e) {
        refuse(x, e);
        return;
    }
    struct slice frame = slice_of(p, n);
    if (f->flag & FRAME_FLAG_RESPONSE && x->owed) x->owed--;
    if (!(f->flag & FRAME_FLAG_RESPONSE)) x->asked_by = end;
    else if (x->watched.n && was_watched(x, f->opaque)) frame = look_at_reply(x->relay, f, frame);
    pass_on(&x->client, frame);
}

static const struct conn_events events_of_client = {.size = frame_size, .unit = on_client_frame, .end = on_end, .taken = on_taken};
static const struct conn_events events_of_server = {.size = frame_size, .unit = on_server_frame, .end = on_end, .taken = on_taken};

void rpc_relay_take(struct rpc_relay *r, struct stream *s, const struct addr *remote)
{
    struct relayed *x = must_zero(sizeof *x);
    x->relay = r;
    x->remote = *remote;
    x->client.of = x;
    timer_init(&x->look, look_again, x);
    list_add(&r->all, &x->node);
    x->client.conn = conn_new(&r->group, s, &events_of_client, &limits, &x->client);
}

/* --- all of them --- */

void rpc_relay_quiesce(struct rpc_relay *r)
{
    r->quiet = true;
    LIST_EACH(&r->all, node) conn_hold(LIST_OWNER(node, struct relayed, node)->client.conn, true);
}

bool rpc_relay_settle(struct rpc_relay *r)
{
    LIST_EACH(&r->all, node) {
        struct relayed *x = LIST_OWNER(node, struct relayed, node);
        if (!x->owed && !conn_unsent_bytes(x->client.conn)) conn_finish(x->client.conn);
    }
    return list_empty(&r->all);
}

size_t rpc_relay_unsent(const struct rpc_relay *r)
{
    size_t sum = 0;
    LIST_EACH(&r->all, node) {
        const struct relayed *x = LIST_OWNER(node, struct relayed, node);
        sum += conn_unsent_bytes(x->client.conn);
        for (size_t i = 0; i < x->count; i++) sum += x->servers[i] && x->servers[i]->conn ? conn_unsent_bytes(x->servers[i]->conn) : 0;
    }
    return sum;
}

static void scan(void *ctx)
{
    struct rpc_relay *r = ctx;
    int64_t now = tasks_mono_ms(&r->loop->tasks);
    LIST_EACH(&r->all, node) {
        struct relayed *x = LIST_OWNER(node, struct relayed, node);
        if (now - conn_active_ms(x->client.conn) > r->options.idle_close_ms) close_all(x, "idle");
    }
    timer_start(&r->loop->tasks, &r->scan, SCAN_MS);
}

struct rpc_relay *rpc_relay_new(struct loop *loop, const struct rpc_relay_options *options)
{
    struct rpc_relay *r = must_zero(sizeof *r);
    r->loop = loop;
    r->options = *options;
    list_init(&r->all);
    conn_group_init(&r->group, loop);
    timer_init(&r->scan, scan, r);
    if (options->idle_close_ms) timer_start(&loop->tasks, &r->scan, SCAN_MS);
    return r;
}

void rpc_relay_free(struct rpc_relay *r)
{
    if (!r) return;
    timer_stop(&r->loop->tasks, &r->scan);
    while (!list_empty(&r->all)) close_all(LIST_OWNER(list_first(&r->all), struct relayed, node), "shutdown");
    conn_group_done(&r->group);
    buf_done(&r->head);
    buf_done(&r->changed);
    free(r);
}
