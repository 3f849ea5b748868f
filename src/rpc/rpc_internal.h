/* rpc_internal.h - what listener.c, peer.c and rpc_conn.c share. The room's own. */
#ifndef SKYLARK_RPC_RPC_INTERNAL_H
#define SKYLARK_RPC_RPC_INTERNAL_H

#include "base/log.h"
#include "net/conn.h"
#include "rpc/rpc.h"

/* What connections of one listener, or of one peer, have in common. */
struct rpc_hub {
    struct loop *loop;
    struct conn_group group;
    struct rpc_service service;
    struct rpc_options options;
    struct list conns;           /* open ones */
    struct timer idle_scan;
    struct log_limit refused;    /* lines about broken frames */
    struct frame frame;          /* the one being handled */
    int tag;
};

struct rpc_pending;

struct rpc_conn {
    struct list_node node;       /* in the hub's conns while open */
    struct rpc_hub *hub;         /* valid while open */
    struct conn *conn;           /* NULL when closed */
    struct list waiting;         /* of the service */
    unsigned refs;
    uint32_t unanswered;         /* calls that are not used up */
    struct addr remote;
    int tag;
    uint64_t id;
    struct rpc_pending **pending;   /* by slot: the low 16 bits of the opaque */
    uint32_t slots;
    uint32_t in_flight;
    uint32_t sequence;
};

void hub_init(struct rpc_hub *h, struct loop *loop, int tag, const struct rpc_service *service, const struct rpc_options *options);
/* Closes its connections. */
void hub_done(struct rpc_hub *h);
/* The connection holds one reference while it is open. */
struct rpc_conn *rpc_conn_new(struct rpc_hub *h, struct stream *s, const struct addr *remote);

#endif
