#include "http/http.h"

#include "base/log.h"
#include "net/conn.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { SCAN_MS = 5000, UNSENT_MAX_BYTES = 64 << 20 };

struct http_server {
    struct loop *loop;
    struct listener *listener;
    struct http_service service;
    struct conn_group group;
    struct list conns;
    size_t count;
    struct timer scan;
};

struct http_conn {
    struct list_node node;
    struct http_server *server;
    struct conn *conn;
    struct buf in;              /* heads that have come, the first one perhaps not whole */
    struct http_call *call;     /* the one that waits for its answer */
    bool looking;               /* at `in` */
    bool ends;                  /* when its output is sent */
    struct timer ending;
};

struct http_call {
    struct http_conn *conn;     /* NULL: it has gone */
    bool head_only;
    bool keep_alive;
};

/* --- connections --- */

static void conn_end(struct http_conn *c)
{
    if (c->call) c->call->conn = NULL;   /* its handler still has it */
    timer_stop(&c->server->loop->tasks, &c->ending);
    conn_close(c->conn);
    list_remove(&c->node);
    c->server->count--;
    buf_done(&c->in);
    free(c);
}

static const char *reason(int status)
{
    switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 413: return "Content Too Large";
    case 431: return "Request Header Fields Too Large";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 505: return "HTTP Version Not Supported";
    default: return "";
    }
}

static void put_head(struct buf *out, int status, const char *type, size_t body_bytes, bool keep_alive)
{
    buf_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n", status, reason(status), type, body_bytes);
    if (status == 405) buf_put_text(out, "Allow: GET, HEAD\r\n");
    if (!keep_alive) buf_put_text(out, "Connection: close\r\n");
    buf_put_text(out, "\r\n");
}

static void sent(struct http_conn *c, bool keep_alive)
{
    conn_sent(c->conn);
    if (keep_alive) return;
    c->ends = true;
    timer_start(&c->server->loop->tasks, &c->ending, 0);   /* when this turn has sent it */
}

static void send_answer(struct http_conn *c, int status, const char *type, struct slice body, bool head_only, bool keep_alive)
{
    struct buf *out = conn_out(c->conn);
    put_head(out, status, type, body.n, keep_alive);
    if (!head_only) buf_put_slice(out, body);
    sent(c, keep_alive);
}

static void end_if_sent(void *ctx)
{
    struct http_conn *c = ctx;
    if (c->ends && !conn_unsent_bytes(c->conn)) conn_end(c);
}

static void refuse(struct http_conn *c, int status)
{
    char text[80];
    int n = snprintf(text, sizeof text, "%d %s\n", status, reason(status));
    send_answer(c, status, "text/plain; charset=utf-8", slice_of(text, (size_t)n), false, false);
}

static void take_head(struct http_conn *c, struct slice bytes)
{
    struct http_head head;
    int status = http_head_parse(bytes, &head);
    if (status) {
        refuse(c, status);
        return;
    }
    struct http_call *call = must_zero(sizeof *call);
    *call = (struct http_call){.conn = c, .head_only = slice_eq(head.method, SLICE("HEAD")), .keep_alive = head.keep_alive};
    c->call = call;
    c->server->service.get(c->server->service.ctx, call, head.path);
}

/* Answers that are given at once do not lead to look in look. */
static void look(struct http_conn *c)
{
    size_t done = 0, size = 0;
    c->looking = true;
    while (!c->call && !c->ends) {
        err_t e = http_head_size(c->in.p + done, c->in.n - done, &size);
        if (e) refuse(c, 431), err_free(e);
        if (!size) break;
        take_head(c, slice_of(c->in.p + done, size));
        done += size;
    }
    c->looking = false;
    if (done) memmove(c->in.p, c->in.p + done, c->in.n - done);
    c->in.n -= done;
    if (!c->in.n) buf_done(&c->in);
    conn_hold(c->conn, c->call || c->ends);
}

/* Whatever has come: where a head ends is seen in `in`. */
static err_t all_of_it(const uint8_t *p, size_t n, size_t *out)
{
    (void)p;
    *out = n;
    return NULL;
}

