/* compaction_test.c - the newest message of each key stays: readers, rounds, the commit log's cleaning, files, crashes. */
#include "store/store_fixture.h"

#include "base/log.h"
#include "codec/record.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

enum { HOUR_MS = 3600000, ENTRIES = 9, ROUND_MS = 60000 };   /* messages of one file of the compaction log */

#define TOPIC "C"
#define LOG_FOLDER "/store/compaction/compactionLog/" TOPIC "/0"
#define ENTRY_FOLDER "/store/compaction/compactionCq/" TOPIC "/0"
#define POSITIONS "/store/compaction/position-checkpoint"

static struct store_fixture *prepare(uint64_t seed)
{
    struct store_fixture *f = store_fixture_new(seed);
    f->options.clean = (struct clean_options){
        .interval_ms = 10000, .reserved_ms = 24 * HOUR_MS, .hours = (1u << 24) - 1, .used_percent = 75, .force_percent = 85,
        .full_percent = 90, .batch = 10,
    };
    f->options.max_message_bytes = 4096;
    f->options.compaction = (struct compaction_options){
        .on = true, .entry_file_bytes = (ENTRIES + 1) * 46, .log_file_bytes = 1, .interval_ms = ROUND_MS, .map_bytes = 1 << 20,
    };
    sim_fs_set_time(f->disk, f->tasks.wall_ms);
    return f;
}

static void start(struct store_fixture *f)
{
    store_fixture_open(f);
    EXPECT_OK(store_set_compacted(f->store, SLICE(TOPIC), true, false));
}

static struct store_fixture *begin(uint64_t seed)
{
    struct store_fixture *f = prepare(seed);
    start(f);
    return f;
}

static void restart(struct store_fixture *f)
{
    store_fixture_close(f);
    start(f);
}

static void pass(struct store_fixture *f, int64_t ms)
{
    for (int64_t step; ms > 0; ms -= step) {
        step = ms < 1000 || ms >= HOUR_MS ? ms : ms > 10000 ? 5000 : 1000;   /* short enough for one job to follow another */
        fake_tasks_advance(&f->tasks, step);
        fake_tasks_settle(&f->tasks);
    }
    sim_fs_set_time(f->disk, f->tasks.wall_ms);
}

static void send_to(struct store_fixture *f, const char *topic, const char *key, const char *body)
{
    char properties[64];
    struct appended at;
    struct message m = store_fixture_message(topic, 0, body);
    int n = snprintf(properties, sizeof properties, "%s%s%sTAGS\x01TagA\x02", key ? "KEYS\x01" : "", key ? key : "", key ? "\x02" : "");
    m.properties = slice_of(properties, (size_t)n);
    EXPECT_OK(store_fixture_try(f, &m, &at));
    fake_tasks_settle(&f->tasks);
}

static void send(struct store_fixture *f, const char *key, const char *body) { send_to(f, TOPIC, key, body); }

/* `count` messages whose keys nobody else uses, so that files of the compaction log are filled. */
static void fill(struct store_fixture *f, int count)
{
    static int number;
    for (int i = 0; i < count; i++) {
        char key[32];
        snprintf(key, sizeof key, "fill%d", number++);
        send(f, key, "f");
    }
}

static void put_message(struct buf *out, const struct message *m)
{
    if (slice_starts(m->body, SLICE("f")) || slice_starts(m->body, SLICE("xxxx"))) return;   /* of fill(), fill_log() */
    buf_printf(out, "%s%lld:%.*s", out->n ? " " : "", (long long)m->queue_offset, SLICE_ARG(m->body));
}

/* What a consumer gets who begins there: "OFFSET:BODY OFFSET:BODY", without what only fills. */
static struct buf consume_topic(struct store_fixture *f, const char *topic, int64_t offset, int32_t at_once)
{
    struct buf out = BUF_EMPTY;
    int64_t last = -1;
    for (;;) {
        struct read_request r = {
            .topic = slice_text(topic), .offset = offset, .max_messages = at_once, .max_bytes = 1 << 20, .max_scan = 1000};
        struct read_result got;
        store_read(f->store, &r, &got);
        for (size_t i = 0; i < got.slices; i++) {
            for (struct slice rest = got.slice[i].bytes; rest.n;) {
                struct message m;
                EXPECT_EQ(record_read(rest, &m), RECORD_WHOLE);
                EXPECT(record_body_intact(&m) && m.queue_offset > last && m.queue_offset >= r.offset);
                last = m.queue_offset;
                put_message(&out, &m);
                rest = slice_skip(rest, record_read_size(&m));
            }
        }
        read_result_release(&got);
        bool goes_on = got.status == READ_FOUND || got.status == READ_NO_MATCH || got.status == READ_MESSAGE_GONE;
        if (!goes_on) {
            offset = got.next_offset;
            break;
        }
        EXPECT(got.next_offset > offset);
        if (got.status == READ_FOUND) EXPECT_EQ(got.next_offset, last + 1);
        offset = got.next_offset;
    }
    EXPECT_EQ(offset, store_fixture_max(f, topic, 0));
    return out;
}

static int count_messages(struct store_fixture *f)
{
    int count = 0;
    for (int64_t offset = 0; offset < store_fixture_max(f, TOPIC, 0); count++) {
        struct read_request r = {.topic = SLICE(TOPIC), .offset = offset, .max_messages = 1, .max_bytes = 1 << 20, .max_scan = 1000};
        struct read_result got;
        store_read(f->store, &r, &got);
        EXPECT_EQ(got.status, READ_FOUND);
        offset = got.next_offset;
        read_result_release(&got);
    }
    return count;
}

