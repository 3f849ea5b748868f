#include "broker/transaction/half_message.h"

#include "broker/intake/half.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "meta/topics.h"

static int64_t number(struct slice text, int64_t otherwise)
{
    int64_t value;
    return text.n && slice_to_i64(text, &value) ? value : otherwise;
}

bool half_facts_read(const struct message *m, struct half_facts *out)
{
    int64_t queue_id = number(properties_get(m->properties, HALF_REAL_QUEUE), -1);
    int64_t first = number(properties_get(m->properties, HALF_FIRST_OFFSET), -1);
    int64_t checks = number(properties_get(m->properties, HALF_CHECKS), 0);
    *out = (struct half_facts){
        .topic = properties_get(m->properties, HALF_REAL_TOPIC), .queue_id = (int32_t)queue_id,
        .group = properties_get(m->properties, HALF_PRODUCER_GROUP), .unique_key = properties_get(m->properties, SLICE("UNIQ_KEY")),
        .first_offset = first >= 0 && first < m->queue_offset ? first : m->queue_offset,
        .immunity = properties_get(m->properties, HALF_IMMUNITY), .checks = checks < 0 || checks > INT32_MAX ? 0 : (int32_t)checks,
    };
    return slice_eq(m->topic, HALF_TOPIC) && out->topic.n && queue_id >= 0 && queue_id < TOPIC_QUEUES_MAX;
}

static int64_t seconds_ms(int64_t seconds)
{
    enum { SECOND_MS = 1000 };
    return seconds > INT64_MAX / SECOND_MS ? INT64_MAX : seconds * SECOND_MS;
}

int64_t half_immunity_ms(const struct half_facts *facts)
{
    int64_t seconds = number(facts->immunity, -1);
    return seconds < 0 ? -1 : seconds_ms(seconds);
}

bool half_is_late(const struct half_facts *facts, int64_t age_ms, int64_t timeout_ms)
{
    if (!facts->immunity.n) return false;
    int64_t asked_ms = half_immunity_ms(facts);
    return age_ms > (asked_ms > timeout_ms ? asked_ms : timeout_ms);
}

static void take_over(const struct message *half, struct message *out)
{
    *out = (struct message){
        .flag = half->flag, .sys_flag = half->sys_flag & ~SYS_FLAG_TRANSACTION_MASK, .born_ms = half->born_ms, .born_host = half->born_host,
        .reconsume_times = half->reconsume_times, .body = half->body, .properties = half->properties,
    };
}

void half_commit(const struct message *half, const struct half_facts *facts, int64_t prepared_offset, struct buf *text, struct message *out)
{
    struct slice rest = half->properties, name, value;
    while (properties_next(&rest, &name, &value))
        if (!slice_eq(name, HALF_REAL_TOPIC) && !slice_eq(name, HALF_REAL_QUEUE)) properties_put(text, name, value);
    take_over(half, out);
    out->properties = buf_slice(text);
    out->topic = facts->topic;
    out->queue_id = facts->queue_id;
    out->sys_flag |= SYS_FLAG_TRANSACTION_COMMIT;
    out->prepared_offset = prepared_offset;
}

static void put_number(struct buf *text, struct slice name, int64_t value)
{
    struct buf digits = BUF_EMPTY;
    buf_put_i64_text(&digits, value);
    properties_put(text, name, buf_slice(&digits));
    buf_done(&digits);
}

void half_put_back(const struct message *half, int64_t first_offset, int32_t checks, struct buf *text, struct message *out)
{
    struct slice rest = half->properties, name, value;
    while (properties_next(&rest, &name, &value))
        if (!slice_eq(name, HALF_CHECKS) && !slice_eq(name, HALF_FIRST_OFFSET)) properties_put(text, name, value);
    put_number(text, HALF_CHECKS, checks);
    if (first_offset >= 0) put_number(text, HALF_FIRST_OFFSET, first_offset);
    take_over(half, out);
    out->topic = half->topic;
    out->queue_id = half->queue_id;
    out->properties = buf_slice(text);
}

void half_give_up(const struct message *half, struct message *out)
{
    take_over(half, out);
    out->topic = GIVEN_UP_TOPIC;
}

void half_ask(const struct message *half, const struct half_facts *facts, struct buf *record)
{
    struct message m = *half;
    struct record_place place = {half->log_offset, half->queue_offset, half->store_ms, &half->store_host};
    m.topic = facts->topic;
    m.queue_id = facts->queue_id;
    size_t size = record_size(&m, &half->store_host);
    record_encode(&m, &place, size, buf_take(record, size));
}
