/* facts.h - what name servers and brokers know about topics and groups, kept for a while: routes, types of topics, groups.
 * Facts    docs/protocol/grpc.md 7, 10.1, 5.3
 * Shape    a fact that is older than topicRouteServiceCacheRefreshSeconds is asked for again when somebody uses it, who gets what is
 *          known meanwhile; that something does not exist is not remembered
 * Threads  loop
 * Owns     routes and groups are shared by references; a value is never changed once it is there */
#ifndef SKYLARK_PROXY_FACTS_H
#define SKYLARK_PROXY_FACTS_H

#include "codec/body_group_config.h"
#include "codec/body_route.h"

#include "base/list.h"
#include "base/map.h"

struct broker_peer;
struct proxy;
struct request;

/* A broker that has queues of the topic. */
struct route_part {
    struct broker_peer *broker;     /* NULL: no address */
    const struct route_queues *queues;
    const struct route_broker *addresses;
    bool has_master;
};

struct write_queue {
    const struct route_part *part;
    int32_t queue_id;
};

struct route {
    int refs;
    struct arena arena;
    struct topic_route data;
    struct route_part *parts;       /* in the order of the route's queues */
    size_t part_count;
    struct write_queue *writable;   /* by broker name, then queue id */
    size_t writable_count;
    size_t next_write, next_read;   /* whose turn it is */
};

/* --- route.c --- */
err_t route_make(struct proxy *p, struct slice topic, struct slice body, struct route **out) MUST_CHECK;
struct route *route_ref(struct route *r);
void route_unref(struct route *r);                  /* NULL is fine */

/* Types of topics (attribute message.type), as messages have them too. */
enum topic_type {
    TOPIC_UNSPECIFIED, TOPIC_NORMAL, TOPIC_FIFO, TOPIC_DELAY, TOPIC_TRANSACTION, TOPIC_LITE, TOPIC_PRIORITY, TOPIC_MIXED,
};
extern const char *const topic_type_names[];

struct group_facts {
    int refs;
    struct arena arena;
    struct group_config config;
};

enum { WANT_ROUTE = 1, WANT_TYPE = 2, WANT_GROUP = 4, WANTS = 3 };

struct fact;

/* Somebody who waits for a fact. */
struct waiter {
    struct list_node node;
    void (*ready)(struct waiter *w, struct fact *f);
    void *ctx;
};

/* What a request asked for. */
struct wanted {
    struct route *route;            /* NULL: none, and why stands in route_error */
    err_t route_error;
    enum topic_type type;           /* TOPIC_UNSPECIFIED as well when it is not known */
    struct group_facts *group;      /* NULL: there is no such group */
    struct waiter waiters[WANTS];
    int waits;
    bool asking;                    /* more is to come: next does not run yet */
    void (*next)(struct request *r);
};

struct facts {
    struct proxy *proxy;
    struct rpc_peer **namesrvs;
    size_t namesrv_count, namesrv;  /* which one is asked */
    struct map tables[WANTS];       /* name -> struct fact */
};

void facts_init(struct facts *f, struct proxy *p);
/* Name servers are not asked any more: who waits is told. */
void facts_close(struct facts *f);
void facts_done(struct facts *f);
void facts_want(struct request *r, unsigned what, struct slice topic, struct slice group, void (*next)(struct request *r));
/* What a request has got, or waits for, is given up. */
void facts_release(struct request *r);
/* The next who wants a topic's route asks anew: something is wrong with it. */
void facts_doubt(struct facts *f, struct slice topic);
/* Forgets what nobody used for long. */
void facts_scan(struct facts *f);

/* --- group.c; g NULL: a group that nobody knows --- */
/* An attribute, p NULL when there is none. */
struct slice group_attribute(const struct group_facts *g, struct slice key);
/* How often a group's messages are delivered at most. */
int32_t group_attempts(const struct group_facts *g);
/* The steps of a customized policy; NULL: the usual ones. */
size_t group_step_count(const struct customized_retry *c);
int64_t group_step_ms(const struct customized_retry *c, size_t at);
/* How long a message stays away that was delivered so often before. */
int64_t group_backoff_ms(const struct group_facts *g, int32_t reconsume_times);

#endif
