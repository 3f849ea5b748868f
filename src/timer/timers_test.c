#include "timer/timer.h"

#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "kit/test.h"
#include "os/random.h"
#include "timer/files.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

enum { TICK_MS = 1000 };
#define NOW_MS 1700000000000

struct timers_fixture {
    struct sim_fs *disk;
    struct fake_tasks tasks;
    struct timers_options options;
    struct timers *timers;
    int ready, flushed, failed;
    int taken;
    enum err_code taken_error;
    struct timers_take take;
    int64_t read_ms, next;       /* of the checkpoint */
};

static void on_ready(void *ctx) { ((struct timers_fixture *)ctx)->ready++; }

static void on_flushed(void *ctx, err_t e)
{
    struct timers_fixture *f = ctx;
    if (e) f->failed++;
    else f->flushed++;
    err_free(e);
}

static void on_taken(struct timers_take *take, err_t e)
{
    struct timers_fixture *f = LIST_OWNER(take, struct timers_fixture, take);
    f->taken++;
    f->taken_error = err_code(e);
    err_free(e);
}

static void open_timers(struct timers_fixture *f)
{
    f->ready = 0;
    f->timers = timers_new(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks);
    fake_tasks_settle(&f->tasks);
}

static struct timers_fixture *start(uint64_t seed, int64_t log_file_bytes)
{
    struct timers_fixture *f = must_zero(sizeof *f);
    f->disk = sim_fs_new(seed);
    f->read_ms = NOW_MS;
    fake_tasks_init(&f->tasks, NOW_MS);
    EXPECT_OK(fs_make_durable_folder(sim_fs_disk(f->disk), "/store/config"));
    f->options = (struct timers_options){
        .root = "/store", .tick_ms = TICK_MS, .log_file_bytes = log_file_bytes, .ready = on_ready, .flushed = on_flushed, .ctx = f,
    };
    f->take.done = on_taken;
    open_timers(f);
    EXPECT_EQ(f->ready, 1);
    return f;
}

static struct timer_check check_of(const struct timers_fixture *f)
{
    return (struct timer_check){.read_ms = f->read_ms, .queue_offset = f->next, .master_queue_offset = f->next, .timestamp = NOW_MS, .counter = 1};
}

static void close_timers(struct timers_fixture *f)
{
    struct timer_check check = check_of(f);
    EXPECT_OK(timers_close(f->timers, &check));
    f->timers = NULL;
    fake_tasks_settle(&f->tasks);
}

static void kill_timers(struct timers_fixture *f, bool power)
{
    if (power) sim_fs_cut_power(f->disk);
    else sim_fs_stop(f->disk);
    EXPECT_OK(timers_close(f->timers, NULL));
    f->timers = NULL;
    fake_tasks_settle(&f->tasks);
    sim_fs_restart(f->disk);
    open_timers(f);
}

static void finish(struct timers_fixture *f)
{
    if (f->timers) close_timers(f);
    buf_done(&f->take.units);
    fake_tasks_done(&f->tasks);
    sim_fs_free(f->disk);
    free(f);
}

static void flush(struct timers_fixture *f)
{
    struct timer_check check = check_of(f);
    EXPECT(timers_prepare(f->timers, &check));
    timers_flush(f->timers, 0);
    fake_tasks_settle(&f->tasks);
}

static void add(struct timers_fixture *f, int64_t after_ms, int64_t log_offset)
{
    struct timer_unit u = {.flags = TIMER_NORMAL, .added_ms = NOW_MS, .delay_ms = (int32_t)after_ms, .log_offset = log_offset, .size = 100};
    EXPECT(timers_add(f->timers, &u));
    f->next++;
}

/* Takes a slot; how many units it has. */
static size_t take(struct timers_fixture *f, int64_t slot_ms)
{
    buf_clear(&f->take.units);
    f->taken = 0;
    timers_take(f->timers, slot_ms, &f->take);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->taken, 1);
    return f->take.units.n / sizeof(struct timer_unit);
}

