#include "client/message.h"

#include "client/state.h"
#include "codec/compress.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "meta/names.h"

#include <stdlib.h>

static const char *const delays[] = {"DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"};

/* Names of properties that mean something to servers and clients. */
static const char *const system_names[] = {
    "KEYS", "TAGS", "WAIT", "DELAY", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID", "TRAN_MSG", "PGROUP", "MIN_OFFSET", "MAX_OFFSET", "BUYER_ID",
    "ORIGIN_MESSAGE_ID", "TRANSFER_FLAG", "CORRECTION_FLAG", "MQ2_FLAG", "RECONSUME_TIME", "MSG_REGION", "TRACE_ON", "UNIQ_KEY",
    "EXTEND_UNIQ_INFO", "MAX_RECONSUME_TIMES", "CONSUME_START_TIME", "INNER_NUM", "INNER_BASE", "CHECK_IMMUNITY_TIME_IN_SECONDS",
    "TRAN_PREPARED_QUEUE_OFFSET", "__transactionId__", "TRANSACTION_CHECK_TIMES", "INSTANCE_ID", "CORRELATION_ID", "REPLY_TO_CLIENT", "TTL",
    "ARRIVE_TIME", "PUSH_REPLY_TIME", "CLUSTER", "MSG_TYPE", "POP_CK", "POP_CK_OFFSET", "1ST_POP_TIME", "__SHARDINGKEY",
    "PROPERTY_FORWARD_QUEUE_ID", "REDIRECT", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET", "TRACE_CONTEXT", "TIMER_DELAY_SEC",
    "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "TIMER_ENQUEUE_MS", "TIMER_DEQUEUE_MS", "TIMER_ROLL_TIMES", "TIMER_OUT_MS", "TIMER_DEL_UNIQKEY",
    "TIMER_DELAY_LEVEL", "__BORNHOST", "BORN_TIMESTAMP", "__CRC32#", "DLQ_ORIGIN_TOPIC", "DLQ_ORIGIN_MESSAGE_ID",
};

struct sky_message *sky_message_new(const char *topic, const void *body, size_t bytes)
{
    struct sky_message *m = must_zero(sizeof *m);
    m->topic = topic ? must_strdup(topic) : NULL;
    if (body) buf_put(&m->body, body, bytes);
    return m;
}

void sky_message_free(struct sky_message *m)
{
    if (!m) return;
    if (m->arrival) {
        free(m->arrival->id);
        free(m->arrival->broker);
        free(m->arrival->born_host);
        free(m->arrival);
    }
    map_done_with(&m->properties, free);
    buf_done(&m->body);
    free(m->topic);
    free(m);
}

/* --- properties --- */

void message_put(struct sky_message *m, struct slice name, const char *value)
{
    free(value ? map_put(&m->properties, name, must_strdup(value)) : map_remove(&m->properties, name));
}

/* The two characters that separate properties on the wire. */
static struct sky_error *check_text(const char *what, const char *text)
{
    if (!text || !strpbrk(text, "\1\2")) return NULL;
    return error_new(SKY_INVALID, 0, "%s holds a character 1 or 2", what);
}

static struct sky_error *set(struct sky_message *m, const char *name, const char *value)
{
    struct sky_error *e = check_text(name, value);
    if (!e) message_put(m, slice_text(name), value && *value ? value : NULL);
    return e;
}

struct sky_error *sky_message_set_tag(struct sky_message *m, const char *tag) { return set(m, "TAGS", tag); }
struct sky_error *sky_message_set_keys(struct sky_message *m, const char *keys) { return set(m, "KEYS", keys); }

struct sky_error *sky_message_set_property(struct sky_message *m, const char *name, const char *value)
{
    if (!name || !*name) return error_new(SKY_INVALID, 0, "a property needs a name");
    for (size_t i = 0; i < sizeof system_names / sizeof *system_names; i++)
        if (strcmp(name, system_names[i]) == 0) return error_new(SKY_INVALID, 0, "the property %s is the system's", name);
    struct sky_error *e = check_text("the name of a property", name);
    return e ? e : set(m, name, value);
}

static void set_delay(struct sky_message *m, const char *name, int64_t value)
{
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++) message_put(m, slice_text(delays[i]), NULL);
    buf_printf(&text, "%lld", (long long)value);
    buf_put_u8(&text, 0);
    if (name) message_put(m, slice_text(name), (const char *)text.p);
    buf_done(&text);
}

struct sky_error *sky_message_set_delay_level(struct sky_message *m, int32_t level)
{
    if (level < 0) return error_new(SKY_INVALID, 0, "a delay level is 0 or more, not %d", level);
    set_delay(m, level ? "DELAY" : NULL, level);
    return NULL;
}

struct sky_error *sky_message_set_delay_ms(struct sky_message *m, int64_t ms)
{
    if (ms < 0) return error_new(SKY_INVALID, 0, "a delay is 0 ms or more, not %lld", (long long)ms);
    set_delay(m, ms ? "TIMER_DELAY_MS" : NULL, ms);
    return NULL;
}

struct sky_error *sky_message_set_deliver_at_ms(struct sky_message *m, int64_t time_ms)
{
    if (time_ms <= 0) return error_new(SKY_INVALID, 0, "a time of delivery is behind 1970");
    set_delay(m, "TIMER_DELIVER_MS", time_ms);
    return NULL;
}

void sky_message_set_flag(struct sky_message *m, int32_t flag) { m->flag = flag; }
void sky_message_set_wait_stored(struct sky_message *m, bool wait) { m->dont_wait = !wait; }

