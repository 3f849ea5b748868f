#include "grpc/gzip.h"

#include <libdeflate.h>
#include <stdlib.h>

enum {
    SHORTEST = 18,      /* head and tail */
    SIZE_BYTES = 4,     /* at the end: the size unpacked */
    MOST_PACKED = 1032, /* times smaller nothing gets */
    LEVEL = 1,
};

static uint32_t promised_size(struct slice packed)
{
    const uint8_t *p = packed.p + packed.n - SIZE_BYTES;
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

enum gzip_result gzip_unpack(struct slice packed, size_t most, struct buf *out)
{
    if (packed.n < SHORTEST) return GZIP_BROKEN;
    size_t size = promised_size(packed);
    if (size / MOST_PACKED > packed.n) return GZIP_BROKEN;
    if (size > most) return GZIP_TOO_LARGE;
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d) abort();   /* memory is short */
    size_t before = out->n;
    buf_reserve(out, size + 1);   /* there is a place even for nothing */
    uint8_t *to = buf_take(out, size);
    bool fine = libdeflate_gzip_decompress(d, packed.p, packed.n, to, size, NULL) == LIBDEFLATE_SUCCESS;
    libdeflate_free_decompressor(d);
    if (!fine) out->n = before;
    return fine ? GZIP_FINE : GZIP_BROKEN;
}

void gzip_pack(struct slice bytes, struct buf *out)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(LEVEL);
    if (!c) abort();   /* memory is short */
    size_t bound = libdeflate_gzip_compress_bound(c, bytes.n), before = out->n;
    uint8_t *to = buf_take(out, bound);
    out->n = before + libdeflate_gzip_compress(c, bytes.p, bytes.n, to, bound);
    libdeflate_free_compressor(c);
}
