#include "meta/meta_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static struct meta_fixture *start(void)
{
    struct meta_fixture *f = meta_fixture_new(1);
    meta_fixture_open(f);
    return f;
}

static void expect_topic(const struct meta_fixture *f, const char *name, int queues, int perm)
{
    const struct topic *topic = topics_find(f->topics, slice_text(name));
    EXPECT(topic);
    EXPECT_EQ(topic->config.read_queues, queues);
    EXPECT_EQ(topic->config.write_queues, queues);
    EXPECT_EQ(topic->config.perm, perm);
    EXPECT(topic->system);
}

TEST(topics, the_system_topics_are_there_from_the_start)
{
    struct meta_fixture *f = start();
    expect_topic(f, "TBW102", 8, 7);
    expect_topic(f, "SELF_TEST_TOPIC", 1, 6);
    expect_topic(f, "BenchmarkTest", 1024, 6);
    expect_topic(f, "DefaultCluster", 16, 7);
    expect_topic(f, "broker-a", 1, 7);
    expect_topic(f, "SCHEDULE_TOPIC_XXXX", 18, 6);
    expect_topic(f, "rmq_sys_REVIVE_LOG_DefaultCluster", 8, 6);
    expect_topic(f, "rmq_sys_SYNC_BROKER_MEMBER_broker-a", 1, 1);
    expect_topic(f, "DefaultCluster_REPLY_TOPIC", 1, 6);
    EXPECT(!topics_find(f->topics, SLICE("RMQ_SYS_TRACE_TOPIC")));
    EXPECT_EQ(topics_version(f->topics).counter, 0);
    EXPECT_EQ(f->topic_changes, 0);
    meta_fixture_free(f);
}

TEST(topics, a_send_makes_its_topic_after_the_default_one)
{
    struct meta_fixture *f = start();
    const struct topic *topic;
    EXPECT_OK(topics_create_on_send(f->topics, SLICE("A"), SLICE("TBW102"), 4, 0, &topic));
    EXPECT_EQ(topic->config.write_queues, 4);
    EXPECT_EQ(topic->config.perm, PERM_READ | PERM_WRITE);
    EXPECT(topic == topics_find(f->topics, SLICE("A")));
    EXPECT_OK(topics_create_on_send(f->topics, SLICE("B"), SLICE("TBW102"), 100, 0, &topic));
    EXPECT_EQ(topic->config.write_queues, 8);
    EXPECT_OK(topics_create_on_send(f->topics, SLICE("C"), SLICE("TBW102"), -5, 0, &topic));
    EXPECT_EQ(topic->config.write_queues, 0);
    EXPECT_EQ(f->topic_changes, 3);
    EXPECT_EQ(topics_version(f->topics).counter, 3);
    EXPECT_ERR(topics_create_on_send(f->topics, SLICE("D"), SLICE("nope"), 4, 0, &topic), ERR_TOPIC_NOT_FOUND);
    EXPECT_ERR(topics_create_on_send(f->topics, SLICE("D"), SLICE("SELF_TEST_TOPIC"), 4, 0, &topic), ERR_TOPIC_NOT_FOUND);
    topics_set_auto_create(f->topics, false);
    EXPECT_ERR(topics_create_on_send(f->topics, SLICE("D"), SLICE("TBW102"), 4, 0, &topic), ERR_TOPIC_NOT_FOUND);
    meta_fixture_free(f);
}

TEST(topics, retry_topics_follow_the_order_flag)
{
    struct meta_fixture *f = start();
    const struct topic *topic = topics_ensure(f->topics, SLICE("%RETRY%g"), 1, 6, false, TOPIC_SYS_UNIT_SUB);
    EXPECT_EQ(topic->config.sys_flag, TOPIC_SYS_UNIT_SUB);
    EXPECT(topics_ensure(f->topics, SLICE("%RETRY%g"), 3, 6, false, 0) == topic);
    EXPECT_EQ(f->topic_changes, 1);
    topics_ensure(f->topics, SLICE("%RETRY%g"), 1, 6, true, 0);
    EXPECT(topic->config.order);
    EXPECT_EQ(f->topic_changes, 2);
    meta_fixture_free(f);
}

/* As the order table of a name server does: the wish is made of the topic itself. */
TEST(topics, a_wish_may_borrow_from_the_topic_it_changes)
{
    struct meta_fixture *f = start();
    const struct topic *topic;
    bool changed;
    EXPECT_OK(topics_create_on_send(f->topics, SLICE("A"), SLICE("TBW102"), 4, 0, &topic));
    struct topic_config wish = topic->config;
    wish.order = true;
    EXPECT_OK(topics_set(f->topics, &wish, &changed));
    EXPECT(changed);
    EXPECT(topics_find(f->topics, SLICE("A"))->config.order);
    meta_fixture_free(f);
}

