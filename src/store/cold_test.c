/* cold_test.c - what is not in memory. The disk of these tests kills whoever touches it without having it fetched. */
#include "store/store_fixture.h"

#include "codec/record.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 400, BODY_BYTES = 1000 };

/* Valid until the next call. */
static const char *body_of(int i)
{
    static char body[BODY_BYTES + 1];
    snprintf(body, sizeof body, "%0*d", BODY_BYTES, i);
    return body;
}

/* Messages of two topics by turns, so that a reader of one has gaps. */
static struct store_fixture *filled_in_files(int count, int64_t log_file_bytes)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.log_file_bytes = log_file_bytes;
    f->options.index = true;
    f->options.index_slots = 100;
    f->options.index_entries = 10000;
    store_fixture_open(f);
    for (int i = 0; i < count; i++) {
        struct message m = store_fixture_message(i % 2 ? "Odd" : "Even", 0, body_of(i));
        char properties[40];
        snprintf(properties, sizeof properties, "KEYS\x01key%d\x02", i);
        m.properties = slice_text(properties);
        m.key_words = slice_of((const uint8_t *)properties + 5, strlen(properties) - 6);
        struct appended a;
        EXPECT_OK(store_fixture_try(f, &m, &a));
        fake_tasks_advance(&f->tasks, 10);
    }
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->stored, count);
    return f;
}

static struct store_fixture *filled(int count) { return filled_in_files(count, 256 << 10); }

static void read_some(struct store_fixture *f, int64_t offset, int32_t count, struct read_result *out)
{
    struct read_request r = {.topic = SLICE("Even"), .offset = offset, .max_messages = count, .max_bytes = 1 << 20, .max_scan = 100};
    store_read(f->store, &r, out);
}

TEST(cold, a_read_of_what_is_not_in_memory_gives_up_and_finds_it_when_it_was_fetched)
{
    struct store_fixture *f = filled(MESSAGES);
    struct read_result r;
    read_some(f, 0, 32, &r);
    EXPECT(!store_is_cold(f->store) && r.messages == 32);   /* written a moment ago */
    read_result_release(&r);
    store_fixture_evict(f);
    uint64_t jobs = f->tasks.jobs_given;
    read_some(f, 0, 32, &r);
    EXPECT(store_is_cold(f->store) && r.slices == 0);
    EXPECT_EQ(f->tasks.jobs_given, jobs);   /* nothing happens unless somebody waits for it */
    store_fixture_fetch(f);
    for (read_some(f, 0, 32, &r); store_is_cold(f->store); read_some(f, 0, 32, &r)) store_fixture_fetch(f);
    EXPECT(r.status == READ_FOUND && r.messages > 0 && r.next_offset == r.messages);
    read_result_release(&r);
    store_fixture_free(f);
}

struct judge {
    int seen;
    int most;              /* then it has had enough */
    bool enough;
};

static bool judge(void *ctx, struct slice record)
{
    struct judge *j = ctx;
    (void)record;
    j->seen++;
    j->enough = j->seen >= j->most;
    return false;
}

/* Reads until the end of the queue as who is told to go on does; returns how many reads that took. */
static int judge_all(struct store_fixture *f, struct judge *j)
{
    struct read_filter filter = {.record = judge, .ctx = j, .enough = &j->enough};
    struct read_request r = {.topic = SLICE("Even"), .max_messages = 32, .max_bytes = 1 << 20, .max_scan = 1000, .filter = &filter};
    struct read_result out;
    int reads = 0;
    while (r.offset < MESSAGES / 2) {
        j->enough = false;
        if (j->most < MESSAGES) j->seen = 0;
        store_read(f->store, &r, &out);
        if (store_is_cold(f->store)) {
            store_fixture_fetch(f);
            continue;
        }
        EXPECT_EQ(out.status, READ_NO_MATCH);
        EXPECT(out.next_offset > r.offset);
        r.offset = out.next_offset;
        reads++;
    }
    return reads;
}

