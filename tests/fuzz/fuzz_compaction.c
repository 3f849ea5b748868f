/* Opening a store whose compaction log says anything: records, entries, the mark of a change over, positions. Whatever is opened must answer
 * reads with whole records in order, copy new messages, go through a round, and open again with all that it had told before.
 * Shape  flags u8 | length u16 of the first log file's bytes, these | the same of its entries, of the second log file, of its entries, of
 *        `ready` | the bytes of position-checkpoint */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "codec/record.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "store/store.h"

#include <stdio.h>

enum { ENTRY_BYTES = 460, LOG_BYTES = 2300 };
enum { FLAG_ABORT = 1, FLAG_SECOND = 2, FLAG_NO_ENTRIES = 4, FLAG_READY = 8, FLAG_ASIDE = 16, FLAG_DELETED = 32 };

#define LOGS "/s/compaction/compactionLog/T/0"
#define ENTRIES "/s/compaction/compactionCq/T/0"
#define FIRST "/00000000000000000000"
#define SECOND "/00000000000000002300"

static void put_file(struct fs *fs, const char *path, struct slice bytes, int64_t size)
{
    struct file *f;
    err_t e = fs_open(fs, path, FILE_CREATE, &f);
    FUZZ_EXPECT(!e);
    if (size > 0 && (int64_t)bytes.n > size) bytes.n = (size_t)size;
    e = file_set_size(f, size > 0 ? size : (int64_t)bytes.n);
    if (!e && bytes.n) e = file_write_at(f, 0, bytes.p, bytes.n);
    FUZZ_EXPECT(!e);
    file_close(f);
}

static void lay_out(struct fs *fs, struct slice input)
{
    static const char *const folders[] = {"/s/commitlog", "/s/consumequeue", LOGS "/compacting", ENTRIES "/compacting"};
    uint8_t flags = *input.p;
    struct slice rest = slice_skip(input, 1);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) FUZZ_EXPECT(!fs_make_folder(fs, folders[i]));
    put_file(fs, flags & FLAG_DELETED ? LOGS FIRST ".delete" : LOGS FIRST, fuzz_take(&rest), LOG_BYTES);
    struct slice entries = fuzz_take(&rest);
    if (!(flags & FLAG_NO_ENTRIES)) put_file(fs, ENTRIES FIRST, entries, ENTRY_BYTES);
    struct slice second = fuzz_take(&rest), second_entries = fuzz_take(&rest), ready = fuzz_take(&rest);
    if (flags & FLAG_SECOND) {
        put_file(fs, LOGS SECOND, second, LOG_BYTES);
        put_file(fs, ENTRIES SECOND, second_entries, ENTRY_BYTES);
    }
    if (flags & FLAG_ASIDE) {
        put_file(fs, LOGS "/compacting" FIRST, second, LOG_BYTES);
        put_file(fs, ENTRIES "/compacting" FIRST, second_entries, ENTRY_BYTES);
    }
    if (flags & FLAG_READY) put_file(fs, LOGS "/compacting/ready", ready, 0);
    put_file(fs, "/s/compaction/position-checkpoint", rest, 0);
    if (flags & FLAG_ABORT) put_file(fs, "/s/abort", (struct slice){NULL, 0}, 0);
}

static void check_slice(struct slice rest, int64_t *last)
{
    while (rest.n) {
        struct message m;
        FUZZ_EXPECT(record_read(rest, &m) == RECORD_WHOLE && record_body_intact(&m) && m.queue_offset > *last);
        *last = m.queue_offset;
        rest = slice_skip(rest, record_read_size(&m));
    }
}

/* How many messages a consumer gets who begins at 0. */
static int read_all(struct store *s)
{
    int64_t offset = 0, last = -1;
    int count = 0;
    for (int reads = 0; reads < 200; reads++) {
        struct read_request r = {.topic = SLICE("T"), .offset = offset, .max_messages = 4, .max_bytes = 2000, .max_scan = 100};
        struct read_result out;
        store_read(s, &r, &out);
        for (size_t i = 0; i < out.slices; i++) check_slice(out.slice[i].bytes, &last);
        count += out.messages;
        read_result_release(&out);
        bool goes_on = out.status == READ_FOUND || out.status == READ_NO_MATCH || out.status == READ_MESSAGE_GONE;
        FUZZ_EXPECT(!goes_on || out.next_offset > offset);
        if (!goes_on && out.status != READ_OFFSET_TOO_SMALL) return count;
        offset = out.next_offset;
    }
    return count;
}

static void ignore_done(void *ctx, err_t e)
{
    (void)ctx;
    err_free(e);
}

static void add_some(struct store *s, struct fake_tasks *tasks)
{
    for (int i = 0; i < 25; i++) {
        char properties[32];
        struct appended at;
        int n = snprintf(properties, sizeof properties, "KEYS\x01key%d\x02", i % 3);
        struct message m = {.topic = SLICE("T"), .body = SLICE("new"), .born_host = {.ip = {1, 2, 3, 4}}};
        m.properties = slice_of(properties, (size_t)n);
        err_free(store_append(s, &m, 1, true, ignore_done, NULL, &at));
    }
    for (int i = 0; i < 8; i++) {
        fake_tasks_advance(tasks, 1000);
        fake_tasks_settle(tasks);
    }
}

/* -1: it was not opened. */
static int open_and_use(const struct store_options *o, struct fs *fs, struct fake_tasks *tasks, int expected)
{
    struct store *s;
    err_t e = store_open(o, fs, &tasks->tasks, &s);
    if (e) {
        err_free(e);
        return -1;
    }
    int count = -1;
    e = store_set_compacted(s, SLICE("T"), true, false);
    if (!e) {
        count = read_all(s);
        FUZZ_EXPECT(count >= expected);   /* what damaged entries hid may come back */
        add_some(s, tasks);
        count = read_all(s);
    }
    err_free(e);
    err_free(store_close(s));
    fake_tasks_settle(tasks);
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    if (!n) return 0;
    log_set_level(LOG_SILENT);
    struct sim_fs *disk = sim_fs_new(1);
    struct fake_tasks tasks;
    fake_tasks_init(&tasks, 1700000000000);
    struct store_options o = {
        .root = "/s", .log_file_bytes = 4096, .queue_file_entries = 16, .sync_timeout_ms = 5000, .flush_interval_ms = 100,
        .queue_flush_interval_ms = 1000, .max_message_bytes = 1024, .store_host = {.ip = {127, 0, 0, 1}, .port = 10911},
        .compaction = {.on = true, .log_file_bytes = LOG_BYTES, .entry_file_bytes = ENTRY_BYTES, .interval_ms = 1000, .map_bytes = 1},
    };
    lay_out(sim_fs_disk(disk), slice_of(p, n));
    int count = open_and_use(&o, sim_fs_disk(disk), &tasks, -1);
    if (count >= 0) FUZZ_EXPECT(open_and_use(&o, sim_fs_disk(disk), &tasks, count) >= 0);
    fake_tasks_done(&tasks);
    sim_fs_free(disk);
    return 0;
}
