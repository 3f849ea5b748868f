#include "broker/metrics/collect.h"

#include "base/map.h"
#include "kit/fake_tasks.h"
#include "kit/test.h"

#include <stdio.h>

enum { GROUPS = 1500, GONE = 100 };

struct world {
    struct fake_tasks tasks;
    struct broker broker;
    struct collector collector;
    char *folder;
};

static void world_init(struct world *w)
{
    *w = (struct world){.folder = test_folder()};
    struct offsets_options o = {.folder = w->folder, .flush_interval_ms = 5000, .version_step = 500};
    fake_tasks_init(&w->tasks, 1000);
    EXPECT_OK(offsets_open(&o, fs_real(), &w->tasks.tasks, &w->broker.offsets));
    w->collector.broker = &w->broker;
}

static void world_done(struct world *w)
{
    buf_done(&w->collector.names);
    EXPECT_OK(offsets_close(w->broker.offsets));
    fake_tasks_done(&w->tasks);
    test_folder_remove(w->folder);
}

static void commit(struct world *w, const char *letter, int from, int to)
{
    char group[32];
    for (int i = from; i < to; i++) {
        snprintf(group, sizeof group, "%s%d", letter, i);
        offsets_commit(w->broker.offsets, SLICE("10.0.0.9:1"), SLICE("T"), slice_text(group), 0, 1);
    }
}

/* Each once; of those that begin with the letter so many. */
static void expect_names(const struct collector *c, uint8_t letter, int count)
{
    struct map seen = MAP_EMPTY;
    struct slice topic, group;
    int found = 0;
    for (size_t at = 0; collect_next_names(c, &at, &topic, &group); found += group.p[0] == letter)
        if (map_put(&seen, group, &seen)) fail_msg("twice: %.*s", SLICE_ARG(group));
    EXPECT_EQ(found, count);
    map_done(&seen);
}

TEST(collect, names_are_copied_in_parts_and_anew_when_their_table_has_moved_meanwhile)
{
    struct world w;
    char group[32];
    int turns = 1;
    world_init(&w);
    commit(&w, "G", 0, GROUPS);
    for (int i = 0; i < GONE; i++) {   /* holes, which are closed when the table grows */
        snprintf(group, sizeof group, "G%d", i);
        offsets_remove(w.broker.offsets, SLICE("T"), slice_text(group));
    }
    EXPECT(!collect_lag_names(&w.collector));
    size_t moves = offsets_moves(w.broker.offsets);
    commit(&w, "H", 0, GROUPS);
    EXPECT(offsets_moves(w.broker.offsets) != moves);
    for (; !collect_lag_names(&w.collector); turns++) EXPECT(turns < 100);
    EXPECT(turns >= (2 * GROUPS - GONE) / COLLECT_NAMES_AT_ONCE);
    expect_names(&w.collector, 'G', GROUPS - GONE);
    expect_names(&w.collector, 'H', GROUPS);
    world_done(&w);
}