static void expect_from(struct store_fixture *f, int64_t offset, const char *text)
{
    for (int32_t at_once = 1; at_once < 40; at_once += 13) {
        struct buf got = consume_topic(f, TOPIC, offset, at_once);
        EXPECT_TEXT(buf_slice(&got), text);
        buf_done(&got);
    }
}

static void expect_all(struct store_fixture *f, const char *text) { expect_from(f, 0, text); }

static void count_name(void *ctx, const char *name)
{
    if (strlen(name) == 20) ++*(size_t *)ctx;
}

static size_t files_in(struct store_fixture *f, const char *folder)
{
    size_t n = 0;
    EXPECT_OK(fs_list(sim_fs_disk(f->disk), folder, count_name, &n));
    return n;
}

static bool is_there(struct store_fixture *f, const char *path)
{
    struct file_info info;
    err_t e = fs_info(sim_fs_disk(f->disk), path, &info);
    bool there = !e;
    err_free(e);
    return there;
}

static struct buf content(struct store_fixture *f, const char *path)
{
    struct buf bytes = BUF_EMPTY;
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), path, 1 << 20, &bytes));
    return bytes;
}

static uint64_t rounds(struct store_fixture *f) { return store_counts(f->store).compactions; }

/* Until every full file has had its round. */
static void compact(struct store_fixture *f)
{
    pass(f, 3000);
    pass(f, 2 * ROUND_MS);
}

/* --- what stays --- */

TEST(compaction, the_newest_message_of_each_key_stays_in_order_and_at_its_offset)
{
    struct store_fixture *f = begin(1);
    send(f, "a", "a0");
    send(f, "b", "b1");
    send(f, "a", "a2");
    send(f, "c", "c3");
    send(f, "b", "b4");
    fill(f, ENTRIES);
    expect_all(f, "0:a0 1:b1 2:a2 3:c3 4:b4");
    compact(f);
    EXPECT_EQ(rounds(f), 1);
    EXPECT_EQ(store_counts(f->store).compacted_messages, 2);
    expect_all(f, "2:a2 3:c3 4:b4");
    EXPECT_EQ(store_min_offset(f->store, SLICE(TOPIC), 0), 2);
    EXPECT_EQ(store_fixture_max(f, TOPIC, 0), 5 + ENTRIES);
    restart(f);
    expect_all(f, "2:a2 3:c3 4:b4");
    store_fixture_free(f);
}

TEST(compaction, messages_in_the_newest_file_stay_whatever_follows_them)
{
    struct store_fixture *f = begin(2);
    send(f, "a", "a0");
    fill(f, ENTRIES);
    send(f, "a", "a10");
    send(f, "a", "a11");
    compact(f);
    expect_all(f, "0:a0 10:a10 11:a11");   /* the round has not seen those in the newest file */
    fill(f, ENTRIES);
    compact(f);
    expect_all(f, "11:a11");
    store_fixture_free(f);
}

TEST(compaction, a_read_in_a_gap_goes_on_with_the_next_message_there_is)
{
    struct store_fixture *f = begin(3);
    for (int i = 0; i < 40; i++) send(f, "a", "a");
    send(f, "b", "b40");
    fill(f, 2 * ENTRIES);
    compact(f);
    expect_from(f, 0, "39:a 40:b40");
    expect_from(f, 17, "39:a 40:b40");
    expect_from(f, 39, "39:a 40:b40");
    expect_from(f, 40, "40:b40");
    expect_from(f, 41, "");
    restart(f);
    expect_from(f, 17, "39:a 40:b40");
    store_fixture_free(f);
}

TEST(compaction, a_message_without_body_takes_the_older_ones_of_its_key_along)
{
    struct store_fixture *f = begin(4);
    send(f, "a", "a0");
    send(f, "b", "b1");
    send(f, "a", "");
    fill(f, ENTRIES);
    compact(f);
    expect_all(f, "1:b1");
    send(f, "a", "a12");
    fill(f, ENTRIES);
    compact(f);
    expect_all(f, "1:b1 12:a12");
    store_fixture_free(f);
}

TEST(compaction, messages_without_key_are_not_kept)
{
    struct store_fixture *f = begin(5);
    send(f, NULL, "n0");
    send(f, " ", "n1");
    send(f, "a", "a2");
    expect_all(f, "0:n0 1:n1 2:a2");   /* where they lie, for now */
    pass(f, 3000);
    expect_all(f, "2:a2");
    send(f, NULL, "n3");
    pass(f, 3000);
    restart(f);
    pass(f, 3000);
    expect_all(f, "2:a2");
    EXPECT_EQ(store_fixture_max(f, TOPIC, 0), 4);
    store_fixture_free(f);
}

TEST(compaction, a_message_that_no_file_of_the_compaction_log_holds_is_refused)
{
    struct store_fixture *f = begin(27);
    static char body[2301];
    struct appended at;
    memset(body, 'x', 2300);
    struct message m = store_fixture_message(TOPIC, 0, body);
    EXPECT_ERR(store_fixture_try(f, &m, &at), ERR_MESSAGE_ILLEGAL);
    send_to(f, "Plain", "k", body);
    body[2000] = 0;
    send(f, "k", body);
    pass(f, 3000);
    EXPECT_EQ(files_in(f, LOG_FOLDER), 1);
    store_fixture_free(f);
}

