#include "store/store_fixture.h"

#include <stdio.h>

enum { HOUR_MS = 3600000, BODY = 4000 };

/* Files of 64 KiB, queue files of 10 entries; old files go at any hour when they are a day old, unless a test says otherwise. */
static struct store_fixture *begin(uint64_t seed)
{
    struct store_fixture *f = store_fixture_new(seed);
    f->options.queue_file_entries = 10;
    f->options.index = true;
    f->options.index_slots = 10;
    f->options.index_entries = 20;
    f->options.clean = (struct clean_options){
        .interval_ms = 10000, .reserved_ms = 24 * HOUR_MS, .hours = (1u << 24) - 1, .used_percent = 75, .force_percent = 85,
        .full_percent = 90, .may_force = true, .batch = 10,
    };
    sim_fs_set_time(f->disk, f->tasks.wall_ms);
    store_fixture_open(f);
    return f;
}

/* Time passes, for the disk too; everything that is due is done. */
static void pass(struct store_fixture *f, int64_t ms)
{
    for (int64_t step; ms > 0; ms -= step) {
        step = ms > 5000 && ms < HOUR_MS ? 5000 : ms;
        fake_tasks_advance(&f->tasks, step);
        fake_tasks_settle(&f->tasks);
    }
    sim_fs_set_time(f->disk, f->tasks.wall_ms);
}

static void fill(struct store_fixture *f, int count)
{
    char body[BODY + 1];
    memset(body, 'x', BODY);
    body[BODY] = 0;
    for (int i = 0; i < count; i++) {
        struct message m = store_fixture_message("T", 0, body);
        struct appended out;
        m.keys_known = true;
        m.unique_key = SLICE("U");
        EXPECT_OK(store_fixture_try(f, &m, &out));
        fake_tasks_settle(&f->tasks);
    }
    pass(f, 2000);   /* synced, and the checkpoint tells it */
}

static int64_t log_min(struct store_fixture *f) { return store_log_min(f->store); }
static int64_t queue_min(struct store_fixture *f) { return store_min_offset(f->store, SLICE("T"), 0); }

static void count_name(void *ctx, const char *name)
{
    (void)name;
    ++*(size_t *)ctx;
}

static size_t files_in(struct store_fixture *f, const char *folder)
{
    size_t n = 0;
    EXPECT_OK(fs_list(sim_fs_disk(f->disk), folder, count_name, &n));
    return n;
}

static enum read_status status_at(struct store_fixture *f, int64_t offset, int64_t *next)
{
    struct read_result r;
    struct read_request q = {.topic = SLICE("T"), .offset = offset, .max_messages = 1, .max_bytes = 1 << 20, .max_scan = 100};
    store_read(f->store, &q, &r);
    *next = r.next_offset;
    enum read_status status = r.status;
    read_result_release(&r);
    return status;
}

/* From the first to the last offset, all are there. */
static void expect_whole(struct store_fixture *f, int64_t end)
{
    int64_t next;
    EXPECT_EQ(store_fixture_max(f, "T", 0), end);
    for (int64_t at = queue_min(f); at < end; at++) EXPECT_EQ(status_at(f, at, &next), READ_FOUND);
    EXPECT_EQ(status_at(f, queue_min(f), &next), queue_min(f) < end ? READ_FOUND : READ_OFFSET_AT_END);
}

TEST(clean, old_log_files_go_and_their_queue_entries_and_keys_with_them)
{
    struct store_fixture *f = begin(1);
    int64_t next;
    fill(f, 100);
    size_t queue_files = files_in(f, "/store/consumequeue/T/0"), index_files = files_in(f, "/store/index");
    EXPECT(log_min(f) == 0);
    pass(f, 23 * HOUR_MS);
    EXPECT(log_min(f) == 0);
    fill(f, 1);
    pass(f, 2 * HOUR_MS);
    pass(f, 60000);
    EXPECT(log_min(f) > 0);
    EXPECT(queue_min(f) > 0);
    EXPECT(files_in(f, "/store/consumequeue/T/0") < queue_files);
    EXPECT(files_in(f, "/store/index") < index_files);
    EXPECT_EQ(status_at(f, 0, &next), READ_OFFSET_TOO_SMALL);
    EXPECT_EQ(next, queue_min(f));
    expect_whole(f, 101);
    store_fixture_close(f);
    store_fixture_open(f);
    EXPECT(queue_min(f) > 0);
    expect_whole(f, 101);
    store_fixture_free(f);
}

TEST(clean, the_last_file_stays_however_old_it_is)
{
    struct store_fixture *f = begin(2);
    fill(f, 3);
    pass(f, 1000 * (int64_t)HOUR_MS);
    pass(f, 60000);
    expect_whole(f, 3);
    EXPECT_EQ(queue_min(f), 0);
    store_fixture_free(f);
}

TEST(clean, old_files_wait_for_their_hour_unless_the_disk_fills)
{
    struct store_fixture *f = begin(3);
    store_fixture_close(f);
    f->options.clean.hours = 0;
    store_fixture_open(f);
    fill(f, 60);
    pass(f, 100 * (int64_t)HOUR_MS);
    pass(f, 60000);
    EXPECT_EQ(log_min(f), 0);
    sim_fs_set_used(f->disk, 75);
    pass(f, 60000);
    EXPECT_EQ(log_min(f), 0);
    sim_fs_set_used(f->disk, 76);
    pass(f, 60000);
    EXPECT(log_min(f) > 0);
    expect_whole(f, 60);
    store_fixture_free(f);
}

