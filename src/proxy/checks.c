#include "proxy/checks.h"

#include "meta/names.h"

#include <stdlib.h>

/* --- text --- */

/* The character at s.p + *i, which goes on; s is UTF-8. */
static uint32_t next_character(struct slice s, size_t *i)
{
    uint8_t a = s.p[(*i)++];
    int more = a < 0xC0 ? 0 : a < 0xE0 ? 1 : a < 0xF0 ? 2 : 3;
    uint32_t c = more == 0 ? a : more == 1 ? a & 0x1Fu : more == 2 ? a & 0x0Fu : a & 0x07u;
    while (more-- && *i < s.n) c = c << 6 | (s.p[(*i)++] & 0x3Fu);
    return c;
}

/* Facts: java.lang.Character.isWhitespace: no-break spaces do not count. */
static bool is_white(uint32_t c)
{
    return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x1680 || (c >= 0x2000 && c <= 0x200A && c != 0x2007) || c == 0x2028 ||
           c == 0x2029 || c == 0x205F || c == 0x3000;
}

bool is_blank(struct slice s)
{
    for (size_t i = 0; i < s.n;)
        if (!is_white(next_character(s, &i))) return false;
    return true;
}

bool has_control_character(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] < 0x20 || s.p[i] == 0x7F) return true;
        if (s.p[i] == 0xC2 && i + 1 < s.n && s.p[i + 1] >= 0x80 && s.p[i + 1] <= 0x9F) return true;   /* U+0080 … U+009F */
    }
    return false;
}

/* --- names --- */

err_t topic_check(struct slice topic)
{
    err_t e = topic_name_check(topic);
    if (e) return e;
    if (topic.n > TOPIC_NAME_MAX) return err_new(ERR_INVALID, "The specified topic is longer than topic max length %d.", TOPIC_NAME_MAX);
    if (topic_name_is_system(topic)) return err_new(ERR_INVALID, "cannot access system topic");
    return NULL;
}

err_t group_check(struct slice group)
{
    err_t e = group_name_check(group);
    if (e) return e;
    return group_name_is_system(group) ? err_new(ERR_INVALID, "cannot use system consumer group") : NULL;
}

/* Takes e. */
static bool name_is_fine(struct request *r, err_t e, int32_t code)
{
    if (!e) return true;
    struct slice text = arena_copy(&r->arena, slice_text(err_text(e)));
    err_free(e);
    request_refuse(r, code, "%.*s", SLICE_ARG(text));
    return false;
}

bool check_topic(struct request *r, const struct v2_resource *topic)
{
    return name_is_fine(r, topic_check(resource_name(topic)), V2_CODE_ILLEGAL_TOPIC);
}

bool check_group(struct request *r, const struct v2_resource *group)
{
    return name_is_fine(r, group_check(resource_name(group)), V2_CODE_ILLEGAL_CONSUMER_GROUP);
}

/* --- parts of messages --- */

/* Nothing, or something that can be seen. */
static bool text_is_fine(struct request *r, struct slice s, int32_t code, const char *what)
{
    if (!s.n) return true;
    if (is_blank(s)) request_refuse(r, code, "%s cannot be the char sequence of whitespace", what);
    else if (has_control_character(s)) request_refuse(r, code, "%s cannot contain control character", what);
    else return true;
    return false;
}

bool check_tag(struct request *r, struct slice tag)
{
    if (tag.n && !is_blank(tag) && memchr(tag.p, '|', tag.n)) {
        request_refuse(r, V2_CODE_ILLEGAL_MESSAGE_TAG, "tag cannot contain '|'");
        return false;
    }
    return text_is_fine(r, tag, V2_CODE_ILLEGAL_MESSAGE_TAG, "tag");
}

bool check_key(struct request *r, struct slice key) { return text_is_fine(r, key, V2_CODE_ILLEGAL_MESSAGE_KEY, "key"); }

bool check_message_group(struct request *r, struct slice group)
{
    int32_t most = r->proxy->cfg->max_message_group_bytes;
    if (group.n && !is_blank(group) && most > 0 && group.n >= (size_t)most) {
        request_refuse(r, V2_CODE_ILLEGAL_MESSAGE_GROUP, "message group exceed the max size %d", most);
        return false;
    }
    return text_is_fine(r, group, V2_CODE_ILLEGAL_MESSAGE_GROUP, "message group");
}

static bool is_lite_name(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = s.p[i];
        if (!((c | 32) >= 'a' && (c | 32) <= 'z') && !(c >= '0' && c <= '9') && c != '-' && c != '_') return false;
    }
    return true;
}

