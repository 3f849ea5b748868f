#include "codec/property_marks.h"

#include "codec/stored_kit.h"

#include <stdlib.h>

static void check_decoded(struct slice text, json_t *want)
{
    const char *name;
    json_t *value;
    size_t found = 0;
    struct slice rest = text, n, v, got;
    json_object_foreach(want, name, value)
    {
        EXPECT(properties_find(text, slice_text(name), &got));
        EXPECT(slice_eq(got, slice_of(json_string_value(value), json_string_length(value))));
        found++;
    }
    while (properties_next(&rest, &n, &v)) {   /* and nothing else: each one seen is the wanted one, or an earlier of that name */
        EXPECT(properties_find(text, n, &got));
        EXPECT(json_object_getn(want, (const char *)n.p, n.n));
    }
    EXPECT_EQ(found, json_object_size(want));
}

static void check_row(json_t *row)
{
    struct buf raw = row_bytes(row, json_object_get(row, "encoded") ? "encoded" : "raw");
    check_decoded(buf_slice(&raw), json_object_get(row, "decoded"));
    buf_done(&raw);
}

TEST(properties, decode_as_the_original_does_odd_ones_too) { each_vector("properties.jsonl", 40, check_row); }

TEST(properties, the_last_of_a_name_counts)
{
    struct slice text = SLICE("a\x01" "1\x02" "b\x01" "2\x02" "a\x01" "3\x02");
    EXPECT_TEXT(properties_get(text, SLICE("a")), "3");
    EXPECT_TEXT(properties_get(text, SLICE("b")), "2");
    EXPECT_TEXT(properties_get(text, SLICE("c")), "");
    EXPECT_TEXT(properties_get(SLICE("a\x01" "1\x02" "a\x01\x02"), SLICE("a")), "1");   /* an empty one does not */
}

TEST(properties, one_that_is_added_does_not_run_into_an_open_last_one)
{
    for (int closed = 0; closed < 2; closed++) {
        struct buf b = BUF_EMPTY;
        buf_put_slice(&b, closed ? SLICE("TAGS\x01TagA\x02") : SLICE("TAGS\x01TagA"));
        properties_put(&b, SLICE("CLUSTER"), SLICE("c"));
        EXPECT_TEXT(buf_slice(&b), "TAGS\x01TagA\x02" "CLUSTER\x01" "c\x02");
        EXPECT_TEXT(properties_get(buf_slice(&b), SLICE("TAGS")), "TagA");
        buf_done(&b);
    }
}

TEST(properties, all_of_a_name_are_removed)
{
    struct buf b = BUF_EMPTY;
    properties_put_without(&b, SLICE("a\x01" "1\x02" "b\x01" "2\x02" "a\x01" "3"), SLICE("a"));
    EXPECT_TEXT(buf_slice(&b), "b\x01" "2\x02");
    buf_done(&b);
}

/* Any bytes: nothing is read beyond them, and finding agrees with walking. */
TEST(properties, finding_and_walking_agree_on_random_text)
{
    static const char alphabet[] = {'a', 'b', 1, 2};
    uint64_t x = 88172645463325252ull;
    for (int round = 0; round < 20000; round++) {
        size_t n = round % 14;
        uint8_t *text = must_alloc(n);   /* exact, so that a sanitizer sees the end */
        for (size_t i = 0; i < n; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            text[i] = (uint8_t)alphabet[x % 4];
        }
        struct slice rest = slice_of(text, n), name, value, last = {NULL, 0}, got = {NULL, 0};
        while (properties_next(&rest, &name, &value))
            if (slice_eq(name, SLICE("a"))) last = value;
        properties_find(slice_of(text, n), SLICE("a"), &got);
        EXPECT(got.p == last.p && got.n == last.n);
        free(text);
    }
}

struct walk {
    struct slice rest;
    int taken;
};

static void expect_next(void *ctx, struct slice name, struct slice value)
{
    struct walk *w = ctx;
    struct slice n = {NULL, 0}, v = {NULL, 0};
    EXPECT(properties_next(&w->rest, &n, &v));
    EXPECT(n.p == name.p && n.n == name.n && v.p == value.p && v.n == value.n);
    w->taken++;
}

/* Texts around the size of a block and some of them, with and without a last mark. */
TEST(properties, looking_for_marks_in_blocks_finds_the_same_properties)
{
    static const char letters[] = {'a', 'b', 'c', 'd', 'e', 'f', 1, 2};
    uint64_t x = 88172645463325252ull;
    int taken = 0;
    for (int round = 0; round < 20000; round++) {
        size_t n = (size_t)round % 270;
        uint8_t *text = must_alloc(n);
        for (size_t i = 0; i < n; i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            text[i] = (uint8_t)letters[x % sizeof letters];
        }
        struct walk w = {slice_of(text, n), 0};
        struct slice name, value;
        properties_each(slice_of(text, n), expect_next, &w);
        EXPECT(!properties_next(&w.rest, &name, &value));
        taken += w.taken;
        free(text);
    }
    EXPECT(taken > 20000);
}
