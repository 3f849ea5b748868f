#include "kit/test.h"

#include "kit/grpc_client.h"

#include "base/list.h"

#include <nghttp2/nghttp2.h>
#include <stdlib.h>

enum { CONNECT_MS = 5000, CALL_MS = 30000, PREFIX_BYTES = 5, HEADERS_MAX = 64, WINDOW = 65535, READ_WINDOW = 1 << 24 };

struct grpc_client {
    struct sim *sim;
    struct loop *loop;
    struct stream *stream;        /* NULL when over */
    nghttp2_session *session;
    bool connected, failed, ended, later;
    bool keeps_windows;
    struct buf writing;           /* what a WRITE_LATER needs */
    struct buf queued;
    struct list calls;
    int64_t goaway;
    size_t pongs;
};

struct grpc_client_call {
    struct list_node node;
    struct grpc_client *client;
    int32_t id;
    struct buf out;               /* not yet in DATA frames */
    bool half_closed, waits;
    struct buf in;
    size_t taken;                 /* of it, by grpc_client_message */
    struct buf headers;           /* "name\0value\0" … */
    bool over;
    int64_t reset;
    char *text;
};

/* --- the stream --- */

static void write_queued(struct grpc_client *c)
{
    const uint8_t *p;
    ssize_t n;
    if (!c->stream || c->later) return;
    while ((n = nghttp2_session_mem_send(c->session, &p)) > 0) buf_put(&c->queued, p, (size_t)n);
    EXPECT(n == 0);
    if (!c->queued.n) return;
    struct buf empty = c->writing;
    c->writing = c->queued;
    c->queued = empty;
    buf_clear(&c->queued);
    struct iovec part = {c->writing.p, c->writing.n};
    c->later = stream_write(c->stream, &part, 1) == WRITE_LATER;
}

static void write_in_turn(void *ctx) { write_queued(ctx); }

static void on_written(void *ctx)
{
    struct grpc_client *c = ctx;
    c->later = false;
    write_queued(c);
}

static void on_data(void *ctx, uint8_t *p, size_t n)
{
    struct grpc_client *c = ctx;
    EXPECT_EQ(nghttp2_session_mem_recv(c->session, p, n), n);
    write_queued(c);
}

static void on_end(void *ctx, err_t e)
{
    struct grpc_client *c = ctx;
    err_free(e);
    c->ended = true;
    stream_close(c->stream);
    c->stream = NULL;
    LIST_EACH(&c->calls, node) LIST_OWNER(node, struct grpc_client_call, node)->over = true;
}

static void on_connected(void *ctx, err_t e, struct stream *s)
{
    static const struct stream_events events = {on_data, on_end, on_written};
    struct grpc_client *c = ctx;
    c->connected = !e;
    c->failed = e;
    err_free(e);
    c->stream = s;
    if (!s) return;
    stream_start(s, &events, c);
    write_queued(c);
}

/* --- what the session tells --- */

static struct grpc_client_call *call_of(nghttp2_session *session, int32_t id) { return nghttp2_session_get_stream_user_data(session, id); }

static int on_header(nghttp2_session *session, const nghttp2_frame *f, const uint8_t *name, size_t name_n, const uint8_t *value, size_t value_n,
                     uint8_t flags, void *ctx)
{
    (void)flags, (void)ctx;
    struct grpc_client_call *k = call_of(session, f->hd.stream_id);
    if (!k) return 0;
    buf_put(&k->headers, name, name_n);
    buf_put_u8(&k->headers, 0);
    buf_put(&k->headers, value, value_n);
    buf_put_u8(&k->headers, 0);
    return 0;
}

static int on_chunk(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *ctx)
{
    (void)flags;
    struct grpc_client *c = ctx;
    struct grpc_client_call *k = call_of(session, id);
    if (k) buf_put(&k->in, p, n);
    if (!c->keeps_windows) nghttp2_session_consume(session, id, n);
    return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f, void *ctx)
{
    struct grpc_client *c = ctx;
    if (f->hd.type == NGHTTP2_GOAWAY) c->goaway = f->goaway.error_code;
    if (f->hd.type == NGHTTP2_PING && f->hd.flags & NGHTTP2_FLAG_ACK) c->pongs++;
    if (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA) return 0;
    struct grpc_client_call *k = call_of(session, f->hd.stream_id);
    if (k && f->hd.flags & NGHTTP2_FLAG_END_STREAM) k->over = true;
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *ctx)
{
    (void)ctx;
    struct grpc_client_call *k = call_of(session, id);
    if (!k) return 0;
    k->over = true;
    if (error) k->reset = error;
    k->id = 0;
    return 0;
}