static bool has_another_tag(void *ctx, int64_t tag_hash)
{
    (void)ctx;
    return tag_hash != 2598919;
}

TEST(compaction, filters_see_tags_and_records)
{
    struct store_fixture *f = begin(6);
    send(f, "a", "a0");
    fill(f, 2 * ENTRIES);
    pass(f, 3000);
    struct read_request r = {.topic = SLICE(TOPIC), .offset = 0, .max_messages = 5, .max_bytes = 1 << 20, .max_scan = 10};
    struct read_result got;
    struct read_filter none = {.entry = has_another_tag};
    r.filter = &none;
    store_read(f->store, &r, &got);
    EXPECT_EQ(got.status, READ_NO_MATCH);
    EXPECT_EQ(got.next_offset, 10);
    EXPECT_EQ(got.slices, 0);
    store_fixture_free(f);
}

TEST(compaction, rounds_go_on_until_every_key_was_seen_when_memory_holds_few)
{
    struct store_fixture *f = prepare(7);
    f->options.compaction.map_bytes = 1;   /* 96 keys */
    start(f);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 150; k++) {
            char key[16], body[16];
            snprintf(key, sizeof key, "k%d", k);
            snprintf(body, sizeof body, i < 2 ? "f%d" : "new%d", k);
            send(f, key, body);
        }
    }
    fill(f, ENTRIES);
    compact(f);
    EXPECT(rounds(f) > 3);
    EXPECT_EQ(store_counts(f->store).compacted_messages, 300);
    EXPECT_EQ(store_min_offset(f->store, SLICE(TOPIC), 0), 300);
    store_fixture_free(f);
}

/* --- with the commit log --- */

/* Log files are filled by another topic. */
static void fill_log(struct store_fixture *f, int files)
{
    static char body[4001];
    memset(body, 'x', 4000);
    for (int i = 0; i < files * 16; i++) send_to(f, "Other", "k", body);
}

TEST(compaction, what_has_left_the_commit_log_is_still_read)
{
    struct store_fixture *f = begin(8);
    send(f, "a", "a0");
    send(f, "a", "a1");
    send(f, "b", "b2");
    fill_log(f, 3);
    pass(f, 30 * (int64_t)HOUR_MS);
    pass(f, 60000);
    EXPECT(store_log_min(f->store) > 0);
    expect_all(f, "0:a0 1:a1 2:b2");
    EXPECT_EQ(store_min_offset(f->store, SLICE(TOPIC), 0), 0);
    restart(f);
    expect_all(f, "0:a0 1:a1 2:b2");
    fill(f, ENTRIES);
    compact(f);
    expect_all(f, "1:a1 2:b2");
    send(f, "a", "a12");
    expect_all(f, "1:a1 2:b2 12:a12");
    store_fixture_free(f);
}

TEST(compaction, log_files_stay_as_long_as_messages_in_them_have_not_been_copied)
{
    struct store_fixture *f = begin(9);
    struct file *obstacle;
    EXPECT_OK(fs_make_folder(sim_fs_disk(f->disk), "/store/compaction"));
    EXPECT_OK(fs_open(sim_fs_disk(f->disk), "/store/compaction/compactionCq", FILE_CREATE, &obstacle));
    file_close(obstacle);
    fill_log(f, 2);
    send(f, "a", "a0");
    fill_log(f, 3);
    pass(f, 30 * (int64_t)HOUR_MS);
    pass(f, 60000);
    EXPECT(store_log_min(f->store) > 0);   /* those before it */
    expect_all(f, "0:a0");
    restart(f);
    pass(f, 60000);
    expect_all(f, "0:a0");
    int64_t min = store_log_min(f->store);
    EXPECT_OK(fs_remove(sim_fs_disk(f->disk), "/store/compaction/compactionCq"));
    pass(f, 120000);
    EXPECT(store_log_min(f->store) > min);
    expect_all(f, "0:a0");
    store_fixture_free(f);
}

TEST(compaction, nothing_is_copied_before_the_commit_log_is_synced)
{
    struct store_fixture *f = prepare(10);
    f->options.flush_interval_ms = 100000000;
    start(f);
    send(f, "a", "a0");
    pass(f, 60000);
    EXPECT(!is_there(f, LOG_FOLDER));
    expect_all(f, "0:a0");
    restart(f);
    EXPECT_EQ(files_in(f, LOG_FOLDER), 1);   /* a clean stop leaves nothing to be copied */
    store_fixture_free(f);
}

TEST(compaction, messages_that_come_while_others_are_copied_wait_for_the_next_second)
{
    struct store_fixture *f = prepare(29);
    f->options.sync_flush = true;
    start(f);
    send(f, "a", "a0");
    fake_tasks_advance(&f->tasks, 1000);
    for (struct work *w; (w = fake_tasks_take_work(&f->tasks));) {
        bool copied = is_there(f, LOG_FOLDER);
        if (copied) send(f, "b", "b1");   /* visible and synced when the copy ends */
        uint64_t given = f->tasks.jobs_given;
        w->done(w);
        if (!copied) continue;
        EXPECT_EQ(f->tasks.jobs_given, given);
        break;
    }
    struct buf entries = content(f, ENTRY_FOLDER "/00000000000000000000");
    EXPECT(get_be64(entries.p + 46) == 0);
    buf_done(&entries);
    pass(f, 1000);
    entries = content(f, ENTRY_FOLDER "/00000000000000000000");
    EXPECT(get_be64(entries.p + 46) > 0);
    buf_done(&entries);
    expect_all(f, "0:a0 1:b1");
    store_fixture_free(f);
}

