/* queue_entry.h - one entry of a consume queue, and of its extension file.
 * Shape    entry of single messages: log_offset i64 | size i32 | tag_hash i64, 20 bytes, big-endian
 *          entry of batches: log_offset i64 | size i32 | tag_hash i64 | store_ms i64 | queue_offset i64 | count i16 | compacted i32, -1 |
 *          i32 0, 46 bytes
 *          extension unit: i16 its size | tag_hash i64 | store_ms i64 | i16 bytes of bit map | bit map
 * Facts    docs/protocol/store.md 3
 * Threads  any */
#ifndef SKYLARK_CODEC_QUEUE_ENTRY_H
#define SKYLARK_CODEC_QUEUE_ENTRY_H

#include "base/slice.h"

enum { QUEUE_ENTRY_BYTES = 20, BATCH_ENTRY_BYTES = 46, BATCH_COUNT_MAX = INT16_MAX, QUEUE_EXT_HEAD_BYTES = 20 };

/* No queue gets there. */
#define QUEUE_OFFSET_MAX (1ll << 62)

/* What the records are that the entries of a queue point to. */
enum queue_kind {
    QUEUE_OF_SINGLES,      /* one message each; queue.type=SimpleCQ */
    QUEUE_OF_BATCHES,      /* several messages each, stored as one record; queue.type=BatchCQ */
    QUEUE_KINDS,
};

struct queue_entry {
    int64_t log_offset;
    int32_t size;
    int32_t count;         /* messages in the record; 1 in a queue of singles */
    int64_t tag_hash;      /* or an address in the extension file, see queue_entry_ext_offset() */
    int64_t queue_offset;  /* of the first of them; in a queue of singles the entry's place says it, and not its bytes */
    int64_t store_ms;      /* in a queue of batches alone */
};

static inline int64_t queue_kind_entry_bytes(enum queue_kind kind)
{
    return kind == QUEUE_OF_BATCHES ? BATCH_ENTRY_BYTES : QUEUE_ENTRY_BYTES;
}

static inline void queue_entry_put(uint8_t *p, const struct queue_entry *e)
{
    put_be64(p, (uint64_t)e->log_offset);
    put_be32(p + 8, (uint32_t)e->size);
    put_be64(p + 12, (uint64_t)e->tag_hash);
}

static inline struct queue_entry queue_entry_get(const uint8_t *p, int64_t queue_offset)
{
    return (struct queue_entry){
        .log_offset = (int64_t)get_be64(p), .size = (int32_t)get_be32(p + 8), .count = 1, .tag_hash = (int64_t)get_be64(p + 12),
        .queue_offset = queue_offset,
    };
}

/* Of a queue of batches. */
void batch_entry_put(uint8_t *p, const struct queue_entry *e);
struct queue_entry batch_entry_get(const uint8_t *p);

/* A queue whose first file begins in the middle is filled with these up to its first real entry. */
static inline struct queue_entry queue_entry_filler(void) { return (struct queue_entry){.size = INT32_MAX, .count = 1}; }
static inline bool queue_entry_is_filler(struct queue_entry e) { return e.log_offset == 0 && e.size == INT32_MAX; }
/* Zeros, where nothing was written yet, are no entry. */
static inline bool queue_entry_is_written(struct queue_entry e)
{
    return e.size > 0 && e.log_offset >= 0 && e.count > 0 && e.queue_offset >= 0 && e.queue_offset < QUEUE_OFFSET_MAX;
}
/* The offset behind the messages of one that is written. */
static inline int64_t queue_entry_end(struct queue_entry e) { return e.queue_offset + e.count; }

/* Position of the entry's unit in the extension files, or -1: the entry holds its tag hash itself. */
int64_t queue_entry_ext_offset(struct queue_entry e);

struct queue_ext {
    int64_t tag_hash;
    int64_t store_ms;
    struct slice bits;     /* which consumers' filters match; borrowed */
    size_t size;           /* bytes of the unit */
};

/* False when no whole unit begins there. */
bool queue_ext_read(struct slice bytes, struct queue_ext *out);

#endif
