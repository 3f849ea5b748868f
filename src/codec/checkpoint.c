#include "codec/checkpoint.h"
#include "codec/record.h"

enum { RESUME_AT = 1024 };
#define RESUME_MAGIC 0x536B796C61726B31ull   /* "Skylark1" */

void checkpoint_encode(const struct checkpoint *c, uint8_t out[static CHECKPOINT_BYTES])
{
    const int64_t fields[] = {c->log_ms, c->queues_ms, c->index_ms, c->master_flushed, c->confirmed, c->queues_offset};
    memset(out, 0, CHECKPOINT_BYTES);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) put_be64(out + 8 * i, (uint64_t)fields[i]);
    if (c->resume_offset < 0) return;
    uint8_t *p = out + RESUME_AT;
    put_be64(p, RESUME_MAGIC);
    put_be64(p + 8, (uint64_t)c->resume_offset);
    put_be32(p + 16, record_crc(slice_of(p, 16)));
}

static int64_t resume_of(const uint8_t *p)
{
    if (get_be64(p) != RESUME_MAGIC || get_be32(p + 16) != record_crc(slice_of(p, 16))) return -1;
    return (int64_t)get_be64(p + 8);
}

void checkpoint_decode(struct slice bytes, struct checkpoint *out)
{
    uint8_t page[CHECKPOINT_BYTES] = {0};
    if (bytes.n) memcpy(page, bytes.p, bytes.n < sizeof page ? bytes.n : sizeof page);
    int64_t f[6];
    for (size_t i = 0; i < 6; i++) f[i] = (int64_t)get_be64(page + 8 * i);
    *out = (struct checkpoint){f[0], f[1], f[2], f[3], f[4], f[5], resume_of(page + RESUME_AT)};
}
