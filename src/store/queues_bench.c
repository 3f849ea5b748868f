/* queues_bench.c - how long a store with very many consume queues takes to make, to open and to close, and what it keeps in memory.
 * Usage    queues_bench FOLDER [topics, each with 5 queues]; the folder is emptied
 * Each opening is a process of its own, as after a restart; the kernel's caches stay warm. */
#include "kit/fake_tasks.h"

#include "base/log.h"
#include "codec/record.h"
#include "store/store.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { QUEUES = 5, TURN = 5000 };

static double wall_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu_seconds(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static double resident_mib(void)
{
    long pages = 0, resident = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld %ld", &pages, &resident) != 2) resident = 0;
    if (f) fclose(f);
    return (double)resident * (double)sysconf(_SC_PAGESIZE) / 1048576;
}

static int open_files(void)
{
    int n = -3;   /* ".", ".." and the one that looks */
    DIR *d = opendir("/proc/self/fd");
    while (d && readdir(d)) n++;
    if (d) closedir(d);
    return n;
}

static void must(err_t e)
{
    if (!e) return;
    fprintf(stderr, "%s\n", err_text(e));
    exit(1);
}

static void done(void *ctx, err_t e)
{
    (void)ctx;
    must(e);
}

static void append_to_each(struct store *s, struct fake_tasks *tasks, int topics)
{
    char name[32];
    for (int i = 0; i < topics * QUEUES; i++) {
        struct message m = {.body = SLICE("hello"), .queue_id = i % QUEUES};
        struct appended out;
        snprintf(name, sizeof name, "benchmark-topic-%d", i / QUEUES);
        m.topic = slice_text(name);
        must(store_append(s, &m, 1, true, done, NULL, &out));
        if (i % TURN == TURN - 1) fake_tasks_turn(tasks);
    }
    fake_tasks_settle(tasks);
}

struct step {
    const char *name;
    bool append;        /* one message to each queue */
    bool dies;          /* ends as by kill -9 */
};

static void tell(const char *what, double wall, double cpu)
{
    printf(" %s %7.3f s (CPU %6.3f)", what, wall_seconds() - wall, cpu_seconds() - cpu);
}

static void run_step(const struct step *step, const char *folder, int topics)
{
    struct fake_tasks tasks;
    struct store *s;
    struct store_options o = {
        .root = folder, .log_file_bytes = 1 << 30, .queue_file_entries = 300000, .sync_timeout_ms = 5000, .flush_interval_ms = 500,
        .queue_flush_interval_ms = 1000, .max_message_bytes = 4 << 20, .store_host = {.ip = {127, 0, 0, 1}},
    };
    fake_tasks_init(&tasks, 1700000000000);
    double wall = wall_seconds(), cpu = cpu_seconds();
    must(store_open(&o, fs_real(), &tasks.tasks, &s));
    printf("%-24s", step->name);
    tell("open", wall, cpu);
    printf(" %6.1f MiB %4d files", resident_mib(), open_files());
    wall = wall_seconds(), cpu = cpu_seconds();
    if (step->append) append_to_each(s, &tasks, topics);
    if (step->append) tell("append", wall, cpu);
    wall = wall_seconds(), cpu = cpu_seconds();
    if (!step->dies) must(store_close(s));
    if (!step->dies) tell("close", wall, cpu);
    printf("\n");
    fflush(stdout);
    _exit(0);
}

int main(int argc, char **argv)
{
    static const struct step steps[] = {
        {"new", .append = true},
        {"after a good stop"},
        {"after a good stop", .append = true},
        {"after a good stop", .dies = true},
        {"after kill -9", .append = true, .dies = true},
        {"after kill -9"},
    };
    if (argc < 2) {
        fprintf(stderr, "usage: queues_bench FOLDER [topics]\n");
        return 2;
    }
    int topics = argc > 2 ? atoi(argv[2]) : 20000, status = 0;
    log_set_level(LOG_WARN);
    must(fs_remove_tree(fs_real(), argv[1]));
    for (size_t i = 0; i < sizeof steps / sizeof *steps && !status; i++) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) run_step(&steps[i], argv[1], topics);
        if (child < 0 || waitpid(child, &status, 0) != child) return 1;
    }
    must(fs_remove_tree(fs_real(), argv[1]));
    return status != 0;
}
