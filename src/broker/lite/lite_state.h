/* lite_state.h - the parts of lite, seen by its files only.
 * Threads  loop
 * Owns     topics, groups and clients are made when somebody names them, and freed when nothing is left of them (lite_tidy) */
#ifndef SKYLARK_BROKER_LITE_STATE_H
#define SKYLARK_BROKER_LITE_STATE_H

#include "broker/lite/lite.h"
#include "broker/order/order.h"
#include "codec/lite_topic.h"

/* A lite topic that somebody subscribes to, or that a wildcard group has something of. */
struct lite_topic {
    struct slice queue;              /* its name as a light queue; behind it */
    struct slice parent, name;       /* within that */
    struct list shares;              /* struct lite_share in_topic */
};

struct lite_group {
    struct slice name;               /* behind it */
    struct list clients;             /* struct lite_client in_group: those that have subscribed */
    struct slice wildcard;           /* parent topic of which it gets all lite topics; p NULL: it is no wildcard group. Owned */
    struct list_node in_wildcards;
    struct list ready;               /* of a wildcard group: struct lite_share in_ready */
    size_t shares;
};

/* A lite topic as one group sees it. */
struct lite_share {
    struct lite *lite;
    struct lite_topic *topic;
    struct lite_group *group;
    struct list_node in_topic;
    struct list_node in_ready;       /* of a wildcard group */
    struct list subs;                /* struct lite_sub in_share; the next one to be served first */
    struct timer unlock;             /* what is out of it may be visible again then */
};

/* One client's subscription to one lite topic. */
struct lite_sub {
    struct lite_client *client;
    struct lite_share *share;
    struct list_node in_share, in_client;
    struct list_node in_ready;       /* of the client: there is something, or was a moment ago */
    bool stays;                      /* while all of a client's are told anew */
};

/* One that has subscribed, or that waits. */
struct lite_client {
    struct slice id;                 /* behind it */
    struct lite_group *group;        /* NULL: it has not subscribed */
    struct list_node in_group;
    char *topic;                     /* the parent topic of its subscriptions */
    char *attempt_id;                /* of its last pop; NULL: none */
    struct rpc_conn *conn;           /* that it spoke by last; a reference; NULL: closed */
    int64_t told_ms;                 /* mono: when it told its subscriptions last */
    int64_t popped_ms, found_ms;     /* wall: when it popped last, and found something; 0: never */
    struct list subs;                /* struct lite_sub in_client */
    size_t sub_count;
    struct list ready;               /* struct lite_sub in_ready */
    struct list polls;               /* struct lite_poll in_client, who gives up first comes first */
    size_t poll_count;
    struct list_node in_woken;
};

struct lite_cleaning;

struct lite {
    struct broker *broker;
    struct order order;              /* what is out */
    struct map clients;              /* id -> struct lite_client */
    struct map topics;               /* queue name -> struct lite_topic */
    struct map groups;               /* name -> struct lite_group */
    struct list wildcards;           /* struct lite_group in_wildcards */
    size_t subscriptions;            /* lite topics of all clients */
    size_t polls;                    /* that wait */
    struct list woken;               /* struct lite_client in_woken: one of its polls is to look */
    bool waking;
    struct timer expire;
    struct timer clean;
    struct lite_cleaning *cleaning;  /* one that goes on */
    int64_t started_ms;              /* mono */
    bool told;                       /* that there are no lite topics in this broker */
    bool stopped;
};

/* A pop from its arrival to its answer. */
struct lite_poll {
    struct waiter waiter;
    struct list_node in_client;
    struct disk_wait disk;
    struct lite *lite;
    struct call *call;
    struct pop_lite_header *header;
    struct lite_client *client;      /* while it waits */
    int64_t expired_ms;              /* wall_ms: bornTime + pollTime */
    bool last_look;                  /* its time is over */
    int64_t pop_ms;
    struct buf body;
    struct buf counts;
    size_t messages;
    bool cold;
    bool unfinished;                 /* it has looked at as much as it may at once */
};

