/* ReceiveMessage of a lite push consumer: one broker is asked, which knows what came to the client's lite topics, and keeps the question until
 * something does. A client asks each of its brokers; one that names none of them has each asked in turn. Facts: docs/protocol/lite.md */
#include "proxy/poll.h"
#include "proxy/status.h"

#include "base/log.h"
#include "codec/requests.h"

enum { BATCH_MAX = 32, IN_TURN_MS = 500, SLACK_MS = 5000 };

struct lite_poll {
    struct request *request;
    struct poll_question q;
    struct broker_peer **brokers;
    size_t count, turn;
    int64_t ends_ms;                 /* mono */
    bool hurries;                    /* nobody waits for messages any more */
};

static void pop(struct lite_poll *p);

static int64_t left_ms(const struct lite_poll *p)
{
    int64_t left = p->ends_ms - tasks_mono_ms(p->request->proxy->tasks);
    return left > 0 ? left : 0;
}

static void end(struct lite_poll *p, int32_t code, struct slice text)
{
    struct request *r = p->request;
    r->proxy->poll_count--;
    proxy_count(r->proxy, METRIC_POLLS_WAITING, -1);
    receive_refuse(r, code, text);
}

static void on_found(struct lite_poll *p, struct broker_peer *from, const struct frame *frame)
{
    struct delivery d;
    err_t e = delivery_read(p->request, &p->q, from, frame, &d);
    if (e) {
        log_warn("pop.broken broker=\"%s\" why=\"%s\"", from->name, err_text(e));
        err_free(e);
        end(p, V2_CODE_INTERNAL_SERVER_ERROR, SLICE("the broker's answer cannot be read"));
        return;
    }
    if (!p->request->call) delivery_give_back(&d);
    else if (d.count) delivery_send(&d);
    end(p, V2_CODE_MESSAGE_NOT_FOUND, SLICE("no match message"));   /* when nothing was sent */
}

static void on_nothing(struct lite_poll *p)
{
    if (p->request->call && !p->hurries && p->count > 1 && left_ms(p)) pop(p);
    else end(p, V2_CODE_MESSAGE_NOT_FOUND, SLICE("no new message"));
}

static void on_failed(struct lite_poll *p, err_t e, const struct frame *frame)
{
    struct arena *arena = &p->request->arena;
    if (e) {
        facts_doubt(&p->request->proxy->facts, p->q.topic);
        struct slice text = arena_copy(arena, slice_text(err_text(e)));
        int32_t code = code_of_error(err_code(e));
        err_free(e);
        end(p, code, text);
        return;
    }
    end(p, code_of_response(frame->code), utf8_valid(frame->remark) ? arena_copy(arena, frame->remark) : SLICE(""));
}

static void on_popped(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct lite_poll *p = ctx;
    struct broker_peer *from = p->brokers[(p->turn + p->count - 1) % p->count];
    const struct frame *frame = e ? NULL : reply->frame;
    if (e) {
        on_failed(p, e, NULL);
        return;
    }
    switch (frame->code) {
    case RESPONSE_SUCCESS: on_found(p, from, frame); break;
    case RESPONSE_POLLING_FULL: end(p, V2_CODE_TOO_MANY_REQUESTS, SLICE("polling full")); break;
    case RESPONSE_POLLING_TIMEOUT:
    case RESPONSE_PULL_NOT_FOUND:
    case RESPONSE_PULL_RETRY_IMMEDIATELY: on_nothing(p); break;
    default: on_failed(p, NULL, frame);
    }
}

static void pop(struct lite_poll *p)
{
    const struct poll_question *q = &p->q;
    int64_t wait_ms = left_ms(p);
    if (p->count > 1 && wait_ms > IN_TURN_MS) wait_ms = IN_TURN_MS;
    struct broker_peer *b = p->brokers[p->turn++ % p->count];
    struct pop_lite_header h = {
        .client_id = p->request->client_id, .consumer_group = q->group, .topic = q->topic, .max_msg_num = q->batch, .invisible_time = q->invisible_ms,
        .poll_time = wait_ms, .attempt_id = q->attempt_id, .bname = slice_text(b->name),
    };
    struct rpc_request request = {
        .code = REQUEST_POP_LITE_MESSAGE, .kind = &pop_lite_kind, .header = &h, .timeout_ms = wait_ms + SLACK_MS, .done = on_popped, .ctx = p,
    };
    broker_request(b, &request);
}

/* What the broker still hands out is given back. */
static void on_gone(struct request *r) { (void)r; }

static void on_hurry(struct request *r)
{
    struct lite_poll *p = r->state;
    p->hurries = true;
    receive_tell(r, V2_CODE_MESSAGE_NOT_FOUND, SLICE("no new message"));
}

/* --- the beginning --- */

static bool can_read(const struct route_part *part) { return part->queues->perm & PERM_READ && part->queues->read_queues > 0 && part->broker; }

static void choose_brokers(struct lite_poll *p, struct route *route)
{
    size_t first = route->part_count ? route->next_read++ % route->part_count : 0;
    p->brokers = request_take(p->request, (route->part_count + 1) * sizeof *p->brokers);
    for (size_t i = 0; i < route->part_count; i++) {
        const struct route_part *part = &route->parts[(first + i) % route->part_count];
        if (can_read(part)) p->brokers[p->count++] = part->broker;
        if (!can_read(part) || !slice_eq(part->queues->broker, p->q.broker)) continue;
        p->brokers[0] = part->broker;   /* it alone */
        p->count = 1;
        return;
    }
}

void lite_poll_begin(struct request *r, const struct poll_question *q)
{
    struct proxy *proxy = r->proxy;
    struct lite_poll *p = request_take(r, sizeof *p);
    p->request = r;
    p->q = *q;
    if (p->q.batch > BATCH_MAX) p->q.batch = BATCH_MAX;
    choose_brokers(p, r->wanted.route);
    if (!p->count) {
        request_refuse(r, V2_CODE_FORBIDDEN, "no readable queue");
        return;
    }
    r->state = p;
    r->gone = on_gone;
    r->hurry = on_hurry;
    p->ends_ms = tasks_mono_ms(proxy->tasks) + (proxy->leaving ? 0 : q->wait_ms);
    proxy->poll_count++;
    proxy_count(proxy, METRIC_POLLS, 1);
    proxy_count(proxy, METRIC_POLLS_WAITING, 1);
    pop(p);
}
