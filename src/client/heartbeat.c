#include "client/state.h"
#include "codec/requests.h"

#include <stdlib.h>

/* --- what servers are told --- */

/* Producers speak with masters alone; consumers may be sent to a replica. */
static bool wants_replicas(const struct sky_client *c)
{
    LIST_EACH(&c->members, node)
        if (!LIST_OWNER(node, struct member, node)->ops->produces) return true;
    return false;
}

static void describe(struct sky_client *c, struct buf *out)
{
    struct arena arena = ARENA_EMPTY;
    struct heartbeat h = {.client_id = slice_text(c->id)};
    LIST_EACH(&c->members, node) {
        const struct member *m = LIST_OWNER(node, struct member, node);
        m->ops->describe(m, &arena, &h);
    }
    bean_encode(&heartbeat_bean, &h, JSON_STRICT, out);
    arena_done(&arena);
}

static void on_heard(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct link *l = ctx;
    bool heard = !e && reply->frame->code == RESPONSE_SUCCESS;
    if (!heard && l->heard) log_warn("heartbeat.failed why=\"%s\"", e ? err_text(e) : "refused");
    l->heard = heard;
    err_free(e);
}

static void tell(struct sky_client *c, struct slice address, struct slice body)
{
    struct link *l = routes_link(c, address);
    struct rpc_request r = {.code = REQUEST_HEART_BEAT, .body = body, .timeout_ms = c->options.request_timeout_ms, .done = on_heard, .ctx = l};
    rpc_peer_request(l->peer, &r);
}

static void beat(void *ctx)
{
    struct sky_client *c = ctx;
    timer_start(c->tasks, &c->heartbeat, c->options.heartbeat_ms);
    if (list_empty(&c->members)) return;
    struct buf body = BUF_EMPTY;
    bool replicas = wants_replicas(c);
    describe(c, &body);
    routes_each_address(c, replicas, tell, buf_slice(&body));
    buf_done(&body);
}

void heartbeat_begin(struct sky_client *c)
{
    timer_init(&c->heartbeat, beat, c);
    timer_start(c->tasks, &c->heartbeat, c->options.heartbeat_ms);
}

void heartbeat_soon(struct sky_client *c)
{
    if (!c->ending) timer_start(c->tasks, &c->heartbeat, 0);
}

/* --- good-bye --- */

static void on_goodbye(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct member *m = ctx;
    (void)reply;
    err_drop(e, "the broker notices the end of the connection");
    m->goodbyes--;
    member_settle(m);
}

void heartbeat_goodbye(struct member *m)
{
    struct sky_client *c = m->client;
    struct unregister_client_header h = {.client_id = slice_text(c->id)};
    if (m->ops->produces) h.producer_group = slice_text(m->group);
    else h.consumer_group = slice_text(m->group);
    struct rpc_request r = {.code = REQUEST_UNREGISTER_CLIENT, .kind = &unregister_client_kind, .header = &h,
                            .timeout_ms = c->options.request_timeout_ms, .done = on_goodbye, .ctx = m};
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->routes.links, &at));) {
        struct link *l = e->value;
        if (!l->heard) continue;
        m->goodbyes++;
        rpc_peer_request(l->peer, &r);
    }
}
