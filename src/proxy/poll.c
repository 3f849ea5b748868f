#include "proxy/poll.h"

#include "base/log.h"
#include "codec/requests.h"
#include "proxy/status.h"

#include <stdlib.h>

/* A broker that does not answer in time is taken for one without messages. A question that was answered yes in vain is put again at
 * once the first time, then later and later; one that was refused a while later. */
enum {
    SLACK_MS = 5000, SHORT_POP_MS = 3000, USELESS_PAUSE_MS = 10, USELESS_PAUSES = 6, REFUSED_PAUSE_MS = 1000, BATCH_MAX = 32,
    SHORTEST_QUESTION_MS = 60,       /* brokers answer what is shorter at once, and questions would follow each other without a pause */
    AVOIDED_MS = 10000,              /* a broker that failed is the last one to be popped for so long */
};

enum { ALL_QUEUES = -1, FROM_END = 1 };

/* One question at one broker, for all polls that wait for the same there. */
struct watch {
    struct proxy *proxy;
    char *key;
    struct broker_peer *broker;
    struct list waiting;             /* branches of polls */
    struct timer pause;
    bool asked;                      /* the question is at the broker */
    bool taken;                      /* it said yes, and a poll looks what there is */
    bool full;                       /* it takes no more questions */
    int useless;                     /* answers in a row that brought nothing */
};

/* What a poll has with one broker. */
struct branch {
    struct list_node node;           /* of the watch's waiting ones */
    struct poll *poll;
    struct broker_peer *broker;
    struct watch *watch;             /* NULL: it does not wait there */
    bool ready;                      /* the broker said yes: the poll's to look */
};

struct poll {
    struct request *request;
    struct poll_question q;
    struct branch *branches;
    size_t count;
    size_t tried;                    /* brokers that were popped without waiting */
    struct branch *popping;          /* NULL: none is popped */
    int64_t ends_ms;                 /* mono */
    struct timer end;
    bool plain;                      /* waits at one broker */
    bool answered_once;              /* some broker did answer */
    bool late, gone;
    err_t failure;                   /* the first broker's that failed */
    int32_t failure_code;            /* a response code; 0: see failure */
    struct slice failure_text;
};

static void pop(struct poll *p, struct branch *b, int64_t wait_ms);
static void go_on(struct poll *p);
static void watch_look(struct watch *w);

/* --- the end --- */

static void watch_free(struct watch *w)
{
    timer_stop(w->proxy->tasks, &w->pause);
    map_remove(&w->proxy->polls, slice_text(w->key));
    free(w->key);
    free(w);
}

static void leave(struct branch *b)
{
    struct watch *w = b->watch;
    if (!w) return;
    bool ready = b->ready;
    list_remove(&b->node);
    b->watch = NULL;
    b->ready = false;
    if (ready) w->taken = false;
    if (list_empty(&w->waiting) && !w->asked && !w->taken) watch_free(w);
    else if (ready) watch_look(w);
}

/* Nothing waits any more; the request ends with it. */
static void poll_free(struct poll *p)
{
    struct request *r = p->request;
    timer_stop(r->proxy->tasks, &p->end);
    for (size_t i = 0; i < p->count; i++) leave(&p->branches[i]);
    err_free(p->failure);
    r->proxy->poll_count--;
    proxy_count(r->proxy, METRIC_POLLS_WAITING, -1);
    request_free(r);
}

static void refuse(struct poll *p, int32_t code, struct slice text)
{
    struct request *r = p->request;
    timer_stop(r->proxy->tasks, &p->end);
    for (size_t i = 0; i < p->count; i++) leave(&p->branches[i]);
    err_free(p->failure);
    r->proxy->poll_count--;
    proxy_count(r->proxy, METRIC_POLLS_WAITING, -1);
    receive_refuse(r, code, text);
}

static bool all_full(const struct poll *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (!p->branches[i].watch || !p->branches[i].watch->full) return false;
    return p->count;
}

