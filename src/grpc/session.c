#include "grpc/internal.h"

#include "base/log.h"
#include "base/metrics.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OUT_BYTES = 1 << 20,              /* in the connection's buffer; what is beyond waits in the session */
    CONN_WINDOW = 8 << 20,            /* given back at once: it bounds nothing here */
    LINGER_MS = 1000,                 /* after a GOAWAY a client closes by itself; what it had sent before it read that is ignored */
    PATIENCE = 1000,                  /* frames that bring nothing, at once */
    PATIENCE_PER_S = 100,
    PATIENCE_PER_CALL = 8,            /* for each that was served */
    STALLED_MS = 30000,
    PING_WAIT_MS = 20000,
};

static struct tasks *tasks_of(struct grpc_conn *c) { return &c->server->loop->tasks; }

static void count(struct grpc_conn *c, enum metric which, int64_t n)
{
    if (c->server->options.metrics) metric_add(c->server->options.metrics, which, n);
}

size_t grpc_session_unsent(const struct grpc_conn *c) { return c->unsent + conn_unsent_bytes(c->conn); }
bool grpc_session_is_full(const struct grpc_conn *c) { return grpc_session_unsent(c) > c->server->options.max_unsent_bytes; }

void grpc_session_touch(struct grpc_conn *c)
{
    if (!list_linked(&c->dirty)) list_add(&c->server->dirty, &c->dirty);
}

/* --- bad manners --- */

static void tell_refused(struct grpc_conn *c, const char *why)
{
    char remote[ADDR_TEXT_MAX];
    log_info("grpc.refused conn=%llu remote=%s why=\"%s\"", (unsigned long long)c->id, addr_format(&c->remote, remote), why);
    count(c, METRIC_FRAMES_REFUSED, 1);
}

static void throw_out(struct grpc_conn *c, uint32_t code, const char *why)
{
    if (c->broken) return;
    c->broken = true;
    tell_refused(c, why);
    nghttp2_session_terminate_session(c->session, code);
}

/* A frame that costs us something and brings nothing. */
static void be_patient(struct grpc_conn *c, const char *what)
{
    struct patience *p = &c->patience;
    int64_t now = tasks_mono_ms(tasks_of(c));
    int64_t back = (now - p->at_ms) * PATIENCE_PER_S / 1000;
    if (back > 0) {
        p->left = p->left + back < PATIENCE ? p->left + back : PATIENCE;
        p->at_ms = now;
    }
    if (p->left-- > 0) return;
    char why[64];
    snprintf(why, sizeof why, "too many frames that bring nothing: %s", what);
    throw_out(c, NGHTTP2_ENHANCE_YOUR_CALM, why);
}

void grpc_session_served(struct grpc_conn *c)
{
    struct patience *p = &c->patience;
    p->left = p->left + PATIENCE_PER_CALL < PATIENCE ? p->left + PATIENCE_PER_CALL : PATIENCE;
}

/* --- what the session tells --- */

static struct grpc_call *call_of(nghttp2_session *session, int32_t id) { return nghttp2_session_get_stream_user_data(session, id); }
static bool is_request(const nghttp2_frame *f) { return f->hd.type == NGHTTP2_HEADERS && f->headers.cat == NGHTTP2_HCAT_REQUEST; }

static int on_begin_headers(nghttp2_session *session, const nghttp2_frame *f, void *ctx)
{
    struct grpc_conn *c = ctx;
    c->opening = is_request(f) ? grpc_call_new(c, f->hd.stream_id) : NULL;
    if (c->opening) nghttp2_session_set_stream_user_data(session, f->hd.stream_id, c->opening);
    return 0;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *f, nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *ctx)
{
    (void)session, (void)f, (void)flags;
    struct grpc_call *k = ((struct grpc_conn *)ctx)->opening;
    if (k) grpc_call_add_header(k, name, value);
    return 0;
}

