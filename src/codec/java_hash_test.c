#include "codec/java_hash.h"

#include "codec/stored_kit.h"

static void check_string(json_t *row)
{
    struct buf utf8 = row_bytes(row, "utf8");
    EXPECT_EQ(java_hash(buf_slice(&utf8)), row_number(row, "hash"));
    buf_done(&utf8);
}

static void check_tags(json_t *row) { EXPECT_EQ(tags_hash(row_text(row, "tags")), row_number(row, "single")); }

TEST(java_hash, agrees_with_java_on_all_golden_texts) { each_vector("java_string_hash.jsonl", 200, check_string); }
TEST(java_hash, of_tags_is_that_of_the_whole_text) { each_vector("tags_code.jsonl", 10, check_tags); }

TEST(java_hash, counts_bytes_that_are_no_text_as_replacements)
{
    EXPECT_EQ(java_hash(SLICE("\xff")), 0xFFFD);
    EXPECT_EQ(java_hash(SLICE("\xe4\xb8")), 0xFFFD);               /* cut off: one for both bytes */
    EXPECT_EQ(java_hash(SLICE("\xc0\x80")), 31 * 0xFFFD + 0xFFFD); /* too long a form: one each */
}

TEST(java_hash, goes_on_from_any_letter_of_a_text)
{
    const struct slice text = SLICE("0123456789ABCDEF\x7f~{}|#T#abcdefghijklmnopqrstuvwxyz");
    uint32_t one_by_one = 0;
    for (size_t i = 0; i < text.n; i++) {
        one_by_one = one_by_one * 31 + text.p[i];
        for (size_t cut = 0; cut <= i + 1; cut++) {
            int32_t first = java_hash((struct slice){text.p, cut});
            EXPECT_EQ(java_hash_more(first, (struct slice){text.p + cut, i + 1 - cut}), (int32_t)one_by_one);
        }
    }
}