static void end_empty(struct poll *p)
{
    struct request *r = p->request;
    if (p->gone) {
        poll_free(p);
    } else if (p->answered_once) {
        if (all_full(p)) refuse(p, V2_CODE_TOO_MANY_REQUESTS, SLICE("polling full"));
        else refuse(p, V2_CODE_MESSAGE_NOT_FOUND, SLICE("no new message"));
    } else if (p->failure_code) {
        refuse(p, code_of_response(p->failure_code), p->failure_text);
    } else {
        err_t e = p->failure;
        struct slice text = arena_copy(&r->arena, slice_text(e ? err_text(e) : "no broker answers"));
        refuse(p, e ? code_of_error(err_code(e)) : V2_CODE_INTERNAL_SERVER_ERROR, text);
    }
}

/* --- watches: who waits for what --- */

/* Polls of one key may take each other's answers. */
static struct buf watch_key(const struct poll *p, const struct branch *b)
{
    const struct poll_question *q = &p->q;
    struct buf key = BUF_EMPTY;
    buf_printf(&key, "%.*s %.*s %s %d %.*s %.*s", SLICE_ARG(q->group), SLICE_ARG(q->topic), b->broker->name, q->fifo, SLICE_ARG(q->filter.type),
               SLICE_ARG(q->filter.text));
    if (q->fifo && q->attempt_id.p) buf_printf(&key, " %.*s", SLICE_ARG(q->attempt_id));   /* it may see what others may not */
    return key;
}

static void look_again(void *watch) { watch_look(watch); }

static void wait_at(struct branch *b)
{
    struct proxy *proxy = b->poll->request->proxy;
    struct buf key = watch_key(b->poll, b);
    struct watch *w = map_get(&proxy->polls, buf_slice(&key));
    if (!w) {
        w = must_zero(sizeof *w);
        w->proxy = proxy;
        w->key = must_dup(buf_slice(&key));
        w->broker = b->broker;
        list_init(&w->waiting);
        timer_init(&w->pause, look_again, w);
        map_put(&proxy->polls, buf_slice(&key), w);
    }
    b->watch = w;
    list_add(&w->waiting, &b->node);
    buf_done(&key);
}

static int64_t left_ms(const struct poll *p)
{
    int64_t left = p->ends_ms - tasks_mono_ms(p->request->proxy->tasks);
    return left > 0 ? left : 0;
}

/* The poll of a watch that waits longest from now on; its words are those of all. NULL: nobody waits. */
static struct poll *longest(const struct watch *w)
{
    struct poll *best = NULL;
    LIST_EACH(&w->waiting, node) {
        struct poll *p = LIST_OWNER(node, struct branch, node)->poll;
        if (!best || p->ends_ms > best->ends_ms) best = p;
    }
    return best;
}

static void pause_watch(struct watch *w, int64_t ms) { timer_start(w->proxy->tasks, &w->pause, ms); }

/* Somebody who waits and does not look elsewhere; else anybody. */
static struct branch *next_waiting(struct watch *w)
{
    struct branch *any = NULL;
    LIST_EACH(&w->waiting, node) {
        struct branch *b = LIST_OWNER(node, struct branch, node);
        if (!b->poll->popping) return b;
        if (!any) any = b;
    }
    return any;
}

/* There are messages at the broker: one poll looks. */
static void give(struct watch *w)
{
    struct branch *b = next_waiting(w);
    if (!b) {
        w->taken = false;
        watch_free(w);
        return;
    }
    w->taken = true;
    b->ready = true;
    list_remove(&b->node);
    list_add(&w->waiting, &b->node);   /* the others come first the next time */
    if (!b->poll->popping) go_on(b->poll);
}

static void refused(struct watch *w, bool full)
{
    w->full = full;
    struct branch *b = list_empty(&w->waiting) ? NULL : LIST_OWNER(list_first(&w->waiting), struct branch, node);
    if (!b) {
        watch_free(w);
    } else if (full && !b->poll->popping && all_full(b->poll)) {
        pause_watch(w, REFUSED_PAUSE_MS);
        end_empty(b->poll);
    } else {
        pause_watch(w, REFUSED_PAUSE_MS);
    }
}

