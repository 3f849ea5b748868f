/* PullMessage: messages of one queue from an offset on. The original does not serve it. */
#include "proxy/expression.h"
#include "proxy/message_out.h"
#include "proxy/offsets.h"
#include "proxy/status.h"

#include "base/log.h"
#include "codec/record.h"
#include "codec/requests.h"

/* SLACK_MS: the original looks every 5 s whether a pull has waited long enough. */
enum { SLACK_MS = 8000, BATCH_MAX = 32, PULL_MAY_WAIT = 2, PULL_HAS_SUBSCRIPTION = 4 };

struct pulling {
    struct expression filter;
    int64_t wait_ms;
};

static void send(struct request *r, const struct v2_pull_message_response *response)
{
    struct pb_out *out = &r->proxy->out;
    pb_out_clear(out);
    pb_encode(&v2_pull_message_response_pb, response, out);
    if (r->call) grpc_send_copy(r->call, pb_out_slice(out));
}

static void send_status(struct request *r, int32_t code, struct slice text)
{
    struct v2_pull_message_response response = {.content_case = V2_PULL_MESSAGE_RESPONSE_STATUS, .status = status_new(r, code, text)};
    send(r, &response);
}

static void end(struct request *r, int64_t next_offset)
{
    struct v2_pull_message_response response = {.content_case = V2_PULL_MESSAGE_RESPONSE_NEXT_OFFSET, .next_offset = next_offset};
    send(r, &response);
    if (r->call) grpc_finish(r->call, GRPC_OK, (struct slice){NULL, 0});
    request_free(r);
}

static void send_messages(struct request *r, struct slice body)
{
    const struct v2_pull_message_request *q = r->in;
    struct pulling *p = r->state;
    struct message m;
    for (; record_read(body, &m) == RECORD_WHOLE; body = slice_skip(body, record_read_size(&m))) {
        struct popped place = {.topic = q->message_queue->topic->name, .reconsume_times = m.reconsume_times};
        struct v2_pull_message_response response = {.content_case = V2_PULL_MESSAGE_RESPONSE_MESSAGE};
        if (!expression_matches(&p->filter, &m)) continue;
        response.message = message_out(&r->arena, &m, &place, now_ms(r->proxy));
        if (response.message) send(r, &response);
    }
    if (body.n) log_warn("pull.broken topic=\"%.*s\" bytes=%zu", SLICE_ARG(q->message_queue->topic->name), body.n);
}

static void on_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct request *r = ctx;
    struct pull_reply_header h;
    if (!e && reply->frame->code != RESPONSE_SUCCESS && reply->frame->code != RESPONSE_PULL_NOT_FOUND &&
        reply->frame->code != RESPONSE_PULL_RETRY_IMMEDIATELY && reply->frame->code != RESPONSE_PULL_OFFSET_MOVED) {
        request_fail_reply(r, reply->frame);
        return;
    }
    if (!e) e = header_decode(&pull_reply_kind, reply->frame, &h);
    if (e) {
        request_fail(r, e);
        return;
    }
    if (reply->frame->code == RESPONSE_SUCCESS) {
        send_status(r, V2_CODE_OK, SLICE("OK"));
        send_messages(r, reply->frame->body);
    } else if (reply->frame->code == RESPONSE_PULL_OFFSET_MOVED) {
        send_status(r, V2_CODE_ILLEGAL_OFFSET, SLICE("the offset is not in the queue"));
    } else {
        send_status(r, V2_CODE_MESSAGE_NOT_FOUND, SLICE("no new message"));
    }
    end(r, h.next_begin_offset);
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

static void pull(struct request *r)
{
    const struct v2_pull_message_request *q = r->in;
    struct pulling *p = r->state;
    struct broker_peer *b = queue_broker(r, q->message_queue);
    if (!b) return;
    struct pull_header h = {
        .consumer_group = q->group->name, .topic = q->message_queue->topic->name, .queue_id = q->message_queue->id, .queue_offset = q->offset,
        .max_msg_nums = smaller(q->batch_size, BATCH_MAX), .sys_flag = PULL_HAS_SUBSCRIPTION | (p->wait_ms > 0 ? PULL_MAY_WAIT : 0),
        .suspend_timeout_millis = p->wait_ms, .subscription = p->filter.text, .expression_type = p->filter.type,
    };
    struct rpc_request request = {
        .code = REQUEST_PULL_MESSAGE, .kind = &pull_kind, .header = &h, .timeout_ms = p->wait_ms + SLACK_MS, .done = on_reply, .ctx = r,
    };
    broker_request(b, &request);
}

void serve_pull_message(struct request *r)
{
    const struct v2_pull_message_request *q = r->in;
    struct pulling *p = request_take(r, sizeof *p);
    if (!check_queue(r, q->message_queue) || !check_group(r, q->group) || !expression_read(r, q->filter_expression, &p->filter)) return;
    if (!duration_ms(q->long_polling_timeout, &p->wait_ms) || p->wait_ms < 0) {
        request_refuse(r, V2_CODE_ILLEGAL_POLLING_TIME, "long_polling_timeout is no time to wait");
        return;
    }
    if (q->offset < 0 || q->batch_size <= 0) {
        request_refuse(r, q->offset < 0 ? V2_CODE_ILLEGAL_OFFSET : V2_CODE_BAD_REQUEST, "the offset or batch_size is negative");
        return;
    }
    if (p->wait_ms > r->proxy->cfg->long_poll_max_ms) p->wait_ms = r->proxy->cfg->long_poll_max_ms;
    r->state = p;
    request_want(r, WANT_ROUTE, q->message_queue->topic->name, (struct slice){NULL, 0}, pull);
}
