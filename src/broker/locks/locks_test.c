#include "kit/fake_tasks.h"
#include "kit/test.h"

#include "base/log.h"
#include "broker/locks/locks.h"
#include "kit/sim_fs.h"
#include "os/random.h"

#include <string.h>

struct fixture {
    struct fake_tasks tasks;
    struct locks locks;
};

static void start(struct fixture *f)
{
    fake_tasks_init(&f->tasks, 1000000);
    locks_init(&f->locks, &f->tasks.tasks);
}

static void stop(struct fixture *f)
{
    locks_done(&f->locks);
    fake_tasks_done(&f->tasks);
}

static struct message_queue queue(const char *topic, int32_t id)
{
    return (struct message_queue){.topic = slice_text(topic), .broker = SLICE("b"), .queue_id = id};
}

static bool take(struct fixture *f, const char *group, const char *topic, int32_t id, const char *client)
{
    struct message_queue q = queue(topic, id);
    return locks_take(&f->locks, slice_text(group), &q, slice_text(client));
}

static void release(struct fixture *f, const char *group, const char *topic, int32_t id, const char *client)
{
    struct message_queue q = queue(topic, id);
    locks_release(&f->locks, slice_text(group), &q, slice_text(client));
}

TEST(locks, a_queue_has_one_owner_in_each_group)
{
    struct fixture f;
    start(&f);
    EXPECT(take(&f, "G", "T", 0, "one"));
    EXPECT(take(&f, "G", "T", 0, "one"));
    EXPECT(!take(&f, "G", "T", 0, "two"));
    EXPECT(take(&f, "G", "T", 1, "two"));
    EXPECT(take(&f, "G2", "T", 0, "two"));
    EXPECT(take(&f, "G", "T2", 0, "two"));
    stop(&f);
}

/* Names that run together when they are written one behind the other. */
TEST(locks, group_and_topic_are_two_names)
{
    struct fixture f;
    start(&f);
    EXPECT(take(&f, "ab", "c", 0, "one"));
    EXPECT(take(&f, "a", "bc", 0, "two"));
    struct message_queue q = {.topic = SLICE("b"), .broker = SLICE("b"), .queue_id = 0};
    EXPECT(locks_take(&f.locks, SLICE("G\0T"), &q, SLICE("one")));   /* any byte may come in a text of JSON */
    q.topic = SLICE("T\0b");
    EXPECT(locks_take(&f.locks, SLICE("G"), &q, SLICE("two")));
    stop(&f);
}

TEST(locks, only_the_owner_lets_go)
{
    struct fixture f;
    start(&f);
    EXPECT(take(&f, "G", "T", 0, "one"));
    release(&f, "G", "T", 0, "two");
    release(&f, "G", "T", 9, "one");
    EXPECT(!take(&f, "G", "T", 0, "two"));
    release(&f, "G", "T", 0, "one");
    EXPECT(take(&f, "G", "T", 0, "two"));
    stop(&f);
}

TEST(locks, an_owner_who_asks_again_keeps_it_and_a_silent_one_loses_it)
{
    struct fixture f;
    start(&f);
    EXPECT(take(&f, "G", "T", 0, "one"));
    fake_tasks_advance(&f.tasks, LOCK_LIVES_MS);
    EXPECT(take(&f, "G", "T", 0, "one"));
    fake_tasks_advance(&f.tasks, LOCK_LIVES_MS);
    EXPECT(!take(&f, "G", "T", 0, "two"));
    fake_tasks_advance(&f.tasks, 1);
    EXPECT(take(&f, "G", "T", 0, "two"));
    EXPECT(!take(&f, "G", "T", 0, "one"));
    stop(&f);
}

TEST(locks, expired_ones_are_forgotten)
{
    struct fixture f;
    start(&f);
    for (int32_t i = 0; i < 100; i++) EXPECT(take(&f, "G", "T", i, "one"));
    fake_tasks_advance(&f.tasks, 1000);
    EXPECT(take(&f, "G", "T", 7, "one"));
    fake_tasks_advance(&f.tasks, LOCK_LIVES_MS - 999);
    locks_expire(&f.locks);
    EXPECT_EQ(f.locks.queues.count, 1);
    EXPECT(!take(&f, "G", "T", 7, "two"));
    stop(&f);
}

