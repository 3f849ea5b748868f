/* scrub_test.c - what an earlier run left is looked through after a start: damage is reported and isolated before anybody asks. */
#include "store/store_fixture.h"

#include "codec/record.h"
#include "store/log_walk.h"

#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 300, LOG_BYTES = 16 << 10 };

static void log_path(int64_t at, char out[static 64], int64_t *in_file)
{
    snprintf(out, 64, "/store/commitlog/%020lld", (long long)(at / LOG_BYTES * LOG_BYTES));
    *in_file = at % LOG_BYTES;
}

static void flip(struct store_fixture *f, int64_t log_offset, int64_t more)
{
    char path[64];
    int64_t at;
    log_path(log_offset, path, &at);
    sim_fs_flip(f->disk, path, at + more, 16);
}

/* A store of several files, closed well. */
static struct store_fixture *filled(struct appended places[static MESSAGES])
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.log_file_bytes = LOG_BYTES;
    f->options.scrub_bytes_per_second = 1 << 20;
    store_fixture_open(f);
    for (int i = 0; i < MESSAGES; i++) {
        places[i] = store_fixture_append(f, "T", 0, "twenty bytes of body");
        fake_tasks_settle(&f->tasks);
    }
    store_fixture_close(f);
    return f;
}

static void scrub_all(struct store_fixture *f)
{
    for (int i = 0; i < 100 && store_counts(f->store).scrub_left_bytes; i++) {
        fake_tasks_advance(&f->tasks, 5000);
        fake_tasks_settle(&f->tasks);
    }
    EXPECT_EQ(store_counts(f->store).scrub_left_bytes, 0);
}

TEST(scrub, a_new_store_has_nothing_to_look_through_and_a_whole_one_is_at_rest_afterwards)
{
    struct appended places[MESSAGES];
    struct store_fixture *fresh = store_fixture_new(2);
    fresh->options.scrub_bytes_per_second = 1 << 20;
    store_fixture_open(fresh);
    EXPECT_EQ(store_counts(fresh->store).scrub_left_bytes, 0);
    fake_tasks_advance(&fresh->tasks, 1000);   /* its first checkpoint */
    fake_tasks_settle(&fresh->tasks);
    EXPECT_EQ(fake_tasks_timers(&fresh->tasks), 0);
    store_fixture_free(fresh);

    struct store_fixture *f = filled(places);
    store_fixture_open(f);
    EXPECT_EQ(store_counts(f->store).scrub_left_bytes, places[MESSAGES - 1].log_offset + places[MESSAGES - 1].size);
    scrub_all(f);
    EXPECT_EQ(store_counts(f->store).damaged, 0);
    EXPECT_EQ(fake_tasks_timers(&f->tasks), 0);   /* S8 */
    uint64_t jobs = f->tasks.jobs_given;
    fake_tasks_advance(&f->tasks, 3600000);
    EXPECT_EQ(f->tasks.jobs_given, jobs);
    for (int i = 0; i < MESSAGES; i++) store_fixture_expect(f, "T", 0, i, "twenty bytes of body");
    store_fixture_free(f);
}

TEST(scrub, it_is_not_faster_than_it_may_be)
{
    struct appended places[MESSAGES];
    struct store_fixture *f = filled(places);
    f->options.scrub_bytes_per_second = 1024;   /* a job of 1 MiB each 1024 s */
    store_fixture_open(f);
    fake_tasks_advance(&f->tasks, 5000);
    fake_tasks_settle(&f->tasks);
    uint64_t left = store_counts(f->store).scrub_left_bytes;
    EXPECT(left > 0);
    fake_tasks_advance(&f->tasks, 1023000);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(store_counts(f->store).scrub_left_bytes, left);
    fake_tasks_advance(&f->tasks, 1000);
    fake_tasks_settle(&f->tasks);
    EXPECT(store_counts(f->store).scrub_left_bytes < left);
    store_fixture_free(f);
}

