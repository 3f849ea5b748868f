/* fault_test.c - what fails, and when: no acknowledged message is lost, queue offsets are dense, nothing half is served. */
#include "store/store_fixture.h"

#include "codec/record.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

/* --- single faults --- */

TEST(fault, a_full_disk_refuses_messages_and_takes_them_again_when_there_is_room)
{
    struct store_fixture *f = store_fixture_new(1);
    const char *why;
    struct message m = store_fixture_message("T", 0, "x");
    struct appended a;
    store_fixture_open(f);
    store_fixture_append(f, "T", 0, "before");
    fake_tasks_turn(&f->tasks);
    sim_fs_fail(f->disk, SIM_WRITE, 1, true, ERR_DISK_FULL);
    store_fixture_append(f, "T", 0, "does not fit");
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->failed, 1);
    EXPECT_EQ(f->last_error, ERR_DISK_FULL);
    EXPECT(!store_is_writable(f->store, &why));
    EXPECT_ERR(store_fixture_try(f, &m, &a), ERR_DISK_FULL);
    fake_tasks_advance(&f->tasks, 1000);
    EXPECT_ERR(store_fixture_try(f, &m, &a), ERR_DISK_FULL);
    store_fixture_expect(f, "T", 0, 0, "before");   /* reading goes on */
    sim_fs_heal(f->disk);
    fake_tasks_advance(&f->tasks, 1000);
    EXPECT(store_is_writable(f->store, &why));
    EXPECT_EQ(store_fixture_append(f, "T", 0, "after").queue_offset, 1);
    fake_tasks_turn(&f->tasks);
    store_fixture_kill(f);
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 2);
    store_fixture_expect(f, "T", 0, 1, "after");
    store_fixture_free(f);
}

TEST(fault, no_room_for_the_next_log_file_is_a_full_disk)
{
    struct store_fixture *f = store_fixture_new(1);
    f->options.log_file_bytes = 8192;
    store_fixture_open(f);
    store_fixture_append(f, "T", 0, "first");
    fake_tasks_settle(&f->tasks);
    sim_fs_set_space(f->disk, 0);
    struct message m = store_fixture_message("T", 0, "a message of some length");
    struct appended a;
    err_t e = NULL;
    int stored = 1;
    for (int i = 0; i < 200 && !e; i++, stored += !e) {
        e = store_fixture_try(f, &m, &a);
        fake_tasks_settle(&f->tasks);
    }
    EXPECT_ERR(e, ERR_DISK_FULL);
    EXPECT_EQ(f->failed, 0);
    sim_fs_set_space(f->disk, 1 << 20);
    fake_tasks_advance(&f->tasks, 1000);
    EXPECT_EQ(store_fixture_append(f, "T", 0, "last").queue_offset, stored);
    fake_tasks_settle(&f->tasks);
    store_fixture_expect(f, "T", 0, stored, "last");
    store_fixture_free(f);
}

/* What an earlier start was at when it was killed does not keep the next one from opening the store. */
TEST(fault, a_start_that_is_killed_at_any_moment_is_followed_by_one_that_succeeds)
{
    for (uint64_t n = 1, done = 0; !done; n++) {
        struct store_fixture *f = store_fixture_new(1);
        f->options.queue_file_entries = 4;
        f->options.log_file_bytes = 1024;
        store_fixture_open(f);
        for (int i = 0; i < 10; i++) {
            store_fixture_append(f, i % 2 ? "T" : "U", 0, "0123456789");
            fake_tasks_settle(&f->tasks);
        }
        store_fixture_kill(f);
        sim_fs_fail(f->disk, SIM_CHANGES, n, true, ERR_IO);
        err_t e = store_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &f->store);
        done = !e;
        err_free(e);
        store_fixture_kill(f);
        store_fixture_open(f);
        for (int i = 0; i < 10; i++) store_fixture_expect(f, i % 2 ? "T" : "U", 0, i / 2, "0123456789");
        store_fixture_free(f);
    }
}