/* --- registry.c: who subscribes to what --- */
struct lite_client *lite_client_find(const struct lite *l, struct slice id);
/* Made when there is none. */
struct lite_client *lite_client_get(struct lite *l, struct slice id);
/* Frees it when it neither subscribes nor waits. */
void lite_client_tidy(struct lite *l, struct lite_client *c);
/* The client is of that group and topic from now on, if it was of none. */
void lite_client_join(struct lite *l, struct lite_client *c, struct slice group, struct slice topic);
/* It has nothing subscribed any more. Frees it, unless it waits. */
void lite_client_leave(struct lite *l, struct lite_client *c);
/* False: it had it already. */
bool lite_subscribe(struct lite *l, struct lite_client *c, struct slice queue);
struct lite_sub *lite_sub_find(const struct lite *l, const struct lite_client *c, struct slice queue);
void lite_unsubscribe(struct lite *l, struct lite_sub *sub);
/* All members of the group that subscribe to the queue, but `keep`, have it no more, and are told. False: there were none. */
bool lite_take_over(struct lite *l, struct slice group, struct slice queue, const struct lite_client *keep);
/* The queue is no more: nobody subscribes to it. */
void lite_forget_queue(struct lite *l, struct slice queue);
struct lite_share *lite_share_find(const struct lite *l, struct slice queue, struct slice group);
/* Of a wildcard group; freed by lite_share_tidy(). */
struct lite_share *lite_share_get(struct lite *l, struct slice queue, struct lite_group *group);
void lite_share_tidy(struct lite *l, struct lite_share *s);
void lite_group_tidy(struct lite *l, struct lite_group *g);
struct lite_group *lite_group_find(const struct lite *l, struct slice name);
void lite_registry_done(struct lite *l);

/* --- events.c: who has something for whom --- */
/* There is something in the queue for the group, unless it is blocked. Wakes one that waits, in the end. */
void lite_ready(struct lite *l, struct lite_share *s);
/* The same of a group that may have no share of it yet. */
void lite_ready_named(struct lite *l, struct slice queue, struct slice group);
/* The queue is blocked: somebody looks again when it is not. */
void lite_arm(struct lite *l, struct lite_share *s);
/* One of the client's polls looks, when there is any. */
void lite_wake(struct lite *l, struct lite_client *c);
/* The next queue that may have something for the client; NULL: none. It is not in the list any more. */
struct lite_share *lite_next(struct lite_client *c);
/* It is not done with, after all. */
void lite_put_back(struct lite *l, struct lite_client *c, struct lite_share *s);
/* Looks at all queues of a client, or of a wildcard group. */
void lite_dispatch_client(struct lite *l, struct lite_client *c);
void lite_dispatch_group(struct lite *l, struct lite_group *g);
/* Messages that the group has not consumed are there. */
bool lite_has_messages(const struct lite *l, struct slice queue, struct slice group);
bool lite_is_blocked(const struct lite *l, struct slice queue, struct slice group, struct slice attempt_id);

/* --- pop.c --- */
void lite_poll_run(struct lite_poll *p, enum wake_reason reason);

/* --- subscribe.c --- */
/* Clients that have been silent for too long. */
void lite_expire(void *lite);
/* The group goes on at an offset that is not of its own making. */
void lite_move(struct lite *l, struct slice queue, struct slice group, int64_t offset);

/* --- clean.c: lite topics that are over --- */
void lite_clean(void *lite);
void lite_clean_end(struct lite *l);
void lite_delete_queue(struct lite *l, struct slice parent, struct slice queue);

/* --- lite.c: what topics and groups are --- */
bool lite_is_parent(const struct broker *b, struct slice topic);
/* Minutes; -1: for ever. */
int32_t lite_ttl_minutes(const struct topic *topic);
/* p NULL: none, or there is no such group. */
struct slice lite_bound_topic(const struct broker *b, struct slice group);
bool lite_group_says(const struct broker *b, struct slice group, struct slice key, struct slice value);
bool lite_is_wildcard(const struct broker *b, struct slice group);

#endif
