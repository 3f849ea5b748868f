/* queue_entry.h - one entry of a consume queue, and of its extension file.
 * Shape    entry: log_offset i64 | size i32 | tag_hash i64, 20 bytes, big-endian
 *          extension unit: i16 its size | tag_hash i64 | store_ms i64 | i16 bytes of bit map | bit map
 * Facts    docs/protocol/store.md 3
 * Threads  any */
#ifndef SKYLARK_CODEC_QUEUE_ENTRY_H
#define SKYLARK_CODEC_QUEUE_ENTRY_H

#include "base/slice.h"

enum { QUEUE_ENTRY_BYTES = 20, QUEUE_EXT_HEAD_BYTES = 20 };

struct queue_entry {
    int64_t log_offset;
    int32_t size;
    int64_t tag_hash;      /* or an address in the extension file, see queue_entry_ext_offset() */
};

static inline void queue_entry_put(uint8_t *p, int64_t log_offset, int32_t size, int64_t tag_hash)
{
    put_be64(p, (uint64_t)log_offset);
    put_be32(p + 8, (uint32_t)size);
    put_be64(p + 12, (uint64_t)tag_hash);
}

static inline struct queue_entry queue_entry_get(const uint8_t *p)
{
    return (struct queue_entry){(int64_t)get_be64(p), (int32_t)get_be32(p + 8), (int64_t)get_be64(p + 12)};
}

/* A queue whose first file begins in the middle is filled with these up to its first real entry. */
static inline struct queue_entry queue_entry_filler(void) { return (struct queue_entry){0, INT32_MAX, 0}; }
static inline bool queue_entry_is_filler(struct queue_entry e) { return e.log_offset == 0 && e.size == INT32_MAX; }
/* Zeros, where nothing was written yet, are no entry. */
static inline bool queue_entry_is_written(struct queue_entry e) { return e.size > 0 && e.log_offset >= 0; }

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
