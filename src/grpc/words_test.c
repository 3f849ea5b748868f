/* The small texts of the wire format. */
#include "kit/test.h"

#include "grpc/gzip.h"
#include "grpc/words.h"

#include <stdlib.h>

static int64_t timeout_of(const char *text)
{
    int64_t ms = -1;
    return timeout_parse(slice_text(text), &ms) ? ms : -1;
}

TEST(words, a_timeout_is_digits_and_a_unit)
{
    EXPECT_EQ(timeout_of("1H"), 3600000);
    EXPECT_EQ(timeout_of("2M"), 120000);
    EXPECT_EQ(timeout_of("3S"), 3000);
    EXPECT_EQ(timeout_of("99999999m"), 99999999);
    EXPECT_EQ(timeout_of("1u"), 1);
    EXPECT_EQ(timeout_of("1000001n"), 2);
    EXPECT_EQ(timeout_of("0n"), 0);
    EXPECT_EQ(timeout_of("99999999H"), 99999999 * INT64_C(3600000));
    const char *wrong[] = {"", "S", "1", "1s", "-1S", "1.5S", "123456789S", "1 S"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) EXPECT_EQ(timeout_of(wrong[i]), -1);
}

TEST(words, a_status_text_is_printable_on_the_wire)
{
    struct buf b = BUF_EMPTY;
    status_text_encode(SLICE("no topic \"A\": 100%\r\n\xc3\xa4"), &b);
    EXPECT_TEXT(buf_slice(&b), "no topic \"A\": 100%25%0D%0A%C3%A4");
    buf_clear(&b);
    char *longer = must_zero(10000);
    memset(longer, 'x', 9999);
    status_text_encode(slice_text(longer), &b);
    EXPECT(b.n <= STATUS_TEXT_MAX && b.n > STATUS_TEXT_MAX - 3);
    buf_clear(&b);
    memset(longer, '\n', 9999);
    status_text_encode(slice_text(longer), &b);
    EXPECT(b.n <= STATUS_TEXT_MAX && b.n > STATUS_TEXT_MAX - 3);
    free(longer);
    buf_done(&b);
}

TEST(words, content_types_of_grpc_are_known)
{
    EXPECT(is_grpc_content(SLICE("application/grpc")));
    EXPECT(is_grpc_content(SLICE("application/grpc+proto")));
    EXPECT(is_grpc_content(SLICE("application/grpc;charset=utf-8")));
    EXPECT(!is_grpc_content(SLICE("application/grpc-web")));
    EXPECT(!is_grpc_content(SLICE("application/json")));
    EXPECT(!is_grpc_content(SLICE("")));
}

TEST(words, a_path_is_a_service_and_a_method)
{
    struct slice service, method;
    EXPECT(path_split(SLICE("/a.b.C/Send"), &service, &method));
    EXPECT_TEXT(service, "a.b.C");
    EXPECT_TEXT(method, "Send");
    const char *wrong[] = {"", "/", "/Send", "a/b", "/a/", "//b"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) EXPECT(!path_split(slice_text(wrong[i]), &service, &method));
}

TEST(words, a_list_has_its_words)
{
    EXPECT(list_has(SLICE("identity, gzip"), SLICE("gzip")));
    EXPECT(!list_has(SLICE("identity,xgzip"), SLICE("gzip")));
    EXPECT(!list_has((struct slice){NULL, 0}, SLICE("gzip")));
}

TEST(gzip, what_is_packed_comes_back)
{
    struct buf packed = BUF_EMPTY, bytes = BUF_EMPTY;
    char *text = must_zero(100001);
    memset(text, 'a', 100000);
    gzip_pack(slice_text(text), &packed);
    EXPECT(packed.n < 2000);
    EXPECT_EQ(gzip_unpack(buf_slice(&packed), 100000, &bytes), GZIP_FINE);
    EXPECT(slice_eq(buf_slice(&bytes), slice_text(text)));
    EXPECT_EQ(gzip_unpack(buf_slice(&packed), 99999, &bytes), GZIP_TOO_LARGE);
    packed.p[packed.n - 8] ^= 0x55;   /* of the checksum */
    EXPECT_EQ(gzip_unpack(buf_slice(&packed), 100000, &bytes), GZIP_BROKEN);
    EXPECT_EQ(gzip_unpack(SLICE("short"), 100000, &bytes), GZIP_BROKEN);
    EXPECT_EQ(bytes.n, 100000);
    buf_done(&packed);
    buf_done(&bytes);
    free(text);
}

TEST(gzip, memory_is_not_taken_for_a_promise)
{
    uint8_t liar[40] = {0x1f, 0x8b, 8};
    struct buf bytes = BUF_EMPTY;
    memset(liar + sizeof liar - 4, 0x7F, 4);   /* 2 GiB */
    EXPECT_EQ(gzip_unpack(slice_of(liar, sizeof liar), SIZE_MAX, &bytes), GZIP_BROKEN);
    EXPECT_EQ(bytes.cap, 0);
    buf_done(&bytes);
}
