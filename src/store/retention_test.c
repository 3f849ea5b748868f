/* retention_test.c - topics whose messages are kept for a time of their own. */
#include "store/store_fixture.h"

#include <stdio.h>

enum { HOUR_MS = 3600000, OF_A_FILE = 15, BODY = 4000 };

/* Log files of 64 KiB, which hold OF_A_FILE messages; they go at any hour when they are 72 hours old. */
static struct store_fixture *start(uint64_t seed)
{
    struct store_fixture *f = store_fixture_new(seed);
    f->options.queue_file_entries = 10;
    f->options.clean = (struct clean_options){
        .interval_ms = 10000, .reserved_ms = 72LL * HOUR_MS, .hours = (1u << 24) - 1, .used_percent = 75, .force_percent = 85,
        .full_percent = 90, .may_force = true, .batch = 10,
    };
    sim_fs_set_time(f->disk, f->tasks.wall_ms);
    store_fixture_open(f);
    return f;
}

static void rounds(struct store_fixture *f)
{
    for (int i = 0; i < 8; i++) {
        fake_tasks_advance(&f->tasks, 10000);
        fake_tasks_settle(&f->tasks);
    }
}

static void pass(struct store_fixture *f, int64_t ms)
{
    fake_tasks_advance(&f->tasks, ms);
    fake_tasks_settle(&f->tasks);
    rounds(f);
    sim_fs_set_time(f->disk, f->tasks.wall_ms);
}

static const char *body_of(int i)
{
    static char body[BODY + 1];
    snprintf(body, sizeof body, "%0*d", BODY, i);
    return body;
}

/* Messages number `from` up to `end` of a topic. */
static void fill(struct store_fixture *f, const char *topic, int from, int end)
{
    for (int i = from; i < end; i++) {
        EXPECT_EQ(store_fixture_append(f, topic, 0, body_of(i)).queue_offset, i);
        fake_tasks_settle(&f->tasks);
    }
    fake_tasks_advance(&f->tasks, 2000);   /* synced, and the checkpoint tells it */
    fake_tasks_settle(&f->tasks);
}

static void expect_all(struct store_fixture *f, const char *topic, int from, int end)
{
    EXPECT_EQ(store_fixture_min(f, topic, 0), from);
    EXPECT_EQ(store_fixture_max(f, topic, 0), end);
    for (int i = from; i < end; i++) store_fixture_expect(f, topic, 0, i, body_of(i));
}

static int64_t first_file(struct store_fixture *f) { return store_log_min(f->store) / (64 << 10); }

TEST(retention, a_topic_that_is_to_be_kept_longer_keeps_the_log_files_that_hold_its_messages)
{
    struct store_fixture *f = start(1);
    store_reserve(f->store, SLICE("Long"), 100LL * HOUR_MS);
    fill(f, "T", 0, 2 * OF_A_FILE);
    fill(f, "Long", 0, OF_A_FILE);
    fill(f, "T", 2 * OF_A_FILE, 4 * OF_A_FILE);
    pass(f, 73LL * HOUR_MS);
    EXPECT(first_file(f) > 0);
    int64_t first = first_file(f);
    expect_all(f, "Long", 0, OF_A_FILE);
    rounds(f);
    EXPECT_EQ(first_file(f), first);
    pass(f, 28LL * HOUR_MS);
    EXPECT(first_file(f) > first);
    EXPECT_EQ(store_fixture_min(f, "Long", 0), OF_A_FILE);
    store_fixture_free(f);
}

TEST(retention, what_is_to_be_kept_longer_goes_all_the_same_when_there_is_no_room)
{
    struct store_fixture *f = start(1);
    store_reserve(f->store, SLICE("T"), 1000LL * HOUR_MS);
    fill(f, "T", 0, 6 * OF_A_FILE);
    sim_fs_set_used(f->disk, 89);
    rounds(f);
    EXPECT(first_file(f) > 0);
    store_fixture_free(f);
}

