#include "client/push/push.h"

#include <stdlib.h>

enum { AGAIN_MS = 5000, EXPIRED_LEVEL = 3, SUSPEND_MS = 1000 };

struct sky_consume_context {
    struct job *job;
};

void sky_consume_context_set_consumed(struct sky_consume_context *x, size_t count) { x->job->succeeded = count < x->job->count ? count : x->job->count; }
void sky_consume_context_set_delay_level(struct sky_consume_context *x, int32_t level) { x->job->delay_level = level; }

struct sky_error *sky_consume_context_set_suspend_ms(struct sky_consume_context *x, int64_t ms)
{
    if (ms < 10 || ms > 30000) return error_new(SKY_INVALID, 0, "a queue waits 10 to 30000 ms, not %lld", (long long)ms);
    x->job->suspend_ms = ms;
    return NULL;
}

/* --- jobs --- */

/* On a thread of the consumer: the first place where bodies are opened, so that the network thread need not. */
static void run(struct work *w)
{
    struct job *j = LIST_OWNER(w, struct job, work);
    struct sky_push_consumer *p = j->queue->consumer;
    struct sky_consume_context x = {j};
    j->skipped = atomic_load(&p->stopping);
    if (j->skipped) return;
    const struct sky_message **messages = must_alloc(j->count * sizeof(struct sky_message *));
    for (size_t i = 0; i < j->count; i++) {
        message_open(j->items[i]->message);
        messages[i] = j->items[i]->message;
    }
    j->result = p->consume(p->user, &x, messages, j->count);
    free(messages);
}

static void count_result(struct job *j)
{
    struct sky_push_consumer *p = j->queue->consumer;
    size_t fine = j->result == SKY_CONSUMED ? j->succeeded : 0;
    lock_take(&p->numbers);
    p->consumed += (int64_t)fine;
    p->failed += (int64_t)(j->count - fine);
    lock_give(&p->numbers);
}

static void done(struct work *w)
{
    struct job *j = LIST_OWNER(w, struct job, work);
    if (!j->skipped) count_result(j);
    j->ended(j);
}

void job_free(struct job *j)
{
    struct work_queue *q = j->queue;
    struct sky_push_consumer *p = q->consumer;
    for (size_t i = 0; i < j->count; i++) held_unref(j->items[i]);
    free(j->items);
    free(j);
    work_unref(q);
    push_settle(p);
}

void job_run(struct work_queue *q, struct held **items, size_t count, void (*ended)(struct job *))
{
    struct job *j = must_zero(sizeof *j);
    *j = (struct job){.work = {.run = run, .done = done}, .queue = work_ref(q), .items = must_alloc(count * sizeof(struct held *)), .count = count,
                      .ended = ended, .succeeded = count, .suspend_ms = SUSPEND_MS};
    for (size_t i = 0; i < count; i++) {
        j->items[i] = held_ref(items[i]);
        j->items[i]->begun_ms = tasks_mono_ms(tasks_of(q->consumer));
    }
    push_busy(q->consumer);
    pool_run(q->consumer->threads, &j->work);
}

/* --- messages that need no order --- */

struct again {
    struct list_node node;       /* of the consumer's again */
    struct timer timer;
    struct work_queue *queue;
    struct held *held;
};

static void on_ended(struct job *j);

static void again_free(struct again *a)
{
    list_remove(&a->node);
    held_unref(a->held);
    work_unref(a->queue);
    free(a);
}

static void begin_again(void *ctx)
{
    struct again *a = ctx;
    if (!a->queue->dropped) job_run(a->queue, &a->held, 1, on_ended);
    again_free(a);
}

/* No server takes it back: it is tried again here. */
static void try_here(struct work_queue *q, struct held *h)
{
    struct again *a = must_zero(sizeof *a);
    h->message->arrival->reconsume_times++;
    *a = (struct again){.queue = work_ref(q), .held = held_ref(h)};
    list_add(&q->consumer->again, &a->node);
    timer_init(&a->timer, begin_again, a);
    timer_start(tasks_of(q->consumer), &a->timer, AGAIN_MS);
}

void consume_give_up(struct sky_push_consumer *p)
{
    LIST_EACH(&p->again, node) {
        struct again *a = LIST_OWNER(node, struct again, node);
        timer_stop(tasks_of(p), &a->timer);
        again_free(a);
    }
}

static void finish_item(struct work_queue *q, struct held *h)
{
    int64_t messages = q->held.messages, bytes = q->held.bytes;
    held_done(&q->held, h);
    push_count(q->consumer, q, messages, bytes);
}

static void handle_item(struct job *j, size_t i, size_t fine)
{
    struct work_queue *q = j->queue;
    if (i < fine || q->consumer->options.broadcast) finish_item(q, j->items[i]);
    else if (!j->items[i]->done) send_back(q, j->items[i], j->delay_level, try_here);
}

static void on_ended(struct job *j)
{
    struct work_queue *q = j->queue;
    size_t fine = j->result == SKY_CONSUMED ? j->succeeded : 0;
    if (!j->skipped && !q->dropped) {
        for (size_t i = 0; i < j->count; i++) handle_item(j, i, fine);
        offset_note(q, held_committable(&q->held), false);
        if (q->consumer->options.broadcast && fine < j->count)
            log_warn("consume.failed topic=\"%s\" queue=%d messages=%zu", q->topic, q->id, j->count - fine);
    }
    job_free(j);
}

void consume_begin(struct work_queue *q, struct held **items, size_t count)
{
    size_t batch = (size_t)q->consumer->options.batch;
    if (q->consumer->options.ordered) {
        order_kick(q);
        return;
    }
    for (size_t i = 0; i < count; i += batch) job_run(q, items + i, count - i < batch ? count - i : batch, on_ended);
}

/* The oldest of each queue: those behind it are looked at when it is gone. */
void consume_expire(struct sky_push_consumer *p)
{
    int64_t now = tasks_mono_ms(tasks_of(p));
    LIST_EACH(&p->queues, node) {
        struct work_queue *q = LIST_OWNER(node, struct work_queue, node);
        struct held *h = held_at(&q->held, 0);
        if (!h || !h->begun_ms || now - h->begun_ms <= p->options.consume_timeout_ms) continue;
        log_warn("consume.too_long topic=\"%s\" queue=%d offset=%lld", q->topic, q->id, (long long)h->offset);
        h->begun_ms = 0;
        send_back(q, h, EXPIRED_LEVEL, try_here);
    }
}
