#include "codec/body_stats.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

/* Values lie in the same struct as their key: value_at is 0, and the rows count from its beginning. */
#define BY_QUEUE(kind, value) {&message_queue_bean, value, 0, sizeof(struct kind)}

static void value_write(struct json_out *w, const struct bean_field *f, const void *m);
static void value_read(struct json *j, const struct bean_field *f, void *m);

/* {queue:{…}}: reading a value must not blank the key, so the value is read aside and then taken over without it. */
static const struct bean_type bean_by_queue = {value_read, value_write, NULL};

struct any_list {
    uint8_t *items;
    size_t count;
};

static void value_read(struct json *j, const struct bean_field *f, void *m)
{
    const struct bean_by_bean_of *of = f->more;
    struct any_list *list = m;
    *list = (struct any_list){NULL, 0};
    if (!json_object(j)) return;
    while (json_next(j)) {
        void *element = arena_list_add(j->arena, (void **)&list->items, &list->count, of->size);
        struct message_queue key;
        if (!element) {
            json_fail(j, "too large");
            return;
        }
        bean_read(j, of->key, &key);
        json_colon(j);
        bean_read(j, of->value, element);
        *(struct message_queue *)element = key;
    }
}

static void value_write(struct json_out *w, const struct bean_field *f, const void *m)
{
    const struct bean_by_bean_of *of = f->more;
    const struct any_list *list = m;
    json_put_object(w);
    for (size_t i = 0; i < list->count; i++) {
        bean_write(w, of->key, list->items + i * of->size);
        json_put_key_done(w);
        bean_write(w, of->value, list->items + i * of->size);
    }
    json_put_object_end(w);
}

static const struct bean_field topic_rows[] = {
    ROW(topic_offsets, last_update_ms, "lastUpdateTimestamp", i64, NULL),
    ROW(topic_offsets, max_offset, "maxOffset", i64, NULL),
    ROW(topic_offsets, min_offset, "minOffset", i64, NULL),
};
static const struct bean topic_offsets_bean = BEAN(struct topic_offsets, topic_rows, NULL);
static const struct bean_by_bean_of topic_by_queue = BY_QUEUE(topic_offsets, &topic_offsets_bean);
static const struct bean_field topic_stats_rows[] = {
    ROW(topic_stats, queues, "offsetTable", by_queue, &topic_by_queue),
    ROW(topic_stats, put_tps, "topicPutTps", double, NULL),
};
const struct bean topic_stats_bean = BEAN(struct topic_stats, topic_stats_rows, NULL);

static const struct bean_field consume_rows[] = {
    ROW(consume_offsets, broker_offset, "brokerOffset", i64, NULL),
    ROW(consume_offsets, consumer_offset, "consumerOffset", i64, NULL),
    ROW(consume_offsets, last_ms, "lastTimestamp", i64, NULL),
    ROW(consume_offsets, pull_offset, "pullOffset", i64, NULL),
};
static const struct bean consume_offsets_bean = BEAN(struct consume_offsets, consume_rows, NULL);
static const struct bean_by_bean_of consume_by_queue = BY_QUEUE(consume_offsets, &consume_offsets_bean);
static const struct bean_field consume_stats_rows[] = {
    ROW(consume_stats, tps, "consumeTps", double, NULL),
    ROW(consume_stats, queues, "offsetTable", by_queue, &consume_by_queue),
};
const struct bean consume_stats_bean = BEAN(struct consume_stats, consume_stats_rows, NULL);

static const struct bean_by_bean_of offset_by_queue = {&message_queue_bean, NULL, offsetof(struct queue_offset_row, offset),
                                                       sizeof(struct queue_offset_row)};
static const struct bean_field offset_table_rows[] = {
    ROW(offset_table, queues, "offsetTable", by_bean, &offset_by_queue),
};
const struct bean offset_table_bean = BEAN(struct offset_table, offset_table_rows, NULL);

static const struct bean_field flat_rows[] = {
    ROW(queue_offset_row, queue.broker, "brokerName", text, NULL),
    ROW(queue_offset_row, offset, "offset", i64, NULL),
    ROW(queue_offset_row, queue.queue_id, "queueId", i32, NULL),
    ROW(queue_offset_row, queue.topic, "topic", text, NULL),
};
static const struct bean flat_bean = BEAN(struct queue_offset_row, flat_rows, NULL);
static const struct bean_field offset_list_rows[] = {
    ROW(offset_table, queues, "offsetTable", list, &flat_bean),
};
const struct bean offset_list_bean = BEAN(struct offset_table, offset_list_rows, NULL);

static const struct bean_field stats_row_rows[] = {
    ROW(broker_stats_row, average, "avgpt", double, NULL),
    ROW(broker_stats_row, sum, "sum", i64, NULL),
    ROW(broker_stats_row, tps, "tps", double, NULL),
};
static const struct bean stats_row_bean = BEAN(struct broker_stats_row, stats_row_rows, NULL);

static const struct bean_field broker_stats_rows[] = {
    ROW(broker_stats, day, "statsDay", part, &stats_row_bean),
    ROW(broker_stats, hour, "statsHour", part, &stats_row_bean),
    ROW(broker_stats, minute, "statsMinute", part, &stats_row_bean),
};
const struct bean broker_stats_bean = BEAN(struct broker_stats, broker_stats_rows, NULL);
