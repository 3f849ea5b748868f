#include "base/metric_text.h"

#include <stdio.h>
#include <stdlib.h>

enum { NUMBER_BYTES = 24, BOUND_BYTES = 64, NAME_BYTES = 128 };

static const char *const kind_names[] = {[METRIC_COUNTER] = "counter", [METRIC_GAUGE] = "gauge", [METRIC_HISTOGRAM] = "histogram"};

/* --- lines: written often, so each is put together from few pieces --- */

/* What stands in front of the lines of a metric. */
static void put_head(struct buf *out, enum metric which)
{
    const struct metric_row *row = &metric_rows[which];
    buf_printf(out, "# HELP %s%s %s\n# TYPE %s%s %s\n", row->name, row->unit, row->meaning, row->name, row->unit, kind_names[row->kind]);
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

static void put_line(struct buf *out, struct slice front, struct slice bound, int64_t value)
{
    size_t most = front.n + bound.n + NUMBER_BYTES + 1;
    if (out->cap - out->n < most) buf_reserve(out, most);
    uint8_t *p = put_bytes(out->p + out->n, front);
    p = put_bytes(p, bound);
    p = put_number(p, value);
    *p++ = '\n';
    out->n = (size_t)(p - out->p);
}

static const struct slice no_bound = {NULL, 0};

/* What is the same for all samples of a metric. */
struct words {
    char name_text[3][NAME_BYTES], le_text[METRIC_BUCKETS_MAX][BOUND_BYTES];
    struct slice name, count_name, sum_name;   /* the first of a histogram's buckets */
    struct slice le[METRIC_BUCKETS_MAX];       /* le="1.0"} of each bound */
    size_t buckets;
    int64_t divisor;
};

static struct slice full_name(enum metric which, const char *suffix, char out[static NAME_BYTES])
{
    int n = snprintf(out, NAME_BYTES, "%s%s%s", metric_rows[which].name, metric_rows[which].unit, suffix);
    return slice_of(out, n < NAME_BYTES ? (size_t)n : NAME_BYTES - 1);
}

/* "1000.0", "0.00025" */
static int put_bound(char out[static BOUND_BYTES], int64_t bound, int64_t divisor)
{
    if (!bound) return snprintf(out, BOUND_BYTES, "le=\"+Inf\"} ");
    if (bound % divisor == 0) return snprintf(out, BOUND_BYTES, "le=\"%lld.0\"} ", (long long)(bound / divisor));
    return snprintf(out, BOUND_BYTES, "le=\"%.9g\"} ", (double)bound / (double)divisor);
}

static void make_words(enum metric which, struct words *w)
{
    w->divisor = metric_divisor(which);
    w->buckets = metric_bucket_count(which);
    w->name = full_name(which, w->buckets ? "_bucket" : "", w->name_text[0]);
    w->count_name = full_name(which, "_count", w->name_text[1]);
    w->sum_name = full_name(which, "_sum", w->name_text[2]);
    for (size_t i = 0; i < w->buckets; i++) {
        int n = put_bound(w->le_text[i], metric_rows[which].bounds[i], w->divisor);
        w->le[i] = slice_of(w->le_text[i], (size_t)n);
    }
}

/* `name{labels,` when a bound follows, else `name{labels} ` */
static struct slice make_front(struct buf *front, struct slice name, struct slice labels, bool more)
{
    front->n = 0;
    if (front->cap < name.n + labels.n + 4) buf_reserve(front, name.n + labels.n + 4);
    uint8_t *p = put_bytes(front->p, name);
    if (labels.n || more) {
        *p++ = '{';
        p = put_bytes(p, labels);
        if (!more) *p++ = '}';
        else if (labels.n) *p++ = ',';
    }
    if (!more) *p++ = ' ';
    return slice_of(front->p, (size_t)(p - front->p));
}

static void put_histogram(struct metric_text *t, const struct words *w, const struct metric_sample *s, struct buf *out)
{
    struct slice front = make_front(&t->front, w->name, s->labels, true);
    int64_t upto = 0;
    for (size_t i = 0; i < w->buckets; i++) {
        upto += s->buckets[i];
        put_line(out, front, w->le[i], upto);
    }
    put_line(out, make_front(&t->front, w->count_name, s->labels, false), no_bound, upto);
    struct slice sum = make_front(&t->front, w->sum_name, s->labels, false);
    if (w->divisor == 1) put_line(out, sum, no_bound, s->value);
    else buf_printf(out, "%.*s%.6f\n", SLICE_ARG(sum), (double)s->value / (double)w->divisor);
}

/* --- the page --- */

static int by_name(const void *a, const void *b)
{
    return strcmp(metric_rows[*(const enum metric *)a].name, metric_rows[*(const enum metric *)b].name);
}

void metric_order(enum metric order[static METRICS_COUNT])
{
    for (size_t i = 0; i < METRICS_COUNT; i++) order[i] = (enum metric)i;
    qsort(order, METRICS_COUNT, sizeof *order, by_name);
}

void metric_text_begin(struct metric_text *t, const struct metric_page *page)
{
    *t = (struct metric_text){.page = page, .front = BUF_EMPTY};
    metric_order(t->order);
}

void metric_text_done(struct metric_text *t) { buf_done(&t->front); }

/* False: there is room for more. */
static bool put_samples(struct metric_text *t, enum metric which, size_t end, struct buf *out)
{
    struct metric_sample s;
    struct words words;
    if (!t->page->samples[which].first) return false;
    make_words(which, &words);
    if (!t->headed) put_head(out, which);
    t->headed = true;
    while (out->n < end) {
        if (!metric_page_next(t->page, which, &t->walk, &s)) return false;
        if (s.buckets) put_histogram(t, &words, &s, out);
        else put_line(out, make_front(&t->front, words.name, s.labels, false), no_bound, s.value);
    }
    return true;
}

bool metric_text_next(struct metric_text *t, size_t most, struct buf *out)
{
    size_t end = most < SIZE_MAX - out->n ? out->n + most : SIZE_MAX;
    for (; t->which < METRICS_COUNT; t->which++, t->walk = METRIC_WALK_BEGIN, t->headed = false)
        if (put_samples(t, t->order[t->which], end, out)) return true;
    return false;
}

void metric_page_write(const struct metric_page *p, struct buf *out)
{
    struct metric_text t;
    metric_text_begin(&t, p);
    while (metric_text_next(&t, SIZE_MAX, out)) {}
    metric_text_done(&t);
}
