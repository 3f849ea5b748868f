#include "telemetry/log_values.h"

#include "base/log.h"
#include "base/metric_text.h"

/* a="x",b="y" as a="x" b="y": a comma inside of a value is none. */
static void put_labels(struct slice labels, struct buf *out)
{
    bool inside = false;
    for (size_t i = 0; i < labels.n; i++) {
        uint8_t c = labels.p[i];
        bool escape = inside && c == '\\' && i + 1 < labels.n;
        if (c == '"') inside = !inside;
        buf_put_u8(out, c == ',' && !inside ? ' ' : c);
        if (escape) buf_put_u8(out, labels.p[++i]);
    }
}

static void put_histogram(enum metric which, const struct metric_sample *s, struct buf *out)
{
    int64_t count = 0;
    size_t n = metric_bucket_count(which);
    for (size_t i = 0; i < n; i++) count += s->buckets[i];
    int64_t divisor = metric_divisor(which);
    buf_printf(out, " count=%lld", (long long)count);
    if (divisor == 1) buf_printf(out, " sum=%lld buckets=", (long long)s->value);
    else buf_printf(out, " sum=%.6f buckets=", (double)s->value / (double)divisor);
    for (size_t i = 0; i < n; i++) buf_printf(out, i ? ",%lld" : "%lld", (long long)s->buckets[i]);
}

void log_values_line(enum metric which, const struct metric_sample *s, struct buf *out)
{
    buf_printf(out, "name=%s%s", metric_rows[which].name, metric_rows[which].unit);
    if (s->buckets) put_histogram(which, s, out);
    else buf_printf(out, " value=%lld", (long long)s->value);
    if (s->labels.n) buf_put_u8(out, ' ');
    put_labels(s->labels, out);
}

static void put_line(enum metric which, const struct metric_sample *s, int64_t now_ms, struct last_values *last, struct buf *line)
{
    struct metric_change change;
    struct metric_sample told = *s;
    if (last && metric_rows[which].kind != METRIC_GAUGE) {
        last_values_change(last, which, s, 0, &change);
        told.value = change.value;
        if (told.buckets) told.buckets = change.buckets;
        last_values_told(last, which, s, now_ms);
    }
    buf_clear(line);
    log_values_line(which, &told, line);
    log_info("metrics.value %.*s", SLICE_ARG(buf_slice(line)));
}

void log_values(const struct metric_page *page, int64_t now_ms, struct last_values *last)
{
    enum metric order[METRICS_COUNT];
    struct buf line = BUF_EMPTY;
    size_t left = LOG_VALUES_MAX, more = 0;
    metric_order(order);
    for (size_t i = 0; i < METRICS_COUNT; i++) {
        struct metric_walk walk = METRIC_WALK_BEGIN;
        for (struct metric_sample s; metric_page_next(page, order[i], &walk, &s);) {
            if (!left) more++;
            else left--, put_line(order[i], &s, now_ms, last, &line);
        }
    }
    if (more) log_info("metrics.more values=%zu text=\"they are too many for the log\"", more);
    buf_done(&line);
}
