/* rebuild_test.c - queues and index made anew are those that the store has written, and no interruption leaves a store that is not whole. */
#include "tools/tools_fixture.h"

#include <string.h>

static void expect_same(struct buf *before, struct buf *after)
{
    EXPECT(slice_eq(buf_slice(before), buf_slice(after)));
    buf_done(before);
    buf_done(after);
}

static void expect_all(struct tools_fixture *t)
{
    for (int i = 0; i < FIXTURE_MESSAGES; i++) EXPECT(tools_fixture_serves(t, i));
}

TEST(rebuild, queues_and_index_are_byte_for_byte_those_that_the_store_has_written)
{
    struct tools_fixture *t = tools_fixture_new(false);
    struct buf queues = tools_fixture_files(t, "/store/consumequeue", true), index = tools_fixture_files(t, "/store/index", false);
    EXPECT(queues.n > 1000 && index.n > 1000);
    EXPECT_OK(fs_remove_tree(t->options.fs, "/store/consumequeue/TopicB"));
    EXPECT_OK(fs_remove_tree(t->options.fs, "/store/index"));
    sim_fs_flip(t->s->disk, "/store/consumequeue/TopicA/0/00000000000000000000", 45, 255);
    EXPECT_OK(tools_fixture_rebuild(t));
    EXPECT(strstr(t->text, "rebuilt: 3 queues"));
    struct buf queues_after = tools_fixture_files(t, "/store/consumequeue", true), index_after = tools_fixture_files(t, "/store/index", false);
    expect_same(&queues, &queues_after);
    expect_same(&index, &index_after);
    EXPECT_OK(tools_fixture_check(t));
    EXPECT(t->whole && strstr(t->text, "0 notes"));
    struct file_info info;
    EXPECT_ERR(fs_info(t->options.fs, "/store/rebuild-new", &info), ERR_NOT_FOUND);
    store_fixture_open(t->s);
    expect_all(t);
    tools_fixture_free(t);
}

TEST(rebuild, a_store_in_use_is_left_alone)
{
    struct tools_fixture *t = tools_fixture_new(false);
    store_fixture_open(t->s);
    EXPECT_ERR(tools_fixture_rebuild(t), ERR_LOCKED);
    store_fixture_append(t->s, "TopicA", 0, "it goes on");
    fake_tasks_settle(&t->s->tasks);
    expect_all(t);
    tools_fixture_free(t);
}

TEST(rebuild, without_a_log_nothing_is_touched)
{
    struct tools_fixture *t = tools_fixture_new(false);
    EXPECT_OK(fs_remove_tree(t->options.fs, "/store/commitlog"));
    EXPECT_OK(fs_make_folder(t->options.fs, "/store/commitlog"));
    struct buf before = tools_fixture_files(t, "/store", true);
    EXPECT_ERR(tools_fixture_rebuild(t), ERR_NOT_FOUND);
    struct buf after = tools_fixture_files(t, "/store", true);
    expect_same(&before, &after);
    tools_fixture_free(t);
}

TEST(rebuild, a_store_that_was_killed_gets_the_entries_of_what_it_wrote_last)
{
    struct tools_fixture *t = tools_fixture_new(false);
    store_fixture_open(t->s);
    struct appended a = store_fixture_append(t->s, "TopicC", 0, "the last one");
    fake_tasks_turn(&t->s->tasks);
    store_fixture_kill(t->s);
    EXPECT_OK(fs_remove_tree(t->options.fs, "/store/consumequeue/TopicC"));
    EXPECT_OK(tools_fixture_rebuild(t));
    store_fixture_open(t->s);
    expect_all(t);
    store_fixture_expect(t->s, "TopicC", 0, a.queue_offset, "the last one");
    tools_fixture_free(t);
}

