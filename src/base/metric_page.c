#include "base/metric_page.h"

#include <assert.h>
#include <stdlib.h>

enum { BLOCK_LEAST = 256, BLOCK_MOST = 64 << 10 };

/* Samples are not cut: a block that has no room for the next one stays as it is. */
struct metric_block {
    struct metric_block *next;
    size_t n, cap;
    uint8_t bytes[];
};

/* In front of each sample; then the buckets, then the labels, filled up so that the next one lies at a multiple of eight. */
struct sample_head {
    int64_t value;
    uint64_t labels_n;
};

void metric_page_done(struct metric_page *p)
{
    for (size_t i = 0; i < METRICS_COUNT; i++)
        for (struct metric_block *b = p->samples[i].first, *next; b; b = next) {
            next = b->next;
            free(b);
        }
    *p = METRIC_PAGE_EMPTY;
}

bool metric_is_proxys(enum metric which)
{
    struct slice name = slice_text(metric_rows[which].name);
    return slice_starts(name, SLICE("rocketmq_proxy_")) || slice_starts(name, SLICE("skylark_proxy_"));
}

int64_t metric_divisor(enum metric which)
{
    const struct metric_row *row = &metric_rows[which];
    return row->kind == METRIC_HISTOGRAM && slice_eq(slice_text(row->unit), SLICE("_seconds")) ? 1000000 : 1;
}

size_t metric_bucket_count(enum metric which)
{
    const int64_t *bounds = metric_rows[which].bounds;
    size_t n = 0;
    if (!bounds) return 0;
    while (bounds[n]) n++;
    return n + 1;
}

/* --- filling it --- */

static size_t filled_up(size_t n) { return (n + 7) & ~(size_t)7; }

/* Twice as large as the one before. */
static struct metric_block *add_block(struct metric_page *p, enum metric which, size_t least)
{
    struct metric_block *last = p->samples[which].last;
    size_t cap = last ? 2 * last->cap : BLOCK_LEAST;
    if (cap > BLOCK_MOST) cap = BLOCK_MOST;
    if (cap < least) cap = least;
    struct metric_block *b = must_alloc(sizeof *b + cap);
    *b = (struct metric_block){.cap = cap};
    if (last) last->next = b;
    else p->samples[which].first = b;
    p->samples[which].last = b;
    return b;
}

static void put_sample(struct metric_page *page, enum metric which, struct slice labels, int64_t value, const int64_t *buckets, size_t count)
{
    struct sample_head head = {value, labels.n};
    struct metric_block *b = page->samples[which].last;
    size_t size = sizeof head + count * sizeof *buckets + filled_up(labels.n);
    if (!b || b->cap - b->n < size) b = add_block(page, which, size);
    uint8_t *p = b->bytes + b->n;
    memcpy(p, &head, sizeof head);
    if (count) memcpy(p + sizeof head, buckets, count * sizeof *buckets);
    if (labels.n) memcpy(p + sizeof head + count * sizeof *buckets, labels.p, labels.n);
    b->n += size;
}

void metric_page_put(struct metric_page *p, enum metric which, struct slice labels, int64_t value)
{
    put_sample(p, which, labels, value, NULL, 0);
}

void metric_page_put_histogram(struct metric_page *p, enum metric which, struct slice labels, const int64_t *buckets, int64_t sum)
{
    put_sample(p, which, labels, sum, buckets, metric_bucket_count(which));
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
    size_t buckets = metric_bucket_count(which);
    const struct series_row *row = NULL;
    while (most-- && (row = metric_series_next(m, which, at)))
        put_sample(p, which, slice_of(row->labels, row->labels_n), row->value, row->buckets, buckets);
    return row;
}

void metric_page_take(struct metric_page *p, struct metric_page *from)
{
    for (size_t i = 0; i < METRICS_COUNT; i++) {
        if (!from->samples[i].first) continue;
        if (p->samples[i].last) p->samples[i].last->next = from->samples[i].first;
        else p->samples[i].first = from->samples[i].first;
        p->samples[i].last = from->samples[i].last;
    }
    *from = METRIC_PAGE_EMPTY;
}

/* --- reading it --- */

static bool find_next(const struct metric_page *p, enum metric which, struct metric_walk *w)
{
    if (!w->block) w->block = p->samples[which].first;
    while (w->block && w->at == w->block->n) {
        if (!w->block->next) return false;
        w->block = w->block->next;
        w->at = 0;
    }
    return w->block;
}

bool metric_page_next(const struct metric_page *p, enum metric which, struct metric_walk *w, struct metric_sample *out)
{
    struct sample_head head;
    size_t buckets = metric_bucket_count(which);
    if (!find_next(p, which, w)) return false;
    const uint8_t *from = w->block->bytes + w->at;
    memcpy(&head, from, sizeof head);
    from += sizeof head;
    *out = (struct metric_sample){.value = head.value, .buckets = buckets ? (const void *)from : NULL};
    from += buckets * sizeof *out->buckets;
    out->labels = slice_of(from, head.labels_n);
    w->at = (size_t)(from - w->block->bytes) + filled_up(head.labels_n);
    assert(w->at <= w->block->n);
    return true;
}

/* Up to the mark that ends a value. */
static size_t unescape(struct slice s, struct buf *text)
{
    size_t i = 0;
    for (; i < s.n && s.p[i] != '"'; i++) {
        bool escaped = s.p[i] == '\\' && i + 1 < s.n;
        if (escaped) i++;
        buf_put_u8(text, escaped && s.p[i] == 'n' ? '\n' : s.p[i]);
    }
    return i;
}

bool metric_label_next(struct slice *labels, struct buf *text, struct slice *name, struct slice *value)
{
    const uint8_t *mark = labels->n ? memchr(labels->p, '=', labels->n) : NULL;
    if (!mark) return false;
    *name = slice_of(labels->p, (size_t)(mark - labels->p));
    buf_clear(text);
    struct slice rest = slice_skip(*labels, name->n + 2);
    size_t n = unescape(rest, text) + 1;
    *value = buf_slice(text);
    if (n < rest.n) n++;   /* the comma */
    *labels = slice_skip(rest, n < rest.n ? n : rest.n);
    return true;
}
