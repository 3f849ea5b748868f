#include "codec/body_group_config.h"

static const char *const policy_names[] = {"EXPONENTIAL", "CUSTOMIZED", NULL};

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}
#define ROW_OPTIONAL(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, true}

static void steps_read(struct json *j, const struct bean_field *f, void *m)
{
    (void)f;
    BEAN_LIST(int64_t) *list = m;
    list->items = NULL;
    list->count = 0;
    if (!json_array(j)) return;
    while (json_next(j)) {
        int64_t *v = arena_list_add(j->arena, (void **)&list->items, &list->count, sizeof *v);
        if (v) *v = json_i64(j);
        else json_fail(j, "too large");
    }
}

static void steps_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    (void)f;
    const BEAN_LIST(int64_t) *list = m;
    json_put_array(w);
    for (size_t i = 0; i < list->count; i++) json_put_i64(w, list->items[i]);
    json_put_array_end(w);
}
static const struct bean_type bean_steps = {steps_read, steps_write, NULL};

static const struct bean_field customized_rows[] = {
    ROW(customized_retry, next_ms, "next", steps, NULL),
};
static const struct bean customized_bean = BEAN(struct customized_retry, customized_rows, NULL);

static const struct bean_field exponential_rows[] = {
    ROW(exponential_retry, initial_ms, "initial", i64, NULL),
    ROW(exponential_retry, max_ms, "max", i64, NULL),
    ROW(exponential_retry, multiplier, "multiplier", i64, NULL),
};
static const struct exponential_retry blank_exponential = {5000, 7200000, 2};
static const struct bean exponential_bean = BEAN(struct exponential_retry, exponential_rows, &blank_exponential);

static const struct bean_field policy_rows[] = {
    ROW(retry_policy, customized, "customizedRetryPolicy", ref, &customized_bean),
    ROW(retry_policy, exponential, "exponentialRetryPolicy", ref, &exponential_bean),
    ROW(retry_policy, type, "type", choice, policy_names),
};
static const struct retry_policy blank_policy = {.type = RETRY_POLICY_CUSTOMIZED};
static const struct bean policy_bean = BEAN(struct retry_policy, policy_rows, &blank_policy);

static const struct bean_field subscription_rows[] = {
    ROW(simple_subscription, expression, "expression", text, NULL),
    ROW(simple_subscription, type, "expressionType", text, NULL),
    ROW(simple_subscription, topic, "topic", text, NULL),
    ROW(simple_subscription, version, "version", i64, NULL),
};
static const struct bean simple_bean = BEAN(struct simple_subscription, subscription_rows, NULL);

static const struct bean_field group_rows[] = {
    ROW(group_config, attributes, "attributes", pairs, NULL),
    ROW(group_config, broker_id, "brokerId", i64, NULL),
    ROW(group_config, consume_broadcast_enable, "consumeBroadcastEnable", bool, NULL),
    ROW(group_config, consume_enable, "consumeEnable", bool, NULL),
    ROW(group_config, consume_from_min_enable, "consumeFromMinEnable", bool, NULL),
    ROW(group_config, consume_orderly, "consumeMessageOrderly", bool, NULL),
    ROW(group_config, consume_timeout_minutes, "consumeTimeoutMinute", i32, NULL),
    ROW(group_config, name, "groupName", text, NULL),
    ROW(group_config, retry, "groupRetryPolicy", part, &policy_bean),
    ROW(group_config, sys_flag, "groupSysFlag", i32, NULL),
    ROW(group_config, notify_ids_changed, "notifyConsumerIdsChangedEnable", bool, NULL),
    ROW(group_config, retry_max_times, "retryMaxTimes", i32, NULL),
    ROW(group_config, retry_queues, "retryQueueNums", i32, NULL),
    ROW_OPTIONAL(group_config, subscriptions, "subscriptionDataSet", list, &simple_bean),
    ROW(group_config, slow_broker_id, "whichBrokerWhenConsumeSlowly", i64, NULL),
};
const struct group_config group_config_default = {
    .consume_enable = true, .consume_from_min_enable = true, .consume_broadcast_enable = true, .notify_ids_changed = true,
    .retry_queues = 1, .retry_max_times = 16, .slow_broker_id = 1, .consume_timeout_minutes = 15,
    .retry = {.type = RETRY_POLICY_CUSTOMIZED}};
const struct bean group_config_bean = BEAN(struct group_config, group_rows, &group_config_default);
static const struct bean_table_of group_table_of = {&group_config_bean, offsetof(struct group_config, name)};

static void forbidden_read(struct json *j, const struct bean_field *f, void *m)
{
    (void)f;
    BEAN_LIST(struct forbidden_group) *list = m;
    list->items = NULL;
    list->count = 0;
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct forbidden_group *g = arena_list_add(j->arena, (void **)&list->items, &list->count, sizeof *g);
        if (!g) {
            json_fail(j, "too large");
            return;
        }
        g->group = json_key(j);
        if (!json_object(j)) continue;
        while (json_next(j)) {
            struct forbidden_topic *t = arena_list_add(j->arena, (void **)&g->topics.items, &g->topics.count, sizeof *t);
            if (!t) {
                json_fail(j, "too large");
                return;
            }
            t->topic = json_key(j);
            t->bits = json_i32(j);
        }
    }
}

static void forbidden_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    (void)f;
    const BEAN_LIST(struct forbidden_group) *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        const struct forbidden_group *g = &list->items[i];
        json_put_key(w, g->group);
        json_put_object(w);
        for (size_t k = 0; k < g->topics.count; k++) {
            json_put_key(w, g->topics.items[k].topic);
            json_put_i64(w, g->topics.items[k].bits);
        }
        json_put_object_end(w);
    }
    json_put_object_end(w);
}
static const struct bean_type bean_forbidden = {forbidden_read, forbidden_write, NULL};

static const struct bean_field table_rows[] = {
    ROW(group_table, version, "dataVersion", ref, &data_version_bean),
    ROW(group_table, forbidden, "forbiddenTable", forbidden, NULL),
    ROW(group_table, groups, "subscriptionGroupTable", table, &group_table_of),
};
const struct bean group_table_bean = BEAN(struct group_table, table_rows, NULL);

static const struct bean_field list_rows[] = {
    ROW(group_config_list, groups, "groupConfigList", list, &group_config_bean),
};
const struct bean group_config_list_bean = BEAN(struct group_config_list, list_rows, NULL);

static const struct bean_field readable_rows[] = {
    ROW(group_readable, group, "group", text, NULL),
    ROW(group_readable, readable, "readable", bool, NULL),
    ROW(group_readable, topic, "topic", text, NULL),
};
const struct bean group_readable_bean = BEAN(struct group_readable, readable_rows, NULL);

struct slice group_config_attribute(const struct group_config *g, struct slice key)
{
    for (size_t i = 0; i < g->attributes.count; i++) {
        struct slice name = g->attributes.items[i].key;
        if (slice_starts(name, SLICE("+"))) name = slice_skip(name, 1);   /* as an administrator wrote it, in files of before */
        if (slice_eq(name, key)) return g->attributes.items[i].value;
    }
    return (struct slice){NULL, 0};
}