/* Against what is written down by hand: who owns each queue, and when that was said the last time. */
TEST(model, random_clients_own_what_they_would_by_the_rules)
{
    enum { SEEDS = 1000, STEPS = 200, GROUPS = 2, QUEUES = 3, CLIENTS = 3 };
    static const char *const groups[GROUPS] = {"G", "GG"}, *const clients[CLIENTS] = {"one", "two", "three"};
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        int owner[GROUPS][QUEUES];
        int64_t said_ms[GROUPS][QUEUES] = {{0}};
        struct random r;
        struct fixture f;
        start(&f);
        random_init(&r, seed);
        memset(owner, -1, sizeof owner);
        for (int step = 0; step < STEPS; step++) {
            int g = (int)random_below(&r, GROUPS), q = (int)random_below(&r, QUEUES), c = (int)random_below(&r, CLIENTS);
            int64_t now = f.tasks.mono_ms;
            bool held = owner[g][q] >= 0 && now - said_ms[g][q] <= LOCK_LIVES_MS;
            switch (random_below(&r, 5)) {
            case 0: case 1: {
                bool gets = !held || owner[g][q] == c;
                EXPECT_EQ(take(&f, groups[g], "T", q, clients[c]), gets);
                if (gets) owner[g][q] = c, said_ms[g][q] = now;
                break;
            }
            case 2:
                release(&f, groups[g], "T", q, clients[c]);
                if (owner[g][q] == c) owner[g][q] = -1;
                break;
            case 3: fake_tasks_advance(&f.tasks, random_below(&r, LOCK_LIVES_MS)); break;
            case 4: locks_expire(&f.locks); break;
            }
            bool any = false;
            for (int i = 0; i < QUEUES; i++) any |= owner[g][i] >= 0 && f.tasks.mono_ms - said_ms[g][i] <= LOCK_LIVES_MS;
            EXPECT_EQ(locks_any(&f.locks, slice_text(groups[g])), any);
        }
        stop(&f);
    }
}

/* --- over a stop --- */

static const char path[] = "/config/locks.json";

static struct sim_fs *disk_new(void)
{
    struct sim_fs *disk = sim_fs_new(1);
    EXPECT_OK(fs_make_folder(sim_fs_disk(disk), "/config"));
    return disk;
}

/* The next process, so many ms later. */
static void restart(struct fixture *f, struct sim_fs *disk, int64_t ms, bool clean)
{
    if (clean) EXPECT_OK(locks_save(&f->locks, sim_fs_disk(disk), path));
    locks_done(&f->locks);
    f->tasks.wall_ms += ms;
    f->tasks.mono_ms = 5;   /* another clock */
    locks_init(&f->locks, &f->tasks.tasks);
    locks_load(&f->locks, sim_fs_disk(disk), path);
}

TEST(locks, owners_go_on_after_a_clean_stop_and_nobody_else_gets_in_between)
{
    struct fixture f;
    struct sim_fs *disk = disk_new();
    start(&f);
    EXPECT(take(&f, "G", "T", 0, "one"));
    EXPECT(take(&f, "G", "T", 1, "two"));
    EXPECT(take(&f, "H", "T\"\\", 0, "two"));
    fake_tasks_advance(&f.tasks, 20000);
    EXPECT(take(&f, "G", "T", 1, "two"));
    restart(&f, disk, 10000, true);
    EXPECT(!take(&f, "G", "T", 0, "two"));
    EXPECT(!take(&f, "H", "T\"\\", 0, "one"));
    EXPECT(take(&f, "G", "T", 0, "one"));
    fake_tasks_advance(&f.tasks, LOCK_LIVES_MS - 9000);   /* the owner of the second has been silent for longer than before the stop */
    EXPECT(take(&f, "G", "T", 1, "one"));
    sim_fs_free(disk);
    stop(&f);
}

TEST(locks, what_expired_while_nobody_was_there_is_free_and_after_a_kill_all_is)
{
    struct fixture f;
    struct sim_fs *disk = disk_new();
    start(&f);
    EXPECT(take(&f, "G", "T", 0, "one"));
    restart(&f, disk, LOCK_LIVES_MS + 1, true);
    EXPECT(take(&f, "G", "T", 0, "two"));
    restart(&f, disk, 1000, true);
    EXPECT(!take(&f, "G", "T", 0, "one"));
    restart(&f, disk, 1000, false);   /* the file was taken away when it was read */
    EXPECT(take(&f, "G", "T", 0, "one"));
    restart(&f, disk, -5000, true);   /* a clock that is set back makes nobody young */
    EXPECT(!take(&f, "G", "T", 0, "two"));
    sim_fs_free(disk);
    stop(&f);
}

TEST(locks, a_file_that_cannot_be_read_is_left_out_and_goes)
{
    struct fixture f;
    struct sim_fs *disk = disk_new();
    struct file_info info;
    log_set_level(LOG_SILENT);
    start(&f);
    EXPECT(take(&f, "G", "T", 0, "one"));
    EXPECT_OK(fs_replace_file(sim_fs_disk(disk), path, SLICE("{\"locks\":[{\"group\":")));
    restart(&f, disk, 1, false);
    EXPECT(take(&f, "G", "T", 0, "two"));
    EXPECT_ERR(fs_info(sim_fs_disk(disk), path, &info), ERR_NOT_FOUND);
    log_set_level(LOG_INFO);
    sim_fs_free(disk);
    stop(&f);
}
