/* Opening a store whose index file says anything, behind a log that is whole: queries answer with records that have the key, new keys are
 * added and found, every message is served.
 * Shape  flags u8 | bytes of the index file */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "store/index_file.h"
#include "store/store.h"

#include <stdio.h>

enum { LOG_BYTES = 4096, ENTRIES = 16, SLOTS = 7, KEYS = 20, MESSAGES = 8, FLAG_ABORT = 1, FLAG_OVER_GOOD = 2 };

struct world {
    struct sim_fs *disk;
    struct fake_tasks tasks;
    struct store_options options;
    struct store *store;
};

static void on_done(void *ctx, err_t e)
{
    FUZZ_EXPECT(!e);
    (void)ctx;
}

static void append(struct world *w, int i)
{
    char text[32];
    struct appended at;
    snprintf(text, sizeof text, "UNIQ_KEY\1U%d\2KEYS\1a b\2", i);
    struct message m = {.topic = SLICE("T"), .body = SLICE("x"), .properties = slice_text(text), .born_host = {.ip = {1, 2, 3, 4}}};
    FUZZ_EXPECT(!store_append(w->store, &m, 1, true, on_done, NULL, &at));
    fake_tasks_settle(&w->tasks);
    fake_tasks_advance(&w->tasks, 300);
    fake_tasks_settle(&w->tasks);
}

static void on_found(void *ctx, struct store_found *found)
{
    *(size_t *)ctx = found->count;
    for (size_t i = 0; i < found->count; i++) {
        struct message m;
        FUZZ_EXPECT(record_read(found->record[i].bytes, &m) == RECORD_WHOLE && record_body_intact(&m));
        pin_release(&found->record[i]);
    }
}

static size_t find(struct world *w, const char *key)
{
    struct store_find f = {.topic = SLICE("T"), .key = slice_text(key), .begin_ms = 0, .end_ms = INT64_MAX, .max = 64};
    size_t count = 99;
    store_find(w->store, &f, on_found, &count);
    fake_tasks_settle(&w->tasks);
    FUZZ_EXPECT(count != 99);
    return count;
}

/* The name of the one index file. */
static void take_name(void *ctx, const char *name) { snprintf(ctx, 64, "/s/index/%s", name); }

static void put_index(struct world *w, struct slice bytes, bool over_good)
{
    char path[64] = "";
    struct file *f;
    struct fs *fs = sim_fs_disk(w->disk);
    int64_t size = index_file_bytes((struct index_shape){SLOTS, KEYS});
    FUZZ_EXPECT(!fs_list(fs, "/s/index", take_name, path) && *path);
    FUZZ_EXPECT(!fs_open(fs, path, FILE_WRITE, &f));
    if (!over_good) FUZZ_EXPECT(!file_set_size(f, 0));
    FUZZ_EXPECT(!file_set_size(f, size));
    if (bytes.n) FUZZ_EXPECT(!file_write_at(f, 0, bytes.p, (int64_t)bytes.n < size ? bytes.n : (size_t)size));
    file_close(f);
}

static void begin(struct world *w)
{
    w->disk = sim_fs_new(1);
    fake_tasks_init(&w->tasks, 1700000000000);
    w->options = (struct store_options){
        .root = "/s", .log_file_bytes = LOG_BYTES, .queue_file_entries = ENTRIES, .sync_timeout_ms = 5000, .flush_interval_ms = 500,
        .queue_flush_interval_ms = 1000, .max_message_bytes = 1024, .store_host = {.ip = {127, 0, 0, 1}, .port = 10911}, .index = true,
        .index_slots = SLOTS, .index_entries = KEYS, .scrub_bytes_per_second = 1 << 20,
    };
    FUZZ_EXPECT(!store_open(&w->options, sim_fs_disk(w->disk), &w->tasks.tasks, &w->store));
    for (int i = 0; i < MESSAGES - 2; i++) append(w, i);   /* one file of keys: 18 of 19 */
    FUZZ_EXPECT(!store_close(w->store));
}

static void mark_killed(struct world *w)
{
    struct file *f;
    FUZZ_EXPECT(!fs_open(sim_fs_disk(w->disk), "/s/abort", FILE_CREATE, &f));
    file_close(f);
}

static void use(struct world *w, int first)
{
    FUZZ_EXPECT(!store_open(&w->options, sim_fs_disk(w->disk), &w->tasks.tasks, &w->store));
    fake_tasks_settle(&w->tasks);
    find(w, "a");
    for (int i = first; i < first + 2; i++) append(w, i);
    find(w, "b");
    FUZZ_EXPECT(store_max_offset(w->store, SLICE("T"), 0) == first + 2);
    fake_tasks_advance(&w->tasks, 10000);
    fake_tasks_settle(&w->tasks);
    FUZZ_EXPECT(!store_counts(w->store).damaged);
    FUZZ_EXPECT(!store_close(w->store));
    fake_tasks_settle(&w->tasks);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct world w;
    if (!n) return 0;
    log_set_level(LOG_SILENT);
    begin(&w);
    put_index(&w, slice_of(p + 1, n - 1), p[0] & FLAG_OVER_GOOD);
    if (p[0] & FLAG_ABORT) mark_killed(&w);
    use(&w, MESSAGES - 2);
    use(&w, MESSAGES);
    fake_tasks_done(&w.tasks);
    sim_fs_free(w.disk);
    return 0;
}
