#include "base/metrics.h"

const struct metric_row metric_rows[METRICS_COUNT] = {
#define METRIC(name, wire, kind, labels, meaning) {wire, METRIC_##kind, labels, meaning},
#include "catalog/metrics.def"
#undef METRIC
};
