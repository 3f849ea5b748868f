#include "store/deleted_topics.h"
#include "store/store_fixture.h"

#include "codec/record.h"

#include <stdio.h>
#include <stdlib.h>

static struct store_fixture *start(bool sync_flush)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.sync_flush = sync_flush;
    store_fixture_open(f);
    return f;
}

TEST(store, answers_at_the_end_of_the_turn_and_shows_the_message_then)
{
    struct store_fixture *f = start(false);
    struct appended a = store_fixture_append(f, "T", 0, "hello");
    EXPECT_EQ(a.log_offset, 0);
    EXPECT_EQ(a.queue_offset, 0);
    EXPECT_EQ(f->stored, 0);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 0);
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->stored, 1);
    EXPECT_EQ(f->arrivals, 1);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 1);
    store_fixture_expect(f, "T", 0, 0, "hello");
    store_fixture_free(f);
}

TEST(store, writes_a_turn_at_once_and_each_queue_at_once)
{
    struct store_fixture *f = start(false);
    store_fixture_append(f, "T", 0, "x");   /* so that the queue files are there */
    store_fixture_append(f, "T", 1, "x");
    fake_tasks_turn(&f->tasks);
    uint64_t before = sim_fs_calls(f->disk, SIM_WRITE);
    for (int i = 0; i < 50; i++) store_fixture_append(f, "T", i % 2, "body");
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(sim_fs_calls(f->disk, SIM_WRITE) - before, 3);
    EXPECT_EQ(f->arrivals, 4);
    EXPECT_EQ(f->stored, 52);
    store_fixture_free(f);
}

TEST(store, with_sync_flush_answers_when_a_sync_that_began_later_has_ended)
{
    struct store_fixture *f = start(true);
    store_fixture_append(f, "T", 0, "one");
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->stored, 0);
    struct work *sync = fake_tasks_take_work(&f->tasks);   /* the disk has "one" … */
    store_fixture_append(f, "T", 0, "two");                /* … and "two" comes while the answer is on its way */
    fake_tasks_turn(&f->tasks);
    sync->done(sync);
    EXPECT_EQ(f->stored, 1);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 1);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->stored, 2);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 2);
    store_fixture_free(f);
}

/* What the loop does while a worker syncs. */
static void send_two(void *ctx)
{
    struct store_fixture *f = ctx;
    store_fixture_append(f, "T", 0, "two");
    fake_tasks_turn(&f->tasks);
}

static void send_two_and_fail(void *ctx)
{
    struct store_fixture *f = ctx;
    send_two(f);
    sim_fs_fail(f->disk, SIM_SYNC, 1, false, ERR_IO);
}

/* Two messages, the second of which comes while the first is synced. Returns the job, whose end has not been told. */
static struct work *sync_two(struct store_fixture *f, void (*meanwhile)(void *ctx))
{
    store_fixture_append(f, "T", 0, "zero");
    fake_tasks_settle(&f->tasks);
    store_fixture_append(f, "T", 0, "one");
    fake_tasks_turn(&f->tasks);
    sim_fs_on_sync(f->disk, meanwhile, f);
    uint64_t jobs = f->tasks.jobs_given;
    struct work *sync = fake_tasks_take_work(&f->tasks);
    EXPECT_EQ(f->tasks.jobs_given, jobs);
    EXPECT_EQ(f->stored, 1);
    return sync;
}

TEST(store, with_sync_flush_what_comes_during_a_sync_is_synced_by_the_same_job_and_answered_before_it_ends)
{
    struct store_fixture *f = start(true);
    uint64_t before = store_counts(f->store).syncs;
    struct work *sync = sync_two(f, send_two);
    fake_tasks_turn(&f->tasks);   /* the letter comes */
    EXPECT_EQ(f->stored, 3);
    EXPECT_EQ(store_counts(f->store).syncs - before, 3);
    store_fixture_append(f, "T", 0, "three");
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->stored, 3);      /* the job is over, though nobody knows yet: the next one does it */
    sync->done(sync);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->stored, 4);
    store_fixture_cut_power(f);
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 4);
    store_fixture_free(f);
}

