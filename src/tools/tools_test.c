/* tools_test.c - check, dump and stats of stores that are whole, in use, killed, or incomplete. */
#include "tools/tools_fixture.h"

#include "base/json.h"

#include <stdlib.h>
#include <string.h>

static bool says(const struct tools_fixture *t, const char *text) { return strstr(t->text, text); }

static size_t lines(const struct tools_fixture *t)
{
    size_t n = 0;
    for (const char *p = t->text; *p; p++) n += *p == '\n';
    return n;
}

static const struct dump_options everything = {.to = INT64_MAX, .queue_id = -1, .limit = INT64_MAX};

static void look_at_all(struct tools_fixture *t)
{
    EXPECT_OK(tools_fixture_check(t));
    for (int what = DUMP_LOG; what <= DUMP_CHECKPOINT; what++) {
        struct dump_options d = everything;
        d.what = (enum dump_what)what;
        EXPECT_OK(tools_fixture_dump(t, &d));
    }
    EXPECT_OK(tools_fixture_stats(t));
}

TEST(check, a_whole_store_has_no_findings_and_looking_writes_nothing)
{
    struct tools_fixture *t = tools_fixture_new(false);
    struct buf before = tools_fixture_files(t, "/store", true);
    uint64_t changes = sim_fs_calls(t->s->disk, SIM_CHANGES);
    look_at_all(t);
    EXPECT_EQ(sim_fs_calls(t->s->disk, SIM_CHANGES), changes);
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(t->whole);
    EXPECT(says(t, "40 records"));
    EXPECT(says(t, "whole: 0 findings, 0 notes"));
    struct buf after = tools_fixture_files(t, "/store", true);
    EXPECT(slice_eq(buf_slice(&before), buf_slice(&after)));
    buf_done(&before);
    buf_done(&after);
    tools_fixture_free(t);
}

TEST(check, a_store_in_use_is_looked_at_without_its_lock_and_what_it_has_not_finished_is_no_damage)
{
    struct tools_fixture *t = tools_fixture_new(false);
    store_fixture_open(t->s);
    store_fixture_append(t->s, "TopicA", 0, "more");
    fake_tasks_turn(&t->s->tasks);
    uint64_t changes = sim_fs_calls(t->s->disk, SIM_CHANGES);
    look_at_all(t);
    EXPECT_EQ(sim_fs_calls(t->s->disk, SIM_CHANGES), changes);
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(t->whole);
    EXPECT(says(t, "note   abort"));
    EXPECT(says(t, "41 records"));
    store_fixture_append(t->s, "TopicA", 0, "it goes on");
    fake_tasks_settle(&t->s->tasks);
    tools_fixture_free(t);
}

TEST(check, what_a_kill_leaves_is_a_note_and_the_same_after_a_good_stop_is_damage)
{
    static const uint8_t torn[] = {0, 0, 0, 200, 0xDA, 0xA3, 0x20, 0xA7, 1, 2, 3};
    for (int killed = 0; killed < 2; killed++) {
        struct tools_fixture *t = tools_fixture_new(false);
        if (killed) {
            store_fixture_open(t->s);
            store_fixture_kill(t->s);
        }
        const struct appended *last = &t->places[FIXTURE_MESSAGES - 1];
        int64_t end = last->log_offset + last->size;
        char path[64];
        struct file *f;
        snprintf(path, sizeof path, "/store/commitlog/%020lld", (long long)(end / FIXTURE_LOG_BYTES * FIXTURE_LOG_BYTES));
        EXPECT_OK(fs_open(t->options.fs, path, FILE_WRITE, &f));
        EXPECT_OK(file_write_at(f, end % FIXTURE_LOG_BYTES, torn, sizeof torn));
        file_close(f);
        EXPECT_OK(tools_fixture_check(t));
        EXPECT_EQ(t->whole, killed);
        EXPECT(says(t, killed ? "note   commitlog/" : "damage commitlog/"));
        EXPECT(says(t, "the log ends with bytes that are no record"));
        tools_fixture_free(t);
    }
}

static void expect_damage(const char *path, bool whole_folder, const char *text)
{
    struct tools_fixture *t = tools_fixture_new(false);
    if (whole_folder) EXPECT_OK(fs_remove_tree(t->options.fs, path));
    else EXPECT_OK(fs_remove(t->options.fs, path));
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(says(t, text));
    tools_fixture_free(t);
}

TEST(check, files_that_are_missing_are_named)
{
    expect_damage("/store/commitlog/00000000000000003072", false, "the file before it is missing");
    expect_damage("/store/consumequeue/TopicB/0/00000000000000000160", false, "entries are missing at its end");
    expect_damage("/store/consumequeue/TopicB", true, "consumequeue/TopicB/0: there is no such queue, and 13 records of it in the log");
    expect_damage("/store/checkpoint", false, "checkpoint: there is none");
}