static int64_t offset_of(const struct timers_fixture *f, size_t i)
{
    struct timer_unit u;
    memcpy(&u, f->take.units.p + i * sizeof u, sizeof u);
    return u.log_offset;
}

static void expect_slot(struct timers_fixture *f, int64_t after_ms, size_t count, int64_t newest)
{
    EXPECT_EQ(timers_next(f->timers, NOW_MS + after_ms, NOW_MS + after_ms + 1), count ? NOW_MS + after_ms : -1);
    if (!count) return;
    EXPECT_EQ(take(f, NOW_MS + after_ms), count);
    EXPECT_EQ(f->taken_error, ERR_NONE);
    EXPECT_EQ(offset_of(f, 0), newest);
    timers_clear(f->timers, NOW_MS + after_ms, true);
}

TEST(timers, units_of_a_slot_come_back_newest_first_from_memory_and_from_files)
{
    struct timers_fixture *f = start(1, 1000);   /* 18 units a file */
    for (int i = 0; i < 40; i++) add(f, 5000 + i % 2 * 1000, i);
    expect_slot(f, 5000, 20, 38);
    flush(f);
    EXPECT_EQ(f->flushed, 1);
    for (int i = 40; i < 60; i++) add(f, 5000 + i % 2 * 1000, i);
    expect_slot(f, 5000, 30, 58);
    expect_slot(f, 6000, 30, 59);
    EXPECT_EQ(take(f, NOW_MS + 6000), 30);
    for (size_t i = 0; i < 30; i++) EXPECT_EQ(offset_of(f, i), 59 - 2 * (int64_t)i);
    EXPECT_EQ(timers_count(f->timers), 60);
    EXPECT_EQ(timers_count_at(f->timers, NOW_MS + 6999), 30);
    EXPECT_EQ(timers_next(f->timers, NOW_MS, NOW_MS + 100000), NOW_MS + 5000);
    timers_clear(f->timers, NOW_MS + 6000, false);
    EXPECT_EQ(timers_next(f->timers, NOW_MS + 5001, NOW_MS + 100000), -1);
    EXPECT_EQ(timers_first(f->timers), NOW_MS + 5000);
    finish(f);
}

TEST(timers, everything_is_there_after_a_good_stop)
{
    struct timers_fixture *f = start(1, 1000);
    for (int i = 0; i < 100; i++) add(f, 1000 * (i % 10), i);
    close_timers(f);
    f->options.log_file_bytes = 3000;   /* files keep the size they were made with */
    open_timers(f);
    EXPECT(!timers_begin(f->timers)->lost);
    EXPECT_EQ(timers_begin(f->timers)->check.queue_offset, 100);
    EXPECT_EQ(timers_count(f->timers), 100);
    for (int i = 0; i < 10; i++) expect_slot(f, 1000 * i, 10, 90 + i);
    EXPECT(!timers_has(f->timers, 5));
    for (int i = 100; i < 150; i++) add(f, 1000 * (i % 10), i);
    close_timers(f);
    open_timers(f);
    for (int i = 0; i < 10; i++) expect_slot(f, 1000 * i, 15, 140 + i);
    finish(f);
}

TEST(timers, slots_that_were_delivered_before_the_checkpoint_do_not_come_back)
{
    struct timers_fixture *f = start(1, 100 << 20);
    for (int i = 0; i < 10; i++) add(f, 1000 * i, i);
    for (int i = 0; i < 4; i++) {
        take(f, NOW_MS + 1000 * i);
        timers_clear(f->timers, NOW_MS + 1000 * i, false);
    }
    f->read_ms = NOW_MS + 4000;
    flush(f);
    kill_timers(f, false);
    EXPECT_EQ(timers_first(f->timers), NOW_MS + 4000);
    EXPECT_EQ(timers_count(f->timers), 6);
    finish(f);
}

