#include "codec/compress.h"

#include "kit/test.h"

#include <stdlib.h>

static const enum compression kinds[] = {COMPRESSION_LZ4, COMPRESSION_ZSTD, COMPRESSION_ZLIB};
enum { KINDS = 3 };

static int32_t flag_of(enum compression kind) { return (int32_t)kind << SYS_FLAG_COMPRESSION_SHIFT | 1; }

/* Text that repeats, but not at once: of any length. */
static struct buf text_of(size_t n)
{
    struct buf b = BUF_EMPTY;
    for (size_t i = 0; b.n < n; i++) buf_printf(&b, "{\"order\":%zu,\"state\":\"paid\"}", i * i % 977);
    b.n = n;
    return b;
}

static void there_and_back(enum compression kind, int level, size_t n)
{
    struct buf body = text_of(n), packed = BUF_EMPTY, opened = BUF_EMPTY;
    EXPECT_OK(compress_body(kind, level, buf_slice(&body), &packed));
    EXPECT(n < 1000 || packed.n < n / 2);
    EXPECT_OK(decompress_body(flag_of(kind), buf_slice(&packed), n, &opened));
    EXPECT(slice_eq(buf_slice(&body), buf_slice(&opened)));
    buf_done(&body);
    buf_done(&packed);
    buf_done(&opened);
}

TEST(compress, bodies_of_all_kinds_lengths_and_levels_come_back_the_same)
{
    static const size_t lengths[] = {1, 100, 4096, 65536, 65537, 300000};
    for (size_t k = 0; k < KINDS; k++) {
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) there_and_back(kinds[k], 5, lengths[i]);
        there_and_back(kinds[k], 1, 5000);
        there_and_back(kinds[k], compress_level_max(kinds[k]), 5000);
    }
    EXPECT_EQ(compress_level_max(COMPRESSION_ZLIB_OLD), 0);
    EXPECT_EQ(compress_level_max((enum compression)4), 0);
}

TEST(compress, a_body_of_an_older_client_is_zlib)
{
    struct buf packed = BUF_EMPTY, opened = BUF_EMPTY;
    EXPECT_OK(compress_body(COMPRESSION_ZLIB, 5, SLICE("as before"), &packed));
    EXPECT_OK(decompress_body(1, buf_slice(&packed), 100, &opened));
    EXPECT_TEXT(buf_slice(&opened), "as before");
    buf_done(&packed);
    buf_done(&opened);
}

TEST(compress, a_small_body_that_would_become_a_huge_one_is_refused_and_little_memory_is_taken)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct buf zeros = BUF_EMPTY, packed = BUF_EMPTY, opened = BUF_EMPTY;
        memset(buf_take(&zeros, 8 << 20), 0, 8 << 20);
        EXPECT_OK(compress_body(kinds[k], 5, buf_slice(&zeros), &packed));
        EXPECT(packed.n < 100000);
        EXPECT_ERR(decompress_body(flag_of(kinds[k]), buf_slice(&packed), 100000, &opened), ERR_BODY);
        EXPECT_EQ(opened.n, 0);
        EXPECT(opened.cap < 1 << 20);
        buf_done(&zeros);
        buf_done(&packed);
        buf_done(&opened);
    }
}

TEST(compress, a_body_that_was_cut_or_changed_anywhere_is_refused_or_opened_and_never_more)
{
    for (size_t k = 0; k < KINDS; k++) {
        struct buf body = text_of(3000), packed = BUF_EMPTY, opened = BUF_EMPTY;
        EXPECT_OK(compress_body(kinds[k], 5, buf_slice(&body), &packed));
        for (size_t n = 0; n < packed.n; n++) EXPECT_ERR(decompress_body(flag_of(kinds[k]), slice_of(packed.p, n), 10000, &opened), ERR_BODY);
        for (size_t i = 0; i < packed.n; i++) {
            packed.p[i] ^= 0x41;
            err_t e = decompress_body(flag_of(kinds[k]), buf_slice(&packed), 10000, &opened);
            EXPECT(!e || err_code(e) == ERR_BODY);
            EXPECT(!e || !opened.n);
            err_free(e);
            buf_clear(&opened);
            packed.p[i] ^= 0x41;
        }
        buf_done(&body);
        buf_done(&packed);
        buf_done(&opened);
    }
}

TEST(compress, a_way_that_is_not_known_is_said)
{
    struct buf opened = BUF_EMPTY;
    EXPECT_ERR(decompress_body(5 << 8 | 1, SLICE("x"), 10, &opened), ERR_BODY);
}
