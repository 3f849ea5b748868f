/* RecallMessage: a message that waits for its time is taken back. Facts: docs/protocol/grpc.md 9.5 */
#include "proxy/checks.h"

#include "codec/recall_handle.h"
#include "codec/requests.h"

enum { RECALL_MS = 2000 };

static void on_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct request *r = ctx;
    struct recall_reply_header h;
    if (e) {
        request_fail(r, e);
        return;
    }
    if (reply->frame->code != RESPONSE_SUCCESS) {
        request_fail_reply(r, reply->frame);
        return;
    }
    e = header_decode(&recall_reply_kind, reply->frame, &h);
    if (e) {
        request_fail(r, e);
        return;
    }
    struct v2_recall_message_response out = {status_ok(r), utf8_valid(h.msg_id) ? h.msg_id : (struct slice){NULL, 0}};
    request_answer(r, &out);
}

static void ask(struct request *r, struct slice broker_name)
{
    const struct v2_recall_message_request *q = r->in;
    struct broker_peer *broker = request_broker(r, broker_name);
    if (!broker) {
        request_refuse(r, V2_CODE_BAD_REQUEST, "cannot find broker %.*s", SLICE_ARG(broker_name));
        return;
    }
    struct recall_header h = {.topic = q->topic->name, .recall_handle = q->recall_handle, .bname = slice_text(broker->name)};
    struct rpc_request request = {
        .code = REQUEST_RECALL_MESSAGE, .kind = &recall_kind, .header = &h, .timeout_ms = RECALL_MS, .done = on_reply, .ctx = r,
    };
    broker_request(broker, &request);
}

static void with_facts(struct request *r)
{
    const struct v2_recall_message_request *q = r->in;
    struct recall_handle handle;
    struct buf plain = BUF_EMPTY;
    if (r->proxy->cfg->type_check && !check_type(r, r->wanted.type, TOPIC_DELAY)) return;
    bool readable = recall_handle_decode(q->recall_handle, &plain, &handle);
    struct slice name = readable ? arena_copy(&r->arena, handle.broker) : (struct slice){NULL, 0};
    buf_done(&plain);
    if (readable) ask(r, name);
    else request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "recall handle is invalid");
}

void serve_recall_message(struct request *r)
{
    const struct v2_recall_message_request *q = r->in;
    if (!check_topic(r, q->topic)) return;
    request_want(r, WANT_ROUTE | WANT_TYPE, q->topic->name, (struct slice){NULL, 0}, with_facts);
}