static void on_notification(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct watch *w = ctx;
    struct notification_reply_header h = {0};
    w->asked = false;
    if (!e && reply->frame->code != RESPONSE_SUCCESS) e = err_new(ERR_REFUSED, "%.*s", SLICE_ARG(reply->frame->remark));
    if (!e) e = header_decode(&notification_reply_kind, reply->frame, &h);
    if (e) {
        log_debug("notification.failed broker=\"%s\" why=\"%s\"", w->broker->name, err_text(e));
        err_free(e);
        refused(w, false);
    } else if (h.has_msg) {
        w->full = false;
        give(w);
    } else if (h.polling_full) {
        refused(w, true);
    } else if (list_empty(&w->waiting)) {
        watch_free(w);
    } else {
        w->full = false;
        w->useless = 0;
        watch_look(w);
    }
}

static void ask(struct watch *w, struct poll *p)
{
    const struct poll_question *q = &p->q;
    int64_t wait_ms = left_ms(p);
    struct notification_header h = {
        .consumer_group = q->group, .topic = q->topic, .queue_id = ALL_QUEUES, .poll_time = wait_ms, .born_time = 0, .order = q->fifo,
        .attempt_id = q->attempt_id, .exp_type = q->filter.type, .exp = q->filter.text, .bname = slice_text(w->broker->name),
        .group_order = q->fifo && w->proxy->cfg->group_order,
    };
    header_set(&h, notification, order);
    if (h.group_order) header_set(&h, notification, group_order);
    struct rpc_request request = {
        .code = REQUEST_NOTIFICATION, .kind = &notification_kind, .header = &h, .timeout_ms = wait_ms + SLACK_MS, .done = on_notification, .ctx = w,
    };
    w->asked = true;
    proxy_count(w->proxy, METRIC_POLLS_NOTIFIED, 1);
    broker_request(w->broker, &request);
}

/* Puts the question, if somebody waits and it is not put already. */
static void watch_look(struct watch *w)
{
    struct poll *p = longest(w);
    if (w->asked || w->taken || w->pause.armed || w->proxy->ending) return;
    if (p && left_ms(p) >= SHORTEST_QUESTION_MS) ask(w, p);
}

/* The poll that looked has found nothing: somebody else was faster. */
static void looked_in_vain(struct branch *b)
{
    struct watch *w = b->watch;
    if (!w || !b->ready) return;
    b->ready = false;
    w->taken = false;
    proxy_count(w->proxy, METRIC_POLLS_USELESS, 1);
    int64_t pause_ms = w->useless ? USELESS_PAUSE_MS << (w->useless - 1) : 0;
    if (w->useless < USELESS_PAUSES) w->useless++;
    if (pause_ms) pause_watch(w, pause_ms);
    else watch_look(w);
}

/* The branch's poll is served. Messages that are left are the next one's. */
static void leave_served(struct branch *b, bool more)
{
    struct watch *w = b->watch;
    if (!w) return;
    if (b->ready) w->taken = false;
    w->useless = 0;
    list_remove(&b->node);
    b->watch = NULL;
    b->ready = false;
    if (more && !w->taken && !list_empty(&w->waiting)) give(w);
    else if (list_empty(&w->waiting) && !w->asked && !w->taken) watch_free(w);
    else watch_look(w);
}

/* --- popping --- */

static void note_failure(struct poll *p, struct branch *b, err_t e, const struct frame *f)
{
    if (e) b->broker->failed_ms = tasks_mono_ms(p->request->proxy->tasks);
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
    leave_served(b, more);
    poll_free(p);
}

/* What came was not for the client: there may be more behind it. */
static void filtered(struct poll *p, struct branch *b)
{
    if (p->gone || p->late) {
        looked_in_vain(b);
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
        looked_in_vain(b);
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
    looked_in_vain(b);
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
        .code = REQUEST_POP_MESSAGE, .kind = &pop_kind, .header = &h, .timeout_ms = wait_ms ? wait_ms + SLACK_MS : SHORT_POP_MS,
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
        if (!p->branches[i].watch) wait_at(&p->branches[i]);
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
    else if (!p->answered_once || left_ms(p) <= 0) end_empty(p);
    else if (p->count && !p->branches[0].watch) wait_everywhere(p);
}

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
    if (q->lite) p->answered_once = true;
    else add_branches(p, r->wanted.route);
    if (!p->count && !q->lite) {
        request_refuse(r, V2_CODE_FORBIDDEN, "no readable queue");
        return;
    }
    r->state = p;
    r->gone = on_gone;
    r->hurry = on_hurry;
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
