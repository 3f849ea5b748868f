#include "meta/meta_fixture.h"

#include <stdio.h>
#include <stdlib.h>

#define T SLICE("T")
#define G SLICE("G")
#define CLIENT SLICE("10.0.0.1:5")

static struct meta_fixture *start(void)
{
    struct meta_fixture *f = meta_fixture_new(3);
    meta_fixture_open(f);
    return f;
}

TEST(offsets, what_was_committed_is_answered)
{
    struct meta_fixture *f = start();
    EXPECT_EQ(offsets_query(f->offsets, T, G, 0), -1);
    offsets_commit(f->offsets, CLIENT, T, G, 0, 5);
    offsets_commit(f->offsets, CLIENT, T, G, 3, 7);
    offsets_commit(f->offsets, CLIENT, T, SLICE("H"), 0, 1);
    EXPECT_EQ(offsets_query(f->offsets, T, G, 0), 5);
    EXPECT_EQ(offsets_query(f->offsets, T, G, 3), 7);
    EXPECT_EQ(offsets_query(f->offsets, T, G, 1), -1);
    EXPECT_EQ(offsets_query(f->offsets, T, SLICE("H"), 0), 1);
    meta_fixture_free(f);
}

TEST(offsets, queue_ids_of_any_size_and_order_have_their_place)
{
    static const int32_t ids[] = {2147483647, 5, -2147483647 - 1, 0, 1, -1, 4, 3, 2};
    struct meta_fixture *f = start();
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) offsets_commit(f->offsets, CLIENT, T, G, ids[i], (int64_t)i);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) EXPECT_EQ(offsets_query(f->offsets, T, G, ids[i]), i);
    const struct group_offsets *g = offsets_find(f->offsets, T, G);
    for (size_t i = 1; i < g->count; i++) EXPECT(g->queues[i - 1].queue_id < g->queues[i].queue_id);
    meta_fixture_free(f);
}

TEST(offsets, names_that_cannot_be_are_ignored)
{
    struct meta_fixture *f = start();
    uint8_t *name = must_zero(100000);
    memset(name, 'x', 100000);
    offsets_commit(f->offsets, CLIENT, slice_of(name, 100000), G, 0, 5);
    offsets_commit(f->offsets, CLIENT, T, slice_of(name, 256), 0, 5);
    offsets_commit(f->offsets, CLIENT, SLICE(""), G, 0, 5);
    EXPECT_EQ(offsets_query(f->offsets, T, slice_of(name, 256), 0), -1);
    offsets_commit(f->offsets, CLIENT, slice_of(name, 255), slice_of(name, 255), 0, 5);
    EXPECT_EQ(offsets_query(f->offsets, slice_of(name, 255), slice_of(name, 255), 0), 5);
    size_t at = 0;
    EXPECT(offsets_next(f->offsets, &at));
    EXPECT(!offsets_next(f->offsets, &at));
    free(name);
    meta_fixture_free(f);
}

TEST(offsets, a_reset_wins_until_one_pull_took_it)
{
    struct meta_fixture *f = start();
    offsets_commit(f->offsets, CLIENT, T, G, 0, 100);
    EXPECT(!offsets_reset_pending(f->offsets, T, G, 0));
    EXPECT_EQ(offsets_take_reset(f->offsets, T, G, 0), -1);
    offsets_reset(f->offsets, T, G, 0, 10);
    EXPECT(offsets_reset_pending(f->offsets, T, G, 0));
    EXPECT_EQ(offsets_query(f->offsets, T, G, 0), 10);
    EXPECT_EQ(offsets_take_reset(f->offsets, T, G, 0), 10);
    EXPECT(!offsets_reset_pending(f->offsets, T, G, 0));
    EXPECT_EQ(offsets_query(f->offsets, T, G, 0), 10);
    meta_fixture_free(f);
}

