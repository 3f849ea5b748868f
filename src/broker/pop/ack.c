/* Acknowledgements, and times that are changed. Facts: docs/protocol/pop.md 3.3, 3.4, 5 */
#include "broker/handlers.h"
#include "broker/pop/pop_state.h"

#include "base/log.h"
#include "codec/body_batch_ack.h"
#include "codec/receipt_handle.h"
#include "codec/record.h"

#include <stdlib.h>

static const char no_remark[] = "not set any response code";

/* --- may it be --- */

static err_t check_topic(struct broker *b, const struct call *call, struct slice name, int32_t queue_id)
{
    char text[ADDR_TEXT_MAX];
    const struct topic *topic = topics_find(b->topics, name);
    if (!topic) return err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist, apply first please! " SEE_FAQ, SLICE_ARG(name));
    if (queue_id >= 0 && queue_id < topic->config.read_queues) return NULL;
    return err_new(ERR_MESSAGE_ILLEGAL, "queueId[%d] is illegal, topic:[%.*s] topicConfig.readQueueNums:[%d] consumer:[/%s]", queue_id,
                   SLICE_ARG(name), topic->config.read_queues, addr_format(rpc_conn_remote(call->conn), text));
}

static err_t check_handle(struct slice text, struct receipt_handle *out)
{
    if (receipt_handle_parse(text, out)) return NULL;
    return err_new(ERR_FIELD, "the custom field <extraInfo> is no receipt handle: \"%.*s\"", SLICE_ARG(text));
}

/* --- one that is written down --- */

/* A request whose acknowledgements are being stored. */
struct acking {
    struct saver_waiter saved;       /* of ordered ones */
    struct pop *pop;
    struct call *call;
    uint32_t under_way;
    err_t failed;
    bool change;                     /* it is answered as a change, with these */
    struct change_invisible_reply_header reply;
};

/* One record. */
struct ack_write {
    struct acking *acking;
    struct check_point *point;       /* NULL: the table does not know it */
    uint32_t bits;
    struct check_point *renewed;     /* by a change: out until another time */
    struct appended appended;
};

static struct acking *acking_new(struct pop *p, struct call *call)
{
    struct acking *a = must_zero(sizeof *a);
    a->pop = p;
    a->call = call;
    a->under_way = 1;   /* whoever adds to it */
    return a;
}

static void fail_change(struct call *call, err_t e)
{
    struct change_invisible_reply_header none = {.pop_time = 0};
    call_reply(call, err_response(e), err_text(e), &change_invisible_reply_kind, &none, (struct slice){NULL, 0});
    err_free(e);
}

static void reply(struct acking *a)
{
    if (a->failed && a->change) fail_change(a->call, a->failed);
    else if (a->failed) call_fail(a->call, a->failed);
    else if (a->change) call_reply(a->call, RESPONSE_SUCCESS, no_remark, &change_invisible_reply_kind, &a->reply, (struct slice){NULL, 0});
    else call_reply_ok(a->call);
}

static void one_less(struct acking *a, err_t e)
{
    if (e && !a->failed) a->failed = e;
    else err_free(e);
    if (--a->under_way) return;
    reply(a);
    free(a);
}

/* Below its limit again, a queue that was over it has something for those that wait. */
static void tell_limit(struct pop *p, const struct lease_queue *q)
{
    const struct config_broker *cfg = &p->broker->cfg->broker;
    if (cfg->pop_in_flight_limited && (int64_t)q->out <= cfg->pop_in_flight) wait_wake_real(p, q->topic, q->group, q->queue_id);
}

static void give_back_bits(struct pop *p, struct check_point *point, uint32_t bits)
{
    for (size_t i = 0; i < point->count; i++)
        if (bits >> i & 1) leases_unack(&p->leases, point, i);
    pop_arm(p);
}