TEST(scrub, damage_is_found_in_every_file_counted_once_and_never_served)
{
    struct appended places[MESSAGES];
    struct store_fixture *f = filled(places);
    static const int bad[] = {3, 50, 51, 140, 250, MESSAGES - 1};
    enum { BAD = sizeof bad / sizeof *bad };
    static const int64_t where[BAD] = {90, 8, 4, 0, 30, 95};   /* body, checksum, magic, size, position, body */
    for (int i = 0; i < BAD; i++) flip(f, places[bad[i]].log_offset, where[i]);
    store_fixture_open(f);
    scrub_all(f);
    EXPECT_EQ(store_counts(f->store).damaged, BAD);
    struct buf text = BUF_EMPTY;
    for (int i = 0, next = 0; i < MESSAGES; i++) {
        bool damaged = next < BAD && bad[next] == i;
        EXPECT_EQ(store_fixture_read(f, "T", 0, i, &text), damaged ? READ_MESSAGE_GONE : READ_FOUND);
        struct pinned record;
        err_t e = store_record_at(f->store, places[i].log_offset, &record);
        if (damaged) EXPECT_ERR(e, ERR_NOT_FOUND);
        else EXPECT_OK(e);
        if (!damaged) pin_release(&record);
        EXPECT_EQ(store_time_of(f->store, SLICE("T"), 0, i), damaged ? -1 : places[i].store_ms);
        next += damaged;
    }
    EXPECT_EQ(store_counts(f->store).damaged, BAD);   /* those who asked have found no more */
    buf_done(&text);
    store_fixture_free(f);
}

TEST(scrub, a_damaged_record_that_is_read_before_it_is_looked_at_is_isolated_at_once)
{
    struct appended places[MESSAGES];
    struct store_fixture *f = filled(places);
    struct buf text = BUF_EMPTY;
    flip(f, places[7].log_offset, 90);
    store_fixture_open(f);
    for (int i = 0; i < 3; i++) EXPECT_EQ(store_fixture_read(f, "T", 0, 7, &text), READ_MESSAGE_GONE);
    EXPECT_EQ(store_counts(f->store).damaged, 1);
    scrub_all(f);
    EXPECT_EQ(store_counts(f->store).damaged, 1);
    buf_done(&text);
    store_fixture_free(f);
}

TEST(scrub, messages_go_on_meanwhile_and_a_store_may_be_closed_in_the_middle_of_a_job)
{
    struct appended places[MESSAGES];
    struct store_fixture *f = filled(places);
    store_fixture_open(f);
    fake_tasks_advance(&f->tasks, 5000);
    EXPECT_EQ(store_fixture_append(f, "T", 0, "while it runs").queue_offset, MESSAGES);
    fake_tasks_turn(&f->tasks);
    store_fixture_expect(f, "T", 0, MESSAGES, "while it runs");
    store_fixture_close(f);   /* the job is still to be run */
    store_fixture_open(f);
    scrub_all(f);
    store_fixture_expect(f, "T", 0, MESSAGES, "while it runs");
    store_fixture_free(f);
}

TEST(scrub, a_file_that_cannot_be_read_or_is_gone_is_passed_and_the_others_are_looked_through)
{
    struct appended places[MESSAGES];
    struct store_fixture *f = filled(places);
    flip(f, places[0].log_offset, 90);
    store_fixture_open(f);
    fake_tasks_advance(&f->tasks, 5000);
    sim_fs_fail(f->disk, SIM_READ, 1, false, ERR_IO);
    fake_tasks_settle(&f->tasks);
    EXPECT(store_counts(f->store).scrub_left_bytes > 0);
    EXPECT_OK(fs_remove(sim_fs_disk(f->disk), "/store/commitlog/00000000000000016384"));
    scrub_all(f);
    EXPECT_EQ(store_counts(f->store).damaged, 1);
    store_fixture_free(f);
}