const char *sky_message_topic(const struct sky_message *m) { return m->topic; }
const char *sky_message_tag(const struct sky_message *m) { return sky_message_property(m, "TAGS"); }
const char *sky_message_keys(const struct sky_message *m) { return sky_message_property(m, "KEYS"); }
int32_t sky_message_flag(const struct sky_message *m) { return m->flag; }
const char *sky_message_property(const struct sky_message *m, const char *name) { return map_get(&m->properties, slice_text(name)); }

const void *sky_message_body(const struct sky_message *m, size_t *bytes)
{
    if (bytes) *bytes = m->body.n;
    return m->body.p;
}

bool message_is_delayed(const struct sky_message *m)
{
    for (size_t i = 0; i < sizeof delays / sizeof *delays; i++)
        if (sky_message_property(m, delays[i])) return true;
    return false;
}

void message_properties(const struct sky_message *m, struct buf *out)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&m->properties, &at));) properties_put(out, e->key, slice_text(e->value));
    properties_put(out, SLICE("WAIT"), m->dont_wait ? SLICE("false") : SLICE("true"));
}

err_t message_check(const struct sky_message *m, int64_t max_body_bytes)
{
    struct slice topic = slice_text(m->topic);
    err_t e = topic_name_check(topic);
    if (e) return e;
    if (topic_name_is_closed(topic)) return err_new(ERR_INVALID, "Sending message to topic[%s] is forbidden.", m->topic);
    if (!m->body.n) return err_new(ERR_INVALID, "the message has no body");
    if ((int64_t)m->body.n > max_body_bytes)
        return err_new(ERR_INVALID, "the body has %zu bytes, and may have %lld", m->body.n, (long long)max_body_bytes);
    struct buf text = BUF_EMPTY;
    message_properties(m, &text);
    size_t bytes = text.n;
    buf_done(&text);
    return bytes <= RECORD_PROPERTIES_MAX ? NULL : err_new(ERR_INVALID, "the properties have %zu bytes, and may have %d", bytes, RECORD_PROPERTIES_MAX);
}

struct sky_message *message_copy(const struct sky_message *m)
{
    struct sky_message *copy = sky_message_new(m->topic, m->body.p, m->body.n);
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&m->properties, &at));) message_put(copy, e->key, e->value);
    copy->flag = m->flag;
    copy->dont_wait = m->dont_wait;
    return copy;
}

/* --- received --- */

enum { OPENED_MAX_BYTES = 64 << 20 };

const char *sky_message_id(const struct sky_message *m) { return m->arrival ? m->arrival->id : NULL; }
const char *sky_message_broker(const struct sky_message *m) { return m->arrival ? m->arrival->broker : NULL; }
int32_t sky_message_queue_id(const struct sky_message *m) { return m->arrival ? m->arrival->queue_id : -1; }
int64_t sky_message_queue_offset(const struct sky_message *m) { return m->arrival ? m->arrival->queue_offset : -1; }
int64_t sky_message_born_ms(const struct sky_message *m) { return m->arrival ? m->arrival->born_ms : 0; }
int64_t sky_message_stored_ms(const struct sky_message *m) { return m->arrival ? m->arrival->stored_ms : 0; }
const char *sky_message_born_host(const struct sky_message *m) { return m->arrival ? m->arrival->born_host : NULL; }
int32_t sky_message_reconsume_times(const struct sky_message *m) { return m->arrival ? m->arrival->reconsume_times : 0; }

static char *id_of(const struct message *m)
{
    char id[MESSAGE_ID_TEXT];
    struct slice own = properties_get(m->properties, SLICE("UNIQ_KEY"));
    if (own.n) return must_dup(own);
    offset_id_format(&m->store_host, m->log_offset, id);
    return must_strdup(id);
}

static void put_properties(struct sky_message *out, struct slice text)
{
    struct slice name, value;
    while (properties_next(&text, &name, &value)) free(map_put(&out->properties, name, must_dup(value)));
}

struct sky_message *message_received(const struct message *m, const char *broker)
{
    char host[ADDR_TEXT_MAX];
    struct slice first = properties_get(m->properties, SLICE("RETRY_TOPIC"));
    struct sky_message *out = must_zero(sizeof *out);
    out->topic = must_dup(topic_name_is_retry(m->topic) && first.n ? first : m->topic);
    out->flag = m->flag;
    buf_put_slice(&out->body, m->body);
    put_properties(out, m->properties);
    out->arrival = must_zero(sizeof *out->arrival);
    *out->arrival = (struct arrival){
        .id = id_of(m), .broker = must_strdup(broker), .born_host = must_strdup(addr_format(&m->born_host, host)), .queue_id = m->queue_id,
        .queue_offset = m->queue_offset, .log_offset = m->log_offset, .born_ms = m->born_ms, .stored_ms = m->store_ms,
        .reconsume_times = m->reconsume_times, .sys_flag = m->sys_flag,
    };
    return out;
}

void message_open(struct sky_message *m)
{
    struct buf opened = BUF_EMPTY;
    if (!(m->arrival->sys_flag & SYS_FLAG_COMPRESSED)) return;
    err_t e = decompress_body(m->arrival->sys_flag, buf_slice(&m->body), OPENED_MAX_BYTES, &opened);
    m->arrival->sys_flag &= ~SYS_FLAG_COMPRESSED;
    if (e) {
        log_warn("message.not_opened id=%s why=\"%s\"", m->arrival->id, err_text(e));
        err_free(e);
        return;
    }
    buf_done(&m->body);
    m->body = opened;
}