TEST(clean, files_go_before_they_are_old_when_the_disk_is_nearly_full_and_only_where_that_is_allowed)
{
    struct store_fixture *f = begin(4);
    fill(f, 60);
    sim_fs_set_used(f->disk, 85);
    pass(f, 60000);
    EXPECT_EQ(log_min(f), 0);
    store_fixture_close(f);
    f->options.clean.may_force = false;
    store_fixture_open(f);
    sim_fs_set_used(f->disk, 86);
    pass(f, 60000);
    EXPECT_EQ(log_min(f), 0);
    store_fixture_close(f);
    f->options.clean.may_force = true;
    f->options.clean.batch = 1;
    store_fixture_open(f);
    pass(f, 60000);
    EXPECT(log_min(f) >= 3 * f->options.log_file_bytes);
    expect_whole(f, 60);
    store_fixture_free(f);
}

TEST(clean, a_nearly_full_disk_takes_no_messages_gives_what_it_has_and_takes_them_again_within_seconds)
{
    struct store_fixture *f = begin(5);
    const char *why;
    fill(f, 2);
    sim_fs_set_used(f->disk, 91);
    pass(f, 10000);
    struct message m = store_fixture_message("T", 0, "refused");
    struct appended out;
    err_t e = store_fixture_try(f, &m, &out);
    EXPECT_EQ(err_code(e), ERR_DISK_FULL);
    EXPECT(strstr(err_text(e), "91 percent full"));
    err_free(e);
    EXPECT(!store_is_writable(f->store, &why));
    expect_whole(f, 2);
    sim_fs_set_used(f->disk, 90);
    pass(f, 2000);
    EXPECT(store_is_writable(f->store, &why));
    fill(f, 1);
    expect_whole(f, 3);
    store_fixture_free(f);
}

TEST(clean, a_file_that_is_being_read_lives_until_its_reader_is_done)
{
    struct store_fixture *f = begin(6);
    fill(f, 60);
    struct read_result r;
    struct read_request q = {.topic = SLICE("T"), .offset = 0, .max_messages = 1, .max_bytes = 1 << 20, .max_scan = 100};
    store_read(f->store, &q, &r);
    EXPECT_EQ(r.status, READ_FOUND);
    sim_fs_set_used(f->disk, 86);
    pass(f, 60000);
    EXPECT(log_min(f) > 0);
    struct slice bytes = r.slice[0].bytes;
    EXPECT(memmem(bytes.p, bytes.n, "xxxxxxxx", 8));
    read_result_release(&r);
    expect_whole(f, 60);
    store_fixture_free(f);
}

TEST(clean, a_removal_that_fails_is_tried_again)
{
    struct store_fixture *f = begin(7);
    fill(f, 60);
    sim_fs_set_used(f->disk, 86);
    sim_fs_fail(f->disk, SIM_NAME, 1, true, ERR_IO);
    pass(f, 30000);
    EXPECT_EQ(log_min(f), 0);
    sim_fs_heal(f->disk);
    pass(f, 30000);
    EXPECT(log_min(f) > 0);
    expect_whole(f, 60);
    store_fixture_free(f);
}

/* At every moment of a cleaning the power may go: what is behind the first message that is still there is whole. */
TEST(clean, a_power_cut_in_the_middle_leaves_every_message_behind_the_first_that_is_left)
{
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct store_fixture *f = begin(seed);
        fill(f, 60);
        sim_fs_set_used(f->disk, 86);
        for (uint64_t step = 0; step < seed % 23; step++) {
            fake_tasks_advance(&f->tasks, 100);
            if (step % 3) fake_tasks_run_work(&f->tasks);
        }
        store_fixture_cut_power(f);
        store_fixture_open(f);
        expect_whole(f, 60);
        pass(f, 60000);
        EXPECT(log_min(f) > 0);
        expect_whole(f, 60);
        fill(f, 1);
        expect_whole(f, 61);
        store_fixture_free(f);
    }
}

TEST(clean, old_files_go_when_somebody_asks_at_another_hour_and_young_ones_do_not)
{
    struct store_fixture *f = begin(8);
    store_fixture_close(f);
    f->options.clean.hours = 0;
    f->options.clean.batch = 1;
    store_fixture_open(f);
    fill(f, 60);
    store_clean_now(f->store);
    pass(f, 60000);
    EXPECT_EQ(log_min(f), 0);
    pass(f, 25 * HOUR_MS);
    pass(f, 60000);
    EXPECT_EQ(log_min(f), 0);
    store_clean_now(f->store);
    pass(f, 60000);
    EXPECT(log_min(f) >= 2 * f->options.log_file_bytes);
    int64_t min = log_min(f);
    fill(f, 60);
    pass(f, 25 * HOUR_MS);
    pass(f, 60000);
    EXPECT_EQ(log_min(f), min);   /* asked once is not asked for ever */
    expect_whole(f, 120);
    store_fixture_free(f);
}
