/* state.h - inside of the name server, shared by its handlers. */
#ifndef SKYLARK_NAMESRV_STATE_H
#define SKYLARK_NAMESRV_STATE_H

#include "namesrv/kv.h"
#include "namesrv/namesrv.h"
#include "namesrv/route_table.h"
#include "os/saver.h"
#include "os/scrape.h"
#include "rpc/reply.h"
#include "rpc/watch.h"

struct namesrv {
    struct config *config;
    struct loop *loop;
    struct tasks *tasks;
    struct route_table *routes;
    struct kv kv;
    struct saver kv_saver;
    struct saver config_saver;          /* path NULL: the configuration has no file */
    struct timer scan;
    int64_t started_ms;
    struct metrics metrics;
    struct rpc_watch watch;
    struct map peers;                   /* address -> struct rpc_peer: brokers that were told of a change */
};

static const int64_t BROKER_TIMEOUT_MS = 120000;   /* of a broker that does not say */
#define ORDER_SPACE SLICE("ORDER_TOPIC_CONFIG")

#define HANDLER_broker(handler)
#define HANDLER_namesrv(handler) void handle_##handler(struct namesrv *ns, struct call *call);
#define REQUEST(room, name, code, handler, rights, port) HANDLER_##room(handler)
#define CALL(name, code)
#include "catalog/requests.def"
#undef REQUEST
#undef CALL
#undef HANDLER_broker
#undef HANDLER_namesrv


/* A route table's callback: tells the brokers of the group (905), if that is wanted. */
void notify_min_changed(void *ctx, const struct min_change *change);
void notify_done(struct namesrv *ns);

#endif
