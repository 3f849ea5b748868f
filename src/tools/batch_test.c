/* batch_test.c - what the tools make of queues of batches. */
#include "tools/tools_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 20 };

/* The store of the fixture, with a topic of batches of 1, 2, 3, 1 … messages, and a single message among them. */
static struct tools_fixture *begin(void)
{
    struct tools_fixture *t = tools_fixture_new(false);
    char body[32];
    struct appended a;
    store_fixture_open(t->s);
    for (int i = 0; i < BATCHES; i++) {
        snprintf(body, sizeof body, "batch %d", i);
        struct message m = store_fixture_batch("Batches", 1, body, i % 3 + 1);
        EXPECT_OK(store_fixture_try(t->s, &m, &a));
        if (i == 9) {
            m = store_fixture_message("Batches", 1, "single");
            m.batch_topic = true;
            EXPECT_OK(store_fixture_try(t->s, &m, &a));
        }
        fake_tasks_settle(&t->s->tasks);
    }
    fake_tasks_advance(&t->s->tasks, 2000);
    fake_tasks_settle(&t->s->tasks);
    store_fixture_close(t->s);
    return t;
}

static bool says(const struct tools_fixture *t, const char *text) { return strstr(t->text, text); }

static const char first_file[] = "/store/batchconsumequeue/Batches/1/00000000000000000000";

TEST(batch_tools, a_whole_store_has_no_findings)
{
    struct tools_fixture *t = begin();
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(t->whole);
    EXPECT(says(t, "4 queues, 61 entries"));
    EXPECT(says(t, "whole: 0 findings, 0 notes"));
    tools_fixture_free(t);
}

TEST(batch_tools, every_field_of_an_entry_that_does_not_agree_with_its_record_is_found)
{
    for (int64_t byte = 0; byte < 38; byte++) {   /* the rest says nothing yet */
        struct tools_fixture *t = begin();
        sim_fs_flip(t->s->disk, first_file, 3 * 46 + byte, byte % 2 ? 1 : 0x80);
        EXPECT_OK(tools_fixture_check(t));
        if (t->whole) fail_msg("byte %d", (int)byte);
        EXPECT(says(t, "batchconsumequeue/Batches/1/00000000000000000000"));
        EXPECT_OK(tools_fixture_rebuild(t));
        EXPECT_OK(tools_fixture_check(t));
        if (!t->whole) fail_msg("byte %d after a rebuild: %s", (int)byte, t->text);
        tools_fixture_free(t);
    }
}

TEST(batch_tools, entries_and_records_are_dumped_with_their_messages)
{
    struct tools_fixture *t = begin();
    struct dump_options d = {.what = DUMP_QUEUE, .from = 4, .to = 9, .topic = "Batches", .queue_id = 1, .limit = INT64_MAX};
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT(says(t, "messages in the batch"));
    EXPECT(says(t, "           3  "));   /* the one that holds 4 */
    EXPECT(says(t, "3 messages, "));
    EXPECT(!says(t, "           1  ") && !says(t, "           9  "));
    t->options.json = true;
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT(says(t, "\"queueOffset\":7,") && says(t, "\"messages\":2,\"storeTimestamp\":"));
    t->options.json = false;
    d = (struct dump_options){.what = DUMP_LOG, .to = INT64_MAX, .topic = "Batches", .queue_id = -1, .limit = INT64_MAX};
    EXPECT_OK(tools_fixture_dump(t, &d));
    EXPECT(says(t, "batch of 3"));
    EXPECT_OK(tools_fixture_stats(t));
    EXPECT(says(t, "80 messages"));   /* 40, and 39 in batches, and a single one */
    tools_fixture_free(t);
}

TEST(batch_tools, a_queue_of_batches_made_anew_is_that_which_the_store_has_written)
{
    struct tools_fixture *t = begin();
    struct buf before = tools_fixture_files(t, "/store/batchconsumequeue", true);
    EXPECT(before.n > 1000);
    sim_fs_flip(t->s->disk, first_file, 50, 255);
    EXPECT_OK(tools_fixture_rebuild(t));
    EXPECT(says(t, "rebuilt: 4 queues"));
    struct buf after = tools_fixture_files(t, "/store/batchconsumequeue", true);
    EXPECT(slice_eq(buf_slice(&before), buf_slice(&after)));
    EXPECT_OK(fs_remove_tree(t->options.fs, "/store/batchconsumequeue"));
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(says(t, "batchconsumequeue/Batches/1") && says(t, "there is no such queue"));
    EXPECT_OK(tools_fixture_rebuild(t));
    buf_done(&after);
    after = tools_fixture_files(t, "/store/batchconsumequeue", true);
    EXPECT(slice_eq(buf_slice(&before), buf_slice(&after)));
    buf_done(&before);
    buf_done(&after);
    tools_fixture_free(t);
}

/* Offsets that were given away must not be given away again, though no record says so any more. */
TEST(batch_tools, a_rebuild_keeps_the_offsets_of_batches_whose_records_are_gone)
{
    struct store_fixture *s = store_fixture_new(1);
    s->options.clean = (struct clean_options){
        .interval_ms = 10000, .reserved_ms = 1000, .hours = (1u << 24) - 1, .used_percent = 75, .force_percent = 85, .full_percent = 90,
        .batch = 10,
    };
    s->options.index = true;
    s->options.index_slots = 31;
    s->options.index_entries = 60;
    sim_fs_set_time(s->disk, s->tasks.wall_ms);
    store_fixture_open(s);
    struct appended a;
    for (int i = 0; i < 10; i++) {
        struct message m = store_fixture_batch("Batches", 0, "batch", 5);
        EXPECT_OK(store_fixture_try(s, &m, &a));
    }
    for (int i = 0; i < 700; i++) store_fixture_append(s, "Other", 0, "fills the log");
    for (int i = 0; i < 30; i++) {
        fake_tasks_advance(&s->tasks, 1000);
        fake_tasks_settle(&s->tasks);
    }
    EXPECT(store_log_min(s->store) > 0);
    store_fixture_close(s);
    struct tools_fixture t = {.s = s, .options = {.fs = sim_fs_disk(s->disk), .folder = "/store", .queue_file_entries = 100, .index_slots = 31,
                                                  .index_entries = 60, .now_ms = 1700000100000}};
    EXPECT_OK(tools_fixture_rebuild(&t));
    store_fixture_open(s);
    EXPECT_EQ(store_fixture_max(s, "Batches", 0), 50);
    EXPECT_EQ(store_min_offset(s->store, SLICE("Batches"), 0), 50);
    struct message m = store_fixture_batch("Batches", 0, "batch", 5);
    EXPECT_OK(store_fixture_try(s, &m, &a));
    EXPECT_EQ(a.queue_offset, 50);
    free(t.text);
    store_fixture_free(s);
}
