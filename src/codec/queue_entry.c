#include "codec/queue_entry.h"

enum { EXT_SIZE_MAX = INT16_MAX };
/* Addresses are kept below every hash of 32 bits. */
#define EXT_ADDRESS_MAX (-2147483649ll)

void batch_entry_put(uint8_t *p, const struct queue_entry *e)
{
    queue_entry_put(p, e);
    put_be64(p + 20, (uint64_t)e->store_ms);
    put_be64(p + 28, (uint64_t)e->queue_offset);
    put_be16(p + 36, (uint16_t)e->count);
    put_be32(p + 38, UINT32_MAX);   /* where a compacted log would have it: nowhere */
    put_be32(p + 42, 0);
}

struct queue_entry batch_entry_get(const uint8_t *p)
{
    struct queue_entry e = queue_entry_get(p, (int64_t)get_be64(p + 28));
    e.store_ms = (int64_t)get_be64(p + 20);
    e.count = (int16_t)get_be16(p + 36);
    return e;
}

int64_t queue_entry_ext_offset(struct queue_entry e)
{
    return e.tag_hash <= EXT_ADDRESS_MAX ? (int64_t)((uint64_t)e.tag_hash - (uint64_t)INT64_MIN) : -1;
}

bool queue_ext_read(struct slice bytes, struct queue_ext *out)
{
    if (bytes.n < QUEUE_EXT_HEAD_BYTES) return false;
    size_t size = get_be16(bytes.p);
    size_t bits = get_be16(bytes.p + 18);
    if (size > EXT_SIZE_MAX || size > bytes.n || size != QUEUE_EXT_HEAD_BYTES + bits) return false;
    *out = (struct queue_ext){
        .tag_hash = (int64_t)get_be64(bytes.p + 2),
        .store_ms = (int64_t)get_be64(bytes.p + 10),
        .bits = slice_of(bytes.p + QUEUE_EXT_HEAD_BYTES, bits),
        .size = size,
    };
    return true;
}
