#include "kit/test.h"

#include "base/addr.h"
#include "base/clamped.h"
#include "base/log.h"
#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

TEST(err, context_stands_before_the_message)
{
    err_t e = err_in(err_new(ERR_IO, "disk %d", 7), "open %s", "x");
    assert_string_equal(err_text(e), "open x: disk 7");
    EXPECT_EQ(err_response(e), RESPONSE_SYSTEM_ERROR);
    EXPECT_ERR(e, ERR_IO);
}

TEST(clamped, sums_and_differences_end_at_the_limits)
{
    EXPECT_EQ(clamped_plus(3, 4), 7);
    EXPECT_EQ(clamped_plus(INT64_MAX, 1), INT64_MAX);
    EXPECT_EQ(clamped_plus(INT64_MIN, -1), INT64_MIN);
    EXPECT_EQ(clamped_minus(3, 4), -1);
    EXPECT_EQ(clamped_minus(INT64_MIN, 1), INT64_MIN);
    EXPECT_EQ(clamped_minus(0, INT64_MIN), INT64_MAX);
}

TEST(slice, numbers_at_the_limits_of_64_bits)
{
    int64_t v = 0;
    EXPECT(slice_to_i64(SLICE("9223372036854775807"), &v) && v == INT64_MAX);
    EXPECT(slice_to_i64(SLICE("-9223372036854775808"), &v) && v == INT64_MIN);
    EXPECT(!slice_to_i64(SLICE("9223372036854775808"), &v));
    EXPECT(!slice_to_i64(SLICE(""), &v));
    EXPECT(!slice_to_i64(SLICE("-"), &v));
    EXPECT(!slice_to_i64(SLICE("1x"), &v));
}

/* Every number of digits, with all pairs of digits at its end; and both limits. */
TEST(buf, numbers_are_written_as_printf_writes_them)
{
    struct buf b = BUF_EMPTY;
    char expected[32];
    int64_t edges[] = {0, INT64_MAX, INT64_MIN, INT64_MIN + 1, -1};
    size_t edge_count = sizeof edges / sizeof *edges;
    for (size_t i = 0; i < edge_count + 18 * 100; i++) {
        int64_t v = i < edge_count ? edges[i] : 0;
        if (i >= edge_count) {
            int64_t power = 1;
            for (size_t k = 0; k < (i - edge_count) / 100; k++) power *= 10;
            v = (power + (int64_t)(i - edge_count) % 100) * (i % 2 ? 1 : -1);
        }
        buf_clear(&b);
        buf_put_i64_text(&b, v);
        buf_put_u8(&b, 0);
        snprintf(expected, sizeof expected, "%lld", (long long)v);
        assert_string_equal((char *)b.p, expected);
    }
    buf_done(&b);
}

TEST(slice, split_gives_empty_parts_too)
{
    struct slice rest = SLICE("a;;b"), part;
    EXPECT(slice_split(&rest, ';', &part));
    EXPECT_TEXT(part, "a");
    EXPECT(slice_split(&rest, ';', &part));
    EXPECT_TEXT(part, "");
    EXPECT(slice_split(&rest, ';', &part));
    EXPECT_TEXT(part, "b");
    EXPECT(!slice_split(&rest, ';', &part));
}

TEST(log, lines_of_one_kind_are_limited_in_a_second_and_those_left_out_are_counted)
{
    struct log_limit l = {.lines = 0};
    int lines = 0;
    log_set_level(LOG_WARN);   /* the count itself is not looked at here */
    for (int i = 0; i < 100; i++) lines += log_may(&l, "test.line", 5000 + i);
    EXPECT_EQ(lines, LOG_LIMIT_LINES);
    EXPECT_EQ(l.left_out, 100 - LOG_LIMIT_LINES);
    EXPECT(log_may(&l, "test.line", 6000));
    EXPECT_EQ(l.left_out, 0);
    log_set_level(LOG_INFO);
}

TEST(map, keeps_insertion_order_through_removals_and_growth)
{
    struct map m = MAP_EMPTY;
    static int values[1000];
    char key[16];
    for (int i = 0; i < 1000; i++) {
        values[i] = i;
        snprintf(key, sizeof key, "k%d", i);
        EXPECT(!map_put(&m, slice_text(key), &values[i]));
    }
    for (int i = 0; i < 1000; i += 2) {
        snprintf(key, sizeof key, "k%d", i);
        EXPECT(map_remove(&m, slice_text(key)) == &values[i]);
    }
    EXPECT_EQ(m.count, 500);
    int expected = 1;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&m, &at)); expected += 2) EXPECT_EQ(*(int *)e->value, expected);
    for (int round = 0; round < 100; round++)   /* holes are reused: the table does not grow without end */
        for (int i = 0; i < 100; i++) {
            snprintf(key, sizeof key, "r%d", i);
            map_put(&m, slice_text(key), &values[i]);
            EXPECT(map_remove(&m, slice_text(key)));
        }
    EXPECT(m.cap <= 2048);
    EXPECT(map_get(&m, SLICE("k1")) == &values[1]);
    EXPECT(!map_get(&m, SLICE("k2")));
    map_done(&m);
}

TEST(addr, reads_and_writes_both_families)
{
    struct addr a;
    char text[ADDR_TEXT_MAX];
    EXPECT_OK(addr_parse(SLICE("127.0.0.1:10911"), &a));
    assert_string_equal(addr_format(&a, text), "127.0.0.1:10911");
    EXPECT_OK(addr_parse(SLICE("[::1]:9876"), &a));
    EXPECT(a.v6);
    assert_string_equal(addr_format(&a, text), "[::1]:9876");
    EXPECT_OK(addr_parse(SLICE("fe80::1%lo:10911"), &a));
    EXPECT(a.scope > 0);
    EXPECT_EQ(a.port, 10911);
    struct slice host;
    uint16_t port;
    EXPECT_OK(addr_split(SLICE("[::1]:10911"), &host, &port));
    EXPECT_TEXT(host, "::1");
    EXPECT_OK(addr_split(SLICE("fe80::1%lo:10911"), &host, &port));   /* the zone is needed to connect */
    EXPECT_TEXT(host, "fe80::1%lo");
    EXPECT_ERR(addr_parse(SLICE("localhost:1"), &a), ERR_ADDRESS);
    EXPECT_ERR(addr_parse(SLICE("1.2.3.4:70000"), &a), ERR_ADDRESS);
    EXPECT_ERR(addr_parse(SLICE(":1"), &a), ERR_ADDRESS);
}