TEST(timers, what_was_not_flushed_is_asked_for_again_and_what_was_is_known)
{
    struct timers_fixture *f = start(1, 1000);
    for (int i = 0; i < 30; i++) add(f, 5000, i);
    flush(f);
    for (int i = 30; i < 60; i++) add(f, 5000, i);
    sim_fs_fail(f->disk, SIM_SYNC, 4, true, ERR_IO);   /* logs and folder; not the wheel, nor the checkpoint */
    flush(f);
    EXPECT_EQ(f->failed, 1);
    kill_timers(f, false);
    EXPECT_EQ(timers_begin(f->timers)->check.queue_offset, 30);
    size_t known = 0;
    for (int64_t i = 0; i < 60; i++) {
        if (!timers_has(f->timers, i)) continue;
        EXPECT(i >= 30);
        known++;
    }
    EXPECT(known > 0);
    expect_slot(f, 5000, 30 + known, (int64_t)(29 + known));
    finish(f);
}

TEST(timers, a_flush_that_fails_is_made_good_by_the_next_one)
{
    for (uint64_t nth = 1; nth < 20; nth++) {
        struct timers_fixture *f = start(nth, 1000);
        for (int i = 0; i < 30; i++) add(f, 5000, i);
        sim_fs_fail(f->disk, SIM_CHANGES, nth, false, ERR_IO);
        flush(f);
        expect_slot(f, 5000, 30, 29);
        for (int i = 30; i < 45; i++) add(f, 5000, i);
        flush(f);
        sim_fs_heal(f->disk);
        kill_timers(f, true);
        expect_slot(f, 5000, 45, 44);
        finish(f);
    }
}

TEST(timers, a_slot_of_one_turn_of_the_wheel_ago_has_to_go_first)
{
    struct timers_fixture *f = start(1, 100 << 20);
    add(f, 1000, 1);
    struct timer_unit u = {.flags = TIMER_NORMAL, .added_ms = NOW_MS + 1000ll * TIMER_SLOTS, .delay_ms = 1000, .log_offset = 2, .size = 1};
    EXPECT(!timers_add(f->timers, &u));
    take(f, NOW_MS + 1000);
    EXPECT(!timers_add(f->timers, &u));
    timers_clear(f->timers, NOW_MS + 1000, false);
    EXPECT(timers_add(f->timers, &u));
    finish(f);
}

TEST(timers, wheel_and_log_that_do_not_agree_with_the_checkpoint_are_put_aside_and_said_to_be_lost)
{
    static const char *const gone[] = {"/store/timerwheel", "/store/timerlog/00000000000000002000", NULL};
    for (size_t i = 0; i < 3; i++) {
        struct timers_fixture *f = start(1, 1000);
        for (int k = 0; k < 40; k++) add(f, 5000, k);
        f->read_ms = NOW_MS + 77000;
        close_timers(f);
        if (gone[i]) EXPECT_OK(fs_remove(sim_fs_disk(f->disk), gone[i]));
        else f->options.tick_ms = 500;
        open_timers(f);
        EXPECT_EQ(f->ready, 1);
        EXPECT(timers_begin(f->timers)->lost);
        EXPECT_EQ(timers_begin(f->timers)->check.queue_offset, 0);
        EXPECT_EQ(timers_begin(f->timers)->check.read_ms, NOW_MS + 77000);
        EXPECT_EQ(timers_count(f->timers), 0);
        f->read_ms = NOW_MS;
        add(f, 5000, 1);
        close_timers(f);
        open_timers(f);
        EXPECT(!timers_begin(f->timers)->lost);
        EXPECT_EQ(timers_count(f->timers), 1);
        finish(f);
    }
}

