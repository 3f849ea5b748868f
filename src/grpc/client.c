#include "grpc/client.h"

#include "base/printable.h"
#include "grpc/gzip.h"
#include "grpc/words.h"
#include "net/conn.h"
#include "net/tls.h"

#include <assert.h>
#include <nghttp2/nghttp2.h>
#include <stdio.h>
#include <stdlib.h>

enum { PREFIX_BYTES = 5, HEADERS_MAX = 40, TEXT_MAX = 300, UNSENT_MAX = 4 << 20, WINDOW = 1 << 20, ALWAYS_THERE = 8 };

struct unary_client {
    struct loop *loop;
    struct unary_client_options options;
    char *host, *authority;
    struct connect *connecting;
    struct conn_group group;
    struct conn *conn;              /* NULL: there is none */
    nghttp2_session *session;       /* that of the connection */

    /* The call under way. */
    bool calls;
    char *path;
    struct buf out;                 /* with its prefix */
    size_t out_at;
    struct buf in;
    int status;                     /* grpc-status; -1: has not come */
    int http_status;
    char text[TEXT_MAX];
    struct timer timer;             /* the call's deadline; then tells what became of it */
    bool over;
    enum grpc_status result;
    int64_t deadline_ms;
    void (*done)(void *ctx, const struct grpc_answer *answer);
    void *ctx;
};

static struct tasks *tasks_of(struct unary_client *c) { return &c->loop->tasks; }

/* --- the end of a call: told in a turn of its own --- */

static void drop_connection(struct unary_client *c)
{
    if (c->connecting) connect_cancel(c->connecting);
    if (c->conn) conn_close(c->conn);
    nghttp2_session_del(c->session);
    c->connecting = NULL;
    c->conn = NULL;
    c->session = NULL;
}

static void finish(struct unary_client *c, enum grpc_status status, const char *text)
{
    if (!c->calls || c->over) return;
    c->over = true;
    c->result = status;
    if (text) snprintf(c->text, sizeof c->text, "%s", text);
    timer_start(tasks_of(c), &c->timer, 0);
}

static struct slice message_of(const struct unary_client *c)
{
    return c->result == GRPC_OK ? slice_skip(buf_slice(&c->in), PREFIX_BYTES) : (struct slice){NULL, 0};
}

static void tell(struct unary_client *c)
{
    struct grpc_answer answer = {c->result, slice_text(c->text), message_of(c)};
    char text[TEXT_MAX];
    struct buf in = c->in;
    memcpy(text, c->text, sizeof text);
    answer.text = slice_text(text);
    c->in = BUF_EMPTY;
    c->calls = c->over = false;
    buf_done(&c->out);
    free(c->path);
    c->path = NULL;
    if (answer.status != GRPC_OK) drop_connection(c);
    c->done(c->ctx, &answer);   /* c may be gone now */
    buf_done(&in);
}

static void on_timer(void *ctx)
{
    struct unary_client *c = ctx;
    if (!c->over) {
        c->over = true;
        c->result = GRPC_DEADLINE_EXCEEDED;
        snprintf(c->text, sizeof c->text, "%s", c->conn ? "no answer in time" : "no connection in time");
    }
    tell(c);
}

/* --- what comes --- */

static bool is_of_call(const struct unary_client *c, nghttp2_session *session, int32_t id)
{
    return c->calls && !c->over && nghttp2_session_get_stream_user_data(session, id) == c;
}

/* grpc-message is percent-encoded; whatever it is, it goes to the log. */
static void keep_text(struct unary_client *c, struct slice value)
{
    size_t n = 0;
    for (size_t i = 0; i < value.n && n + 1 < sizeof c->text; i++) {
        char hex[3] = {0, 0, 0};
        bool coded = value.p[i] == '%' && i + 2 < value.n;
        if (coded) memcpy(hex, value.p + i + 1, 2);
        uint8_t byte = coded ? (uint8_t)strtoul(hex, NULL, 16) : value.p[i];
        if (coded) i += 2;
        c->text[n++] = byte >= 0x20 && byte < 0x7f ? (char)byte : '?';
    }
    c->text[n] = 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name, size_t name_n, const uint8_t *value, size_t value_n,
                     uint8_t flags, void *ctx)
{
    struct unary_client *c = ctx;
    struct slice key = slice_of(name, name_n), text = slice_of(value, value_n);
    int32_t number;
    (void)flags;
    if (!is_of_call(c, session, f->hd.stream_id)) return 0;
    if (slice_eq(key, SLICE(":status")) && slice_to_i32(text, &number)) c->http_status = number;
    if (slice_eq(key, SLICE("grpc-status"))) {
        bool known = slice_to_i32(text, &number) && number >= 0 && number <= GRPC_UNAUTHENTICATED;
        c->status = known ? number : GRPC_UNKNOWN;
    }
    if (slice_eq(key, SLICE("grpc-message"))) keep_text(c, text);
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *ctx)
{
    struct unary_client *c = ctx;
    (void)flags;
    if (!is_of_call(c, session, id)) return 0;
    if (c->in.n + n > GRPC_ANSWER_MAX) finish(c, GRPC_RESOURCE_EXHAUSTED, "the answer is too large");
    else buf_put(&c->in, p, n);
    return 0;
}