TEST(check, sizes_that_no_start_would_accept_are_named)
{
    static const struct {
        const char *path, *text;
        int64_t size;
    } cases[] = {
        {"/store/commitlog/00000000000000000000", "the others have", 5000},
        {"/store/consumequeue/TopicA/0/00000000000000000000", "other queue files have", 100},
        {"/store/checkpoint", "instead of 4096", 17},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct tools_fixture *t = tools_fixture_new(false);
        struct file *f;
        EXPECT_OK(fs_open(t->options.fs, cases[i].path, FILE_WRITE, &f));
        EXPECT_OK(file_set_size(f, cases[i].size));
        file_close(f);
        EXPECT_OK(tools_fixture_check(t));
        EXPECT(!t->whole);
        EXPECT(says(t, cases[i].text));
        tools_fixture_free(t);
    }
}

TEST(check, a_disk_that_fails_is_a_finding_wherever_it_fails)
{
    for (uint64_t n = 1;; n++) {
        struct tools_fixture *t = tools_fixture_new(false);
        sim_fs_fail(t->s->disk, SIM_READ, n, false, ERR_IO);
        uint64_t before = sim_fs_calls(t->s->disk, SIM_READ);
        err_t e = tools_fixture_check(t);
        bool failed = sim_fs_calls(t->s->disk, SIM_READ) - before >= n;
        if (e) EXPECT_ERR(e, ERR_IO);   /* not even what there is can be listed */
        else if (t->whole == failed) fail_msg("read %llu failed, and check said: %s", (unsigned long long)n, t->text);
        tools_fixture_free(t);
        if (!failed) break;
    }
}

TEST(check, json_says_the_same_and_is_one_value)
{
    struct tools_fixture *t = tools_fixture_new(false);
    sim_fs_flip(t->s->disk, "/store/commitlog/00000000000000000000", t->places[1].log_offset + 90, 1);
    t->options.json = true;
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(!t->whole);
    struct arena arena = ARENA_EMPTY;
    struct json j;
    json_begin(&j, slice_text(t->text), &arena);
    json_skip(&j);
    EXPECT_OK(json_end(&j, "check"));
    EXPECT(says(t, "\"level\":\"damage\",\"file\":\"commitlog/00000000000000000000\",\"position\":"));
    EXPECT(says(t, "\"damaged\":1,\"whole\":false}"));
    arena_done(&arena);
    tools_fixture_free(t);
}

TEST(check, a_folder_without_a_store_is_an_error_that_says_what_was_looked_for)
{
    struct tools_fixture *t = tools_fixture_new(false);
    t->options.folder = "/nowhere";
    EXPECT_ERR(tools_fixture_check(t), ERR_NOT_FOUND);
    EXPECT_OK(fs_make_folder(t->options.fs, "/data/other"));
    t->options.folder = "/data";
    err_t e = tools_fixture_check(t);
    EXPECT(strstr(err_text(e), "neither commitlog nor store/commitlog"));
    EXPECT_ERR(e, ERR_NOT_FOUND);
    EXPECT_OK(fs_rename(t->options.fs, "/store", "/data/store"));
    EXPECT_OK(tools_fixture_check(t));   /* the data folder will do */
    EXPECT(t->whole);
    EXPECT_OK(fs_rename(t->options.fs, "/data/store/commitlog", "/log"));
    EXPECT_ERR(tools_fixture_check(t), ERR_NOT_FOUND);
    t->options.log_folder = "/log";
    t->options.folder = "/data/store";
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(t->whole);
    tools_fixture_free(t);
}

TEST(dump, records_are_chosen_by_place_topic_queue_and_key)
{
    struct tools_fixture *t = tools_fixture_new(false);
    struct dump_options d = everything;
    d.topic = "TopicB";
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT_EQ(lines(t), 13);
    d = everything;
    d.queue_id = 1;
    d.limit = 3;
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT_EQ(lines(t), 3);
    d = everything;
    d.key = "U17";
    d.body = true;
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT(says(t, "the body of message 17"));
    EXPECT_EQ(lines(t), 2);
    d.key = "k3";
    d.body = false;
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT_EQ(lines(t), 8);
    d = everything;
    d.from = t->places[10].log_offset;
    d.to = t->places[13].log_offset;
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT_EQ(lines(t), 3);
    tools_fixture_free(t);
}

TEST(dump, a_queue_that_is_not_there_is_an_error)
{
    struct tools_fixture *t = tools_fixture_new(false);
    struct dump_options d = everything;
    d.what = DUMP_QUEUE;
    d.topic = "TopicA";
    d.queue_id = 1;
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT_EQ(lines(t), 1 + 13);
    d.queue_id = 7;
    EXPECT_ERR(tools_fixture_dump(t, &d), ERR_NOT_FOUND);
    tools_fixture_free(t);
}