TEST(store, with_sync_flush_a_sync_that_fails_fails_what_it_had_to_cover_and_nothing_before_it)
{
    struct store_fixture *f = start(true);
    struct work *sync = sync_two(f, send_two_and_fail);
    sync->done(sync);             /* before the letter */
    EXPECT_EQ(f->stored, 2);
    EXPECT_EQ(f->failed, 1);
    fake_tasks_settle(&f->tasks);
    store_fixture_expect(f, "T", 0, 1, "one");
    store_fixture_cut_power(f);
    store_fixture_open(f);
    store_fixture_expect(f, "T", 0, 1, "one");
    store_fixture_free(f);
}

TEST(store, a_closed_store_outlives_the_letter_of_its_sync)
{
    struct store_fixture *f = start(true);
    struct work *sync = sync_two(f, send_two);
    EXPECT_OK(store_close(f->store));
    f->store = NULL;
    EXPECT_EQ(f->stored, 3);
    sync->done(sync);
    fake_tasks_settle(&f->tasks);   /* the letter comes last; then the store is released */
    store_fixture_free(f);
}

TEST(store, does_not_wait_for_the_disk_when_the_message_says_so)
{
    struct store_fixture *f = start(true);
    struct message m = store_fixture_message("T", 0, "quick");
    struct appended a;
    EXPECT_OK(store_append(f->store, &m, 1, false, store_fixture_done, f, &a));
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->stored, 1);
    fake_tasks_settle(&f->tasks);
    store_fixture_expect(f, "T", 0, 0, "quick");
    store_fixture_free(f);
}

TEST(store, says_when_the_disk_is_late)
{
    struct store_fixture *f = start(true);
    store_fixture_append(f, "T", 0, "slow");
    fake_tasks_turn(&f->tasks);
    fake_tasks_advance(&f->tasks, 4999);
    EXPECT_EQ(f->failed, 0);
    fake_tasks_advance(&f->tasks, 1);
    EXPECT_EQ(f->failed, 1);
    EXPECT_EQ(f->last_error, ERR_FLUSH_DISK_TIMEOUT);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->stored + f->failed, 1);   /* answered once */
    store_fixture_expect(f, "T", 0, 0, "slow");
    store_fixture_free(f);
}

TEST(store, is_at_rest_when_nothing_happens)
{
    for (int sync_flush = 0; sync_flush < 2; sync_flush++) {
        struct store_fixture *f = start(sync_flush);
        store_fixture_append(f, "T", 0, "x");
        fake_tasks_settle(&f->tasks);
        for (int i = 0; i < 20; i++) {
            fake_tasks_advance(&f->tasks, 1000);
            fake_tasks_settle(&f->tasks);
        }
        EXPECT_EQ(fake_tasks_timers(&f->tasks), 0);
        EXPECT_EQ(store_log_flushed(f->store), store_log_max(f->store));
        store_fixture_free(f);
    }
}

TEST(store, two_processes_cannot_open_the_same_folder)
{
    struct store_fixture *f = start(false);
    struct store *second;
    EXPECT_ERR(store_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &second), ERR_LOCKED);
    store_fixture_append(f, "T", 0, "still works");
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->stored, 1);
    store_fixture_free(f);
}

/* --- limits --- */

static void expect_illegal(struct store_fixture *f, struct message m)
{
    struct appended a;
    EXPECT_ERR(store_fixture_try(f, &m, &a), ERR_MESSAGE_ILLEGAL);
}

