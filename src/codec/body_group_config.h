/* body_group_config.h - consumer groups as administrators set them and as subscriptionGroup.json keeps them.
 * Facts    docs/protocol/remoting.md 1.5, 4.1 (200, 201, 225, 352), store.md 8
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_GROUP_CONFIG_H
#define SKYLARK_CODEC_BODY_GROUP_CONFIG_H

#include "codec/body_topic_config.h"

enum retry_policy_type { RETRY_POLICY_NONE = -1, RETRY_POLICY_EXPONENTIAL, RETRY_POLICY_CUSTOMIZED };

struct customized_retry {
    BEAN_LIST(int64_t) next_ms;
};

struct exponential_retry {
    int64_t initial_ms;
    int64_t max_ms;
    int64_t multiplier;
};

struct retry_policy {
    int32_t type;                               /* enum retry_policy_type */
    struct customized_retry *customized;        /* NULL: the default steps */
    struct exponential_retry *exponential;      /* NULL: 5 s, at most 2 h, times 2 */
};

/* A subscription that an administrator fixed for the group. */
struct simple_subscription {
    struct slice topic;
    struct slice type;
    struct slice expression;
    int64_t version;
};

struct group_config {
    struct slice name;
    bool consume_enable;
    bool consume_from_min_enable;
    bool consume_broadcast_enable;
    bool consume_orderly;
    bool notify_ids_changed;
    int32_t retry_queues;
    int32_t retry_max_times;
    int64_t broker_id;
    int64_t slow_broker_id;                     /* whichBrokerWhenConsumeSlowly */
    int32_t sys_flag;
    int32_t consume_timeout_minutes;
    struct retry_policy retry;
    BEAN_LIST(struct simple_subscription) subscriptions;
    BEAN_LIST(struct pair) attributes;
};

/* Bits per topic that a group may not use: forbiddenTable {group: {topic: bits}}. */
struct forbidden_topic {
    struct slice topic;
    int32_t bits;
};
struct forbidden_group {
    struct slice group;
    BEAN_LIST(struct forbidden_topic) topics;
};
enum { FORBIDDEN_READ_BIT = 2 };                /* index of the bit */

/* Body of 201, and subscriptionGroup.json. */
struct group_table {
    struct data_version *version;
    BEAN_LIST(struct forbidden_group) forbidden;
    BEAN_LIST(struct group_config) groups;
};

/* Body of 225. */
struct group_config_list {
    BEAN_LIST(struct group_config) groups;
};

/* Reply of 353. */
struct group_readable {
    struct slice group;
    struct slice topic;
    bool readable;
};

extern const struct bean group_config_bean;
extern const struct bean group_table_bean;
extern const struct bean group_config_list_bean;
extern const struct bean group_readable_bean;
/* What a group is that nobody configured; the name is the caller's to set. */
extern const struct group_config group_config_default;

/* The value of an attribute, p NULL when there is none. */
struct slice group_config_attribute(const struct group_config *g, struct slice key);

#endif