static const char *idle_frame(const nghttp2_frame *f)
{
    switch (f->hd.type) {
    case NGHTTP2_DATA: return f->hd.length || f->hd.flags & NGHTTP2_FLAG_END_STREAM ? NULL : "DATA";
    case NGHTTP2_PING: return f->hd.flags & NGHTTP2_FLAG_ACK ? NULL : "PING";
    case NGHTTP2_SETTINGS: return f->hd.flags & NGHTTP2_FLAG_ACK ? NULL : "SETTINGS";
    case NGHTTP2_RST_STREAM: return "RST_STREAM";
    case NGHTTP2_PRIORITY: return "PRIORITY";
    default: return NULL;   /* libnghttp2 skips kinds that it does not know, and tells nobody */
    }
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *f, void *ctx)
{
    struct grpc_conn *c = ctx;
    const char *idle = idle_frame(f);
    if (idle) be_patient(c, idle);
    if (f->hd.type != NGHTTP2_HEADERS && f->hd.type != NGHTTP2_DATA) return 0;
    struct grpc_call *k = call_of(session, f->hd.stream_id);
    if (k && is_request(f) && !k->opened) grpc_call_open(k);
    if (k && f->hd.flags & NGHTTP2_FLAG_END_STREAM) grpc_call_half_close(k);
    return 0;
}

static int on_invalid_frame(nghttp2_session *session, const nghttp2_frame *f, int error, void *ctx)
{
    (void)session, (void)f;
    be_patient(ctx, nghttp2_strerror(error));
    return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p, size_t n, void *ctx)
{
    (void)flags, (void)ctx;
    struct grpc_call *k = call_of(session, id);
    nghttp2_session_consume_connection(session, n);
    if (k) grpc_call_take(k, slice_of(p, n));
    return 0;
}

/* The status has gone out: a client that still sends is told to stop. */
static int on_sent(nghttp2_session *session, const nghttp2_frame *f, void *ctx)
{
    (void)ctx;
    bool ends = f->hd.type == NGHTTP2_HEADERS && f->hd.flags & NGHTTP2_FLAG_END_STREAM;
    if (ends && !nghttp2_session_get_stream_remote_close(session, f->hd.stream_id))
        nghttp2_submit_rst_stream(session, NGHTTP2_FLAG_NONE, f->hd.stream_id, NGHTTP2_NO_ERROR);
    return 0;
}

static int on_stream_close(nghttp2_session *session, int32_t id, uint32_t error, void *ctx)
{
    (void)error, (void)ctx;
    struct grpc_call *k = call_of(session, id);
    if (k) grpc_call_free(k);
    return 0;
}

