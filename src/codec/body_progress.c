#include "codec/body_progress.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

/* --- 221, 223 --- */

static const struct bean_by_bean_of offset_by_queue = {&message_queue_bean, NULL, offsetof(struct queue_offset_row, offset),
                                                       sizeof(struct queue_offset_row)};
static const struct bean_field client_queues = ROW(client_offsets, queues, NULL, by_bean, &offset_by_queue);
static const struct bean_named_of by_client = {&client_queues, offsetof(struct client_offsets, client), sizeof(struct client_offsets)};
static const struct bean_field status_rows[] = {
    ROW(consumer_status, clients, "consumerTable", named, &by_client),
    ROW(consumer_status, queues, "messageQueueTable", by_bean, &offset_by_queue),
};
const struct bean consumer_status_bean = BEAN(struct consumer_status, status_rows, NULL);

/* --- 303 --- */

static const struct bean_field span_rows[] = {
    ROW(queue_time_span, consume_ms, "consumeTimeStamp", i64, NULL),
    ROW(queue_time_span, consume_text, "consumeTimeStampStr", text, NULL),
    ROW(queue_time_span, delay_ms, "delayTime", i64, NULL),
    ROW(queue_time_span, max_ms, "maxTimeStamp", i64, NULL),
    ROW(queue_time_span, max_text, "maxTimeStampStr", text, NULL),
    ROW(queue_time_span, queue, "messageQueue", part, &message_queue_bean),
    ROW(queue_time_span, min_ms, "minTimeStamp", i64, NULL),
    ROW(queue_time_span, min_text, "minTimeStampStr", text, NULL),
};
static const struct bean span_bean = BEAN(struct queue_time_span, span_rows, NULL);
static const struct bean_field spans_rows[] = {
    ROW(time_spans, queues, "consumeTimeSpanSet", list, &span_bean),
};
const struct bean time_spans_bean = BEAN(struct time_spans, spans_rows, NULL);

/* --- 317: a list of objects of one property each --- */

static const struct bean_field group_topics = ROW(group_progress, topics, NULL, list, &consume_stats_bean);
static const struct bean_named_of by_group = {&group_topics, offsetof(struct group_progress, group), sizeof(struct group_progress)};
static const struct bean_field one_group = {NULL, 0, &bean_named, &by_group, false};

struct progress_list {
    struct group_progress *items;
    size_t count;
};

static void groups_read(struct json *j, const struct bean_field *f, void *m)
{
    struct progress_list *all = m;
    (void)f;
    *all = (struct progress_list){NULL, 0};
    if (!json_array(j)) return;
    while (json_next(j)) {
        struct progress_list some;
        bean_named.read(j, &one_group, &some);
        for (size_t i = 0; i < some.count; i++) {
            struct group_progress *g = arena_list_add(j->arena, (void **)&all->items, &all->count, sizeof *g);
            if (!g) {
                json_fail(j, "too large");
                return;
            }
            *g = some.items[i];
        }
    }
}

static void groups_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    const struct progress_list *all = m;
    (void)f;
    json_put_array(w);
    for (size_t i = 0; i < all->count; i++) {
        struct progress_list one = {&all->items[i], 1};
        bean_named.write(w, &one_group, &one);
    }
    json_put_array_end(w);
}

static const struct bean_type bean_groups = {groups_read, groups_write, NULL};
static const struct bean_field progress_rows[] = {
    ROW(broker_progress, broker_address, "brokerAddr", text, NULL),
    ROW(broker_progress, groups, "consumeStatsList", groups, NULL),
    ROW(broker_progress, lag, "totalDiff", i64, NULL),
    ROW(broker_progress, inflight, "totalInflightDiff", i64, NULL),
};
const struct bean broker_progress_bean = BEAN(struct broker_progress, progress_rows, NULL);

/* --- 308, 345 --- */

static const struct bean_field correction_rows[] = {
    ROW(corrections, offsets, "correctionOffsets", numbers, NULL),
};
const struct bean corrections_bean = BEAN(struct corrections, correction_rows, NULL);

static const struct bean_field subscription_rows[] = {
    ROW(group_subscription, group, "group", text, NULL),
    ROW(group_subscription, subscription, "subscriptionData", ref, &subscription_bean),
    ROW(group_subscription, topic, "topic", text, NULL),
};
const struct bean group_subscription_bean = BEAN(struct group_subscription, subscription_rows, NULL);

/* --- 328 --- */

static const struct bean_field producer_rows[] = {
    ROW(producer_row, client_id, "clientId", text, NULL),
    ROW(producer_row, language, "language", text, NULL),
    ROW(producer_row, seen_ms, "lastUpdateTimestamp", i64, NULL),
    ROW(producer_row, address, "remoteIP", text, NULL),
    ROW(producer_row, version, "version", i32, NULL),
};
static const struct bean producer_bean = BEAN(struct producer_row, producer_rows, NULL);
static const struct bean_field group_producers = ROW(producer_group, producers, NULL, list, &producer_bean);
static const struct bean_named_of producers_by_group = {&group_producers, offsetof(struct producer_group, group), sizeof(struct producer_group)};
static const struct bean_field table_rows[] = {
    ROW(producer_table, groups, "data", named, &producers_by_group),
};
const struct bean producer_table_bean = BEAN(struct producer_table, table_rows, NULL);