TEST(dump, damaged_records_and_what_is_between_records_are_shown)
{
    struct tools_fixture *t = tools_fixture_new(false);
    sim_fs_flip(t->s->disk, "/store/commitlog/00000000000000000000", t->places[1].log_offset + 90, 1);
    sim_fs_flip(t->s->disk, "/store/commitlog/00000000000000000000", t->places[3].log_offset + 4, 1);
    struct dump_options d = everything;
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT(says(t, "BAD CHECKSUM"));
    EXPECT(says(t, "no record"));
    EXPECT(says(t, "blank"));
    EXPECT(says(t, "zeros to the end of the file"));
    tools_fixture_free(t);
}

TEST(stats, messages_and_bytes_of_each_queue_are_counted)
{
    struct tools_fixture *t = tools_fixture_new(false);
    int64_t bytes = 0;
    char want[160];
    for (int i = 2; i < FIXTURE_MESSAGES; i += 3) bytes += t->places[i].size;
    t->options.json = true;
    EXPECT_OK(tools_fixture_stats(t));
    snprintf(want, sizeof want, "{\"topic\":\"TopicB\",\"queueId\":0,\"messages\":13,\"bytes\":%lld,\"firstStoreTimestamp\":%lld,\"lastStoreTimestamp\":%lld",
             (long long)bytes, (long long)t->places[2].store_ms, (long long)t->places[38].store_ms);
    EXPECT(says(t, want));
    EXPECT(says(t, "\"messages\":40"));
    t->options.json = false;
    EXPECT_OK(tools_fixture_stats(t));
    EXPECT(says(t, "40 messages"));
    tools_fixture_free(t);
}

/* --- compaction logs --- */

#define KEPT_LOG "/store/compaction/compactionLog/States/0/00000000000000000000"
#define KEPT_ENTRIES "/store/compaction/compactionCq/States/0/00000000000000000000"

/* 30 messages of three keys, of which a round has left the newest and those in the newest file. */
static struct tools_fixture *with_compaction(void)
{
    struct tools_fixture *t = tools_fixture_new(false);
    struct store_fixture *f = t->s;
    f->options.compaction = (struct compaction_options){.on = true, .entry_file_bytes = 460, .log_file_bytes = 1, .interval_ms = 10000, .map_bytes = 4096};
    store_fixture_open(f);
    EXPECT_OK(store_set_compacted(f->store, SLICE("States"), true, true));
    for (int i = 0; i < 30; i++) {
        char properties[64];
        struct appended at;
        struct message m = store_fixture_message("States", 0, "state");
        m.properties = slice_of(properties, (size_t)snprintf(properties, sizeof properties, "TAGS\x01TagA\x02KEYS\x01key%d\x02", i % 3));
        EXPECT_OK(store_fixture_try(f, &m, &at));
    }
    for (int i = 0; i < 30; i++) {
        fake_tasks_advance(&f->tasks, 1000);
        fake_tasks_settle(&f->tasks);
    }
    EXPECT(store_counts(f->store).compactions > 0);
    store_fixture_close(f);
    return t;
}

TEST(check, compaction_logs_are_looked_through_and_counted)
{
    struct tools_fixture *t = with_compaction();
    uint64_t changes = sim_fs_calls(t->s->disk, SIM_CHANGES);
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(t->whole);
    EXPECT(says(t, "compaction logs 1 queues, 6 messages"));
    EXPECT(says(t, "whole: 0 findings, 0 notes"));
    EXPECT_OK(tools_fixture_stats(t));
    EXPECT(says(t, "compaction logs"));
    t->options.json = true;
    EXPECT_OK(tools_fixture_stats(t));
    EXPECT(says(t, "\"compactionLogs\":{\"files\":5,"));
    EXPECT_EQ(sim_fs_calls(t->s->disk, SIM_CHANGES), changes);
    tools_fixture_free(t);
}

TEST(check, damage_in_compaction_logs_is_named_and_what_a_start_makes_good_is_a_note)
{
    struct tools_fixture *t = with_compaction();
    sim_fs_flip(t->s->disk, KEPT_LOG, 90, 1);
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(!t->whole && says(t, "does not agree with its checksum"));
    sim_fs_flip(t->s->disk, KEPT_LOG, 90, 1);
    sim_fs_flip(t->s->disk, KEPT_ENTRIES, 35, 1);
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(!t->whole && says(t, "compaction/compactionCq/States/0/00000000000000000000"));
    EXPECT_OK(fs_remove(sim_fs_disk(t->s->disk), KEPT_ENTRIES));
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(t->whole && says(t, "makes them again from the messages"));
    EXPECT_OK(fs_make_folder(sim_fs_disk(t->s->disk), "/store/compaction/compactionLog/States/0/damaged/x"));
    EXPECT_OK(fs_make_folder(sim_fs_disk(t->s->disk), "/store/compaction/compactionLog/States/0/compacting/x"));
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(!t->whole && says(t, "1 files were set aside") && says(t, "a compaction is under way"));
    tools_fixture_free(t);
}
