/* The broker explains itself; here is chosen which one, and whose answer counts (docs/protocol/why.md). */
#include "admin/session.h"

#include "codec/requests.h"

#include <inttypes.h>
#include <stdlib.h>

/* One of the three questions. */
struct inquiry {
    struct admin *admin;
    struct request request;
    struct admin_reasons *out;
    const struct why_queue_header *queue;   /* WHY_QUEUE alone */
    struct slice broker_name;
    bool newest;                            /* one answer counts */
    bool anywhere;                          /* a topic without a route: all masters */
};

static int by_name(const void *a, const void *b)
{
    const struct admin_reason *x = a, *y = b;
    return slice_compare(x->broker.name, y->broker.name);
}

static err_t on_reason(void *ctx, struct sweep *s, const struct master *m, struct slice body)
{
    struct inquiry *q = ctx;
    struct why why;
    (void)s;
    err_t e = bean_decode(&why_bean, body, admin_arena(q->admin), "why", &why);
    if (e) return e;
    struct admin_reason *r = arena_list_add(admin_arena(q->admin), (void **)&q->out->list.items, &q->out->list.count, sizeof *r);
    if (!r) return err_new(ERR_BODY, "the answers are too large");
    *r = (struct admin_reason){m->broker, why};
    return NULL;
}

/* When the last copy was stored; -1: the broker knows none. */
static int64_t newest_copy_ms(const struct admin_reason *r)
{
    int64_t newest = -1;
    for (size_t i = 0; i < r->why.copies.count; i++)
        if (r->why.copies.items[i].store_ms > newest) newest = r->why.copies.items[i].store_ms;
    return newest;
}

static void on_all_reasons(void *ctx, err_t e)
{
    struct inquiry *q = ctx;
    struct admin_reasons *out = q->out;
    if (out->list.count) qsort(out->list.items, out->list.count, sizeof *out->list.items, by_name);
    if (q->newest && out->list.count) {
        const struct admin_reason *best = &out->list.items[0];
        for (size_t i = 1; i < out->list.count; i++)
            if (newest_copy_ms(&out->list.items[i]) > newest_copy_ms(best)) best = &out->list.items[i];
        out->list.items[0] = *best;
        out->list.count = 1;
    }
    admin_end(q->admin, e);
}

/* --- which broker has the queue --- */

static void put_names(const struct masters *m, struct buf *out)
{
    for (size_t i = 0; i < m->list.count; i++) buf_printf(out, "%s%.*s", i ? ", " : "", SLICE_ARG(m->list.items[i].broker.name));
}

static void put_queues(const struct masters *m, struct buf *out)
{
    for (size_t i = 0; i < m->list.count; i++) {
        const struct master *one = &m->list.items[i];
        buf_printf(out, "%s%.*s has ", i ? ", " : "", SLICE_ARG(one->broker.name));
        if (one->queues > 1) buf_printf(out, "0 to %" PRId32, one->queues - 1);
        else buf_put_text(out, one->queues ? "0 alone" : "none");
    }
}

static err_t complain(const struct inquiry *q, const struct masters *m, size_t holders)
{
    struct buf text = BUF_EMPTY;
    struct slice topic = q->queue->topic, there;
    int32_t id = q->queue->queue_id;
    err_t e;
    if (q->broker_name.p || holders) put_names(m, &text);
    else put_queues(m, &text);
    there = buf_slice(&text);
    if (q->broker_name.p)
        e = err_new(ERR_NOT_FOUND, "topic \"%.*s\" has no broker \"%.*s\"; it is on %.*s", SLICE_ARG(topic), SLICE_ARG(q->broker_name),
                    SLICE_ARG(there));
    else if (holders)
        e = err_new(ERR_USAGE, "topic \"%.*s\" has a queue %" PRId32 " on several brokers: %.*s", SLICE_ARG(topic), id, SLICE_ARG(there));
    else
        e = err_new(ERR_INVALID, "topic \"%.*s\" has no queue %" PRId32 ": %.*s", SLICE_ARG(topic), id, SLICE_ARG(there));
    buf_done(&text);
    return e;
}

static bool is_meant(const struct inquiry *q, const struct master *m)
{
    if (!m->broker.name.p) return true;   /* given by its address */
    return q->broker_name.p ? slice_eq(m->broker.name, q->broker_name) : q->queue->queue_id >= 0 && q->queue->queue_id < m->queues;
}

/* Leaves the one master that is meant. */
static err_t choose(const struct inquiry *q, const struct masters *all, struct masters *out)
{
    size_t meant = 0;
    struct masters one = *all;
    for (size_t i = 0; i < all->list.count; i++) {
        if (!is_meant(q, &all->list.items[i])) continue;
        if (!meant++) one.list.items = &all->list.items[i];
    }
    if (meant != 1) return complain(q, all, meant);
    one.list.count = 1;
    *out = one;
    return NULL;
}

static void on_masters(void *ctx, err_t e, const struct masters *m)
{
    struct inquiry *q = ctx;
    struct masters chosen = *m;
    if (err_code(e) == ERR_TOPIC_NOT_FOUND && q->anywhere) {
        err_free(e);
        q->anywhere = false;
        find_masters(q->admin, (struct slice){NULL, 0}, on_masters, q);
        return;
    }
    if (!e && q->queue) e = choose(q, m, &chosen);
    if (e) admin_end(q->admin, e);
    else sweep_begin(q->admin, &chosen, &q->request, &q->out->failures, on_reason, on_all_reasons, q);
}

/* --- the questions --- */

static void inquire(struct admin *a, const struct inquiry *how, struct slice topic, admin_done *done, void *ctx)
{
    struct inquiry *q = admin_take(a, sizeof *q);
    *q = *how;
    q->admin = a;
    *q->out = (struct admin_reasons){.list = {NULL, 0}};
    admin_begin(a, done, ctx);
    find_masters(a, topic, on_masters, q);
}

void admin_why_queue(struct admin *a, const struct why_queue_header *h, struct slice broker_name, struct admin_reasons *out,
                     admin_done *done, void *ctx)
{
    struct inquiry q = {.request = {REQUEST_WHY_QUEUE, &why_queue_kind, h}, .out = out, .queue = h, .broker_name = broker_name};
    inquire(a, &q, h->topic, done, ctx);
}

void admin_why_message(struct admin *a, const struct why_message_header *h, struct admin_reasons *out, admin_done *done, void *ctx)
{
    struct inquiry q = {.request = {REQUEST_WHY_MESSAGE, &why_message_kind, h}, .out = out, .newest = true};
    inquire(a, &q, h->topic, done, ctx);
}

void admin_why_send(struct admin *a, const struct why_send_header *h, struct admin_reasons *out, admin_done *done, void *ctx)
{
    struct inquiry q = {.request = {REQUEST_WHY_SEND, &why_send_kind, h}, .out = out, .anywhere = true};
    inquire(a, &q, h->topic, done, ctx);
}
