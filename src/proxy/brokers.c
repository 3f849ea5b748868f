#include "proxy/lite_subscription.h"

#include "base/log.h"
#include "codec/requests.h"

#include <stdlib.h>

/* Longer than any request waits. */
enum { RETIRE_MS = 700000 };

struct retired {
    struct list_node node;
    struct rpc_peer *peer;
    int64_t free_ms;
};

void brokers_init(struct brokers *b, struct proxy *p)
{
    b->proxy = p;
    b->by_name = MAP_EMPTY;
    list_init(&b->retired);
}

static void broker_free(void *value)
{
    struct broker_peer *b = value;
    free(b->name);
    free(b->address);
    free(b);
}

static void retired_free(struct retired *r)
{
    list_remove(&r->node);
    rpc_peer_free(r->peer);
    free(r);
}

void brokers_close(struct brokers *b)
{
    LIST_EACH(&b->retired, node) retired_free(LIST_OWNER(node, struct retired, node));
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&b->by_name, &at));) {   /* requests end, and look for brokers meanwhile */
        struct broker_peer *broker = e->value;
        struct rpc_peer *peer = broker->peer;
        broker->peer = NULL;
        rpc_peer_free(peer);
    }
}

void brokers_done(struct brokers *b)
{
    map_done_with(&b->by_name, broker_free);
    b->by_name = MAP_EMPTY;
}

/* What brokers ask of us. */
static void handle(void *ctx, struct call *call)
{
    struct broker_peer *b = ctx;
    if (call->code == REQUEST_CHECK_TRANSACTION_STATE) transactions_check(b, call);
    else if (call->code == REQUEST_NOTIFY_UNSUBSCRIBE_LITE) lite_lost(b, call);
    else if (call->oneway) call_drop(call);
    else if (call->code == REQUEST_GET_CONSUMER_RUNNING_INFO) questions_ask_stack(b, call);
    else if (call->code == REQUEST_CONSUME_MESSAGE_DIRECTLY) questions_ask_verify(b, call);
    else call_fail(call, err_new(ERR_NOT_SUPPORTED, " request type %d not supported", call->code));
}

struct rpc_peer *brokers_connect(struct proxy *p, struct slice address, const struct rpc_service *service)
{
    struct rpc_options o = rpc_options_default();
    o.metrics = p->options.metrics;
    struct rpc_peer *peer = p->options.connect ? p->options.connect(p->options.connect_ctx, address, service, &o) : NULL;
    return peer ? peer : rpc_peer_new(p->loop, address, service, &o);
}

static void use_address(struct broker_peer *b, struct slice address)
{
    struct rpc_service service = {.handle = handle, .ctx = b};
    free(b->address);
    b->address = must_dup(address);
    b->peer = brokers_connect(b->proxy, address, &service);
    b->knows_no_guests = false;
    questions_changed(&b->proxy->questions);
}

/* Its requests that are under way go on. */
static void retire(struct brokers *all, struct rpc_peer *peer)
{
    struct retired *r = must_zero(sizeof *r);
    r->peer = peer;
    r->free_ms = tasks_mono_ms(all->proxy->tasks) + RETIRE_MS;
    list_add(&all->retired, &r->node);
}

struct broker_peer *brokers_put(struct brokers *all, struct slice name, struct slice address)
{
    struct broker_peer *b = map_get(&all->by_name, name);
    if (b && slice_eq(slice_text(b->address), address)) return b;
    if (b) {
        log_info("broker.moved broker=\"%s\" from=%s to=%.*s", b->name, b->address, SLICE_ARG(address));
        retire(all, b->peer);
    } else {
        b = must_zero(sizeof *b);
        b->proxy = all->proxy;
        b->name = must_dup(name);
        map_put(&all->by_name, name, b);
    }
    use_address(b, address);
    return b;
}

struct broker_peer *brokers_find(const struct brokers *all, struct slice name) { return map_get(&all->by_name, name); }

void broker_request(struct broker_peer *b, const struct rpc_request *r)
{
    if (b->peer) rpc_peer_request(b->peer, r);
    else if (r->done) r->done(r->ctx, err_new(ERR_CLOSED, NULL), NULL);
}

void brokers_scan(struct brokers *all)
{
    LIST_EACH(&all->retired, node) {
        struct retired *r = LIST_OWNER(node, struct retired, node);
        if (r->free_ms <= tasks_mono_ms(all->proxy->tasks)) retired_free(r);
    }
}
