#include "broker/intake/due.h"

#include "broker/intake/intake.h"
#include "codec/properties.h"
#include "codec/record.h"

const char *intake_due(struct broker *b, struct slice record, struct slice topic, int64_t queue_offset, struct message *out)
{
    struct known_properties known;
    struct message m;
    int32_t queue_id;
    if (!record.n) return "its record is gone or damaged";
    if (record_read(record, &m) != RECORD_WHOLE) return "its record is damaged";
    bool is_there = queue_offset == DUE_ANY_OFFSET || m.queue_offset == queue_offset;
    if (!slice_eq(m.topic, topic) || !is_there) return "its entry points to another record";
    struct slice real = properties_get(m.properties, SLICE("REAL_TOPIC"));
    if (!real.n || !slice_to_i32(properties_get(m.properties, SLICE("REAL_QID")), &queue_id)) return "it does not say where it belongs";
    if (slice_eq(real, SLICE("RMQ_SYS_TRANS_HALF_TOPIC"))) return "it is a half message, which never waits";
    const struct topic *t = topics_find(b->topics, real);
    *out = (struct message){
        .topic = real, .queue_id = queue_id, .flag = m.flag, .sys_flag = m.sys_flag, .born_ms = m.born_ms, .born_host = m.born_host,
        .reconsume_times = m.reconsume_times, .body = m.body, .body_crc = m.body_crc, .properties = m.properties,
        .batch_topic = t && t->batches,
    };
    known_properties_read(m.properties, &known);
    intake_keys(&known, out);
    return NULL;
}
