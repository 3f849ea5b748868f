#include "codec/queue_entry.h"

enum { EXT_SIZE_MAX = INT16_MAX };
/* Addresses are kept below every hash of 32 bits. */
#define EXT_ADDRESS_MAX (-2147483649ll)

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
