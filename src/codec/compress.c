#include "codec/compress.h"

#include <libdeflate.h>
#include <lz4frame.h>
#include <zstd.h>

enum { FIRST_GUESS_BYTES = 64 << 10 };

int compress_level_max(enum compression kind)
{
    static const int highest[] = {[COMPRESSION_LZ4] = 12, [COMPRESSION_ZSTD] = 19, [COMPRESSION_ZLIB] = 12};
    return kind >= COMPRESSION_LZ4 && kind <= COMPRESSION_ZLIB ? highest[kind] : 0;
}

/* --- writing --- */

static size_t write_zlib(int level, struct slice body, struct buf *out)
{
    struct libdeflate_compressor *c = libdeflate_alloc_compressor(level);
    if (!c) return 0;
    size_t room = libdeflate_zlib_compress_bound(c, body.n);
    buf_reserve(out, room);
    size_t n = libdeflate_zlib_compress(c, body.p, body.n, out->p + out->n, room);
    libdeflate_free_compressor(c);
    return n;
}

static size_t write_lz4(int level, struct slice body, struct buf *out)
{
    LZ4F_preferences_t how = {.frameInfo.contentSize = body.n, .compressionLevel = level};
    size_t room = LZ4F_compressFrameBound(body.n, &how);
    buf_reserve(out, room);
    size_t n = LZ4F_compressFrame(out->p + out->n, room, body.p, body.n, &how);
    return LZ4F_isError(n) ? 0 : n;
}

static size_t write_zstd(int level, struct slice body, struct buf *out)
{
    size_t room = ZSTD_compressBound(body.n);
    buf_reserve(out, room);
    size_t n = ZSTD_compress(out->p + out->n, room, body.p, body.n, level);
    return ZSTD_isError(n) ? 0 : n;
}

err_t compress_body(enum compression kind, int level, struct slice body, struct buf *out)
{
    size_t n = kind == COMPRESSION_LZ4 ? write_lz4(level, body, out) : kind == COMPRESSION_ZSTD ? write_zstd(level, body, out) : write_zlib(level, body, out);
    if (!n) return err_new(ERR_INTERNAL, "a body of %zu bytes cannot be compressed", body.n);
    out->n += n;
    return NULL;
}

/* --- reading: the length is not known, so the room doubles up to the limit --- */

static err_t broken(const char *kind) { return err_new(ERR_BODY, "the body is not what %s writes", kind); }
static err_t too_long(size_t limit) { return err_new(ERR_BODY, "the body is longer than %zu bytes when it is opened", limit); }

/* More room behind out->n: as much as there was (*room), but in all no more than the limit. False: there is none. */
static bool more_room(struct buf *out, size_t start, size_t limit, size_t *room)
{
    size_t have = out->n - start;
    if (have >= limit) return false;
    *room = have ? have : FIRST_GUESS_BYTES;
    if (*room > limit - have) *room = limit - have;
    buf_reserve(out, *room);
    return true;
}

static err_t read_zlib(struct slice body, size_t limit, struct buf *out)
{
    struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
    if (!d) return err_new(ERR_OUT_OF_MEMORY, NULL);
    enum libdeflate_result result = LIBDEFLATE_INSUFFICIENT_SPACE;
    size_t room = FIRST_GUESS_BYTES < limit ? FIRST_GUESS_BYTES : limit, n = 0;
    for (;; room = room < limit / 2 ? room * 2 : limit) {
        buf_reserve(out, room);
        result = libdeflate_zlib_decompress(d, body.p, body.n, out->p + out->n, room, &n);
        if (result != LIBDEFLATE_INSUFFICIENT_SPACE || room == limit) break;
    }
    libdeflate_free_decompressor(d);
    if (result == LIBDEFLATE_INSUFFICIENT_SPACE) return too_long(limit);
    if (result != LIBDEFLATE_SUCCESS) return broken("zlib");
    out->n += n;
    return NULL;
}

static err_t read_lz4(struct slice body, size_t limit, struct buf *out)
{
    LZ4F_dctx *d;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&d, LZ4F_VERSION))) return err_new(ERR_OUT_OF_MEMORY, NULL);
    size_t start = out->n, hint = 1, room = 0;
    err_t e = NULL;
    while (!e && hint && body.n) {
        if (!more_room(out, start, limit, &room)) e = too_long(limit);
        else {
            size_t got = room, taken = body.n;
            hint = LZ4F_decompress(d, out->p + out->n, &got, body.p, &taken, NULL);
            if (LZ4F_isError(hint) || (!got && !taken)) e = broken("lz4");
            else {
                out->n += got;
                body = slice_skip(body, taken);
            }
        }
    }
    LZ4F_freeDecompressionContext(d);
    return e || !hint ? e : broken("lz4");
}

static err_t read_zstd(struct slice body, size_t limit, struct buf *out)
{
    ZSTD_DCtx *d = ZSTD_createDCtx();
    if (!d) return err_new(ERR_OUT_OF_MEMORY, NULL);
    ZSTD_inBuffer in = {body.p, body.n, 0};
    size_t start = out->n, hint = 1, room = 0;
    err_t e = NULL;
    while (!e && hint) {
        if (!more_room(out, start, limit, &room)) e = too_long(limit);
        else {
            ZSTD_outBuffer to = {out->p + out->n, room, 0};
            size_t before = in.pos;
            hint = ZSTD_decompressStream(d, &to, &in);
            if (ZSTD_isError(hint) || (hint && !to.pos && in.pos == before)) e = broken("zstd");
            out->n += to.pos;
        }
    }
    ZSTD_freeDCtx(d);
    return e;
}

err_t decompress_body(int32_t sys_flag, struct slice body, size_t limit, struct buf *out)
{
    size_t start = out->n;
    err_t e;
    switch ((sys_flag & SYS_FLAG_COMPRESSION_MASK) >> SYS_FLAG_COMPRESSION_SHIFT) {
    case COMPRESSION_LZ4: e = read_lz4(body, limit, out); break;
    case COMPRESSION_ZSTD: e = read_zstd(body, limit, out); break;
    case COMPRESSION_ZLIB_OLD:
    case COMPRESSION_ZLIB: e = read_zlib(body, limit, out); break;
    default: e = err_new(ERR_BODY, "the body is compressed in a way that is not known here");
    }
    if (e) out->n = start;
    return e;
}
