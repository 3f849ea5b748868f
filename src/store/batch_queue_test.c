/* batch_queue_test.c - queues whose entries are records of several messages. */
#include "store/store_fixture.h"

#include "codec/queue_entry.h"
#include "codec/record.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { FILE_ENTRIES = 8, LEFT_OUT = -1 };

static struct store_fixture *begin(void)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.batch_file_entries = FILE_ENTRIES;
    store_fixture_open(f);
    return f;
}

/* The body of a batch says which one it is. */
static int64_t append(struct store_fixture *f, int number, int32_t count)
{
    char body[32];
    struct appended a;
    snprintf(body, sizeof body, "batch %d", number);
    struct message m = store_fixture_batch("B", 0, body, count);
    EXPECT_OK(store_fixture_try(f, &m, &a));
    fake_tasks_settle(&f->tasks);
    fake_tasks_advance(&f->tasks, 10);
    return a.queue_offset;
}

static int64_t append_single(struct store_fixture *f, const char *topic, bool batch_topic)
{
    struct message m = store_fixture_message(topic, 0, "single");
    struct appended a;
    m.batch_topic = batch_topic;
    EXPECT_OK(store_fixture_try(f, &m, &a));
    fake_tasks_settle(&f->tasks);
    return a.queue_offset;
}

/* `count` batches of 1, 2, 3, 1, 2, 3 … messages. */
static void fill(struct store_fixture *f, int count)
{
    for (int i = 0; i < count; i++) append(f, i, i % 3 + 1);
}
static int64_t first_of(int number) { return number / 3 * 6 + (int64_t[]){0, 1, 3}[number % 3]; }

static struct read_result read_at(struct store_fixture *f, int64_t offset, int32_t max_messages)
{
    struct read_request r = {.topic = SLICE("B"), .offset = offset, .max_messages = max_messages, .max_bytes = 1 << 20, .max_scan = 1000};
    struct read_result got;
    store_read(f->store, &r, &got);
    return got;
}

/* The number of the batch that a read of one message begins with; LEFT_OUT: it gives none. */
static int number_at(struct store_fixture *f, int64_t offset, int64_t *next)
{
    struct read_result got = read_at(f, offset, 1);
    struct message m;
    int number = LEFT_OUT;
    *next = got.next_offset;
    if (got.status == READ_FOUND) {
        EXPECT_EQ(record_read(got.slice[0].bytes, &m), RECORD_WHOLE);
        EXPECT(record_body_intact(&m));
        number = (int)strtol((const char *)m.body.p + 6, NULL, 10);
    }
    read_result_release(&got);
    return number;
}

static void expect_batch(struct store_fixture *f, int64_t offset, int number, int64_t next)
{
    int64_t got;
    EXPECT_EQ(number_at(f, offset, &got), number);
    EXPECT_EQ(got, next);
}

/* Reads on from one offset to the next, as a consumer does: every batch comes, in order, but for one that may be missing. */
static void expect_all(struct store_fixture *f, int count, int may_miss)
{
    int64_t offset = store_min_offset(f->store, SLICE("B"), 0), end = store_fixture_max(f, "B", 0);
    int expected = 0;
    for (int steps = 0; offset < end; steps++) {
        int number = number_at(f, offset, &offset);
        EXPECT(steps < 4 * count);
        if (number == LEFT_OUT || number == expected - 1) continue;   /* once more, when its entry says that it has more messages */
        if (expected == may_miss && number == expected + 1) expected++;
        EXPECT_EQ(number, expected);
        expected++;
    }
    EXPECT(expected == count || (expected == count - 1 && may_miss == count - 1));
}

static struct buf file_of(struct store_fixture *f, const char *path)
{
    struct buf bytes = BUF_EMPTY;
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), path, 1 << 20, &bytes));
    return bytes;
}