bool check_lite_topic(struct request *r, struct slice name)
{
    int32_t most = r->proxy->cfg->max_lite_topic_bytes, code = V2_CODE_ILLEGAL_LITE_TOPIC;
    if (is_blank(name)) request_refuse(r, code, "lite topic cannot be the char sequence of whitespace");
    else if (name.n > (size_t)most) request_refuse(r, code, "lite topic exceed the max size %d", most);
    else if (!is_lite_name(name)) request_refuse(r, code, "lite topic can only contain alphanumeric characters, hyphens(-), and underscores(_)");
    else return true;
    return false;
}

bool check_body(struct request *r, struct slice body)
{
    int32_t most = r->proxy->cfg->max_message_bytes;
    if (!body.n && r->proxy->cfg->body_empty_check) request_refuse(r, V2_CODE_MESSAGE_BODY_EMPTY, "message body cannot be empty");
    else if (most > 0 && body.n > (size_t)most) request_refuse(r, V2_CODE_MESSAGE_BODY_TOO_LARGE, "message body cannot exceed the max %d", most);
    else return true;
    return false;
}

/* Sorted. */
#define NAME(text) {(const uint8_t *)(text), sizeof(text) - 1}
static const struct slice reserved[] = {
    NAME("1ST_POP_TIME"), NAME("ARRIVE_TIME"), NAME("BORN_TIMESTAMP"), NAME("BUYER_ID"), NAME("CLUSTER"), NAME("CONSUME_START_TIME"),
    NAME("CORRECTION_FLAG"), NAME("CORRELATION_ID"), NAME("DELAY"), NAME("DLQ_ORIGIN_MESSAGE_ID"), NAME("DLQ_ORIGIN_TOPIC"),
    NAME("DUP_INFO"), NAME("EXTEND_UNIQ_INFO"), NAME("INNER_MULTI_QUEUE_OFFSET"), NAME("INSTANCE_ID"), NAME("KEYS"), NAME("MAX_OFFSET"),
    NAME("MAX_RECONSUME_TIMES"), NAME("MIN_OFFSET"), NAME("MQ2_FLAG"), NAME("MSG_REGION"), NAME("MSG_TYPE"), NAME("ORIGIN_GROUP"),
    NAME("ORIGIN_MESSAGE_ID"), NAME("PGROUP"), NAME("POP_CK"), NAME("POP_CK_OFFSET"), NAME("PUSH_REPLY_TIME"), NAME("REAL_QID"),
    NAME("REAL_TOPIC"), NAME("RECONSUME_TIME"), NAME("REPLY_TO_CLIENT"), NAME("RETRY_TOPIC"), NAME("TAGS"), NAME("TIMER_DELAY_LEVEL"),
    NAME("TIMER_DELAY_MS"), NAME("TIMER_DELAY_SEC"), NAME("TIMER_DELIVER_MS"), NAME("TIMER_DEL_UNIQKEY"), NAME("TIMER_DEQUEUE_MS"),
    NAME("TIMER_ENQUEUE_MS"), NAME("TIMER_OUT_MS"), NAME("TIMER_ROLL_TIMES"), NAME("TRACE_ON"), NAME("TRANSFER_FLAG"), NAME("TRAN_MSG"),
    NAME("TRAN_PREPARED_QUEUE_OFFSET"), NAME("TTL"), NAME("UNIQ_KEY"), NAME("WAIT"), NAME("_SYS_MSG_PRIORITY_"), NAME("__BORNHOST"),
    NAME("__CRC32#"), NAME("__LITE_TOPIC"),
};
#undef NAME

static int by_name(const void *key, const void *row) { return slice_compare(*(const struct slice *)key, *(const struct slice *)row); }

bool property_is_reserved(struct slice name)
{
    return bsearch(&name, reserved, sizeof reserved / sizeof *reserved, sizeof *reserved, by_name);
}

static bool check_property(struct request *r, struct slice key, struct slice value)
{
    int32_t code = V2_CODE_ILLEGAL_MESSAGE_PROPERTY_KEY;
    if (property_is_reserved(key)) request_refuse(r, code, "property is used by system: %.*s", SLICE_ARG(key));
    else if (has_control_character(key)) request_refuse(r, code, "the key of property cannot contain control character");
    else if (has_control_character(value)) request_refuse(r, code, "the value of property cannot contain control character");
    else return true;
    return false;
}