/* One message that is not packed: we accept no other. */
static void take_answer(struct unary_client *c)
{
    char text[TEXT_MAX];
    bool whole = c->in.n >= PREFIX_BYTES && !c->in.p[0] && get_be32(c->in.p + 1) == c->in.n - PREFIX_BYTES;
    if (c->status < 0) {
        snprintf(text, sizeof text, "no gRPC answer, but HTTP status %d", c->http_status);
        finish(c, GRPC_UNAVAILABLE, text);
    } else if (c->status == GRPC_OK && !whole) {
        finish(c, GRPC_INTERNAL, "the answer is not one message");
    } else {
        finish(c, (enum grpc_status)c->status, NULL);
    }
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *ctx)
{
    struct unary_client *c = ctx;
    char text[TEXT_MAX];
    if (!is_of_call(c, session, id)) return 0;
    if (c->status < 0 && error) {
        snprintf(text, sizeof text, "the stream was reset: %s", nghttp2_http2_strerror(error));
        finish(c, GRPC_UNAVAILABLE, text);
    } else {
        take_answer(c);
    }
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f, void *ctx)
{
    (void)session;
    if (f->hd.type == NGHTTP2_GOAWAY && f->goaway.last_stream_id == 0) finish(ctx, GRPC_UNAVAILABLE, "the server takes no calls (GOAWAY)");
    return 0;
}

/* --- what goes --- */

