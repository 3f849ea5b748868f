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

/* "a || b": the next one, without what is around it; false at the end. */
static bool next_tag(struct slice *rest, struct slice *out)
{
    while (rest->n) {
        size_t n = 0;
        while (n < rest->n && !(rest->p[n] == '|' && n + 1 < rest->n && rest->p[n + 1] == '|')) n++;
        *out = slice_trim(slice_of(rest->p, n));
        *rest = slice_skip(*rest, n < rest->n ? n + 2 : n);
        if (out->n) return true;
    }
    return false;
}

static bool find_tags(struct request *r, struct slice expression, struct poll_question *q)
{
    struct slice tag, *tags = NULL;
    bool any = false;
    for (size_t i = 0; i < expression.n; i++) any = any || expression.p[i] != '|';
    if (!any) {
        request_refuse(r, V2_CODE_ILLEGAL_FILTER_EXPRESSION, "FilterAPI subString split error");
        return false;
    }
    while (next_tag(&expression, &tag)) {
        struct slice *place = arena_list_add(&r->arena, (void **)&tags, &q->tag_count, sizeof *place);
        *place = tag;
    }
    q->tags = tags;
    return true;
}

static bool find_filter(struct request *r, const struct v2_filter_expression *f, struct poll_question *q)
{
    struct slice text = f ? f->expression : (struct slice){NULL, 0};
    if (f && f->type == V2_FILTER_TYPE_SQL) {
        q->expression_type = SLICE("SQL92");
        q->expression = text;
        if (text.n) return true;
        request_refuse(r, V2_CODE_ILLEGAL_FILTER_EXPRESSION, "Expression can't be null! SQL92");
        return false;
    }
    q->expression_type = SLICE("TAG");
    q->expression = text.n ? text : SLICE("*");
    return slice_eq(q->expression, SLICE("*")) || find_tags(r, text, q);
}

static void with_facts(struct request *r)
{
    struct receiving *v = r->state;
    const struct group_facts *g = r->wanted.group;
    r->state = NULL;
    if (!request_has_route(r)) return;
    v->question.fifo = g ? g->config.consume_orderly : v->question.fifo;
    if (g || !v->question.attempts_max) v->question.attempts_max = group_attempts(g);
    if (r->call) poll_begin(r, &v->question);
    else request_free(r);
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
    if (!find_invisible(r, q, v) || !find_filter(r, q->filter_expression, &v->question)) return;
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
    v->question.attempts_max = r->client->attempts;
    r->state = v;
    request_want(r, WANT_ROUTE | WANT_GROUP, v->question.topic, v->question.group, with_facts);
}