/* TO5: whoever has committed an offset must not find another message there. */
TEST(rebuild, a_queue_whose_messages_were_too_old_goes_on_counting_where_it_was)
{
    struct tools_fixture *t = tools_fixture_new(false);
    store_fixture_open(t->s);
    for (int i = 0; i < 11; i++) store_fixture_append(t->s, "Old", 0, "long ago");
    fake_tasks_settle(&t->s->tasks);
    int64_t last_file = 0;
    for (int i = 0; i < 200; i++) {
        struct appended a = store_fixture_append(t->s, "New", 0, "not so long ago");
        last_file = a.log_offset / FIXTURE_LOG_BYTES * FIXTURE_LOG_BYTES;
        fake_tasks_settle(&t->s->tasks);
    }
    store_fixture_close(t->s);
    for (int64_t at = 0; at < last_file; at += FIXTURE_LOG_BYTES) {
        char path[64];
        snprintf(path, sizeof path, "/store/commitlog/%020lld", (long long)at);
        EXPECT_OK(fs_remove(t->options.fs, path));
    }
    EXPECT_OK(tools_fixture_rebuild(t));
    store_fixture_open(t->s);
    EXPECT_EQ(store_fixture_max(t->s, "Old", 0), 11);
    EXPECT_EQ(store_min_offset(t->s->store, SLICE("Old"), 0), 11);
    EXPECT_EQ(store_fixture_append(t->s, "Old", 0, "again").queue_offset, 11);
    fake_tasks_settle(&t->s->tasks);
    store_fixture_expect(t->s, "Old", 0, 11, "again");
    EXPECT_EQ(store_fixture_max(t->s, "New", 0), 200);
    tools_fixture_free(t);
}

static void kill_tool(struct tools_fixture *t, bool power)
{
    if (power) sim_fs_cut_power(t->s->disk);
    else sim_fs_stop(t->s->disk);
    sim_fs_restart(t->s->disk);
}

/* TO4: the nth change fails, and so does all that follows; then the process is gone, or the power. */
static void interrupt_everywhere(bool power, bool killed_before)
{
    for (uint64_t n = 1;; n++) {
        struct tools_fixture *t = tools_fixture_new(false);
        if (killed_before) {
            store_fixture_open(t->s);
            store_fixture_kill(t->s);
        }
        EXPECT_OK(fs_sync_all(t->options.fs, "/"));
        sim_fs_fail(t->s->disk, SIM_CHANGES, n, true, ERR_IO);
        err_t e = tools_fixture_rebuild(t);
        bool done = !e;
        err_free(e);
        kill_tool(t, power);
        EXPECT_OK(tools_fixture_check(t));
        EXPECT(t->whole);
        store_fixture_open(t->s);
        expect_all(t);
        EXPECT_EQ(store_fixture_append(t->s, "TopicB", 0, "goes on").queue_offset, 13);
        fake_tasks_settle(&t->s->tasks);
        tools_fixture_free(t);
        if (done) break;
        if (n > 30) n += 6;
    }
}

TEST(rebuild, killed_at_any_moment_it_leaves_a_whole_store) { interrupt_everywhere(false, false); }
TEST(rebuild, at_a_power_cut_at_any_moment_it_leaves_a_whole_store) { interrupt_everywhere(true, false); }
TEST(rebuild, of_a_store_that_was_killed_it_may_be_killed_too) { interrupt_everywhere(false, true); }

TEST(rebuild, a_disk_without_room_leaves_the_store_as_it_was)
{
    struct tools_fixture *t = tools_fixture_new(false);
    struct buf before = tools_fixture_files(t, "/store/consumequeue", true);
    sim_fs_set_space(t->s->disk, 4096);
    err_t e = tools_fixture_rebuild(t);
    EXPECT(e);
    err_free(e);
    struct buf after = tools_fixture_files(t, "/store/consumequeue", true);
    expect_same(&before, &after);
    sim_fs_set_space(t->s->disk, -1);
    store_fixture_open(t->s);
    expect_all(t);
    tools_fixture_free(t);
}
