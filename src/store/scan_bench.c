/* scan_bench.c - how many queue entries a reader that filters by tag passes in a second of one core: one message of a thousand matches.
 * Usage    scan_bench FOLDER [seconds]; the folder is emptied. The messages are small and in memory. */
#include "kit/fake_tasks.h"

#include "base/log.h"
#include "codec/java_hash.h"
#include "store/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { MESSAGES = 1000000, GROUP = 1000, ONE_OF = 1000 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void done(void *ctx, err_t e)
{
    (void)ctx;
    err_free(e);
}

static err_t fill(struct store *s, struct fake_tasks *tasks)
{
    static struct message m[GROUP];
    static struct appended out[GROUP];
    for (int i = 0; i < GROUP; i++) {
        m[i] = (struct message){.topic = SLICE("T"), .body = SLICE("body"), .properties = SLICE("TAGS\x01other\x02")};
        m[i].tag_hash = tags_hash(i % ONE_OF == ONE_OF / 2 ? SLICE("TagA") : SLICE("other"));
    }
    for (int i = 0; i < MESSAGES; i += GROUP) {
        err_t e = store_append(s, m, GROUP, false, done, NULL, out);
        if (e) return e;
        fake_tasks_turn(tasks);
        while (fake_tasks_run_work(tasks)) {}
    }
    return NULL;
}

struct tags {
    int32_t codes[4];
    size_t count;
};

static bool matches(void *ctx, int64_t tag_hash)
{
    const struct tags *t = ctx;
    for (size_t i = 0; i < t->count; i++)
        if (t->codes[i] == tag_hash) return true;
    return false;
}

/* From the begin to the end of the queue, over and over, as pulls of so many entries. */
static void measure(struct store *s, struct fake_tasks *tasks, size_t tags, int32_t scan, double wanted)
{
    struct tags t = {.codes = {(int32_t)tags_hash(SLICE("TagA")), 1, 2, 3}, .count = tags};
    struct read_filter filter = {.entry = matches, .ctx = &t};
    struct read_request r = {.topic = SLICE("T"), .max_messages = 32, .max_bytes = 262144, .max_scan = scan, .filter = &filter};
    struct read_result out;
    int64_t passed = 0, found = 0, pulls = 0;
    double begin = cpu_seconds(), spent;
    while ((spent = cpu_seconds() - begin) < wanted) {
        store_read(s, &r, &out);
        passed += out.next_offset - r.offset;
        found += out.messages;
        pulls++;
        r.offset = out.next_offset < MESSAGES ? out.next_offset : 0;
        read_result_release(&out);
        fake_tasks_turn(tasks);
    }
    printf("%zu tags, %6d entries a pull: %6.1f million entries/s, %.0f pulls/s, 1 of %.0f matched\n", tags, scan,
           (double)passed / spent / 1e6, (double)pulls / spent, (double)passed / (double)(found ? found : 1));
}

int main(int argc, char **argv)
{
    if (argc < 2) {
        fprintf(stderr, "usage: scan_bench FOLDER [seconds]\n");
        return 2;
    }
    double wanted = argc > 2 ? strtod(argv[2], NULL) : 1;
    struct fake_tasks tasks;
    struct store *s;
    struct store_options o = {
        .root = argv[1], .log_file_bytes = 1 << 30, .queue_file_entries = 300000, .sync_timeout_ms = 5000, .flush_interval_ms = 500,
        .queue_flush_interval_ms = 1000, .max_message_bytes = 4 << 20, .store_host = {.ip = {127, 0, 0, 1}},
    };
    log_set_level(LOG_WARN);
    fake_tasks_init(&tasks, 1700000000000);
    err_t e = fs_remove_tree(fs_real(), argv[1]);
    if (!e) e = store_open(&o, fs_real(), &tasks.tasks, &s);
    if (!e) e = fill(s, &tasks);
    if (e) {
        fprintf(stderr, "%s\n", err_text(e));
        return 1;
    }
    for (size_t tags = 1; tags <= 4; tags += 3) {
        measure(s, &tasks, tags, 800, wanted);
        measure(s, &tasks, tags, 65536, wanted);
    }
    err_free(store_close(s));
    fake_tasks_done(&tasks);
    err_free(fs_remove_tree(fs_real(), argv[1]));
    return 0;
}
