/* consumerFilter.json with any text in it: it is read or refused with a sentence, and what was read is written and read again. */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "broker/filters/filters.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"

enum { HOUR_MS = 3600000 };

static const struct filters_options options = {.folder = "/config", .error_percent = 20, .groups = 32};

static void put(struct fs *fs, struct slice text)
{
    struct file *f;
    FUZZ_EXPECT(!fs_make_folder(fs, "/config"));
    FUZZ_EXPECT(!fs_open(fs, "/config/consumerFilter.json", FILE_CREATE, &f));
    if (text.n) FUZZ_EXPECT(!file_write_at(f, 0, text.p, text.n));
    file_close(f);
}

static const struct subscription *next(void *ctx)
{
    static const struct subscription s = {.topic = SLICE("New"), .expression = SLICE("a = 1"), .type = SLICE("SQL92"), .version = 1};
    int *left = ctx;
    return (*left)-- > 0 ? &s : NULL;
}

/* Returns how many expressions there are; -1: the text was refused. */
static int64_t use(struct fs *fs, struct fake_tasks *tasks)
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

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct fake_tasks tasks;
    struct sim_fs *disk = sim_fs_new(1);
    log_set_level(LOG_SILENT);
    fake_tasks_init(&tasks, 1700000000000);
    put(sim_fs_disk(disk), slice_of(p, n));
    int64_t count = use(sim_fs_disk(disk), &tasks);
    if (count >= 0) FUZZ_EXPECT(use(sim_fs_disk(disk), &tasks) == count);
    fake_tasks_done(&tasks);
    sim_fs_free(disk);
    return 0;
}
