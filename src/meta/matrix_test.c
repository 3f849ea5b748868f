/* matrix_test.c - one flipped bit anywhere in a configuration file: with a good backup the start succeeds, without one it succeeds or
 * is refused with a sentence; what the bit did not hit is there. */
#include "meta/meta_fixture.h"

#include <stdio.h>
#include <string.h>

enum { NAMES = 5 };

static const char *const files[] = {"topics.json", "subscriptionGroup.json", "consumerOffset.json"};
enum { FILES = sizeof files / sizeof *files };

static void name_of(const char *kind, int i, char out[static 16]) { snprintf(out, 16, "%s%d", kind, i); }

static struct meta_fixture *filled(void)
{
    struct meta_fixture *f = meta_fixture_new(1);
    meta_fixture_open(f);
    for (int i = 0; i < NAMES; i++) {
        char topic[16], group[16];
        const struct topic *made;
        name_of("Topic", i, topic);
        name_of("Group", i, group);
        EXPECT_OK(topics_create_on_send(f->topics, slice_text(topic), SLICE("TBW102"), 4, 0, &made));
        EXPECT(groups_find_or_create(f->groups, slice_text(group)));
        offsets_commit(f->offsets, SLICE("c"), slice_text(topic), slice_text(group), 0, 100 + i);
    }
    meta_fixture_close(f);
    return f;
}

static int topics_there(const struct meta_fixture *f)
{
    int n = 0;
    for (int i = 0; i < NAMES; i++) {
        char name[16];
        name_of("Topic", i, name);
        n += topics_find(f->topics, slice_text(name)) != NULL;
    }
    return n;
}

static int groups_there(const struct meta_fixture *f)
{
    int n = 0;
    for (int i = 0; i < NAMES; i++) {
        char name[16];
        name_of("Group", i, name);
        n += groups_find(f->groups, slice_text(name)) != NULL;
    }
    return n;
}

static int offsets_there(const struct meta_fixture *f)
{
    int n = 0;
    for (int i = 0; i < NAMES; i++) {
        char topic[16], group[16];
        name_of("Topic", i, topic);
        name_of("Group", i, group);
        n += offsets_query(f->offsets, slice_text(topic), slice_text(group), 0) == 100 + i;
    }
    return n;
}

/* Opens one of the three; the others are not touched. */
static err_t open_one(struct meta_fixture *f, int which)
{
    struct fs *fs = sim_fs_disk(f->disk);
    if (which == 0) return topics_open(&f->topics_options, fs, &f->tasks.tasks, &f->topics);
    if (which == 1) return groups_open(&f->groups_options, fs, &f->tasks.tasks, &f->groups);
    return offsets_open(&f->offsets_options, fs, &f->tasks.tasks, &f->offsets);
}

static int there(const struct meta_fixture *f, int which)
{
    return which == 0 ? topics_there(f) : which == 1 ? groups_there(f) : offsets_there(f);
}

/* Where something says what holds all the rest, one bit may make it the name of something else; then all the rest is unknown. */
static bool is_frame(struct slice text, size_t at)
{
    static const char *const names[] = {"\"topicConfigTable\"", "\"subscriptionGroupTable\"", "\"offsetTable\""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const uint8_t *p = memmem(text.p, text.n, names[i], strlen(names[i]));
        if (p && at >= (size_t)(p - text.p) && at < (size_t)(p - text.p) + strlen(names[i])) return true;
    }
    return false;
}

static void try_bit(int which, struct slice good, size_t at, uint8_t mask, bool backup)
{
    struct meta_fixture *f = meta_fixture_new(1);
    char path[64], name[64];
    snprintf(path, sizeof path, "/config/%s", files[which]);
    snprintf(name, sizeof name, "%s.bak", files[which]);
    meta_fixture_write(f, files[which], good);
    if (backup) meta_fixture_write(f, name, good);
    sim_fs_flip(f->disk, path, (int64_t)at, mask);
    err_t e = open_one(f, which);
    if (e && (backup || !*err_text(e))) fail_msg("%s at %zu mask %d: %s", files[which], at, mask, err_text(e));
    if (!e && !is_frame(good, at) && there(f, which) < NAMES - 1) fail_msg("%s at %zu mask %d: %d of %d are left", files[which], at, mask, there(f, which), NAMES);
    err_free(e);
    meta_fixture_free(f);
}

TEST(matrix, a_bit_anywhere_in_a_configuration_file_costs_at_most_what_it_hit)
{
    for (int which = 0; which < FILES; which++) {
        struct meta_fixture *f = filled();
        struct buf good = meta_fixture_read(f, files[which]);
        EXPECT(good.n > 100);
        meta_fixture_free(f);
        size_t step = good.n > 2000 ? 3 : 1;   /* system topics look all alike */
        for (size_t at = 0; at < good.n; at += step) {
            static const uint8_t masks[] = {1, 2, 4, 8, 16, 32, 64, 128};
            for (int backup = 0; backup < 2; backup++) try_bit(which, buf_slice(&good), at, masks[(at + (size_t)backup * 3) % 8], backup);
        }
        buf_done(&good);
    }
}
