/* Acknowledgements of lite topics, and other times. Facts: docs/protocol/lite.md */
#include "broker/lite/lite_state.h"

#include "codec/receipt_handle.h"

static struct buf queue_of(struct slice topic, struct slice lite)
{
    struct buf name = BUF_EMPTY;
    lite_queue_name(topic, lite, &name);
    return name;
}

/* Nothing is known of what is out, after a start for instance: only the next message moves the group on. Others come again. */
static int64_t ack_unknown(int64_t offset, int64_t old) { return offset == (old < 0 ? 0 : old) ? offset + 1 : -1; }

static err_t ack(struct lite *l, struct slice queue, struct slice group, int64_t offset, int64_t pop_ms)
{
    struct broker *b = l->broker;
    int64_t next = -1, old = offsets_query(b->offsets, queue, group, 0);
    if (offset < old) return NULL;
    if (!order_find(&l->order, queue, group, 0)) {
        next = ack_unknown(offset, old);
    } else {
        enum order_result result = order_ack(&l->order, queue, group, 0, offset, pop_ms, &next);
        if (result == ORDER_ILLEGAL) return err_new(ERR_MESSAGE_ILLEGAL, "ack offset illegal.");
        if (result == ORDER_IGNORED) return NULL;
        if (!order_in_flight(&l->order, queue, group, 0)) order_clear(&l->order, queue, group, 0);
    }
    if (next >= 0 && !offsets_reset_pending(b->offsets, queue, group, 0)) offsets_commit(b->offsets, SLICE("broker"), queue, group, 0, next);
    metric_add(&b->metrics, METRIC_POP_ACKS, 1);
    lite_ready_named(l, queue, group);
    return NULL;
}

err_t lite_ack(struct lite *l, const struct ack_header *h, const struct receipt_handle *handle)
{
    struct broker *b = l->broker;
    if (!slice_eq(lite_bound_topic(b, h->consumer_group), h->topic)) return err_new(ERR_INVALID, "group type or bind topic not match.");
    struct buf queue = queue_of(h->topic, h->lite_topic);
    err_t e = NULL;
    if (h->offset > store_max_offset(b->store, buf_slice(&queue), 0)) e = err_new(ERR_NO_MESSAGE, "ack offset illegal.");
    else if (h->queue_id != 0 || handle->revive_queue != ORDERED_REVIVE_QUEUE) e = err_new(ERR_INVALID, "ack queue illegal.");
    else e = ack(l, buf_slice(&queue), h->consumer_group, h->offset, handle->pop_ms);
    buf_done(&queue);
    return e;
}

static err_t change(struct lite *l, struct slice queue, const struct change_invisible_header *h, const struct receipt_handle *handle,
                    struct change_invisible_reply_header *out)
{
    struct broker *b = l->broker;
    struct slice group = h->consumer_group;
    int64_t visible_ms = tasks_wall_ms(b->tasks) + h->invisible_time;
    if (h->offset > store_max_offset(b->store, queue, 0)) return err_new(ERR_NO_MESSAGE, "not set any response code");
    if (h->offset < offsets_query(b->offsets, queue, group, 0)) return NULL;
    if (h->suspend) order_suspend(&l->order, queue, group, 0, handle->pop_ms, visible_ms);
    else order_change(&l->order, queue, group, 0, h->offset, handle->pop_ms, visible_ms);
    *out = (struct change_invisible_reply_header){
        .pop_time = handle->pop_ms, .invisible_time = visible_ms - handle->pop_ms, .revive_qid = handle->revive_queue,
    };
    lite_ready_named(l, queue, group);
    return NULL;
}

err_t lite_change(struct lite *l, const struct change_invisible_header *h, const struct receipt_handle *handle,
                  struct change_invisible_reply_header *out)
{
    struct buf queue = queue_of(h->topic, h->lite_topic);
    *out = (struct change_invisible_reply_header){.pop_time = 0};
    err_t e = change(l, buf_slice(&queue), h, handle, out);
    buf_done(&queue);
    return e;
}