TEST(fault, queue_entries_that_find_no_room_follow_later)
{
    struct store_fixture *f = store_fixture_new(1);
    store_fixture_open(f);
    store_fixture_append(f, "T", 0, "first");
    fake_tasks_settle(&f->tasks);
    sim_fs_fail(f->disk, SIM_WRITE, 2, true, ERR_DISK_FULL);   /* the log, then the queue */
    store_fixture_append(f, "T", 0, "second");
    fake_tasks_turn(&f->tasks);
    EXPECT_EQ(f->stored, 2);                                   /* it is in the log */
    EXPECT_EQ(store_fixture_max(f, "T", 0), 1);
    sim_fs_heal(f->disk);
    fake_tasks_advance(&f->tasks, 1000);
    store_fixture_expect(f, "T", 0, 1, "second");
    EXPECT_EQ(f->arrived_end, 2);
    EXPECT_EQ(store_fixture_append(f, "T", 0, "third").queue_offset, 2);
    fake_tasks_settle(&f->tasks);
    store_fixture_expect(f, "T", 0, 2, "third");
    store_fixture_free(f);
}

TEST(fault, after_a_failed_sync_nothing_is_confirmed_any_more)
{
    for (int sync_flush = 0; sync_flush < 2; sync_flush++) {
        struct store_fixture *f = store_fixture_new(1);
        const char *why;
        f->options.sync_flush = sync_flush;
        store_fixture_open(f);
        store_fixture_append(f, "T", 0, "safe");
        fake_tasks_advance(&f->tasks, 500);
        fake_tasks_settle(&f->tasks);
        sim_fs_fail(f->disk, SIM_SYNC, 1, true, ERR_IO);
        store_fixture_append(f, "T", 0, "in doubt");
        fake_tasks_advance(&f->tasks, 500);
        fake_tasks_advance(&f->tasks, 500);
        fake_tasks_settle(&f->tasks);
        EXPECT_EQ(f->failed, sync_flush);
        EXPECT(!store_is_writable(f->store, &why));
        struct message m = store_fixture_message("T", 0, "x");
        struct appended a;
        EXPECT_ERR(store_fixture_try(f, &m, &a), ERR_NOT_AVAILABLE);
        store_fixture_expect(f, "T", 0, 0, "safe");
        sim_fs_heal(f->disk);
        err_free(store_close(f->store));
        f->store = NULL;
        struct file_info info;
        EXPECT_OK(fs_info(sim_fs_disk(f->disk), "/store/abort", &info));   /* the next start looks closely */
        store_fixture_open(f);
        store_fixture_expect(f, "T", 0, 0, "safe");
        store_fixture_append(f, "T", 0, "goes on");
        fake_tasks_settle(&f->tasks);
        store_fixture_free(f);
    }
}

/* Of more than one block: a block that is written to again is saved by that alone. */
static const char *doubtful(void)
{
    static char body[9001];
    memset(body, 'x', 9000);
    return body;
}

/* One message that is synced, then one whose sync fails. */
static struct store_fixture *with_failed_sync(bool sync_flush, uint64_t seed)
{
    struct store_fixture *f = store_fixture_new(seed);
    f->options.sync_flush = sync_flush;
    store_fixture_open(f);
    store_fixture_append(f, "T", 0, "safe");
    fake_tasks_advance(&f->tasks, 5000);
    fake_tasks_settle(&f->tasks);
    sim_fs_fail(f->disk, SIM_SYNC, 1, true, ERR_IO);
    store_fixture_append(f, "T", 0, doubtful());
    if (!sync_flush) fake_tasks_advance(&f->tasks, 500);
    fake_tasks_settle(&f->tasks);
    const char *why;
    EXPECT(!store_is_writable(f->store, &why) && strstr(why, "sync"));
    sim_fs_heal(f->disk);
    return f;
}

TEST(fault, what_a_failed_sync_left_in_doubt_is_written_again_and_writing_goes_on)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const char *why;
        struct store_fixture *f = with_failed_sync(true, seed);
        EXPECT_EQ(f->failed, 1);                      /* whoever sent it was told that it is not safe */
        EXPECT_EQ(store_fixture_max(f, "T", 0), 1);   /* and nobody sees it */
        fake_tasks_advance(&f->tasks, 1000);
        fake_tasks_settle(&f->tasks);
        EXPECT(store_is_writable(f->store, &why));
        store_fixture_expect(f, "T", 0, 1, doubtful());   /* it is there now, once: its offset is taken */
        store_fixture_append(f, "T", 0, "after");
        fake_tasks_settle(&f->tasks);
        EXPECT_EQ(f->stored, 2);
        store_fixture_cut_power(f);
        store_fixture_open(f);
        store_fixture_expect(f, "T", 0, 0, "safe");
        store_fixture_expect(f, "T", 0, 1, doubtful());
        store_fixture_expect(f, "T", 0, 2, "after");
        store_fixture_free(f);
    }
}

