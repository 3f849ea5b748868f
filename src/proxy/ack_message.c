/* AckMessage: messages are consumed. Several for one broker travel in one request. Facts: docs/protocol/grpc.md 9.1 */
#include "proxy/checks.h"
#include "proxy/consumption.h"
#include "proxy/status.h"

#include "codec/body_batch_ack.h"
#include "codec/requests.h"

#include <stdlib.h>

struct acking;

struct ack {
    struct acking *all;
    const struct v2_ack_message_entry *asked;
    struct held_message message;
    struct broker_peer *broker;
    bool sent;
    bool shared;                     /* with others, in one request */
    struct v2_status *status;        /* NULL: not known yet */
};

struct acking {
    struct request *request;
    const struct v2_ack_message_request *asked;
    struct ack *items;
    size_t count;
    size_t waits;                    /* for brokers */
};

/* Acknowledgements of one request to a broker. */
struct ack_batch {
    struct acking *all;
    struct broker_peer *broker;
};

/* --- the answer --- */

static struct v2_status *overall(struct acking *a)
{
    struct request *r = a->request;
    if (!a->count) return status_new(r, V2_CODE_INTERNAL_SERVER_ERROR, SLICE("ack message result is empty"));
    for (size_t i = 1; i < a->count; i++)
        if (a->items[i].status->code != a->items[0].status->code) return status_new(r, V2_CODE_MULTIPLE_RESULTS, (struct slice){NULL, 0});
    return status_new(r, a->items[0].status->code, code_name(a->items[0].status->code));
}

static void one_is_over(struct acking *a)
{
    struct request *r = a->request;
    if (--a->waits) return;
    struct v2_ack_message_response *out = request_take(r, sizeof *out);
    out->entries.items = request_take(r, (a->count + 1) * sizeof *out->entries.items);
    out->entries.count = a->count;
    for (size_t i = 0; i < a->count; i++)
        out->entries.items[i] = (struct v2_ack_message_result_entry){a->items[i].asked->message_id, a->items[i].asked->receipt_handle, a->items[i].status};
    out->status = overall(a);
    request_answer(r, out);
}

/* Takes e. */
static struct v2_status *outcome(struct request *r, err_t e, const struct rpc_reply *reply)
{
    if (!e) {
        if (reply->frame->code == RESPONSE_SUCCESS) return status_ok(r);
        if (consumption_is_outdated(reply->frame)) return status_new(r, V2_CODE_INVALID_RECEIPT_HANDLE, SLICE("the receipt handle is not valid any more"));
        return status_new(r, V2_CODE_INTERNAL_SERVER_ERROR, SLICE("ack failed: status is abnormal"));
    }
    struct v2_status *s = status_new(r, code_of_error(err_code(e)), arena_copy(&r->arena, slice_text(err_text(e))));
    err_free(e);
    return s;
}

/* --- one by one --- */

static void on_one(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct ack *ack = ctx;
    ack->status = outcome(ack->all->request, e, reply);
    one_is_over(ack->all);
}

static void send_one(struct ack *ack)
{
    ack->sent = true;
    ack->all->waits++;
    consumption_ack(ack->broker, &ack->message, on_one, ack);
}

/* --- many --- */

static void on_batch(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct ack_batch *batch = ctx;
    struct acking *a = batch->all;
    struct v2_status *s = outcome(a->request, e, reply);
    for (size_t i = 0; i < a->count; i++)
        if (a->items[i].shared && a->items[i].broker == batch->broker) a->items[i].status = s;
    one_is_over(a);
}

static int order(int64_t a, int64_t b) { return (a > b) - (a < b); }

/* 0: of one pop from one queue. */
static int compare_pops(const struct receipt_handle *a, const struct receipt_handle *b)
{
    int c = order(a->pop_ms, b->pop_ms);
    if (!c) c = order(a->queue_id, b->queue_id);
    if (!c) c = order(a->start_offset, b->start_offset);
    if (!c) c = order(a->kind, b->kind);
    if (!c) c = order(a->invisible_ms, b->invisible_ms);
    return c ? c : order(a->revive_queue, b->revive_queue);
}

static int by_pop(const void *a, const void *b)
{
    const struct ack *const *x = a, *const *y = b;
    return compare_pops(&(*x)->message.handle, &(*y)->message.handle);
}

/* Messages of one pop from one queue: each is a bit, counted from the first offset. */
static bool fits(const struct receipt_handle *h) { return h->offset >= h->start_offset && h->offset - h->start_offset < BATCH_ACK_BITS_MAX; }

static void put_pop(struct ack *const *acks, size_t count, struct batch_ack_body *body, struct arena *arena)
{
    const struct held_message *m = &acks[0]->message;
    const struct receipt_handle *h = &m->handle;
    struct batch_ack *row = arena_list_add(arena, (void **)&body->acks.items, &body->acks.count, sizeof *row);
    struct ack_bits bits = {0};
    struct buf text = BUF_EMPTY, retry = BUF_EMPTY;
    for (size_t i = 0; i < count; i++) ack_bits_add(&bits, (size_t)(acks[i]->message.handle.offset - h->start_offset));
    batch_ack_bits_write(&bits, &text);
    buf_printf(&retry, "%d", (int)h->kind);
    *row = (struct batch_ack){
        .bits = arena_copy(arena, buf_slice(&text)), .group = m->group, .retry = arena_copy(arena, buf_slice(&retry)), .topic = m->topic,
        .start_offset = h->start_offset, .pop_ms = h->pop_ms, .invisible_ms = h->invisible_ms, .queue_id = h->queue_id,
        .revive_queue = h->revive_queue,
    };
    buf_done(&text);
    buf_done(&retry);
}