TEST(compaction, a_queue_whose_log_and_entries_were_lost_goes_on_behind_what_was_kept)
{
    struct store_fixture *f = begin(11);
    send(f, "a", "a0");
    send(f, "b", "b1");
    pass(f, 3000);
    store_fixture_close(f);
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/commitlog"));
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/consumequeue"));
    EXPECT_OK(fs_remove(sim_fs_disk(f->disk), "/store/checkpoint"));
    start(f);
    send(f, "c", "c2");
    expect_all(f, "0:a0 1:b1 2:c2");
    restart(f);
    expect_all(f, "0:a0 1:b1 2:c2");
    store_fixture_free(f);
}

/* As after a power cut with the original's ASYNC_FLUSH: the commit log ends before its copy. */
TEST(compaction, messages_that_the_commit_log_lost_make_room_for_those_that_get_their_offsets)
{
    struct store_fixture *f = begin(25);
    struct fs *fs = sim_fs_disk(f->disk);
    send(f, "a", "a0");
    send(f, "b", "b1");
    fill(f, ENTRIES);
    send(f, "c", "c11");
    store_fixture_close(f);
    EXPECT_EQ(files_in(f, LOG_FOLDER), 2);
    EXPECT_OK(fs_rename(fs, "/store/compaction", "/kept"));
    EXPECT_OK(fs_remove_tree(fs, "/store"));
    store_fixture_open(f);
    for (int i = 0; i < 5; i++) send(f, "d", "f");
    store_fixture_close(f);
    EXPECT_OK(fs_rename(fs, "/kept", "/store/compaction"));
    start(f);
    EXPECT_EQ(files_in(f, LOG_FOLDER), 1);
    EXPECT(is_there(f, LOG_FOLDER "/damaged/00000000000000002300"));
    send(f, "c", "c5");
    pass(f, 3000);
    expect_all(f, "0:a0 1:b1 5:c5");
    EXPECT_EQ(count_messages(f), 6);
    restart(f);
    expect_all(f, "0:a0 1:b1 5:c5");
    fill(f, 2 * ENTRIES);
    compact(f);
    expect_all(f, "0:a0 1:b1 5:c5");
    store_fixture_free(f);
}

/* --- topics come and go --- */

TEST(compaction, a_deleted_topic_takes_its_files_along_and_a_new_one_of_that_name_begins_empty)
{
    struct store_fixture *f = begin(12);
    send(f, "a", "a0");
    fill(f, 2 * ENTRIES);
    compact(f);
    struct buf text = content(f, POSITIONS);
    EXPECT(text.n > 0 && memmem(text.p, text.n, "\"C_0\"", 5));
    buf_done(&text);
    store_delete_topic(f->store, SLICE(TOPIC));
    EXPECT(!is_there(f, LOG_FOLDER) && !is_there(f, ENTRY_FOLDER));
    fake_tasks_settle(&f->tasks);
    EXPECT_OK(store_set_compacted(f->store, SLICE(TOPIC), true, true));
    send(f, "b", "b0");
    pass(f, 3000);
    expect_all(f, "0:b0");
    restart(f);
    expect_all(f, "0:b0");
    store_fixture_free(f);
}

/* The original leaves the files of a deleted topic where they are. */
TEST(compaction, files_of_an_earlier_topic_do_not_come_back_in_a_new_one_of_its_name)
{
    struct store_fixture *f = begin(28);
    send(f, "a", "a0");
    fill(f, 2 * ENTRIES);
    compact(f);
    store_fixture_close(f);
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/consumequeue/" TOPIC));
    EXPECT_OK(fs_remove_tree(sim_fs_disk(f->disk), "/store/commitlog"));
    store_fixture_open(f);
    EXPECT_OK(store_set_compacted(f->store, SLICE(TOPIC), true, true));
    send(f, "b", "b0");
    pass(f, 3000);
    expect_all(f, "0:b0");
    restart(f);
    expect_all(f, "0:b0");
    store_fixture_free(f);
}

TEST(compaction, a_topic_that_is_deleted_during_a_round_goes_when_the_job_ends)
{
    for (int jobs = 0; jobs < 12; jobs++) {
        struct store_fixture *f = begin(13);
        send(f, "a", "a0");
        fill(f, 2 * ENTRIES);
        send(f, "a", "a");
        fake_tasks_advance(&f->tasks, jobs % 2 ? 1000 : ROUND_MS + 1000);
        for (int i = 0; i < jobs / 2; i++) fake_tasks_run_work(&f->tasks);
        store_delete_topic(f->store, SLICE(TOPIC));
        EXPECT_OK(store_set_compacted(f->store, SLICE(TOPIC), true, true));
        fake_tasks_settle(&f->tasks);
        EXPECT(!is_there(f, LOG_FOLDER));
        send(f, "b", "b0");
        compact(f);
        expect_all(f, "0:b0");
        restart(f);
        expect_all(f, "0:b0");
        store_fixture_free(f);
    }
}

