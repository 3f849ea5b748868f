/* store_bench.c - how many appends the store does in a second of CPU, on the disk of this machine.
 * Usage    store_bench FOLDER [seconds of wall time for each kind]; the folder is emptied
 * A turn appends a group of messages of 1 KiB to 8 queues and ends; in SYNC_FLUSH one sync follows, as on the loop. */
#include "kit/fake_tasks.h"

#include "base/log.h"
#include "codec/record.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { GROUP = 512, BODY = 1024, QUEUES = 8 };

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

static void turn_of_appends(struct store *s, struct fake_tasks *tasks, int group, uint64_t *answered)
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
}

static int measure(const char *folder, bool sync_flush, int group, double wall_seconds)
{
    struct fake_tasks tasks;
    struct store *s;
    struct store_options o = {
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
    begin = seconds(CLOCK_MONOTONIC);
    double wall, own, kernel, own_before, kernel_before;
    cpu_seconds(&own_before, &kernel_before);
    while ((wall = seconds(CLOCK_MONOTONIC) - begin) < wall_seconds) {
        turn_of_appends(s, &tasks, group, &answered);
        fake_tasks_advance(&tasks, (int64_t)(wall * 1e3) - tasks.mono_ms);   /* so that the flush timers fire */
    }
    cpu_seconds(&own, &kernel);
    own = (own - own_before) / (double)answered;
    kernel = (kernel - kernel_before) / (double)answered;
    printf("%s groups of %3d: %8.0f appends/cpu-s, %8.0f/s; ", sync_flush ? "SYNC " : "ASYNC", group, 1 / (own + kernel),
           (double)answered / wall);
    printf("each %5.0f ns own, %6.0f ns kernel\n", own * 1e9, kernel * 1e9);
    err_free(store_close(s));
    fake_tasks_done(&tasks);
    e = fs_remove_tree(fs_real(), folder);
    err_free(e);
    return 0;
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
    for (size_t i = 0; i < 3; i++)
        for (int sync_flush = 0; sync_flush < 2; sync_flush++) failed |= measure(argv[1], sync_flush, groups[i], wall);
    return failed;
}
