#include "proxy/message_in.h"

#include "base/buf.h"
#include "codec/delay_levels.h"
#include "codec/message.h"
#include "codec/properties.h"
#include "proxy/checks.h"

#include <stdio.h>

static const struct v2_system_properties no_properties;

int32_t message_sys_flag(const struct v2_message *m)
{
    const struct v2_system_properties *s = m->system_properties ? m->system_properties : &no_properties;
    int32_t flag = 0;
    if (s->body_encoding == V2_ENCODING_GZIP) flag |= SYS_FLAG_COMPRESSED;
    if (s->message_type == V2_MESSAGE_TYPE_TRANSACTION) flag |= SYS_FLAG_TRANSACTION_PREPARED;
    return flag;
}

/* Properties that make a message one of a type; of several types the first one here counts. */
#define MARK(name, type) {{(const uint8_t *)(name), sizeof(name) - 1}, type}
static const struct { struct slice name; enum topic_type type; } type_marks[] = {
    MARK("TRAN_MSG", TOPIC_TRANSACTION),
    MARK("DELAY", TOPIC_DELAY),
    MARK("TIMER_DELIVER_MS", TOPIC_DELAY),
    MARK("TIMER_DELAY_SEC", TOPIC_DELAY),
    MARK("TIMER_DELAY_MS", TOPIC_DELAY),
    MARK("__SHARDINGKEY", TOPIC_FIFO),
    MARK("_SYS_MSG_PRIORITY_", TOPIC_PRIORITY),
    MARK("__LITE_TOPIC", TOPIC_LITE),
};
#undef MARK
enum { TYPE_MARKS = sizeof type_marks / sizeof *type_marks };

enum topic_type message_type_of(struct slice text)
{
    struct slice name, value;
    size_t first = TYPE_MARKS;
    bool prepared = false;   /* the last one of a name counts */
    while (properties_next(&text, &name, &value))
        for (size_t i = 0; i < TYPE_MARKS; i++) {
            if (!slice_eq(name, type_marks[i].name)) continue;
            if (!i) prepared = slice_eq(value, SLICE("true"));
            else if (i < first) first = i;
        }
    if (prepared) return TOPIC_TRANSACTION;
    return first < TYPE_MARKS ? type_marks[first].type : TOPIC_NORMAL;
}

static void put_number(struct buf *out, struct slice name, int64_t value)
{
    uint8_t digits[24];
    struct buf text = {digits, 0, sizeof digits};
    buf_put_i64_text(&text, value);
    properties_put(out, name, buf_slice(&text));
}

/* --- the client's own --- */

/* Names that are not reserved, and that the system sets when the message says so: then they are not the client's. */
static bool is_overruled(const struct v2_system_properties *s, struct slice name)
{
    if (slice_eq(name, PROPERTY_SHARDING)) return s->message_group.n;
    if (slice_eq(name, SLICE("TRACE_CONTEXT"))) return s->trace_context.n;
    return slice_eq(name, SLICE("CHECK_IMMUNITY_TIME_IN_SECONDS")) && s->message_type == V2_MESSAGE_TYPE_TRANSACTION &&
           s->orphaned_transaction_recovery_duration;
}

static bool comes_again(const struct v2_message *m, size_t at)
{
    for (size_t i = at + 1; i < m->user_properties.count; i++)
        if (slice_eq(m->user_properties.items[i].key, m->user_properties.items[at].key)) return true;
    return false;
}

static void put_user_properties(const struct v2_message *m, const struct v2_system_properties *s, struct buf *out)
{
    for (size_t i = 0; i < m->user_properties.count; i++) {
        struct slice key = m->user_properties.items[i].key;
        if (key.n && !comes_again(m, i) && !is_overruled(s, key)) properties_put(out, key, m->user_properties.items[i].value);
    }
}

static void put_keys(const struct v2_system_properties *s, struct buf *out)
{
    struct buf keys = BUF_EMPTY;
    for (size_t i = 0; i < s->keys.count; i++) {
        if (i) buf_put_u8(&keys, ' ');
        buf_put_slice(&keys, s->keys.items[i]);
    }
    properties_put(out, SLICE("KEYS"), buf_slice(&keys));
    buf_done(&keys);
}