nghttp2_session_callbacks *grpc_session_callbacks(void)
{
    nghttp2_session_callbacks *b;
    if (nghttp2_session_callbacks_new(&b)) abort();   /* memory is short, as for must_alloc */
    nghttp2_session_callbacks_set_on_begin_headers_callback(b, on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(b, on_header);
    nghttp2_session_callbacks_set_on_frame_recv_callback(b, on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(b, on_invalid_frame);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(b, on_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(b, on_sent);
    nghttp2_session_callbacks_set_on_stream_close_callback(b, on_stream_close);
    nghttp2_session_callbacks_set_send_data_callback(b, grpc_call_write);
    return b;
}

nghttp2_option *grpc_session_options(void)
{
    nghttp2_option *o;
    if (nghttp2_option_new(&o)) abort();
    nghttp2_option_set_no_auto_window_update(o, 1);
    nghttp2_option_set_no_closed_streams(o, 1);   /* else as many are remembered as may be open, in every connection */
    nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(o, 1);   /* a service refuses a blank value with its own words */
    return o;
}

/* --- a connection's events --- */

static err_t size(const uint8_t *p, size_t n, size_t *out)
{
    (void)p;
    *out = n;   /* the session cuts frames itself */
    return NULL;
}

static void on_bytes(void *ctx, uint8_t *p, size_t n)
{
    struct grpc_conn *c = ctx;
    c->heard_ms = tasks_mono_ms(tasks_of(c));
    c->asked = false;
    ssize_t used = nghttp2_session_mem_recv(c->session, p, n);
    if (used >= 0) {
        grpc_session_touch(c);
        return;
    }
    if (!c->broken) tell_refused(c, nghttp2_strerror((int)used));
    grpc_session_close(c, "broken frame");
}

static void on_end(void *ctx, err_t e)
{
    struct grpc_conn *c = ctx;
    if (err_code(e) == ERR_BUSY) tell_refused(c, err_text(e));
    grpc_session_close(c, e ? err_text(e) : "by the client");
    err_free(e);
}

static void on_taken(void *ctx)
{
    struct grpc_conn *c = ctx;
    c->moved_ms = tasks_mono_ms(tasks_of(c));
    grpc_session_touch(c);
}

static const struct conn_events events = {.size = size, .unit = on_bytes, .end = on_end, .taken = on_taken};

/* --- sending --- */

static void pull(struct grpc_conn *c)
{
    const uint8_t *p;
    ssize_t n;
    if (!conn_unsent_bytes(c->conn)) c->moved_ms = tasks_mono_ms(tasks_of(c));
    while (conn_unsent_bytes(c->conn) < OUT_BYTES && (n = nghttp2_session_mem_send(c->session, &p)) > 0) buf_put(conn_out(c->conn), p, (size_t)n);
    conn_sent(c->conn);
}

static void go_on(void *ctx)
{
    struct grpc_conn *c = ctx;
    c->holds = false;
    LIST_EACH(&c->calls, node) grpc_call_go_on(LIST_OWNER(node, struct grpc_call, node));
    grpc_session_touch(c);
}

/* Some message has come whole meanwhile, perhaps. */
static void settle_all(struct grpc_conn *c)
{
    c->starves = false;
    LIST_EACH(&c->calls, node) {
        struct grpc_call *k = LIST_OWNER(node, struct grpc_call, node);
        if (k->owed) grpc_call_settle(k);
    }
}

static bool is_over(struct grpc_conn *c)
{
    if (nghttp2_session_want_write(c->session)) return false;
    return !nghttp2_session_want_read(c->session) || (c->ending && !c->open_calls);
}

/* The last words go out at the end of this turn, or when there is room for them; a client that is thrown out is not waited for. */
static void end_well(struct grpc_conn *c)
{
    int64_t now = tasks_mono_ms(tasks_of(c));
    if (!c->over) {
        c->over = true;
        c->over_ms = now + (c->ending && !c->broken ? LINGER_MS : 0);
        timer_start(tasks_of(c), &c->again, c->over_ms - now);
    } else if (now >= c->over_ms && !conn_unsent_bytes(c->conn)) {
        grpc_session_close(c, c->broken ? "bad manners" : "done");
    }
}

void grpc_session_flush(struct grpc_conn *c)
{
    if (c->starves) settle_all(c);
    pull(c);
    if (is_over(c)) {
        end_well(c);
        return;
    }
    bool more = conn_unsent_bytes(c->conn) >= OUT_BYTES && nghttp2_session_want_write(c->session);
    bool less = c->holds && grpc_session_unsent(c) <= c->server->options.max_unsent_bytes / 2;
    if (more || less) timer_start(tasks_of(c), &c->again, 0);
}

/* --- life --- */

static void begin(struct grpc_conn *c)
{
    const struct grpc_options *o = &c->server->options;
    nghttp2_settings_entry settings[] = {
        {NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, o->max_streams},
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, GRPC_STREAM_WINDOW},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, (uint32_t)o->max_header_bytes},
    };
    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, settings, sizeof settings / sizeof *settings);
    nghttp2_session_set_local_window_size(c->session, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW);
    grpc_session_touch(c);
}