static ssize_t read_out(nghttp2_session *session, int32_t id, uint8_t *buf, size_t length, uint32_t *flags, nghttp2_data_source *source, void *ctx)
{
    (void)session, (void)id, (void)ctx;
    struct grpc_client_call *k = source->ptr;
    size_t n = k->out.n < length ? k->out.n : length;
    k->waits = !n && !k->half_closed;
    if (k->waits) return NGHTTP2_ERR_DEFERRED;
    if (n) memcpy(buf, k->out.p, n);
    k->out.n -= n;
    if (k->out.n) memmove(k->out.p, k->out.p + n, k->out.n);
    if (!k->out.n && k->half_closed) *flags |= NGHTTP2_DATA_FLAG_EOF;
    return (ssize_t)n;
}

static nghttp2_session *session_new(struct grpc_client *c)
{
    nghttp2_session_callbacks *b;
    nghttp2_option *o;
    nghttp2_session *session;
    nghttp2_session_callbacks_new(&b);
    nghttp2_session_callbacks_set_on_header_callback(b, on_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(b, on_chunk);
    nghttp2_session_callbacks_set_on_frame_recv_callback(b, on_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(b, on_stream_close);
    nghttp2_option_new(&o);
    nghttp2_option_set_no_auto_window_update(o, 1);
    EXPECT_EQ(nghttp2_session_client_new2(&session, b, c, o), 0);
    nghttp2_option_del(o);
    nghttp2_session_callbacks_del(b);
    return session;
}

/* --- the connection --- */

static bool decided(void *ctx) { return ((struct grpc_client *)ctx)->connected || ((struct grpc_client *)ctx)->failed; }
static bool has_ended(void *ctx) { return ((struct grpc_client *)ctx)->ended; }
static void flush(struct grpc_client *c) { sim_call(c->loop, write_in_turn, c); }

struct grpc_client *grpc_client_open(struct sim *s, struct loop *l, const char *host, uint16_t port, const struct grpc_client_options *options)
{
    struct grpc_client_options o = options ? *options : (struct grpc_client_options){0};
    struct grpc_client *c = must_zero(sizeof *c);
    nghttp2_settings_entry window = {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, o.window ? o.window : WINDOW};
    struct connect *k;
    c->sim = s;
    c->loop = l;
    c->goaway = -1;
    c->keeps_windows = o.keeps_windows;
    list_init(&c->calls);
    c->session = session_new(c);
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, &window, 1);
    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, READ_WINDOW);
    EXPECT_OK(loop_connect(l, slice_text(host), port, CONNECT_MS, on_connected, c, &k));
    sim_run_until(s, decided, c, CONNECT_MS + 1000);
    if (!c->connected) fail_msg("no connection to %s:%u", host, port);
    return c;
}

static void call_free(struct grpc_client_call *k)
{
    list_remove(&k->node);
    buf_done(&k->out);
    buf_done(&k->in);
    buf_done(&k->headers);
    free(k->text);
    free(k);
}

static void close_stream(void *ctx) { stream_close(ctx); }

void grpc_client_close(struct grpc_client *c)
{
    if (!c) return;
    if (c->stream) sim_call(c->loop, close_stream, c->stream);
    nghttp2_session_del(c->session);
    while (!list_empty(&c->calls)) call_free(LIST_OWNER(list_first(&c->calls), struct grpc_client_call, node));
    buf_done(&c->writing);
    buf_done(&c->queued);
    free(c);
}

void grpc_client_raw(struct grpc_client *c, struct slice bytes)
{
    flush(c);   /* what the session had to say comes first */
    buf_put_slice(&c->queued, bytes);
    flush(c);
}

void grpc_client_pause(struct grpc_client *c, bool paused)
{
    if (c->stream) stream_pause(c->stream, paused);
}

bool grpc_client_ended(struct grpc_client *c, int64_t limit_ms) { return sim_run_until(c->sim, has_ended, c, limit_ms); }
int64_t grpc_client_goaway(const struct grpc_client *c) { return c->goaway; }
size_t grpc_client_pongs(const struct grpc_client *c) { return c->pongs; }

void grpc_client_ping(struct grpc_client *c)
{
    nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
    flush(c);
}

/* --- calls --- */

static nghttp2_nv pair(const char *name, const char *value)
{
    return (nghttp2_nv){(uint8_t *)name, (uint8_t *)value, strlen(name), strlen(value), NGHTTP2_NV_FLAG_NONE};
}

static size_t usual_headers(const char *path, nghttp2_nv *out)
{
    size_t n = 0;
    out[n++] = pair(":method", "POST");
    out[n++] = pair(":scheme", "http");
    out[n++] = pair(":path", path);
    out[n++] = pair(":authority", "test");
    out[n++] = pair("content-type", "application/grpc");
    out[n++] = pair("te", "trailers");
    return n;
}

static void add_header(nghttp2_nv *all, size_t *n, const char *name, const char *value)
{
    for (size_t i = 0; i < *n; i++) {
        if (slice_eq(slice_of(all[i].name, all[i].namelen), slice_text(name))) {
            all[i] = pair(name, value);
            return;
        }
    }
    all[(*n)++] = pair(name, value);
}

