#include "codec/timer.h"

#include "kit/test.h"

TEST(timer, a_unit_comes_back_as_it_was_and_lies_where_the_original_has_its_fields)
{
    struct timer_unit u = {.before = 104, .flags = TIMER_NORMAL | TIMER_ROLLS, .added_ms = 1700000000000, .delay_ms = 5000, .log_offset = 4096, .size = 333, .topic_hash = -7};
    struct timer_unit back;
    uint8_t p[TIMER_UNIT_BYTES];
    timer_unit_encode(&u, p);
    EXPECT_EQ(get_be32(p), 52);
    EXPECT_EQ(get_be64(p + 4), 104);
    EXPECT_EQ(get_be32(p + 12), 3);
    EXPECT_EQ(get_be64(p + 16), 1700000000000);
    EXPECT_EQ(get_be32(p + 24), 5000);
    EXPECT_EQ(get_be64(p + 28), 4096);
    EXPECT_EQ(get_be32(p + 36), 333);
    EXPECT_EQ((int32_t)get_be32(p + 40), -7);
    EXPECT(timer_unit_decode(p, 156, &back));
    EXPECT_EQ(back.before, 104);
    EXPECT_EQ(back.topic_hash, -7);
    EXPECT_EQ(timer_unit_time_ms(&back), 1700000005000);
}

TEST(timer, what_cannot_be_a_unit_is_none)
{
    struct timer_unit u = {.before = -1, .flags = TIMER_NORMAL, .added_ms = 1, .log_offset = 0, .size = 100}, back;
    uint8_t good[TIMER_UNIT_BYTES], p[TIMER_UNIT_BYTES];
    timer_unit_encode(&u, good);
    EXPECT(timer_unit_decode(good, 0, &back));
    static const size_t broken[] = {0, 3, 4, 12, 16, 28, 36};   /* size, size, before, flags, added, log_offset, size */
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        memcpy(p, good, sizeof p);
        p[broken[i]] ^= 0x80;
        if (broken[i] == 4) p[4] = 0x7F;   /* behind itself */
        EXPECT(!timer_unit_decode(p, 0, &back));
    }
    memset(p, 0, sizeof p);
    EXPECT(!timer_unit_decode(p, 0, &back));
    for (size_t cut = 0; cut < 40; cut++) {   /* a sector that was not written reads as zeros */
        memcpy(p, good, sizeof p);
        memset(p + cut, 0, sizeof p - cut);
        EXPECT(!timer_unit_decode(p, 0, &back));
    }
}

TEST(timer, a_file_of_the_log_ends_with_a_blank)
{
    uint8_t p[TIMER_BLANK_BYTES];
    timer_blank_encode(60, p);
    EXPECT(timer_is_blank(p));
    EXPECT_EQ(get_be32(p), 60);
    EXPECT_EQ(get_be32(p + 12), 0xCBD43194);
    EXPECT(timer_unit_fits(1000, 1000 - 68));
    EXPECT(!timer_unit_fits(1000, 1000 - 67));
}

TEST(timer, a_slot_that_names_nothing_is_empty)
{
    struct timer_slot s = {.time = 1700000000, .first = 0, .last = 52, .count = 2}, back;
    uint8_t p[TIMER_SLOT_BYTES];
    timer_slot_encode(&s, p);
    timer_slot_decode(p, &back);
    EXPECT_EQ(back.time, 1700000000);
    EXPECT_EQ(back.last, 52);
    EXPECT_EQ(back.count, 2);
    memset(p, 0, sizeof p);
    timer_slot_decode(p, &back);
    EXPECT_EQ(back.last, -1);
    s.first = 100;
    timer_slot_encode(&s, p);
    timer_slot_decode(p, &back);
    EXPECT_EQ(back.last, -1);
}

TEST(timer, a_checkpoint_tells_whether_the_original_wrote_it_last)
{
    struct timer_check c = {1700000000000, 5200, 100, 100, 0, 1700000000001, 7, 1000, 77}, back;
    uint8_t p[TIMER_CHECK_BYTES];
    timer_check_encode(&c, p);
    timer_check_decode(slice_of(p, sizeof p), &back);
    EXPECT(memcmp(&c, &back, sizeof c) == 0);
    EXPECT_EQ(get_be64(p + 16), 100);
    put_be64(p + 48, 8);
    timer_check_decode(slice_of(p, sizeof p), &back);
    EXPECT_EQ(back.tick_ms, 0);
    EXPECT_EQ(back.log_offset, -1);
    EXPECT_EQ(back.flushed, 5200);
    for (size_t n = 0; n < 56; n += 8) {
        timer_check_decode(slice_of(p, n), &back);
        EXPECT_EQ(back.counter, 0);
    }
}