void grpc_session_new(struct grpc_server *s, const struct sniffed *what)
{
    static atomic_ullong last_id;
    struct grpc_conn *c = must_zero(sizeof *c);
    struct conn_limits limits = {.max_unsent_bytes = s->options.max_unsent_bytes + 2 * OUT_BYTES, .stalled_close_ms = STALLED_MS};
    int64_t now = tasks_mono_ms(&s->loop->tasks);
    c->server = s;
    c->id = atomic_fetch_add(&last_id, 1) + 1;
    c->remote = what->remote;
    c->local = what->local;
    buf_put_slice(&c->attributes, what->attributes);
    c->patience = (struct patience){PATIENCE, now};
    c->quiet_ms = c->heard_ms = c->moved_ms = now;
    list_init(&c->calls);
    list_node_init(&c->dirty);
    list_add(&s->conns, &c->node);
    timer_init(&c->again, go_on, c);
    if (nghttp2_session_server_new2(&c->session, s->callbacks, c, s->http_options)) abort();   /* memory is short */
    count(c, METRIC_CONNECTIONS, 1);
    c->conn = conn_new(&s->group, what->stream, &events, &limits, c);
    begin(c);
}

void grpc_session_close(struct grpc_conn *c, const char *why)
{
    char remote[ADDR_TEXT_MAX];
    log_debug("grpc.closed conn=%llu remote=%s why=\"%s\"", (unsigned long long)c->id, addr_format(&c->remote, remote), why);
    while (!list_empty(&c->calls)) grpc_call_free(LIST_OWNER(list_first(&c->calls), struct grpc_call, node));
    count(c, METRIC_CONNECTIONS, -1);
    timer_stop(tasks_of(c), &c->again);
    list_remove(&c->dirty);
    list_remove(&c->node);
    conn_close(c->conn);
    nghttp2_session_del(c->session);
    buf_done(&c->attributes);
    free(c);
}

void grpc_session_drain(struct grpc_conn *c)
{
    if (c->ending) return;
    c->ending = true;
    nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE, nghttp2_session_get_last_proc_stream_id(c->session), NGHTTP2_NO_ERROR, NULL, 0);
    grpc_session_touch(c);
}

/* --- looking after --- */

/* A client that takes nothing of a call that is over holds memory for nothing. */
static void reset_stalled(struct grpc_conn *c, int64_t now)
{
    LIST_EACH(&c->calls, node) {
        struct grpc_call *k = LIST_OWNER(node, struct grpc_call, node);
        if (!k->finished || !k->unsent || now - k->moved_ms < STALLED_MS) continue;
        grpc_call_drop_output(k);
        grpc_call_reset(k, NGHTTP2_CANCEL);
    }
}

static bool is_stalled(struct grpc_conn *c, int64_t now)
{
    if (!grpc_session_is_full(c)) return false;
    int64_t moved = c->moved_ms;
    LIST_EACH(&c->calls, node) {
        struct grpc_call *k = LIST_OWNER(node, struct grpc_call, node);
        if (k->unsent && k->moved_ms > moved) moved = k->moved_ms;
    }
    return now - moved >= STALLED_MS;
}

/* Somebody who has calls and says nothing may be gone without a word. */
static bool is_dead(struct grpc_conn *c, int64_t now)
{
    int64_t silent = now - c->heard_ms;
    if (silent < c->server->options.idle_close_ms) return false;
    if (!c->asked) {
        c->asked = true;
        nghttp2_submit_ping(c->session, NGHTTP2_FLAG_NONE, NULL);
        grpc_session_touch(c);
    }
    return silent >= c->server->options.idle_close_ms + PING_WAIT_MS;
}

void grpc_session_look_after(struct grpc_conn *c)
{
    int64_t now = tasks_mono_ms(tasks_of(c)), idle_ms = c->server->options.idle_close_ms;
    if (is_stalled(c, now)) {
        tell_refused(c, "replies were not taken");
        grpc_session_close(c, "stalled");
    } else if (c->over && now - c->moved_ms >= STALLED_MS) {
        grpc_session_close(c, "its last words were not taken");
    } else if (c->open_calls && idle_ms && is_dead(c, now)) {
        grpc_session_close(c, "no answer to a PING");
    } else {
        if (c->unsent) reset_stalled(c, now);
        if (!c->open_calls && idle_ms && now - c->quiet_ms >= idle_ms) grpc_session_drain(c);
    }
}
