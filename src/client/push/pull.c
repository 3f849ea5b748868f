#include "client/push/push.h"

#include "codec/properties.h"
#include "codec/record.h"
#include "codec/requests.h"

#include <stdlib.h>

enum {
    SUSPEND_MS = 15000, PULL_TIMEOUT_MS = 30000,   /* the server holds it so long; then there must be an answer */
    FULL_PAUSE_MS = 50, BUSY_PAUSE_MS = 20, ERROR_PAUSE_MS = 1000, UNLOCKED_PAUSE_MS = 3000, SUSPENDED_PAUSE_MS = 1000,
    BATCH_BYTES = 256 << 10,
    FLAG_COMMIT = 1, FLAG_SUSPEND = 2,
};

/* One pull under way. Its queue may be dropped before the answer comes. */
struct pulling {
    struct work_queue *queue;    /* NULL: nobody waits any more */
};

/* --- limits --- */

/* The queue's own, or its share of the topic's. */
static int64_t limit_of(int32_t per_queue, int32_t per_topic, size_t queues)
{
    if (!per_topic || !queues) return per_queue;
    int64_t share = per_topic / (int64_t)queues;
    return share < 1 ? 1 : share;
}

/* 0: more may be fetched; else how long to wait first. */
static int64_t pause_of(const struct work_queue *q)
{
    const struct sky_push_consumer_options *o = &q->consumer->options;
    size_t queues = q->sub->queues;
    if (q->consumer->suspended) return SUSPENDED_PAUSE_MS;
    if (o->ordered && !q->locked) return UNLOCKED_PAUSE_MS;
    if (q->held.messages > limit_of(o->queue_messages, o->topic_messages, queues)) return FULL_PAUSE_MS;
    if (q->held.bytes > limit_of(o->queue_mib, o->topic_mib, queues) << 20) return FULL_PAUSE_MS;
    if (!o->ordered && held_span(&q->held) > o->queue_span) return FULL_PAUSE_MS;
    return 0;
}

/* --- what came --- */

static bool wants(const struct topic_sub *s, struct slice properties)
{
    if (!s->data.tags.count || !subscription_is_tag(s->data.type)) return true;
    struct slice tag = properties_get(properties, SLICE("TAGS"));
    for (size_t i = 0; i < s->data.tags.count; i++)
        if (tag.n && slice_eq(tag, s->data.tags.items[i])) return true;
    return false;
}

struct harvest {
    struct work_queue *queue;
    struct held **items;
    size_t count, cap;
};

static void take(struct harvest *v, const struct message *m)
{
    struct work_queue *q = v->queue;
    if (!wants(q->sub, m->properties)) return;
    struct held *h = held_add(&q->held, message_received(m, q->broker), m->queue_offset, (int64_t)m->body.n);
    if (!h) return;
    if (v->count == v->cap) {
        v->cap = v->cap ? v->cap * 2 : 64;
        v->items = realloc(v->items, v->cap * sizeof(struct held *));
        if (!v->items) abort();
    }
    v->items[v->count++] = h;
}

/* A record that is a whole batch: its messages have the offsets from its own one on. */
static void take_batch(struct harvest *v, const struct message *m)
{
    struct slice rest = m->body;
    struct message one = *m;
    bool broken = false;
    for (int64_t offset = m->queue_offset; batch_next(&rest, &one, &broken); offset++) {
        one.topic = m->topic;
        one.queue_offset = offset;
        one.sys_flag = m->sys_flag & ~(SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP);
        take(v, &one);
    }
    if (broken) log_warn("pull.broken_batch topic=\"%s\" queue=%d offset=%lld", v->queue->topic, v->queue->id, (long long)m->queue_offset);
}

static void take_records(struct harvest *v, struct slice body)
{
    while (body.n) {
        struct message m;
        if (record_read(body, &m) != RECORD_WHOLE) {
            log_warn("pull.broken_record topic=\"%s\" queue=%d bytes=%zu", v->queue->topic, v->queue->id, body.n);
            return;
        }
        if (m.sys_flag & SYS_FLAG_INNER_BATCH) take_batch(v, &m);
        else take(v, &m);
        body = slice_skip(body, record_read_size(&m));
    }
}

static void on_found(struct work_queue *q, struct slice body)
{
    struct harvest v = {.queue = q};
    int64_t messages = q->held.messages, bytes = q->held.bytes;
    take_records(&v, body);
    push_count(q->consumer, q, messages, bytes);
    lock_take(&q->consumer->numbers);
    q->consumer->pulled += (int64_t)v.count;
    lock_give(&q->consumer->numbers);
    if (v.count) consume_begin(q, v.items, v.count);
    free(v.items);
}