TEST(fault, a_disk_that_goes_on_failing_is_tried_each_second_and_closing_does_not_wait_for_it)
{
    struct store_fixture *f = with_failed_sync(false, 1);
    const char *why;
    sim_fs_fail(f->disk, SIM_SYNC, 1, true, ERR_IO);
    for (int i = 0; i < 5; i++) {
        uint64_t calls = sim_fs_calls(f->disk, SIM_SYNC);
        fake_tasks_advance(&f->tasks, 1000);
        fake_tasks_settle(&f->tasks);
        EXPECT_EQ(sim_fs_calls(f->disk, SIM_SYNC), calls + 1);
        EXPECT(!store_is_writable(f->store, &why));
    }
    fake_tasks_advance(&f->tasks, 1000);   /* a try is under way */
    err_free(store_close(f->store));
    f->store = NULL;
    fake_tasks_settle(&f->tasks);
    sim_fs_heal(f->disk);
    store_fixture_open(f);
    store_fixture_expect(f, "T", 0, 1, doubtful());   /* the process was not killed, nor did the power fail */
    store_fixture_free(f);
}

TEST(fault, a_disk_that_has_lost_what_was_written_is_not_written_to_until_the_next_start)
{
    int lost = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const char *why;
        struct store_fixture *f = with_failed_sync(true, seed);
        store_fixture_evict(f);   /* what the kernel took for written comes back as it is on the disk */
        fake_tasks_advance(&f->tasks, 1000);
        fake_tasks_settle(&f->tasks);
        bool writable = store_is_writable(f->store, &why);
        if (!writable) {
            lost++;
            EXPECT(strstr(why, "lost the record"));
            fake_tasks_advance(&f->tasks, 60000);
            EXPECT(!store_is_writable(f->store, &why));
        }
        EXPECT_EQ(store_fixture_max(f, "T", 0), writable ? 2 : 1);
        store_fixture_kill(f);
        store_fixture_open(f);
        EXPECT_EQ(store_fixture_max(f, "T", 0), writable ? 2 : 1);
        store_fixture_append(f, "T", 0, "after");
        fake_tasks_settle(&f->tasks);
        store_fixture_expect(f, "T", 0, writable ? 2 : 1, "after");
        store_fixture_free(f);
    }
    EXPECT(lost > 0 && lost < 20);
}

TEST(fault, entries_of_a_queue_that_a_failed_sync_left_in_doubt_are_written_again_and_if_lost_withheld_until_the_next_start)
{
    int lost = 0, kept = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct store_fixture *f = store_fixture_new(seed);
        struct buf body = BUF_EMPTY;
        store_fixture_open(f);
        for (int i = 0; i < 5; i++) store_fixture_append(f, "T", 0, "x");
        fake_tasks_turn(&f->tasks);
        fake_tasks_advance(&f->tasks, 500);   /* the log is synced */
        fake_tasks_settle(&f->tasks);
        sim_fs_fail(f->disk, SIM_SYNC, 1, true, ERR_IO);
        fake_tasks_advance(&f->tasks, 500);   /* the queue is not */
        fake_tasks_settle(&f->tasks);
        sim_fs_heal(f->disk);
        if (seed % 2) store_fixture_evict(f);
        fake_tasks_advance(&f->tasks, 1000);
        fake_tasks_settle(&f->tasks);
        enum read_status status = store_fixture_read(f, "T", 0, 0, &body);
        if (status != READ_FOUND && !(seed % 2 && status == READ_OFFSET_AT_END)) fail_msg("seed %d status %d", (int)seed, status);
        lost += status != READ_FOUND;
        kept += status == READ_FOUND;
        store_fixture_close(f);
        struct file_info info;
        err_t e = fs_info(sim_fs_disk(f->disk), "/store/abort", &info);
        EXPECT_EQ(e == NULL, status != READ_FOUND);   /* the next start looks closely */
        err_free(e);
        store_fixture_open(f);
        for (int i = 0; i < 5; i++) store_fixture_expect(f, "T", 0, i, "x");
        buf_done(&body);
        store_fixture_free(f);
    }
    EXPECT(lost > 0 && kept > 20);
}

