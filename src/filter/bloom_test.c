#include "codec/stored_kit.h"
#include "filter/filter.h"

static struct bloom bloom;

static void check_row(json_t *row)
{
    int32_t positions[BLOOM_POSITIONS_MAX];
    if (!json_object_get(row, "key")) {
        bloom = bloom_of((int32_t)row_number(row, "f"), (int32_t)row_number(row, "n"));
        EXPECT_EQ(bloom.positions, row_number(row, "k"));
        EXPECT_EQ(bloom.bits, row_number(row, "m"));
        return;
    }
    json_t *want = json_object_get(row, "bitPos");
    EXPECT_EQ(json_array_size(want), bloom.positions);
    EXPECT_EQ(row_number(row, "bitNum"), bloom.bits);
    bloom_positions(&bloom, row_text(row, "key"), positions);
    for (int32_t i = 0; i < bloom.positions; i++) EXPECT_EQ(positions[i], json_integer_value(json_array_get(want, (size_t)i)));
}

TEST(bloom, bits_are_those_of_the_original) { each_vector("bloom.jsonl", 36, check_row); }

TEST(bloom, every_setting_makes_one)
{
    for (int32_t error = 1; error < 100; error++) {
        struct bloom b = bloom_of(error, 1);
        EXPECT(b.positions >= 1 && b.positions <= BLOOM_POSITIONS_MAX && b.bits >= 8 && b.bits % 8 == 0);
    }
}