/* The server knows better where the queue goes on: it begins anew there, with nothing of what it holds. */
static void on_moved(struct work_queue *q, int64_t offset)
{
    struct sky_push_consumer *p = q->consumer;
    log_warn("pull.moved topic=\"%s\" broker=\"%s\" queue=%d from=%lld to=%lld", q->topic, q->broker, q->id, (long long)q->next_offset, (long long)offset);
    offset_note(q, offset, true);
    queue_drop(q);
    rebalance_later(p, 0);
}

static void go_on(struct work_queue *q, const struct pull_reply_header *h)
{
    q->next_offset = h->next_begin_offset;
    q->read_from = h->suggest_which_broker_id;
    if (!q->held.count) offset_note(q, q->next_offset, false);   /* what was passed over is done too */
    pull_now(q);
}

static void on_answer(struct work_queue *q, const struct frame *f)
{
    struct pull_reply_header h;
    int32_t code = f->code;
    bool moved = code == RESPONSE_PULL_OFFSET_MOVED, found = code == RESPONSE_SUCCESS;
    if (!found && !moved && code != RESPONSE_PULL_NOT_FOUND && code != RESPONSE_PULL_RETRY_IMMEDIATELY) {
        log_warn("pull.refused topic=\"%s\" broker=\"%s\" queue=%d code=%d why=\"%.*s\"", q->topic, q->broker, q->id, code, SLICE_ARG(f->remark));
        q->read_from = 0;
        pull_later(q, code == RESPONSE_SYSTEM_BUSY ? BUSY_PAUSE_MS : ERROR_PAUSE_MS);
        return;
    }
    err_t e = header_decode(&pull_reply_kind, f, &h);
    if (e) {
        log_warn("pull.unreadable topic=\"%s\" why=\"%s\"", q->topic, err_text(e));
        err_free(e);
        pull_later(q, ERROR_PAUSE_MS);
        return;
    }
    if (moved) {
        on_moved(q, h.next_begin_offset);
        return;
    }
    if (found) on_found(q, f->body);
    go_on(q, &h);
}

static void on_pulled(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct pulling *x = ctx;
    struct work_queue *q = x->queue;
    free(x);
    if (!q) {
        err_drop(e, "the queue is somebody else's");
        return;
    }
    q->pulling = NULL;
    if (!e) {
        on_answer(q, reply->frame);
        return;
    }
    log_info("pull.failed topic=\"%s\" broker=\"%s\" queue=%d why=\"%s\"", q->topic, q->broker, q->id, err_text(e));
    err_free(e);
    q->read_from = 0;
    pull_later(q, ERROR_PAUSE_MS);
}

/* --- asking --- */

static void request(struct work_queue *q, struct slice address)
{
    const struct sky_push_consumer_options *o = &q->consumer->options;
    struct pulling *x = must_zero(sizeof *x);
    bool commits = !o->broadcast && q->commit_offset > 0 && q->read_from == 0;
    struct pull_header h = {
        .consumer_group = slice_text(o->group), .topic = slice_text(q->topic), .queue_id = q->id, .queue_offset = q->next_offset,
        .max_msg_nums = o->pull_batch, .max_msg_bytes = BATCH_BYTES, .sys_flag = FLAG_SUSPEND | (commits ? FLAG_COMMIT : 0),
        .commit_offset = commits ? q->commit_offset : 0, .suspend_timeout_millis = SUSPEND_MS, .sub_version = q->sub->data.version,
        .expression_type = q->sub->data.type, .bname = slice_text(q->broker),
    };
    header_set(&h, pull, max_msg_bytes);
    x->queue = q;
    q->pulling = x;
    struct rpc_request r = {.code = REQUEST_PULL_MESSAGE, .kind = &pull_kind, .header = &h, .timeout_ms = PULL_TIMEOUT_MS, .done = on_pulled, .ctx = x};
    rpc_peer_request(routes_link(client_of(q->consumer), address)->peer, &r);
}

void pull_now(struct work_queue *q)
{
    if (q->dropped || q->pulling || q->next_offset < 0 || atomic_load(&q->consumer->stopping)) return;
    q->pulled_ms = tasks_mono_ms(tasks_of(q->consumer));
    int64_t pause = pause_of(q);
    struct slice broker = slice_text(q->broker), address = routes_address(client_of(q->consumer), broker, q->read_from);
    if (!address.p) address = routes_address(client_of(q->consumer), broker, 0);
    if (!pause && !address.p) pause = ERROR_PAUSE_MS;
    if (pause) pull_later(q, pause);
    else request(q, address);
}

void pull_later(struct work_queue *q, int64_t delay_ms)
{
    if (!q->dropped && !atomic_load(&q->consumer->stopping)) timer_start(tasks_of(q->consumer), &q->again, delay_ms);
}

void pull_forget(struct work_queue *q)
{
    if (q->pulling) q->pulling->queue = NULL;
    q->pulling = NULL;
    timer_stop(tasks_of(q->consumer), &q->again);
}
