/* members.h - who is connected: producers and consumers by group, each consumer with its own subscriptions.
 * Facts    docs/protocol/remoting.md A2, A3; semantics.md 9
 * Shape    a client is a connection with a client id; it is a member of any number of groups
 * View     per group and topic the newest of its members' subscriptions rules, as Java clients expect of a broker; members that
 *          disagree are named in the log, once per change, and treated as subscriptionConsistency says (agreement.h)
 * Threads  loop
 * Owns     copies of all names and subscriptions; what it returns is valid until the next heartbeat or close */
#ifndef SKYLARK_BROKER_MEMBERS_H
#define SKYLARK_BROKER_MEMBERS_H

#include "codec/body_heartbeat.h"
#include "base/map.h"
#include "filter/filter.h"
#include "rpc/rpc.h"

struct client {
    struct rpc_conn *conn;         /* referenced */
    char *id;
    enum language language;
    int32_t version;
    int64_t seen_ms;               /* mono_ms of its last heartbeat */
    struct list consumers;         /* of struct member, in_client */
    struct list producers;
};

/* What a member asks for of one topic. */
struct interest {
    struct subscription subscription;
    struct filter *filter;         /* of SQL92; NULL: it is about tags, or cannot be compiled */
    const struct member *owner;
};

struct member {
    struct list_node in_group;
    struct list_node in_client;
    struct member_group *group;
    struct client *client;
    int64_t seen_ms;               /* mono_ms of its last heartbeat: a clock that is set makes nobody old */
    int32_t fingerprint;           /* of its last full heartbeat of the second kind */
    bool outdated;                 /* it pulls by a newer subscription than the one it told */
    enum consume_type type;        /* of a consumer */
    enum message_model model;
    struct arena arena;            /* of the interests */
    struct interest *interests;
    size_t count;
};

struct member_group {
    char *name;
    bool producer;
    struct list members;           /* in the order they joined */
    size_t count;
    enum consume_type type;        /* of the last heartbeat, as the others */
    enum message_model model;
    enum consume_from from;
    struct map view;               /* topic -> struct interest * of the member whose is the newest */
    struct members *table;
    struct timer notice;           /* armed: a change waits to be told */
};

struct members {
    struct tasks *tasks;
    struct map consumers;          /* name -> struct member_group */
    struct map producers;
    struct map clients;            /* connection id, 8 bytes -> struct client */
    struct map by_id;              /* client id -> struct client: of those of one id the one that came last */
    void (*changed)(void *ctx, struct member_group *g);   /* consumers came, went or changed their topics; see NOTICE_… */
    const int32_t *consistency;    /* enum subscription_consistency; borrowed, may change */
    int64_t disagreements;         /* found so far */
    void (*view_changed)(void *ctx, struct member_group *g);   /* at once; a group that is gone has an empty view */
    void *ctx;
};

/* A change of a group concerns all of its members, so that n who come one after the other are n * n notices. A group of n members
 * is told within n / 10 ms, once for all changes until then; a small one at once. */
enum { NOTICE_MEMBERS_PER_MS = 10, NOTICE_MAX_MS = 1000 };

void members_init(struct members *m, struct tasks *tasks, const int32_t *consistency, void (*changed)(void *ctx, struct member_group *g),
                  void (*view_changed)(void *ctx, struct member_group *g), void *ctx);
void members_done(struct members *m);

/* The client on a connection; NULL: no heartbeat came on it. */
const struct client *members_client_of(const struct members *m, uint64_t conn_id);
struct client *members_client(struct members *m, struct call *call, struct slice client_id);
/* One group of a heartbeat. *must_tell: a heartbeat without subscriptions is not enough, as the member is not known here, or under another
 * fingerprint, or has a newer subscription. Errors: REFUSED, in CONSISTENCY_REJECT: it disagrees with the others, and is no member, or no longer. */
err_t members_consumer(struct members *m, struct client *c, const struct heartbeat_consumer *h, int32_t fingerprint, bool without_sub,
                       bool *must_tell) MUST_CHECK;
void members_producer(struct members *m, struct client *c, struct slice group);
/* The member on this connection asked for messages by a subscription that is newer than what its heartbeats said. A client may leave out the
 * heartbeat that would tell, and its fingerprint says nothing of versions: it must be asked. */
void members_outdated(struct members *m, struct rpc_conn *conn, struct slice group);
/* Leaves one group; p NULL names are skipped. */
void members_leave(struct members *m, struct rpc_conn *conn, struct slice producer_group, struct slice consumer_group);
void members_closed(struct members *m, struct rpc_conn *conn);
/* Drops who has not sent a heartbeat for so long, and closes its connection. */
void members_expire(struct members *m, int64_t after_ms);

struct member_group *members_consumers(struct members *m, struct slice group);   /* NULL: nobody is online */
struct member_group *members_producers(struct members *m, struct slice group);
/* A client that produces, by its id; NULL: it is not connected. */
struct client *members_producer_by_id(struct members *m, struct slice client_id);
/* A consumer of the group, by its client's id. */
struct client *members_consumer_by_id(struct members *m, struct slice group, struct slice client_id);
/* What rules for the group, NULL when it has no subscription to the topic. */
const struct interest *members_interest(struct member_group *g, struct slice topic);
/* The subscription that rules for the group, NULL when it has none of the topic. */
const struct subscription *members_subscription(struct member_group *g, struct slice topic);
/* NULL: who is connected there is no member of the group. */
const struct member *members_member(struct members *m, struct rpc_conn *conn, struct member_group *g);
/* What a member itself asks for, whatever rules for its group; for one who is no member (`one` NULL) what all agree on. NULL: nothing. */
const struct interest *members_own_interest(struct member_group *g, const struct member *one, struct slice topic);

#define MEMBERS_EACH(group, node) LIST_EACH(&(group)->members, node)
#define MEMBER_OF(node) LIST_OWNER(node, struct member, in_group)

#endif
