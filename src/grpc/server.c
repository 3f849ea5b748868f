#include "grpc/internal.h"

#include "base/log.h"
#include "base/metrics.h"

#include <assert.h>
#include <stdlib.h>

enum { SCAN_MS = 5000 };

struct grpc_options grpc_options_default(void)
{
    return (struct grpc_options){
        .max_message_bytes = (size_t)130 << 20, .max_header_bytes = 32 << 10, .max_streams = 1000, .max_unsent_bytes = (size_t)64 << 20,
        .idle_close_ms = 120000,
    };
}

static void on_accepted(void *ctx, struct stream *stream, const struct addr *remote)
{
    struct grpc_server *s = ctx;
    sniffer_take(&s->sniffer, stream, remote);
}

/* --- newcomers --- */

static void tell_refused(struct grpc_server *s, const struct addr *remote, const char *why)
{
    char text[ADDR_TEXT_MAX];
    if (log_may(&s->refused, "grpc.refused", tasks_mono_ms(&s->loop->tasks)))
        log_info("grpc.refused remote=%s why=\"%s\"", addr_format(remote, text), why);
    if (s->options.metrics) metric_add(s->options.metrics, METRIC_FRAMES_REFUSED, 1);
}

static void on_refused(void *ctx, const struct addr *remote, err_t e)
{
    if (e) tell_refused(ctx, remote, err_text(e));
    err_free(e);
}

/* Somebody with a browser, say. Whether the words arrive matters little. */
static void answer_http1(struct stream *stream)
{
    static const char words[] = "HTTP/1.1 426 Upgrade Required\r\nConnection: close\r\nContent-Type: text/plain\r\nContent-Length: 33\r\n\r\n"
                                "This port speaks gRPC by HTTP/2.\n";
    struct iovec part = {(void *)words, sizeof words - 1};
    stream_write(stream, &part, 1);
}

void grpc_server_take(struct grpc_server *s, const struct sniffed *what)
{
    if (what->protocol == PROTOCOL_HTTP2 && !s->draining) {
        grpc_session_new(s, what);
        return;
    }
    if (!s->draining) tell_refused(s, &what->remote, what->protocol == PROTOCOL_HTTP1 ? "HTTP/1 instead of HTTP/2" : "not HTTP/2");
    if (what->protocol == PROTOCOL_HTTP1) answer_http1(what->stream);
    stream_close(what->stream);
}

static void on_found(void *ctx, const struct sniffed *what) { grpc_server_take(ctx, what); }

/* --- looking after --- */

static void tell_drained(struct grpc_server *s)
{
    void (*drained)(void *) = s->drained;
    if (!drained || !s->draining || !list_empty(&s->conns)) return;
    s->drained = NULL;
    drained(s->drained_ctx);
}

static void end_turn(void *ctx)
{
    struct grpc_server *s = ctx;
    while (!list_empty(&s->dirty)) {
        struct grpc_conn *c = LIST_OWNER(list_first(&s->dirty), struct grpc_conn, dirty);
        list_remove(&c->dirty);
        grpc_session_flush(c);
    }
    tell_drained(s);
}

static void scan(void *ctx)
{
    struct grpc_server *s = ctx;
    LIST_EACH(&s->conns, node) grpc_session_look_after(LIST_OWNER(node, struct grpc_conn, node));
    timer_start(&s->loop->tasks, &s->scan, SCAN_MS);
}

struct grpc_server *grpc_server_new(struct loop *loop, const struct grpc_service *const *services, size_t count,
                                    const struct grpc_options *options)
{
    struct grpc_server *s = must_zero(sizeof *s);
    s->loop = loop;
    s->services = services;
    s->service_count = count;
    s->options = options ? *options : grpc_options_default();
    s->callbacks = grpc_session_callbacks();
    s->http_options = grpc_session_options();
    list_init(&s->conns);
    list_init(&s->dirty);
    s->hook = (struct turn_hook){.run = end_turn, .ctx = s};
    tasks_on_turn_end(&loop->tasks, &s->hook);
    conn_group_init(&s->group, loop);
    enum tls_mode mode = !s->options.tls ? TLS_DISABLED : s->options.tls_only ? TLS_ENFORCING : TLS_PERMISSIVE;
    sniffer_init(&s->sniffer, loop, s->options.tls, mode, on_found, on_refused, s);
    timer_init(&s->scan, scan, s);
    timer_start(&loop->tasks, &s->scan, SCAN_MS);
    return s;
}

err_t grpc_listen(struct loop *loop, const struct addr *at, const struct grpc_service *const *services, size_t count,
                  const struct grpc_options *options, struct grpc_server **out)
{
    struct grpc_server *s = grpc_server_new(loop, services, count, options);
    struct listener_events events = {.accepted = on_accepted, .ctx = s};
    err_t e = loop_listen(loop, at, &events, &s->listener);
    if (e) {
        grpc_server_close(s);
        return e;
    }
    s->at = listener_addr(s->listener);
    *out = s;
    return NULL;
}

struct addr grpc_server_addr(const struct grpc_server *s) { return s->at; }
size_t grpc_server_calls(const struct grpc_server *s) { return s->calls; }

bool grpc_server_is_draining(const struct grpc_server *s) { return s->draining; }

size_t grpc_server_unfinished(const struct grpc_server *s)
{
    size_t sum = 0;
    LIST_EACH(&s->conns, node) sum += LIST_OWNER(node, struct grpc_conn, node)->unfinished;
    return sum;
}

void grpc_server_on_drained(struct grpc_server *s, void (*drained)(void *ctx), void *ctx)
{
    s->drained = drained;
    s->drained_ctx = ctx;
}

void grpc_server_drain(struct grpc_server *s)
{
    if (s->draining) return;
    s->draining = true;
    if (s->listener) listener_close(s->listener);
    s->listener = NULL;
    sniffer_done(&s->sniffer);
    LIST_EACH(&s->conns, node) grpc_session_drain(LIST_OWNER(node, struct grpc_conn, node));
}

void grpc_server_close(struct grpc_server *s)
{
    if (!s) return;
    if (s->listener) listener_close(s->listener);
    timer_stop(&s->loop->tasks, &s->scan);
    sniffer_done(&s->sniffer);
    while (!list_empty(&s->conns)) grpc_session_close(LIST_OWNER(list_first(&s->conns), struct grpc_conn, node), "shutdown");
    assert(!s->calls && list_empty(&s->dirty));
    conn_group_done(&s->group);
    tasks_off_turn_end(&s->loop->tasks, &s->hook);
    nghttp2_session_callbacks_del(s->callbacks);
    nghttp2_option_del(s->http_options);
    free(s);
}
