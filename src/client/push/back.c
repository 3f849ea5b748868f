#include "client/push/push.h"

#include "codec/requests.h"

#include <stdlib.h>

enum { BACK_TIMEOUT_MS = 5000 };

struct giving_back {
    struct work_queue *queue;
    struct held *held;
    void (*failed)(struct work_queue *q, struct held *h);
};

static void on_back(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct giving_back *g = ctx;
    struct work_queue *q = g->queue;
    struct sky_push_consumer *p = q->consumer;
    bool given = !e && reply->frame->code == RESPONSE_SUCCESS;
    if (!given) log_warn("consume.not_given_back topic=\"%s\" queue=%d offset=%lld why=\"%s\"", q->topic, q->id, (long long)g->held->offset, e ? err_text(e) : "refused");
    err_free(e);
    if (given) {
        int64_t messages = q->held.messages, bytes = q->held.bytes;
        held_done(&q->held, g->held);
        push_count(p, q, messages, bytes);
        offset_note(q, held_committable(&q->held), false);
    } else if (!q->dropped) g->failed(q, g->held);
    held_unref(g->held);
    free(g);
    work_unref(q);
    push_settle(p);
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
