/* store_bench.c - how many appends the store does in a second of CPU, on the disk of this machine.
 * Usage    store_bench FOLDER [seconds of wall time for each kind]; the folder is emptied
 * First, by turns: raw writes of 64 KiB into a file that is in memory, and appends into a log file that is.
 * A turn appends a group of messages of 1 KiB to 8 queues and ends; in SYNC_FLUSH one sync follows, as on the loop. */
#include "kit/fake_tasks.h"

#include "base/log.h"
#include "codec/record.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { GROUP = 512, BODY = 1024, QUEUES = 8, BLOCK_BYTES = 64 << 10, WARM_BYTES = 512 << 20 };

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* CPU of this process: of its own code, and in the kernel. */
static void cpu_seconds(double *own, double *kernel)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    *own = (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6;
    *kernel = (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

static void done(void *ctx, err_t e)
{
    uint64_t *answered = ctx;
    if (!e) ++*answered;
    err_free(e);
}

/* Returns the bytes of the records. */
static int64_t turn_of_appends(struct store *s, struct fake_tasks *tasks, int group, uint64_t *answered)
{
    static uint8_t body[BODY];
    struct message m = {
        .topic = SLICE("BenchmarkTest"), .body = slice_of(body, BODY), .tag_hash = 2598919,
        .properties = SLICE("KEYS\x01key-0001\x02UNIQ_KEY\x01" "7F0000016BE55FFD2B2795348E8E0000\x02TAGS\x01TagA\x02")};
    struct appended out;
    for (int i = 0; i < group; i++) {
        m.queue_id = i % QUEUES;
        err_t e = store_append(s, &m, 1, true, done, answered, &out);
        if (e) fprintf(stderr, "%s\n", err_text(e));
        err_free(e);
    }
    fake_tasks_turn(tasks);
    while (fake_tasks_run_work(tasks)) {}
    return (int64_t)group * out.size;
}

static struct store_options options_of(const char *folder, bool sync_flush)
{
    return (struct store_options){
        .root = folder,
        .log_file_bytes = 1 << 30,
        .queue_file_entries = 300000,
        .sync_flush = sync_flush,
        .sync_timeout_ms = 5000,
        .flush_interval_ms = 500,
        .queue_flush_interval_ms = 1000,
        .max_message_bytes = 4 << 20,
        .store_host = {.ip = {127, 0, 0, 1}},
    };
}

static err_t fill_file(struct file *f)
{
    static const uint8_t zeros[BLOCK_BYTES];
    err_t e = file_allocate(f, WARM_BYTES);
    for (int64_t at = 0; !e && at < WARM_BYTES; at += BLOCK_BYTES) e = file_write_at(f, at, zeros, BLOCK_BYTES);
    return e ? e : file_sync(f);
}

static int measure(const char *folder, bool sync_flush, int group, double wall_seconds)
{
    struct fake_tasks tasks;
    struct store *s;
    struct store_options o = options_of(folder, sync_flush);
    err_t e = fs_remove_tree(fs_real(), folder);
    fake_tasks_init(&tasks, 1700000000000);
    double begin = seconds(CLOCK_MONOTONIC);
    if (!e) e = store_open(&o, fs_real(), &tasks.tasks, &s);
    if (e) {
        fprintf(stderr, "%s\n", err_text(e));
        err_free(e);
        return 1;
    }
    printf("open %.1f ms; ", (seconds(CLOCK_MONOTONIC) - begin) * 1e3);
    uint64_t answered = 0;
    int64_t bytes = 0;
    begin = seconds(CLOCK_MONOTONIC);
    double wall, own, kernel, own_before, kernel_before;
    cpu_seconds(&own_before, &kernel_before);
    while ((wall = seconds(CLOCK_MONOTONIC) - begin) < wall_seconds) {
        bytes += turn_of_appends(s, &tasks, group, &answered);
        fake_tasks_advance(&tasks, (int64_t)(wall * 1e3) - tasks.mono_ms);   /* so that the flush timers fire */
    }
    cpu_seconds(&own, &kernel);
    own = (own - own_before) / (double)answered;
    kernel = (kernel - kernel_before) / (double)answered;
    printf("%s groups of %3d: %8.0f appends/cpu-s, %8.0f/s; ", sync_flush ? "SYNC " : "ASYNC", group, 1 / (own + kernel),
           (double)answered / wall);
    printf("each %5.0f ns own, %6.0f ns kernel; %5.0f MB/s\n", own * 1e9, kernel * 1e9, (double)bytes / wall / 1e6);
    err_free(store_close(s));
    fake_tasks_done(&tasks);
    e = fs_remove_tree(fs_real(), folder);
    err_free(e);
    return 0;
}

/* Blocks of 64 KiB over and over into one file that is in memory: bytes a second of wall time. */
static double raw_writes(const char *path, double wall_seconds)
{
    static uint8_t block[BLOCK_BYTES];
    struct file *f;
    double begin, wall = 0;
    int64_t bytes = 0;
    memset(block, 'x', sizeof block);
    err_t e = fs_open(fs_real(), path, FILE_CREATE, &f);
    if (!e) e = fill_file(f);
    begin = seconds(CLOCK_MONOTONIC);
    while (!e && (wall = seconds(CLOCK_MONOTONIC) - begin) < wall_seconds) {
        e = file_write_at(f, bytes % WARM_BYTES, block, BLOCK_BYTES);
        bytes += BLOCK_BYTES;
    }
    err_free(e);
    file_close(f);
    e = fs_remove(fs_real(), path);
    err_free(e);
    return (double)bytes / wall;
}

/* A new store whose log file is there already, as zeros, and in memory; appended to until it is nearly full. */
static double warm_appends(const char *folder, int group)
{
    char path[1024];
    struct file *f;
    struct fake_tasks tasks;
    struct store *s;
    struct store_options o = options_of(folder, false);
    uint64_t answered = 0;
    int64_t bytes = 0;
    o.log_file_bytes = WARM_BYTES;
    snprintf(path, sizeof path, "%s/commitlog", folder);
    err_t e = fs_remove_tree(fs_real(), folder);
    if (!e) e = fs_make_folder(fs_real(), path);
    snprintf(path, sizeof path, "%s/commitlog/00000000000000000000", folder);
    if (!e) e = fs_open(fs_real(), path, FILE_CREATE, &f);
    if (!e) e = fill_file(f);
    file_close(f);
    fake_tasks_init(&tasks, 1700000000000);
    if (!e) e = store_open(&o, fs_real(), &tasks.tasks, &s);
    if (e) {
        fprintf(stderr, "%s\n", err_text(e));
        exit(1);
    }
    double begin = seconds(CLOCK_MONOTONIC);
    while (bytes < WARM_BYTES / 2 - (4 << 20)) bytes += turn_of_appends(s, &tasks, group, &answered);   /* then the next file is made */
    double wall = seconds(CLOCK_MONOTONIC) - begin;
    err_free(store_close(s));
    fake_tasks_done(&tasks);
    e = fs_remove_tree(fs_real(), folder);
    err_free(e);
    return (double)bytes / wall;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The append path beside raw writes, by turns. */
static void compare_with_raw(const char *folder, double wall_seconds)
{
    enum { ROUNDS = 5 };
    double raw[ROUNDS], store[ROUNDS];
    char path[1024];
    snprintf(path, sizeof path, "%s.raw", folder);
    for (int i = 0; i < ROUNDS; i++) {
        raw[i] = raw_writes(path, wall_seconds / ROUNDS);
        store[i] = warm_appends(folder, GROUP);
    }
    qsort(raw, ROUNDS, sizeof *raw, by_size);
    qsort(store, ROUNDS, sizeof *store, by_size);
    printf("into files in memory, median of %d: raw writes of 64 KiB %.0f MB/s; appends %.0f MB/s, %.0f %%\n", ROUNDS, raw[ROUNDS / 2] / 1e6,
           store[ROUNDS / 2] / 1e6, 100 * store[ROUNDS / 2] / raw[ROUNDS / 2]);
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: store_bench FOLDER [seconds]\n");
        return 2;
    }
    double wall = argc > 2 ? strtod(argv[2], NULL) : 3;
    log_set_level(LOG_WARN);
    static const int groups[] = {1, 64, GROUP};
    int failed = 0;
    compare_with_raw(argv[1], wall);
    for (size_t i = 0; i < 3; i++)
        for (int sync_flush = 0; sync_flush < 2; sync_flush++) failed |= measure(argv[1], sync_flush, groups[i], wall);
    return failed;
}
