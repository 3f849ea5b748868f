#include "base/metric_page.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 128 };

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

/* --- lines: written often, so each is put together from few pieces --- */

enum { NUMBER_BYTES = 24, BOUND_BYTES = 64 };

/* Appends to out[n..size); what does not fit is cut. */
static size_t add_text(char *out, size_t size, size_t n, const char *text)
{
    while (*text && n + 1 < size) out[n++] = *text++;
    return n;
}

/* "name_unit_bucket" */
static struct slice full_name(enum metric which, const char *suffix, char out[static NAME_BYTES])
{
    size_t n = add_text(out, NAME_BYTES, 0, metric_rows[which].name);
    n = add_text(out, NAME_BYTES, n, metric_rows[which].unit);
    return slice_of(out, add_text(out, NAME_BYTES, n, suffix));
}

static uint8_t *put_bytes(uint8_t *p, struct slice s)
{
    if (s.n) memcpy(p, s.p, s.n);
    return p + s.n;
}

static uint8_t *put_number(uint8_t *p, int64_t value)
{
    uint8_t digits[NUMBER_BYTES];
    size_t n = 0;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    if (value < 0) *p++ = '-';
    do digits[n++] = (uint8_t)('0' + rest % 10);
    while (rest /= 10);
    while (n) *p++ = digits[--n];
    return p;
}

/* name{labels,more} value */
static void put_line(struct buf *out, struct slice name, struct slice labels, struct slice more, int64_t value)
{
    size_t most = name.n + labels.n + more.n + NUMBER_BYTES + 8;
    if (out->cap - out->n < most) buf_reserve(out, most);
    uint8_t *p = put_bytes(out->p + out->n, name);
    if (labels.n || more.n) {
        *p++ = '{';
        p = put_bytes(p, labels);
        if (labels.n && more.n) *p++ = ',';
        p = put_bytes(p, more);
        *p++ = '}';
    }
    *p++ = ' ';
    p = put_number(p, value);
    *p++ = '\n';
    out->n = (size_t)(p - out->p);
}

static const struct slice no_more = {NULL, 0};

/* What stands in front of the lines of a metric. */
static void put_head(struct buf *out, enum metric which)
{
    char name[NAME_BYTES];
    struct slice full = full_name(which, "", name);
    buf_printf(out, "# HELP %.*s %s\n# TYPE %.*s %s\n", SLICE_ARG(full), metric_rows[which].meaning, SLICE_ARG(full), kind_names[metric_rows[which].kind]);
}

static struct buf *lines_of(struct metric_page *p, enum metric which)
{
    struct buf *out = &p->lines[which];
    if (!out->n) put_head(out, which);
    return out;
}

/* le="1.0" of each bound, for one walk over series. */
struct bounds {
    char text[METRIC_BUCKETS_MAX][BOUND_BYTES];
    struct slice le[METRIC_BUCKETS_MAX];
    size_t count;
};

static void make_bounds(enum metric which, struct bounds *b)
{
    const int64_t *bound = metric_rows[which].bounds;
    for (b->count = 0; b->count < METRIC_BUCKETS_MAX; b->count++) {
        int64_t value = bound[b->count];
        int n = value ? snprintf(b->text[b->count], BOUND_BYTES, "le=\"%lld.0\"", (long long)value) : snprintf(b->text[b->count], BOUND_BYTES, "le=\"+Inf\"");
        b->le[b->count] = slice_of(b->text[b->count], (size_t)n);
        if (!value) break;
    }
    b->count++;
}

static void put_histogram(struct buf *out, enum metric which, const struct bounds *b, struct slice labels, const int64_t *buckets, int64_t sum)
{
    char text[NAME_BYTES];
    struct slice name = full_name(which, "_bucket", text);
    int64_t upto = 0;
    for (size_t i = 0; i < b->count; i++) {
        upto += buckets[i];
        put_line(out, name, labels, b->le[i], upto);
    }
    put_line(out, full_name(which, "_count", text), labels, no_more, upto);
    put_line(out, full_name(which, "_sum", text), labels, no_more, sum);
}

void metric_page_put_histogram(struct metric_page *p, enum metric which, struct slice labels, const int64_t *buckets, int64_t sum)
{
    struct bounds bounds;
    make_bounds(which, &bounds);
    put_histogram(lines_of(p, which), which, &bounds, labels, buckets, sum);
}

void metric_page_put(struct metric_page *p, enum metric which, struct slice labels, int64_t value)
{
    char name[NAME_BYTES];
    put_line(lines_of(p, which), full_name(which, "", name), labels, no_more, value);
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
    bool histogram = metric_rows[which].kind == METRIC_HISTOGRAM;
    struct bounds bounds;
    char text[NAME_BYTES];
    struct slice name = full_name(which, "", text);
    const struct series_row *row = NULL;
    if (histogram) make_bounds(which, &bounds);
    while (most-- && (row = metric_series_next(m, which, at))) {
        struct slice labels = slice_of(row->labels, row->labels_n);
        if (histogram) put_histogram(lines_of(p, which), which, &bounds, labels, row->buckets, row->value);
        else put_line(lines_of(p, which), name, labels, no_more, row->value);
    }
    return row;
}

/* Behind the lines that are there; the head stands once. */
static void take_lines(struct metric_page *p, struct metric_page *from, enum metric which)
{
    struct buf *mine = &p->lines[which], *theirs = &from->lines[which], head = BUF_EMPTY;
    if (mine->n && theirs->n) {
        put_head(&head, which);
        buf_put_slice(mine, slice_skip(buf_slice(theirs), head.n));
        buf_done(&head);
        buf_done(theirs);
    } else if (theirs->n) {
        buf_done(mine);
        *mine = *theirs;
        *theirs = BUF_EMPTY;
    }
}

void metric_page_take(struct metric_page *p, struct metric_page *from)
{
    for (size_t i = 0; i < METRICS_COUNT; i++) take_lines(p, from, (enum metric)i);
}

/* --- the text --- */

static int by_name(const void *a, const void *b)
{
    return strcmp(metric_rows[*(const enum metric *)a].name, metric_rows[*(const enum metric *)b].name);
}

void metric_order(enum metric order[static METRICS_COUNT])
{
    for (size_t i = 0; i < METRICS_COUNT; i++) order[i] = (enum metric)i;
    qsort(order, METRICS_COUNT, sizeof *order, by_name);
}

void metric_page_write(const struct metric_page *p, struct buf *out)
{
    enum metric order[METRICS_COUNT];
    metric_order(order);
    for (size_t i = 0; i < METRICS_COUNT; i++) buf_put_slice(out, buf_slice(&p->lines[order[i]]));
}
