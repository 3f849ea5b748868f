#include "client/push/push.h"

#include "codec/properties.h"
#include "codec/requests.h"
#include "meta/names.h"

#include <stdlib.h>

enum { BACK_TIMEOUT_MS = 5000, FIRST_RETRY_LEVEL = 3 };

struct giving_back {
    struct work_queue *queue;
    struct held *held;
    void (*failed)(struct work_queue *q, struct held *h);
};

/* Takes e. */
static void end(struct giving_back *g, bool given, err_t e)
{
    struct work_queue *q = g->queue;
    struct sky_push_consumer *p = q->consumer;
    if (!given)
        log_warn("consume.not_given_back topic=\"%s\" broker=\"%s\" queue=%d offset=%lld why=\"%s\"", q->topic, q->broker, q->id,
                 (long long)g->held->offset, e ? err_text(e) : "refused");
    err_free(e);
    if (given && !q->dropped) {
        int64_t messages = q->held.messages, bytes = q->held.bytes;
        held_done(&q->held, g->held);
        push_count(p, q, messages, bytes);
        offset_note(q, held_committable(&q->held), false);
    } else if (!q->dropped && !atomic_load(&p->stopping)) g->failed(q, g->held);
    held_unref(g->held);
    free(g);
    work_unref(q);
    push_settle(p);
}

/* --- as a new message of the group's retry topic, when the broker that has the message does not take it back --- */

static void on_sent(void *ctx, err_t e, const struct rpc_reply *reply)
{
    bool given = !e && reply->frame->code == RESPONSE_SUCCESS;
    end(ctx, given, e);
}

/* What is said in the header, or by no retry at all, is left out. */
static void put_properties(const struct sky_message *m, struct buf *out)
{
    static const char *const left_out[] = {"RETRY_TOPIC", "RECONSUME_TIME", "MAX_RECONSUME_TIMES", "TRAN_MSG", "DELAY"};
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&m->properties, &at));) {
        bool out_of_it = false;
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) out_of_it |= slice_eq(e->key, slice_text(left_out[i]));
        if (!out_of_it) properties_put(out, e->key, slice_text(e->value));
    }
    struct buf level = BUF_EMPTY;
    buf_put_i64_text(&level, FIRST_RETRY_LEVEL + m->arrival->reconsume_times);
    properties_put(out, SLICE("RETRY_TOPIC"), slice_text(m->topic));
    properties_put(out, SLICE("DELAY"), buf_slice(&level));
    buf_done(&level);
}

static void send_as_new(struct giving_back *g)
{
    struct sky_push_consumer *p = g->queue->consumer;
    struct sky_message *m = g->held->message;
    struct buf topic = BUF_EMPTY, properties = BUF_EMPTY;
    retry_topic_name(slice_text(p->options.group), &topic);
    struct topic_state *t = routes_topic(client_of(p), buf_slice(&topic));
    const struct sky_queue *to = t->count ? &t->queues[t->next++ % t->count] : NULL;
    struct slice address = to ? routes_address(client_of(p), slice_text(to->broker), 0) : (struct slice){NULL, 0};
    if (!address.p) {
        buf_done(&topic);
        end(g, false, err_new(ERR_NETWORK, "the group's retry topic has no queue"));
        return;
    }
    put_properties(m, &properties);
    struct send_header h = {
        .producer_group = SLICE("CLIENT_INNER_PRODUCER"), .topic = buf_slice(&topic), .default_topic = SLICE("TBW102"), .default_topic_queue_nums = 4,
        .queue_id = to->id, .sys_flag = m->arrival->sys_flag & (SYS_FLAG_COMPRESSED | 0x700), .flag = m->flag,
        .born_timestamp = tasks_wall_ms(tasks_of(p)), .properties = buf_slice(&properties), .reconsume_times = m->arrival->reconsume_times + 1,
        .max_reconsume_times = push_max_reconsume_times(p), .bname = slice_text(to->broker),
    };
    header_set(&h, send, reconsume_times);
    header_set(&h, send, max_reconsume_times);
    header_set(&h, send, unit_mode);
    struct rpc_request r = {.code = REQUEST_SEND_MESSAGE_V2, .kind = &send_v2_kind, .header = &h, .body = buf_slice(&m->body),
                            .timeout_ms = BACK_TIMEOUT_MS, .done = on_sent, .ctx = g};
    rpc_peer_request(routes_link(client_of(p), address)->peer, &r);
    buf_done(&topic);
    buf_done(&properties);
}

static void on_back(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct giving_back *g = ctx;
    if (!e && reply->frame->code == RESPONSE_SUCCESS) {
        end(g, true, NULL);
        return;
    }
    err_drop(e, "it is sent as a new message instead");
    if (g->queue->dropped) end(g, false, NULL);
    else send_as_new(g);
}

void send_back(struct work_queue *q, struct held *h, int32_t delay_level, void (*failed)(struct work_queue *, struct held *))
{
    struct sky_push_consumer *p = q->consumer;
    const struct arrival *a = h->message->arrival;
    struct slice address = routes_address(client_of(p), slice_text(q->broker), 0);
    struct giving_back *g = must_zero(sizeof *g);
    *g = (struct giving_back){work_ref(q), held_ref(h), failed};
    push_busy(p);
    if (!address.p) {
        on_back(g, err_new(ERR_NETWORK, "its broker has no master"), NULL);
        return;
    }
    struct send_back_header b = {.offset = a->log_offset, .group = slice_text(p->options.group), .delay_level = delay_level,
                                 .origin_msg_id = slice_text(a->id), .origin_topic = slice_text(h->message->topic),
                                 .max_reconsume_times = push_max_reconsume_times(p)};
    header_set(&b, send_back, max_reconsume_times);
    header_set(&b, send_back, unit_mode);
    struct rpc_request r = {.code = REQUEST_CONSUMER_SEND_MSG_BACK, .kind = &send_back_kind, .header = &b, .timeout_ms = BACK_TIMEOUT_MS,
                            .done = on_back, .ctx = g};
    rpc_peer_request(routes_link(client_of(p), address)->peer, &r);
}
