/* log_values.h - a page of metrics as lines of the log: metricsExporterType=LOG.
 * Shape    metrics.value name=… value=… label="…" … ; of a histogram count=, sum= and buckets=, not cumulative. LOG_VALUES_MAX lines of a page
 * Threads  any; `last` its owner */
#ifndef SKYLARK_TELEMETRY_LOG_VALUES_H
#define SKYLARK_TELEMETRY_LOG_VALUES_H

#include "telemetry/last_values.h"

enum { LOG_VALUES_MAX = 20000 };

/* last: counters and histograms are told by what came since the last page; NULL: since the start. */
void log_values(const struct metric_page *page, int64_t now_ms, struct last_values *last);
/* One line without the event, appended. */
void log_values_line(enum metric which, const struct metric_sample *s, struct buf *out);

#endif