TEST(cold, a_filter_that_reads_records_judges_each_of_them_once)
{
    struct store_fixture *f = filled(MESSAGES);
    struct judge j = {.most = 1 << 30};
    store_fixture_evict(f);
    EXPECT(judge_all(f, &j) > 1);           /* each ends where the memory does */
    EXPECT_EQ(j.seen, MESSAGES / 2);
    store_fixture_free(f);
}

TEST(cold, a_filter_that_has_had_enough_ends_its_read_in_front_of_the_next_message)
{
    struct store_fixture *f = filled(MESSAGES);
    struct judge j = {.most = 7};
    EXPECT_EQ(judge_all(f, &j), (MESSAGES / 2 + 6) / 7);
    store_fixture_free(f);
}

TEST(cold, a_reader_that_goes_on_and_on_is_read_ahead_of)
{
    struct store_fixture *f = filled(2 * MESSAGES);
    struct buf body = BUF_EMPTY;
    store_fixture_evict(f);
    for (int64_t at = 0; at < MESSAGES; at++) {
        buf_clear(&body);
        EXPECT_EQ(store_fixture_read(f, "Even", 0, at, &body), READ_FOUND);
        EXPECT_TEXT(buf_slice(&body), body_of((int)(2 * at)));
    }
    EXPECT(f->fetches > 1);
    EXPECT(f->fetches < 60);   /* of 400 records in four log files and four files of a queue */
    buf_done(&body);
    store_fixture_free(f);
}

TEST(cold, what_is_in_memory_goes_out_before_the_rest_is_fetched)
{
    struct store_fixture *f = filled(MESSAGES);
    struct read_result r;
    store_fixture_evict(f);
    store_fixture_expect(f, "Even", 0, 0, body_of(0));   /* fetches the record, and some of what is behind it */
    read_some(f, 0, 200, &r);
    EXPECT(!store_is_cold(f->store) && r.messages >= 1 && r.messages < 200);
    EXPECT_EQ(r.next_offset, r.messages);
    read_result_release(&r);
    store_fixture_free(f);
}

/* Asks until all is in memory. */
#define WARM(f, call) for ((call); store_is_cold((f)->store); (call)) store_fixture_fetch(f)

TEST(cold, times_places_and_ends_are_the_same_as_when_all_is_in_memory)
{
    struct store_fixture *f = filled(MESSAGES);
    int64_t zero = 1700000000000, at, min;
    struct pinned record;
    err_t e;
    for (int i = 1; i < MESSAGES; i += 37) {
        int64_t ms = zero + (int64_t)i * 10;   /* when message i was stored; the even ones are in this queue */
        store_fixture_evict(f);
        WARM(f, at = store_offset_by_time(f->store, SLICE("Even"), 0, ms, BOUNDARY_LOWER));
        EXPECT_EQ(at, (i + 1) / 2);
        store_fixture_evict(f);
        WARM(f, at = store_offset_by_time(f->store, SLICE("Even"), 0, ms, BOUNDARY_UPPER));
        EXPECT_EQ(at, i / 2);
    }
    EXPECT(f->fetches > 11);
    store_fixture_evict(f);
    WARM(f, at = store_time_of(f->store, SLICE("Odd"), 0, 3));
    EXPECT_EQ(at, zero + 70);
    store_fixture_evict(f);
    WARM(f, min = store_min_offset(f->store, SLICE("Odd"), 0));
    EXPECT_EQ(min, 0);
    e = store_record_at(f->store, 0, &record);
    EXPECT_EQ(err_code(e), ERR_NOT_IN_MEMORY);
    err_free(e);
    store_fixture_fetch(f);
    EXPECT_OK(store_record_at(f->store, 0, &record));
    pin_release(&record);
    store_fixture_free(f);
}

static void on_found(void *ctx, struct store_found *found)
{
    int64_t *offset = ctx;
    struct message m;
    *offset = -1;
    if (found->count == 1 && record_read(found->record[0].bytes, &m) == RECORD_WHOLE) *offset = m.queue_offset;
    for (size_t i = 0; i < found->count; i++) pin_release(&found->record[i]);
}