static void ack_stored(void *ctx, err_t e)
{
    struct ack_write *w = ctx;
    struct pop *p = w->acking->pop;
    struct check_point *point = w->point;
    bool lost = e && err_code(e) != ERR_FLUSH_DISK_TIMEOUT;
    if (point) {
        point->busy--;
        if (lost) give_back_bits(p, point, w->bits);
        tell_limit(p, point->queue);
        pop_settle(p, point);
    }
    one_less(w->acking, e);
    free(w);
}

/* The bits of the check point are out no more once that is written down. */
static void write_ack(struct acking *a, const struct pop_record *r, int32_t revive_queue, int64_t due_ms, struct check_point *point, uint32_t bits)
{
    struct pop *p = a->pop;
    struct ack_write *w = must_zero(sizeof *w);
    w->acking = a;
    w->point = point;
    w->bits = bits;
    err_t e = pop_store(p, r, revive_queue, due_ms, ack_stored, w, &w->appended);
    a->under_way++;
    if (e) {
        free(w);
        one_less(a, e);
        return;
    }
    if (!point) return;
    point->busy++;
    for (size_t i = 0; i < point->count; i++)
        if (bits >> i & 1) leases_ack(&p->leases, point, i);
}

/* --- which message is meant --- */

/* What handles and bodies tell. */
struct ack_of {
    struct slice topic, group, broker;
    int32_t queue_id, revive_queue;
    int64_t start_offset, pop_ms, due_ms;
};

static struct pop_record record_of(const struct ack_of *of)
{
    return (struct pop_record){
        .topic = of->topic, .group = of->group, .broker = of->broker, .queue_id = of->queue_id, .start_offset = of->start_offset, .pop_ms = of->pop_ms,
    };
}

static bool is_of(const struct pop *p, const struct check_point *point, struct slice broker)
{
    return !broker.n || slice_eq(broker, point->broker ? slice_text(point->broker) : p->own_broker);
}

static struct check_point *find_point(struct pop *p, const struct ack_of *of, struct lease_queue **queue)
{
    *queue = leases_queue(&p->leases, of->topic, of->group, of->queue_id, false);
    struct check_point *point = leases_find(&p->leases, *queue, of->start_offset, of->pop_ms);
    return point && is_of(p, point, of->broker) ? point : NULL;
}

/* An earlier run's whose records were not all read may be out, though nobody here knows. */
static bool may_be_out(const struct pop *p, const struct ack_of *of)
{
    return !p->complete && of->due_ms > tasks_wall_ms(p->broker->tasks) && of->revive_queue >= 0 && of->revive_queue < p->revive_queue_count;
}

/* The message is out by another handle. */
static bool is_stale(const struct lease_queue *q, int64_t offset)
{
    size_t at;
    return q && leases_find_message(q, offset, &at);
}

static err_t stale(const struct ack_of *of, int64_t offset)
{
    return err_new(ERR_NO_MESSAGE, "the receipt handle is not valid any more, key:%.*s@%d, offset:%lld: the message is out by another one",
                   SLICE_ARG(of->topic), of->queue_id, (long long)offset);
}

/* Bits of the check point that are acknowledged now. What is out no more is passed over: it was acknowledged, or came too late. */
static uint32_t bits_of(const struct check_point *point, const int64_t *offsets, size_t count, int64_t *kept, size_t *kept_count)
{
    uint32_t bits = 0;
    for (size_t i = 0; i < count; i++) {
        int at = leases_index(point, offsets[i]);
        if (at < 0 || !leases_is_out(point, (size_t)at) || bits >> at & 1) continue;
        bits |= (uint32_t)1 << at;
        kept[(*kept_count)++] = offsets[i];
    }
    return bits;
}

