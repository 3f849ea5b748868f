#include "meta/names.h"

const char *const system_topic_names[] = {
    "TBW102",
    "SCHEDULE_TOPIC_XXXX",
    "BenchmarkTest",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRACE_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT",
    "CHECKPOINT_TOPIC",
    NULL,
};

static const char *const closed_topics[] = {
    "SCHEDULE_TOPIC_XXXX",
    "RMQ_SYS_TRANS_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRANS_OP_HALF_TOPIC",
    "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC",
    "SELF_TEST_TOPIC",
    "OFFSET_MOVED_EVENT",
    NULL,
};

static bool among(struct slice name, const char *const *names)
{
    for (; *names; names++)
        if (slice_eq(name, slice_text(*names))) return true;
    return false;
}

bool topic_name_is_system(struct slice topic)
{
    return slice_starts(topic, SLICE("rmq_sys_")) || among(topic, system_topic_names);
}

bool topic_name_is_closed(struct slice topic)
{
    return among(topic, closed_topics);
}

bool group_name_is_system(struct slice group) { return slice_starts(group, SLICE("CID_RMQ_SYS_")); }

static bool is_legal(struct slice name)
{
    for (size_t i = 0; i < name.n; i++) {
        uint8_t c = name.p[i];
        bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
        if (!letter && !(c >= '0' && c <= '9') && (c == 0 || !strchr("%|_-", c))) return false;
    }
    return true;
}

static bool is_blank(struct slice name)
{
    for (size_t i = 0; i < name.n; i++)
        if (!strchr(" \t\n\r\v\f", name.p[i]) || name.p[i] == 0) return false;
    return true;
}

static err_t check(struct slice name, const char *kind)
{
    if (is_blank(name)) return err_new(ERR_INVALID, "The specified %s is blank.", kind);
    if (is_legal(name)) return NULL;
    return err_new(ERR_INVALID, "The specified %s: %.*s, contains illegal characters, allowing only ^[%%|a-zA-Z0-9_-]+$", kind,
                   SLICE_ARG(name));
}

err_t topic_name_check(struct slice topic)
{
    err_t e = check(topic, "topic");
    if (e) return e;
    bool internal = topic_name_is_retry(topic) || topic_name_is_dead_letter(topic);
    if (internal && topic.n > RETRY_TOPIC_NAME_MAX)
        return err_new(ERR_INVALID, "The specified topic is DLQ or Retry topic: %.*s, and it's longer than topic max length: 255",
                       SLICE_ARG(topic));
    if (!internal && topic.n > TOPIC_NAME_MAX)
        return err_new(ERR_INVALID, "The specified topic: %.*s, is longer than topic max length: 127", SLICE_ARG(topic));
    return NULL;
}

err_t group_name_check(struct slice group)
{
    err_t e = check(group, "group");
    if (!e && group.n > GROUP_NAME_MAX)
        e = err_new(ERR_INVALID, "The specified group: %.*s, is longer than group max length: 120", SLICE_ARG(group));
    return e;
}

void retry_topic_name(struct slice group, struct buf *out)
{
    buf_put_text(out, "%RETRY%");
    buf_put_slice(out, group);
}

void dead_letter_topic_name(struct slice group, struct buf *out)
{
    buf_put_text(out, "%DLQ%");
    buf_put_slice(out, group);
}
