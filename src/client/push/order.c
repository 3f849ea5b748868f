#include "client/push/push.h"

#include "codec/body_queue.h"
#include "codec/requests.h"

#include <stdlib.h>

enum { LOCK_TIMEOUT_MS = 1000, LOCK_LIVES_MS = 30000, DEAD_LETTER = -1 };

/* --- locks --- */

static bool holds_lock(const struct work_queue *q) { return q->locked && tasks_mono_ms(tasks_of(q->consumer)) - q->locked_ms < LOCK_LIVES_MS; }

static struct message_queue name_of(const struct work_queue *q)
{
    return (struct message_queue){.topic = slice_text(q->topic), .broker = slice_text(q->broker), .queue_id = q->id};
}

static void request(struct sky_push_consumer *p, struct slice address, int32_t code, const struct message_queue *queues, size_t count,
                    rpc_done *done, void *ctx)
{
    struct lock_request l = {.client_id = slice_text(client_of(p)->id), .group = slice_text(p->options.group),
                             .queues = {(struct message_queue *)queues, count}};
    struct lock_header h = {.present = 0};
    struct buf body = BUF_EMPTY;
    bean_encode(&lock_request_bean, &l, JSON_STRICT, &body);
    struct rpc_request r = {.code = code, .kind = &lock_kind, .header = &h, .body = buf_slice(&body), .timeout_ms = LOCK_TIMEOUT_MS, .done = done, .ctx = ctx};
    rpc_peer_request(routes_link(client_of(p), address)->peer, &r);
    buf_done(&body);
}

/* The queues of one broker whose locks are asked for. */
struct locking {
    struct sky_push_consumer *consumer;
    struct work_queue **queues;
    size_t count;
};

static bool is_granted(const struct lock_reply *reply, const struct work_queue *q)
{
    struct message_queue own = name_of(q);
    for (size_t i = 0; i < reply->queues.count; i++)
        if (message_queue_eq(&reply->queues.items[i], &own)) return true;
    return false;
}

static void take_lock(struct work_queue *q, bool granted)
{
    struct sky_push_consumer *p = q->consumer;
    if (q->dropped) return;
    if (granted != q->locked)
        log_info("queue.%s topic=\"%s\" broker=\"%s\" queue=%d", granted ? "locked" : "not_locked", q->topic, q->broker, q->id);
    q->locked = granted;
    if (granted) q->locked_ms = tasks_mono_ms(tasks_of(p));
    if (!granted && q->next_offset < 0) {   /* somebody else is still at it: it is asked for again when queues are shared next */
        queue_drop(q);
        rebalance_later(p, 1000);
    } else if (granted && q->next_offset < 0) offset_begin(q);
    else if (granted) order_kick(q);
}

static void on_locked(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct locking *x = ctx;
    struct sky_push_consumer *p = x->consumer;
    struct arena arena = ARENA_EMPTY;
    struct lock_reply granted = {.queues = {NULL, 0}};
    if (!e && reply->frame->code == RESPONSE_SUCCESS) e = bean_decode(&lock_reply_bean, reply->frame->body, &arena, "locks", &granted);
    if (e) log_warn("lock.failed why=\"%s\"", err_text(e));
    for (size_t i = 0; i < x->count; i++) {
        /* No answer changes nothing: the lock is the server's to take away, and it ends by itself. */
        bool fresh = x->queues[i]->next_offset < 0;
        if (!e || fresh) take_lock(x->queues[i], !e && is_granted(&granted, x->queues[i]));
        work_unref(x->queues[i]);
    }
    err_free(e);
    arena_done(&arena);
    free(x->queues);
    free(x);
    push_settle(p);
}