TEST(store, refuses_what_is_too_long_and_leaves_no_gap)
{
    struct store_fixture *f = start(false);
    uint8_t *big = must_zero(70000);
    memset(big, 'x', 70000);
    struct message m = store_fixture_message("T", 0, "first");
    struct appended a;
    EXPECT_OK(store_fixture_try(f, &m, &a));
    m.body = slice_of(big, 16385);
    expect_illegal(f, m);
    m.body = slice_of(big, 10);
    m.properties = slice_of(big, 32768);
    expect_illegal(f, m);
    m.properties = SLICE("");
    m.topic = slice_of(big, 128);
    expect_illegal(f, m);
    m.topic = SLICE("a/b");
    expect_illegal(f, m);
    m.topic = SLICE("..");
    expect_illegal(f, m);
    m.topic = SLICE("T");
    EXPECT_OK(store_fixture_try(f, &m, &a));
    EXPECT_EQ(a.queue_offset, 1);
    m.properties = slice_of(big, 32767);
    EXPECT_OK(store_fixture_try(f, &m, &a));
    EXPECT_EQ(a.queue_offset, 2);
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->stored, 3);
    free(big);
    store_fixture_free(f);
}

TEST(store, a_record_larger_than_a_log_file_is_refused_and_not_answered_as_stored)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.log_file_bytes = 4096;
    store_fixture_open(f);
    uint8_t body[4096] = {0};
    struct message m = store_fixture_message("T", 0, "");
    m.body = slice_of(body, sizeof body);
    expect_illegal(f, m);
    store_fixture_append(f, "T", 0, "next");
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 1);
    store_fixture_free(f);
}

TEST(store, a_retry_topic_of_255_bytes_is_stored_in_the_second_record_form)
{
    struct store_fixture *f = start(false);
    char topic[256] = "%RETRY%";
    memset(topic + 7, 'g', 248);
    topic[255] = 0;
    struct appended a = store_fixture_append(f, topic, 0, "again");
    fake_tasks_turn(&f->tasks);
    struct pinned record;
    EXPECT_OK(store_record_at(f->store, a.log_offset, &record));
    EXPECT(record_magic(record.bytes.p) == RECORD_MAGIC_V2);
    pin_release(&record);
    store_fixture_close(f);
    store_fixture_open(f);
    store_fixture_expect(f, topic, 0, 0, "again");
    store_fixture_free(f);
}

/* --- files --- */

TEST(store, a_record_that_leaves_room_for_a_blank_still_fits_and_one_byte_more_begins_the_next_file)
{
    for (int over = 0; over < 2; over++) {
        struct store_fixture *f = store_fixture_new(1);
        uint8_t body[4096];
        memset(body, 'b', sizeof body);
        f->options.log_file_bytes = 4096;
        store_fixture_open(f);
        store_fixture_append(f, "T", 0, "first");
        struct message m = store_fixture_message("T", 0, "");
        size_t head = record_size(&m, &f->options.store_host), first = head + 5;
        m.body = slice_of(body, 4096 - first - head - RECORD_BLANK_BYTES + (size_t)over);
        struct appended a;
        EXPECT_OK(store_fixture_try(f, &m, &a));
        EXPECT_EQ(a.log_offset, over ? 4096 : first);
        EXPECT_EQ(a.queue_offset, 1);
        struct appended next = store_fixture_append(f, "T", 0, "third");
        EXPECT_EQ(next.log_offset, over ? 8192 : 4096);
        fake_tasks_turn(&f->tasks);
        store_fixture_close(f);
        store_fixture_open(f);
        EXPECT_EQ(store_fixture_max(f, "T", 0), 3);
        store_fixture_expect(f, "T", 0, 2, "third");
        store_fixture_free(f);
    }
}

TEST(store, a_batch_lies_in_one_file)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.log_file_bytes = 4096;
    store_fixture_open(f);
    for (int i = 0; i < 30; i++) store_fixture_append(f, "T", 0, "filler");
    struct message batch[10];
    struct appended a[10];
    for (int i = 0; i < 10; i++) batch[i] = store_fixture_message("T", 0, "in a batch");
    EXPECT_OK(store_append(f->store, batch, 10, true, store_fixture_done, f, a));
    EXPECT_EQ(a[0].log_offset, 4096);
    for (int i = 1; i < 10; i++) {
        EXPECT_EQ(a[i].log_offset, a[i - 1].log_offset + a[i - 1].size);
        EXPECT_EQ(a[i].queue_offset, 30 + i);
    }
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->stored, 31);
    store_fixture_expect(f, "T", 0, 39, "in a batch");
    store_fixture_free(f);
}

