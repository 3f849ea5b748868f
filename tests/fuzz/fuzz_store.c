/* Opening a store whose files say anything: commit log, consume queue, queue of batches, checkpoint, with and without the mark of a crash.
 * Whatever is opened must answer reads with whole records, take a new message, give it back, and open again.
 * Shape  flags u8 | length u16 of the log's bytes, these | length u16 of the queue's bytes, these | the checkpoint's bytes */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "codec/queue_entry.h"
#include "codec/record.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "store/store.h"

enum { LOG_BYTES = 4096, ENTRIES = 16 };
enum { FLAG_ABORT = 1, FLAG_NO_QUEUE = 2, FLAG_SYNC = 4, FLAG_SECOND_LOG = 8, FLAG_BATCHES = 16, FLAG_BOTH_KINDS = 32 };

static void put_file(struct fs *fs, const char *path, struct slice bytes, int64_t size)
{
    struct file *f;
    err_t e = fs_open(fs, path, FILE_CREATE, &f);
    FUZZ_EXPECT(!e);
    if ((int64_t)bytes.n > size) bytes.n = (size_t)size;
    e = file_set_size(f, size);
    if (!e) e = file_write_at(f, 0, bytes.p, bytes.n);
    FUZZ_EXPECT(!e);
    file_close(f);
}

static void lay_out(struct fs *fs, struct slice input)
{
    static const char *const folders[] = {"/s/commitlog", "/s/consumequeue", "/s/config"};
    uint8_t flags = *input.p;
    bool batches = flags & FLAG_BATCHES;
    struct slice rest = slice_skip(input, 1), log = fuzz_take(&rest), queue = fuzz_take(&rest);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) FUZZ_EXPECT(!fs_make_folder(fs, folders[i]));
    put_file(fs, "/s/commitlog/00000000000000000000", log, LOG_BYTES);
    if (flags & FLAG_SECOND_LOG) put_file(fs, "/s/commitlog/00000000000000004096", slice_skip(log, log.n / 2), LOG_BYTES);
    if (!(flags & FLAG_NO_QUEUE) && (!batches || flags & FLAG_BOTH_KINDS)) {
        FUZZ_EXPECT(!fs_make_folder(fs, "/s/consumequeue/T/0"));
        put_file(fs, "/s/consumequeue/T/0/00000000000000000000", queue, ENTRIES * QUEUE_ENTRY_BYTES);
    }
    if (!(flags & FLAG_NO_QUEUE) && batches) {
        FUZZ_EXPECT(!fs_make_folder(fs, "/s/batchconsumequeue/T/0"));
        put_file(fs, "/s/batchconsumequeue/T/0/00000000000000000000", queue, ENTRIES * BATCH_ENTRY_BYTES);
    }
    put_file(fs, "/s/checkpoint", rest, (int64_t)rest.n);
    if (flags & FLAG_ABORT) put_file(fs, "/s/abort", (struct slice){NULL, 0}, 0);
}

static void ignore_done(void *ctx, err_t e)
{
    *(bool *)ctx = !e;
    err_free(e);
}

static void read_all(struct store *s)
{
    int64_t end = store_max_offset(s, SLICE("T"), 0);
    for (int64_t offset = -1; offset <= end + 1 && offset < 40; offset++) {
        struct read_request r = {.topic = SLICE("T"), .offset = offset, .max_messages = 4, .max_bytes = 2000, .max_scan = 100};
        struct read_result out;
        store_read(s, &r, &out);
        for (size_t i = 0; i < out.slices; i++) {
            struct slice rest = out.slice[i].bytes;
            struct message m;
            while (rest.n) {
                FUZZ_EXPECT(record_read(rest, &m) == RECORD_WHOLE && record_body_intact(&m));
                rest = slice_skip(rest, record_read_size(&m));
            }
        }
        read_result_release(&out);
        store_time_of(s, SLICE("T"), 0, offset);
    }
    store_offset_by_time(s, SLICE("T"), 0, 1700000000000, BOUNDARY_LOWER);
    store_offset_by_time(s, SLICE("T"), 0, INT64_MAX, BOUNDARY_UPPER);
}

static void add_one(struct store *s, struct fake_tasks *tasks, bool batch)
{
    struct message m = {.topic = SLICE("T"), .body = SLICE("new"), .born_host = {.ip = {1, 2, 3, 4}}};
    if (batch) {
        m.batch_topic = true;
        m.inner_count = 1;
        m.sys_flag = SYS_FLAG_INNER_BATCH;
        m.properties = SLICE("INNER_NUM\x01" "1\x02");
    }
    struct appended at;
    bool stored = false;
    err_t e = store_append(s, &m, 1, true, ignore_done, &stored, &at);
    fake_tasks_settle(tasks);
    if (!e && stored) {
        struct read_request r = {.topic = SLICE("T"), .offset = at.queue_offset, .max_messages = 1, .max_bytes = 2000, .max_scan = 10};
        struct read_result out;
        store_read(s, &r, &out);
        FUZZ_EXPECT(out.status == READ_FOUND && out.messages == 1);
        read_result_release(&out);
    }
    err_free(e);
}

static bool open_and_use(const struct store_options *o, struct fs *fs, struct fake_tasks *tasks, bool batch)
{
    struct store *s;
    err_t e = store_open(o, fs, &tasks->tasks, &s);
    bool opened = !e;
    if (opened) {
        read_all(s);
        for (int i = 0; i < 4; i++) {   /* the scrub */
            fake_tasks_advance(tasks, 5000);
            fake_tasks_settle(tasks);
        }
        FUZZ_EXPECT(!store_counts(s).scrub_left_bytes);
        read_all(s);
        add_one(s, tasks, batch);
        e = store_close(s);
        fake_tasks_settle(tasks);
    }
    err_free(e);
    return opened;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (!n) return 0;
    log_set_level(LOG_SILENT);
    struct sim_fs *disk = sim_fs_new(1);
    struct fake_tasks tasks;
    fake_tasks_init(&tasks, 1700000000000);
    struct store_options o = {.root = "/s", .log_file_bytes = LOG_BYTES, .queue_file_entries = ENTRIES, .sync_flush = p[0] & FLAG_SYNC, .sync_timeout_ms = 5000,
                              .flush_interval_ms = 500, .queue_flush_interval_ms = 1000, .max_message_bytes = 1024,
                              .store_host = {.ip = {127, 0, 0, 1}, .port = 10911}, .scrub_bytes_per_second = 1 << 30};
    lay_out(sim_fs_disk(disk), slice_of(p, n));
    bool batch = p[0] & FLAG_BATCHES;
    if (open_and_use(&o, sim_fs_disk(disk), &tasks, batch)) FUZZ_EXPECT(open_and_use(&o, sim_fs_disk(disk), &tasks, !batch));
    fake_tasks_done(&tasks);
    sim_fs_free(disk);
    return 0;
}
