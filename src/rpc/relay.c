#include "rpc/relay.h"

#include "base/log.h"
#include "net/conn.h"
#include "net/local.h"

#include <stdlib.h>

enum {
    HOLD_BYTES = 1 << 20,               /* unsent to somebody: who talks to him waits */
    UNSENT_MAX = 64 << 20,
    STALLED_MS = 30000,
    SCAN_MS = 5000,
    HEAD_BYTES = 8,                     /* total, form and length of the header */
    CLIENT = RELAY_SERVERS_MAX,         /* the number of the client's end */
    ENDS = RELAY_SERVERS_MAX + 1,
};

struct relayed;

struct end {
    struct relayed *of;
    struct conn *conn;                  /* NULL: not connected */
};

struct relayed {
    struct list_node node;
    struct rpc_relay *relay;
    struct addr remote;
    struct end ends[ENDS];
    size_t asked_by;                    /* the server that asked the client something last */
    bool holds_servers, holds_client;
    struct timer look;                  /* again, whether somebody is still slow */
};

struct rpc_relay {
    struct loop *loop;
    struct rpc_relay_options options;
    struct conn_group group;
    struct list all;
    struct timer scan;
    struct buf head;                    /* a header that is decoded */
    struct frame frame;
};

/* --- who is slow --- */

static bool is_slow(const struct end *e, bool was)
{
    return e->conn && conn_unsent_bytes(e->conn) > (was ? HOLD_BYTES / 2 : HOLD_BYTES);
}

static void hold_servers(struct relayed *x)
{
    x->holds_servers = is_slow(&x->ends[CLIENT], x->holds_servers);
    for (size_t i = 0; i < CLIENT; i++)
        if (x->ends[i].conn) conn_hold(x->ends[i].conn, x->holds_servers);
}

static void hold_client(struct relayed *x)
{
    bool slow = false;
    for (size_t i = 0; i < CLIENT; i++) slow |= is_slow(&x->ends[i], x->holds_client);
    x->holds_client = slow;
    conn_hold(x->ends[CLIENT].conn, slow);
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

static void close_all(struct relayed *x, const char *why)
{
    char text[ADDR_TEXT_MAX];
    log_debug("relay.closed remote=%s why=\"%s\"", addr_format(&x->remote, text), why);
    timer_stop(&x->relay->loop->tasks, &x->look);
    for (size_t i = 0; i < ENDS; i++)
        if (x->ends[i].conn) conn_close(x->ends[i].conn);
    list_remove(&x->node);
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

static void pass_on(struct relayed *x, size_t to, const uint8_t *p, size_t n)
{
    struct conn *c = x->ends[to].conn;
    buf_put(conn_out(c), p, n);
    conn_sent(c);
    if (conn_unsent_bytes(c) > HOLD_BYTES) look(x);
}

static const struct conn_events events_of_server;
static const struct conn_limits limits = {.max_unsent_bytes = UNSENT_MAX, .stalled_close_ms = STALLED_MS};

static err_t connect_to(struct relayed *x, size_t server)
{
    struct rpc_relay *r = x->relay;
    struct stream *s;
    if (x->ends[server].conn) return NULL;
    err_t e = local_connect(r->loop, r->options.servers[server], &x->remote, &s);
    if (e) return e;
    x->ends[server].conn = conn_new(&r->group, s, &events_of_server, &limits, &x->ends[server]);
    if (x->holds_servers) conn_hold(x->ends[server].conn, true);
    return NULL;
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
    size_t to = f->flag & FRAME_FLAG_RESPONSE ? x->asked_by : x->relay->options.choose(f->code);
    e = connect_to(x, to);
    if (!e) pass_on(x, to, p, n);
    else refuse(x, e);
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
    if (!(f->flag & FRAME_FLAG_RESPONSE)) x->asked_by = (size_t)(end - x->ends);
    pass_on(x, CLIENT, p, n);
}

static const struct conn_events events_of_client = {.size = frame_size, .unit = on_client_frame, .end = on_end, .taken = on_taken};
static const struct conn_events events_of_server = {.size = frame_size, .unit = on_server_frame, .end = on_end, .taken = on_taken};

void rpc_relay_take(struct rpc_relay *r, struct stream *s, const struct addr *remote)
{
    struct relayed *x = must_zero(sizeof *x);
    x->relay = r;
    x->remote = *remote;
    for (size_t i = 0; i < ENDS; i++) x->ends[i].of = x;
    timer_init(&x->look, look_again, x);
    list_add(&r->all, &x->node);
    x->ends[CLIENT].conn = conn_new(&r->group, s, &events_of_client, &limits, &x->ends[CLIENT]);
}

/* --- all of them --- */

size_t rpc_relay_unsent(const struct rpc_relay *r)
{
    size_t sum = 0;
    LIST_EACH(&r->all, node) {
        const struct relayed *x = LIST_OWNER(node, struct relayed, node);
        for (size_t i = 0; i < ENDS; i++) sum += x->ends[i].conn ? conn_unsent_bytes(x->ends[i].conn) : 0;
    }
    return sum;
}

static void scan(void *ctx)
{
    struct rpc_relay *r = ctx;
    int64_t now = tasks_mono_ms(&r->loop->tasks);
    LIST_EACH(&r->all, node) {
        struct relayed *x = LIST_OWNER(node, struct relayed, node);
        if (now - conn_active_ms(x->ends[CLIENT].conn) > r->options.idle_close_ms) close_all(x, "idle");
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
    free(r);
}
