/* ForwardMessageToDeadLetterQueue: a client has given a message up. Facts: docs/protocol/grpc.md 9.3 */
#include "proxy/checks.h"
#include "proxy/consumption.h"
#include "proxy/status.h"

static void on_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct request *r = ctx;
    if (e) request_fail(r, e);
    else if (reply->frame->code == RESPONSE_SUCCESS) request_ok(r);
    else request_fail_reply(r, reply->frame);
}

static void with_facts(struct request *r)
{
    const struct v2_forward_message_to_dead_letter_queue_request *q = r->in;
    struct held_message *m = r->state;
    if (handles_wait(&r->proxy->handles, r, m, with_facts)) return;
    handles_take(&r->proxy->handles, r, m);
    struct broker_peer *b = request_broker(r, m->handle.broker);
    if (m->handle.log_offset < 0) request_refuse(r, V2_CODE_INVALID_RECEIPT_HANDLE, "commit log offset is empty");
    else if (!b) request_refuse(r, V2_CODE_INVALID_RECEIPT_HANDLE, "cannot find broker %.*s", SLICE_ARG(m->handle.broker));
    else consumption_bury(b, m, q->message_id, on_reply, r);
}

void serve_forward_to_dead_letters(struct request *r)
{
    const struct v2_forward_message_to_dead_letter_queue_request *q = r->in;
    if (!check_topic(r, q->topic) || !check_group(r, q->group)) return;
    struct held_message *m = request_take(r, sizeof *m);
    *m = (struct held_message){.group = q->group->name, .topic = q->topic->name, .text = q->receipt_handle, .lite_topic = q->lite_topic};
    if (!receipt_handle_parse(q->receipt_handle, &m->handle)) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "the receipt handle cannot be read");
        return;
    }
    r->state = m;
    request_want(r, WANT_ROUTE, q->topic->name, (struct slice){NULL, 0}, with_facts);
}
