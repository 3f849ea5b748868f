/* route_table.h - which brokers are there, and which queues of which topics they have. Pure: no I/O, no clock, no connections.
 * Facts    docs/protocol/remoting.md A1, 5.1, 5.2; case I1 (id and address are both compared)
 * Shape    broker groups by name, each with its brokers by id; topics by name, each with one entry per group
 * Units    *_ms are any clock's that does not go back, the same one in every call
 * Threads  its owner
 * Owns     copies of all it is given; results borrow from the table until it changes, their lists lie in the arena */
#ifndef SKYLARK_NAMESRV_ROUTE_TABLE_H
#define SKYLARK_NAMESRV_ROUTE_TABLE_H

#include "codec/body_lists.h"
#include "codec/body_register.h"
#include "codec/body_route.h"

struct route_table;

/* The smallest id of a group that follows its master's absence is not the one it was. */
struct min_change {
    struct slice group;
    const struct id_text *addresses;    /* of all its brokers, ascending id; the first one is the smallest */
    size_t count;
    struct slice offline;               /* address of the broker that left; p NULL: one came */
    struct slice ha_address;            /* of the smallest */
};

struct route_table *route_table_new(void (*min_changed)(void *ctx, const struct min_change *change), void *ctx);
void route_table_free(struct route_table *t);

struct registration {
    struct slice cluster, group, address, ha_address;
    struct slice zone;                  /* p NULL: none */
    int64_t id;
    int64_t timeout_ms;
    bool knows_acting_master;           /* the field was there: a broker from 5.0 on */
    bool enable_acting_master;
    bool delete_missing;                /* topics that it does not name are dropped */
    uint64_t conn_id;
    const struct register_body *body;
};

enum registered {
    REGISTERED,
    REGISTERED_STALE,       /* another broker of a newer state has the id: nothing changed */
    REGISTERED_REFUSED,     /* a single topic, from a broker that is not known */
};

/* Of a slave's master, if there is one; else p NULL. */
struct master {
    struct slice address;
    struct slice ha_address;
};

enum registered route_table_register(struct route_table *t, const struct registration *r, int64_t now_ms,
                                     struct master *out_master);
/* A broker leaves: taken out only if id and address are both those registered. True if it was. */
bool route_table_unregister(struct route_table *t, struct slice group, struct slice address, int64_t id);
/* Takes out all brokers whose last registration came by this connection; how many they were. */
size_t route_table_conn_closed(struct route_table *t, uint64_t conn_id);
/* Registered brokers, of all groups. */
size_t route_table_brokers(const struct route_table *t);
/* Takes out the brokers that were silent for longer than they promised; how many they were. */
size_t route_table_expire(struct route_table *t, int64_t now_ms);
/* A sign of life. */
void route_table_touch(struct route_table *t, struct slice group, struct slice address, int64_t now_ms);
/* What the broker registered last; NULL: it is not here. */
const struct data_version *route_table_version(const struct route_table *t, struct slice group, struct slice address);

/* --- changes by administrators and brokers --- */
/* Takes the write permission of a group's topics, or gives reading and writing; how many topics. */
int32_t route_table_set_writable(struct route_table *t, struct slice group, bool writable);
/* cluster.p NULL or empty: of all. */
void route_table_delete_topic(struct route_table *t, struct slice topic, struct slice cluster);
/* Entries of groups that are not here are skipped. */
void route_table_add_topic(struct route_table *t, struct slice topic, const struct topic_route *route);

/* --- questions --- */
struct route_question {
    struct slice topic;
    bool acting_master;         /* supportActingMaster */
    struct slice zone;          /* p NULL: brokers of all zones */
};
/* False: the topic has no queues, or none of a broker that is here. */
bool route_table_route(const struct route_table *t, const struct route_question *q, struct arena *arena, struct topic_route *out);
void route_table_clusters(const struct route_table *t, struct arena *arena, struct cluster_info *out);
void route_table_members(const struct route_table *t, struct slice cluster, struct slice group, struct arena *arena,
                         struct broker_group *out);

enum topic_choice { TOPICS_ALL, TOPICS_OF_CLUSTER, TOPICS_UNIT, TOPICS_WITH_UNIT_SUB, TOPICS_NOT_UNIT_WITH_UNIT_SUB };
/* cluster counts for TOPICS_OF_CLUSTER only. */
void route_table_topics(const struct route_table *t, enum topic_choice choice, struct slice cluster, struct arena *arena,
                        struct topic_list *out);
/* Topics named after clusters and groups, and the address of some broker. */
void route_table_system_topics(const struct route_table *t, struct arena *arena, struct topic_list *out);

#endif
