#include "rpc/rpc_internal.h"

#include "net/local.h"

#include <stdlib.h>

/* One of the two. */
struct rpc_listener {
    struct rpc_hub hub;
    struct listener *listener;
    struct local_port *port;
};

static void on_accepted(void *ctx, struct stream *s, const struct addr *remote)
{
    struct rpc_listener *l = ctx;
    rpc_conn_new(&l->hub, s, remote);
}

err_t rpc_listen(struct loop *loop, const struct addr *at, int tag, const struct rpc_service *service, const struct rpc_options *options,
                 struct rpc_listener **out)
{
    struct rpc_listener *l = must_zero(sizeof *l);
    struct listener_events events = {.accepted = on_accepted, .ctx = l};
    err_t e = loop_listen(loop, at, &events, &l->listener);
    if (e) {
        free(l);
        return e;
    }
    hub_init(&l->hub, loop, tag, service, options);
    *out = l;
    return NULL;
}

struct rpc_listener *rpc_listen_local(struct loop *loop, int tag, const struct rpc_service *service, const struct rpc_options *options)
{
    struct rpc_listener *l = must_zero(sizeof *l);
    struct listener_events events = {.accepted = on_accepted, .ctx = l};
    struct rpc_options o = options ? *options : rpc_options_default();
    o.idle_close_ms = 0;
    hub_init(&l->hub, loop, tag, service, &o);
    l->port = local_port_new(loop, &events);
    return l;
}

struct addr rpc_listener_addr(const struct rpc_listener *l)
{
    return l->listener ? listener_addr(l->listener) : (struct addr){.ip = {127, 0, 0, 1}};
}

struct local_port *rpc_listener_port(const struct rpc_listener *l) { return l->port; }

void rpc_listener_quiesce(struct rpc_listener *l)
{
    if (!l || !l->listener) return;
    listener_close(l->listener);
    l->listener = NULL;
    LIST_EACH(&l->hub.conns, node) conn_hold(LIST_OWNER(node, struct rpc_conn, node)->conn, true);
}

bool rpc_listener_settle(struct rpc_listener *l)
{
    if (!l) return true;
    LIST_EACH(&l->hub.conns, node) {
        struct rpc_conn *c = LIST_OWNER(node, struct rpc_conn, node);
        if (!c->unanswered && !conn_unsent_bytes(c->conn)) conn_finish(c->conn);
    }
    return list_empty(&l->hub.conns);
}

bool rpc_listener_is_idle(const struct rpc_listener *l)
{
    if (!l) return true;
    LIST_EACH(&l->hub.conns, node) {
        const struct rpc_conn *c = LIST_OWNER(node, struct rpc_conn, node);
        if (c->unanswered || conn_unsent_bytes(c->conn)) return false;
    }
    return true;
}

void rpc_listener_close(struct rpc_listener *l)
{
    if (!l) return;
    if (l->listener) listener_close(l->listener);
    local_port_close(l->port);
    hub_done(&l->hub);
    free(l);
}