TEST(offsets, are_on_disk_after_the_interval_and_survive_a_power_cut)
{
    struct meta_fixture *f = start();
    offsets_commit(f->offsets, CLIENT, T, G, 0, 5);
    fake_tasks_advance(&f->tasks, 5000);
    fake_tasks_settle(&f->tasks);
    offsets_commit(f->offsets, CLIENT, T, G, 0, 6);
    meta_fixture_crash(f);
    meta_fixture_open(f);
    EXPECT_EQ(offsets_query(f->offsets, T, G, 0), 5);
    meta_fixture_free(f);
}

TEST(offsets, nothing_is_written_when_nothing_changed)
{
    struct meta_fixture *f = start();
    offsets_commit(f->offsets, CLIENT, T, G, 0, 5);
    fake_tasks_advance(&f->tasks, 5000);
    fake_tasks_settle(&f->tasks);
    uint64_t jobs = f->tasks.jobs_given;
    for (int i = 0; i < 10; i++) {
        offsets_commit(f->offsets, CLIENT, T, G, 0, 5);
        fake_tasks_advance(&f->tasks, 5000);
        fake_tasks_settle(&f->tasks);
    }
    EXPECT_EQ(f->tasks.jobs_given, jobs);
    meta_fixture_free(f);
}

TEST(offsets, the_file_reads_as_the_original_writes_it)
{
    struct meta_fixture *f = start();
    offsets_commit(f->offsets, CLIENT, T, G, 0, 5);
    offsets_commit(f->offsets, CLIENT, T, G, 1, 6);
    offsets_note_pull(f->offsets, T, G, 0, 9, &(struct pull_note){.at_ms = 1});
    meta_fixture_close(f);
    struct buf text = meta_fixture_read(f, "consumerOffset.json");
    EXPECT_TEXT(buf_slice(&text), "{\n\t\"dataVersion\":{\n\t\t\"counter\":0,\n\t\t\"stateVersion\":0,\n\t\t\"timestamp\":1700000000000\n\t},\n"
                                  "\t\"groupTopicMap\":{\n\t\t\"G\":[\n\t\t\t\"T\"\n\t\t]\n\t},\n"
                                  "\t\"offsetTable\":{\n\t\t\"T@G\":{\n\t\t\t0:5,\n\t\t\t1:6\n\t\t}\n\t},\n"
                                  "\t\"pullOffsetTable\":{\n\t\t\"T@G\":{\n\t\t\t0:9\n\t\t}\n\t}\n}");
    buf_done(&text);
    meta_fixture_open(f);
    EXPECT_EQ(offsets_query(f->offsets, T, G, 1), 6);
    EXPECT_EQ(offsets_query_pulled(f->offsets, T, G, 0), 9);
    struct buf reply = BUF_EMPTY;
    offsets_encode(f->offsets, JSON_RAW, false, &reply);
    EXPECT_TEXT(buf_slice(&reply), "{\"dataVersion\":{\"counter\":0,\"stateVersion\":0,\"timestamp\":1700000000000},"
                                   "\"groupTopicMap\":{\"G\":[\"T\"]},\"offsetTable\":{\"T@G\":{0:5,1:6}}}");
    buf_done(&reply);
    meta_fixture_free(f);
}

TEST(offsets, the_version_moves_on_after_so_many_commits)
{
    struct meta_fixture *f = start();
    for (int i = 0; i < 1499; i++) offsets_commit(f->offsets, CLIENT, T, G, 0, i);
    EXPECT_EQ(offsets_version(f->offsets).counter, 2);
    meta_fixture_free(f);
}

TEST(offsets, removing_and_cloning_touch_only_what_they_name)
{
    struct meta_fixture *f = start();
    offsets_commit(f->offsets, CLIENT, T, G, 0, 5);
    offsets_commit(f->offsets, CLIENT, SLICE("U"), G, 0, 6);
    offsets_commit(f->offsets, CLIENT, T, SLICE("H"), 0, 7);
    offsets_clone(f->offsets, G, SLICE("K"), T);
    EXPECT_EQ(offsets_query(f->offsets, T, SLICE("K"), 0), 5);
    EXPECT_EQ(offsets_query(f->offsets, SLICE("U"), SLICE("K"), 0), -1);
    offsets_remove_group(f->offsets, G);
    EXPECT_EQ(offsets_query(f->offsets, T, G, 0), -1);
    EXPECT_EQ(offsets_query(f->offsets, T, SLICE("H"), 0), 7);
    offsets_remove_topic(f->offsets, T);
    EXPECT_EQ(offsets_query(f->offsets, T, SLICE("H"), 0), -1);
    EXPECT_EQ(offsets_query(f->offsets, T, SLICE("K"), 0), -1);
    meta_fixture_free(f);
}

