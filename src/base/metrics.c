#include "base/metrics.h"

#include "base/map.h"

#include <assert.h>
#include <stdlib.h>

#define BOUNDS(...) (const int64_t[]){__VA_ARGS__, 0}

const struct metric_row metric_rows[METRICS_COUNT] = {
#define METRIC(name, wire, kind, labels, meaning) {wire, METRIC_##kind, labels, meaning, "", NULL, true},
#define LOOKED_AT(name, wire, unit, labels, meaning) {wire, METRIC_GAUGE, labels, meaning, unit, NULL, false},
#define HISTOGRAM(name, wire, unit, bounds, labels, meaning) {wire, METRIC_HISTOGRAM, labels, meaning, unit, bounds, false},
#include "catalog/metrics.def"
#undef METRIC
#undef LOOKED_AT
#undef HISTOGRAM
};

enum { KEY_MAX = 1024, BASE_LABELS_MAX = 12 };

struct series {
    struct map rows;            /* values of labels -> struct series_row */
    struct series_row *last;    /* found last: the next one is likely the same */
    size_t last_n;
    uint8_t last_key[KEY_MAX];
};

static size_t label_count(const struct metric_row *row)
{
    size_t n = row->labels[0] != 0;
    for (const char *p = row->labels; *p; p++) n += *p == ',';
    return n;
}

/* --- life --- */

void metrics_break_down(struct metrics *m, const struct label *base, size_t count, size_t limit)
{
    assert(!m->base);
    m->base = base_labels_new(base, count);
    m->limit = limit;
}

/* Letters, digits and _; no digit in front. */
static bool is_label_name(struct slice s)
{
    for (size_t i = 0; i < s.n; i++) {
        uint8_t c = s.p[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (!i || c < '0' || c > '9')) return false;
    }
    return s.n && !slice_eq(s, SLICE("le"));
}

static void add_base(struct label *base, size_t *n, const char *name, const char *value)
{
    if (value && *n < BASE_LABELS_MAX) base[(*n)++] = (struct label){name, value};
}

/* "a:b,c:d"; the names point into *text, which is cut up. */
static void add_configured(struct label *base, size_t *n, char *text)
{
    char *rest = text;
    for (char *pair; (pair = strsep(&rest, ","));) {
        char *mark = strchr(pair, ':');
        if (!mark || strchr(mark + 1, ':')) continue;
        *mark = 0;
        if (is_label_name(slice_text(pair))) add_base(base, n, pair, mark + 1);
    }
}

void metrics_break_down_as(struct metrics *m, const struct metric_names *names, size_t limit)
{
    struct label base[BASE_LABELS_MAX];
    char *text = must_strdup(names->labels ? names->labels : "");
    size_t n = 0;
    add_base(base, &n, "cluster", names->cluster);
    add_base(base, &n, "node_id", names->node_id);
    add_base(base, &n, "node_type", names->node_type);
    add_base(base, &n, "aggregation", names->in_delta ? "delta" : NULL);
    add_base(base, &n, "otel_scope_name", "broker-meter");
    add_base(base, &n, "proxy_mode", names->proxy_mode);
    add_configured(base, &n, text);
    metrics_break_down(m, base, n, limit);
    free(text);
}

static void row_free(void *p)
{
    struct series_row *row = p;
    free(row->labels);
    free(row);
}

void metrics_done(struct metrics *m)
{
    for (size_t i = 0; i < METRICS_COUNT; i++) {
        if (!m->series[i]) continue;
        map_done_with(&m->series[i]->rows, row_free);
        free(m->series[i]);
        m->series[i] = NULL;
    }
    base_labels_free(m->base);
    m->base = NULL;
}

/* --- counting --- */

static char *text_of(struct buf *text)
{
    buf_put_u8(text, 0);
    return (char *)text->p;
}

static char *overflow_labels(const struct metrics *m)
{
    struct buf text = BUF_EMPTY;
    metric_labels_overflow(m, &text);
    return text_of(&text);
}

static char *row_labels(const struct metrics *m, enum metric which, const struct slice *labels)
{
    struct buf text = BUF_EMPTY;
    metric_labels(m, which, labels, &text);
    return text_of(&text);
}

/* The values one after the other. Names are at most 255 bytes; a longer value is cut, and shares its series with those that begin alike. */
static size_t make_key(const struct metric_row *row, const struct slice *labels, uint8_t key[static KEY_MAX])
{
    size_t n = 0, count = label_count(row);
    for (size_t i = 0; i < count; i++) {
        size_t room = KEY_MAX - n - 2 * (count - i), take = labels[i].n < room ? labels[i].n : room;
        if (take) memcpy(key + n, labels[i].p, take);
        n += take;
        key[n++] = labels[i].p ? 0 : 1;
    }
    return n;
}

static struct series_row *row_new(enum metric which, char *labels)
{
    size_t buckets = 0;
    const int64_t *bounds = metric_rows[which].bounds;
    for (; bounds && bounds[buckets]; buckets++) {}
    struct series_row *row = must_zero(sizeof *row + (buckets + 1) * sizeof row->buckets[0]);
    row->labels = labels;
    row->labels_n = strlen(labels);
    return row;
}

static struct series_row *row_add(struct metrics *m, enum metric which, struct slice key, const struct slice *labels)
{
    struct series *s = m->series[which];
    bool over = s->rows.count >= m->limit;
    struct slice name = over ? SLICE("") : key;
    struct series_row *row = over ? map_get(&s->rows, name) : NULL;
    if (row) return row;
    row = row_new(which, over ? overflow_labels(m) : row_labels(m, which, labels));
    map_put(&s->rows, name, row);
    return row;
}

static struct series_row *row_of(struct metrics *m, enum metric which, const struct slice *labels)
{
    uint8_t key[KEY_MAX];
    size_t n = make_key(&metric_rows[which], labels, key);
    struct series *s = m->series[which];
    if (!s) s = m->series[which] = must_zero(sizeof *s);
    if (s->last && s->last_n == n && !memcmp(s->last_key, key, n)) return s->last;
    struct series_row *row = map_get(&s->rows, slice_of(key, n));
    if (!row) row = row_add(m, which, slice_of(key, n), labels);
    s->last = row;
    s->last_n = n;
    memcpy(s->last_key, key, n);
    return row;
}

void metric_count(struct metrics *m, enum metric which, int64_t n, const struct slice *labels)
{
    m->values[which] += n;
    if (m->base) row_of(m, which, labels)->value += n;
}

size_t metric_bucket(enum metric which, int64_t value)
{
    const int64_t *bounds = metric_rows[which].bounds;
    size_t at = 0;
    while (bounds[at] && value > bounds[at]) at++;
    return at;
}

void metric_observe(struct metrics *m, enum metric which, int64_t value, const struct slice *labels)
{
    if (!m->base) return;
    struct series_row *row = row_of(m, which, labels);
    row->buckets[metric_bucket(which, value)]++;
    if (__builtin_add_overflow(row->value, value, &row->value)) row->value = INT64_MAX;   /* of what clients say, a sum may become anything */
}

const struct series_row *metric_series_next(const struct metrics *m, enum metric which, size_t *at)
{
    struct map_entry *e = m->series[which] ? map_next(&m->series[which]->rows, at) : NULL;
    return e ? e->value : NULL;
}