TEST(timers, a_disk_that_cannot_be_read_is_asked_again)
{
    struct timers_fixture *f = start(1, 1000);
    add(f, 5000, 1);
    close_timers(f);
    sim_fs_fail(f->disk, SIM_READ, 1, true, ERR_IO);
    open_timers(f);
    EXPECT_EQ(f->ready, 0);
    fake_tasks_advance(&f->tasks, 1000);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->ready, 0);
    sim_fs_heal(f->disk);
    fake_tasks_advance(&f->tasks, 1000);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->ready, 1);
    EXPECT_EQ(timers_count(f->timers), 1);
    finish(f);
}

TEST(timers, a_unit_that_is_damaged_is_told_to_who_wants_its_slot)
{
    struct timers_fixture *f = start(1, 1000);
    for (int i = 0; i < 40; i++) add(f, 5000, i);
    flush(f);
    sim_fs_flip(f->disk, "/store/timerlog/00000000000000000000", 52 * 3, 0xFF);
    take(f, NOW_MS + 5000);
    EXPECT_EQ(f->taken_error, ERR_CORRUPT);
    timers_reset(f->timers);
    EXPECT_EQ(timers_count(f->timers), 0);
    add(f, 9000, 7);
    expect_slot(f, 9000, 1, 7);
    flush(f);
    EXPECT_EQ(f->flushed, 2);
    kill_timers(f, true);
    expect_slot(f, 9000, 1, 7);
    expect_slot(f, 5000, 0, 0);
    finish(f);
}

TEST(timers, log_files_go_with_the_commit_log_files_their_messages_were_in)
{
    struct timers_fixture *f = start(1, 1000);
    struct timer_check check;
    for (int i = 0; i < 60; i++) add(f, 5000, i * 100);
    check = check_of(f);
    EXPECT(timers_prepare(f->timers, &check));
    timers_flush(f->timers, 1700);   /* the last message of the first file is at 1700 */
    fake_tasks_settle(&f->tasks);
    struct file_info info;
    EXPECT_OK(fs_info(sim_fs_disk(f->disk), "/store/timerlog/00000000000000000000", &info));
    EXPECT_EQ(info.size, 1000);
    for (int i = 0; i < 4; i++) {
        EXPECT(timers_prepare(f->timers, &check));
        timers_flush(f->timers, 1000000);
        fake_tasks_settle(&f->tasks);
    }
    EXPECT_ERR(fs_info(sim_fs_disk(f->disk), "/store/timerlog/00000000000000002000", &info), ERR_NOT_FOUND);
    EXPECT_OK(fs_info(sim_fs_disk(f->disk), "/store/timerlog/00000000000000003000", &info));
    expect_slot(f, 5000, 6, 5900);   /* the others are older than the commit log */
    close_timers(f);
    open_timers(f);
    EXPECT(!timers_begin(f->timers)->lost);
    expect_slot(f, 5000, 6, 5900);
    finish(f);
}

/* --- files of the original --- */

static struct buf hex_of(json_t *object, const char *key)
{
    struct buf b = BUF_EMPTY;
    test_unhex(slice_text(json_string_value(json_object_get(object, key))), &b);
    return b;
}

static void put_file(struct timers_fixture *f, const char *path, int64_t at, struct buf bytes, int64_t size)
{
    struct file *file;
    EXPECT_OK(fs_open(sim_fs_disk(f->disk), path, FILE_CREATE, &file));
    EXPECT_OK(file_set_size(file, size));
    EXPECT_OK(file_write_at(file, at, bytes.p, bytes.n));
    file_close(file);
    buf_done(&bytes);
}

static void expect_file(struct timers_fixture *f, const char *path, int64_t at, struct buf bytes)
{
    struct file *file;
    uint8_t *found = must_alloc(bytes.n);
    size_t n;
    EXPECT_OK(fs_open(sim_fs_disk(f->disk), path, FILE_READ, &file));
    EXPECT_OK(file_read_at(file, at, found, bytes.n, &n));
    EXPECT(n == bytes.n && memcmp(found, bytes.p, n) == 0);
    file_close(file);
    free(found);
    buf_done(&bytes);
}

