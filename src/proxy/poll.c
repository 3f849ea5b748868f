#include "proxy/poll_state.h"

#include "base/log.h"
#include "codec/requests.h"
#include "proxy/status.h"

#include <stdlib.h>

enum {
    SHORT_POP_MS = 3000, BATCH_MAX = 32, FROM_END = 1,
    AVOIDED_MS = 10000,              /* a broker that failed is the last one to be popped for so long */
};

static void pop(struct poll *p, struct branch *b, int64_t wait_ms);
static void go_on(struct poll *p);

/* --- the end --- */

bool poll_is_full(const struct poll *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (!p->branches[i].watch || !p->branches[i].watch->full) return false;
    return p->count;
}

int64_t poll_left_ms(const struct poll *p)
{
    int64_t left = p->ends_ms - tasks_mono_ms(p->request->proxy->tasks);
    return left > 0 ? left : 0;
}

/* Nothing waits any more; the request is still to be ended, and the poll with it. */
static struct request *let_go(struct poll *p)
{
    struct request *r = p->request;
    timer_stop(r->proxy->tasks, &p->end);
    for (size_t i = 0; i < p->count; i++) watch_leave(&p->branches[i]);
    err_free(p->failure);
    r->proxy->poll_count--;
    proxy_count(r->proxy, METRIC_POLLS_WAITING, -1);
    return r;
}

static void poll_free(struct poll *p) { request_free(let_go(p)); }
static void refuse(struct poll *p, int32_t code, struct slice text) { receive_refuse(let_go(p), code, text); }

static void end_empty(struct poll *p)
{
    struct request *r = p->request;
    if (p->gone) {
        poll_free(p);
    } else if (p->answered_once) {
        if (poll_is_full(p)) refuse(p, V2_CODE_TOO_MANY_REQUESTS, SLICE("polling full"));
        else refuse(p, V2_CODE_MESSAGE_NOT_FOUND, SLICE("no new message"));
    } else if (p->failure_code) {
        refuse(p, code_of_response(p->failure_code), p->failure_text);
    } else {
        err_t e = p->failure;
        struct slice text = arena_copy(&r->arena, slice_text(e ? err_text(e) : "no broker answers"));
        refuse(p, e ? code_of_error(err_code(e)) : V2_CODE_INTERNAL_SERVER_ERROR, text);
    }
}

/* --- popping --- */

static void note_failure(struct poll *p, struct branch *b, err_t e, const struct frame *f)
{
    if (e) {   /* it may be another one by now */
        b->broker->failed_ms = tasks_mono_ms(p->request->proxy->tasks);
        facts_doubt(&p->request->proxy->facts, p->q.topic);
    }
    if (p->failure || p->failure_code) {
        err_drop(e, "the first failure is told");
    } else if (e) {
        p->failure = e;
    } else {
        p->failure_code = f->code;
        p->failure_text = f->remark.n && utf8_valid(f->remark) ? arena_copy(&p->request->arena, f->remark) : (struct slice){NULL, 0};
    }
}

static bool is_empty_reply(int32_t code)
{
    return code == RESPONSE_PULL_NOT_FOUND || code == RESPONSE_POLLING_TIMEOUT || code == RESPONSE_PULL_RETRY_IMMEDIATELY;
}

static void serve(struct poll *p, struct branch *b, const struct delivery *d, bool more)
{
    struct request *r = p->request;
    bool at_once = !b->watch && !p->plain;
    if (p->gone) {
        delivery_give_back(d);
    } else {
        if (at_once) proxy_count(r->proxy, METRIC_POLLS_AT_ONCE, 1);
        delivery_send(d);
    }
    watch_served(b, more);
    poll_free(p);
}

/* What came was not for the client: there may be more behind it. */
static void filtered(struct poll *p, struct branch *b)
{
    if (p->gone || p->late) {
        watch_in_vain(b);
        end_empty(p);
    } else if (p->plain) {
        refuse(p, V2_CODE_MESSAGE_NOT_FOUND, SLICE("no match message"));
    } else {
        pop(p, b, 0);
    }
}

static void on_found(struct poll *p, struct branch *b, const struct frame *frame)
{
    struct pop_reply_header h;
    struct delivery d;
    err_t e = header_decode(&pop_reply_kind, frame, &h);
    if (!e) e = delivery_read(p->request, &p->q, b->broker, frame, &d);
    if (e) {
        log_warn("pop.broken broker=\"%s\" why=\"%s\"", b->broker->name, err_text(e));
        note_failure(p, b, e, NULL);
        watch_in_vain(b);
        go_on(p);
    } else if (d.count) {
        serve(p, b, &d, h.rest_num > 0);
    } else {
        filtered(p, b);
    }
}

static void on_popped(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct branch *b = ctx;
    struct poll *p = b->poll;
    p->popping = NULL;
    if (!e && reply->frame->code == RESPONSE_SUCCESS) {
        p->answered_once = true;
        on_found(p, b, reply->frame);
        return;
    }
    if (!e && reply->frame->code == RESPONSE_POLLING_FULL && p->plain && !p->gone) {
        refuse(p, V2_CODE_TOO_MANY_REQUESTS, SLICE("polling full"));
        return;
    }
    if (!e && is_empty_reply(reply->frame->code)) p->answered_once = true;
    else note_failure(p, b, e, e ? NULL : reply->frame);
    watch_in_vain(b);
    go_on(p);
}

