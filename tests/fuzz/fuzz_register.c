/* Registrations of brokers: the input is what the compressed form unpacks to, so that the compression is not in the way. */
#include "fuzz/fuzz.h"

#include "codec/body_register.h"
#include "codec/frame.h"

#include <libdeflate.h>

static void try_version(struct slice packed, int32_t version)
{
    struct arena arena = ARENA_EMPTY, second = ARENA_EMPTY;
    struct register_body body, again;
    err_t e = register_body_decode(packed, true, version, &arena, &body);
    if (!e) {
        struct buf out = BUF_EMPTY;
        register_body_encode(&body, false, &out);
        e = register_body_decode(buf_slice(&out), false, VERSION_5_5_0, &second, &again);
        FUZZ_EXPECT(!e && again.table.topics.count == body.table.topics.count);
        buf_done(&out);
    }
    err_free(e);
    arena_done(&arena);
    arena_done(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(1);
    size_t bound = libdeflate_zlib_compress_bound(c, n);
    uint8_t *packed = malloc(bound);
    size_t size = libdeflate_zlib_compress(c, p, n, packed, bound);
    libdeflate_free_compressor(c);
    try_version(slice_of(packed, size), VERSION_5_5_0);
    try_version(slice_of(packed, size), VERSION_4_9_4);
    free(packed);
    return 0;
}
