#include "proxy/consumption.h"

#include "codec/requests.h"

#include <stdlib.h>

static void ignore(void *ctx, err_t e, const struct rpc_reply *reply)
{
    (void)ctx;
    (void)reply;
    err_drop(e, "the message becomes visible again by itself");
}

void consumption_ack(struct broker_peer *b, const struct held_message *m, rpc_done *done, void *ctx)
{
    struct buf topic = BUF_EMPTY;
    pop_topic_name(m->handle.kind, m->group, m->topic, &topic);
    struct ack_header h = {
        .consumer_group = m->group, .topic = buf_slice(&topic), .queue_id = m->handle.queue_id, .extra_info = m->text,
        .offset = m->handle.offset, .lite_topic = m->lite_topic, .bname = slice_text(b->name),
    };
    struct rpc_request q = {
        .code = REQUEST_ACK_MESSAGE, .kind = &ack_kind, .header = &h, .timeout_ms = CONSUMPTION_MS, .done = done ? done : ignore, .ctx = ctx,
    };
    broker_request(b, &q);
    buf_done(&topic);
}

void consumption_change(struct broker_peer *b, const struct held_message *m, int64_t invisible_ms, bool suspend, rpc_done *done, void *ctx)
{
    struct buf topic = BUF_EMPTY;
    pop_topic_name(m->handle.kind, m->group, m->topic, &topic);
    struct change_invisible_header h = {
        .consumer_group = m->group, .topic = buf_slice(&topic), .queue_id = m->handle.queue_id, .extra_info = m->text,
        .offset = m->handle.offset, .invisible_time = invisible_ms, .lite_topic = m->lite_topic, .suspend = suspend,
        .bname = slice_text(b->name),
    };
    header_set(&h, change_invisible, suspend);
    struct rpc_request q = {
        .code = REQUEST_CHANGE_MESSAGE_INVISIBLETIME, .kind = &change_invisible_kind, .header = &h, .timeout_ms = CONSUMPTION_MS,
        .done = done ? done : ignore, .ctx = ctx,
    };
    broker_request(b, &q);
    buf_done(&topic);
}

void consumption_give_back(struct proxy *p, const struct held_message *m, bool suspend)
{
    struct broker_peer *b = brokers_find(&p->brokers, m->handle.broker);
    if (b) consumption_change(b, m, p->cfg->clear_invisible_ms, suspend, NULL, NULL);
}

bool consumption_is_outdated(const struct frame *reply)
{
    return reply->code == RESPONSE_NO_MESSAGE && slice_starts(reply->remark, SLICE("the receipt handle is not valid any more"));
}

err_t consumption_changed_handle(const struct held_message *m, const struct frame *reply, struct buf *out)
{
    struct change_invisible_reply_header h;
    err_t e = header_decode(&change_invisible_reply_kind, reply, &h);
    if (e) return e;
    struct receipt_handle now = m->handle;
    now.start_offset = m->handle.offset;
    now.pop_ms = h.pop_time;
    now.invisible_ms = h.invisible_time;
    now.revive_queue = h.revive_qid;
    receipt_handle_write(&now, out);
    return NULL;
}

/* --- dead letters --- */

struct burial {
    struct broker_peer *broker;
    struct held_message message;
    char *group, *topic, *text, *lite_topic;
    rpc_done *done;
    void *ctx;
};

static void buried(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct burial *b = ctx;
    if (!e && reply->frame->code == RESPONSE_SUCCESS) consumption_ack(b->broker, &b->message, NULL, NULL);
    if (b->done) b->done(b->ctx, e, reply);
    else err_drop(e, "it is tried again when the message is delivered again");
    free(b->group);
    free(b->topic);
    free(b->text);
    free(b->lite_topic);
    free(b);
}

static struct burial *burial_new(struct broker_peer *broker, const struct held_message *m)
{
    struct burial *b = must_zero(sizeof *b);
    b->broker = broker;
    b->group = must_dup(m->group);
    b->topic = must_dup(m->topic);
    b->text = must_dup(m->text);
    if (m->lite_topic.n) b->lite_topic = must_dup(m->lite_topic);
    b->message = (struct held_message){slice_text(b->group), slice_text(b->topic), slice_text(b->text), m->handle, slice_text(b->lite_topic)};
    b->message.handle.broker = slice_text(broker->name);
    return b;
}

void consumption_bury(struct broker_peer *broker, const struct held_message *m, struct slice message_id, rpc_done *done, void *ctx)
{
    enum { TO_DEAD_LETTERS = -1 };
    struct burial *b = burial_new(broker, m);
    struct buf topic = BUF_EMPTY;
    b->done = done;
    b->ctx = ctx;
    pop_topic_name(m->handle.kind, m->group, m->topic, &topic);
    struct send_back_header h = {
        .offset = m->handle.log_offset, .group = m->group, .delay_level = TO_DEAD_LETTERS, .origin_msg_id = message_id,
        .origin_topic = buf_slice(&topic), .max_reconsume_times = 0,
    };
    header_set(&h, send_back, max_reconsume_times);
    struct rpc_request q = {
        .code = REQUEST_CONSUMER_SEND_MSG_BACK, .kind = &send_back_kind, .header = &h, .timeout_ms = CONSUMPTION_MS, .done = buried, .ctx = b,
    };
    broker_request(broker, &q);
    buf_done(&topic);
}