static void pop(struct poll *p, struct branch *b, int64_t wait_ms)
{
    const struct poll_question *q = &p->q;
    struct pop_header h = {
        .consumer_group = q->group, .topic = q->topic, .queue_id = ALL_QUEUES, .max_msg_nums = q->batch, .invisible_time = q->invisible_ms,
        .poll_time = wait_ms, .born_time = 0, .init_mode = FROM_END, .exp_type = q->filter.type, .exp = q->filter.text, .order = q->fifo,
        .attempt_id = q->attempt_id, .bname = slice_text(b->broker->name), .group_order = q->fifo && p->request->proxy->cfg->group_order,
    };
    header_set(&h, pop, order);
    if (h.group_order) header_set(&h, pop, group_order);
    struct rpc_request request = {
        .code = REQUEST_POP_MESSAGE, .kind = &pop_kind, .header = &h, .timeout_ms = wait_ms ? wait_ms + POLL_SLACK_MS : SHORT_POP_MS,
        .done = on_popped, .ctx = b,
    };
    p->popping = b;
    broker_request(b->broker, &request);
}

/* --- what comes next --- */

static struct branch *ready_branch(struct poll *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->branches[i].ready) return &p->branches[i];
    return NULL;
}

static void wait_everywhere(struct poll *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (!p->branches[i].watch) watch_wait(&p->branches[i]);
    for (size_t i = 0; i < p->count && !p->popping; i++)   /* an answer may come at once */
        if (p->branches[i].watch) watch_look(p->branches[i].watch);
}

/* Nothing is popped: what is to be done now. */
static void go_on(struct poll *p)
{
    struct branch *ready = ready_branch(p);
    if (p->gone || p->late || p->request->proxy->ending) end_empty(p);
    else if (p->plain) end_empty(p);
    else if (ready) pop(p, ready, 0);
    else if (p->tried < p->count) pop(p, &p->branches[p->tried++], 0);
    else if (!p->answered_once || poll_left_ms(p) <= 0) end_empty(p);
    else if (p->count && !p->branches[0].watch) wait_everywhere(p);
}

void poll_look(struct poll *p) { go_on(p); }
void poll_end_full(struct poll *p) { end_empty(p); }

static void on_end(void *ctx)
{
    struct poll *p = ctx;
    p->late = true;
    if (!p->popping) end_empty(p);
}

static void on_hurry(struct request *r) { on_end(r->state); }

static void on_gone(struct request *r)
{
    struct poll *p = r->state;
    p->gone = true;
    if (!p->popping) poll_free(p);
}

/* --- the beginning --- */

static bool can_read(const struct route_part *part) { return part->queues->perm & PERM_READ && part->queues->read_queues > 0 && part->broker; }

static bool is_avoided(const struct poll *p, const struct broker_peer *b)
{
    return b->failed_ms && tasks_mono_ms(p->request->proxy->tasks) - b->failed_ms < AVOIDED_MS;
}

static void add_branch(struct poll *p, struct broker_peer *broker)
{
    struct branch *b = &p->branches[p->count++];
    b->poll = p;
    b->broker = broker;
    list_node_init(&b->node);
}

/* The brokers that can be read, from the one that was named on, or from the one whose turn it is. */
static void add_branches(struct poll *p, struct route *route)
{
    size_t first = route->part_count ? route->next_read++ % route->part_count : 0;
    for (size_t i = 0; i < route->part_count; i++)
        if (p->q.broker.n && slice_eq(route->parts[i].queues->broker, p->q.broker)) first = i;
    p->branches = request_take(p->request, (route->part_count + 1) * sizeof *p->branches);
    for (size_t i = 0; i < 2 * route->part_count; i++) {
        const struct route_part *part = &route->parts[(first + i) % route->part_count];
        if (can_read(part) && is_avoided(p, part->broker) == (i >= route->part_count)) add_branch(p, part->broker);
    }
}

void poll_begin(struct request *r, const struct poll_question *q)
{
    struct proxy *proxy = r->proxy;
    struct poll *p = request_take(r, sizeof *p);
    p->request = r;
    p->q = *q;
    if (p->q.batch > BATCH_MAX) p->q.batch = BATCH_MAX;
    if (q->in_vain) p->answered_once = true;
    else add_branches(p, r->wanted.route);
    if (!p->count && !q->in_vain) {
        request_refuse(r, V2_CODE_FORBIDDEN, "no readable queue");
        return;
    }
    r->state = p;
    r->gone = on_gone;
    r->hurry = on_hurry;
    if (r->call) grpc_call_forget_headers(r->call);   /* many may wait */
    if (proxy->leaving) p->q.wait_ms = 0;
    p->ends_ms = tasks_mono_ms(proxy->tasks) + p->q.wait_ms;
    p->plain = p->count && proxy->poll_count >= (size_t)proxy->cfg->notify_threshold;
    proxy->poll_count++;
    proxy_count(proxy, METRIC_POLLS, 1);
    proxy_count(proxy, METRIC_POLLS_WAITING, 1);
    timer_init(&p->end, on_end, p);
    if (p->plain) {
        p->tried = p->count;
        pop(p, &p->branches[0], p->q.wait_ms);
    } else {
        timer_start(proxy->tasks, &p->end, p->q.wait_ms);
        go_on(p);
    }
}
