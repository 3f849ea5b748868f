#include "grpc/internal.h"

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

static void on_accepted(void *ctx, struct stream *stream, const struct addr *remote) { grpc_session_new(ctx, stream, remote); }

static void end_turn(void *ctx)
{
    struct grpc_server *s = ctx;
    while (!list_empty(&s->dirty)) {
        struct grpc_conn *c = LIST_OWNER(list_first(&s->dirty), struct grpc_conn, dirty);
        list_remove(&c->dirty);
        grpc_session_flush(c);
    }
}

static void scan(void *ctx)
{
    struct grpc_server *s = ctx;
    LIST_EACH(&s->conns, node) grpc_session_look_after(LIST_OWNER(node, struct grpc_conn, node));
    timer_start(&s->loop->tasks, &s->scan, SCAN_MS);
}

err_t grpc_listen(struct loop *loop, const struct addr *at, const struct grpc_service *const *services, size_t count,
                  const struct grpc_options *options, struct grpc_server **out)
{
    struct grpc_server *s = must_zero(sizeof *s);
    struct listener_events events = {.accepted = on_accepted, .ctx = s};
    err_t e = loop_listen(loop, at, &events, &s->listener);
    if (e) {
        free(s);
        return e;
    }
    s->loop = loop;
    s->at = listener_addr(s->listener);
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
    timer_init(&s->scan, scan, s);
    timer_start(&loop->tasks, &s->scan, SCAN_MS);
    *out = s;
    return NULL;
}

struct addr grpc_server_addr(const struct grpc_server *s) { return s->at; }
size_t grpc_server_calls(const struct grpc_server *s) { return s->calls; }

void grpc_server_drain(struct grpc_server *s)
{
    if (s->draining) return;
    s->draining = true;
    listener_close(s->listener);
    s->listener = NULL;
    LIST_EACH(&s->conns, node) grpc_session_drain(LIST_OWNER(node, struct grpc_conn, node));
}

void grpc_server_close(struct grpc_server *s)
{
    if (!s) return;
    if (s->listener) listener_close(s->listener);
    timer_stop(&s->loop->tasks, &s->scan);
    while (!list_empty(&s->conns)) grpc_session_close(LIST_OWNER(list_first(&s->conns), struct grpc_conn, node), "shutdown");
    assert(!s->calls && list_empty(&s->dirty));
    conn_group_done(&s->group);
    tasks_off_turn_end(&s->loop->tasks, &s->hook);
    nghttp2_session_callbacks_del(s->callbacks);
    nghttp2_option_del(s->http_options);
    free(s);
}