TEST(fault, a_flipped_bit_is_passed_by_and_its_offset_is_kept)
{
    struct store_fixture *f = store_fixture_new(1);
    struct appended a[10];
    store_fixture_open(f);
    for (int i = 0; i < 10; i++) a[i] = store_fixture_append(f, "T", 0, "0123456789");
    fake_tasks_settle(&f->tasks);
    store_fixture_kill(f);
    sim_fs_flip(f->disk, "/store/commitlog/00000000000000000000", a[4].log_offset + 90, 4);    /* in the body */
    sim_fs_flip(f->disk, "/store/commitlog/00000000000000000000", a[7].log_offset + 5, 64);    /* in the magic */
    sim_fs_flip(f->disk, "/store/commitlog/00000000000000000000", a[9].log_offset + 90, 1);    /* the last one: as good as torn */
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 9);
    struct buf text = BUF_EMPTY;
    for (int i = 0; i < 9; i++)
        EXPECT_EQ(store_fixture_read(f, "T", 0, i, &text), i == 4 || i == 7 ? READ_MESSAGE_GONE : READ_FOUND);
    buf_done(&text);
    struct read_request r = {.topic = SLICE("T"), .max_messages = 32, .max_bytes = 1 << 20, .max_scan = 100};
    struct read_result all;
    store_fixture_read_all(f, &r, &all);
    EXPECT_EQ(all.messages, 7);
    read_result_release(&all);
    EXPECT_EQ(store_fixture_append(f, "T", 0, "next").queue_offset, 9);
    fake_tasks_settle(&f->tasks);
    store_fixture_free(f);
}

TEST(fault, files_of_another_size_are_refused_with_both_sizes_named)
{
    struct store_fixture *f = store_fixture_new(1);
    store_fixture_open(f);
    store_fixture_append(f, "T", 0, "x");
    fake_tasks_settle(&f->tasks);
    store_fixture_close(f);
    f->options.log_file_bytes *= 2;
    struct store *s;
    err_t e = store_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &s);
    EXPECT(strstr(err_text(e), "65536") && strstr(err_text(e), "131072"));
    EXPECT_ERR(e, ERR_CORRUPT);
    f->options.log_file_bytes /= 2;
    store_fixture_open(f);
    store_fixture_expect(f, "T", 0, 0, "x");
    store_fixture_free(f);
}

TEST(fault, an_empty_last_log_file_is_removed)
{
    struct store_fixture *f = store_fixture_new(1);
    store_fixture_open(f);
    store_fixture_append(f, "T", 0, "x");
    fake_tasks_settle(&f->tasks);
    store_fixture_close(f);
    struct file *file;
    EXPECT_OK(fs_open(sim_fs_disk(f->disk), "/store/commitlog/00000000000000065536", FILE_CREATE, &file));
    file_close(file);
    store_fixture_open(f);
    store_fixture_expect(f, "T", 0, 0, "x");
    store_fixture_free(f);
}

TEST(fault, queues_that_were_removed_are_written_again)
{
    struct store_fixture *f = store_fixture_new(1);
    store_fixture_open(f);
    for (int i = 0; i < 250; i++) store_fixture_append(f, "T", i % 2, "x");
    fake_tasks_settle(&f->tasks);
    store_fixture_close(f);
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/consumequeue"));
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 125);
    store_fixture_expect(f, "T", 1, 124, "x");
    store_fixture_free(f);
}

/* --- the model: what a correct store would remember --- */

enum { BATCH_QUEUES = 3, QUEUES = 5, MESSAGES_MAX = 4000 };   /* the first queues hold single messages, those behind them batches */

struct sent {
    struct model *model;
    int queue;
    int64_t offset;
    uint32_t number;       /* what its body says */
    int32_t count;         /* messages in it */
    bool stored;           /* acknowledged */
};

struct model {
    struct store_fixture *f;
    struct random random;
    struct sent *all;
    uint32_t count;
    bool promised;         /* acknowledged messages must survive what comes */
    bool power_failed;     /* sectors not yet synced may be missing in the middle: their records leave holes */
};

