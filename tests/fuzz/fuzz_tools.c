/* What `skylark store` makes of a folder with any bytes in it: check, dump and stats end, and rebuild gives a store that opens, or an error.
 * Shape  flags u8 | four files, each length u16 and these bytes: log, queue, index, extension of the queue | the checkpoint's bytes */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "store/store.h"
#include "tools/tools.h"

enum { LOG_BYTES = 4096, ENTRIES = 16, SLOTS = 7, KEYS = 20, INDEX_BYTES = 40 + SLOTS * 4 + KEYS * 20 };
enum { FLAG_ABORT = 1, FLAG_ODD_SIZES = 2, FLAG_JSON = 4, FLAG_BATCHES = 8 };

static void put(struct fs *fs, const char *path, struct slice bytes, int64_t size)
{
    struct file *f;
    FUZZ_EXPECT(!fs_open(fs, path, FILE_CREATE, &f));
    if (bytes.n) FUZZ_EXPECT(!file_write_at(f, 0, bytes.p, bytes.n));
    if (size >= 0) FUZZ_EXPECT(!file_set_size(f, size));
    file_close(f);
}

static void lay_out(struct fs *fs, uint8_t flags, struct slice rest)
{
    static const char *const folders[] = {"/s/commitlog", "/s/consumequeue/T/0", "/s/batchconsumequeue/B/0", "/s/consumequeue_ext/T/0", "/s/index",
                                          "/s/config"};
    bool odd = flags & FLAG_ODD_SIZES;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) FUZZ_EXPECT(!fs_make_folder(fs, folders[i]));
    put(fs, "/s/commitlog/00000000000000000000", fuzz_take(&rest), odd ? -1 : LOG_BYTES);
    if (flags & FLAG_BATCHES) put(fs, "/s/batchconsumequeue/B/0/00000000000000000000", fuzz_take(&rest), odd ? -1 : ENTRIES * 46);
    else put(fs, "/s/consumequeue/T/0/00000000000000000000", fuzz_take(&rest), odd ? -1 : ENTRIES * 20);
    put(fs, "/s/index/20260101000000000", fuzz_take(&rest), odd ? -1 : INDEX_BYTES);
    put(fs, "/s/consumequeue_ext/T/0/00000000000000000000", fuzz_take(&rest), -1);
    put(fs, "/s/config/topics.json", rest, -1);
    put(fs, "/s/checkpoint", rest, -1);
    if (flags & FLAG_ABORT) put(fs, "/s/abort", (struct slice){NULL, 0}, 0);
}

static void look(const struct tools_options *o)
{
    bool whole;
    err_free(tools_check(o, 10, &whole));
    for (int what = DUMP_LOG; what <= DUMP_CHECKPOINT; what++) {
        struct dump_options d = {.what = (enum dump_what)what, .to = INT64_MAX, .queue_id = -1, .body = true, .limit = 100};
        err_free(tools_dump(o, &d));
    }
    err_free(tools_stats(o));
}

static void rebuild_and_open(const struct tools_options *o, struct fake_tasks *tasks)
{
    struct store_options options = {
        .root = "/s", .log_file_bytes = LOG_BYTES, .queue_file_entries = ENTRIES, .sync_timeout_ms = 5000, .flush_interval_ms = 500,
        .queue_flush_interval_ms = 1000, .max_message_bytes = 1024, .store_host = {.ip = {127, 0, 0, 1}, .port = 10911}, .index = true,
        .index_slots = SLOTS, .index_entries = KEYS,
    };
    struct store *s;
    err_t e = tools_rebuild(o);
    bool rebuilt = !e;
    err_free(e);
    e = store_open(&options, o->fs, &tasks->tasks, &s);
    FUZZ_EXPECT(!rebuilt || !e);
    if (!e) {
        e = store_close(s);
        fake_tasks_settle(tasks);
    }
    err_free(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (!n) return 0;
    log_set_level(LOG_SILENT);
    struct sim_fs *disk = sim_fs_new(1);
    struct fake_tasks tasks;
    fake_tasks_init(&tasks, 1700000000000);
    FILE *out = fopen("/dev/null", "w");
    struct tools_options o = {.fs = sim_fs_disk(disk), .folder = "/s", .queue_file_entries = ENTRIES, .index_slots = SLOTS, .index_entries = KEYS, .now_ms = 1,
                              .json = p[0] & FLAG_JSON, .out = out};
    lay_out(o.fs, p[0], slice_of(p + 1, n - 1));
    uint64_t changes = sim_fs_calls(disk, SIM_CHANGES);
    look(&o);
    FUZZ_EXPECT(sim_fs_calls(disk, SIM_CHANGES) == changes);
    if (!(p[0] & FLAG_ODD_SIZES)) rebuild_and_open(&o, &tasks);
    fclose(out);
    fake_tasks_done(&tasks);
    sim_fs_free(disk);
    return 0;
}
