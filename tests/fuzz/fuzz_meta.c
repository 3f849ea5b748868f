/* The configuration files that a broker reads at its start, with any text in them: it starts or refuses with a sentence, and what it started
 * with it writes and reads again.
 * Shape  which file u8 (0 topics, 1 groups, 2 offsets, 3 delay levels, 8 counts of timers; 4: the text is the backup's) | text */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "meta/delay_offsets.h"
#include "meta/groups.h"
#include "meta/offsets.h"
#include "meta/timer_metrics.h"
#include "meta/topics.h"

enum { FLAG_BACKUP = 4 };

static void put(struct fs *fs, const char *path, struct slice text)
{
    struct file *f;
    FUZZ_EXPECT(!fs_make_folder(fs, "/config"));
    FUZZ_EXPECT(!fs_open(fs, path, FILE_CREATE, &f));
    if (text.n) FUZZ_EXPECT(!file_write_at(f, 0, text.p, text.n));
    file_close(f);
}

/* True: it started. */
static bool use_topics(struct fs *fs, struct fake_tasks *tasks)
{
    struct topics_options o = {.folder = "/config", .cluster = SLICE("C"), .broker = SLICE("b"), .default_queues = 8, .revive_queues = 8, .auto_create = true};
    struct topics *t;
    const struct topic *made;
    err_t e = topics_open(&o, fs, &tasks->tasks, &t);
    if (e) {
        FUZZ_EXPECT(*err_text(e));
        err_free(e);
        return false;
    }
    err_free(topics_create_on_send(t, SLICE("New"), SLICE("TBW102"), 4, 0, &made));
    fake_tasks_settle(tasks);
    err_free(topics_close(t));
    fake_tasks_settle(tasks);
    return true;
}

static bool use_groups(struct fs *fs, struct fake_tasks *tasks)
{
    struct groups_options o = {.folder = "/config", .auto_create = true};
    struct groups *g;
    err_t e = groups_open(&o, fs, &tasks->tasks, &g);
    if (e) {
        FUZZ_EXPECT(*err_text(e));
        err_free(e);
        return false;
    }
    groups_find_or_create(g, SLICE("New"));
    fake_tasks_settle(tasks);
    err_free(groups_close(g));
    fake_tasks_settle(tasks);
    return true;
}

static bool use_offsets(struct fs *fs, struct fake_tasks *tasks)
{
    struct offsets_options o = {.folder = "/config", .flush_interval_ms = 5000, .version_step = 500};
    struct offsets *s;
    err_t e = offsets_open(&o, fs, &tasks->tasks, &s);
    if (e) {
        FUZZ_EXPECT(*err_text(e));
        err_free(e);
        return false;
    }
    offsets_commit(s, SLICE("c"), SLICE("T"), SLICE("G"), 0, 7);
    FUZZ_EXPECT(offsets_query(s, SLICE("T"), SLICE("G"), 0) == 7);
    fake_tasks_settle(tasks);
    err_free(offsets_close(s));
    fake_tasks_settle(tasks);
    return true;
}

static bool use_delay_offsets(struct fs *fs, struct fake_tasks *tasks)
{
    struct delay_offsets *d;
    err_t e = delay_offsets_open("/config", 200, fs, &tasks->tasks, &d);
    if (e) {
        FUZZ_EXPECT(*err_text(e));
        err_free(e);
        return false;
    }
    int64_t safe[DELAY_LEVELS_MAX + 1];
    delay_offsets_set(d, 3, 7);
    for (int32_t level = 0; level <= DELAY_LEVELS_MAX; level++) safe[level] = delay_offsets_get(d, level);
    FUZZ_EXPECT(safe[3] == 7);
    delay_offsets_save(d, safe, 11);
    fake_tasks_settle(tasks);
    err_free(delay_offsets_close(d));
    fake_tasks_settle(tasks);
    return true;
}

static bool use_timer_metrics(struct fs *fs, struct fake_tasks *tasks)
{
    struct timer_metrics *m;
    err_t e = timer_metrics_open("/config", fs, &tasks->tasks, &m);
    if (e) {
        FUZZ_EXPECT(*err_text(e));
        err_free(e);
        return false;
    }
    int64_t before = timer_metrics_get(m, SLICE("T"));
    if (before < INT64_MAX / 2) timer_metrics_add(m, SLICE("T"), 1);
    FUZZ_EXPECT(before >= INT64_MAX / 2 || timer_metrics_get(m, SLICE("T")) == before + 1);
    timer_metrics_save(m);
    fake_tasks_settle(tasks);
    err_free(timer_metrics_close(m));
    fake_tasks_settle(tasks);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct {
        const char *path, *backup;
        bool (*use)(struct fs *fs, struct fake_tasks *tasks);
    } files[] = {
        {"/config/topics.json", "/config/topics.json.bak", use_topics},
        {"/config/subscriptionGroup.json", "/config/subscriptionGroup.json.bak", use_groups},
        {"/config/consumerOffset.json", "/config/consumerOffset.json.bak", use_offsets},
        {"/config/delayOffset.json", "/config/delayOffset.json.bak", use_delay_offsets},
        {"/config/timermetrics", "/config/timermetrics.bak", use_timer_metrics},
    };
    if (!n) return 0;
    log_set_level(LOG_SILENT);
    size_t which = ((p[0] & 3) | (p[0] & 8) >> 1) % (sizeof files / sizeof *files);
    struct sim_fs *disk = sim_fs_new(1);
    struct fake_tasks tasks;
    fake_tasks_init(&tasks, 1700000000000);
    put(sim_fs_disk(disk), p[0] & FLAG_BACKUP ? files[which].backup : files[which].path, slice_of(p + 1, n - 1));
    if (files[which].use(sim_fs_disk(disk), &tasks)) FUZZ_EXPECT(files[which].use(sim_fs_disk(disk), &tasks));
    fake_tasks_done(&tasks);
    sim_fs_free(disk);
    return 0;
}