/* Acknowledges some of a check point; a stale handle is an error for who acknowledges one message. */
static err_t ack_some(struct acking *a, const struct ack_of *of, int64_t *offsets, size_t count, bool one)
{
    struct pop *p = a->pop;
    struct lease_queue *q;
    int64_t kept[POINT_MESSAGES_MAX];
    struct pop_record r = record_of(of);
    struct check_point *point = find_point(p, of, &q);
    r.offsets = point ? kept : offsets;
    uint32_t bits = point ? bits_of(point, offsets, count, kept, &r.offset_count) : 0;
    if (!point && may_be_out(p, of)) r.offset_count = count;
    if (!r.offset_count) return one && is_stale(q, offsets[0]) ? stale(of, offsets[0]) : NULL;
    r.kind = one ? POP_ACK : POP_BATCH_ACK;
    metric_add(&p->broker->metrics, METRIC_POP_ACKS, (int64_t)r.offset_count);
    write_ack(a, &r, point ? point->revive_queue : of->revive_queue, point ? leases_due_ms(point) : of->due_ms, point, bits);
    return NULL;
}

/* --- ordered --- */

static err_t ack_ordered(struct pop *p, const struct call *call, const struct ack_of *of, int64_t offset)
{
    struct broker *b = p->broker;
    char text[ADDR_TEXT_MAX];
    int64_t next = -1, old = offsets_query(b->offsets, of->topic, of->group, of->queue_id);
    const char *client = addr_format(rpc_conn_remote(call->conn), text);
    if (offset < old) return NULL;
    enum order_result result = order_ack(&p->order, of->topic, of->group, of->queue_id, offset, of->pop_ms, &next);
    if (result == ORDER_ILLEGAL)
        return err_new(ERR_MESSAGE_ILLEGAL, "offset is illegal, key:%.*s@%.*s@%d, old:%lld, commit:%lld, next:-1, /%s", SLICE_ARG(of->topic),
                       SLICE_ARG(of->group), of->queue_id, (long long)old, (long long)offset, client);
    if (result == ORDER_IGNORED) return NULL;
    metric_add(&b->metrics, METRIC_POP_ACKS, 1);
    if (!offsets_reset_pending(b->offsets, of->topic, of->group, of->queue_id))
        offsets_commit(b->offsets, slice_text(client), of->topic, of->group, of->queue_id, next);
    const struct order_queue *q = order_find(&p->order, of->topic, of->group, of->queue_id);
    int64_t now_ms = tasks_wall_ms(b->tasks);
    if (!q || q->by_groups || !order_is_blocked(q, (struct slice){NULL, 0}, 0, now_ms)) wait_wake(p, of->topic, of->group, of->queue_id);
    return NULL;
}

static void ordered_saved(struct saver_waiter *w, err_t e) { one_less(LIST_OWNER(w, struct acking, saved), e); }

/* Answered when that is on disk, in a broker that syncs. */
static void reply_ordered(struct acking *a)
{
    a->saved.done = ordered_saved;
    order_when_saved(&a->pop->order, &a->saved);
}

/* --- handlers --- */

static err_t check_ack(struct broker *b, const struct call *call, const struct ack_header *h)
{
    err_t e = check_topic(b, call, h->topic, h->queue_id);
    if (e) return e;
    int64_t min = store_min_offset(b->store, h->topic, h->queue_id), max = store_max_offset(b->store, h->topic, h->queue_id);
    if (h->offset >= min && h->offset <= max) return NULL;
    return err_new(ERR_NO_MESSAGE, "offset is illegal, key:%.*s@%d, commit:%lld, store:%lld~%lld", SLICE_ARG(h->topic), h->queue_id,
                   (long long)h->offset, (long long)min, (long long)max);
}

static struct ack_of of_handle(struct slice topic, struct slice group, int32_t queue_id, const struct receipt_handle *h)
{
    return (struct ack_of){
        .topic = topic, .group = group, .broker = h->broker, .queue_id = queue_id, .revive_queue = h->revive_queue,
        .start_offset = h->start_offset, .pop_ms = h->pop_ms, .due_ms = receipt_handle_ends_ms(h),
    };
}

static bool is_lite(struct slice lite_topic) { return slice_trim(lite_topic).n; }

/* Of a lite topic, the queue is that of the lite topic. */
static void ack_lite(struct broker *b, struct call *call, const struct ack_header *h)
{
    struct receipt_handle handle;
    err_t e = check_topic(b, call, h->topic, h->queue_id);
    if (!e) e = check_handle(h->extra_info, &handle);
    if (!e) e = broker_lite_ack(b, h, &handle);
    if (e) call_fail(call, e);
    else call_reply_ok(call);
}

