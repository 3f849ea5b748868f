/* otlp.h - pages of metrics as requests of OTLP: opentelemetry.proto.collector.metrics.v1.MetricsService/Export. Pure.
 * Facts    the OTLP specification 1.x (metrics.proto, metrics_service.proto, common.proto); names, units, scope and labels as the original (5.5.0)
 *          sends them: an empty resource, the scope broker-meter, labels as attributes; labels is_… are booleans, queue_id is a number
 * Shape    Export > one ResourceMetrics > one ScopeMetrics > Metric … > data points; a request has a part of a page, metric by metric
 * Units    wall_ms outside, nanoseconds on the wire
 * Threads  any */
#ifndef SKYLARK_TELEMETRY_OTLP_H
#define SKYLARK_TELEMETRY_OTLP_H

#include "telemetry/last_values.h"

#define OTLP_EXPORT_PATH "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"

/* How far a page is told. Zeroes: nothing is. */
struct otlp_place {
    size_t which;               /* enum metric; METRICS_COUNT: all is told */
    struct metric_walk walk;
};

struct otlp_times {
    int64_t start_ms;           /* when the process began to count */
    int64_t now_ms;             /* when the page was made */
};

/* Appends a request with up to `most` data points from *at on, which moves; returns how many: 0 at the end of the page. last: counters and
 * histograms are told by what came since, with the temporality DELTA; NULL: CUMULATIVE. */
size_t otlp_encode(const struct metric_page *page, struct otlp_place *at, size_t most, const struct otlp_times *times, const struct last_values *last,
                   struct buf *out);
/* The samples between two places were told. */
void otlp_told(const struct metric_page *page, struct otlp_place from, const struct otlp_place *to, int64_t now_ms, struct last_values *last);

/* What an answer says of data points that were not taken; *text is valid as long as the answer. Errors: BODY. */
err_t otlp_read_answer(struct slice answer, int64_t *out_rejected, struct slice *out_text) MUST_CHECK;

#endif