static void on_unit(void *ctx, uint8_t *p, size_t n)
{
    struct http_conn *c = ctx;
    buf_put(&c->in, p, n);
    look(c);
}

static void on_end(void *ctx, err_t e)
{
    err_free(e);
    conn_end(ctx);
}

static const struct conn_events conn_events = {.size = all_of_it, .unit = on_unit, .end = on_end, .taken = end_if_sent};

static void on_accepted(void *ctx, struct stream *stream, const struct addr *remote)
{
    struct http_server *s = ctx;
    (void)remote;
    if (s->count == HTTP_CONNS_MAX) {
        stream_close(stream);
        return;
    }
    struct http_conn *c = must_zero(sizeof *c);
    struct conn_limits limits = {.max_unsent_bytes = UNSENT_MAX_BYTES, .stalled_close_ms = HTTP_IDLE_MS};
    c->server = s;
    timer_init(&c->ending, end_if_sent, c);
    list_add(&s->conns, &c->node);
    s->count++;
    c->conn = conn_new(&s->group, stream, &conn_events, &limits, c);
}

/* --- answers --- */

void http_reply(struct http_call *call, int status, const char *type, struct slice body)
{
    struct http_conn *c = call->conn;
    if (c) {
        c->call = NULL;
        send_answer(c, status, type, body, call->head_only, call->keep_alive);
        if (!c->looking) look(c);
    }
    free(call);
}

static void send_parts(struct http_conn *c, const struct http_call *call, int status, const char *type, struct buf *parts, size_t count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += parts[i].n;
    put_head(conn_out(c->conn), status, type, bytes, call->keep_alive);
    for (size_t i = 0; i < count && !call->head_only; i++) {
        struct pinned part = {buf_slice(&parts[i]), free, parts[i].p};
        if (!parts[i].n) continue;
        conn_out_pinned(c->conn, &part);
        parts[i] = BUF_EMPTY;
    }
    sent(c, call->keep_alive);
}

void http_reply_parts(struct http_call *call, int status, const char *type, struct buf *parts, size_t count)
{
    struct http_conn *c = call->conn;
    if (c) {
        c->call = NULL;
        send_parts(c, call, status, type, parts, count);
        if (!c->looking) look(c);
    }
    for (size_t i = 0; i < count; i++) buf_done(&parts[i]);
    free(call);
}

void http_reply_text(struct http_call *call, int status, const char *text)
{
    http_reply(call, status, "text/plain; charset=utf-8", slice_text(text));
}

/* --- life --- */

/* Who has been silent for long, and waits for nothing. */
static void scan(void *ctx)
{
    struct http_server *s = ctx;
    int64_t now = tasks_mono_ms(&s->loop->tasks);
    LIST_EACH(&s->conns, node) {
        struct http_conn *c = LIST_OWNER(node, struct http_conn, node);
        if (!c->call && now - conn_active_ms(c->conn) > HTTP_IDLE_MS) conn_end(c);
    }
    timer_start(&s->loop->tasks, &s->scan, SCAN_MS);
}

err_t http_listen(struct loop *loop, const struct addr *at, const struct http_service *service, struct http_server **out)
{
    struct http_server *s = must_zero(sizeof *s);
    struct listener_events events = {.accepted = on_accepted, .ctx = s};
    err_t e = loop_listen(loop, at, &events, &s->listener);
    if (e) {
        free(s);
        return e;
    }
    s->loop = loop;
    s->service = *service;
    list_init(&s->conns);
    conn_group_init(&s->group, loop);
    timer_init(&s->scan, scan, s);
    timer_start(&loop->tasks, &s->scan, SCAN_MS);
    *out = s;
    return NULL;
}

struct addr http_addr(const struct http_server *s) { return listener_addr(s->listener); }

void http_close(struct http_server *s)
{
    if (!s) return;
    listener_close(s->listener);
    timer_stop(&s->loop->tasks, &s->scan);
    while (!list_empty(&s->conns)) conn_end(LIST_OWNER(list_first(&s->conns), struct http_conn, node));
    conn_group_done(&s->group);
    free(s);
}