void handle_ack(struct broker *b, struct call *call)
{
    struct ack_header h;
    struct receipt_handle handle;
    err_t e = header_decode(&ack_kind, call->frame, &h);
    if (!e && is_lite(h.lite_topic)) {
        ack_lite(b, call, &h);
        return;
    }
    if (!e && !b->pop->ready) {
        pop_later(b->pop, call);
        return;
    }
    if (!e) e = check_ack(b, call, &h);
    if (disk_again(b, call)) {
        err_free(e);
        return;
    }
    if (!e) e = check_handle(h.extra_info, &handle);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct acking *a = acking_new(b->pop, call);
    struct ack_of of = of_handle(h.topic, h.consumer_group, h.queue_id, &handle);
    if (handle.revive_queue != ORDERED_REVIVE_QUEUE) {
        one_less(a, ack_some(a, &of, &h.offset, 1, true));
        return;
    }
    e = ack_ordered(b->pop, call, &of, h.offset);
    if (e) one_less(a, e);
    else reply_ordered(a);
}

/* --- many at once --- */

/* The offsets that the bits name, within the queue. Those that are older than all of it are out no more, and need not be told apart. */
static size_t offsets_named(struct broker *b, const struct ack_of *of, const struct ack_bits *bits, int64_t *offsets)
{
    int64_t max = store_max_offset(b->store, of->topic, of->queue_id);
    size_t n = 0;
    for (size_t i = 0; i < BATCH_ACK_BITS_MAX; i++) {
        int64_t offset;
        if (!ack_bits_has(bits, i) || __builtin_add_overflow(of->start_offset, (int64_t)i, &offset)) continue;
        if (offset >= 0 && offset <= max) offsets[n++] = offset;
    }
    return n;
}

/* True: it made an ordered queue move. */
static bool ack_entry(struct acking *a, const struct batch_ack *entry, struct slice broker)
{
    struct pop *p = a->pop;
    struct ack_bits bits;
    struct buf name = BUF_EMPTY;
    enum pop_kind kind;
    int64_t due_ms, *offsets = must_alloc(BATCH_ACK_BITS_MAX * sizeof *offsets);
    bool good = entry->topic.p && entry->group.p && pop_kind_parse(entry->retry, &kind) && batch_ack_bits_read(entry->bits, &bits) &&
                !__builtin_add_overflow(entry->pop_ms, entry->invisible_ms, &due_ms);
    bool ordered = good && entry->revive_queue == ORDERED_REVIVE_QUEUE;
    if (good) {
        pop_topic_name(kind, entry->group, entry->topic, &name);
        struct ack_of of = {
            .topic = buf_slice(&name), .group = entry->group, .broker = broker, .queue_id = entry->queue_id, .revive_queue = entry->revive_queue,
            .start_offset = entry->start_offset, .pop_ms = entry->pop_ms, .due_ms = due_ms,
        };
        size_t n = offsets_named(p->broker, &of, &bits, offsets);
        for (size_t i = 0; ordered && i < n; i++) err_drop(ack_ordered(p, a->call, &of, offsets[i]), "the others of the batch count");
        if (!ordered && n) err_drop(ack_some(a, &of, offsets, n, false), "the others of the batch count");
    }
    buf_done(&name);
    free(offsets);
    return ordered;
}

/* Each is taken for itself: what one does not name rightly is passed over. */
void handle_batch_ack(struct broker *b, struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct batch_ack_body body = {.acks = {NULL, 0}};
    if (!b->pop->ready) {
        pop_later(b->pop, call);
        return;
    }
    err_t e = call->body.n ? bean_decode(&batch_ack_bean, call->body, &arena, "acknowledgements", &body) : NULL;
    if (e) {
        call_fail(call, e);
    } else if (!body.acks.count) {
        call_reply(call, RESPONSE_NO_MESSAGE, NULL, NULL, NULL, (struct slice){NULL, 0});
    } else {
        struct acking *a = acking_new(b->pop, call);
        bool ordered = false;
        for (size_t i = 0; i < body.acks.count; i++) ordered |= ack_entry(a, &body.acks.items[i], body.broker);
        if (ordered) reply_ordered(a);
        else one_less(a, NULL);
    }
    arena_done(&arena);
}

