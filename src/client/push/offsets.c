#include "client/push/push.h"

#include "codec/requests.h"

#include <stdlib.h>

enum { OFFSET_TIMEOUT_MS = 5000, BEGIN_AGAIN_MS = 1000 };

void offset_note(struct work_queue *q, int64_t offset, bool force)
{
    if (force || offset > q->commit_offset) q->commit_offset = offset;
}

void offset_tell(const struct work_queue *q)
{
    const struct sky_push_consumer *p = q->consumer;
    struct slice address = routes_address(client_of(p), slice_text(q->broker), 0);
    if (q->commit_offset < 0 || p->options.broadcast || !address.p) return;
    struct update_offset_header h = {.consumer_group = slice_text(p->options.group), .topic = slice_text(q->topic), .queue_id = q->id,
                                     .commit_offset = q->commit_offset, .bname = slice_text(q->broker)};
    struct rpc_request r = {.code = REQUEST_UPDATE_CONSUMER_OFFSET, .kind = &update_offset_kind, .header = &h, .timeout_ms = OFFSET_TIMEOUT_MS};
    rpc_peer_request(routes_link(client_of(p), address)->peer, &r);
}

/* --- where a queue begins: what the group committed, else what was configured --- */

static void begin_at(struct work_queue *q, int64_t offset)
{
    q->next_offset = offset;
    q->held.next_offset = offset;
    log_info("queue.begins topic=\"%s\" broker=\"%s\" queue=%d offset=%lld", q->topic, q->broker, q->id, (long long)offset);
    pull_now(q);
}

/* It is taken again, with another question, at the next time queues are shared. */
static void give_up(struct work_queue *q, err_t e, const struct rpc_reply *reply)
{
    struct sky_push_consumer *p = q->consumer;
    log_warn("queue.no_offset topic=\"%s\" broker=\"%s\" queue=%d why=\"%s\" code=%d", q->topic, q->broker, q->id, e ? err_text(e) : "refused",
             reply ? reply->frame->code : 0);
    err_free(e);
    queue_drop(q);
    rebalance_later(p, BEGIN_AGAIN_MS);
}

/* The queue that was asked for; NULL when it was dropped meanwhile. Ends the request. */
static struct work_queue *asked(void *ctx)
{
    struct work_queue *q = ctx;
    bool gone = q->dropped;
    work_unref(q);
    return gone ? NULL : q;
}

static void on_start(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct sky_push_consumer *p = ((struct work_queue *)ctx)->consumer;
    struct work_queue *q = asked(ctx);
    struct offset_reply_header h = {.offset = -1};
    if (!e && reply->frame->code == RESPONSE_SUCCESS) e = header_decode(&offset_reply_kind, reply->frame, &h);
    if (q && !e && h.offset >= 0) begin_at(q, h.offset);
    else if (q) give_up(q, e, reply);
    else err_drop(e, "the queue is somebody else's");
    push_settle(p);
}

static void ask(struct work_queue *q, int32_t code, const struct header_kind *kind, const void *header, rpc_done *done)
{
    struct sky_push_consumer *p = q->consumer;
    struct slice address = routes_address(client_of(p), slice_text(q->broker), 0);
    struct rpc_request r = {.code = code, .kind = kind, .header = header, .timeout_ms = OFFSET_TIMEOUT_MS, .done = done, .ctx = work_ref(q)};
    push_busy(p);
    if (address.p) rpc_peer_request(routes_link(client_of(p), address)->peer, &r);
    else done(q, err_new(ERR_NETWORK, "its broker has no master"), NULL);
}

/* Facts: docs/protocol/semantics.md 6.1 */
static void ask_start(struct work_queue *q)
{
    const struct sky_push_consumer_options *o = &q->consumer->options;
    struct slice topic = slice_text(q->topic), broker = slice_text(q->broker);
    if (o->start == SKY_START_FIRST || (o->start == SKY_START_LAST && q->sub->is_retry)) {
        begin_at(q, 0);
    } else if (o->start == SKY_START_AT_TIME && !q->sub->is_retry) {
        struct search_offset_header h = {.topic = topic, .queue_id = q->id, .timestamp = o->start_ms, .bname = broker};
        ask(q, REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, &search_offset_kind, &h, on_start);
    } else {
        struct max_offset_header h = {.topic = topic, .queue_id = q->id, .bname = broker};
        ask(q, REQUEST_GET_MAX_OFFSET, &max_offset_kind, &h, on_start);
    }
}

static void on_committed(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct sky_push_consumer *p = ((struct work_queue *)ctx)->consumer;
    struct work_queue *q = asked(ctx);
    struct query_offset_reply_header h = {.offset = -1};
    bool none = !e && reply->frame->code == RESPONSE_QUERY_NOT_FOUND;
    if (!e && reply->frame->code == RESPONSE_SUCCESS) e = header_decode(&query_offset_reply_kind, reply->frame, &h);
    if (!q) err_drop(e, "the queue is somebody else's");
    else if (none) ask_start(q);
    else if (!e && h.offset >= 0) {
        q->commit_offset = h.offset;
        begin_at(q, h.offset);
    } else give_up(q, e, reply);
    push_settle(p);
}

void offset_begin(struct work_queue *q)
{
    const struct sky_push_consumer_options *o = &q->consumer->options;
    if (o->broadcast) {
        ask_start(q);
        return;
    }
    struct query_offset_header h = {.consumer_group = slice_text(o->group), .topic = slice_text(q->topic), .queue_id = q->id, .bname = slice_text(q->broker)};
    ask(q, REQUEST_QUERY_CONSUMER_OFFSET, &query_offset_kind, &h, on_committed);
}
