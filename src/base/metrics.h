/* metrics.h - numbers that tell how a server is doing, one for each row of catalog/metrics.def.
 * Shape    a total for each row; with metrics_break_down() also a series for each combination of a row's labels
 * Labels   values are given in the order of the row's label names; one whose p is NULL is left out. As text they stand sorted by name,
 *          with those that all series of this process have (cluster, node_id, …) among them, as the original prints them
 * Limits   `limit` series of one row; what comes later is counted in one series more, labelled otel_metric_overflow="true"
 * Threads  each struct belongs to one loop; there is no lock, and counting a total costs an addition
 * Owns     its series */
#ifndef SKYLARK_BASE_METRICS_H
#define SKYLARK_BASE_METRICS_H

#include "base/buf.h"

#include <stdint.h>

enum metric {
#define METRIC(name, wire, kind, labels, meaning) METRIC_##name,
#define LOOKED_AT(name, wire, unit, labels, meaning) METRIC_##name,
#define HISTOGRAM(name, wire, unit, bounds, labels, meaning) METRIC_##name,
#include "catalog/metrics.def"
#undef METRIC
#undef LOOKED_AT
#undef HISTOGRAM
    METRICS_COUNT,
};

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

/* What outsiders see of it. */
struct metric_row {
    const char *name;
    enum metric_kind kind;
    const char *labels;         /* names, separated by commas */
    const char *meaning;
    const char *unit;           /* "" or what stands behind the name, as "_milliseconds" */
    const int64_t *bounds;      /* of a histogram, ascending, 0 at the end; else NULL */
    bool has_total;             /* struct metrics knows it without labels, too */
};
extern const struct metric_row metric_rows[METRICS_COUNT];

struct series;
struct base_labels;

/* A name and value that every series has. */
struct label {
    const char *name, *value;
};

struct metrics {
    int64_t values[METRICS_COUNT];
    struct series *series[METRICS_COUNT];   /* NULL: nothing was counted by labels */
    struct base_labels *base;               /* NULL: nothing is broken down */
    size_t limit;
};

/* Begins to count by labels, too. */
void metrics_break_down(struct metrics *m, const struct label *base, size_t count, size_t limit);
/* What the labels of the original are filled with. */
struct metric_names {
    const char *cluster, *node_type, *node_id;
    const char *proxy_mode;     /* NULL: it is no proxy */
    bool in_delta;              /* metricsInDelta: told by a label, aggregation="delta" */
    const char *labels;         /* metricsLabel: name:value, separated by commas; NULL: none. What is not such a pair is left out */
};
void metrics_break_down_as(struct metrics *m, const struct metric_names *names, size_t limit);
static inline bool metrics_are_broken_down(const struct metrics *m) { return m->base; }
/* Zeroes are fine. */
void metrics_done(struct metrics *m);

static inline void metric_add(struct metrics *m, enum metric which, int64_t n) { m->values[which] += n; }
static inline void metric_set(struct metrics *m, enum metric which, int64_t value) { m->values[which] = value; }
static inline int64_t metric_get(const struct metrics *m, enum metric which) { return m->values[which]; }

/* The values of a row's labels. */
#define LABELS(...) ((const struct slice[]){__VA_ARGS__})
/* Adds to a counter or gauge, in all and for these labels. */
void metric_count(struct metrics *m, enum metric which, int64_t n, const struct slice *labels);
/* One more value in a histogram. */
void metric_observe(struct metrics *m, enum metric which, int64_t value, const struct slice *labels);
enum { METRIC_BUCKETS_MAX = 16 };
/* The bucket of a histogram that the value lies in, below METRIC_BUCKETS_MAX. Thread: any */
size_t metric_bucket(enum metric which, int64_t value);
/* True for the texts "true" and "false". */
static inline struct slice metric_bool(bool b) { return b ? SLICE("true") : SLICE("false"); }

/* --- looking at them --- */

struct series_row {
    int64_t value;              /* of a histogram the sum */
    char *labels;               /* a="x",b="y" */
    size_t labels_n;
    int64_t buckets[];          /* of a histogram: values up to each bound, and above; not cumulative */
};
/* Walks the series of a row: `for (size_t at = 0; (row = metric_series_next(m, which, &at));)`. Series are never removed, so that a walk may go on in
 * a later turn. */
const struct series_row *metric_series_next(const struct metrics *m, enum metric which, size_t *at);
/* The text of labels, as in a series, for what is looked at and not counted. Appended. */
void metric_labels(const struct metrics *m, enum metric which, const struct slice *labels, struct buf *out);
/* Those of the series that counts what is over the limit. Appended. */
void metric_labels_overflow(const struct metrics *m, struct buf *out);
/* The labels of all series of a process; values are copied. The room's own. */
struct base_labels *base_labels_new(const struct label *base, size_t count);
void base_labels_free(struct base_labels *b);

#endif
