#include "broker/intake/known_properties.h"

#include "codec/lmq.h"
#include "codec/property_marks.h"

static struct slice *place_of(struct slice name, struct known_properties *p)
{
    switch (name.n) {
    case 4:
        if (slice_eq(name, SLICE("TAGS"))) return &p->tags;
        if (slice_eq(name, SLICE("WAIT"))) return &p->wait;
        return slice_eq(name, SLICE("KEYS")) ? &p->key_words : NULL;
    case 5: return slice_eq(name, SLICE("DELAY")) ? &p->delay_level : NULL;
    case 6: return slice_eq(name, SLICE("POP_CK")) ? &p->pop_check_point : NULL;
    case 8:
        if (slice_eq(name, SLICE("UNIQ_KEY"))) return &p->unique_key;
        return slice_eq(name, SLICE("TRAN_MSG")) ? &p->transaction : NULL;
    case 9: return slice_eq(name, SLICE("INNER_NUM")) ? &p->inner_count : NULL;
    case 12:
        if (slice_eq(name, SLICE("TIMER_OUT_MS"))) return &p->timer_out_ms;
        return slice_eq(name, SLICE("__LITE_TOPIC")) ? &p->lite_topic : NULL;
    case 13: return slice_eq(name, SLICE("__SHARDINGKEY")) ? &p->sharding_key : NULL;
    case 14: return slice_eq(name, SLICE("TIMER_DELAY_MS")) ? &p->timer_delay_ms : NULL;
    case 15: return slice_eq(name, SLICE("TIMER_DELAY_SEC")) ? &p->timer_delay_sec : NULL;
    case 16: return slice_eq(name, SLICE("TIMER_DELIVER_MS")) ? &p->timer_deliver_ms : NULL;
    case 17: return slice_eq(name, SLICE("TIMER_DEL_UNIQKEY")) ? &p->timer_delete_key : NULL;
    case 18: return slice_eq(name, SLICE("_SYS_MSG_PRIORITY_")) ? &p->priority : NULL;
    case 20: return slice_eq(name, LMQ_NAMES) ? &p->further_queues : NULL;
    case 24: return slice_eq(name, LMQ_OFFSETS) ? &p->further_offsets : NULL;
    }
    return NULL;
}

__attribute__((always_inline)) static inline void take_known(void *ctx, struct slice name, struct slice value)
{
    struct slice *place = place_of(name, ctx);
    if (place) *place = value;   /* of a name that occurs twice the last one counts */
}

void known_properties_read(struct slice text, struct known_properties *out)
{
    *out = (struct known_properties){.tags = {NULL, 0}};
    properties_each(text, take_known, out);
}