bool check_properties(struct request *r, const struct v2_message *m)
{
    const struct config_proxy *cfg = r->proxy->cfg;
    const struct v2_system_properties *s = m->system_properties;
    size_t bytes = s ? s->tag.n : 0;
    if (m->user_properties.count > (size_t)cfg->max_properties) {
        request_refuse(r, V2_CODE_MESSAGE_PROPERTIES_TOO_LARGE, "too many user properties, max is %d", cfg->max_properties);
        return false;
    }
    for (size_t i = 0; i < m->user_properties.count; i++) {
        struct slice key = m->user_properties.items[i].key, value = m->user_properties.items[i].value;
        if (!check_property(r, key, value)) return false;
        bytes += key.n + value.n;
    }
    if (!check_tag(r, s ? s->tag : (struct slice){NULL, 0})) return false;
    for (size_t i = 0; s && i < s->keys.count; i++) {
        if (!check_key(r, s->keys.items[i])) return false;
        bytes += s->keys.items[i].n;
    }
    if (bytes <= (size_t)cfg->max_property_bytes) return true;
    request_refuse(r, V2_CODE_MESSAGE_PROPERTIES_TOO_LARGE, "the total size of user property is too large, max is %d", cfg->max_property_bytes);
    return false;
}

bool check_type(struct request *r, enum topic_type of_topic, enum topic_type of_message)
{
    if (of_message == of_topic || of_topic == TOPIC_MIXED) return true;
    request_refuse(r, V2_CODE_MESSAGE_PROPERTY_CONFLICT_WITH_TYPE, "TopicMessageType validate failed, the expected type is %s, but actual type is %s",
                   topic_type_names[of_topic], topic_type_names[of_message]);
    return false;
}

/* --- times --- */

bool check_invisible_ms(struct request *r, int64_t ms, int64_t least_ms)
{
    int64_t most = r->proxy->cfg->max_invisible_ms;
    if (ms < least_ms) request_refuse(r, V2_CODE_ILLEGAL_INVISIBLE_TIME, "the invisibleTime is too small. min is %lld", (long long)least_ms);
    else if (most > 0 && ms > most) request_refuse(r, V2_CODE_ILLEGAL_INVISIBLE_TIME, "the invisibleTime is too large. max is %lld", (long long)most);
    else return true;
    return false;
}

bool check_delivery_ms(struct request *r, int64_t ms)
{
    int64_t most = r->proxy->cfg->max_delay_ms;
    if (most <= 0 || ms - now_ms(r->proxy) <= most) return true;
    request_refuse(r, V2_CODE_ILLEGAL_DELIVERY_TIME, "the max delay time of message is too large, max is %lld", (long long)most);
    return false;
}

bool check_recovery_s(struct request *r, int64_t seconds)
{
    int64_t most = r->proxy->cfg->max_recovery_s;
    if (most <= 0 || seconds <= most) return true;
    request_refuse(r, V2_CODE_BAD_REQUEST, "the max transaction recovery time of message is too large, max is %lld", (long long)most);
    return false;
}

/* Facts: what google.protobuf allows; 0001-01-01 to 9999-12-31. */
bool timestamp_ms(const struct v2_timestamp *t, int64_t *ms)
{
    *ms = 0;
    if (!t) return true;
    if (t->seconds < -62135596800 || t->seconds > 253402300799 || t->nanos < 0 || t->nanos > 999999999) return false;
    *ms = t->seconds * 1000 + t->nanos / 1000000;
    return true;
}

static bool is_duration(const struct v2_duration *d)
{
    if (d->seconds < -315576000000 || d->seconds > 315576000000 || d->nanos < -999999999 || d->nanos > 999999999) return false;
    return (d->seconds >= 0 && d->nanos >= 0) || (d->seconds <= 0 && d->nanos <= 0);
}

bool duration_ms(const struct v2_duration *d, int64_t *ms)
{
    *ms = 0;
    if (!d) return true;
    if (!is_duration(d)) return false;
    *ms = d->seconds * 1000 + d->nanos / 1000000;
    return true;
}

bool duration_s(const struct v2_duration *d, int64_t *seconds)
{
    *seconds = d ? d->seconds : 0;
    return !d || is_duration(d);
}

struct v2_timestamp *timestamp_new(struct request *r, int64_t ms)
{
    struct v2_timestamp *t = request_take(r, sizeof *t);
    int64_t rest = ms % 1000;
    t->seconds = ms / 1000 - (rest < 0);
    t->nanos = (int32_t)(rest < 0 ? rest + 1000 : rest) * 1000000;
    return t;
}

struct v2_duration *duration_new(struct arena *arena, int64_t ms)
{
    struct v2_duration *d = arena_take(arena, sizeof *d);
    if (!d) return NULL;
    d->seconds = ms / 1000;
    d->nanos = (int32_t)(ms % 1000) * 1000000;
    return d;
}