static struct timer_unit unit_of(const struct timers_fixture *f, size_t i)
{
    struct timer_unit u;
    memcpy(&u, f->take.units.p + i * sizeof u, sizeof u);
    return u;
}

TEST(timers, files_of_the_original_are_read_and_what_is_written_to_them_is_what_it_would_write)
{
    enum { LOG_BYTES = 100 << 20 };
    static const size_t counts[] = {2, 2, 1};
    struct buf file = test_fixture("vectors/timer.json");
    json_t *all = json_loadb((const char *)file.p, file.n, 0, NULL), *slot;
    size_t i;
    struct timers_fixture *f = start(1, LOG_BYTES);
    close_timers(f);
    EXPECT_OK(fs_make_durable_folder(sim_fs_disk(f->disk), "/store/timerlog"));
    put_file(f, "/store/config/timercheck", 0, hex_of(all, "check"), TIMER_CHECK_BYTES);
    put_file(f, "/store/timerlog/00000000000000000000", 0, hex_of(all, "log"), LOG_BYTES);
    json_array_foreach(json_object_get(all, "slots"), i, slot)
        put_file(f, "/store/timerwheel", json_integer_value(json_object_get(slot, "number")) * TIMER_SLOT_BYTES, hex_of(slot, "bytes"), WHEEL_FILE_BYTES);
    open_timers(f);
    const struct timers_begin *begin = timers_begin(f->timers);
    EXPECT(!begin->lost && begin->check.tick_ms == 0);
    EXPECT_EQ(begin->check.queue_offset, 5);
    EXPECT_EQ(begin->check.flushed, 5 * TIMER_UNIT_BYTES);
    EXPECT_EQ(timers_log_end(f->timers), 5 * TIMER_UNIT_BYTES);
    EXPECT_EQ(timers_count(f->timers), 3);   /* a recall counts one less */
    int64_t at = timers_first(f->timers);
    for (i = 0; i < 3; i++) {
        int64_t slot_ms = timers_next(f->timers, at, at + 60000);
        EXPECT_EQ(take(f, slot_ms), counts[i]);
        EXPECT_EQ(f->taken_error, ERR_NONE);
        timers_clear(f->timers, slot_ms, true);
        EXPECT_EQ(unit_of(f, 0).flags, i == 0 ? TIMER_NORMAL : i == 1 ? TIMER_NORMAL | TIMER_DELETES : TIMER_NORMAL | TIMER_ROLLS);
        at = slot_ms + TICK_MS;
    }
    struct timer_unit u = unit_of(f, 0);
    u.log_offset += 317;
    EXPECT(timers_add(f->timers, &u));
    f->read_ms = begin->check.read_ms;
    close_timers(f);
    expect_file(f, "/store/timerlog/00000000000000000000", 0, hex_of(all, "log"));
    for (i = 0; i < 2; i++) {
        slot = json_array_get(json_object_get(all, "slots"), i);
        expect_file(f, "/store/timerwheel", json_integer_value(json_object_get(slot, "number")) * TIMER_SLOT_BYTES, hex_of(slot, "bytes"));
    }
    json_decref(all);
    buf_done(&file);
    finish(f);
}

/* Random additions, deliveries, flushes, kills and power cuts against a list: whatever the checkpoint vouches for is there, once. */
struct model {
    struct random random;
    int64_t offsets[4000];       /* added: log_offset by number … */
    int64_t slots[4000];         /* … and slot; -1 delivered */
    int64_t count;
    int64_t safe_count;          /* what the last good flush covered */
};

