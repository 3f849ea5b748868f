/* meta_fixture.h - a disk in memory and a clock by hand, with topics, groups and offsets on them. For this room's tests. */
#ifndef SKYLARK_META_META_FIXTURE_H
#define SKYLARK_META_META_FIXTURE_H

#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "kit/test.h"
#include "meta/groups.h"
#include "meta/offsets.h"
#include "meta/topics.h"

struct meta_fixture {
    struct sim_fs *disk;
    struct fake_tasks tasks;
    struct topics_options topics_options;
    struct groups_options groups_options;
    struct offsets_options offsets_options;
    struct topics *topics;
    struct groups *groups;
    struct offsets *offsets;
    int topic_changes;
};

struct meta_fixture *meta_fixture_new(uint64_t seed);
void meta_fixture_open(struct meta_fixture *f);
void meta_fixture_close(struct meta_fixture *f);    /* as at a clean stop */
void meta_fixture_crash(struct meta_fixture *f);    /* as at a power cut; then the disk works again */
void meta_fixture_free(struct meta_fixture *f);
/* Puts text into a file below /config. */
void meta_fixture_write(struct meta_fixture *f, const char *name, struct slice text);
struct buf meta_fixture_read(struct meta_fixture *f, const char *name);
/* Lines of tests/fixtures/<name>, each given to `each` with an arena of its own. */
void meta_fixture_lines(const char *name, void (*each)(struct slice line, struct arena *arena));

#endif
