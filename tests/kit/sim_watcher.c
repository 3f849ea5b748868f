#include "kit/sim_base.h"

#include "codec/requests.h"

#include <stdlib.h>

enum { TIMEOUT_MS = 3000, READ_BATCH = 32, READ_RETRY_MS = 500, FLAG_SUBSCRIPTION = 4 };

struct watched {
    struct sim_watcher *watcher;
    int broker;
    int32_t queue;
    int incarnation;             /* of the broker that was asked */
    bool asked;
    int64_t next;                /* reading back */
    bool read;
    struct timer retry;
};

struct sim_watcher {
    struct sim_base base;
    int32_t queues;
    int64_t period_ms;
    struct timer round;
    struct watched queue[HISTORY_BROKERS][HISTORY_QUEUES];
    bool reading;
};

static void on_offset(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct watched *q = ctx;
    struct history *h = q->watcher->base.o.history;
    struct query_offset_reply_header header;
    q->asked = false;
    if (!e && !q->watcher->base.gone && reply->frame->code == RESPONSE_SUCCESS && q->incarnation == history_incarnation(h, q->broker)) {
        err_t wrong = header_decode(&query_offset_reply_kind, reply->frame, &header);
        if (!wrong) history_commit_seen(h, (struct place){q->broker, q->queue, header.offset}, sim_base_now_ms(&q->watcher->base));
        err_free(wrong);
    }
    err_free(e);
}

static void ask(struct watched *q)
{
    struct sim_base *b = &q->watcher->base;
    if (q->asked || !b->broker[q->broker]) return;
    q->asked = true;
    q->incarnation = history_incarnation(b->o.history, q->broker);
    struct query_offset_header h = {.consumer_group = slice_text(b->o.group), .queue_id = q->queue, .topic = slice_text(b->o.topic)};
    struct rpc_request r = {.code = REQUEST_QUERY_CONSUMER_OFFSET, .kind = &query_offset_kind, .header = &h, .timeout_ms = TIMEOUT_MS,
                            .done = on_offset, .ctx = q};
    rpc_peer_request(b->broker[q->broker], &r);
}

static void round_begins(void *ctx)
{
    struct sim_watcher *w = ctx;
    for (int i = 0; i < w->base.o.broker_count; i++)
        for (int k = 0; k < w->queues; k++) ask(&w->queue[i][k]);
    timer_start(w->base.tasks, &w->round, w->period_ms);
}

/* --- reading back --- */

static void read_on(void *ctx);

static void keep(void *ctx, struct place at, struct slice body)
{
    struct watched *q = ctx;
    q->next = at.offset + 1;
    history_read_back(q->watcher->base.o.history, at, body);
}

static void take(struct watched *q, const struct frame *f)
{
    struct sim_base *b = &q->watcher->base;
    struct pull_reply_header h;
    err_t e = header_decode(&pull_reply_kind, f, &h);
    if (f->code == RESPONSE_SUCCESS) sim_each_record(b, q->broker, f->body, keep, q);
    q->read = !e && q->next >= h.max_offset;
    if (!e && h.min_offset != 0) history_blame(b->o.history, "H1: broker %d queue %d begins at offset %lld", q->broker, q->queue, (long long)h.min_offset);
    err_free(e);
    if (!q->read) timer_start(b->tasks, &q->retry, f->code == RESPONSE_SUCCESS ? 0 : READ_RETRY_MS);
}

static void on_read(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct watched *q = ctx;
    if (!q->watcher->base.gone) {
        if (e) timer_start(q->watcher->base.tasks, &q->retry, READ_RETRY_MS);
        else take(q, reply->frame);
    }
    err_free(e);
}

static void read_on(void *ctx)
{
    struct watched *q = ctx;
    struct sim_base *b = &q->watcher->base;
    struct pull_header h = {.consumer_group = SLICE("readers"), .topic = slice_text(b->o.topic), .queue_id = q->queue, .queue_offset = q->next,
                            .max_msg_nums = READ_BATCH, .sys_flag = FLAG_SUBSCRIPTION, .subscription = SLICE("*"), .expression_type = SLICE("TAG")};
    struct rpc_request r = {.code = REQUEST_PULL_MESSAGE, .kind = &pull_kind, .header = &h, .timeout_ms = TIMEOUT_MS, .done = on_read, .ctx = q};
    rpc_peer_request(b->broker[q->broker], &r);
}

void sim_watcher_read_back(struct sim_watcher *w)
{
    w->reading = true;
    for (int i = 0; i < w->base.o.broker_count; i++)
        for (int k = 0; k < w->queues; k++) timer_start(w->base.tasks, &w->queue[i][k].retry, 0);
}

bool sim_watcher_has_read(const struct sim_watcher *w)
{
    for (int i = 0; i < w->base.o.broker_count; i++)
        for (int k = 0; k < w->queues; k++)
            if (!w->queue[i][k].read) return false;
    return w->reading;
}

/* --- life --- */

struct sim_watcher *sim_watcher_new(const struct sim_client_options *o, int32_t queues, int64_t period_ms)
{
    struct sim_watcher *w = must_zero(sizeof *w);
    sim_base_init(&w->base, o, NULL);
    w->queues = queues;
    w->period_ms = period_ms;
    for (int i = 0; i < HISTORY_BROKERS; i++) {
        for (int k = 0; k < HISTORY_QUEUES; k++) {
            w->queue[i][k] = (struct watched){.watcher = w, .broker = i, .queue = k};
            timer_init(&w->queue[i][k].retry, read_on, &w->queue[i][k]);
        }
    }
    timer_init(&w->round, round_begins, w);
    timer_start(w->base.tasks, &w->round, period_ms);
    return w;
}

void sim_watcher_free(struct sim_watcher *w)
{
    if (!w) return;
    timer_stop(w->base.tasks, &w->round);
    for (int i = 0; i < HISTORY_BROKERS; i++)
        for (int k = 0; k < HISTORY_QUEUES; k++) timer_stop(w->base.tasks, &w->queue[i][k].retry);
    sim_base_done(&w->base);
    free(w);
}
