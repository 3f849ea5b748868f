/* Files in which a broker keeps what it was told, with any text in them: each is read or refused with a sentence, and what was read is written
 * and read again.
 * Shape  1 queueLocks.json | 2 topics-deleted | 3 messageRequestMode.json, u8 | text; another first byte is the text of consumerFilter.json */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "broker/filters/filters.h"
#include "broker/locks/locks.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "meta/request_modes.h"
#include "store/deleted_topics.h"

enum { HOUR_MS = 3600000 };

static const struct filters_options options = {.folder = "/config", .error_percent = 20, .groups = 32};

static void put(struct fs *fs, const char *path, struct slice text)
{
    struct file *f;
    FUZZ_EXPECT(!fs_make_folder(fs, "/config"));
    FUZZ_EXPECT(!fs_open(fs, path, FILE_CREATE, &f));
    if (text.n) FUZZ_EXPECT(!file_write_at(f, 0, text.p, text.n));
    file_close(f);
}

static const struct subscription *next(void *ctx)
{
    static const struct subscription s = {.topic = SLICE("New"), .expression = SLICE("a = 1"), .type = SLICE("SQL92"), .version = 1};
    int *left = ctx;
    return (*left)-- > 0 ? &s : NULL;
}

/* Each of these returns how many there are, or 1 where that does not matter; -1: the text was refused. */
static int64_t use_filters(struct fs *fs, struct fake_tasks *tasks)
{
    struct filters *f;
    int left = 1;
    err_t e = filters_open(&options, fs, &tasks->tasks, &f);
    if (e) {
        FUZZ_EXPECT(*err_text(e));
        err_free(e);
        return -1;
    }
    filters_follow(f, SLICE("New"), next, &left);
    FUZZ_EXPECT(filters_find(f, SLICE("New"), SLICE("New")));
    filters_tidy(f, INT64_MAX);
    fake_tasks_settle(tasks);
    int64_t count = (int64_t)filters_count(f);
    err_free(filters_close(f));
    fake_tasks_settle(tasks);
    return count;
}

static int64_t use_locks(struct fs *fs, struct fake_tasks *tasks)
{
    struct locks l;
    struct message_queue q = {.topic = SLICE("New"), .broker = SLICE("b"), .queue_id = 3};
    locks_init(&l, &tasks->tasks);
    locks_load(&l, fs, "/config/queueLocks.json");
    if (!locks_take(&l, SLICE("New"), &q, SLICE("c"))) {
        int64_t silent_ms;
        FUZZ_EXPECT(locks_holder(&l, SLICE("New"), &q, &silent_ms) && silent_ms >= 0 && silent_ms <= LOCK_LIVES_MS);
    }
    FUZZ_EXPECT(!locks_save(&l, fs, "/config/queueLocks.json"));
    locks_done(&l);
    return 1;   /* one whose owner's name begins with a zero byte has none */
}

static int64_t use_deleted_topics(struct fs *fs, struct fake_tasks *tasks)
{
    struct deleted_topics d;
    deleted_topics_init(&d, "/config", fs, &tasks->tasks);
    FUZZ_EXPECT(!deleted_topics_load(&d) && !deleted_topics_fit(&d, 0, 1000));
    deleted_topics_add(&d, SLICE("New"), 0, 500, 1000);
    FUZZ_EXPECT(deleted_topics_have(&d, SLICE("New"), 999) && !deleted_topics_have(&d, SLICE("New"), 1000));
    int64_t count = (int64_t)d.ends.count;
    deleted_topics_done(&d);
    fake_tasks_settle(tasks);
    return count;
}

static int64_t use_request_modes(struct fs *fs, struct fake_tasks *tasks)
{
    struct request_modes *m;
    err_t e = request_modes_open("/config", fs, &tasks->tasks, &m);
    if (e) {
        FUZZ_EXPECT(*err_text(e));
        err_free(e);
        return -1;
    }
    struct request_mode mode = {.group = SLICE("G"), .mode = 1, .share = 1, .topic = SLICE("New")};
    request_modes_set(m, &mode);
    FUZZ_EXPECT(request_modes_find(m, SLICE("New"), SLICE("G"))->share == mode.share);
    fake_tasks_settle(tasks);
    err_free(request_modes_close(m));
    return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    static const struct {
        const char *path;
        int64_t (*use)(struct fs *fs, struct fake_tasks *tasks);
    } files[] = {
        {"/config/consumerFilter.json", use_filters},
        {"/config/queueLocks.json", use_locks},
        {"/config/" DELETED_TOPICS, use_deleted_topics},
        {"/config/messageRequestMode.json", use_request_modes},
    };
    size_t which = n && p[0] && p[0] < sizeof files / sizeof *files ? p[0] : 0;
    struct fake_tasks tasks;
    struct sim_fs *disk = sim_fs_new(1);
    log_set_level(LOG_SILENT);
    fake_tasks_init(&tasks, 1700000000000);
    put(sim_fs_disk(disk), files[which].path, which ? slice_of(p + 1, n - 1) : slice_of(p, n));
    int64_t count = files[which].use(sim_fs_disk(disk), &tasks);
    if (count >= 0) FUZZ_EXPECT(files[which].use(sim_fs_disk(disk), &tasks) == count);
    fake_tasks_done(&tasks);
    sim_fs_free(disk);
    return 0;
}