TEST(batch_queue, each_record_has_one_entry_that_says_which_messages_it_holds)
{
    struct store_fixture *f = begin();
    fill(f, 10);
    struct buf bytes = file_of(f, "/store/batchconsumequeue/B/0/00000000000000000000");
    EXPECT_EQ(bytes.n, FILE_ENTRIES * BATCH_ENTRY_BYTES);
    int64_t behind = 0;
    for (int i = 0; i < FILE_ENTRIES; i++) {
        struct queue_entry e = batch_entry_get(bytes.p + i * BATCH_ENTRY_BYTES);
        EXPECT_EQ(e.log_offset, behind);
        EXPECT_EQ(e.queue_offset, first_of(i));
        EXPECT_EQ(e.count, i % 3 + 1);
        EXPECT_EQ(e.store_ms, store_time_of(f->store, SLICE("B"), 0, e.queue_offset));
        behind += e.size;
    }
    buf_done(&bytes);
    bytes = file_of(f, "/store/batchconsumequeue/B/0/00000000000000000368");
    EXPECT_EQ(batch_entry_get(bytes.p + BATCH_ENTRY_BYTES).queue_offset, first_of(9));
    buf_done(&bytes);
    store_fixture_free(f);
}

TEST(batch_queue, every_message_is_found_in_its_batch_over_many_files)
{
    struct store_fixture *f = begin();
    enum { COUNT = 100 };
    fill(f, COUNT);
    for (int round = 0; round < 2; round++) {
        EXPECT_EQ(store_fixture_max(f, "B", 0), first_of(COUNT));
        for (int i = 0; i < COUNT; i++)
            for (int64_t offset = first_of(i); offset < first_of(i + 1); offset++) expect_batch(f, offset, i, first_of(i + 1));
        EXPECT_EQ(read_at(f, first_of(COUNT), 1).status, READ_OFFSET_AT_END);
        EXPECT_EQ(read_at(f, first_of(COUNT) + 1, 1).status, READ_OFFSET_PAST_END);
        EXPECT_EQ(read_at(f, -1, 1).status, READ_OFFSET_TOO_SMALL);
        store_fixture_close(f);
        store_fixture_open(f);
    }
    store_fixture_free(f);
}

TEST(batch_queue, limits_count_messages_and_batches_come_whole)
{
    struct store_fixture *f = begin();
    fill(f, 30);
    struct read_result got = read_at(f, 4, 7);   /* 3 of its batch, 1, 2; the next one would be 3 more */
    EXPECT_EQ(got.messages, 6);
    EXPECT_EQ(got.next_offset, 9);
    EXPECT_EQ(got.slices, 1);
    read_result_release(&got);
    got = read_at(f, 4, 9);
    EXPECT_EQ(got.messages, 9);
    read_result_release(&got);
    got = read_at(f, 0, 1000);
    EXPECT_EQ(got.messages, 60);
    read_result_release(&got);
    store_fixture_free(f);
}

TEST(batch_queue, times_are_searched_by_batch)
{
    struct store_fixture *f = begin();
    fill(f, 20);
    int64_t first_ms = store_time_of(f->store, SLICE("B"), 0, 0), last_ms = store_time_of(f->store, SLICE("B"), 0, first_of(19));
    EXPECT_EQ(last_ms - first_ms, 190);
    for (int i = 0; i < 20; i++)
        for (int b = 0; b < 2; b++)
            EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, first_ms + 10 * i, b ? BOUNDARY_UPPER : BOUNDARY_LOWER), first_of(i));
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, first_ms + 45, BOUNDARY_LOWER), first_of(5));
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, first_ms + 45, BOUNDARY_UPPER), first_of(4));
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, first_ms - 1, BOUNDARY_LOWER), 0);
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, first_ms - 1, BOUNDARY_UPPER), 0);
    /* as the original: not the end */
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, last_ms + 1, BOUNDARY_LOWER), first_of(19));
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, last_ms + 1, BOUNDARY_UPPER), first_of(19));
    struct appended a;
    struct message m = store_fixture_batch("B", 0, "batch 20", 3);
    EXPECT_OK(store_fixture_try(f, &m, &a));
    EXPECT_OK(store_fixture_try(f, &m, &a));   /* the same time again */
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, a.store_ms, BOUNDARY_LOWER), a.queue_offset - 3);
    EXPECT_EQ(store_offset_by_time(f->store, SLICE("B"), 0, a.store_ms, BOUNDARY_UPPER), a.queue_offset);
    EXPECT(store_is_recent(f->store, SLICE("B"), 0, 5));
    EXPECT(!store_is_recent(f->store, SLICE("B"), 0, a.queue_offset + 3));
    EXPECT_EQ(store_time_of(f->store, SLICE("B"), 0, first_of(7) + 1), first_ms + 70);
    store_fixture_free(f);
}

