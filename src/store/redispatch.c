#include "store/redispatch.h"

#include "base/clamped.h"
#include "codec/java_hash.h"
#include "codec/lmq.h"
#include "codec/properties.h"

int64_t redispatch_tag_hash(const struct message *m, const struct delay_levels *levels)
{
    int64_t level;
    bool scheduled = slice_eq(m->topic, SLICE(DELAY_LEVELS_TOPIC));
    if (scheduled && slice_to_i64(properties_get(m->properties, SLICE("DELAY")), &level) && level > 0)
        return clamped_plus(m->store_ms, delay_levels_ms(levels, level));
    return tags_hash(properties_get(m->properties, SLICE("TAGS")));
}

enum queue_kind redispatch_kind(const struct message *m)
{
    return m->sys_flag & SYS_FLAG_INNER_BATCH ? QUEUE_OF_BATCHES : QUEUE_OF_SINGLES;
}

int32_t redispatch_count(const struct message *m)
{
    int32_t count;
    if (!(m->sys_flag & SYS_FLAG_INNER_BATCH)) return 1;
    bool can_be = slice_to_i32(properties_get(m->properties, SLICE("INNER_NUM")), &count) && count > 0 && count <= BATCH_COUNT_MAX;
    return can_be ? count : 0;
}

bool redispatch_has_entry(const struct message *m)
{
    int32_t kind = m->sys_flag & SYS_FLAG_TRANSACTION_MASK;
    if (redispatch_count(m) == 0) return false;
    return kind == SYS_FLAG_TRANSACTION_NONE || kind == SYS_FLAG_TRANSACTION_COMMIT;
}

bool redispatch_has_lmq(const struct message *m)
{
    struct slice t = m->topic;
    bool waits = slice_starts(t, SLICE("rmq_sys_")) || slice_starts(t, SLICE("RMQ_SYS_TRANS_")) || slice_eq(t, SLICE(DELAY_LEVELS_TOPIC));
    bool of_group = slice_starts(t, SLICE("%RETRY%")) || slice_starts(t, SLICE("%DLQ%"));
    return !waits && !of_group && redispatch_has_entry(m) && redispatch_kind(m) == QUEUE_OF_SINGLES;
}

struct lmq_walk redispatch_lmq(const struct message *m)
{
    struct slice offsets = properties_get(m->properties, LMQ_OFFSETS);
    if (!offsets.n || !redispatch_has_lmq(m)) return (struct lmq_walk){{NULL, 0}, {NULL, 0}};
    return (struct lmq_walk){properties_get(m->properties, LMQ_NAMES), offsets};
}

bool redispatch_next_lmq(struct lmq_walk *w, struct slice *topic, int64_t *queue_offset)
{
    struct slice name, offset;
    while (slice_split(&w->names, ',', &name) && slice_split(&w->offsets, ',', &offset)) {
        if (!name_is_lmq(name) || !slice_to_i64(offset, queue_offset)) continue;   /* the original gives other names no offset */
        *topic = name;
        return true;
    }
    return false;
}
