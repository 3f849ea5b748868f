/* body_lite.h - lite topics: what clients subscribe to (200071), and what tools ask (200074 to 200078).
 * Facts    docs/protocol/lite.md
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_LITE_H
#define SKYLARK_CODEC_BODY_LITE_H

#include "codec/bean.h"

enum lite_action { LITE_PARTIAL_ADD, LITE_PARTIAL_REMOVE, LITE_COMPLETE_ADD, LITE_COMPLETE_REMOVE };

/* Where a group goes on in what is subscribed. */
enum lite_offset_type { LITE_OFFSET_POLICY, LITE_OFFSET_OFFSET, LITE_OFFSET_TAIL_N, LITE_OFFSET_TIMESTAMP };
enum { LITE_POLICY_LAST, LITE_POLICY_MIN, LITE_POLICY_MAX };
struct lite_offset_option {
    int32_t type;                   /* enum lite_offset_type; -1: none */
    int64_t value;
};

struct lite_subscription {
    int32_t action;                 /* enum lite_action; -1: none */
    struct slice client_id, group, topic;
    BEAN_LIST(struct slice) lite_topics;
    struct lite_offset_option *offset;  /* NULL: where the group is */
    int64_t version;
};
struct lite_subscriptions {
    BEAN_LIST(struct lite_subscription) entries;
};
extern const struct bean lite_subscriptions_bean;

struct lite_number {
    struct slice name;
    int32_t number;
};
struct lite_overview {
    int32_t queue_topics, queues, events, subscriptions, queues_max, offsets, ordered;
    BEAN_LIST(struct named_list) groups;        /* topic -> groups bound to it */
    struct slice store_type;
    BEAN_LIST(struct lite_number) topics;       /* topic -> minutes that its lite topics live */
};
extern const struct bean lite_overview_bean;

struct lite_parent {
    BEAN_LIST(struct slice) groups;
    int32_t lite_topics, queues;
    struct slice topic;
    int32_t ttl;
};
extern const struct bean lite_parent_bean;

struct lite_member {
    struct slice client_id, group;
};
struct lite_offsets {
    int64_t last_ms, max_offset, min_offset;
};
struct lite_topic_info {
    struct slice lite_topic, parent;
    bool is_here;                               /* this broker is the one that producers send it to */
    BEAN_LIST(struct lite_member) members;
    struct lite_offsets offsets;
};
extern const struct bean lite_topic_info_bean;

struct lite_client_info {
    struct slice client_id, group;
    int64_t popped_ms, found_ms;
    int32_t count;                              /* -1: it has not subscribed */
    BEAN_LIST(struct slice) lite_topics;
    struct slice parent;
};
extern const struct bean lite_client_info_bean;

struct lite_lag {
    int64_t earliest_ms, lag;
    struct slice lite_topic;
};
struct lite_progress {
    int64_t broker_offset, consumer_offset, last_ms, pull_offset;
};
struct lite_group_info {
    int64_t earliest_ms;
    struct slice group;
    BEAN_LIST(struct lite_lag) by_lag, by_time;
    struct slice lite_topic;
    struct lite_progress *progress;
    struct slice parent;
    int64_t lag;
};
extern const struct bean lite_group_info_bean;

#endif