/* --- another time --- */

static err_t check_time(struct broker *b, int64_t invisible_ms)
{
    int64_t end_ms;
    if (!__builtin_add_overflow(tasks_wall_ms(b->tasks), invisible_ms, &end_ms)) return NULL;
    return err_new(ERR_INVALID, "the invisible time %lld never ends", (long long)invisible_ms);
}

static err_t check_change(struct broker *b, const struct call *call, const struct change_invisible_header *h)
{
    err_t e = check_topic(b, call, h->topic, h->queue_id);
    if (e) return e;
    int64_t min = store_min_offset(b->store, h->topic, h->queue_id), max = store_max_offset(b->store, h->topic, h->queue_id);
    if (h->offset < min || h->offset >= max) return err_new(ERR_NO_MESSAGE, "%s", no_remark);
    return check_time(b, h->invisible_time);
}

static void renewal_stored(void *ctx, err_t e)
{
    struct ack_write *w = ctx;
    struct pop *p = w->acking->pop;
    struct check_point *renewed = w->renewed, *old = w->point;
    renewed->storing = false;
    renewed->queue->storing--;
    if (e && err_code(e) != ERR_FLUSH_DISK_TIMEOUT) {
        leases_ack(&p->leases, renewed, 0);   /* it is out as it was before */
        if (old) give_back_bits(p, old, w->bits);
    }
    if (old) {
        old->busy--;
        pop_settle(p, old);
    }
    pop_settle(p, renewed);
    one_less(w->acking, e);
    free(w);
}

/* Check points are named by their time: two of one message have two. */
static int64_t unused_ms(struct pop *p, const struct lease_queue *q, int64_t offset)
{
    int64_t ms = tasks_wall_ms(p->broker->tasks);
    while (leases_find(&p->leases, q, offset, ms)) ms++;
    return ms;
}

/* One check point more, of this message alone, and the old one ends: written in this order, so that the message is never nobody's. */
static err_t renew(struct acking *a, struct lease_queue *q, struct check_point *old, uint32_t bits, const struct ack_of *of, int64_t offset,
                   int64_t invisible_ms, bool suspend)
{
    struct pop *p = a->pop;
    struct pop_record r = record_of(of), ack = record_of(of);
    int32_t revive_queue = old ? old->revive_queue : of->revive_queue;
    r.kind = POP_POINT;
    r.broker = p->own_broker;
    r.start_offset = offset;
    r.pop_ms = unused_ms(p, q, offset);
    r.invisible_ms = invisible_ms;
    r.suspend = suspend;
    r.count = 1;
    struct check_point *renewed = leases_add(&p->leases, q, &r);
    struct ack_write *w = must_zero(sizeof *w);
    w->acking = a;
    w->point = old;
    w->bits = bits;
    w->renewed = renewed;
    renewed->revive_queue = revive_queue;
    err_t e = pop_store(p, &r, revive_queue, r.pop_ms + invisible_ms - 1000, renewal_stored, w, &w->appended);
    if (e) {
        leases_remove(&p->leases, renewed);
        free(w);
        return e;
    }
    renewed->storing = true;
    renewed->next_offset = -1;
    q->storing++;
    a->under_way++;
    if (old) old->busy++;
    ack.kind = POP_ACK;
    ack.offsets = &offset;
    ack.offset_count = 1;
    write_ack(a, &ack, revive_queue, of->due_ms, old, 0);
    for (size_t i = 0; old && i < old->count; i++)
        if (bits >> i & 1) leases_ack(&p->leases, old, i);
    a->reply = (struct change_invisible_reply_header){.pop_time = r.pop_ms, .invisible_time = invisible_ms, .revive_qid = revive_queue};
    pop_arm(p);
    return NULL;
}