static void expect_single(struct store_fixture *f, int64_t offset)
{
    struct read_result got = read_at(f, offset, 1);
    struct message m;
    EXPECT_EQ(got.status, READ_FOUND);
    EXPECT_EQ(got.messages, 1);
    EXPECT_EQ(got.next_offset, offset + 1);
    EXPECT_EQ(record_read(got.slice[0].bytes, &m), RECORD_WHOLE);
    EXPECT_TEXT(m.body, "single");
    EXPECT_EQ(m.queue_offset, offset);
    read_result_release(&got);
}

static void expect_mixed(struct store_fixture *f)
{
    EXPECT_EQ(store_min_offset(f->store, SLICE("B"), 0), 0);
    EXPECT_EQ(store_fixture_max(f, "B", 0), 7);
    expect_single(f, 0);
    expect_batch(f, 2, 0, 4);
    expect_single(f, 4);
    expect_batch(f, 6, 1, 7);
}

TEST(batch_queue, single_messages_have_entries_among_those_of_batches_whatever_ends_the_run)
{
    for (int stop = 0; stop < 3; stop++) {
        struct store_fixture *f = store_fixture_new(1);
        f->options.sync_flush = true;
        store_fixture_open(f);
        EXPECT_EQ(append_single(f, "B", true), 0);
        EXPECT_EQ(append(f, 0, 3), 1);
        EXPECT_EQ(append_single(f, "B", true), 4);
        EXPECT_EQ(append(f, 1, 2), 5);
        if (stop == 0) store_fixture_close(f);
        else if (stop == 1) store_fixture_kill(f);
        else store_fixture_cut_power(f);
        store_fixture_open(f);
        expect_mixed(f);
        EXPECT_EQ(append(f, 2, 1), 7);
        store_fixture_free(f);
    }
}

/* A folder tells what a topic keeps; without it the first batch does, and what came before moves over to its queue. */
TEST(batch_queue, single_messages_before_the_first_batch_move_over_when_all_is_made_again_from_the_log)
{
    struct store_fixture *f = begin();
    struct file_info info;
    append_single(f, "B", true);
    append(f, 0, 3);
    append_single(f, "B", true);
    append(f, 1, 2);
    store_fixture_close(f);
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/batchconsumequeue"));
    store_fixture_open(f);
    expect_mixed(f);
    EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/consumequeue/B", &info), ERR_NOT_FOUND);   /* the original would refuse to start */
    store_fixture_close(f);
    store_fixture_open(f);
    expect_mixed(f);
    store_fixture_free(f);
}

TEST(batch_queue, queues_of_the_other_kind_give_way_and_what_fits_moves_over)
{
    struct store_fixture *f = begin();
    struct file_info info;
    EXPECT_EQ(append_single(f, "B", false), 0);
    EXPECT_EQ(append_single(f, "B", false), 1);
    EXPECT_EQ(append(f, 0, 3), 2);
    for (int round = 0; round < 2; round++) {
        EXPECT_EQ(store_fixture_max(f, "B", 0), 5);
        expect_single(f, 1);
        expect_batch(f, 3, 0, 5);
        EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/consumequeue/B", &info), ERR_NOT_FOUND);
        store_fixture_kill(f);
        store_fixture_open(f);
    }
    EXPECT_EQ(append_single(f, "B", false), 0);   /* a topic of that name that was made anew: a batch has no place in it */
    EXPECT_EQ(store_fixture_max(f, "B", 0), 1);
    store_fixture_free(f);
    f = begin();
    append_single(f, "B", true);
    append_single(f, "B", true);
    EXPECT_EQ(append_single(f, "B", false), 2);
    for (int i = 0; i < 3; i++) expect_single(f, i);
    EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/batchconsumequeue/B", &info), ERR_NOT_FOUND);
    store_fixture_free(f);
}

