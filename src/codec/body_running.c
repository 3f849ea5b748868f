#include "codec/body_running.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field queue_rows[] = {
    ROW(client_queue_state, cached, "cachedMsgCount", i32, NULL),
    ROW(client_queue_state, commit_offset, "commitOffset", i64, NULL),
    ROW(client_queue_state, dropped, "droped", bool, NULL),
    ROW(client_queue_state, last_consume_ms, "lastConsumeTimestamp", i64, NULL),
    ROW(client_queue_state, last_lock_ms, "lastLockTimestamp", i64, NULL),
    ROW(client_queue_state, last_pull_ms, "lastPullTimestamp", i64, NULL),
    ROW(client_queue_state, locked, "locked", bool, NULL),
    ROW(client_queue_state, try_unlock_times, "tryUnlockTimes", i64, NULL),
};
static const struct bean queue_bean = BEAN(struct client_queue_state, queue_rows, NULL);
static const struct bean_by_bean_of queues_by_name = {&message_queue_bean, &queue_bean, offsetof(struct client_queue, state), sizeof(struct client_queue)};

static const struct bean_field rates_rows[] = {
    ROW(client_rates, failed, "consumeFailedMsgs", i64, NULL),
    ROW(client_rates, failed_tps, "consumeFailedTPS", double, NULL),
    ROW(client_rates, ok_tps, "consumeOKTPS", double, NULL),
    ROW(client_rates, consume_rt_ms, "consumeRT", double, NULL),
    ROW(client_rates, pull_rt_ms, "pullRT", double, NULL),
    ROW(client_rates, pull_tps, "pullTPS", double, NULL),
};
static const struct bean rates_bean = BEAN(struct client_rates, rates_rows, NULL);
static const struct bean_table_of rates_by_topic = {&rates_bean, offsetof(struct client_rates, topic)};

static const struct bean_field info_rows[] = {
    ROW(client_running, stacks, "jstack", text, NULL),
    ROW(client_running, queues, "mqTable", by_bean, &queues_by_name),
    ROW(client_running, properties, "properties", pairs, NULL),
    ROW(client_running, rates, "statusTable", table, &rates_by_topic),
    ROW(client_running, subscriptions, "subscriptionSet", list, &subscription_bean),
};
const struct bean client_running_bean = BEAN(struct client_running, info_rows, NULL);