static ssize_t read_out(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    struct unary_client *c = source->ptr;
    size_t left = c->out.n - c->out_at, n = left < length ? left : length;
    (void)session, (void)id, (void)ctx;
    if (n) memcpy(buf, c->out.p + c->out_at, n);
    c->out_at += n;
    if (c->out_at == c->out.n) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static void pull(struct unary_client *c)
{
    const uint8_t *p;
    ssize_t n;
    while (conn_unsent_bytes(c->conn) < WINDOW && (n = nghttp2_session_mem_send(c->session, &p)) > 0) buf_put(conn_out(c->conn), p, (size_t)n);
    conn_sent(c->conn);
}

static nghttp2_nv pair(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static size_t make_headers(const struct unary_client *c, const char *timeout, nghttp2_nv *out)
{
    size_t n = 0;
    out[n++] = pair(":method", "POST");
    out[n++] = pair(":scheme", c->options.tls ? "https" : "http");
    out[n++] = pair(":path", c->path);
    out[n++] = pair(":authority", c->authority);
    out[n++] = pair("content-type", "application/grpc");
    out[n++] = pair("te", "trailers");
    out[n++] = pair("grpc-timeout", timeout);
    if (c->options.pack) out[n++] = pair("grpc-encoding", "gzip");
    assert(n <= ALWAYS_THERE);
    for (const char *const *h = c->options.headers; h && h[0] && n < HEADERS_MAX; h += 2) out[n++] = pair(h[0], h[1]);
    return n;
}

/* In seconds when ms are too many for eight digits. */
static void submit(struct unary_client *c)
{
    nghttp2_nv headers[HEADERS_MAX];
    nghttp2_data_provider provider = {.source.ptr = c, .read_callback = read_out};
    char timeout[32];
    int64_t left = c->deadline_ms - tasks_mono_ms(tasks_of(c));
    if (left < 1) left = 1;
    snprintf(timeout, sizeof timeout, left < 100000000 ? "%lldm" : "%lldS", (long long)(left < 100000000 ? left : left / 1000));
    size_t n = make_headers(c, timeout, headers);
    int32_t id = nghttp2_submit_request(c->session, NULL, headers, n, &provider, c);
    if (id < 0) finish(c, GRPC_INTERNAL, nghttp2_strerror(id));
    pull(c);
}

/* --- the connection --- */

static err_t size(const uint8_t *p, size_t n, size_t *out)
{
    (void)p;
    *out = n;   /* the session cuts frames itself */
    return NULL;
}

static void on_bytes(void *ctx, uint8_t *p, size_t n)
{
    struct unary_client *c = ctx;
    ssize_t used = nghttp2_session_mem_recv(c->session, p, n);
    if (used < 0) finish(c, GRPC_UNAVAILABLE, nghttp2_strerror((int)used));
    if (used < 0) drop_connection(c);
    else pull(c);
}

static void on_end(void *ctx, err_t e)
{
    struct unary_client *c = ctx;
    finish(c, GRPC_UNAVAILABLE, e ? err_text(e) : "the server closed the connection");
    err_free(e);
    drop_connection(c);
}

static void on_taken(void *ctx) { pull(ctx); }

static nghttp2_session *session_new(struct unary_client *c)
{
    nghttp2_session_callbacks *b;
    nghttp2_session *session;
    if (nghttp2_session_callbacks_new(&b)) abort();   /* memory is short */
    nghttp2_session_callbacks_set_on_header_callback(b, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(b, on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(b, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(b, on_stream_close);
    if (nghttp2_session_client_new(&session, b, c)) abort();
    nghttp2_session_callbacks_del(b);
    nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, NULL, 0);
    return session;
}

static void on_connected(void *ctx, err_t e, struct stream *s)
{
    static const struct conn_events events = {.size = size, .unit = on_bytes, .end = on_end, .taken = on_taken};
    const struct conn_limits limits = {.max_unsent_bytes = UNSENT_MAX, .stalled_close_ms = 30000};
    struct unary_client *c = ctx;
    c->connecting = NULL;
    if (e) {
        finish(c, GRPC_UNAVAILABLE, err_text(e));
        err_free(e);
        return;
    }
    if (c->options.tls) s = tls_stream_connect(c->options.tls, s, c->host);
    c->session = session_new(c);
    c->conn = conn_new(&c->group, s, &events, &limits, c);
    if (c->calls && !c->over) submit(c);
}

static void connect_to(struct unary_client *c)
{
    int64_t left = c->deadline_ms - tasks_mono_ms(tasks_of(c));
    err_t e = loop_connect(c->loop, slice_text(c->host), c->options.port, left, on_connected, c, &c->connecting);
    if (e) finish(c, GRPC_UNAVAILABLE, err_text(e));
    err_free(e);
}

/* --- life --- */

struct unary_client *unary_client_new(struct loop *loop, const struct unary_client_options *options)
{
    struct unary_client *c = must_zero(sizeof *c);
    char authority[TEXT_MAX];
    c->loop = loop;
    c->options = *options;
    c->options.host = c->host = must_strdup(options->host);
    snprintf(authority, sizeof authority, strchr(c->host, ':') ? "[%s]:%u" : "%s:%u", c->host, (unsigned)options->port);
    c->authority = must_strdup(authority);
    conn_group_init(&c->group, loop);
    timer_init(&c->timer, on_timer, c);
    return c;
}

static void put_request(struct unary_client *c, struct slice request)
{
    size_t prefix;
    buf_clear(&c->out);
    buf_put_u8(&c->out, c->options.pack);
    prefix = c->out.n;
    buf_put_be32(&c->out, 0);
    if (c->options.pack) gzip_pack(request, &c->out);
    else buf_put_slice(&c->out, request);
    put_be32(c->out.p + prefix, (uint32_t)(c->out.n - PREFIX_BYTES));
}

void unary_client_call(struct unary_client *c, const char *path, struct slice request, int64_t timeout_ms,
                       void (*done)(void *ctx, const struct grpc_answer *answer), void *ctx)
{
    assert(!c->calls);
    c->calls = true;
    c->path = must_strdup(path);
    c->out_at = 0;
    c->status = -1;
    c->http_status = 0;
    c->text[0] = 0;
    c->done = done;
    c->ctx = ctx;
    c->deadline_ms = tasks_mono_ms(tasks_of(c)) + timeout_ms;
    put_request(c, request);
    timer_start(tasks_of(c), &c->timer, timeout_ms);
    if (c->conn) submit(c);
    else connect_to(c);
}

void unary_client_close(struct unary_client *c)
{
    if (!c) return;
    timer_stop(tasks_of(c), &c->timer);
    drop_connection(c);
    conn_group_done(&c->group);
    buf_done(&c->out);
    buf_done(&c->in);
    free(c->path);
    free(c->host);
    free(c->authority);
    free(c);
}