TEST(batch_queue, of_folders_of_both_kinds_the_batches_stay)
{
    struct store_fixture *f = begin();
    fill(f, 3);
    store_fixture_close(f);
    EXPECT_OK(fs_make_folder(sim_fs_disk(f->disk), "/store/consumequeue/B/0"));
    store_fixture_open(f);
    expect_all(f, 3, LEFT_OUT);
    struct file_info info;
    EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/consumequeue/B", &info), ERR_NOT_FOUND);
    store_fixture_free(f);
}

TEST(batch_queue, a_deleted_topic_takes_its_folder_along_and_begins_again)
{
    struct store_fixture *f = begin();
    fill(f, 20);
    store_delete_topic(f->store, SLICE("B"));
    fake_tasks_settle(&f->tasks);
    struct file_info info;
    EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/batchconsumequeue/B", &info), ERR_NOT_FOUND);
    EXPECT_EQ(store_fixture_max(f, "B", 0), 0);
    EXPECT_EQ(append(f, 0, 5), 0);
    store_fixture_kill(f);
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "B", 0), 5);
    expect_batch(f, 4, 0, 5);
    store_fixture_free(f);
}

TEST(batch_queue, a_refused_batch_leaves_no_gap)
{
    struct store_fixture *f = begin();
    struct appended a;
    EXPECT_EQ(append(f, 0, 4), 0);
    struct message m = store_fixture_batch("B", 0, "batch 1", 5);
    sim_fs_fail(f->disk, SIM_WRITE, 1, false, ERR_DISK_FULL);
    EXPECT_OK(store_fixture_try(f, &m, &a));
    EXPECT_EQ(a.queue_offset, 4);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->failed, 1);
    sim_fs_heal(f->disk);
    fake_tasks_advance(&f->tasks, 1100);
    EXPECT_EQ(append(f, 1, 2), 4);   /* S3 */
    m.inner_count = 0;
    EXPECT_ERR(store_fixture_try(f, &m, &a), ERR_MESSAGE_ILLEGAL);
    m.inner_count = BATCH_COUNT_MAX + 1;
    EXPECT_ERR(store_fixture_try(f, &m, &a), ERR_MESSAGE_ILLEGAL);
    m.inner_count = 3;
    m.batch_topic = false;
    EXPECT_ERR(store_fixture_try(f, &m, &a), ERR_MESSAGE_ILLEGAL);
    expect_all(f, 2, LEFT_OUT);
    store_fixture_free(f);
}

TEST(batch_queue, it_is_made_again_from_the_log)
{
    struct store_fixture *f = begin();
    fill(f, 50);
    append_single(f, "T", false);
    store_fixture_close(f);
    struct buf before = file_of(f, "/store/batchconsumequeue/B/0/00000000000000000736");
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/batchconsumequeue"));
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/consumequeue"));
    store_fixture_open(f);
    struct buf after = file_of(f, "/store/batchconsumequeue/B/0/00000000000000000736");
    EXPECT(slice_eq(buf_slice(&before), buf_slice(&after)));
    expect_all(f, 50, LEFT_OUT);
    buf_done(&before);
    buf_done(&after);
    store_fixture_free(f);
}

TEST(batch_queue, an_empty_last_file_and_one_of_another_size_are_what_they_are_in_other_queues)
{
    struct store_fixture *f = begin();
    struct file *file;
    struct store *s;
    fill(f, FILE_ENTRIES);
    store_fixture_close(f);
    EXPECT_OK(fs_open(sim_fs_disk(f->disk), "/store/batchconsumequeue/B/0/00000000000000000368", FILE_CREATE, &file));
    file_close(file);
    store_fixture_open(f);
    expect_all(f, FILE_ENTRIES, LEFT_OUT);
    store_fixture_close(f);
    f->options.batch_file_entries++;
    EXPECT_ERR(store_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &s), ERR_CORRUPT);
    store_fixture_free(f);
}

