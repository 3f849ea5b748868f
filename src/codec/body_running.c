#include "codec/body_running.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field queue_rows[] = {
    ROW(running_state, cached, "cachedMsgCount", i32, NULL),
    ROW(running_state, commit_offset, "commitOffset", i64, NULL),
    ROW(running_state, dropped, "droped", bool, NULL),
    ROW(running_state, last_consume_ms, "lastConsumeTimestamp", i64, NULL),
    ROW(running_state, last_pull_ms, "lastPullTimestamp", i64, NULL),
    ROW(running_state, locked, "locked", bool, NULL),
};
static const struct bean queue_bean = BEAN(struct running_state, queue_rows, NULL);
static const struct bean_by_bean_of queues_by_name = {&message_queue_bean, &queue_bean, offsetof(struct running_queue, state), sizeof(struct running_queue)};

static const struct bean_field rates_rows[] = {
    ROW(running_rates, failed, "consumeFailedMsgs", i64, NULL),
    ROW(running_rates, failed_tps, "consumeFailedTPS", double, NULL),
    ROW(running_rates, ok_tps, "consumeOKTPS", double, NULL),
    ROW(running_rates, consume_rt_ms, "consumeRT", double, NULL),
    ROW(running_rates, pull_rt_ms, "pullRT", double, NULL),
    ROW(running_rates, pull_tps, "pullTPS", double, NULL),
};
static const struct bean rates_bean = BEAN(struct running_rates, rates_rows, NULL);
static const struct bean_table_of rates_by_topic = {&rates_bean, offsetof(struct running_rates, topic)};

static const struct bean_field info_rows[] = {
    ROW(running_info, stacks, "jstack", text, NULL),
    ROW(running_info, queues, "mqTable", by_bean, &queues_by_name),
    ROW(running_info, properties, "properties", pairs, NULL),
    ROW(running_info, rates, "statusTable", table, &rates_by_topic),
    ROW(running_info, subscriptions, "subscriptionSet", list, &subscription_bean),
};
const struct bean running_info_bean = BEAN(struct running_info, info_rows, NULL);