TEST(retention, messages_of_a_topic_that_are_kept_shorter_are_not_shown_any_more_and_their_queue_files_go)
{
    struct store_fixture *f = start(1);
    struct buf text = BUF_EMPTY;
    store_reserve(f->store, SLICE("Short"), HOUR_MS);
    fill(f, "Short", 0, 25);
    fill(f, "T", 0, 3);
    pass(f, HOUR_MS - 600000);
    expect_all(f, "Short", 0, 25);
    fill(f, "Short", 25, 30);
    pass(f, 600000);
    expect_all(f, "Short", 25, 30);
    expect_all(f, "T", 0, 3);
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("Short"), 0, 0, BOUNDARY_LOWER), 25);
    struct file_info info;
    EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/consumequeue/Short/0/00000000000000000000", &info), ERR_NOT_FOUND);
    pass(f, HOUR_MS);
    expect_all(f, "Short", 30, 30);
    EXPECT_EQ(store_fixture_read(f, "Short", 0, 29, &text), READ_OFFSET_TOO_SMALL);
    EXPECT_EQ(store_fixture_read(f, "Short", 0, 30, &text), READ_OFFSET_AT_END);
    fill(f, "Short", 30, 31);
    expect_all(f, "Short", 30, 31);
    store_fixture_close(f);
    store_fixture_open(f);
    store_reserve(f->store, SLICE("Short"), HOUR_MS);
    rounds(f);
    expect_all(f, "Short", 30, 31);
    buf_done(&text);
    store_fixture_free(f);
}

TEST(retention, what_is_not_shown_is_shown_again_while_it_is_there_when_the_rule_is_lifted)
{
    struct store_fixture *f = start(1);
    store_reserve(f->store, SLICE("Short"), HOUR_MS);
    fill(f, "Short", 0, 5);
    pass(f, 2LL * HOUR_MS);
    expect_all(f, "Short", 5, 5);
    store_reserve(f->store, SLICE("Short"), 5LL * HOUR_MS);
    rounds(f);
    expect_all(f, "Short", 0, 5);
    store_reserve(f->store, SLICE("Short"), HOUR_MS);
    rounds(f);
    expect_all(f, "Short", 5, 5);
    store_reserve(f->store, SLICE("Short"), -1);
    expect_all(f, "Short", 0, 5);
    store_fixture_free(f);
}

TEST(retention, a_topic_that_is_made_again_has_the_usual_time_again)
{
    struct store_fixture *f = start(1);
    store_reserve(f->store, SLICE("T"), HOUR_MS);
    fill(f, "T", 0, 5);
    pass(f, 2LL * HOUR_MS);
    expect_all(f, "T", 5, 5);
    store_delete_topic(f->store, SLICE("T"));
    fake_tasks_settle(&f->tasks);
    fill(f, "T", 0, 5);
    pass(f, 2LL * HOUR_MS);
    expect_all(f, "T", 0, 5);
    store_reserve(f->store, SLICE("T"), INT64_MAX);
    rounds(f);
    expect_all(f, "T", 0, 5);
    store_fixture_free(f);
}

TEST(retention, a_fault_at_any_call_loses_nothing_that_was_to_stay)
{
    for (uint64_t nth = 1; nth < 60; nth++) {
        struct store_fixture *f = start(nth);
        store_reserve(f->store, SLICE("T"), 80LL * HOUR_MS);
        fill(f, "Old", 0, 2 * OF_A_FILE);
        fill(f, "T", 0, 3 * OF_A_FILE);
        sim_fs_fail(f->disk, SIM_ANY & ~SIM_SYNC, nth, false, ERR_IO);
        pass(f, 73LL * HOUR_MS);
        sim_fs_heal(f->disk);
        rounds(f);
        EXPECT(first_file(f) >= 1);
        expect_all(f, "T", 0, 3 * OF_A_FILE);
        pass(f, 8LL * HOUR_MS);
        int64_t min = store_fixture_min(f, "T", 0);
        EXPECT(min > 0);
        expect_all(f, "T", (int)min, 3 * OF_A_FILE);
        store_fixture_free(f);
    }
}

TEST(retention, nothing_of_it_needs_a_queue_in_memory)
{
    struct store_fixture *f = start(1);
    store_reserve(f->store, SLICE("T"), HOUR_MS);
    fill(f, "T", 0, 3 * OF_A_FILE);
    pass(f, 50LL * 60000);
    fill(f, "T", 3 * OF_A_FILE, 4 * OF_A_FILE);
    store_fixture_evict(f);
    pass(f, 20LL * 60000);
    expect_all(f, "T", 3 * OF_A_FILE, 4 * OF_A_FILE);
    store_fixture_free(f);
}