static const char *const topics[QUEUES] = {"A", "B", "%RETRY%group", "Batches", "Batches"};

static void body_of(uint32_t number, char text[static 64])
{
    static const char fill[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    snprintf(text, 64, "%u:%.*s", number, (int)(number * 7 % sizeof fill), fill);
}

static void model_done(void *ctx, err_t e)
{
    struct sent *sent = ctx;
    if (!e && !sent->model->f->dead) sent->stored = true;
    err_free(e);
}

static void model_send(struct model *m)
{
    char body[64];
    struct sent *sent = &m->all[m->count];
    if (m->count == MESSAGES_MAX || !m->f->store) return;
    *sent = (struct sent){.model = m, .queue = (int)random_below(&m->random, QUEUES), .number = m->count};
    body_of(sent->number, body);
    bool batches = sent->queue >= BATCH_QUEUES;
    int32_t count = batches ? (int32_t)random_below(&m->random, 6) : 0;   /* 0: no batch; those are sent to topics of batches too */
    struct message msg = store_fixture_message(topics[sent->queue], sent->queue, body);
    if (count) msg = store_fixture_batch(topics[sent->queue], sent->queue, body, count);
    sent->count = count ? count : 1;
    msg.batch_topic = batches;
    struct appended a;
    err_t e = store_append(m->f->store, &msg, 1, true, model_done, sent, &a);
    err_free(e);
    if (e) return;
    sent->offset = a.queue_offset;
    m->count++;
}

static bool body_is_of(struct model *m, struct slice body, int queue, int64_t offset, uint32_t *number)
{
    char want[64];
    *number = (uint32_t)strtoul((const char *)body.p, NULL, 10);
    if (*number >= m->count) return false;
    body_of(*number, want);
    const struct sent *s = &m->all[*number];
    return slice_eq(body, slice_text(want)) && s->queue == queue && s->offset == offset;
}

/* Whichever of its messages is asked for, a batch comes whole. Returns where to go on. */
static int64_t check_batch_at(struct model *m, int q, int64_t offset, bool *seen)
{
    struct read_request r = {.topic = slice_text(topics[q]), .queue_id = q, .offset = offset, .max_messages = 1, .max_bytes = 1};
    struct read_result got;
    struct message message;
    uint32_t number;
    r.max_scan = 1;
    store_fixture_read_all(m->f, &r, &got);
    EXPECT(got.next_offset > offset && got.next_offset <= got.max_offset);
    if (got.status == READ_MESSAGE_GONE && m->power_failed) return got.next_offset;
    EXPECT_EQ(got.status, READ_FOUND);
    EXPECT_EQ(record_read(got.slice[0].bytes, &message), RECORD_WHOLE);
    struct buf body = BUF_EMPTY;
    buf_put_slice(&body, message.body);
    buf_put_u8(&body, 0);
    EXPECT(body_is_of(m, message.body.n ? slice_of(body.p, body.n - 1) : SLICE(""), q, message.queue_offset, &number));
    EXPECT_EQ(got.messages, m->all[number].count);
    EXPECT_EQ(got.next_offset, message.queue_offset + got.messages);
    seen[number] = true;
    buf_done(&body);
    read_result_release(&got);
    EXPECT(message.queue_offset <= offset || m->power_failed);   /* S3 */
    return message.queue_offset > offset ? message.queue_offset : offset + 1;
}

static void check_batches(struct model *m, int q, bool *seen)
{
    int64_t end = store_fixture_max(m->f, topics[q], q);
    for (int64_t i = store_fixture_min(m->f, topics[q], q); i < end;) i = check_batch_at(m, q, i, seen);
}

/* Each offset below the end has a message that was sent to it; those acknowledged are all there. */
static void model_check(struct model *m)
{
    struct store_fixture *f = m->f;
    bool *seen = must_zero(MESSAGES_MAX * sizeof *seen);
    struct buf body = BUF_EMPTY;
    for (int q = BATCH_QUEUES; q < QUEUES; q++) check_batches(m, q, seen);
    for (int q = 0; q < BATCH_QUEUES; q++) {
        int64_t end = store_fixture_max(f, topics[q], q);
        int64_t min = store_fixture_min(f, topics[q], q);
        EXPECT(min == 0 || m->power_failed);
        for (int64_t i = min; i < end; i++) {
            uint32_t number;
            buf_clear(&body);
            enum read_status status = store_fixture_read(f, topics[q], q, i, &body);
            if (status == READ_MESSAGE_GONE && m->power_failed) continue;   /* S9; not an acknowledged one, see below */
            EXPECT_EQ(status, READ_FOUND);   /* S3 */
            buf_put_u8(&body, 0);
            EXPECT(body_is_of(m, slice_of(body.p, body.n - 1), q, i, &number));
            seen[number] = true;
        }
    }
    for (uint32_t i = 0; i < m->count && m->promised; i++) {
        const struct sent *sent = &m->all[i];
        if (sent->stored && !seen[i]) fail_msg("message %u of queue %d at %lld is lost", i, sent->queue, (long long)sent->offset);
    }
    /* What a restart has not brought back is gone; what it has is as good as acknowledged. */
    for (uint32_t i = 0; i < m->count; i++) m->all[i].stored = seen[i];
    buf_done(&body);
    free(seen);
}

static struct model *model_new(uint64_t seed, bool sync_flush)
{
    struct model *m = must_zero(sizeof *m);
    m->f = store_fixture_new(seed);
    m->all = must_zero(MESSAGES_MAX * sizeof *m->all);
    m->promised = true;
    random_init(&m->random, seed);
    m->f->options.sync_flush = sync_flush;
    m->f->options.log_file_bytes = 4096 << random_below(&m->random, 4);
    m->f->options.queue_file_entries = 5 + random_below(&m->random, 100);
    m->f->options.batch_file_entries = 5 + random_below(&m->random, 20);
    store_fixture_open(m->f);
    return m;
}

static void model_free(struct model *m)
{
    store_fixture_free(m->f);
    free(m->all);
    free(m);
}

static void model_cut_power(struct model *m)
{
    m->power_failed = true;
    store_fixture_cut_power(m->f);
}

/* Pages that it should have written are lost as soon as they leave memory. */
static void model_fail_sync(struct model *m)
{
    m->power_failed = true;
    sim_fs_fail(m->f->disk, SIM_SYNC, 1 + random_below(&m->random, 4), false, ERR_IO);
}

static void model_restart(struct model *m)
{
    store_fixture_open(m->f);
    model_check(m);
}

static void model_step(struct model *m)
{
    struct store_fixture *f = m->f;
    uint32_t dice = random_below(&m->random, 100);
    if (dice < 60) {
        for (uint32_t n = random_below(&m->random, 20); n > 0; n--) model_send(m);
    } else if (dice < 80) {
        fake_tasks_turn(&f->tasks);
    } else if (dice < 90) {
        fake_tasks_run_work(&f->tasks);
    } else if (dice < 97) {
        fake_tasks_advance(&f->tasks, random_below(&m->random, 700));
    } else if (dice < 98) {
        store_fixture_evict(f);   /* who looks at what is not in memory dies of it */
        if (f->options.sync_flush && random_below(&m->random, 4) == 0) model_fail_sync(m);
    } else if (dice < 99) {
        sim_fs_heal(f->disk);
        store_fixture_close(f);
        model_restart(m);
    } else if (f->options.sync_flush && random_below(&m->random, 2)) {
        model_cut_power(m);
        model_restart(m);
    } else {
        store_fixture_kill(f);
        model_restart(m);
    }
}

static uint64_t seeds(void)
{
    const char *n = getenv("SEEDS");
    return n ? strtoull(n, NULL, 10) : 60;
}

static uint64_t first_seed(void)
{
    const char *n = getenv("SEED");
    return n ? strtoull(n, NULL, 10) : 1;
}

TEST(model, keeps_every_acknowledged_message_through_kills_and_power_cuts)
{
    for (uint64_t seed = first_seed(), end = seed + seeds(); seed < end; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        struct model *m = model_new(seed, seed % 2);
        for (int i = 0; i < 300; i++) model_step(m);
        fake_tasks_settle(&m->f->tasks);
        model_check(m);
        model_free(m);
    }
}

/* ASYNC_FLUSH promises nothing to a power cut, but what is left must be in order. */
TEST(model, without_sync_a_power_cut_leaves_queues_of_whole_messages_in_order)
{
    for (uint64_t seed = first_seed(), end = seed + seeds(); seed < end; seed++) {
        print_message("seed %llu\n", (unsigned long long)seed);
        struct model *m = model_new(seed, false);
        m->promised = false;
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 40; i++) model_step(m);
            model_cut_power(m);
            model_restart(m);
        }
        model_free(m);
    }
}