TEST(compaction, a_topic_that_is_not_compacted_is_left_alone)
{
    struct store_fixture *f = begin(14);
    send_to(f, "Plain", "a", "p0");
    send_to(f, "Plain", "a", "p1");
    compact(f);
    EXPECT(!is_there(f, "/store/compaction/compactionLog/Plain"));
    struct buf got = consume_topic(f, "Plain", 0, 10);
    EXPECT_TEXT(buf_slice(&got), "0:p0 1:p1");
    buf_done(&got);
    EXPECT_EQ(fake_tasks_timers(&f->tasks), 1);   /* S8: the look at the disk */
    store_fixture_free(f);
}

/* --- files --- */

TEST(compaction, files_are_those_of_the_original)
{
    struct store_fixture *f = begin(15);
    send(f, "a", "a0");
    send(f, "b", "b1");
    pass(f, 3000);
    struct buf log = content(f, LOG_FOLDER "/00000000000000000000"), entries = content(f, ENTRY_FOLDER "/00000000000000000000");
    struct message first, second;
    EXPECT_EQ(record_read(buf_slice(&log), &first), RECORD_WHOLE);
    size_t size = record_read_size(&first);
    EXPECT_EQ(record_read(slice_skip(buf_slice(&log), size), &second), RECORD_WHOLE);
    EXPECT_EQ(second.log_offset, size);
    EXPECT_EQ(entries.n, (ENTRIES + 1) * 46);
    EXPECT_EQ(log.n % entries.n, 0);
    const uint8_t *e = entries.p + 46;
    EXPECT_EQ(get_be64(e), size);
    EXPECT_EQ(get_be32(e + 8), record_read_size(&second));
    EXPECT_EQ(get_be64(e + 12), 2598919);
    EXPECT_EQ(get_be64(e + 20), second.store_ms);
    EXPECT_EQ(get_be64(e + 28), 1);
    EXPECT_EQ(get_be16(e + 36), 1);
    EXPECT_EQ(get_be32(e + 38), UINT32_MAX);
    EXPECT_EQ(get_be32(e + 42), 0);
    buf_done(&log);
    buf_done(&entries);
    fill(f, ENTRIES - 1);
    compact(f);
    entries = content(f, ENTRY_FOLDER "/00000000000000000000");
    e = entries.p + ENTRIES * 46;   /* the mark that ends a full file */
    EXPECT_EQ(get_be64(e), UINT64_MAX);
    EXPECT_EQ(get_be32(e + 8), 0);
    EXPECT_EQ(get_be32(e + 38), UINT32_MAX);
    buf_done(&entries);
    struct buf text = content(f, POSITIONS);
    EXPECT_TEXT(buf_slice(&text), "{\n\t\"empty\":false,\n\t\"queueOffsetMap\":{\n\t\t\"C_0\":8\n\t}\n}");
    buf_done(&text);
    store_fixture_free(f);
}

/* Two full files and a newest one, of which a round has been through the first two: a2 b4, then c. */
static struct store_fixture *compacted(uint64_t seed)
{
    struct store_fixture *f = begin(seed);
    send(f, "a", "a0");
    send(f, "b", "b1");
    send(f, "a", "a2");
    fill(f, 2 * ENTRIES - 4);
    send(f, "b", "b17");
    fill(f, ENTRIES);
    compact(f);
    send(f, "c", "c27");
    pass(f, 3000);
    expect_all(f, "2:a2 17:b17 27:c27");
    EXPECT(files_in(f, LOG_FOLDER) >= 3);
    return f;
}

static void overwrite(struct store_fixture *f, const char *path, int64_t at, const void *bytes, size_t n)
{
    struct file *file;
    EXPECT_OK(fs_open(sim_fs_disk(f->disk), path, FILE_WRITE, &file));
    EXPECT_OK(file_write_at(file, at, bytes, n));
    EXPECT_OK(file_sync(file));
    file_close(file);
}

TEST(compaction, entries_that_are_missing_or_damaged_are_made_again_from_the_records)
{
    static const char *const names[] = {ENTRY_FOLDER "/00000000000000000000", ENTRY_FOLDER "/00000000000000002300"};
    for (int damage = 0; damage < 6; damage++) {
        struct store_fixture *f = compacted(16);
        store_fixture_close(f);
        EXPECT(is_there(f, names[1]));
        for (size_t i = 0; i < 2; i++) {
            if (damage == 0) EXPECT_OK(fs_remove(sim_fs_disk(f->disk), names[i]));
            if (damage == 1) overwrite(f, names[i], 0, "garbage!", 8);
            if (damage == 2) overwrite(f, names[i], 8, "\0\0\0\1", 4);
            if (damage == 3) overwrite(f, names[i], 2 * 46, (const uint8_t[46]){0}, 46);
            if (damage == 4) overwrite(f, names[i], 3 * 46 + 28, "\0\1", 2);   /* a queue offset that leads far ahead */
            if (damage == 5) {
                struct file *file;
                EXPECT_OK(fs_open(sim_fs_disk(f->disk), names[i], FILE_WRITE, &file));
                EXPECT_OK(file_set_size(file, 50));
                file_close(file);
            }
        }
        start(f);
        expect_all(f, "2:a2 17:b17 27:c27");
        EXPECT_EQ(count_messages(f), 26);
        fill(f, 2 * ENTRIES);
        compact(f);
        expect_all(f, "2:a2 17:b17 27:c27");
        store_fixture_free(f);
    }
}