TEST(batch_queue, files_go_with_the_log_and_the_first_message_left_is_the_smallest_offset)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.batch_file_entries = FILE_ENTRIES;
    f->options.clean = (struct clean_options){
        .interval_ms = 10000, .reserved_ms = 1000, .hours = (1u << 24) - 1, .used_percent = 75, .force_percent = 85, .full_percent = 90,
        .batch = 10,
    };
    sim_fs_set_time(f->disk, f->tasks.wall_ms);
    store_fixture_open(f);
    fill(f, 700);   /* three log files, and the entries of many queue files */
    for (int i = 0; i < 30; i++) {
        fake_tasks_advance(&f->tasks, 1000);
        fake_tasks_settle(&f->tasks);
    }
    int64_t min = store_min_offset(f->store, SLICE("B"), 0), next;
    EXPECT(store_log_min(f->store) > 0 && min > 0);
    int number = number_at(f, min, &next);
    EXPECT_EQ(min, first_of(number));
    struct file_info info;
    EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/batchconsumequeue/B/0/00000000000000000000", &info), ERR_NOT_FOUND);
    EXPECT_EQ(read_at(f, min - 1, 1).status, READ_OFFSET_TOO_SMALL);
    for (int stop = 0; stop < 2; stop++) {
        if (stop) store_fixture_kill(f);
        else store_fixture_close(f);
        store_fixture_open(f);
        EXPECT_EQ(store_min_offset(f->store, SLICE("B"), 0), min);
        EXPECT_EQ(store_fixture_max(f, "B", 0), first_of(700));
    }
    store_fixture_free(f);
}

/* --- damage --- */

static void try_bit(int entry, int64_t byte, uint8_t mask, bool kill)
{
    enum { COUNT = 20 };
    char path[96];
    struct store_fixture *f = begin();
    fill(f, COUNT);
    fake_tasks_advance(&f->tasks, 1500);
    fake_tasks_settle(&f->tasks);
    if (!kill) store_fixture_close(f);
    else store_fixture_kill(f);
    print_message("entry %d byte %d mask %d kill %d\n", entry, (int)byte, mask, kill);
    snprintf(path, sizeof path, "/store/batchconsumequeue/B/0/%020d", entry / FILE_ENTRIES * FILE_ENTRIES * BATCH_ENTRY_BYTES);
    sim_fs_flip(f->disk, path, entry % FILE_ENTRIES * BATCH_ENTRY_BYTES + byte, mask);
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "B", 0), first_of(COUNT));   /* offsets that were given away stay */
    expect_all(f, COUNT, entry);
    EXPECT_EQ(append(f, COUNT, COUNT % 3 + 1), first_of(COUNT));
    store_fixture_free(f);
}

TEST(batch_queue, a_bit_of_any_byte_of_an_entry_costs_at_most_that_entry)
{
    static const int entries[] = {0, 3, FILE_ENTRIES - 1, FILE_ENTRIES, 13, 19};
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        for (int64_t byte = 0; byte < BATCH_ENTRY_BYTES; byte++)
            for (int mode = 0; mode < 4; mode++) try_bit(entries[i], byte, mode & 1 ? 1 : 0x80, mode & 2);
}

/* What a search meets first may be the damaged one. */
TEST(batch_queue, offsets_are_found_beside_damaged_entries)
{
    enum { COUNT = 200 };
    struct random random;
    random_init(&random, 1);
    for (int round = 0; round < 40; round++) {
        struct store_fixture *f = store_fixture_new(1);
        f->options.batch_file_entries = COUNT;
        store_fixture_open(f);
        fill(f, COUNT);
        store_fixture_close(f);
        int damaged = 1 + (int)random_below(&random, COUNT - 2);
        int64_t byte = 28 + random_below(&random, 8);   /* of its offset */
        print_message("entry %d byte %d\n", damaged, (int)byte);
        sim_fs_flip(f->disk, "/store/batchconsumequeue/B/0/00000000000000000000", damaged * BATCH_ENTRY_BYTES + byte, round % 2 ? 0x80 : 1);
        store_fixture_open(f);
        for (int i = 0; i < COUNT; i++) {
            int64_t next;
            int number = number_at(f, first_of(i), &next);
            if (i == damaged) continue;
            if (number == damaged) number = number_at(f, next, &next);   /* it says that it has this message, too */
            EXPECT_EQ(number, i);
            EXPECT(next > first_of(i) && next <= first_of(i + 1));   /* at most, nothing is passed over */
        }
        store_fixture_free(f);
    }
}