static err_t change(struct acking *a, const struct ack_of *of, const struct change_invisible_header *h)
{
    struct pop *p = a->pop;
    struct lease_queue *q;
    struct check_point *old = find_point(p, of, &q);
    int at = old ? leases_index(old, h->offset) : -1;
    bool out = at >= 0 && leases_is_out(old, (size_t)at);
    if (!out && old) return stale(of, h->offset);
    if (!out && (!may_be_out(p, of) || is_stale(q, h->offset)))
        return err_new(ERR_NO_MESSAGE, "the receipt handle is not valid any more, key:%.*s@%d, offset:%lld", SLICE_ARG(of->topic), of->queue_id,
                       (long long)h->offset);
    if (!q) q = pop_queue(p, of->topic, of->group, of->queue_id);
    if (!q) return err_new(ERR_NO_MESSAGE, "%s", no_remark);
    return renew(a, q, old, out ? (uint32_t)1 << at : 0, of, h->offset, h->invisible_time, h->suspend);
}

/* The handle of an ordered pop stays as it is. */
static err_t change_ordered(struct acking *a, const struct ack_of *of, const struct change_invisible_header *h)
{
    struct pop *p = a->pop;
    int64_t visible_ms = tasks_wall_ms(p->broker->tasks) + h->invisible_time;
    if (h->offset < offsets_query(p->broker->offsets, of->topic, of->group, of->queue_id)) return NULL;
    order_change(&p->order, of->topic, of->group, of->queue_id, h->offset, of->pop_ms, visible_ms);
    a->reply = (struct change_invisible_reply_header){
        .pop_time = of->pop_ms, .invisible_time = visible_ms - of->pop_ms, .revive_qid = ORDERED_REVIVE_QUEUE,
    };
    const struct order_queue *q = order_find(&p->order, of->topic, of->group, of->queue_id);
    if (!q) return NULL;
    if (!order_is_blocked(q, (struct slice){NULL, 0}, 0, tasks_wall_ms(p->broker->tasks))) wait_wake(p, of->topic, of->group, of->queue_id);
    pop_arm_unlock(p, order_unlock_ms(q, tasks_wall_ms(p->broker->tasks)));
    return NULL;
}

static void change_lite(struct broker *b, struct call *call, const struct change_invisible_header *h)
{
    struct receipt_handle handle;
    struct change_invisible_reply_header reply;
    err_t e = check_topic(b, call, h->topic, h->queue_id);
    if (!e) e = check_time(b, h->invisible_time);
    if (!e) e = check_handle(h->extra_info, &handle);
    if (!e) e = broker_lite_change(b, h, &handle, &reply);
    if (e) fail_change(call, e);
    else call_reply(call, RESPONSE_SUCCESS, no_remark, &change_invisible_reply_kind, &reply, (struct slice){NULL, 0});
}

void handle_change_invisible(struct broker *b, struct call *call)
{
    struct change_invisible_header h;
    struct receipt_handle handle;
    err_t e = header_decode(&change_invisible_kind, call->frame, &h);
    if (!e && is_lite(h.lite_topic)) {
        change_lite(b, call, &h);
        return;
    }
    if (!e && !b->pop->ready) {
        pop_later(b->pop, call);
        return;
    }
    if (!e) e = check_change(b, call, &h);
    if (disk_again(b, call)) {
        err_free(e);
        return;
    }
    if (!e) e = check_handle(h.extra_info, &handle);
    if (e) {
        fail_change(call, e);
        return;
    }
    struct acking *a = acking_new(b->pop, call);
    struct ack_of of = of_handle(h.topic, h.consumer_group, h.queue_id, &handle);
    bool ordered = handle.revive_queue == ORDERED_REVIVE_QUEUE;
    a->change = true;
    e = ordered ? change_ordered(a, &of, &h) : change(a, &of, &h);
    if (ordered && !e) reply_ordered(a);
    else one_less(a, e);
}
