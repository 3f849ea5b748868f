/* last_values.h - what was told of counters and histograms the last time, for who wants to hear the difference.
 * Shape    a value for each series; as many as the pages have, whose series are bounded
 * Threads  its owner
 * Owns     copies of labels and values */
#ifndef SKYLARK_TELEMETRY_LAST_VALUES_H
#define SKYLARK_TELEMETRY_LAST_VALUES_H

#include "base/map.h"
#include "base/metric_page.h"

struct last_values {
    struct map of[METRICS_COUNT];
};

/* What there is more since the last time. */
struct metric_change {
    int64_t since_ms;           /* wall_ms of the last time; of a series that is new the start_ms that was given */
    int64_t value;
    int64_t buckets[METRIC_BUCKETS_MAX];
};

/* Zeroes are fine. */
void last_values_done(struct last_values *l);
/* Of a counter or histogram. A value that went down is one that began anew. */
void last_values_change(const struct last_values *l, enum metric which, const struct metric_sample *s, int64_t start_ms, struct metric_change *out);
/* The sample was told, with what has come up to now_ms. Gauges are not kept. */
void last_values_told(struct last_values *l, enum metric which, const struct metric_sample *s, int64_t now_ms);

#endif