TEST(compaction, a_damaged_record_is_passed_reported_once_and_counted)
{
    struct store_fixture *f = compacted(17);
    sim_fs_flip(f->disk, LOG_FOLDER "/00000000000000000000", 90, 1);   /* the body of a2 */
    for (int i = 0; i < 3; i++) expect_all(f, "17:b17 27:c27");
    EXPECT_EQ(store_counts(f->store).damaged, 1);
    restart(f);
    expect_all(f, "17:b17 27:c27");
    fill(f, 2 * ENTRIES);
    compact(f);
    expect_all(f, "17:b17 27:c27");
    store_fixture_free(f);
}

TEST(compaction, files_that_cannot_be_used_are_set_aside)
{
    struct store_fixture *f = compacted(18);
    store_fixture_close(f);
    struct buf first = content(f, LOG_FOLDER "/00000000000000000000");
    struct file *file;
    EXPECT_OK(fs_open(sim_fs_disk(f->disk), LOG_FOLDER "/00000000000000002300", FILE_WRITE, &file));
    EXPECT_OK(file_set_size(file, 1000));
    file_close(file);
    start(f);
    EXPECT(is_there(f, LOG_FOLDER "/damaged/00000000000000002300"));
    expect_all(f, "2:a2 27:c27");
    restart(f);
    expect_all(f, "2:a2 27:c27");
    buf_done(&first);
    store_fixture_free(f);
}

TEST(compaction, positions_that_cannot_be_read_cost_one_more_round)
{
    struct store_fixture *f = compacted(19);
    store_fixture_close(f);
    overwrite(f, POSITIONS, 0, "!!!", 3);
    if (is_there(f, POSITIONS ".bak")) EXPECT_OK(fs_remove(sim_fs_disk(f->disk), POSITIONS ".bak"));
    start(f);
    expect_all(f, "2:a2 17:b17 27:c27");
    send(f, "c", "c28");
    compact(f);
    expect_all(f, "2:a2 17:b17 27:c27 28:c28");
    EXPECT(rounds(f) > 0);
    store_fixture_free(f);
}

TEST(compaction, files_keep_the_size_they_were_made_with)
{
    struct store_fixture *f = compacted(20);
    store_fixture_close(f);
    f->options.compaction.entry_file_bytes *= 7;
    start(f);
    expect_all(f, "2:a2 17:b17 27:c27");
    fill(f, 3 * ENTRIES);
    send(f, "c", "c");
    fill(f, ENTRIES);
    compact(f);
    expect_all(f, "2:a2 17:b17 55:c");
    restart(f);
    expect_all(f, "2:a2 17:b17 55:c");
    store_fixture_free(f);
}

/* The original was killed between renaming the old files and moving the new ones. */
TEST(compaction, a_change_over_that_the_original_did_not_end_is_ended)
{
    struct store_fixture *f = compacted(21);
    struct fs *fs = sim_fs_disk(f->disk);
    store_fixture_close(f);
    EXPECT_OK(fs_make_folder(fs, LOG_FOLDER "/compacting"));
    EXPECT_OK(fs_make_folder(fs, ENTRY_FOLDER "/compacting"));
    EXPECT_OK(fs_rename(fs, LOG_FOLDER "/00000000000000000000", LOG_FOLDER "/compacting/00000000000000000000"));
    EXPECT_OK(fs_rename(fs, LOG_FOLDER "/00000000000000002300", LOG_FOLDER "/00000000000000002300.delete"));
    EXPECT_OK(fs_rename(fs, ENTRY_FOLDER "/00000000000000000000", ENTRY_FOLDER "/00000000000000000000.delete"));
    EXPECT_OK(fs_rename(fs, ENTRY_FOLDER "/00000000000000002300", ENTRY_FOLDER "/00000000000000002300.delete"));
    start(f);
    EXPECT(!is_there(f, LOG_FOLDER "/compacting") && !is_there(f, LOG_FOLDER "/00000000000000002300.delete"));
    struct buf got = consume_topic(f, TOPIC, 0, 10);
    EXPECT(slice_starts(buf_slice(&got), SLICE("2:a2")));
    buf_done(&got);
    store_fixture_free(f);
}

/* … or before the new ones were on disk, which the power took. */
TEST(compaction, old_files_that_the_original_had_renamed_come_back_where_no_new_ones_are)
{
    static const char *const files[] = {
        LOG_FOLDER "/00000000000000000000", LOG_FOLDER "/00000000000000002300",
        ENTRY_FOLDER "/00000000000000000000", ENTRY_FOLDER "/00000000000000002300",
    };
    struct store_fixture *f = compacted(26);
    store_fixture_close(f);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char renamed[128];
        snprintf(renamed, sizeof renamed, "%s.delete", files[i]);
        EXPECT_OK(fs_rename(sim_fs_disk(f->disk), files[i], renamed));
    }
    start(f);
    expect_all(f, "2:a2 17:b17 27:c27");
    EXPECT_EQ(count_messages(f), 26);
    EXPECT(!is_there(f, LOG_FOLDER "/damaged"));
    store_fixture_free(f);
}

TEST(compaction, a_record_that_is_on_its_way_outlives_the_file_it_lay_in)
{
    struct store_fixture *f = begin(22);
    send(f, "a", "a0");
    fill(f, ENTRIES);
    pass(f, 3000);
    struct read_request r = {.topic = SLICE(TOPIC), .offset = 0, .max_messages = 1, .max_bytes = 1 << 20, .max_scan = 10};
    struct read_result got;
    struct message m;
    store_read(f->store, &r, &got);
    EXPECT_EQ(got.status, READ_FOUND);
    send(f, "a", "a10");
    fill(f, ENTRIES);
    compact(f);
    expect_all(f, "10:a10");
    store_delete_topic(f->store, SLICE(TOPIC));
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(record_read(got.slice[0].bytes, &m), RECORD_WHOLE);
    EXPECT_TEXT(m.body, "a0");
    read_result_release(&got);
    store_fixture_free(f);
}

