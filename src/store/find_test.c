#include "store/store_fixture.h"

#include "codec/record.h"
#include "os/random.h"

#include <stdio.h>
#include <stdlib.h>

/* Small index files, so that a few messages fill several. */
static struct store_fixture *begin(uint64_t seed)
{
    struct store_fixture *f = store_fixture_new(seed);
    f->options.sync_flush = true;
    f->options.index = true;
    f->options.index_slots = 11;
    f->options.index_entries = 40;
    store_fixture_open(f);
    return f;
}

static void append(struct store_fixture *f, const char *topic, const char *unique, const char *words)
{
    struct message m = store_fixture_message(topic, 0, "x");
    char text[256];
    snprintf(text, sizeof text, "UNIQ_KEY\1%s\2KEYS\1%s\2", unique, words);
    m.properties = slice_text(text);
    struct appended at;
    EXPECT_OK(store_fixture_try(f, &m, &at));
    fake_tasks_settle(&f->tasks);
}

struct found {
    bool told;
    size_t count;
    int64_t offset[FIND_MAX];   /* queue offsets */
};

static void on_found(void *ctx, struct store_found *found)
{
    struct found *out = ctx;
    out->told = true;
    out->count = found->count;
    for (size_t i = 0; i < found->count; i++) {
        struct message m;
        EXPECT_EQ(record_read(found->record[i].bytes, &m), RECORD_WHOLE);
        out->offset[i] = m.queue_offset;
        pin_release(&found->record[i]);
    }
}

static struct found find(struct store_fixture *f, const char *topic, const char *key, int32_t max)
{
    struct store_find what = {.topic = slice_text(topic), .key = slice_text(key), .end_ms = INT64_MAX, .max = max};
    struct found found = {.told = false};
    store_find(f->store, &what, on_found, &found);
    fake_tasks_settle(&f->tasks);
    EXPECT(found.told);
    return found;
}

TEST(find, a_message_is_found_by_its_unique_key_and_by_each_word_of_its_keys)
{
    struct store_fixture *f = begin(1);
    append(f, "T", "U1", "order7  customer9");
    append(f, "T", "U2", "order8 customer9");
    EXPECT_EQ(find(f, "T", "U1", 10).count, 1);
    EXPECT_EQ(find(f, "T", "order8", 10).offset[0], 1);
    struct found both = find(f, "T", "customer9", 10);
    EXPECT_EQ(both.count, 2);
    EXPECT_EQ(both.offset[0], 0);   /* in the order of the log */
    EXPECT_EQ(both.offset[1], 1);
    EXPECT_EQ(find(f, "T", "customer9", 1).offset[0], 1);   /* the newest, when there is room for one */
    EXPECT_EQ(find(f, "T", "customer", 10).count, 0);
    store_fixture_free(f);
}

TEST(find, topics_and_keys_whose_hashes_collide_are_told_apart)
{
    struct store_fixture *f = begin(2);
    append(f, "AaTopic", "U1", "BB");
    append(f, "BBTopic", "U2", "Aa");
    EXPECT_EQ(find(f, "AaTopic", "Aa", 10).count, 0);
    EXPECT_EQ(find(f, "AaTopic", "BB", 10).count, 1);
    EXPECT_EQ(find(f, "BBTopic", "BB", 10).count, 0);
    store_fixture_free(f);
}

TEST(find, a_damaged_record_is_not_found_and_is_counted_once)
{
    struct store_fixture *f = begin(2);
    append(f, "T", "U1", "word");
    append(f, "T", "U2", "word");
    store_fixture_close(f);
    sim_fs_flip(f->disk, "/store/commitlog/00000000000000000000", 88, 1);   /* the body of the first */
    store_fixture_open(f);
    for (int i = 0; i < 3; i++) EXPECT_EQ(find(f, "T", "word", 10).count, 1);
    EXPECT_EQ(find(f, "T", "U1", 10).count, 0);
    EXPECT_EQ(store_counts(f->store).damaged, 1);
    store_fixture_free(f);
}

static void fill(struct store_fixture *f, int from, int to)
{
    char unique[16], word[16];
    for (int i = from; i < to; i++) {
        snprintf(unique, sizeof unique, "U%d", i);
        snprintf(word, sizeof word, "w%d", i % 7);
        append(f, "T", unique, word);
    }
}

static void expect_all(struct store_fixture *f, int count)
{
    char unique[16];
    for (int i = 0; i < count; i++) {
        snprintf(unique, sizeof unique, "U%d", i);
        struct found one = find(f, "T", unique, 10);
        EXPECT_EQ(one.count, 1);
        EXPECT_EQ(one.offset[0], i);
    }
    EXPECT_EQ(find(f, "T", "w3", FIND_MAX).count, (size_t)(count + 3) / 7);
}

TEST(find, everything_is_found_through_restarts_kills_and_power_cuts)
{
    struct store_fixture *f = begin(3);
    fill(f, 0, 50);
    store_fixture_close(f);
    store_fixture_open(f);
    expect_all(f, 50);
    fill(f, 50, 90);
    store_fixture_kill(f);
    store_fixture_open(f);
    expect_all(f, 90);
    fill(f, 90, 120);
    store_fixture_cut_power(f);
    store_fixture_open(f);
    EXPECT_EQ(store_fixture_max(f, "T", 0), 120);
    expect_all(f, 120);
    store_fixture_free(f);
}

TEST(find, random_stops_never_lose_a_key)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct store_fixture *f = begin(seed);
        struct random r;
        random_init(&r, seed);
        int count = 0;
        for (int round = 0; round < 6; round++) {
            int more = (int)random_below(&r, 30);
            fill(f, count, count + more);
            count += more;
            switch (random_below(&r, 3)) {
            case 0: store_fixture_kill(f); break;
            case 1: store_fixture_cut_power(f); break;
            case 2: store_fixture_close(f); break;
            }
            store_fixture_open(f);
        }
        expect_all(f, count);
        store_fixture_free(f);
    }
}

TEST(find, an_index_that_cannot_be_written_holds_nobody_up_and_catches_up_later)
{
    struct store_fixture *f = begin(4);
    fill(f, 0, 5);
    expect_all(f, 5);
    sim_fs_fail(f->disk, SIM_SPACE | SIM_NAME, 1, true, ERR_DISK_FULL);   /* no further index file can be made */
    fill(f, 5, 60);
    EXPECT_EQ(f->failed, 0);
    sim_fs_heal(f->disk);
    fake_tasks_advance(&f->tasks, 6000);
    fake_tasks_settle(&f->tasks);
    expect_all(f, 60);
    store_fixture_free(f);
}
