/* metrics.h - numbers that tell how a server is doing, one for each row of catalog/metrics.def.
 * Threads  each struct belongs to one loop; there is no lock, and counting costs an addition
 * Owns     nothing */
#ifndef SKYLARK_BASE_METRICS_H
#define SKYLARK_BASE_METRICS_H

#include <stdint.h>

enum metric {
#define METRIC(name, wire, kind, labels, meaning) METRIC_##name,
#include "catalog/metrics.def"
#undef METRIC
    METRICS_COUNT,
};

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };

struct metrics {
    int64_t values[METRICS_COUNT];
};

/* What outsiders see of it. */
struct metric_row {
    const char *name;
    enum metric_kind kind;
    const char *labels;
    const char *meaning;
};
extern const struct metric_row metric_rows[METRICS_COUNT];

static inline void metric_add(struct metrics *m, enum metric which, int64_t n) { m->values[which] += n; }
static inline void metric_set(struct metrics *m, enum metric which, int64_t value) { m->values[which] = value; }
static inline int64_t metric_get(const struct metrics *m, enum metric which) { return m->values[which]; }

#endif