struct grpc_client_call *grpc_client_call(struct grpc_client *c, const char *path, const char *const *headers)
{
    nghttp2_nv all[HEADERS_MAX];
    struct grpc_client_call *k = must_zero(sizeof *k);
    nghttp2_data_provider provider = {.source.ptr = k, .read_callback = read_out};
    size_t n = usual_headers(path, all);
    for (size_t i = 0; headers && headers[i]; i += 2) add_header(all, &n, headers[i], headers[i + 1]);
    k->client = c;
    k->reset = -1;
    list_add(&c->calls, &k->node);
    k->id = nghttp2_submit_request(c->session, NULL, all, n, &provider, k);
    EXPECT(k->id > 0);
    flush(c);
    return k;
}

static void go_on(struct grpc_client_call *k)
{
    if (k->waits && k->id) nghttp2_session_resume_data(k->client->session, k->id);
    k->waits = false;
    flush(k->client);
}

void grpc_client_send_raw(struct grpc_client_call *k, struct slice bytes)
{
    buf_put_slice(&k->out, bytes);
    go_on(k);
}

void grpc_client_send(struct grpc_client_call *k, struct slice message)
{
    buf_put_u8(&k->out, 0);
    buf_put_be32(&k->out, (uint32_t)message.n);
    grpc_client_send_raw(k, message);
}

void grpc_client_half_close(struct grpc_client_call *k)
{
    k->half_closed = true;
    go_on(k);
}

void grpc_client_cancel(struct grpc_client_call *k)
{
    if (!k->id) return;
    nghttp2_submit_rst_stream(k->client->session, NGHTTP2_FLAG_NONE, k->id, NGHTTP2_CANCEL);
    flush(k->client);
}

static bool whole_message(const struct grpc_client_call *k, struct slice *out)
{
    struct slice rest = slice_skip(buf_slice(&k->in), k->taken);
    if (rest.n < PREFIX_BYTES) return false;
    uint32_t n = get_be32(rest.p + 1);
    if (rest.n - PREFIX_BYTES < n) return false;
    *out = slice_of(rest.p + PREFIX_BYTES, n);
    return true;
}

static bool came(void *ctx)
{
    struct slice bytes;
    return ((struct grpc_client_call *)ctx)->over || whole_message(ctx, &bytes);
}

static bool is_over(void *ctx) { return ((struct grpc_client_call *)ctx)->over; }

bool grpc_client_message(struct grpc_client_call *k, int64_t limit_ms, struct slice *out)
{
    sim_run_until(k->client->sim, came, k, limit_ms);
    if (!whole_message(k, out)) return false;
    k->taken += PREFIX_BYTES + out->n;
    return true;
}

struct slice grpc_client_header(struct grpc_client_call *k, const char *name)
{
    const char *p = (const char *)k->headers.p, *end = p + k->headers.n;
    while (p < end) {
        const char *value = p + strlen(p) + 1;
        if (!strcmp(p, name)) return slice_text(value);
        p = value + strlen(value) + 1;
    }
    return (struct slice){NULL, 0};
}

int grpc_client_status(struct grpc_client_call *k, int64_t limit_ms)
{
    if (!sim_run_until(k->client->sim, is_over, k, limit_ms)) return -1;
    struct slice status = grpc_client_header(k, "grpc-status");
    return status.p ? atoi((const char *)status.p) : -2;
}

const char *grpc_client_status_text(struct grpc_client_call *k)
{
    struct slice coded = grpc_client_header(k, "grpc-message");
    free(k->text);
    char *to = k->text = must_zero(coded.n + 1);
    for (size_t i = 0; i < coded.n; i++) {
        char hex[3] = {0};
        if (coded.p[i] == '%' && i + 2 < coded.n) {
            memcpy(hex, coded.p + i + 1, 2);
            *to++ = (char)strtol(hex, NULL, 16);
            i += 2;
        } else {
            *to++ = (char)coded.p[i];
        }
    }
    return k->text;
}

int64_t grpc_client_reset_code(const struct grpc_client_call *k) { return k->reset; }

int grpc_client_unary(struct grpc_client *c, const char *path, const char *const *headers, struct slice request, struct buf *out)
{
    struct slice reply;
    struct grpc_client_call *k = grpc_client_call(c, path, headers);
    grpc_client_send(k, request);
    grpc_client_half_close(k);
    buf_clear(out);
    if (grpc_client_message(k, CALL_MS, &reply)) buf_put_slice(out, reply);
    int status = grpc_client_status(k, CALL_MS);
    if (status == -1) fail_msg("no answer to %s", path);
    if (!k->id) call_free(k);   /* else the session still knows it */
    return status;
}