static void ask(struct sky_push_consumer *p, struct slice broker, struct work_queue **queues, size_t count)
{
    struct slice address = routes_address(client_of(p), broker, 0);
    struct locking *x = must_zero(sizeof *x);
    struct message_queue *names = must_alloc(count * sizeof *names);
    *x = (struct locking){p, queues, count};
    for (size_t i = 0; i < count; i++) names[i] = name_of(work_ref(queues[i]));
    push_busy(p);
    if (address.p) request(p, address, REQUEST_LOCK_BATCH_MQ, names, count, on_locked, x);
    else on_locked(x, err_new(ERR_NETWORK, "the broker has no master"), NULL);
    free(names);
}

void order_lock(struct work_queue *q)
{
    struct work_queue **one = must_alloc(sizeof(struct work_queue *));
    *one = q;
    ask(q->consumer, slice_text(q->broker), one, 1);
}

/* The queues of the consumer at the broker of the first one that was not asked for yet. */
static struct work_queue **next_broker(struct sky_push_consumer *p, struct map *seen, size_t *count)
{
    struct work_queue **queues = NULL;
    size_t most = 0;
    const char *broker = NULL;
    *count = 0;
    LIST_EACH(&p->queues, n) most += n != NULL;
    LIST_EACH(&p->queues, node) {
        struct work_queue *q = LIST_OWNER(node, struct work_queue, node);
        if (!broker && !map_get(seen, slice_text(q->broker))) {
            broker = q->broker;
            map_put(seen, slice_text(broker), q);
            queues = must_alloc(most * sizeof(struct work_queue *));
        }
        if (broker && strcmp(broker, q->broker) == 0) queues[(*count)++] = q;
    }
    return queues;
}

void order_relock(struct sky_push_consumer *p)
{
    struct map seen = MAP_EMPTY;
    size_t count;
    for (struct work_queue **queues; (queues = next_broker(p, &seen, &count));) ask(p, slice_text(queues[0]->broker), queues, count);
    map_done(&seen);
}

void order_unlock(const struct work_queue *q)
{
    struct message_queue name = name_of(q);
    struct slice address = routes_address(client_of(q->consumer), name.broker, 0);
    if (address.p) request(q->consumer, address, REQUEST_UNLOCK_BATCH_MQ, &name, 1, NULL, NULL);
}

/* --- one message after the other --- */

static void finish(struct work_queue *q, struct held *h)
{
    int64_t messages = q->held.messages, bytes = q->held.bytes;
    held_done(&q->held, h);
    push_count(q->consumer, q, messages, bytes);
}

/* A dead letter that no server took: the queue goes on with it. */
static void keep(struct work_queue *q, struct held *h)
{
    h->message->arrival->reconsume_times++;
    timer_start(tasks_of(q->consumer), &q->resume, 1000);
}

/* True: the queue must wait for a message that is tried again. */
static bool count_failures(struct job *j)
{
    struct sky_push_consumer *p = j->queue->consumer;
    bool waits = false;
    for (size_t i = 0; i < j->count; i++) {
        struct arrival *a = j->items[i]->message->arrival;
        if (a->reconsume_times >= push_max_reconsume_times(p)) send_back(j->queue, j->items[i], DEAD_LETTER, keep);
        else {
            a->reconsume_times++;
            waits = true;
        }
    }
    return waits;
}

static void on_ended(struct job *j)
{
    struct work_queue *q = j->queue;
    q->running = false;
    if (!j->skipped && !q->dropped) {
        bool fine = j->result == SKY_CONSUMED;
        for (size_t i = 0; fine && i < j->count; i++) finish(q, j->items[i]);
        offset_note(q, held_committable(&q->held), false);
        if (fine) order_kick(q);
        else {
            count_failures(j);
            timer_start(tasks_of(q->consumer), &q->resume, j->suspend_ms);
        }
    }
    job_free(j);
}

void order_kick(struct work_queue *q)
{
    struct held *items[1024];
    size_t count = 0, batch = (size_t)q->consumer->options.batch;
    if (q->dropped || q->running || q->resume.armed || !holds_lock(q)) return;
    for (struct held *h; count < batch && (h = held_at(&q->held, count));) items[count++] = h;
    if (!count) return;
    q->running = true;
    job_run(q, items, count, on_ended);
}