TEST(store, goes_on_over_many_log_and_queue_files)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.log_file_bytes = 4096;
    f->options.queue_file_entries = 7;
    store_fixture_open(f);
    char body[32];
    for (int i = 0; i < 300; i++) {
        snprintf(body, sizeof body, "message %d", i);
        store_fixture_append(f, "T", 0, body);
        if (i % 11 == 0) fake_tasks_settle(&f->tasks);
    }
    fake_tasks_settle(&f->tasks);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 300; i++) {
            snprintf(body, sizeof body, "message %d", i);
            store_fixture_expect(f, "T", 0, i, body);
        }
        store_fixture_close(f);
        store_fixture_open(f);
    }
    store_fixture_free(f);
}

/* --- reading --- */

static struct read_result read_from(struct store_fixture *f, int64_t offset, int32_t max_messages, int32_t max_bytes,
                                    const struct read_filter *filter)
{
    struct read_request r = {.topic = SLICE("T"), .offset = offset, .max_scan = 1000, .filter = filter};
    r.max_messages = max_messages;
    r.max_bytes = max_bytes;
    struct read_result got;
    store_read(f->store, &r, &got);
    return got;
}

static bool only_odd(void *ctx, struct slice record)
{
    (void)ctx;
    struct message m;
    return record_read(record, &m) == RECORD_WHOLE && m.queue_offset % 2;
}

TEST(store, reads_neighbours_as_one_slice_within_the_limits)
{
    struct store_fixture *f = start(false);
    for (int i = 0; i < 20; i++) store_fixture_append(f, "T", 0, "0123456789");
    fake_tasks_turn(&f->tasks);
    struct read_result r = read_from(f, 3, 5, 1 << 20, NULL);
    EXPECT_EQ(r.status, READ_FOUND);
    EXPECT_EQ(r.messages, 5);
    EXPECT_EQ(r.slices, 1);
    EXPECT_EQ(r.next_offset, 8);
    size_t one = r.bytes / 5;
    read_result_release(&r);
    r = read_from(f, 3, 32, (int32_t)one * 2 + 1, NULL);
    EXPECT_EQ(r.messages, 2);
    read_result_release(&r);
    r = read_from(f, 3, 32, 1, NULL);   /* the first one always */
    EXPECT_EQ(r.messages, 1);
    read_result_release(&r);
    struct read_filter odd = {.record = only_odd};
    r = read_from(f, 2, 32, 1 << 20, &odd);
    EXPECT_EQ(r.messages, 9);
    EXPECT_EQ(r.slices, 9);
    EXPECT_EQ(r.next_offset, 20);
    read_result_release(&r);
    store_fixture_free(f);
}

static bool no_tag(void *ctx, int64_t tag_hash)
{
    (void)ctx;
    return tag_hash == 1;
}

TEST(store, tells_where_to_go_on_when_nothing_is_there_or_nothing_matches)
{
    struct store_fixture *f = start(false);
    EXPECT_EQ(read_from(f, 0, 1, 1, NULL).status, READ_NO_QUEUE);
    for (int i = 0; i < 4; i++) store_fixture_append(f, "T", 0, "x");
    EXPECT_EQ(read_from(f, 0, 1, 1, NULL).status, READ_QUEUE_EMPTY);
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(read_from(f, -1, 1, 1, NULL).status, READ_OFFSET_TOO_SMALL);
    EXPECT_EQ(read_from(f, 4, 1, 1, NULL).status, READ_OFFSET_AT_END);
    struct read_result r = read_from(f, 5000, 1, 1, NULL);
    EXPECT_EQ(r.status, READ_OFFSET_PAST_END);
    EXPECT_EQ(r.next_offset, 4);
    struct read_filter none = {.entry = no_tag};
    r = read_from(f, 1, 1, 1, &none);
    EXPECT_EQ(r.status, READ_NO_MATCH);
    EXPECT_EQ(r.next_offset, 4);
    store_fixture_free(f);
}

