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
    struct http_body body;      /* that is being sent; next NULL: none */
    bool chunked;               /* … its pieces are */
    bool then_ends;             /* … and the connection, behind it */
    bool looking;               /* at `in` */
    bool ends;                  /* when its output is sent */
    struct timer next;          /* looks whether its output is sent: it goes on, or ends */
};

struct http_call {
    struct http_conn *conn;     /* NULL: it has gone */
    bool head_only;
    bool keep_alive;
    bool chunks;
};

/* --- connections --- */

static void end_body(struct http_conn *c)
{
    struct http_body body = c->body;
    c->body = (struct http_body){.next = NULL};
    if (body.done) body.done(body.ctx);
}

static void conn_end(struct http_conn *c)
{
    if (c->call) c->call->conn = NULL;   /* its handler still has it */
    end_body(c);
    timer_stop(&c->server->loop->tasks, &c->next);
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

enum body_size { BODY_IN_CHUNKS = -1, BODY_TO_THE_END = -2 };

static void put_head(struct buf *out, int status, const char *type, int64_t body_bytes, bool keep_alive)
{
    buf_printf(out, "HTTP/1.1 %d %s\r\nContent-Type: %s\r\n", status, reason(status), type);
    if (body_bytes >= 0) buf_printf(out, "Content-Length: %lld\r\n", (long long)body_bytes);
    if (body_bytes == BODY_IN_CHUNKS) buf_put_text(out, "Transfer-Encoding: chunked\r\n");
    if (status == 405) buf_put_text(out, "Allow: GET, HEAD\r\n");
    if (!keep_alive) buf_put_text(out, "Connection: close\r\n");
    buf_put_text(out, "\r\n");
}

static void sent(struct http_conn *c, bool keep_alive)
{
    conn_sent(c->conn);
    if (keep_alive) return;
    c->ends = true;
    timer_start(&c->server->loop->tasks, &c->next, 0);   /* when this turn has sent it */
}

static void send_answer(struct http_conn *c, int status, const char *type, struct slice body, bool head_only, bool keep_alive)
{
    struct buf *out = conn_out(c->conn);
    put_head(out, status, type, (int64_t)body.n, keep_alive);
    if (!head_only) buf_put_slice(out, body);
    sent(c, keep_alive);
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
    *call = (struct http_call){.conn = c, .head_only = slice_eq(head.method, SLICE("HEAD")), .keep_alive = head.keep_alive, .chunks = head.chunks};
    c->call = call;
    c->server->service.get(c->server->service.ctx, call, head.path);
}

/* Answers that are given at once do not lead to look in look. */
static void look(struct http_conn *c)
{
    size_t done = 0, size = 0;
    c->looking = true;
    while (!c->call && !c->body.next && !c->ends) {
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
    conn_hold(c->conn, c->call || c->body.next || c->ends);
}

/* --- a body that is made while it is sent --- */

/* A chunk: its size, which is written when it is known, in front. */
static void put_piece(struct http_conn *c)
{
    struct buf *out = conn_out(c->conn);
    static const char no_size[] = "00000000\r\n";
    char size[sizeof no_size];
    size_t at = out->n;
    if (c->chunked) buf_put_text(out, no_size);
    size_t from = out->n;
    bool more = c->body.next(c->body.ctx, out);
    bool empty = out->n == from;
    if (c->chunked && empty) out->n = at;   /* a chunk of no bytes would be the end */
    if (c->chunked && !empty) {
        snprintf(size, sizeof size, "%08x\r\n", (unsigned)(out->n - from));
        memcpy(out->p + at, size, sizeof size - 1);
        buf_put_text(out, "\r\n");
    }
    if (more) return;
    if (c->chunked) buf_put_text(out, "0\r\n\r\n");
    end_body(c);
}

static void go_on(struct http_conn *c)
{
    put_piece(c);
    sent(c, c->body.next || !c->then_ends);
    if (c->body.next) timer_start(&c->server->loop->tasks, &c->next, 0);
}

/* Also called when output was taken that had to wait. */
static void look_at_output(void *ctx)
{
    struct http_conn *c = ctx;
    if (conn_unsent_bytes(c->conn)) return;
    if (c->ends) {
        conn_end(c);
        return;
    }
    if (!c->body.next) return;
    go_on(c);
    if (!c->body.next && !c->ends) look(c);
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

static const struct conn_events conn_events = {.size = all_of_it, .unit = on_unit, .end = on_end, .taken = look_at_output};

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
    timer_init(&c->next, look_at_output, c);
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

static void begin_body(struct http_conn *c, const struct http_call *call, int status, const char *type, const struct http_body *body)
{
    put_head(conn_out(c->conn), status, type, call->chunks ? BODY_IN_CHUNKS : BODY_TO_THE_END, call->keep_alive && call->chunks);
    c->body = *body;
    c->chunked = call->chunks;
    c->then_ends = !call->keep_alive || !call->chunks;
    if (!call->head_only) {
        go_on(c);
        return;
    }
    end_body(c);
    sent(c, !c->then_ends);
}

void http_reply_body(struct http_call *call, int status, const char *type, const struct http_body *body)
{
    struct http_conn *c = call->conn;
    if (c) {
        c->call = NULL;
        begin_body(c, call, status, type, body);
        if (!c->looking) look(c);
    } else {
        body->done(body->ctx);
    }
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
