#include "codec/delay_levels.h"

#include "codec/stored_kit.h"

TEST(delay_levels, wait_as_long_as_the_originals)
{
    struct buf file = test_fixture("vectors/delay_levels.json");
    json_t *all = json_loadb((const char *)file.p, file.n, 0, NULL), *row;
    struct delay_levels levels;
    size_t at, checked = 0;
    EXPECT_OK(delay_levels_parse(row_text(all, "levels"), &levels));
    EXPECT_EQ(levels.count, 18);
    EXPECT(memcmp(&levels, &delay_levels_default, sizeof levels) == 0);
    json_array_foreach(json_object_get(all, "table"), at, row)
    {
        if (row_number(row, "level") > 18) continue;   /* there it asks for one that no entry is made with: the highest counts */
        EXPECT_EQ(delay_levels_ms(&levels, row_number(row, "level")), row_number(row, "deliverAfterMs"));
        checked++;
    }
    EXPECT_EQ(checked, 20);
    EXPECT_EQ(delay_levels_ms(&levels, 19), 7200000);
    json_decref(all);
    buf_done(&file);
}

TEST(delay_levels, are_read_in_all_units_and_the_mistake_is_named)
{
    static const char *const wrong[] = {"", " ", "1", "s", "1s 5x", "1s -5s", "1s 99999999999999d", "1 s", "1.5s"};
    struct delay_levels levels = {.count = 7};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) EXPECT_ERR(delay_levels_parse(slice_text(wrong[i]), &levels), ERR_CONFIG);
    EXPECT_EQ(levels.count, 7);
    EXPECT_OK(delay_levels_parse(SLICE(" 0s 2s  3m 4h 5d "), &levels));
    EXPECT_EQ(levels.count, 5);
    EXPECT_EQ(delay_levels_ms(&levels, 1), 0);
    EXPECT_EQ(delay_levels_ms(&levels, 4), 4 * 3600000);
    EXPECT_EQ(delay_levels_ms(&levels, 5), 5 * 86400000ll);
}

TEST(delay_levels, more_than_anybody_means_are_refused)
{
    struct buf text = BUF_EMPTY;
    struct delay_levels levels;
    for (int i = 0; i < DELAY_LEVELS_MAX; i++) buf_put_text(&text, "1s ");
    EXPECT_OK(delay_levels_parse(buf_slice(&text), &levels));
    EXPECT_EQ(levels.count, DELAY_LEVELS_MAX);
    buf_put_text(&text, "1s");
    EXPECT_ERR(delay_levels_parse(buf_slice(&text), &levels), ERR_CONFIG);
    buf_done(&text);
}