TEST(topics, numbers_of_queues_that_cannot_be_are_refused)
{
    static const int32_t wrong[][2] = {{-1, 1}, {1, -1}, {INT32_MIN, 4}, {TOPIC_QUEUES_MAX + 1, 1}, {1, 1000000000}, {INT32_MAX, INT32_MAX}};
    struct meta_fixture *f = start();
    bool changed;
    struct topic_config wish = {.name = SLICE("A"), .perm = 6};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        wish.read_queues = wrong[i][0];
        wish.write_queues = wrong[i][1];
        EXPECT_ERR(topics_set(f->topics, &wish, &changed), ERR_INVALID);
    }
    EXPECT(!topics_find(f->topics, SLICE("A")));
    wish.read_queues = TOPIC_QUEUES_MAX;
    wish.write_queues = 0;
    EXPECT_OK(topics_set(f->topics, &wish, &changed));
    meta_fixture_free(f);
}

TEST(topics, a_file_with_names_and_numbers_that_cannot_be_is_read_as_far_as_it_can_be)
{
    struct meta_fixture *f = start();
    struct buf text = BUF_EMPTY;
    char name[400];
    memset(name, 'n', sizeof name);
    buf_printf(&text, "{\"dataVersion\":{\"counter\":1},\"topicConfigTable\":{\"%.400s\":{\"perm\":6},\"\":{\"perm\":6},"
                      "\"Huge\":{\"perm\":6,\"readQueueNums\":2000000000,\"writeQueueNums\":-5}}}", name);
    meta_fixture_close(f);
    meta_fixture_write(f, "topics.json", buf_slice(&text));
    meta_fixture_open(f);
    EXPECT(!topics_find(f->topics, slice_of(name, sizeof name)));
    EXPECT(!topics_find(f->topics, SLICE("")));
    const struct topic *huge = topics_find(f->topics, SLICE("Huge"));
    EXPECT(huge);
    EXPECT_EQ(huge->config.read_queues, TOPIC_QUEUES_MAX);
    EXPECT_EQ(huge->config.write_queues, 0);
    buf_done(&text);
    meta_fixture_free(f);
}

static struct topic_config wanted(const char *name, struct pair *attributes, size_t count)
{
    struct topic_config c = {.name = slice_text(name), .read_queues = 3, .write_queues = 2, .perm = 6};
    c.attributes.items = attributes;
    c.attributes.count = count;
    return c;
}

TEST(topics, an_administrator_sets_them_and_a_repetition_changes_nothing)
{
    struct meta_fixture *f = start();
    bool changed;
    struct pair fifo = {SLICE("+message.type"), SLICE("FIFO")};
    struct topic_config c = wanted("A", &fifo, 1), plain = wanted("A", NULL, 0);
    EXPECT_OK(topics_set(f->topics, &c, &changed));
    EXPECT(changed);
    EXPECT_OK(topics_set(f->topics, &plain, &changed));
    EXPECT(!changed);
    EXPECT_TEXT(topic_attribute(&topics_find(f->topics, SLICE("A"))->config, SLICE("message.type")), "FIFO");
    plain.write_queues = 9;
    EXPECT_OK(topics_set(f->topics, &plain, &changed));
    EXPECT(changed);
    EXPECT_EQ(topics_find(f->topics, SLICE("A"))->config.write_queues, 9);
    EXPECT_TEXT(topic_attribute(&topics_find(f->topics, SLICE("A"))->config, SLICE("message.type")), "FIFO");
    meta_fixture_free(f);
}

TEST(topics, what_an_administrator_may_not_do_is_refused_in_known_words)
{
    struct meta_fixture *f = start();
    bool changed;
    struct pair mixed = {SLICE("+message.type"), SLICE("MIXED")};
    struct topic_config system = wanted("TBW102", NULL, 0), own = wanted("broker-a", NULL, 0), c = wanted("A", &mixed, 1);
    err_t e = topics_set(f->topics, &system, &changed);
    assert_string_equal(err_text(e), "The topic[TBW102] is conflict with system topic.");
    EXPECT_ERR(e, ERR_INVALID);
    EXPECT_ERR(topics_set(f->topics, &own, &changed), ERR_INVALID);
    e = topics_set(f->topics, &c, &changed);
    assert_string_equal(err_text(e), "MIXED message type is not supported.");
    EXPECT_ERR(e, ERR_INVALID);
    EXPECT_ERR(topics_delete(f->topics, SLICE("TBW102")), ERR_INVALID);
    EXPECT_OK(topics_delete(f->topics, SLICE("absent")));
    EXPECT_EQ(f->topic_changes, 0);
    meta_fixture_free(f);
}

