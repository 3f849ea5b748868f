#include "broker/delay/came.h"

#include "broker/intake/delay.h"

#include "base/log.h"
#include "base/map.h"
#include "codec/properties.h"

#include <stdatomic.h>
#include <stdlib.h>

struct digest {
    uint64_t message, properties;
};

struct came {
    struct store_tail tail;
    enum came_from from;
    struct buf found;            /* struct digest, ascending once the log is read */
    bool *taken;                 /* of each */
    size_t left;
    struct buf scratch;          /* the worker's while it reads */
    atomic_bool gone;            /* nobody wants to know any more */
    bool reading;
    void (*ready)(void *ctx);
    void *ctx;
};

/* A delivery gives these new values. */
static bool is_of_delivery(struct slice name) { return slice_eq(name, SLICE("TIMER_ENQUEUE_MS")) || slice_eq(name, SLICE("TIMER_DEQUEUE_MS")); }

static struct digest digest_of(const struct message *m, struct buf *scratch)
{
    struct digest d;
    struct slice rest = m->properties, name, value;
    buf_clear(scratch);
    while (properties_next(&rest, &name, &value))
        if (!is_of_delivery(name)) properties_put(scratch, name, value);
    d.properties = map_hash(buf_slice(scratch));
    buf_clear(scratch);
    const int64_t numbers[] = {m->born_ms, m->queue_id, m->flag, m->reconsume_times, m->body_crc, (int64_t)m->body.n};
    buf_put(scratch, numbers, sizeof numbers);
    buf_put_slice(scratch, m->topic);
    d.message = map_hash(buf_slice(scratch));
    return d;
}

/* Facts: docs/protocol/semantics.md 3. What waits is in a topic of the broker's and says where it belongs; a copy is there, or, when it comes
 * by again in the wheel, says how often it has. */
static bool is_copy(enum came_from from, const struct message *m)
{
    struct slice real = properties_get(m->properties, SLICE("REAL_TOPIC"));
    int32_t level = 0;
    if (!real.n) return false;
    slice_to_i32(properties_get(m->properties, SLICE("DELAY")), &level);
    if (from == CAME_FROM_LEVELS) return level > 0 && slice_eq(real, m->topic);
    if (level > 0 || !properties_get(m->properties, SLICE("TIMER_OUT_MS")).n) return false;
    bool rolled = slice_eq(m->topic, SLICE(TIMER_TOPIC)) && properties_get(m->properties, SLICE("TIMER_ROLL_TIMES")).n;
    return rolled || slice_eq(real, m->topic);
}

/* Thread: worker. */
static bool take(struct store_tail *t, const struct message *m)
{
    struct came *c = LIST_OWNER(t, struct came, tail);
    if (is_copy(c->from, m)) {
        struct digest d = digest_of(m, &c->scratch);
        buf_put(&c->found, &d, sizeof d);
    }
    return !atomic_load(&c->gone);
}

static int compare(const void *a, const void *b)
{
    const struct digest *x = a, *y = b;
    if (x->message != y->message) return x->message < y->message ? -1 : 1;
    return x->properties < y->properties ? -1 : x->properties > y->properties;
}

static void forget(struct came *c)
{
    buf_done(&c->found);
    buf_done(&c->scratch);
    free(c->taken);
    c->taken = NULL;
}

static void release(struct came *c)
{
    forget(c);
    free(c);
}

static void done(struct store_tail *t, err_t e)
{
    struct came *c = LIST_OWNER(t, struct came, tail);
    c->reading = false;
    if (atomic_load(&c->gone)) {
        err_drop(e, "nobody asks any more");
        release(c);
        return;
    }
    if (e) log_error("delay.log_not_read error=\"%s\" text=\"messages that were delivered right before the last stop may come again\"", err_text(e));
    err_free(e);
    c->left = c->found.n / sizeof(struct digest);
    if (c->left) qsort(c->found.p, c->left, sizeof(struct digest), compare);
    c->taken = must_zero(c->left + 1);
    c->ready(c->ctx);
}

struct came *came_new(struct broker *b, enum came_from from, int64_t log_offset, void (*ready)(void *ctx), void *ctx)
{
    struct came *c = must_zero(sizeof *c);
    c->tail = (struct store_tail){.take = take, .done = done};
    c->from = from;
    c->ready = ready;
    c->ctx = ctx;
    c->reading = true;
    store_tail(b->store, log_offset, &c->tail);
    return c;
}

void came_free(struct came *c)
{
    if (!c) return;
    if (c->reading) atomic_store(&c->gone, true);   /* done() frees it */
    else release(c);
}

bool came_take(struct came *c, const struct message *m)
{
    if (!c || !c->left) return false;
    struct digest d = digest_of(m, &c->scratch);
    const struct digest *all = (const struct digest *)(const void *)c->found.p;
    size_t count = c->found.n / sizeof d, low = 0, high = count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare(&all[middle], &d) < 0) low = middle + 1;
        else high = middle;
    }
    while (low < count && compare(&all[low], &d) == 0 && c->taken[low]) low++;
    if (low == count || compare(&all[low], &d)) return false;
    c->taken[low] = true;
    if (--c->left == 0) forget(c);
    return true;
}

bool came_is_empty(const struct came *c) { return !c || (!c->reading && !c->left); }