TEST(cold, a_message_is_found_by_its_key_whether_or_not_it_is_in_memory)
{
    struct store_fixture *f = filled(MESSAGES);
    int64_t offset = -2;
    struct store_find find = {.topic = SLICE("Odd"), .key = SLICE("key77"), .end_ms = INT64_MAX, .max = 10};
    fake_tasks_advance(&f->tasks, 5000);   /* the index has it */
    fake_tasks_settle(&f->tasks);
    store_fixture_evict(f);
    store_find(f->store, &find, on_found, &offset);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(offset, 38);
    store_fixture_free(f);
}

TEST(cold, a_record_that_the_disk_cannot_read_is_left_out_and_reported_and_the_rest_is_served)
{
    struct store_fixture *f = filled(MESSAGES);
    store_fixture_evict(f);
    store_fixture_expect(f, "Even", 0, 150, body_of(300));   /* the queue's entries are in memory now */
    struct read_result r;
    read_some(f, 100, 1, &r);
    EXPECT(store_is_cold(f->store));
    sim_fs_fail(f->disk, SIM_READ, 1, false, ERR_IO);
    store_fixture_fetch(f);
    EXPECT_EQ(store_counts(f->store).damaged, 1);
    for (read_some(f, 100, 1, &r); store_is_cold(f->store); read_some(f, 100, 1, &r)) store_fixture_fetch(f);
    EXPECT(r.status == READ_FOUND && r.messages == 1 && r.next_offset == 102);
    read_result_release(&r);
    store_fixture_free(f);
}

TEST(cold, entries_of_a_queue_that_the_disk_cannot_read_once_are_read_the_next_time)
{
    struct store_fixture *f = filled(MESSAGES);
    struct read_result r;
    store_fixture_evict(f);
    read_some(f, 100, 1, &r);
    EXPECT(store_is_cold(f->store));
    sim_fs_fail(f->disk, SIM_READ, 1, false, ERR_IO);
    store_fixture_fetch(f);
    store_fixture_expect(f, "Even", 0, 100, body_of(200));
    EXPECT_EQ(store_counts(f->store).damaged, 0);
    store_fixture_free(f);
}

struct waiting {
    struct store_fetch fetch;
    int told;
};

static void tell(struct store_fetch *f) { LIST_OWNER(f, struct waiting, fetch)->told++; }

TEST(cold, few_jobs_at_a_time_leave_workers_for_who_syncs)
{
    enum { READERS = 30 };
    struct store_fixture *f = filled(MESSAGES);
    struct waiting w[READERS];
    struct read_result r;
    store_fixture_evict(f);
    for (int i = 0; i < 4; i++) store_fixture_expect(f, "Even", 0, i * 50, body_of(i * 100));
    store_fixture_evict(f);
    uint64_t jobs = f->tasks.jobs_given;
    for (int i = 0; i < READERS; i++) {
        w[i] = (struct waiting){.fetch = {.done = tell}};
        read_some(f, i, 1, &r);
        EXPECT(store_is_cold(f->store));
        store_fetch(f->store, &w[i].fetch);
    }
    EXPECT_EQ(f->tasks.jobs_given - jobs, 8);
    fake_tasks_settle(&f->tasks);
    for (int i = 0; i < READERS; i++) EXPECT(w[i].told == 1 && !w[i].fetch.job);
    store_fixture_free(f);
}

/* Reads on behind `*at`, up to `ms` later, and lets the loop turn; returns how many messages came. w NULL: reads nothing. */
static int64_t read_on(struct store_fixture *f, struct waiting *w, int64_t *at, int64_t ms)
{
    int64_t from = *at;
    struct read_result r;
    for (int64_t i = 0; i < ms; i++) {
        while (w && !w->fetch.job) {
            read_some(f, *at, 32, &r);
            if (store_is_cold(f->store)) store_fetch(f->store, &w->fetch);
            else if (!r.messages) return *at - from;
            else *at = r.next_offset;
            read_result_release(&r);
        }
        fake_tasks_advance(&f->tasks, 1);
        fake_tasks_run_work(&f->tasks);
    }
    return *at - from;
}