TEST(topics, survive_a_clean_stop_with_everything_they_are)
{
    struct meta_fixture *f = start();
    const struct topic *topic;
    bool changed;
    struct pair fifo = {SLICE("+message.type"), SLICE("FIFO")};
    struct topic_config c = wanted("A", &fifo, 1);
    EXPECT_OK(topics_set(f->topics, &c, &changed));
    EXPECT_OK(topics_create_on_send(f->topics, SLICE("B"), SLICE("TBW102"), 4, 1, &topic));
    EXPECT_OK(topics_delete(f->topics, SLICE("B")));
    struct data_version version = topics_version(f->topics);
    meta_fixture_close(f);
    meta_fixture_open(f);
    topic = topics_find(f->topics, SLICE("A"));
    EXPECT(topic && topic->config.read_queues == 3 && topic->config.write_queues == 2);
    EXPECT_TEXT(topic_attribute(&topic->config, SLICE("message.type")), "FIFO");
    EXPECT(!topics_find(f->topics, SLICE("B")));
    EXPECT_EQ(topics_version(f->topics).counter, version.counter);
    expect_topic(f, "TBW102", 8, 7);
    meta_fixture_free(f);
}

struct flag {
    struct saver_waiter waiter;
    bool saved;
    enum err_code failed;
};

static void on_saved(struct saver_waiter *w, err_t e)
{
    struct flag *flag = LIST_OWNER(w, struct flag, waiter);
    flag->saved = !e;
    flag->failed = err_code(e);
    err_free(e);
}

TEST(topics, once_saved_they_survive_a_power_cut)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct meta_fixture *f = meta_fixture_new(seed);
        meta_fixture_open(f);
        fake_tasks_settle(&f->tasks);
        char name[16] = "";
        int last = 0;
        for (int i = 1; i <= 5; i++) {
            const struct topic *topic;
            struct flag flag = {.waiter.done = on_saved};
            snprintf(name, sizeof name, "T%d", i);
            EXPECT_OK(topics_create_on_send(f->topics, slice_text(name), SLICE("TBW102"), 4, 0, &topic));
            topics_when_saved(f->topics, &flag.waiter);
            for (uint64_t k = 0; !flag.saved && k < 1 + seed % 3; k++) fake_tasks_run_work(&f->tasks);
            if (!flag.saved) {   /* it waits on our stack */
                fake_tasks_settle(&f->tasks);
                EXPECT(flag.saved);
            }
            last = i;
        }
        meta_fixture_crash(f);
        meta_fixture_open(f);
        for (int i = 1; i <= last; i++) {
            snprintf(name, sizeof name, "T%d", i);
            EXPECT(topics_find(f->topics, slice_text(name)));
        }
        meta_fixture_free(f);
    }
}

TEST(topics, many_changes_are_written_with_few_files)
{
    struct meta_fixture *f = start();
    fake_tasks_settle(&f->tasks);
    uint64_t before = f->tasks.jobs_given;
    for (int i = 0; i < 100; i++) {
        const struct topic *topic;
        char name[16];
        snprintf(name, sizeof name, "T%d", i);
        EXPECT_OK(topics_create_on_send(f->topics, slice_text(name), SLICE("TBW102"), 4, 0, &topic));
    }
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(f->tasks.jobs_given - before, 2);   /* the first change, and all that came while it was written */
    meta_fixture_free(f);
}

TEST(topics, a_failed_writing_is_told_and_tried_again)
{
    struct meta_fixture *f = start();
    const struct topic *topic;
    struct flag flag = {.waiter.done = on_saved};
    fake_tasks_settle(&f->tasks);
    sim_fs_fail(f->disk, SIM_SYNC, 1, false, ERR_IO);
    EXPECT_OK(topics_create_on_send(f->topics, SLICE("A"), SLICE("TBW102"), 4, 0, &topic));
    topics_when_saved(f->topics, &flag.waiter);
    fake_tasks_settle(&f->tasks);
    EXPECT_EQ(flag.failed, ERR_IO);
    fake_tasks_advance(&f->tasks, 5000);
    fake_tasks_settle(&f->tasks);
    meta_fixture_crash(f);
    meta_fixture_open(f);
    EXPECT(topics_find(f->topics, SLICE("A")));
    meta_fixture_free(f);
}

