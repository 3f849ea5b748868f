#include "store/redispatch.h"

#include "codec/java_hash.h"
#include "codec/properties.h"

int64_t redispatch_tag_hash(const struct message *m, const struct delay_levels *levels)
{
    int64_t level;
    bool scheduled = slice_eq(m->topic, SLICE(DELAY_LEVELS_TOPIC));
    if (scheduled && slice_to_i64(properties_get(m->properties, SLICE("DELAY")), &level) && level > 0)
        return m->store_ms + delay_levels_ms(levels, level);
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

/* The part with that number of a list "a,b,c". */
static bool part_of(struct slice list, size_t number, struct slice *out)
{
    for (size_t i = 0; slice_split(&list, ',', out); i++)
        if (i == number) return true;
    return false;
}

bool redispatch_next_lmq(const struct message *m, size_t *at, struct slice *topic, int64_t *queue_offset)
{
    struct slice offset;
    struct slice topics = properties_get(m->properties, SLICE("INNER_MULTI_DISPATCH"));
    struct slice offsets = properties_get(m->properties, SLICE("INNER_MULTI_QUEUE_OFFSET"));
    if (!topics.n || !offsets.n || !part_of(topics, *at, topic) || !part_of(offsets, *at, &offset)) return false;
    (*at)++;
    return slice_to_i64(offset, queue_offset);
}
