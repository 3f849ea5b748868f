/* What brokers of the original left on disk loads here, and says the same. */
#include "meta/meta_fixture.h"

#include <stdio.h>
#include <stdlib.h>

static struct meta_fixture *open_store(const char *store, char **out_folder)
{
    char command[1024], config[512];
    struct meta_fixture *f = meta_fixture_new(1);
    *out_folder = test_folder();
    snprintf(command, sizeof command, "zstd -qdc '%s/store/%s.tar.zst' | tar -xf - -C '%s' '%s/store/config'", FIXTURES, store, *out_folder, store);
    EXPECT_EQ(system(command), 0);
    snprintf(config, sizeof config, "%s/%s/store/config", *out_folder, store);
    f->topics_options.folder = f->groups_options.folder = f->offsets_options.folder = config;
    EXPECT_OK(topics_open(&f->topics_options, fs_real(), &f->tasks.tasks, &f->topics));
    EXPECT_OK(groups_open(&f->groups_options, fs_real(), &f->tasks.tasks, &f->groups));
    EXPECT_OK(offsets_open(&f->offsets_options, fs_real(), &f->tasks.tasks, &f->offsets));
    return f;
}

static void check_store(const char *store, int64_t plain_offset)
{
    char *folder;
    struct meta_fixture *f = open_store(store, &folder);
    const struct topic *topic = topics_find(f->topics, SLICE("TopicTx"));
    EXPECT(topic);
    EXPECT_TEXT(topic_attribute(&topic->config, SLICE("message.type")), "TRANSACTION");
    EXPECT_EQ(topic->config.read_queues, 2);
    EXPECT_EQ(topics_find(f->topics, SLICE("TopicPlain"))->config.write_queues, 4);
    EXPECT(topics_version(f->topics).counter > 0);
    const struct group *group = groups_find(f->groups, SLICE("GroupExp"));
    EXPECT_EQ(group->config.retry.type, RETRY_POLICY_EXPONENTIAL);
    EXPECT_EQ(group->config.retry.exponential->max_ms, 60000);
    EXPECT_EQ(offsets_query(f->offsets, SLICE("TopicPlain"), SLICE("GroupPush"), 2), plain_offset);
    meta_fixture_free(f);
    test_folder_remove(folder);
}

TEST(golden, offsets_of_a_broker_with_light_queues_are_taken_over) { check_store("clean", 18); }
TEST(golden, configuration_of_a_killed_broker_loads) { check_store("crash", 4); }
TEST(golden, configuration_of_a_cleanly_stopped_broker_loads) { check_store("ext", 4); }

/* Reads a pretty file and writes it again: the same bytes, when the order is kept. */
TEST(golden, topics_are_written_byte_for_byte_as_the_original_did)
{
    char *folder, path[512];
    struct meta_fixture *f = open_store("ext", &folder);
    struct buf before = BUF_EMPTY, after = BUF_EMPTY;
    snprintf(path, sizeof path, "%s/ext/store/config/topics.json", folder);
    EXPECT_OK(fs_read_file(fs_real(), path, 1 << 20, &before));
    bool changed;
    struct topic_config c = {.name = SLICE("Extra"), .read_queues = 1, .write_queues = 1, .perm = 6};
    EXPECT_OK(topics_set(f->topics, &c, &changed));
    EXPECT_OK(topics_delete(f->topics, SLICE("Extra")));
    EXPECT_OK(topics_close(f->topics));
    f->topics = NULL;
    EXPECT_OK(fs_read_file(fs_real(), path, 1 << 20, &after));
    const char *table = "\"topicConfigTable\"";
    const uint8_t *a = memmem(before.p, before.n, table, strlen(table)), *b = memmem(after.p, after.n, table, strlen(table));
    EXPECT(a && b);
    size_t n = before.n - (size_t)(a - before.p) - 5;   /* without the closing brackets: ours may have more system topics */
    EXPECT(!memcmp(a, b, n));
    buf_done(&before);
    buf_done(&after);
    meta_fixture_free(f);
    test_folder_remove(folder);
}
