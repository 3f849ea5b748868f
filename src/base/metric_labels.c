/* The text of labels. Which pairs there are, and in which order, is the same for all series of a metric: a plan of it is made once. */
#include "base/metrics.h"

#include <stdlib.h>

enum { LABELS_MAX = 24, OF_PROCESS = -1, ALWAYS = -1 };

struct pair {
    struct slice text;          /* name=" of a row's label; name="value" of the process's */
    struct slice name;          /* points into the text */
    int label;                  /* whose value follows, or OF_PROCESS */
    int unless;                 /* the label of the row that has the same name, and a value; or ALWAYS */
};

/* Sorted by name. */
struct plan {
    size_t count;
    struct pair pairs[];
};

struct base_labels {
    struct plan *always;        /* the pairs of the process alone */
    struct plan *plans[METRICS_COUNT];   /* made when they are needed */
};

/* A byte of no character would make the whole page unreadable for those who want UTF-8. */
static void put_escaped(struct buf *out, struct slice value)
{
    uint8_t *from = buf_take(out, 2 * value.n), *p = from;
    for (size_t i = 0; i < value.n; i++) {
        uint8_t c = value.p[i];
        if (c == '\n' || c == '"' || c == '\\') *p++ = '\\';
        *p++ = c == '\n' ? 'n' : c >= 0x20 && c < 0x7f ? c : '?';
    }
    out->n -= 2 * value.n - (size_t)(p - from);
}

/* --- plans --- */

static struct plan *plan_new(size_t most)
{
    struct plan *p = must_zero(sizeof *p + most * sizeof p->pairs[0]);
    return p;
}

static void plan_free(struct plan *p)
{
    for (size_t i = 0; p && i < p->count; i++) free((void *)p->pairs[i].text.p);
    free(p);
}

/* What was there first stands, as long as it has a value. */
static void plan_add(struct plan *p, struct slice name, struct slice text, int label)
{
    struct pair pair = {.label = label, .unless = ALWAYS};
    size_t at = p->count;
    for (size_t i = 0; i < p->count; i++) {
        if (!slice_eq(p->pairs[i].name, name)) continue;
        if (p->pairs[i].label == OF_PROCESS) return;
        pair.unless = p->pairs[i].label;
    }
    pair.text = slice_of(must_dup(text), text.n);
    pair.name = slice_of(pair.text.p, name.n);
    while (at && slice_compare(name, p->pairs[at - 1].name) < 0) p->pairs[at] = p->pairs[at - 1], at--;
    p->pairs[at] = pair;
    p->count++;
}

static void plan_add_labels(struct plan *p, struct slice names)
{
    struct buf text = BUF_EMPTY;
    struct slice name;
    for (int i = 0; names.n && p->count < LABELS_MAX && slice_split(&names, ',', &name); i++) {
        buf_clear(&text);
        buf_put_slice(&text, name);
        buf_put_text(&text, "=\"");
        plan_add(p, name, buf_slice(&text), i);
    }
    buf_done(&text);
}

static void plan_add_base(struct plan *p, const struct base_labels *b)
{
    for (size_t i = 0; b && i < b->always->count && p->count < LABELS_MAX; i++)
        plan_add(p, b->always->pairs[i].name, b->always->pairs[i].text, OF_PROCESS);
}

static struct plan *make_plan(const struct base_labels *b, const char *labels)
{
    struct plan *p = plan_new(LABELS_MAX);
    plan_add_labels(p, slice_text(labels));
    plan_add_base(p, b);
    return p;
}

static void put_plan(struct buf *out, const struct plan *p, const struct slice *labels)
{
    size_t before = out->n;
    for (size_t i = 0; i < p->count; i++) {
        const struct pair *pair = &p->pairs[i];
        bool own = pair->label != OF_PROCESS;
        if (own ? !labels[pair->label].p : pair->unless != ALWAYS && labels[pair->unless].p) continue;
        if (out->n > before) buf_put_u8(out, ',');
        buf_put_slice(out, pair->text);
        if (!own) continue;
        put_escaped(out, labels[pair->label]);
        buf_put_u8(out, '"');
    }
}

/* --- life --- */

struct base_labels *base_labels_new(const struct label *base, size_t count)
{
    struct base_labels *b = must_zero(sizeof *b);
    struct buf text = BUF_EMPTY;
    b->always = plan_new(count);
    for (size_t i = 0; i < count; i++) {
        buf_clear(&text);
        buf_put_text(&text, base[i].name);
        buf_put_text(&text, "=\"");
        put_escaped(&text, slice_text(base[i].value));
        buf_put_u8(&text, '"');
        plan_add(b->always, slice_text(base[i].name), buf_slice(&text), OF_PROCESS);
    }
    buf_done(&text);
    return b;
}

void base_labels_free(struct base_labels *b)
{
    if (!b) return;
    for (size_t i = 0; i < METRICS_COUNT; i++) plan_free(b->plans[i]);
    plan_free(b->always);
    free(b);
}

/* --- texts --- */

void metric_labels(const struct metrics *m, enum metric which, const struct slice *labels, struct buf *out)
{
    if (m->base) {
        if (!m->base->plans[which]) m->base->plans[which] = make_plan(m->base, metric_rows[which].labels);
        put_plan(out, m->base->plans[which], labels);
        return;
    }
    struct plan *p = make_plan(NULL, metric_rows[which].labels);
    put_plan(out, p, labels);
    plan_free(p);
}

void metric_labels_overflow(const struct metrics *m, struct buf *out)
{
    struct plan *p = make_plan(m->base, "otel_metric_overflow");
    put_plan(out, p, LABELS(SLICE("true")));
    plan_free(p);
}
