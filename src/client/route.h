/* route.h - where the queues of topics are, and the connections to the brokers that have them.
 * Shape    routes > topics by name > queues to send to, sorted by broker and id; brokers by name > addresses by id (0: the master)
 * Facts    docs/protocol/remoting.md A1; which queues may be sent to: those of brokers that have a master and grant writing
 * Fresh    a topic that was asked for is asked for again each options.route_refresh_ms; a change shows in its sorted text
 * Threads  loop
 * Owns     topics, brokers, links; a struct topic_state stays until the client ends, its queues until its next change */
#ifndef SKYLARK_CLIENT_ROUTE_H
#define SKYLARK_CLIENT_ROUTE_H

#include "base/arena.h"
#include "base/list.h"
#include "base/map.h"
#include "codec/body_route.h"
#include "os/tasks.h"
#include "rpc/rpc.h"

#include <skylark/skylark.h>

struct sky_client;

struct topic_state {
    struct sky_client *client;
    char *name;
    struct arena arena;            /* of the route and the queues */
    struct topic_route route;
    struct buf text;               /* of the route, sorted: equal for equal routes */
    struct sky_queue *queues;      /* to send to; brokers' names lie in the arena */
    size_t count;
    uint32_t next;                 /* whose turn it is */
    int32_t new_queues;            /* > 0: a sender would have the server make the topic with so many */
    bool known;                    /* a route was told */
    bool borrowed;                 /* it is that of the topic by which others are made */
    bool asking;
    struct list waiting;           /* struct route_wait */
};

/* Who waits for a route. Embedded in its owner. */
struct route_wait {
    struct list_node node;
    /* The topic has a route, or e tells why not (taken). */
    void (*done)(struct route_wait *w, struct sky_error *e);
};

/* A connection to an address of a broker. */
struct link {
    struct rpc_peer *peer;
    bool heard;                    /* it took the last heartbeat */
    bool needed;
};

struct routes {
    struct map topics;             /* struct topic_state */
    struct map brokers;            /* struct broker_state, by name */
    struct map links;              /* struct link, by address */
    struct timer refresh;
};

void routes_begin(struct sky_client *c);
void routes_done(struct sky_client *c);

/* Never NULL. */
struct topic_state *routes_topic(struct sky_client *c, struct slice name);
/* Calls w->done: within this call when the route is known, later when the name server has been asked. */
void routes_need(struct topic_state *t, int32_t new_queues, struct route_wait *w);
/* It does not wait any more. */
void routes_forget(struct route_wait *w);
/* Asks again, unless that is under way. */
void routes_ask(struct topic_state *t);

/* The address of a broker by id, 0 for its master; p NULL: it has none. Valid until the next change of routes. */
struct slice routes_address(struct sky_client *c, struct slice broker, int64_t id);
/* Every broker's master, or all addresses there are. */
void routes_each_address(struct sky_client *c, bool replicas, void (*f)(struct sky_client *c, struct slice address, struct slice what), struct slice what);
/* The connection to an address; made when it is not there. */
struct link *routes_link(struct sky_client *c, struct slice address);

#endif