/* --- faults and crashes --- */

TEST(compaction, a_full_disk_leaves_everything_as_it_was_and_the_next_round_does_it)
{
    struct store_fixture *f = begin(23);
    send(f, "a", "a0");
    send(f, "a", "a1");
    fill(f, ENTRIES);
    pass(f, 3000);
    sim_fs_set_space(f->disk, 0);
    pass(f, ROUND_MS + 10000);
    EXPECT_EQ(rounds(f), 0);
    expect_all(f, "0:a0 1:a1");
    sim_fs_set_space(f->disk, -1);
    pass(f, 3 * ROUND_MS);
    EXPECT_EQ(rounds(f), 1);
    expect_all(f, "1:a1");
    store_fixture_free(f);
}

enum { PAIRS = 20 };   /* messages that replace others; the files of both are full and do not end with the same message */

/* "20:1 21:1 …": what a consumer gets before the round, and behind it. */
static struct buf expected(bool compacted)
{
    struct buf text = BUF_EMPTY;
    for (int i = compacted ? PAIRS : 0; i < 2 * PAIRS; i++) buf_printf(&text, "%s%d:%d", text.n ? " " : "", i, i / PAIRS);
    return text;
}

static void send_pairs(struct store_fixture *f)
{
    for (int i = 0; i < 2 * PAIRS; i++) {
        char key[16];
        snprintf(key, sizeof key, "k%d", i % PAIRS);
        send(f, key, i < PAIRS ? "0" : "1");
    }
    fill(f, 2 * ENTRIES);
}

static void expect_old_or_new(struct store_fixture *f, uint64_t nth)
{
    struct buf old = expected(false), new = expected(true), got = consume_topic(f, TOPIC, 0, 5);
    if (!slice_eq(buf_slice(&got), buf_slice(&old)) && !slice_eq(buf_slice(&got), buf_slice(&new)))
        fail_msg("fault %llu: %.*s", (unsigned long long)nth, SLICE_ARG(buf_slice(&got)));
    buf_done(&old);
    buf_done(&new);
    buf_done(&got);
}

/* Each change of the disk during a copy and a round fails in turn, once or for good; then the power may go. */
static void for_each_fault(bool from_then_on, bool cut_power)
{
    struct buf new = expected(true);
    bool reached = true;
    buf_put_u8(&new, 0);
    for (uint64_t nth = 1; reached; nth++) {
        struct store_fixture *f = prepare(nth);
        f->options.sync_flush = true;
        start(f);
        send_pairs(f);
        uint64_t before = sim_fs_calls(f->disk, SIM_CHANGES);
        sim_fs_fail(f->disk, SIM_CHANGES, nth, from_then_on, ERR_IO);
        pass(f, 3000);
        pass(f, ROUND_MS + 10000);
        reached = sim_fs_calls(f->disk, SIM_CHANGES) - before >= nth;
        if (cut_power) store_fixture_cut_power(f);
        else store_fixture_kill(f);
        start(f);
        expect_old_or_new(f, nth);
        EXPECT(!is_there(f, LOG_FOLDER "/compacting/ready") && !is_there(f, LOG_FOLDER "/damaged"));
        compact(f);
        expect_all(f, (const char *)new.p);
        EXPECT_EQ(files_in(f, LOG_FOLDER), files_in(f, ENTRY_FOLDER));
        store_fixture_free(f);
        EXPECT(nth < 1000);
    }
    buf_done(&new);
}

TEST(compaction, every_fault_leaves_the_old_or_the_new_state)
{
    for_each_fault(false, false);
    for_each_fault(true, false);
}

TEST(compaction, every_fault_followed_by_a_power_cut_leaves_the_old_or_the_new_state)
{
    for_each_fault(false, true);
    for_each_fault(true, true);
}

/* --- the model: every message that was sent, and which of them must still be there --- */

enum { MODEL_MESSAGES = 400, MODEL_KEYS = 12 };

struct model_message {
    int key;
    uint32_t number;
    bool acknowledged;
    bool empty;
};

struct model {
    struct store_fixture *f;
    struct random random;
    struct model_message all[MODEL_MESSAGES];   /* by offset */
    int64_t count;
    uint32_t number;
    bool seen[MODEL_MESSAGES];
};

struct model_ack {
    struct model *m;
    int64_t offset;
    uint32_t number;
};

static void model_acknowledged(void *ctx, err_t e)
{
    struct model_ack *a = ctx;
    struct model *m = a->m;
    if (!e && !m->f->dead && m->all[a->offset].number == a->number) m->all[a->offset].acknowledged = true;
    err_free(e);
    free(a);
}