/* --- what kind of message it is --- */

static bool put_transaction(struct request *r, const struct v2_system_properties *s, struct buf *out)
{
    int64_t seconds;
    if (s->message_type != V2_MESSAGE_TYPE_TRANSACTION) return true;
    properties_put(out, SLICE("TRAN_MSG"), SLICE("true"));
    if (!s->orphaned_transaction_recovery_duration) return true;
    if (!duration_s(s->orphaned_transaction_recovery_duration, &seconds)) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "orphaned_transaction_recovery_duration is no duration");
        return false;
    }
    if (!check_recovery_s(r, seconds)) return false;
    put_number(out, SLICE("CHECK_IMMUNITY_TIME_IN_SECONDS"), seconds);
    return true;
}

/* The first level that is longer than what is left, or the last one. */
static int32_t level_for(const char *table, int64_t left_ms)
{
    struct delay_levels levels = delay_levels_default;
    err_drop(delay_levels_parse(slice_text(table), &levels), "the usual levels");
    for (int32_t level = 1; level <= levels.count; level++)
        if (delay_levels_ms(&levels, level) > left_ms) return level;
    return levels.count;
}

static bool put_delivery(struct request *r, const struct v2_system_properties *s, struct buf *out)
{
    int64_t ms;
    if (!s->delivery_timestamp) return true;
    if (!timestamp_ms(s->delivery_timestamp, &ms)) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "delivery_timestamp is no time");
        return false;
    }
    if (!check_delivery_ms(r, ms)) return false;
    if (r->proxy->cfg->use_delay_level) put_number(out, SLICE("DELAY"), level_for(r->proxy->cfg->delay_level_table, ms - now_ms(r->proxy)));
    put_number(out, SLICE("TIMER_DELIVER_MS"), ms);
    return true;
}

static bool put_priority(struct request *r, const struct v2_system_properties *s, struct buf *out)
{
    if (!s->has_priority) return true;
    if (s->priority < 0) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "The priority must be greater than or equal to 0");
        return false;
    }
    put_number(out, SLICE("_SYS_MSG_PRIORITY_"), s->priority);
    return true;
}

static bool put_names(struct request *r, const struct v2_system_properties *s, struct buf *out)
{
    if (!check_message_group(r, s->message_group)) return false;
    properties_put(out, PROPERTY_SHARDING, s->message_group);
    if (!s->lite_topic.n) return true;
    if (!check_lite_topic(r, s->lite_topic)) return false;
    properties_put(out, SLICE("__LITE_TOPIC"), s->lite_topic);
    return true;
}

/* --- where and when it was made --- */

static void put_birth(struct request *r, const struct v2_system_properties *s, struct buf *out)
{
    char text[ADDR_TEXT_MAX];
    int64_t ms;
    if (!is_blank(s->born_host)) properties_put(out, SLICE("__BORNHOST"), s->born_host);
    else if (r->call) properties_put(out, SLICE("__BORNHOST"), slice_text(addr_format(grpc_call_remote(r->call), text)));
    if (timestamp_ms(s->born_timestamp, &ms)) put_number(out, PROPERTY_BORN_MS, ms);
}

bool message_properties(struct request *r, const struct v2_message *m, struct buf *out)
{
    const struct v2_system_properties *s = m->system_properties ? m->system_properties : &no_properties;
    if (!check_properties(r, m)) return false;
    put_user_properties(m, s, out);
    properties_put(out, SLICE("TAGS"), s->tag);
    put_keys(s, out);
    if (is_blank(s->message_id)) {
        request_refuse(r, V2_CODE_ILLEGAL_MESSAGE_ID, "message id cannot be empty");
        return false;
    }
    properties_put(out, PROPERTY_UNIQUE_KEY, s->message_id);
    if (!put_transaction(r, s, out) || !put_delivery(r, s, out) || !put_priority(r, s, out)) return false;
    put_number(out, SLICE("RECONSUME_TIME"), s->delivery_attempt);
    properties_put(out, PROPERTY_GROUP, resource_name(m->topic));
    if (!put_names(r, s, out)) return false;
    properties_put(out, SLICE("TRACE_CONTEXT"), s->trace_context);
    put_birth(r, s, out);
    return true;
}
