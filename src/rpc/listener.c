#include "rpc/rpc_internal.h"

#include <stdlib.h>

struct rpc_listener {
    struct rpc_hub hub;
    struct listener *listener;
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

struct addr rpc_listener_addr(const struct rpc_listener *l) { return listener_addr(l->listener); }

void rpc_listener_close(struct rpc_listener *l)
{
    if (!l) return;
    listener_close(l->listener);
    hub_done(&l->hub);
    free(l);
}
