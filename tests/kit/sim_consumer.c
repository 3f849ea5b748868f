#include "kit/sim_base.h"

#include "codec/body_heartbeat.h"
#include "codec/body_queue.h"
#include "codec/requests.h"

#include <stdlib.h>

enum {
    HEARTBEAT_MS = 2500, REBALANCE_MS = 4000, COMMIT_MS = 1000, TIMEOUT_MS = 3000,
    HOLD_MS = 4000, PULL_TIMEOUT_MS = 7000, RETRY_MS = 300, BATCH = 32,
    FLAG_HOLD = 2,   /* of a pull's sys_flag */
};

struct my_queue {
    struct sim_consumer *consumer;
    int broker;
    int32_t queue;
    bool mine;
    bool offset_known;
    int64_t next;
    struct timer retry;
    int ownership;           /* counts up when the queue is taken or dropped: replies to older requests do not count */
};

/* A request about a queue. */
struct asked {
    struct my_queue *queue;
    int ownership;
};

struct sim_consumer {
    struct sim_base base;
    struct timer heartbeat, rebalance, commit;
    struct my_queue queue[HISTORY_BROKERS][HISTORY_QUEUES];
    bool left;
};

static void go_on(void *ctx);

static struct asked *ask(struct my_queue *q)
{
    struct asked *a = must_alloc(sizeof *a);
    *a = (struct asked){q, q->ownership};
    return a;
}

/* Uses a up; NULL: the queue is not ours any more, or was in between. */
static struct my_queue *answered(struct asked *a)
{
    struct my_queue *q = a->ownership == a->queue->ownership && a->queue->mine && !a->queue->consumer->base.gone ? a->queue : NULL;
    free(a);
    return q;
}

static void later(struct my_queue *q) { timer_start(q->consumer->base.tasks, &q->retry, RETRY_MS); }

/* --- heartbeats --- */

static void ignore_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    (void)ctx;
    (void)reply;
    err_free(e);
}

static void send_heartbeat(void *ctx)
{
    struct sim_consumer *c = ctx;
    struct sim_base *b = &c->base;
    struct subscription s = {.topic = slice_text(b->o.topic), .expression = SLICE("*"), .type = SLICE("TAG"), .version = 1};
    struct heartbeat_consumer group = {.group = slice_text(b->o.group), .type = CONSUME_PASSIVELY, .model = MODEL_CLUSTERING, .from = FROM_FIRST_OFFSET,
                                       .subscriptions = {&s, 1}};
    struct heartbeat h = {.client_id = slice_text(b->id), .consumers = {&group, 1}};
    struct buf body = BUF_EMPTY;
    bean_encode(&heartbeat_bean, &h, JSON_STRICT, &body);
    for (int i = 0; i < b->o.broker_count; i++) {
        if (!b->broker[i]) continue;
        struct rpc_request r = {.code = REQUEST_HEART_BEAT, .body = buf_slice(&body), .timeout_ms = TIMEOUT_MS, .done = ignore_reply};
        rpc_peer_request(b->broker[i], &r);
    }
    buf_done(&body);
    timer_start(b->tasks, &c->heartbeat, b->broker[0] ? HEARTBEAT_MS : HEARTBEAT_MS / 10);
}

/* --- offsets --- */

static void commit_queue(struct my_queue *q)
{
    struct sim_base *b = &q->consumer->base;
    if (!q->mine || !q->offset_known) return;
    struct update_offset_header h = {.commit_offset = q->next, .consumer_group = slice_text(b->o.group), .queue_id = q->queue,
                                     .topic = slice_text(b->o.topic)};
    struct rpc_request r = {.code = REQUEST_UPDATE_CONSUMER_OFFSET, .kind = &update_offset_kind, .header = &h};
    rpc_peer_request(b->broker[q->broker], &r);
    history_commit_sent(b->o.history, b->o.number, (struct place){q->broker, q->queue, q->next}, sim_base_now_ms(b));
}

static void each_queue(struct sim_consumer *c, void (*f)(struct my_queue *q))
{
    for (int i = 0; i < HISTORY_BROKERS; i++)
        for (int k = 0; k < HISTORY_QUEUES; k++) f(&c->queue[i][k]);
}

static void commit_all(void *ctx)
{
    struct sim_consumer *c = ctx;
    each_queue(c, commit_queue);
    timer_start(c->base.tasks, &c->commit, COMMIT_MS);
}