/* --- the nth call fails --- */

static void send_some(struct model *m)
{
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 6; k++) model_send(m);
        fake_tasks_turn(&m->f->tasks);
        fake_tasks_run_work(&m->f->tasks);
        if (i % 3 == 0) fake_tasks_advance(&m->f->tasks, 600);
    }
    fake_tasks_settle(&m->f->tasks);
}

static void for_each_fault(bool sync_flush, bool from_then_on, bool cut_power)
{
    struct model *dry = model_new(7, sync_flush);
    uint64_t before = sim_fs_calls(dry->f->disk, SIM_ANY);
    send_some(dry);
    uint64_t calls = sim_fs_calls(dry->f->disk, SIM_ANY) - before;
    model_free(dry);
    for (uint64_t nth = 1; nth <= calls; nth++) {
        print_message("sync_flush %d from_then_on %d cut_power %d nth %d\n", sync_flush, from_then_on, cut_power, (int)nth);
        struct model *m = model_new(7, sync_flush);
        sim_fs_fail(m->f->disk, SIM_ANY, nth, from_then_on, nth % 2 ? ERR_DISK_FULL : ERR_IO);
        send_some(m);
        sim_fs_heal(m->f->disk);
        const char *why;
        for (int i = 0; i < 3; i++) {
            fake_tasks_advance(&m->f->tasks, 1000);
            fake_tasks_settle(&m->f->tasks);
        }
        EXPECT(store_is_writable(m->f->store, &why));   /* by itself, whatever it was */
        send_some(m);
        if (cut_power) model_cut_power(m);
        else store_fixture_kill(m->f);
        model_restart(m);
        send_some(m);
        model_check(m);
        model_free(m);
    }
}