/* What is not on the disk yet stays in memory. */
static void evict_all(struct store_fixture *f)
{
    for (int i = 0; i < 4; i++) {
        fake_tasks_advance(&f->tasks, 5000);
        fake_tasks_settle(&f->tasks);
    }
    store_fixture_evict(f);
}

TEST(cold, who_reads_the_past_gets_a_share_of_a_busy_loop_and_all_of_an_idle_one)
{
    struct store_fixture *f = filled_in_files(20 * MESSAGES, 16 << 20);
    struct waiting w = {.fetch = {.done = tell}};
    int64_t at = 0;
    evict_all(f);
    int64_t idle = read_on(f, &w, &at, 40);
    store_fixture_free(f);

    f = filled_in_files(20 * MESSAGES, 16 << 20);
    w = (struct waiting){.fetch = {.done = tell}};
    at = 0;
    evict_all(f);
    int64_t busy = 0;
    for (int i = 0; i < 85; i++) {   /* a loop that has been busy for a while when he comes */
        for (int k = 0; k < 20; k++) store_fixture_append(f, "New", 0, body_of(k));   /* 20 MB a second */
        f->tasks.busy_us += 1000;
        busy += i < 45 ? read_on(f, NULL, &at, 1) : read_on(f, &w, &at, 1);
    }
    EXPECT(busy > 0 && busy * 4 < idle);
    f->tasks.busy_us = 0;
    while (at < 10 * MESSAGES && read_on(f, &w, &at, 100)) continue;
    EXPECT_EQ(at, 10 * MESSAGES);   /* he gets everything */
    store_fixture_free(f);
}

TEST(cold, who_waits_is_told_when_the_store_is_closed_and_who_gave_up_is_not)
{
    struct store_fixture *f = filled(MESSAGES);
    struct waiting stays[20], leaves = {.fetch = {.done = tell}};
    struct read_result r;
    store_fixture_evict(f);
    read_some(f, 0, 1, &r);
    store_fetch(f->store, &leaves.fetch);
    for (int i = 0; i < 20; i++) {   /* some of them run, some still wait for their turn */
        stays[i] = (struct waiting){.fetch = {.done = tell}};
        read_some(f, i, 1, &r);
        store_fetch(f->store, &stays[i].fetch);
    }
    store_fetch_cancel(&leaves.fetch);
    EXPECT_OK(store_close(f->store));
    f->store = NULL;
    for (int i = 0; i < 20; i++) EXPECT_EQ(stays[i].told, 1);
    fake_tasks_settle(&f->tasks);   /* jobs that were under way end, and release the store */
    for (int i = 0; i < 20; i++) EXPECT_EQ(stays[i].told, 1);
    EXPECT_EQ(leaves.told, 0);
    store_fixture_free(f);
}

TEST(cold, files_of_a_queue_are_cleaned_though_its_entries_are_not_in_memory)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.clean = (struct clean_options){
        .interval_ms = 10000, .used_percent = 75, .force_percent = 85, .full_percent = 90, .may_force = true, .batch = 10,
    };
    f->options.queue_file_entries = 10;
    store_fixture_open(f);
    for (int i = 0; i < 500; i++) {
        store_fixture_append(f, "Even", 0, body_of(i));
        fake_tasks_advance(&f->tasks, 20);
    }
    fake_tasks_settle(&f->tasks);
    fake_tasks_advance(&f->tasks, 5000);
    fake_tasks_settle(&f->tasks);
    store_fixture_evict(f);
    sim_fs_set_used(f->disk, 87);
    for (int i = 0; i < 100; i++) {
        fake_tasks_advance(&f->tasks, 1000);
        fake_tasks_settle(&f->tasks);
    }
    int64_t min = store_fixture_min(f, "Even", 0);
    EXPECT(min > 100 && store_log_min(f->store) > 0);
    struct file_info info;
    EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/consumequeue/Even/0/00000000000000000000", &info), ERR_NOT_FOUND);
    store_fixture_expect(f, "Even", 0, min, body_of((int)min));
    store_fixture_free(f);
}
