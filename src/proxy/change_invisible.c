/* ChangeInvisibleDuration: a message comes again later, or sooner. Facts: docs/protocol/grpc.md 9.2 */
#include "proxy/checks.h"
#include "proxy/consumption.h"

struct changing {
    struct held_message message;
    int64_t invisible_ms;
};

static void on_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct request *r = ctx;
    struct changing *c = r->state;
    struct buf text = BUF_EMPTY;
    if (!e && reply->frame->code != RESPONSE_SUCCESS) {
        if (consumption_is_outdated(reply->frame)) request_refuse(r, V2_CODE_INVALID_RECEIPT_HANDLE, "the receipt handle is not valid any more");
        else request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "changeInvisibleDuration failed: status is abnormal");
        return;
    }
    if (!e) e = consumption_changed_handle(&c->message, reply->frame, &text);
    if (e) {
        request_fail(r, e);
    } else {
        struct v2_change_invisible_duration_response out = {status_ok(r), buf_slice(&text)};
        request_answer(r, &out);
    }
    buf_done(&text);
}

static void with_facts(struct request *r)
{
    const struct v2_change_invisible_duration_request *q = r->in;
    struct changing *c = r->state;
    struct held_message *m = &c->message;
    if (handles_wait(&r->proxy->handles, r, m, with_facts)) return;
    handles_take(&r->proxy->handles, r, m);
    struct broker_peer *b = request_broker(r, m->handle.broker);
    if (receipt_handle_ends_ms(&m->handle) <= now_ms(r->proxy)) request_refuse(r, V2_CODE_INVALID_RECEIPT_HANDLE, "receipt handle is expired");
    else if (!b) request_refuse(r, V2_CODE_INVALID_RECEIPT_HANDLE, "cannot find broker %.*s", SLICE_ARG(m->handle.broker));
    else consumption_change(b, m, c->invisible_ms, q->suspend, on_reply, r);
}

void serve_change_invisible_duration(struct request *r)
{
    const struct v2_change_invisible_duration_request *q = r->in;
    if (!check_topic(r, q->topic) || !check_group(r, q->group)) return;
    struct changing *c = request_take(r, sizeof *c);
    if (!duration_ms(q->invisible_duration, &c->invisible_ms)) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "invisible_duration is no duration");
        return;
    }
    if (!check_invisible_ms(r, c->invisible_ms, 0)) return;
    c->message = (struct held_message){.group = q->group->name, .topic = q->topic->name, .text = q->receipt_handle, .lite_topic = q->lite_topic};
    if (!receipt_handle_parse(q->receipt_handle, &c->message.handle)) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "the receipt handle cannot be read");
        return;
    }
    /* Clients that know no back-off ask for 0, and with the original that takes a second or more: they must not burn all attempts at once. */
    int64_t least_ms = c->message.handle.revive_queue == ORDERED_REVIVE_QUEUE ? 0 : r->proxy->cfg->min_change_ms;
    if (c->invisible_ms < least_ms) c->invisible_ms = least_ms;
    r->state = c;
    request_want(r, WANT_ROUTE, q->topic->name, (struct slice){NULL, 0}, with_facts);
}
