#include "codec/body_topic_config.h"

const char *const topic_filter_names[] = {"SINGLE_TAG", "MULTI_TAG", NULL};

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field version_rows[] = {
    ROW(data_version, counter, "counter", i64, NULL),
    ROW(data_version, state_version, "stateVersion", i64, NULL),
    ROW(data_version, timestamp, "timestamp", i64, NULL),
};
const struct bean data_version_bean = BEAN(struct data_version, version_rows, NULL);

static const struct bean_field topic_rows[] = {
    ROW(topic_config, attributes, "attributes", pairs, NULL),
    ROW(topic_config, order, "order", bool, NULL),
    ROW(topic_config, perm, "perm", i32, NULL),
    ROW(topic_config, read_queues, "readQueueNums", i32, NULL),
    ROW(topic_config, filter, "topicFilterType", choice, topic_filter_names),
    ROW(topic_config, name, "topicName", text, NULL),
    ROW(topic_config, sys_flag, "topicSysFlag", i32, NULL),
    ROW(topic_config, write_queues, "writeQueueNums", i32, NULL),
};
static const struct topic_config blank_topic = {
    .read_queues = 16, .write_queues = 16, .perm = PERM_READ | PERM_WRITE, .filter = TOPIC_FILTER_SINGLE_TAG};
const struct bean topic_config_bean = BEAN(struct topic_config, topic_rows, &blank_topic);
const struct bean_table_of topic_config_table = {&topic_config_bean, offsetof(struct topic_config, name)};

static const struct bean_field mapping_rows[] = {
    ROW(queue_mapping, broker, "bname", text, NULL),
    ROW(queue_mapping, current, "currIdMap", numbers, NULL),
    ROW(queue_mapping, dirty, "dirty", bool, NULL),
    ROW(queue_mapping, epoch, "epoch", i64, NULL),
    ROW(queue_mapping, scope, "scope", text, NULL),
    ROW(queue_mapping, topic, "topic", text, NULL),
    ROW(queue_mapping, total_queues, "totalQueues", i32, NULL),
};
const struct bean queue_mapping_bean = BEAN(struct queue_mapping, mapping_rows, NULL);
static const struct bean_table_of mapping_table = {&queue_mapping_bean, offsetof(struct queue_mapping, topic)};

static const struct bean_field table_rows[] = {
    ROW(topic_table, version, "dataVersion", ref, &data_version_bean),
    ROW(topic_table, mapping_version, "mappingDataVersion", ref, &data_version_bean),
    ROW(topic_table, topics, "topicConfigTable", table, &topic_config_table),
    ROW(topic_table, mappings, "topicQueueMappingInfoMap", table, &mapping_table),
};
const struct bean topic_table_bean = BEAN(struct topic_table, table_rows, NULL);

static const struct bean_field register_rows[] = {
    ROW(register_body, filter_servers, "filterServerList", texts, NULL),
    ROW(register_body, table, "topicConfigSerializeWrapper", part, &topic_table_bean),
};
const struct bean register_body_bean = BEAN(struct register_body, register_rows, NULL);

static const struct bean_field list_rows[] = {
    ROW(topic_config_list, topics, "topicConfigList", list, &topic_config_bean),
};
const struct bean topic_config_list_bean = BEAN(struct topic_config_list, list_rows, NULL);

bool data_version_eq(const struct data_version *a, const struct data_version *b)
{
    return a->state_version == b->state_version && a->timestamp == b->timestamp && a->counter == b->counter;
}

void data_version_next(struct data_version *v, int64_t now_ms)
{
    v->timestamp = now_ms;
    v->counter++;
}

err_t data_version_decode(struct slice body, struct data_version *out)
{
    struct arena arena = ARENA_EMPTY;
    err_t e = bean_decode(&data_version_bean, body, &arena, "data version", out);
    arena_done(&arena);
    return e;
}

void data_version_encode(const struct data_version *v, struct buf *out) { bean_encode(&data_version_bean, v, JSON_RAW, out); }

void topic_config_describe(const struct topic_config *t, struct buf *out)
{
    buf_printf(out, "TopicConfig [topicName=%.*s, readQueueNums=%d, writeQueueNums=%d, perm=%s%s%s, topicFilterType=%s, topicSysFlag=%d, order=%s, "
               "attributes={", SLICE_ARG(t->name), t->read_queues, t->write_queues, t->perm & PERM_READ ? "R" : "-",
               t->perm & PERM_WRITE ? "W" : "-", t->perm & PERM_INHERIT ? "X" : "-",
               t->filter == TOPIC_FILTER_NONE ? "null" : topic_filter_names[t->filter], t->sys_flag, t->order ? "true" : "false");
    for (size_t i = 0; i < t->attributes.count; i++) {
        const struct pair *p = &t->attributes.items[i];
        buf_printf(out, "%s%.*s=%.*s", i ? ", " : "", SLICE_ARG(p->key), SLICE_ARG(p->value));
    }
    buf_printf(out, "}]");
}

struct slice topic_attribute(const struct topic_config *t, struct slice key)
{
    for (size_t i = 0; i < t->attributes.count; i++)
        if (slice_eq(t->attributes.items[i].key, key)) return t->attributes.items[i].value;
    return (struct slice){NULL, 0};
}

static bool attributes_eq(const struct topic_config *a, const struct topic_config *b)
{
    if (a->attributes.count != b->attributes.count) return false;
    for (size_t i = 0; i < a->attributes.count; i++) {
        struct slice other = topic_attribute(b, a->attributes.items[i].key);
        if (!other.p || !slice_eq(other, a->attributes.items[i].value)) return false;
    }
    return true;
}

bool topic_config_eq(const struct topic_config *a, const struct topic_config *b)
{
    return a->read_queues == b->read_queues && a->write_queues == b->write_queues && a->perm == b->perm &&
           a->sys_flag == b->sys_flag && a->filter == b->filter && a->order == b->order && attributes_eq(a, b);
}
