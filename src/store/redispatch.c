#include "store/redispatch.h"

#include "codec/java_hash.h"
#include "codec/properties.h"

/* Delay of levels 1 to 18, as the original has them by default. */
static const int64_t delay_seconds[] = {1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200};
enum { DELAY_LEVELS = sizeof delay_seconds / sizeof *delay_seconds, DELAY_UNKNOWN_MS = 1000 };

static int64_t due_ms(const struct message *m, int64_t level)
{
    if (level > DELAY_LEVELS) level = DELAY_LEVELS;
    return m->store_ms + (level > 0 ? delay_seconds[level - 1] * 1000 : DELAY_UNKNOWN_MS);
}

int64_t redispatch_tag_hash(const struct message *m)
{
    int64_t level;
    bool scheduled = slice_eq(m->topic, SLICE("SCHEDULE_TOPIC_XXXX"));
    if (scheduled && slice_to_i64(properties_get(m->properties, SLICE("DELAY")), &level) && level > 0) return due_ms(m, level);
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
