/* ReceiveMessage: what a consumer asks for, before it is polled for. Facts: docs/protocol/grpc.md 8 */
#include "proxy/checks.h"
#include "proxy/poll.h"

struct receiving {
    struct poll_question question;
    int64_t invisible_ms;            /* that was asked for */
};

/* --- how long it waits --- */

/* Before 5.0.3 clients knew no code of their own for it. */
static int32_t polling_code(struct request *r)
{
    struct slice version = grpc_call_header(r->call, "x-mq-client-version");
    return !version.p || slice_compare(version, SLICE("5.0.3")) < 0 ? V2_CODE_BAD_REQUEST : V2_CODE_ILLEGAL_POLLING_TIME;
}

static bool find_wait(struct request *r, const struct v2_receive_message_request *q, int64_t *out)
{
    const struct config_proxy *cfg = r->proxy->cfg;
    int64_t deadline = grpc_call_deadline_ms(r->call), wait;
    int64_t left = deadline == INT64_MAX ? INT64_MAX : deadline - tasks_mono_ms(r->proxy->tasks);
    if (!duration_ms(q->long_polling_timeout, &wait)) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "long_polling_timeout is no duration");
        return false;
    }
    if (!q->long_polling_timeout) wait = left == INT64_MAX ? cfg->long_poll_max_ms : left - r->client->request_timeout_ms / 2;
    if (wait < cfg->long_poll_min_ms) wait = cfg->long_poll_min_ms;
    if (wait > cfg->long_poll_max_ms) wait = cfg->long_poll_max_ms;
    *out = wait < left ? wait : left;
    if (wait <= left || left >= cfg->long_poll_min_ms) return true;
    request_refuse(r, polling_code(r), "The deadline time remaining is not enough for polling, please check network condition");
    return false;
}

/* --- what it wants --- */

static bool find_invisible(struct request *r, const struct v2_receive_message_request *q, struct receiving *v)
{
    v->question.auto_renew = q->auto_renew && r->proxy->cfg->auto_renew;
    if (!duration_ms(q->invisible_duration, &v->invisible_ms)) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "invisible_duration is no duration");
        return false;
    }
    v->question.invisible_ms = v->question.auto_renew ? r->proxy->cfg->default_invisible_ms : v->invisible_ms;
    return v->question.auto_renew || check_invisible_ms(r, v->invisible_ms, r->proxy->cfg->min_invisible_ms);
}

static void with_facts(struct request *r)
{
    struct receiving *v = r->state;
    const struct group_facts *g = r->wanted.group;
    r->state = NULL;
    if (!request_has_route(r)) return;
    v->question.fifo = g ? g->config.consume_orderly : v->question.fifo;
    if (g || !v->question.attempts_max) v->question.attempts_max = group_attempts(g);
    if (!r->call) request_free(r);
    else if (v->question.lite) lite_poll_begin(r, &v->question);
    else poll_begin(r, &v->question);
}

/* Where it would be told that it lost a lite topic; and not more than can be renewed. False: it was refused. */
static bool lite_may_receive(struct request *r)
{
    size_t most = (size_t)r->proxy->cfg->lite_renewals, count = handles_count(r->client, most + 1);
    if (!r->client->stream) request_refuse(r, V2_CODE_BAD_REQUEST, "The client [%s] is disconnected.", r->client->id);
    else if (count > most)
        request_refuse(r, V2_CODE_FORBIDDEN, "The client [%s] has too many unacked messages. Unacked count: %zu", r->client->id, count);
    else return true;
    return false;
}

void serve_receive_message(struct request *r)
{
    const struct v2_receive_message_request *q = r->in;
    const struct v2_message_queue *queue = q->message_queue;
    struct receiving *v = request_take(r, sizeof *v);
    if (!r->client) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "the client has not told its settings, or was silent for too long");
        return;
    }
    if (!find_wait(r, q, &v->question.wait_ms)) return;
    if (!check_topic(r, queue ? queue->topic : NULL) || !check_group(r, q->group)) return;
    if (!find_invisible(r, q, v) || !expression_read(r, q->filter_expression, &v->question.filter)) return;
    if (q->batch_size < 0) {
        request_refuse(r, V2_CODE_INTERNAL_SERVER_ERROR, "batch_size is negative");
        return;
    }
    v->question.topic = queue->topic->name;
    v->question.group = q->group->name;
    v->question.attempt_id = q->attempt_id;
    v->question.broker = queue->broker ? queue->broker->name : (struct slice){NULL, 0};
    v->question.batch = q->batch_size;
    v->question.fifo = r->client->fifo;
    v->question.lite = r->client->type == V2_CLIENT_TYPE_LITE_PUSH_CONSUMER;
    v->question.in_vain = !v->question.lite && !q->batch_size;
    if (v->question.lite && !lite_may_receive(r)) return;
    v->question.attempts_max = r->client->attempts;
    r->state = v;
    request_want(r, WANT_ROUTE | WANT_GROUP, v->question.topic, v->question.group, with_facts);
}