static void model_add(struct timers_fixture *f, struct model *m)
{
    int64_t after = 1000 + 1000 * (int64_t)random_below(&m->random, 40);
    if (m->count == 4000) return;
    m->offsets[m->count] = m->count;
    m->slots[m->count] = f->read_ms + after;
    struct timer_unit u = {.flags = TIMER_NORMAL, .added_ms = f->read_ms, .delay_ms = (int32_t)after, .log_offset = m->count, .size = 100};
    EXPECT(timers_add(f->timers, &u));
    m->count++;
}

static void model_deliver(struct timers_fixture *f, struct model *m)
{
    int64_t slot = timers_next(f->timers, f->read_ms, f->read_ms + 1000);
    size_t want = 0, got = slot >= 0 ? take(f, slot) : 0;
    for (int64_t i = 0; i < m->count; i++) want += m->slots[i] == f->read_ms;
    EXPECT_EQ(got, want);
    for (size_t i = 0; i < got; i++) {
        EXPECT_EQ(m->slots[offset_of(f, i)], f->read_ms);
        m->slots[offset_of(f, i)] = -1;
    }
    if (slot >= 0) timers_clear(f->timers, slot, false);
    f->read_ms += 1000;
}

/* As the service does: what is not known is added again. */
static void model_reopen(struct timers_fixture *f, struct model *m, int64_t read_ms_before)
{
    const struct timers_begin *begin = timers_begin(f->timers);
    EXPECT(!begin->lost);
    EXPECT(begin->check.read_ms <= read_ms_before);
    for (int64_t i = begin->check.queue_offset; i < m->count; i++) {
        if (timers_has(f->timers, i) || m->slots[i] < 0) continue;
        struct timer_unit u = {.flags = TIMER_NORMAL, .added_ms = m->slots[i], .log_offset = i, .size = 100};
        EXPECT(timers_add(f->timers, &u));
    }
    int64_t slot;
    while ((slot = timers_next(f->timers, begin->check.read_ms, read_ms_before)) >= 0) timers_clear(f->timers, slot, false);   /* delivered twice */
}

static void run_model(uint64_t seed)
{
    struct model *m = must_zero(sizeof *m);
    struct timers_fixture *f = start(seed, 68 + 52 * (int64_t)(seed % 30));
    random_init(&m->random, seed);
    for (int step = 0; step < 200; step++) {
        switch (random_below(&m->random, 8)) {
        case 0: case 1: case 2:
            for (int i = 0; i < 8; i++) model_add(f, m);
            break;
        case 3: case 4: model_deliver(f, m); break;
        case 5:
            f->next = m->count;
            if (random_below(&m->random, 3) == 0) sim_fs_fail(f->disk, SIM_CHANGES, 1 + random_below(&m->random, 12), false, ERR_IO);
            flush(f);
            sim_fs_heal(f->disk);
            break;
        case 6:
            if (random_below(&m->random, 4)) break;
            if (random_below(&m->random, 2)) {   /* in the middle of a flush */
                f->next = m->count;
                struct timer_check check = check_of(f);
                EXPECT(timers_prepare(f->timers, &check));
                sim_fs_fail(f->disk, SIM_CHANGES, 1 + random_below(&m->random, 12), true, ERR_IO);
                timers_flush(f->timers, 0);
                fake_tasks_run_work(&f->tasks);
            }
            kill_timers(f, random_below(&m->random, 2));
            EXPECT_EQ(f->ready, 1);
            model_reopen(f, m, f->read_ms);
            break;
        case 7:
            if (random_below(&m->random, 4)) break;
            f->next = m->count;
            close_timers(f);
            open_timers(f);
            model_reopen(f, m, f->read_ms);
            break;
        }
    }
    while (timers_first(f->timers) >= 0) model_deliver(f, m);
    for (int64_t i = 0; i < m->count; i++) EXPECT_EQ(m->slots[i], -1);
    finish(f);
    free(m);
}

TEST(timers, random_additions_deliveries_failures_and_ends_lose_and_double_nothing)
{
    for (uint64_t seed = 1; seed <= 60; seed++) run_model(seed);
}