TEST(offsets, the_table_follows_a_plain_model_through_random_operations)
{
    enum { NAMES = 4, QUEUES = 6 };
    struct meta_fixture *f = start();
    int64_t model[NAMES][NAMES][QUEUES];
    memset(model, -1, sizeof model);
    uint64_t seed = 99;
    for (int round = 0; round < 20000; round++) {
        seed = seed * 6364136223846793005ull + 1442695040888963407ull;
        uint32_t r = (uint32_t)(seed >> 33);
        uint32_t t = r % NAMES, g = r / 4 % NAMES, q = r / 16 % QUEUES;
        char topic[8], group[8];
        snprintf(topic, sizeof topic, "t%u", t);
        snprintf(group, sizeof group, "g%u", g);
        if (r / 1000 % 50 == 0) {
            offsets_remove_group(f->offsets, slice_text(group));
            for (int i = 0; i < NAMES; i++) memset(model[i][g], -1, sizeof model[i][g]);
        } else if (r / 1000 % 500 == 1) {
            meta_fixture_close(f);
            meta_fixture_open(f);
        } else {
            offsets_commit(f->offsets, CLIENT, slice_text(topic), slice_text(group), (int32_t)q, r % 1000);
            model[t][g][q] = r % 1000;
        }
        EXPECT_EQ(offsets_query(f->offsets, slice_text(topic), slice_text(group), (int32_t)q), model[t][g][q]);
    }
    meta_fixture_free(f);
}

TEST(offsets, those_of_light_groups_are_in_a_file_with_all_others_that_the_original_reads)
{
    struct meta_fixture *f = meta_fixture_new(3);
    f->offsets_options.lmq = true;
    meta_fixture_open(f);
    offsets_commit(f->offsets, CLIENT, T, G, 1, 6);
    offsets_commit(f->offsets, CLIENT, SLICE("%LMQ%t"), SLICE("%LMQ%g"), 0, 5);
    offsets_note_pull(f->offsets, SLICE("%LMQ%t"), SLICE("%LMQ%g"), 0, 9, &(struct pull_note){.at_ms = 1});
    meta_fixture_close(f);
    struct buf text = meta_fixture_read(f, "lmqConsumerOffset.json");
    EXPECT_TEXT(buf_slice(&text), "{\n\t\"dataVersion\":{\n\t\t\"counter\":0,\n\t\t\"stateVersion\":0,\n\t\t\"timestamp\":1700000000000\n\t},\n"
                                  "\t\"groupTopicMap\":{\n\t\t\"G\":[\n\t\t\t\"T\"\n\t\t]\n\t},\n"
                                  "\t\"lmqOffsetTable\":{\n\t\t\"%LMQ%t@%LMQ%g\":5\n\t},\n"
                                  "\t\"offsetTable\":{\n\t\t\"T@G\":{\n\t\t\t1:6\n\t\t}\n\t},\n"
                                  "\t\"pullOffsetTable\":{\n\t\t\"%LMQ%t@%LMQ%g\":{\n\t\t\t0:9\n\t\t}\n\t}\n}");
    buf_done(&text);
    for (int lmq = 1; lmq >= 0; lmq--) {   /* switched off again, what is there is still read */
        f->offsets_options.lmq = lmq;
        meta_fixture_open(f);
        EXPECT_EQ(offsets_query(f->offsets, T, G, 1), 6);
        EXPECT_EQ(offsets_query(f->offsets, SLICE("%LMQ%t"), SLICE("%LMQ%g"), 0), 5);
        if (lmq) meta_fixture_close(f);
    }
    meta_fixture_free(f);
}
