/* QueryOffset, GetOffset, UpdateOffset: places in a queue, and how far a group is. The original does not serve them. */
#include "proxy/offsets.h"

#include "codec/requests.h"

enum { OFFSET_MS = 2000 };

struct broker_peer *queue_broker(struct request *r, const struct v2_message_queue *queue)
{
    struct slice name = queue->broker ? queue->broker->name : (struct slice){NULL, 0};
    if (!request_has_route(r)) return NULL;
    struct broker_peer *b = request_broker(r, name);
    if (!b) request_refuse(r, V2_CODE_BAD_REQUEST, "cannot find broker %.*s", SLICE_ARG(name));
    return b;
}

bool check_queue(struct request *r, const struct v2_message_queue *queue)
{
    if (!check_topic(r, queue ? queue->topic : NULL)) return false;
    if (queue->id >= 0) return true;
    request_refuse(r, V2_CODE_BAD_REQUEST, "the queue's id is negative");
    return false;
}

static void ask(struct request *r, const struct v2_message_queue *queue, struct rpc_request *q)
{
    struct broker_peer *b = queue_broker(r, queue);
    if (!b) return;
    q->timeout_ms = OFFSET_MS;
    q->ctx = r;
    broker_request(b, q);
}

/* --- places --- */

static void on_place(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct request *r = ctx;
    struct offset_reply_header h;
    if (!e && reply->frame->code != RESPONSE_SUCCESS) {
        request_fail_reply(r, reply->frame);
        return;
    }
    if (!e) e = header_decode(&offset_reply_kind, reply->frame, &h);
    if (e) {
        request_fail(r, e);
        return;
    }
    struct v2_query_offset_response out = {status_ok(r), h.offset};
    request_answer(r, &out);
}

static void ask_time(struct request *r)
{
    const struct v2_query_offset_request *q = r->in;
    struct search_offset_header h = {.topic = q->message_queue->topic->name, .queue_id = q->message_queue->id};
    struct rpc_request request = {.code = REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, .kind = &search_offset_kind, .header = &h, .done = on_place};
    if (timestamp_ms(q->timestamp, &h.timestamp) && q->timestamp) ask(r, q->message_queue, &request);
    else request_refuse(r, V2_CODE_BAD_REQUEST, "timestamp is no time");
}

static void ask_place(struct request *r)
{
    const struct v2_query_offset_request *q = r->in;
    struct min_offset_header least = {.topic = q->message_queue->topic->name, .queue_id = q->message_queue->id};
    struct max_offset_header most = {.topic = q->message_queue->topic->name, .queue_id = q->message_queue->id};
    struct rpc_request first = {.code = REQUEST_GET_MIN_OFFSET, .kind = &min_offset_kind, .header = &least, .done = on_place};
    struct rpc_request last = {.code = REQUEST_GET_MAX_OFFSET, .kind = &max_offset_kind, .header = &most, .done = on_place};
    switch (q->query_offset_policy) {
    case V2_QUERY_OFFSET_POLICY_BEGINNING: ask(r, q->message_queue, &first); break;
    case V2_QUERY_OFFSET_POLICY_END: ask(r, q->message_queue, &last); break;
    case V2_QUERY_OFFSET_POLICY_TIMESTAMP: ask_time(r); break;
    default: request_refuse(r, V2_CODE_BAD_REQUEST, "query_offset_policy is not known"); break;
    }
}

void serve_query_offset(struct request *r)
{
    const struct v2_query_offset_request *q = r->in;
    if (!check_queue(r, q->message_queue)) return;
    request_want(r, WANT_ROUTE, q->message_queue->topic->name, (struct slice){NULL, 0}, ask_place);
}

/* --- how far a group is --- */

static void on_progress(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct request *r = ctx;
    struct query_offset_reply_header h;
    if (!e && reply->frame->code == RESPONSE_QUERY_NOT_FOUND) {
        request_refuse(r, V2_CODE_OFFSET_NOT_FOUND, "the group has no offset of the queue");
        return;
    }
    if (!e && reply->frame->code != RESPONSE_SUCCESS) {
        request_fail_reply(r, reply->frame);
        return;
    }
    if (!e) e = header_decode(&query_offset_reply_kind, reply->frame, &h);
    if (e) {
        request_fail(r, e);
        return;
    }
    struct v2_get_offset_response out = {status_ok(r), h.offset};
    request_answer(r, &out);
}

static void ask_progress(struct request *r)
{
    const struct v2_get_offset_request *q = r->in;
    struct query_offset_header h = {.consumer_group = q->group->name, .topic = q->message_queue->topic->name, .queue_id = q->message_queue->id};
    struct rpc_request request = {.code = REQUEST_QUERY_CONSUMER_OFFSET, .kind = &query_offset_kind, .header = &h, .done = on_progress};
    ask(r, q->message_queue, &request);
}

void serve_get_offset(struct request *r)
{
    const struct v2_get_offset_request *q = r->in;
    if (!check_queue(r, q->message_queue) || !check_group(r, q->group)) return;
    request_want(r, WANT_ROUTE, q->message_queue->topic->name, (struct slice){NULL, 0}, ask_progress);
}

static void on_kept(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct request *r = ctx;
    if (e) request_fail(r, e);
    else if (reply->frame->code == RESPONSE_SUCCESS) request_ok(r);
    else request_fail_reply(r, reply->frame);
}

static void keep_progress(struct request *r)
{
    const struct v2_update_offset_request *q = r->in;
    struct update_offset_header h = {
        .consumer_group = q->group->name, .topic = q->message_queue->topic->name, .queue_id = q->message_queue->id, .commit_offset = q->offset,
    };
    struct rpc_request request = {.code = REQUEST_UPDATE_CONSUMER_OFFSET, .kind = &update_offset_kind, .header = &h, .done = on_kept};
    ask(r, q->message_queue, &request);
}

void serve_update_offset(struct request *r)
{
    const struct v2_update_offset_request *q = r->in;
    if (!check_queue(r, q->message_queue) || !check_group(r, q->group)) return;
    if (q->offset < 0) request_refuse(r, V2_CODE_ILLEGAL_OFFSET, "the offset is negative");
    else request_want(r, WANT_ROUTE, q->message_queue->topic->name, (struct slice){NULL, 0}, keep_progress);
}