static void model_send(struct model *m)
{
    char key[32], body[32], properties[64];
    if (m->count == MODEL_MESSAGES) return;
    struct model_message sent = {.key = (int)random_below(&m->random, MODEL_KEYS), .number = m->number++};
    sent.empty = random_below(&m->random, 10) == 0;
    snprintf(key, sizeof key, "key%d", sent.key);
    snprintf(body, sizeof body, "%u", sent.number);
    struct message msg = store_fixture_message(TOPIC, 0, sent.empty ? "" : body);
    int n = snprintf(properties, sizeof properties, "KEYS\x01%s\x02N\x01%u\x02", key, sent.number);
    msg.properties = slice_of(properties, (size_t)n);
    struct model_ack *a = must_alloc(sizeof *a);
    *a = (struct model_ack){m, 0, sent.number};
    struct appended at;
    err_t e = store_append(m->f->store, &msg, 1, true, model_acknowledged, a, &at);
    if (e) {
        err_free(e);
        free(a);
        return;
    }
    a->offset = at.queue_offset;
    EXPECT(at.queue_offset <= m->count);
    m->all[at.queue_offset] = sent;
    m->count = at.queue_offset + 1;
}

static void model_note(struct model *m, const struct message *got)
{
    char text[32];
    EXPECT(got->queue_offset < m->count);
    const struct model_message *sent = &m->all[got->queue_offset];
    snprintf(text, sizeof text, "%u", sent->number);
    EXPECT(sent->empty ? !got->body.n : slice_eq(got->body, slice_text(text)));
    m->seen[got->queue_offset] = true;
}

static void model_read(struct model *m)
{
    memset(m->seen, 0, sizeof m->seen);
    int64_t end = store_fixture_max(m->f, TOPIC, 0), last = -1;
    for (int64_t offset = 0; offset < end;) {
        int32_t at_once = 1 + (int32_t)random_below(&m->random, 20);
        struct read_request r = {
            .topic = SLICE(TOPIC), .offset = offset, .max_messages = at_once, .max_bytes = 1 << 20, .max_scan = 50};
        struct read_result got;
        store_read(m->f->store, &r, &got);
        for (size_t i = 0; i < got.slices; i++) {
            for (struct slice rest = got.slice[i].bytes; rest.n;) {
                struct message msg;
                EXPECT_EQ(record_read(rest, &msg), RECORD_WHOLE);
                EXPECT(msg.queue_offset > last);
                last = msg.queue_offset;
                model_note(m, &msg);
                rest = slice_skip(rest, record_read_size(&msg));
            }
        }
        read_result_release(&got);
        if (got.status == READ_OFFSET_AT_END) break;
        EXPECT(got.next_offset > offset);
        offset = got.next_offset;
    }
}

/* Whatever is missing has been replaced: a newer message of its key is there, or was, and is empty. */
static void model_check(struct model *m, bool restarted)
{
    model_read(m);
    int64_t end = store_fixture_max(m->f, TOPIC, 0);
    for (int64_t i = 0; i < m->count; i++) {
        const struct model_message *sent = &m->all[i];
        bool replaced = sent->empty;
        for (int64_t later = i + 1; later < m->count && later < end && !replaced; later++) replaced = m->all[later].key == sent->key;
        if (sent->acknowledged && !m->seen[i] && !replaced) fail_msg("message %u at %lld is lost", sent->number, (long long)i);
    }
    if (!restarted) return;
    for (int64_t i = 0; i < m->count; i++) {   /* what was not acknowledged has come back, or never will; of an empty one nobody can say */
        struct model_message *sent = &m->all[i];
        bool known = sent->acknowledged || m->seen[i];
        if (!known && !sent->empty) sent->key = -1;
        sent->acknowledged = known;
    }
    m->count = end < m->count ? end : m->count;
}

static void model_restart(struct model *m)
{
    switch (random_below(&m->random, 3)) {
    case 0: store_fixture_close(m->f); break;
    case 1: store_fixture_kill(m->f); break;
    default: store_fixture_cut_power(m->f); break;
    }
    start(m->f);
    model_check(m, true);
}

static void model_step(struct model *m)
{
    struct store_fixture *f = m->f;
    uint32_t what = random_below(&m->random, 100);
    if (what < 60) model_send(m);
    else if (what < 75) fake_tasks_run_work(&f->tasks);
    else if (what < 80) fake_tasks_turn(&f->tasks);
    else if (what < 90) fake_tasks_advance(&f->tasks, random_below(&m->random, 3000));
    else if (what < 93) fake_tasks_advance(&f->tasks, ROUND_MS);
    else if (what < 96) pass(f, 1000 + random_below(&m->random, ROUND_MS));
    else if (what < 98) model_check(m, false);
    else model_restart(m);
    sim_fs_set_time(f->disk, f->tasks.wall_ms);
}

static void run_model(uint64_t seed)
{
    struct model *m = must_zero(sizeof *m);
    random_init(&m->random, seed);
    m->f = prepare(seed);
    m->f->options.sync_flush = true;
    m->f->options.log_file_bytes = 4096;       /* holds some 30 messages: it is cleaned while copies lag behind */
    m->f->options.max_message_bytes = 1000;
    m->f->options.queue_file_entries = 20;
    m->f->options.clean.reserved_ms = 20000;
    m->f->options.clean.interval_ms = 1000;
    start(m->f);
    for (int i = 0; i < 500; i++) model_step(m);
    model_restart(m);
    compact(m->f);
    model_check(m, false);
    store_fixture_free(m->f);
    free(m);
}

TEST(compaction, random_stops_and_power_cuts_lose_no_newest_message_of_any_key)
{
    const char *text = getenv("COMPACTION_SEED");
    log_set_level(LOG_SILENT);
    if (text) run_model(strtoull(text, NULL, 10));
    for (uint64_t seed = 1; seed <= 400 && !text; seed++) run_model(seed);
    log_set_level(LOG_INFO);
}
