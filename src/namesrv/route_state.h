/* route_state.h - inside of the route table, for route_table.c (changes) and route_query.c (questions) only.
 * Invariants N1 - N4: see README.md */
#ifndef SKYLARK_NAMESRV_ROUTE_STATE_H
#define SKYLARK_NAMESRV_ROUTE_STATE_H

#include "base/map.h"
#include "namesrv/route_table.h"

struct broker {
    int64_t id;
    char *address;
    char *ha_address;
    int64_t seen_ms;
    int64_t timeout_ms;
    struct data_version version;
    uint64_t conn_id;
    struct arena memory;                        /* of filter_servers */
    BEAN_LIST(struct slice) filter_servers;
};

struct group {
    char *cluster;
    char *name;
    char *zone;                                 /* NULL: none */
    bool enable_acting_master;
    struct broker **brokers;                    /* ascending id, never none (N1) */
    size_t count;
};

/* The queues that one group has of a topic. */
struct entry {
    struct group *group;
    int32_t read_queues;
    int32_t write_queues;
    int32_t perm;
    int32_t sys_flag;
};

struct mapping {
    struct group *group;
    struct arena memory;
    struct queue_mapping mapping;
};

struct topic {
    struct entry *entries;                      /* never none (N2) */
    size_t count;
    struct mapping *mappings;                   /* of static topics */
    size_t mapping_count;
};

struct route_table {
    struct map groups;                          /* name -> struct group */
    struct map topics;                          /* name -> struct topic */
    void (*min_changed)(void *ctx, const struct min_change *change);
    void *ctx;
};

static inline bool group_has_master(const struct group *g) { return g->brokers[0]->id == 0; }

#endif