static void on_offset(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct my_queue *q = answered(ctx);
    struct query_offset_reply_header h = {.offset = 0};
    int code = e ? -1 : reply->frame->code;
    err_free(e);
    if (!q) return;
    if (code == RESPONSE_SUCCESS) {
        err_t wrong = header_decode(&query_offset_reply_kind, reply->frame, &h);
        if (wrong) history_blame(q->consumer->base.o.history, "an offset cannot be read: %s", err_text(wrong));
        err_free(wrong);
    } else if (code != RESPONSE_QUERY_NOT_FOUND) {
        later(q);
        return;
    }
    q->next = h.offset;
    q->offset_known = true;
    go_on(q);
}

static void ask_offset(struct my_queue *q)
{
    struct sim_base *b = &q->consumer->base;
    struct query_offset_header h = {.consumer_group = slice_text(b->o.group), .queue_id = q->queue, .topic = slice_text(b->o.topic)};
    struct rpc_request r = {.code = REQUEST_QUERY_CONSUMER_OFFSET, .kind = &query_offset_kind, .header = &h, .timeout_ms = TIMEOUT_MS,
                            .done = on_offset, .ctx = ask(q)};
    rpc_peer_request(b->broker[q->broker], &r);
}

/* --- pulling --- */

static void deliver(void *ctx, struct place at, struct slice body)
{
    struct my_queue *q = ctx;
    struct history *h = q->consumer->base.o.history;
    if (at.queue != q->queue) history_blame(h, "a pull of queue %d brought a message of queue %d", q->queue, at.queue);
    if (at.offset != q->next) history_blame(h, "H3: a pull at offset %lld of broker %d queue %d brought %lld", (long long)q->next, at.broker, at.queue, (long long)at.offset);
    q->next = at.offset + 1;
    history_delivered(h, at, body);
}

static void take_pull(struct my_queue *q, const struct frame *f)
{
    struct sim_base *b = &q->consumer->base;
    switch (f->code) {
    case RESPONSE_SUCCESS:
        sim_each_record(b, q->broker, f->body, deliver, q);
        go_on(q);
        return;
    case RESPONSE_PULL_OFFSET_MOVED:
        history_blame(b->o.history, "broker %d has lost what is before offset %lld of queue %d", q->broker, (long long)q->next, q->queue);
        return;
    case RESPONSE_PULL_NOT_FOUND:
    case RESPONSE_PULL_RETRY_IMMEDIATELY:
        timer_start(b->tasks, &q->retry, 10);
        return;
    }
    later(q);   /* after a restart a broker learns of us with the next heartbeat */
}

static void on_pulled(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct my_queue *q = answered(ctx);
    bool failed = e;
    err_free(e);
    if (!q) return;
    if (failed) later(q);
    else take_pull(q, reply->frame);
}

static void pull(struct my_queue *q)
{
    struct sim_base *b = &q->consumer->base;
    struct pull_header h = {.consumer_group = slice_text(b->o.group), .topic = slice_text(b->o.topic), .queue_id = q->queue, .queue_offset = q->next,
                            .max_msg_nums = BATCH, .sys_flag = FLAG_HOLD, .suspend_timeout_millis = HOLD_MS, .sub_version = 1};
    struct rpc_request r = {.code = REQUEST_PULL_MESSAGE, .kind = &pull_kind, .header = &h, .timeout_ms = PULL_TIMEOUT_MS, .done = on_pulled,
                            .ctx = ask(q)};
    rpc_peer_request(b->broker[q->broker], &r);
}

static void go_on(void *ctx)
{
    struct my_queue *q = ctx;
    if (!q->mine) return;
    if (q->offset_known) pull(q);
    else ask_offset(q);
}

/* --- who owns what --- */

static void set_mine(struct my_queue *q, bool mine)
{
    struct sim_base *b = &q->consumer->base;
    if (q->mine == mine) return;
    if (!mine) commit_queue(q);
    q->mine = mine;
    q->offset_known = false;
    q->ownership++;
    timer_stop(b->tasks, &q->retry);
    history_owns(b->o.history, b->o.number, q->broker, q->queue, mine);
    if (mine) go_on(q);
}

static int compare_texts(const void *a, const void *b) { return slice_compare(*(const struct slice *)a, *(const struct slice *)b); }

/* Neighbouring queues in equal shares, the first members getting one more, as the official clients' default does. */
static void allocate(struct sim_consumer *c, struct consumer_list *members)
{
    struct sim_base *b = &c->base;
    int total = 0, me = -1, n = (int)members->client_ids.count, at = 0;
    qsort(members->client_ids.items, members->client_ids.count, sizeof(struct slice), compare_texts);
    for (int i = 0; i < n; i++)
        if (slice_eq(members->client_ids.items[i], slice_text(b->id))) me = i;
    if (me < 0) return;
    for (int i = 0; i < b->o.broker_count; i++) total += b->broker[i] ? b->queues[i] : 0;
    int share = total / n, more = total % n;
    int first = me * share + (me < more ? me : more), end = first + share + (me < more);
    for (int i = 0; i < b->o.broker_count; i++)
        for (int k = 0; b->broker[i] && k < b->queues[i]; k++, at++) set_mine(&c->queue[i][k], at >= first && at < end);
}