TEST(store, a_slice_stays_valid_after_the_store_is_closed)
{
    struct store_fixture *f = start(false);
    store_fixture_append(f, "T", 0, "kept");
    fake_tasks_turn(&f->tasks);
    struct read_result r = read_from(f, 0, 1, 1, NULL);
    store_fixture_close(f);
    struct message m;
    EXPECT_EQ(record_read(r.slice[0].bytes, &m), RECORD_WHOLE);
    EXPECT_TEXT(m.body, "kept");
    read_result_release(&r);
    store_fixture_free(f);
}

TEST(store, finds_the_first_and_the_last_offset_of_a_time)
{
    static const int64_t lower[] = {0, 0, 1, 4, 4, 5}, upper[] = {0, 0, 3, 3, 4, 4};
    static const int times[] = {1, 2, 2, 2, 4};
    struct store_fixture *f = start(false);
    int64_t zero = f->tasks.wall_ms;
    for (int i = 0; i < 5; i++) {
        f->tasks.wall_ms = zero + times[i];
        store_fixture_append(f, "T", 0, "x");
    }
    fake_tasks_turn(&f->tasks);
    for (int ms = 0; ms <= 5; ms++) {
        if (ms == 1) continue;
        EXPECT_EQ(store_offset_by_time(f->store, SLICE("T"), 0, zero + ms, BOUNDARY_LOWER), lower[ms]);
        EXPECT_EQ(store_offset_by_time(f->store, SLICE("T"), 0, zero + ms, BOUNDARY_UPPER), upper[ms]);
    }
    EXPECT_EQ(store_time_of(f->store, SLICE("T"), 0, 4), zero + 4);
    EXPECT_EQ(store_time_of(f->store, SLICE("T"), 0, 5), -1);
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("none"), 0, zero, BOUNDARY_LOWER), 0);
    store_fixture_free(f);
}

TEST(store, a_reader_is_far_behind_when_more_has_come_since_than_counts_as_recent)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.recent_percent = 0;   /* nothing but the newest message */
    store_fixture_open(f);
    for (int i = 0; i < 2; i++) store_fixture_append(f, "T", 0, "x");
    fake_tasks_turn(&f->tasks);
    struct read_request r = {.topic = SLICE("T"), .max_messages = 1, .max_bytes = 1000, .max_scan = 10};
    for (; r.offset < 2; r.offset++) {
        struct read_result out;
        store_read(f->store, &r, &out);
        EXPECT_EQ(out.messages, 1);
        EXPECT_EQ(out.far_behind, r.offset == 0);
        read_result_release(&out);
    }
    store_fixture_free(f);
}

TEST(store, half_messages_and_rollbacks_are_in_the_log_alone)
{
    struct store_fixture *f = start(false);
    struct message m = store_fixture_message("T", 0, "half");
    struct appended half, committed;
    m.sys_flag = SYS_FLAG_TRANSACTION_PREPARED;
    EXPECT_OK(store_fixture_try(f, &m, &half));
    m.sys_flag = SYS_FLAG_TRANSACTION_COMMIT;
    EXPECT_OK(store_fixture_try(f, &m, &committed));
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(half.queue_offset, 0);
    EXPECT_EQ(committed.queue_offset, 0);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 1);
    struct pinned p;
    EXPECT_OK(store_record_at(f->store, half.log_offset, &p));
    pin_release(&p);
    EXPECT_ERR(store_record_at(f->store, half.log_offset + 1, &p), ERR_NOT_FOUND);
    store_fixture_free(f);
}

/* --- deleting --- */

