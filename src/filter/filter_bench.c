/* filter_bench.c - how many messages an expression is evaluated on in a second of one core.
 * Usage    filter_bench [seconds for each line]
 * The expressions have ten conditions; the message has the properties that a producer sets and those that clients and brokers add. */
#include "filter/filter.h"

#include "codec/properties.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUND = 4096 };

static double cpu_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static const struct { const char *what, *expression; } lines[] = {
    {"ten conditions, all looked at",
     "price > 3 AND region = 'hz' AND level BETWEEN 1 AND 9 AND kind IN ('new', 'used', 'lost') AND weight < 7.5 AND paid = TRUE AND "
     "name STARTSWITH 'box' AND city IS NOT NULL AND count <> 4 AND color NOT IN ('red', 'blue')"},
    {"ten conditions, the first decides",
     "price > 300 AND region = 'hz' AND level BETWEEN 1 AND 9 AND kind IN ('new', 'used', 'lost') AND weight < 7.5 AND paid = TRUE AND "
     "name STARTSWITH 'box' AND city IS NOT NULL AND count <> 4 AND color NOT IN ('red', 'blue')"},
    {"ten numbers of one property",
     "price = 1 OR price = 2 OR price = 3 OR price = 4 OR price = 5 OR price = 6 OR price = 7 OR price = 8 OR price = 9 OR price = 42"},
    {"one condition", "price > 3"},
};

static void put_message(struct buf *out)
{
    static const char *const pairs[][2] = {
        {"price", "42"}, {"region", "hz"}, {"level", "5"}, {"kind", "lost"}, {"weight", "3.25"}, {"paid", "true"}, {"name", "box-000017"},
        {"city", "Hangzhou"}, {"count", "17"}, {"color", "green"}, {"KEYS", "order-1000017"}, {"UNIQ_KEY", "7F0000016BE55FFD2B2795348E8E0000"},
        {"WAIT", "true"}, {"TAGS", "TagA"}, {"MSG_REGION", "DefaultRegion"}, {"TRACE_ON", "true"}, {"CLUSTER", "DefaultCluster"},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) properties_put(out, slice_text(pairs[i][0]), slice_text(pairs[i][1]));
}

int main(int argc, char **argv)
{
    double wanted = argc > 1 ? strtod(argv[1], NULL) : 1;
    struct buf message = BUF_EMPTY;
    put_message(&message);
    printf("a message of %zu bytes of properties\n", message.n);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct filter *f;
        err_t e = filter_compile(slice_text(lines[i].expression), &f);
        if (e) {
            fprintf(stderr, "%s\n", err_text(e));
            return 1;
        }
        uint64_t done = 0, matched = 0;
        double begin = cpu_seconds(), spent;
        while ((spent = cpu_seconds() - begin) < wanted) {
            for (int k = 0; k < ROUND; k++) matched += filter_evaluate(f, buf_slice(&message)) == FILTER_TRUE;
            done += ROUND;
        }
        printf("%-36s %6.2f million/s, %4.0f ns each, %s\n", lines[i].what, (double)done / spent / 1e6, spent / (double)done * 1e9,
               matched == done ? "matches" : matched ? "?" : "does not match");
        filter_free(f);
    }
    buf_done(&message);
    return 0;
}
