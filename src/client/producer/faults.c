#include "client/producer/faults.h"

#include "base/buf.h"

#include <stdlib.h>

enum { FAILED_COUNTS_AS_MS = 10000 };

struct fault {
    int64_t until_ms;
    bool refused;
};

void faults_done(struct faults *f) { map_done_with(&f->brokers, free); }

static int64_t cost_ms(int64_t latency_ms)
{
    static const struct {
        int64_t latency_ms, cost_ms;
    } rows[] = {{15000, 30000}, {5000, 10000}, {3000, 6000}, {1800, 5000}, {550, 2000}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (latency_ms >= rows[i].latency_ms) return rows[i].cost_ms;
    return 0;
}

void faults_note(struct faults *f, struct slice broker, int64_t now_ms, int64_t latency_ms, bool failed, bool refused)
{
    struct fault *x = map_get(&f->brokers, broker);
    if (!x) {
        x = must_zero(sizeof *x);
        map_put(&f->brokers, broker, x);
    }
    int64_t until = now_ms + cost_ms(failed ? FAILED_COUNTS_AS_MS : latency_ms);
    if (until > x->until_ms) x->until_ms = until;
    x->refused = refused;
}

bool faults_is_available(const struct faults *f, struct slice broker, int64_t now_ms)
{
    const struct fault *x = map_get(&f->brokers, broker);
    return !x || now_ms >= x->until_ms;
}

bool faults_is_reachable(const struct faults *f, struct slice broker)
{
    const struct fault *x = map_get(&f->brokers, broker);
    return !x || !x->refused;
}
