#include "broker/stats/stats.h"

#include "kit/test.h"

static struct stats_sum of(const struct stats *s, enum stats_kind kind, const char *key, enum stats_span span)
{
    struct stats_sum sum;
    EXPECT(stats_of(s, kind, slice_text(key), span, &sum));
    return sum;
}

/* Ticks of ten seconds, each with as many messages. */
static int64_t run(struct stats *s, int64_t now_ms, int ticks, int64_t messages)
{
    for (int i = 0; i < ticks; i++) {
        for (int64_t k = 0; k < messages; k++) stats_add(s, TOPIC_PUT_NUMS, SLICE("T"), 1);
        stats_sample(s, now_ms += STATS_PERIOD_MS);
    }
    return now_ms;
}

TEST(stats, a_minute_an_hour_and_a_day_are_told_by_what_was_then)
{
    struct stats s;
    stats_init(&s);
    int64_t now = run(&s, 1000000, 1, 50);
    EXPECT_EQ(of(&s, TOPIC_PUT_NUMS, "T", SPAN_MINUTE).value, 50);
    EXPECT(of(&s, TOPIC_PUT_NUMS, "T", SPAN_MINUTE).per_second == 5);
    EXPECT_EQ(of(&s, TOPIC_PUT_NUMS, "T", SPAN_HOUR).value, 50);
    now = run(&s, now, 20, 10);
    EXPECT_EQ(of(&s, TOPIC_PUT_NUMS, "T", SPAN_MINUTE).value, 60);
    EXPECT(of(&s, TOPIC_PUT_NUMS, "T", SPAN_MINUTE).per_second == 1);
    EXPECT_EQ(of(&s, TOPIC_PUT_NUMS, "T", SPAN_HOUR).value, 50);   /* the next sample comes after ten minutes */
    run(&s, now, 40 + 60 * 7, 10);
    EXPECT_EQ(of(&s, TOPIC_PUT_NUMS, "T", SPAN_HOUR).value, 3600);
    EXPECT(of(&s, TOPIC_PUT_NUMS, "T", SPAN_HOUR).per_second == 1);
    EXPECT_EQ(of(&s, TOPIC_PUT_NUMS, "T", SPAN_DAY).value, 50 + 360 * 10);
    stats_done(&s);
}

TEST(stats, a_counter_that_comes_late_counts_from_its_beginning)
{
    struct stats s;
    stats_init(&s);
    int64_t now = run(&s, 1000000, 10, 1);
    stats_add_for_group(&s, GROUP_GET_NUMS, SLICE("T"), SLICE("G"), 30);
    EXPECT_EQ(of(&s, GROUP_GET_NUMS, "T@G", SPAN_MINUTE).value, 0);
    run(&s, now, 1, 1);
    EXPECT_EQ(of(&s, GROUP_GET_NUMS, "T@G", SPAN_MINUTE).value, 30);
    EXPECT_EQ(of(&s, GROUP_GET_NUMS, "T@G", SPAN_MINUTE).times, 1);
    EXPECT(stats_group_rate(&s, SLICE("T"), SLICE("G")) == 3);
    EXPECT(stats_group_rate(&s, SLICE("T"), SLICE("H")) == 0);
    stats_done(&s);
}

TEST(stats, what_is_gone_or_silent_for_more_than_a_day_is_forgotten)
{
    struct stats s;
    struct stats_sum sum;
    stats_init(&s);
    stats_add(&s, TOPIC_PUT_SIZE, SLICE("T"), 1);
    stats_add(&s, TOPIC_PUT_SIZE, SLICE("TT"), 1);
    stats_add_for_group(&s, GROUP_GET_SIZE, SLICE("T"), SLICE("G"), 1);
    stats_add_for_group(&s, GROUP_GET_SIZE, SLICE("U"), SLICE("G"), 1);
    stats_forget_topic(&s, SLICE("T"));
    EXPECT(!stats_of(&s, TOPIC_PUT_SIZE, SLICE("T"), SPAN_DAY, &sum));
    EXPECT(!stats_of(&s, GROUP_GET_SIZE, SLICE("T@G"), SPAN_DAY, &sum));
    EXPECT(stats_of(&s, TOPIC_PUT_SIZE, SLICE("TT"), SPAN_DAY, &sum));
    stats_forget_group(&s, SLICE("G"));
    EXPECT(!stats_of(&s, GROUP_GET_SIZE, SLICE("U@G"), SPAN_DAY, &sum));
    run(&s, 1000000, 25 * 360 + 2, 0);
    EXPECT(!stats_of(&s, TOPIC_PUT_SIZE, SLICE("TT"), SPAN_DAY, &sum));
    stats_done(&s);
}

TEST(stats, kinds_are_found_by_their_names)
{
    enum stats_kind kind;
    EXPECT(stats_kind_named(SLICE("SNDBCK_PUT_NUMS"), &kind) && kind == SNDBCK_PUT_NUMS);
    EXPECT(!stats_kind_named(SLICE("TOPIC_PUT"), &kind));
}