TEST(fault, whatever_call_fails_once_no_acknowledged_message_is_lost)
{
    for_each_fault(false, false, false);
    for_each_fault(true, false, true);
}

TEST(fault, whatever_call_fails_from_then_on_no_acknowledged_message_is_lost)
{
    for_each_fault(false, true, false);
    for_each_fault(true, true, true);
}

/* Not a signal, as a look at a map of it would be. */
TEST(fault, a_part_of_the_log_that_the_disk_cannot_read_is_named_by_the_start)
{
    int named = 0;
    for (uint64_t nth = 1; nth <= 12; nth++) {
        struct store_fixture *f = store_fixture_new(1);
        struct store *s;
        store_fixture_open(f);
        for (int i = 0; i < 20; i++) store_fixture_append(f, "T", 0, "x");
        fake_tasks_settle(&f->tasks);
        store_fixture_kill(f);
        sim_fs_fail(f->disk, SIM_READ, nth, false, ERR_IO);
        err_t e = store_open(&f->options, sim_fs_disk(f->disk), &f->tasks.tasks, &s);
        named += e && strstr(err_text(e), "read the log at 0");
        if (!e) f->store = s;
        else store_fixture_kill(f);
        err_free(e);
        sim_fs_heal(f->disk);
        if (!f->store) store_fixture_open(f);
        EXPECT_EQ(store_fixture_max(f, "T", 0), 20);
        store_fixture_free(f);
    }
    EXPECT_EQ(named, 2);   /* where it begins, and where it is read on from */
}

/* Opening too may fail, and is then tried again. */
TEST(fault, opening_that_fails_anywhere_does_no_harm)
{
    struct model *m = model_new(9, true);
    send_some(m);
    for (uint64_t nth = 1;; nth++) {
        if (nth % 3) store_fixture_kill(m->f);
        else model_cut_power(m);
        sim_fs_fail(m->f->disk, SIM_ANY, nth, false, ERR_IO);
        struct store *s;
        err_t e = store_open(&m->f->options, sim_fs_disk(m->f->disk), &m->f->tasks.tasks, &s);
        if (!e) {
            m->f->store = s;
            break;
        }
        err_free(e);
        sim_fs_heal(m->f->disk);
        model_restart(m);
    }
    sim_fs_heal(m->f->disk);
    m->f->dead = false;
    model_check(m);
    model_free(m);
}