static void on_members(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct sim_consumer *c = ctx;
    if (!e && !c->base.gone && !c->left && reply->frame->code == RESPONSE_SUCCESS) {
        struct arena arena = ARENA_EMPTY;
        struct consumer_list members;
        err_t wrong = bean_decode(&consumer_list_bean, reply->frame->body, &arena, "members", &members);
        if (wrong) history_blame(c->base.o.history, "the list of members cannot be read: %s", err_text(wrong));
        else allocate(c, &members);
        err_free(wrong);
        arena_done(&arena);
    }
    err_free(e);
}

static void rebalance(void *ctx)
{
    struct sim_consumer *c = ctx;
    struct sim_base *b = &c->base;
    int broker = sim_base_any_broker(b);
    if (broker >= 0) {
        struct consumer_list_header h = {.consumer_group = slice_text(b->o.group)};
        struct rpc_request r = {.code = REQUEST_GET_CONSUMER_LIST_BY_GROUP, .kind = &consumer_list_kind, .header = &h, .timeout_ms = TIMEOUT_MS,
                                .done = on_members, .ctx = c};
        rpc_peer_request(b->broker[broker], &r);
    }
    timer_start(b->tasks, &c->rebalance, broker >= 0 ? REBALANCE_MS : REBALANCE_MS / 10);
}

/* A broker says that the group has changed. */
static void on_notice(void *ctx, struct call *call)
{
    struct sim_consumer *c = ctx;
    if (call->code == REQUEST_NOTIFY_CONSUMER_IDS_CHANGED && !c->left) timer_start(c->base.tasks, &c->rebalance, 0);
    call_drop(call);
}

/* --- life --- */

struct sim_consumer *sim_consumer_new(const struct sim_client_options *o)
{
    struct sim_consumer *c = must_zero(sizeof *c);
    struct rpc_service service = {.handle = on_notice, .ctx = c};
    sim_base_init(&c->base, o, &service);
    for (int i = 0; i < HISTORY_BROKERS; i++) {
        for (int k = 0; k < HISTORY_QUEUES; k++) {
            c->queue[i][k] = (struct my_queue){.consumer = c, .broker = i, .queue = k};
            timer_init(&c->queue[i][k].retry, go_on, &c->queue[i][k]);
        }
    }
    timer_init(&c->heartbeat, send_heartbeat, c);
    timer_init(&c->rebalance, rebalance, c);
    timer_init(&c->commit, commit_all, c);
    timer_start(c->base.tasks, &c->heartbeat, 1);
    timer_start(c->base.tasks, &c->rebalance, 100);
    timer_start(c->base.tasks, &c->commit, COMMIT_MS);
    return c;
}

static void stop_timers(struct sim_consumer *c)
{
    timer_stop(c->base.tasks, &c->heartbeat);
    timer_stop(c->base.tasks, &c->rebalance);
    timer_stop(c->base.tasks, &c->commit);
}

static void drop(struct my_queue *q) { set_mine(q, false); }

void sim_consumer_leave(struct sim_consumer *c)
{
    struct sim_base *b = &c->base;
    c->left = true;
    stop_timers(c);
    each_queue(c, drop);
    struct unregister_client_header h = {.client_id = slice_text(b->id), .consumer_group = slice_text(b->o.group)};
    for (int i = 0; i < b->o.broker_count; i++) {
        if (!b->broker[i]) continue;
        struct rpc_request r = {.code = REQUEST_UNREGISTER_CLIENT, .kind = &unregister_client_kind, .header = &h, .timeout_ms = TIMEOUT_MS,
                                .done = ignore_reply};
        rpc_peer_request(b->broker[i], &r);
    }
}

void sim_consumer_kill(struct sim_consumer *c)
{
    c->left = true;
    history_client_gone(c->base.o.history, c->base.o.number);
    sim_process_kill(c->base.process);
}

static void stop_retry(struct my_queue *q) { timer_stop(q->consumer->base.tasks, &q->retry); }

void sim_consumer_free(struct sim_consumer *c)
{
    if (!c) return;
    stop_timers(c);
    each_queue(c, stop_retry);
    sim_base_done(&c->base);
    free(c);
}

bool sim_consumer_knows_all(const struct sim_consumer *c)
{
    const struct sim_base *b = &c->base;
    for (int i = 0; i < b->o.broker_count; i++)
        if (!b->broker[i] || !b->queues[i]) return false;
    return true;
}