TEST(store, a_topic_made_again_begins_at_0_and_keeps_its_messages_through_a_crash)
{
    struct store_fixture *f = start(false);
    for (int i = 0; i < 5; i++) store_fixture_append(f, "T", 0, "old");
    fake_tasks_settle(&f->tasks);
    store_delete_topic(f->store, SLICE("T"));
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(read_from(f, 0, 1, 1, NULL).status, READ_NO_QUEUE);
    EXPECT_EQ(store_fixture_append(f, "T", 0, "new 0").queue_offset, 0);
    store_fixture_append(f, "T", 0, "new 1");
    fake_tasks_settle(&f->tasks);
    store_fixture_kill(f);
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 2);
    store_fixture_expect(f, "T", 0, 0, "new 0");
    store_fixture_expect(f, "T", 0, 1, "new 1");
    store_fixture_free(f);
}

static void expect_no_old_ones(struct store_fixture *f)
{
    EXPECT_EQ(store_fixture_max(f, "T", 0), 1);
    store_fixture_expect(f, "T", 0, 0, "new");
    EXPECT_EQ(store_fixture_max(f, "T", 1), 0);
}

/* The log has the old ones before the new one, and does not say that they are nobody's. */
TEST(store, what_a_deleted_topic_had_does_not_come_back_to_one_that_is_made_again)
{
    for (int cut_power = 0; cut_power < 2; cut_power++) {
        struct store_fixture *f = start(false);
        for (int i = 0; i < 4; i++) store_fixture_append(f, "T", i % 2, "old");
        fake_tasks_settle(&f->tasks);
        store_delete_topic(f->store, SLICE("T"));
        store_fixture_append(f, "T", 0, "new");
        fake_tasks_settle(&f->tasks);
        fake_tasks_advance(&f->tasks, 5000);
        fake_tasks_settle(&f->tasks);
        for (int again = 0; again < 3; again++) {
            if (cut_power) store_fixture_cut_power(f);
            else store_fixture_kill(f);
            store_fixture_open(f);
            expect_no_old_ones(f);
        }
        store_fixture_free(f);
    }
}

static void write_deleted_topics(struct store_fixture *f, const char *text)
{
    EXPECT_OK(fs_replace_file(sim_fs_disk(f->disk), "/store/" DELETED_TOPICS, slice_text(text)));
}

/* The log may lose its end: what is written there afterwards is not what was deleted. */
TEST(store, a_topic_that_was_deleted_behind_the_end_of_the_log_keeps_what_comes)
{
    struct store_fixture *f = start(false);
    store_fixture_append(f, "T", 0, "old");
    fake_tasks_settle(&f->tasks);
    write_deleted_topics(f, "1000000 T\n");
    for (int i = 0; i < 3; i++) {
        store_fixture_kill(f);
        store_fixture_open(f);
        if (!i) store_fixture_append(f, "T", 0, "new");
        fake_tasks_settle(&f->tasks);
        store_fixture_expect(f, "T", 0, store_fixture_max(f, "T", 0) - 1, "new");
    }
    store_fixture_free(f);
}

TEST(store, a_list_of_deleted_topics_that_cannot_be_read_stops_nothing)
{
    const char *const broken[] = {"", "\n", "12", "12 T", "-1 T\n", "x T\n", "12 ../T\n", "12\n"};
    struct store_fixture *f = start(false);
    store_fixture_append(f, "T", 0, "old");
    fake_tasks_settle(&f->tasks);
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        write_deleted_topics(f, broken[i]);
        store_fixture_kill(f);
        store_fixture_open(f);
        store_fixture_expect(f, "T", 0, 0, "old");
    }
    store_fixture_free(f);
}

TEST(store, deleting_a_topic_while_its_messages_wait_for_the_disk_is_harmless)
{
    struct store_fixture *f = start(true);
    store_fixture_append(f, "T", 0, "gone");
    fake_tasks_turn(&f->tasks);
    store_delete_topic(f->store, SLICE("T"));
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->stored, 1);
    EXPECT_EQ(f->arrivals, 0);
    store_fixture_free(f);
}