static bool can_share(const struct ack *x) { return !x->sent && !x->status && fits(&x->message.handle) && !x->message.lite_topic.n; }

/* Those for the broker, one pop after the other; returns how many. */
static size_t collect(struct acking *a, const struct broker_peer *broker, struct ack **out)
{
    size_t count = 0;
    for (size_t i = 0; i < a->count; i++)
        if (can_share(&a->items[i]) && a->items[i].broker == broker) out[count++] = &a->items[i];
    qsort(out, count, sizeof *out, by_pop);
    return count;
}

static void send_batch(struct acking *a, struct broker_peer *broker, struct ack **acks, size_t count)
{
    struct arena arena = ARENA_EMPTY;
    struct buf text = BUF_EMPTY;
    struct batch_ack_body body = {.broker = slice_text(broker->name)};
    struct ack_batch *batch = request_take(a->request, sizeof *batch);
    *batch = (struct ack_batch){a, broker};
    arena.limit = SIZE_MAX / 2;
    for (size_t i = 0, n; i < count; i += n) {
        for (n = 1; i + n < count && !by_pop(&acks[i], &acks[i + n]);) n++;
        put_pop(acks + i, n, &body, &arena);
    }
    for (size_t i = 0; i < count; i++) acks[i]->sent = acks[i]->shared = true;
    bean_encode(&batch_ack_bean, &body, JSON_STRICT, &text);
    struct rpc_request q = {
        .code = REQUEST_BATCH_ACK_MESSAGE, .body = buf_slice(&text), .timeout_ms = CONSUMPTION_MS, .done = on_batch, .ctx = batch,
    };
    a->waits++;
    broker_request(broker, &q);
    buf_done(&text);
    arena_done(&arena);
}

/* --- what is acknowledged --- */

static struct v2_status *look_for_broker(struct ack *ack)
{
    struct request *r = ack->all->request;
    const struct receipt_handle *h = &ack->message.handle;
    ack->broker = request_broker(r, h->broker);
    if (receipt_handle_ends_ms(h) <= now_ms(r->proxy)) return status_new(r, V2_CODE_INVALID_RECEIPT_HANDLE, SLICE("receipt handle is expired"));
    if (ack->broker) return NULL;
    return status_new(r, V2_CODE_INVALID_RECEIPT_HANDLE, request_printf(r, "cannot find broker %.*s", SLICE_ARG(h->broker)));
}

static struct v2_status *unreadable(struct request *r)
{
    return status_new(r, V2_CODE_INTERNAL_SERVER_ERROR, SLICE("the receipt handle cannot be read"));
}

static void send_all(struct acking *a)
{
    struct ack **several = request_take(a->request, (a->count + 1) * sizeof *several);
    a->waits = 1;   /* until all are sent */
    for (size_t i = 0; i < a->count; i++) {
        struct ack *ack = &a->items[i];
        if (ack->sent || ack->status) continue;
        size_t count = a->request->proxy->cfg->batch_ack && can_share(ack) ? collect(a, ack->broker, several) : 0;
        if (count > 1) send_batch(a, ack->broker, several, count);
        else send_one(ack);
    }
    one_is_over(a);
}

/* Renewals that are under way end first: their handles would count and these not. */
static void with_facts(struct request *r)
{
    const struct v2_ack_message_request *q = r->in;
    struct acking *a = request_take(r, sizeof *a);
    *a = (struct acking){.request = r, .asked = q, .count = q->entries.count};
    a->items = request_take(r, (a->count + 1) * sizeof *a->items);
    for (size_t i = 0; i < a->count; i++) {
        struct ack *ack = &a->items[i];
        ack->all = a;
        ack->asked = &q->entries.items[i];
        ack->message = (struct held_message){q->group->name, q->topic->name, ack->asked->receipt_handle, {0}, ack->asked->lite_topic};
        if (!receipt_handle_parse(ack->message.text, &ack->message.handle)) ack->status = unreadable(r);
        else if (handles_wait(&r->proxy->handles, r, &ack->message, with_facts)) return;
    }
    for (size_t i = 0; i < a->count; i++) {
        struct ack *ack = &a->items[i];
        if (ack->status) continue;
        handles_take(&r->proxy->handles, r, &ack->message);
        ack->status = look_for_broker(ack);
    }
    send_all(a);
}

void serve_ack_message(struct request *r)
{
    const struct v2_ack_message_request *q = r->in;
    if (!check_topic(r, q->topic) || !check_group(r, q->group)) return;
    request_want(r, WANT_ROUTE, q->topic->name, (struct slice){NULL, 0}, with_facts);   /* it names the brokers, also to a proxy that is new */
}
