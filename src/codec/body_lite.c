#include "codec/body_lite.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const char *const actions[] = {"PARTIAL_ADD", "PARTIAL_REMOVE", "COMPLETE_ADD", "COMPLETE_REMOVE", NULL};
static const char *const offset_types[] = {"POLICY", "OFFSET", "TAIL_N", "TIMESTAMP", NULL};

static const struct bean_field option_rows[] = {
    ROW(lite_offset_option, type, "type", choice, offset_types),
    ROW(lite_offset_option, value, "value", i64, NULL),
};
static const struct lite_offset_option no_option = {.type = -1};
static const struct bean option_bean = BEAN(struct lite_offset_option, option_rows, &no_option);

static const struct bean_field subscription_rows[] = {
    ROW(lite_subscription, action, "action", choice, actions),
    ROW(lite_subscription, client_id, "clientId", text, NULL),
    ROW(lite_subscription, group, "group", text, NULL),
    ROW(lite_subscription, lite_topics, "liteTopicSet", texts, NULL),
    ROW(lite_subscription, offset, "offsetOption", ref, &option_bean),
    ROW(lite_subscription, topic, "topic", text, NULL),
    ROW(lite_subscription, version, "version", i64, NULL),
};
static const struct lite_subscription no_subscription = {.action = -1};
static const struct bean subscription_bean = BEAN(struct lite_subscription, subscription_rows, &no_subscription);

static const struct bean_field subscriptions_rows[] = {ROW(lite_subscriptions, entries, "subscriptionSet", list, &subscription_bean)};
const struct bean lite_subscriptions_bean = BEAN(struct lite_subscriptions, subscriptions_rows, NULL);

/* --- what tools ask --- */

static const struct bean_field number_row = ROW(lite_number, number, "", i32, NULL);
static const struct bean_named_of numbers = {&number_row, offsetof(struct lite_number, name), sizeof(struct lite_number)};

static const struct bean_field overview_rows[] = {
    ROW(lite_overview, queue_topics, "cqTableSize", i32, NULL),
    ROW(lite_overview, queues, "currentLmqNum", i32, NULL),
    ROW(lite_overview, events, "eventMapSize", i32, NULL),
    ROW(lite_overview, groups, "groupMeta", text_lists, NULL),
    ROW(lite_overview, subscriptions, "liteSubscriptionCount", i32, NULL),
    ROW(lite_overview, queues_max, "maxLmqNum", i32, NULL),
    ROW(lite_overview, offsets, "offsetTableSize", i32, NULL),
    ROW(lite_overview, ordered, "orderInfoCount", i32, NULL),
    ROW(lite_overview, store_type, "storeType", text, NULL),
    ROW(lite_overview, topics, "topicMeta", named, &numbers),
};
const struct bean lite_overview_bean = BEAN(struct lite_overview, overview_rows, NULL);

static const struct bean_field parent_rows[] = {
    {"groups", offsetof(struct lite_parent, groups), &bean_texts, NULL, true},
    ROW(lite_parent, lite_topics, "liteTopicCount", i32, NULL),
    ROW(lite_parent, queues, "lmqNum", i32, NULL),
    ROW(lite_parent, topic, "topic", text, NULL),
    ROW(lite_parent, ttl, "ttl", i32, NULL),
};
const struct bean lite_parent_bean = BEAN(struct lite_parent, parent_rows, NULL);

static const struct bean_field member_rows[] = {
    ROW(lite_member, client_id, "clientId", text, NULL),
    ROW(lite_member, group, "group", text, NULL),
};
static const struct bean member_bean = BEAN(struct lite_member, member_rows, NULL);

static const struct bean_field offsets_rows[] = {
    ROW(lite_offsets, last_ms, "lastUpdateTimestamp", i64, NULL),
    ROW(lite_offsets, max_offset, "maxOffset", i64, NULL),
    ROW(lite_offsets, min_offset, "minOffset", i64, NULL),
};
static const struct bean offsets_bean = BEAN(struct lite_offsets, offsets_rows, NULL);

static const struct bean_field topic_rows[] = {
    ROW(lite_topic_info, lite_topic, "liteTopic", text, NULL),
    ROW(lite_topic_info, parent, "parentTopic", text, NULL),
    ROW(lite_topic_info, is_here, "shardingToBroker", bool, NULL),
    ROW(lite_topic_info, members, "subscriber", list, &member_bean),
    ROW(lite_topic_info, offsets, "topicOffset", part, &offsets_bean),
};
const struct bean lite_topic_info_bean = BEAN(struct lite_topic_info, topic_rows, NULL);

static const struct bean_field client_rows[] = {
    ROW(lite_client_info, client_id, "clientId", text, NULL),
    ROW(lite_client_info, group, "group", text, NULL),
    ROW(lite_client_info, popped_ms, "lastAccessTime", i64, NULL),
    ROW(lite_client_info, found_ms, "lastConsumeTime", i64, NULL),
    ROW(lite_client_info, count, "liteTopicCount", i32, NULL),
    {"liteTopicSet", offsetof(struct lite_client_info, lite_topics), &bean_texts, NULL, true},
    ROW(lite_client_info, parent, "parentTopic", text, NULL),
};
const struct bean lite_client_info_bean = BEAN(struct lite_client_info, client_rows, NULL);

static const struct bean_field lag_rows[] = {
    ROW(lite_lag, earliest_ms, "earliestUnconsumedTimestamp", i64, NULL),
    ROW(lite_lag, lag, "lagCount", i64, NULL),
    ROW(lite_lag, lite_topic, "liteTopic", text, NULL),
};
static const struct bean lag_bean = BEAN(struct lite_lag, lag_rows, NULL);

static const struct bean_field progress_rows[] = {
    ROW(lite_progress, broker_offset, "brokerOffset", i64, NULL),
    ROW(lite_progress, consumer_offset, "consumerOffset", i64, NULL),
    ROW(lite_progress, last_ms, "lastTimestamp", i64, NULL),
    ROW(lite_progress, pull_offset, "pullOffset", i64, NULL),
};
static const struct bean progress_bean = BEAN(struct lite_progress, progress_rows, NULL);

static const struct bean_field group_rows[] = {
    ROW(lite_group_info, earliest_ms, "earliestUnconsumedTimestamp", i64, NULL),
    ROW(lite_group_info, group, "group", text, NULL),
    {"lagCountTopK", offsetof(struct lite_group_info, by_lag), &bean_list, &lag_bean, true},
    {"lagTimestampTopK", offsetof(struct lite_group_info, by_time), &bean_list, &lag_bean, true},
    ROW(lite_group_info, lite_topic, "liteTopic", text, NULL),
    ROW(lite_group_info, progress, "liteTopicOffsetWrapper", ref, &progress_bean),
    ROW(lite_group_info, parent, "parentTopic", text, NULL),
    ROW(lite_group_info, lag, "totalLagCount", i64, NULL),
};
static const struct lite_group_info no_group = {.earliest_ms = -1};
const struct bean lite_group_info_bean = BEAN(struct lite_group_info, group_rows, &no_group);
