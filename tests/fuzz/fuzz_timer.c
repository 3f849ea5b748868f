/* Files of timers that say anything: they are loaded or put aside, what is in them is read or said to be damaged, and what is added
 * afterwards is there in the end and after the next start.
 * Shape  flags u8 | checkpoint, log, wheel page: each with its length u16; the page's number is the flags' */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "kit/fake_tasks.h"
#include "kit/sim_fs.h"
#include "timer/timer.h"

#include <stdio.h>

enum { FILE_BYTES = 1000, TICK_MS = 1000, SLOTS_LOOKED_AT = 300, PAGE_BYTES = 4096 };
#define NOW_MS 1700000000000

struct world {
    struct sim_fs *disk;
    struct fake_tasks tasks;
    struct timers *timers;
    struct timers_take take;
    bool ready;
    int taken;
};

static void on_ready(void *ctx) { ((struct world *)ctx)->ready = true; }

static void on_flushed(void *ctx, err_t e)
{
    (void)ctx;
    FUZZ_EXPECT(!e);
}

static void on_taken(struct timers_take *take, err_t e)
{
    struct world *w = LIST_OWNER(take, struct world, take);
    w->taken++;
    err_free(e);
}

static void put(struct world *w, const char *path, int64_t at, struct slice bytes, int64_t size)
{
    struct file *f;
    FUZZ_EXPECT(!fs_open(sim_fs_disk(w->disk), path, FILE_CREATE, &f));
    FUZZ_EXPECT(!file_set_size(f, size));
    if (bytes.n) FUZZ_EXPECT(!file_write_at(f, at, bytes.p, bytes.n));
    file_close(f);
}

static void put_files(struct world *w, uint8_t flags, struct slice rest)
{
    struct slice check = fuzz_take(&rest), log = fuzz_take(&rest), page = fuzz_take(&rest);
    FUZZ_EXPECT(!fs_make_durable_folder(sim_fs_disk(w->disk), "/s/config"));
    FUZZ_EXPECT(!fs_make_durable_folder(sim_fs_disk(w->disk), "/s/timerlog"));
    if (check.n) put(w, "/s/config/timercheck", 0, check, (int64_t)check.n);
    int64_t files = ((int64_t)log.n + FILE_BYTES - 1) / FILE_BYTES;
    for (int64_t i = 0; i < files; i++) {
        char path[64];
        struct slice part = slice_skip(log, (size_t)(i * FILE_BYTES));
        if (part.n > FILE_BYTES) part.n = FILE_BYTES;
        snprintf(path, sizeof path, "/s/timerlog/%020lld", (long long)i * FILE_BYTES);
        put(w, path, 0, part, FILE_BYTES);
    }
    if (page.n > PAGE_BYTES) page.n = PAGE_BYTES;
    if (!(flags & 1)) put(w, "/s/timerwheel", (NOW_MS / TICK_MS % TIMER_SLOTS / 128) * PAGE_BYTES, page, (int64_t)TIMER_SLOTS * TIMER_SLOT_BYTES);
}

static void open_timers(struct world *w)
{
    struct timers_options o = {.root = "/s", .tick_ms = TICK_MS, .log_file_bytes = FILE_BYTES, .ready = on_ready, .flushed = on_flushed, .ctx = w};
    w->ready = false;
    w->timers = timers_new(&o, sim_fs_disk(w->disk), &w->tasks.tasks);
    fake_tasks_settle(&w->tasks);
    FUZZ_EXPECT(w->ready);
}

static size_t take(struct world *w, int64_t slot_ms)
{
    w->taken = 0;
    buf_clear(&w->take.units);
    timers_take(w->timers, slot_ms, &w->take);
    fake_tasks_settle(&w->tasks);
    FUZZ_EXPECT(w->taken == 1);
    return w->take.units.n / sizeof(struct timer_unit);
}

static void close_timers(struct world *w)
{
    struct timer_check check = {.read_ms = NOW_MS, .queue_offset = 3};
    FUZZ_EXPECT(!timers_close(w->timers, &check));
    fake_tasks_settle(&w->tasks);
}

static void look_at_all(struct world *w)
{
    int64_t at = timers_first(w->timers);
    timers_count(w->timers);
    for (int i = 0; i < SLOTS_LOOKED_AT && at >= 0; i++) {
        int64_t slot_ms = timers_next(w->timers, at, at + 86400000);
        if (slot_ms < 0) break;
        take(w, slot_ms);
        timers_clear(w->timers, slot_ms, false);
        at = slot_ms + TICK_MS;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    struct world w = {.take = {.done = on_taken}};
    if (!n) return 0;
    log_set_level(LOG_SILENT);
    w.disk = sim_fs_new(1);
    fake_tasks_init(&w.tasks, NOW_MS);
    put_files(&w, p[0], slice_of(p + 1, n - 1));
    open_timers(&w);
    look_at_all(&w);
    struct timer_unit u = {.flags = TIMER_NORMAL, .added_ms = NOW_MS, .delay_ms = 5000, .log_offset = 77, .size = 9};
    while (!timers_add(w.timers, &u)) u.delay_ms += TICK_MS;
    close_timers(&w);
    open_timers(&w);
    FUZZ_EXPECT(!timers_begin(w.timers)->lost);
    FUZZ_EXPECT(take(&w, timer_unit_time_ms(&u)) >= 1);
    close_timers(&w);
    buf_done(&w.take.units);
    fake_tasks_done(&w.tasks);
    sim_fs_free(w.disk);
    return 0;
}
