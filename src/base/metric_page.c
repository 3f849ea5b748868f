#include "base/metric_page.h"

#include <stdlib.h>

static const char *const kind_names[] = {[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};

void metric_page_done(struct metric_page *p)
{
    for (size_t i = 0; i < METRICS_COUNT; i++) buf_done(&p->lines[i]);
}

bool metric_is_proxys(enum metric which)
{
    struct slice name = slice_text(metric_rows[which].name);
    return slice_starts(name, SLICE("rocketmq_proxy_")) || slice_starts(name, SLICE("skylark_proxy_"));
}

/* --- lines --- */

static void put_name(struct buf *out, enum metric which, const char *suffix)
{
    buf_put_text(out, metric_rows[which].name);
    buf_put_text(out, metric_rows[which].unit);
    buf_put_text(out, suffix);
}

static void put_line(struct buf *out, enum metric which, const char *suffix, struct slice labels, int64_t value)
{
    put_name(out, which, suffix);
    if (labels.n) {
        buf_put_u8(out, '{');
        buf_put_slice(out, labels);
        buf_put_u8(out, '}');
    }
    buf_put_u8(out, ' ');
    buf_put_i64_text(out, value);
    buf_put_u8(out, '\n');
}

static void put_bucket(struct buf *out, enum metric which, struct slice labels, int64_t bound, int64_t value)
{
    put_name(out, which, "_bucket{");
    buf_put_slice(out, labels);
    buf_put_text(out, labels.n ? ",le=\"" : "le=\"");
    if (bound) buf_put_i64_text(out, bound);
    buf_put_text(out, bound ? ".0\"} " : "+Inf\"} ");
    buf_put_i64_text(out, value);
    buf_put_u8(out, '\n');
}

void metric_page_put_histogram(struct metric_page *p, enum metric which, struct slice labels, const int64_t *buckets, int64_t sum)
{
    struct buf *out = &p->lines[which];
    const int64_t *bound = metric_rows[which].bounds;
    int64_t upto = 0;
    for (size_t i = 0;; bound++, i++) {
        upto += buckets[i];
        put_bucket(out, which, labels, *bound, upto);
        if (!*bound) break;
    }
    put_line(out, which, "_count", labels, upto);
    put_line(out, which, "_sum", labels, sum);
}

void metric_page_put(struct metric_page *p, enum metric which, struct slice labels, int64_t value)
{
    put_line(&p->lines[which], which, "", labels, value);
}

void metric_page_put_for(struct metric_page *p, const struct metrics *m, enum metric which, const struct slice *labels, int64_t value)
{
    struct buf text = BUF_EMPTY;
    metric_labels(m, which, labels, &text);
    metric_page_put(p, which, buf_slice(&text), value);
    buf_done(&text);
}

static bool is_everybodys(enum metric which) { return which == METRIC_CONNECTIONS || which == METRIC_FRAMES_REFUSED; }

void metric_page_put_totals(struct metric_page *p, const struct metrics *m, bool of_proxy)
{
    for (size_t i = 0; i < METRICS_COUNT; i++) {
        enum metric which = (enum metric)i;
        bool counts = metric_rows[i].has_total && !metric_rows[i].labels[0];
        if (counts && (is_everybodys(which) || metric_is_proxys(which) == of_proxy)) metric_page_put_for(p, m, which, NULL, m->values[i]);
    }
}

bool metric_page_put_series(struct metric_page *p, const struct metrics *m, enum metric which, size_t *at, size_t most)
{
    const struct series_row *row = NULL;
    while (most-- && (row = metric_series_next(m, which, at))) {
        if (metric_rows[which].kind == METRIC_HISTOGRAM) metric_page_put_histogram(p, which, slice_text(row->labels), row->buckets, row->value);
        else put_line(&p->lines[which], which, "", slice_text(row->labels), row->value);
    }
    return row;
}

void metric_page_take(struct metric_page *p, struct metric_page *from)
{
    for (size_t i = 0; i < METRICS_COUNT; i++) {
        if (p->lines[i].n) {
            buf_put_slice(&p->lines[i], buf_slice(&from->lines[i]));
            buf_done(&from->lines[i]);
        } else {
            buf_done(&p->lines[i]);
            p->lines[i] = from->lines[i];
            from->lines[i] = BUF_EMPTY;
        }
    }
}

/* --- the text --- */

static int by_name(const void *a, const void *b)
{
    return strcmp(metric_rows[*(const uint16_t *)a].name, metric_rows[*(const uint16_t *)b].name);
}

void metric_page_write(const struct metric_page *p, struct buf *out)
{
    uint16_t order[METRICS_COUNT];
    for (size_t i = 0; i < METRICS_COUNT; i++) order[i] = (uint16_t)i;
    qsort(order, METRICS_COUNT, sizeof *order, by_name);
    for (size_t i = 0; i < METRICS_COUNT; i++) {
        enum metric which = (enum metric)order[i];
        if (!p->lines[which].n) continue;
        buf_put_text(out, "# HELP ");
        put_name(out, which, " ");
        buf_put_text(out, metric_rows[which].meaning);
        buf_put_text(out, "\n# TYPE ");
        put_name(out, which, " ");
        buf_put_text(out, kind_names[metric_rows[which].kind]);
        buf_put_u8(out, '\n');
        buf_put_slice(out, buf_slice(&p->lines[which]));
    }
}