TEST(topics, a_stop_during_a_writing_leaves_the_newest_state)
{
    struct meta_fixture *f = start();
    const struct topic *topic;
    EXPECT_OK(topics_create_on_send(f->topics, SLICE("A"), SLICE("TBW102"), 4, 0, &topic));   /* its job has not run */
    EXPECT_OK(topics_create_on_send(f->topics, SLICE("B"), SLICE("TBW102"), 4, 0, &topic));
    meta_fixture_close(f);
    meta_fixture_open(f);
    EXPECT(topics_find(f->topics, SLICE("A")));
    EXPECT(topics_find(f->topics, SLICE("B")));
    meta_fixture_free(f);
}

TEST(topics, a_broken_file_gives_way_to_its_backup)
{
    struct meta_fixture *f = meta_fixture_new(1);
    meta_fixture_write(f, "topics.json", SLICE("{\"topicConfigTable\":{\"A\":"));
    meta_fixture_write(f, "topics.json.bak", SLICE("{\"topicConfigTable\":{\"B\":{\"perm\":6}}}"));
    meta_fixture_open(f);
    EXPECT(!topics_find(f->topics, SLICE("A")));
    EXPECT(topics_find(f->topics, SLICE("B")));
    meta_fixture_free(f);
}

TEST(topics, without_any_good_file_the_start_is_refused)
{
    struct meta_fixture *f = meta_fixture_new(1);
    meta_fixture_write(f, "topics.json", SLICE("{"));
    EXPECT_ERR(topics_open(&f->topics_options, sim_fs_disk(f->disk), &f->tasks.tasks, &f->topics), ERR_BODY);
    f->topics = NULL;
    meta_fixture_write(f, "topics.json", SLICE("\n"));   /* an empty one is as none */
    EXPECT_OK(topics_open(&f->topics_options, sim_fs_disk(f->disk), &f->tasks.tasks, &f->topics));
    meta_fixture_free(f);
}

TEST(topics, every_fault_of_the_disk_leaves_one_of_the_states_before_or_after)
{
    for (uint64_t n = 1; n < 40; n++) {
        struct meta_fixture *f = meta_fixture_new(n);
        const struct topic *topic;
        meta_fixture_open(f);
        EXPECT_OK(topics_create_on_send(f->topics, SLICE("A"), SLICE("TBW102"), 4, 0, &topic));
        fake_tasks_settle(&f->tasks);
        sim_fs_fail(f->disk, SIM_CHANGES, n, true, ERR_IO);
        EXPECT_OK(topics_create_on_send(f->topics, SLICE("B"), SLICE("TBW102"), 4, 0, &topic));
        fake_tasks_settle(&f->tasks);
        meta_fixture_crash(f);
        meta_fixture_open(f);
        EXPECT(topics_find(f->topics, SLICE("A")));
        meta_fixture_free(f);
    }
}

TEST(topics, light_ones_are_there_unmade_cannot_be_changed_and_are_never_written)
{
    struct meta_fixture *f = meta_fixture_new(3);
    f->topics_options.lmq = true;
    f->groups_options.lmq = true;
    meta_fixture_open(f);
    size_t topics = topics_count(f->topics), groups = groups_count(f->groups);
    char name[32];
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "%%LMQ%%$parent$%d", i);
        const struct topic *topic = topics_find(f->topics, slice_text(name));
        EXPECT_TEXT(topic->config.name, name);
        EXPECT_EQ(topic->config.read_queues, 1);
        EXPECT_EQ(topic->config.perm, PERM_READ | PERM_WRITE);
        EXPECT(topics_is_saved(f->topics, topic));
        const struct group *group = groups_find_or_create(f->groups, slice_text(name));
        EXPECT_TEXT(group->config.name, name);
        EXPECT(group->config.consume_enable);
    }
    struct topic_config wanted = {.name = SLICE("%LMQ%a"), .read_queues = 4, .write_queues = 4, .perm = PERM_READ};
    struct group_config group = group_config_default;
    bool changed = true;
    group.name = SLICE("%LMQ%a");
    EXPECT_OK(topics_set(f->topics, &wanted, &changed));
    EXPECT(!changed);
    EXPECT_OK(groups_set(f->groups, &group));
    EXPECT_EQ(topics_find(f->topics, SLICE("%LMQ%a"))->config.read_queues, 1);
    EXPECT(!topics_find(f->topics, SLICE("LMQ%a")));
    EXPECT_EQ(topics_count(f->topics), topics);
    EXPECT_EQ(groups_count(f->groups), groups);
    EXPECT_EQ(f->topic_changes, 0);
    meta_fixture_free(f);
}