/* --- many --- */

TEST(store, a_thousand_queues_share_a_limited_number_of_open_files)
{
    struct store_fixture *f = start(false);
    for (int i = 0; i < 1000; i++) store_fixture_append(f, "T", i, "x");
    fake_tasks_settle(&f->tasks);
    for (int i = 0; i < 1000; i++) store_fixture_expect(f, "T", i, 0, "x");
    store_fixture_close(f);
    store_fixture_open(f);
    for (int i = 0; i < 1000; i++) EXPECT_EQ(store_fixture_max(f, "T", i), 1);
    store_fixture_free(f);
}

TEST(store, a_thousand_queues_are_flushed_with_one_sync_and_survive_a_power_cut)
{
    struct store_fixture *f = start(false);
    for (int i = 0; i < 1000; i++) store_fixture_append(f, "T", i, "x");
    fake_tasks_settle(&f->tasks);
    uint64_t before = sim_fs_calls(f->disk, SIM_SYNC);
    for (int i = 0; i < 3; i++) {
        fake_tasks_advance(&f->tasks, 1000);
        fake_tasks_settle(&f->tasks);
    }
    EXPECT(sim_fs_calls(f->disk, SIM_SYNC) - before < 30);
    store_fixture_cut_power(f);
    store_fixture_open(f);
    for (int i = 0; i < 1000; i++) store_fixture_expect(f, "T", i, 0, "x");
    store_fixture_free(f);
}

TEST(recovery, a_record_that_states_an_impossible_queue_offset_leaves_a_hole_in_its_place)
{
    struct store_fixture *f = start(true);
    store_fixture_append(f, "T", 0, "one");
    struct appended second = store_fixture_append(f, "T", 0, "two");
    store_fixture_append(f, "T", 0, "three");
    fake_tasks_settle(&f->tasks);
    store_fixture_kill(f);
    sim_fs_flip(f->disk, "/store/commitlog/00000000000000000000", second.log_offset + 20 + 4, 0x10);   /* 1 becomes 268,435,457 */
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/consumequeue"));
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 3);
    store_fixture_expect(f, "T", 0, 0, "one");
    store_fixture_expect(f, "T", 0, 2, "three");
    store_fixture_free(f);
}

/* Three messages, and the second one lost a whole sector in a power cut. */
static struct store_fixture *start_with_a_lost_sector(bool sync_flush)
{
    static const uint8_t zeros[512];
    char big[2001];
    memset(big, 'b', sizeof big - 1);
    big[sizeof big - 1] = 0;
    struct store_fixture *f = start(sync_flush);
    store_fixture_append(f, "T", 0, "one");
    fake_tasks_settle(&f->tasks);
    struct appended lost = store_fixture_append(f, "T", 0, big);
    store_fixture_append(f, "T", 0, "three");
    fake_tasks_turn(&f->tasks);
    store_fixture_kill(f);
    struct file *log;
    EXPECT_OK(fs_open(sim_fs_disk(f->disk), "/store/commitlog/00000000000000000000", FILE_WRITE, &log));
    EXPECT_OK(file_write_at(log, (lost.log_offset + 1000) / 512 * 512, zeros, sizeof zeros));
    file_close(log);
    store_fixture_open(f);
    return f;
}

TEST(recovery, with_sync_flush_the_log_ends_where_a_sector_never_reached_the_disk)
{
    struct store_fixture *f = start_with_a_lost_sector(true);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 1);
    EXPECT_EQ(store_fixture_append(f, "T", 0, "next").queue_offset, 1);   /* S3: no hole */
    store_fixture_free(f);
}

TEST(recovery, without_sync_flush_what_was_answered_behind_a_lost_sector_is_kept)
{
    struct store_fixture *f = start_with_a_lost_sector(false);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 3);
    store_fixture_expect(f, "T", 0, 2, "three");
    store_fixture_free(f);
}
