#include "store/compaction_file.h"

#include "codec/properties.h"
#include "codec/record.h"

#include <assert.h>

void compaction_entry_put(uint8_t *p, const struct compaction_entry *e)
{
    put_be64(p, (uint64_t)e->position);
    put_be32(p + 8, (uint32_t)e->size);
    put_be64(p + 12, (uint64_t)e->tag_hash);
    put_be64(p + 20, (uint64_t)e->store_ms);
    put_be64(p + 28, (uint64_t)e->queue_offset);
    put_be16(p + 36, 1);
    put_be32(p + 38, UINT32_MAX);
    put_be32(p + 42, 0);
}

void compaction_entry_put_end(uint8_t *p)
{
    memset(p, 0, COMPACTION_ENTRY_BYTES);
    put_be64(p, UINT64_MAX);
    put_be32(p + 38, UINT32_MAX);
}

bool compaction_entry_get(const uint8_t *p, struct compaction_entry *out)
{
    struct compaction_entry e = {
        .position = (int64_t)get_be64(p), .size = (int32_t)get_be32(p + 8), .tag_hash = (int64_t)get_be64(p + 12),
        .store_ms = (int64_t)get_be64(p + 20), .queue_offset = (int64_t)get_be64(p + 28),
    };
    if (e.position < 0 || e.size <= 0 || (int16_t)get_be16(p + 36) <= 0) return false;
    if (e.queue_offset < 0 || e.queue_offset > COMPACTION_OFFSET_MAX) return false;
    *out = e;
    return true;
}

struct compaction_entry compaction_file_entry(const struct compaction_file *f, int64_t i)
{
    struct compaction_entry e = {.position = -1, .queue_offset = -1};
    assert(i >= 0 && i < f->count);
    compaction_entry_get(f->entries->bytes + i * COMPACTION_ENTRY_BYTES, &e);   /* damaged: one that points to no record */
    return e;
}

int64_t compaction_file_search(const struct compaction_file *f, int64_t queue_offset)
{
    int64_t low = 0, high = f->count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (compaction_file_entry(f, middle).queue_offset < queue_offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

bool compaction_file_record(const struct compaction_file *f, const struct compaction_entry *e, struct slice *out, struct message *m)
{
    int64_t at = e->position - f->start;
    if (at < 0 || at > f->used || e->size < RECORD_SMALLEST || e->size > f->used - at) return false;
    struct slice bytes = slice_of(f->log->bytes + at, (size_t)e->size);
    if (record_read(bytes, m) != RECORD_WHOLE || record_read_size(m) != bytes.n) return false;
    if (m->log_offset != e->position || m->queue_offset != e->queue_offset || !record_body_intact(m)) return false;
    *out = bytes;
    return true;
}

static bool is_record(struct slice bytes, int64_t at, struct message *m)
{
    return record_read(bytes, m) == RECORD_WHOLE && m->log_offset == at && record_body_intact(m);
}

bool compaction_file_walk(const struct mapped_file *log, int64_t *at, struct slice *record, struct message *m, uint64_t *damaged)
{
    bool lost = false;
    while (log->size - *at >= RECORD_SMALLEST) {
        struct slice rest = slice_of(log->bytes + *at, (size_t)(log->size - *at));
        if (is_record(rest, log->start + *at, m)) {
            *record = slice_of(rest.p, record_read_size(m));
            *at += (int64_t)record->n;
            *damaged += lost;
            return true;
        }
        struct message other;
        if (!lost && record_read(rest, &other) == RECORD_BLANK) break;
        lost = true;
        *at += (int64_t)record_search(rest, 1, log->start + *at);
    }
    *at = log->size;
    return false;
}

struct slice compaction_key(const struct message *m)
{
    struct slice key = properties_get(m->properties, SLICE("KEYS"));
    return slice_trim(key).n ? key : (struct slice){NULL, 0};
}