/* --- the walk --- */

static void put(struct fs *fs, const char *path, const uint8_t *p, size_t n)
{
    struct file *file;
    EXPECT_OK(fs_make_folder(fs, "/log"));
    EXPECT_OK(fs_open(fs, path, FILE_CREATE, &file));
    EXPECT_OK(file_set_size(file, 0));
    EXPECT_OK(file_write_at(file, 0, p, n));
    file_close(file);
}

static size_t encode(uint8_t *p, int64_t at, size_t body)
{
    static const struct addr host = {.ip = {1, 2, 3, 4}, .port = 5};
    static uint8_t bytes[3 << 20];
    struct message m = {.topic = SLICE("T"), .body = slice_of(bytes, body), .born_host = host};
    struct record_place place = {.log_offset = at, .store_ms = 1, .store_host = &host};
    size_t n = record_size(&m, &host);
    record_encode(&m, &place, n, p);
    return n;
}

static void expect_step(struct log_walk *w, enum log_step_kind kind, int64_t at, int64_t size)
{
    struct log_step step;
    EXPECT_OK(log_walk_next(w, &step));
    EXPECT_EQ(step.kind, kind);
    EXPECT_EQ(step.at, at);
    EXPECT_EQ(step.size, size);
}

TEST(log_walk, every_byte_belongs_to_a_step_also_of_records_larger_than_what_is_read_at_once)
{
    enum { START = 1 << 30, SIZE = 8 << 20, LARGE = 3 << 20 };
    struct sim_fs *disk = sim_fs_new(1);
    struct fs *fs = sim_fs_disk(disk);
    uint8_t *p = must_zero(SIZE);
    size_t a = encode(p, START, 10), b = encode(p + a, START + (int64_t)a, LARGE);
    size_t hole = a + b, c = hole + 5000, c_size = encode(p + c, START + (int64_t)c, 100), d = c + c_size;
    size_t d_size = encode(p + d, START + (int64_t)d, 100), e = d + d_size, e_size = encode(p + e, START + (int64_t)e, 100);
    p[d + 90] ^= 1;
    p[e + 5] ^= 1;
    size_t g = e + e_size, g_size = encode(p + g, START + (int64_t)g, 1);
    put(fs, "/log/x", p, SIZE);
    struct log_walk w = {.file = NULL};
    EXPECT_OK(log_walk_open(&w, fs, "/log/x", START));
    expect_step(&w, LOG_RECORD, START, (int64_t)a);
    expect_step(&w, LOG_RECORD, START + (int64_t)a, (int64_t)b);
    expect_step(&w, LOG_NO_RECORD, START + (int64_t)hole, 5000);
    expect_step(&w, LOG_RECORD, START + (int64_t)c, (int64_t)c_size);
    expect_step(&w, LOG_BAD_CHECKSUM, START + (int64_t)d, (int64_t)d_size);
    expect_step(&w, LOG_NO_RECORD, START + (int64_t)e, (int64_t)e_size);
    expect_step(&w, LOG_RECORD, START + (int64_t)g, (int64_t)g_size);
    expect_step(&w, LOG_ZEROS, START + (int64_t)(g + g_size), (int64_t)(SIZE - g - g_size));
    expect_step(&w, LOG_FILE_END, START + SIZE, 0);
    log_walk_close(&w);
    record_encode_blank((int64_t)(SIZE - c), p + c);
    put(fs, "/log/x", p, SIZE);
    EXPECT_OK(log_walk_open(&w, fs, "/log/x", START));
    log_walk_go_to(&w, START + (int64_t)c);
    expect_step(&w, LOG_BLANK, START + (int64_t)c, (int64_t)(SIZE - c));
    expect_step(&w, LOG_FILE_END, START + SIZE, 0);
    log_walk_close(&w);
    free(p);
    sim_fs_free(disk);
}
