#include "broker/hold/hold.h"

#include "base/buf.h"

#include <assert.h>
#include <stdlib.h>

enum { TOPIC_MAX = 256 };

struct hold_queue {
    struct list waiters;
    size_t topic_bytes;
    char *key;
    size_t key_bytes;
};

/* topic | 0 | queue id: on the stack, as arrivals look one up for every queue that got messages. */
static struct slice make_key(char key[static TOPIC_MAX + 5], struct slice topic, int32_t queue_id)
{
    assert(topic.n <= TOPIC_MAX);
    memcpy(key, topic.p, topic.n);
    key[topic.n] = 0;
    memcpy(key + topic.n + 1, &queue_id, sizeof queue_id);
    return slice_of(key, topic.n + 1 + sizeof queue_id);
}

void hold_init(struct hold *h, struct tasks *tasks) { *h = (struct hold){.tasks = tasks, .queues = MAP_EMPTY}; }

static void leave(struct waiter *w)
{
    struct hold *h = w->hold;
    struct hold_queue *q = w->queue;
    list_remove(&w->node);
    timer_stop(h->tasks, &w->timer);
    w->hold = NULL;
    w->queue = NULL;
    h->waiting--;
    if (!list_empty(&q->waiters)) return;
    map_remove(&h->queues, slice_of(q->key, q->key_bytes));
    free(q->key);
    free(q);
}

void hold_wake(struct waiter *w, enum wake_reason reason)
{
    leave(w);
    w->wake(w, reason);
}

static void on_timeout(void *ctx) { hold_wake(ctx, WAKE_TIMEOUT); }

void hold_wait(struct hold *h, struct waiter *w, struct slice topic, int32_t queue_id, int64_t past, int64_t deadline_ms)
{
    char key[TOPIC_MAX + 5];
    struct slice k = make_key(key, topic, queue_id);
    struct hold_queue *q = map_get(&h->queues, k);
    if (!q) {
        q = must_zero(sizeof *q);
        list_init(&q->waiters);
        q->topic_bytes = topic.n;
        q->key = must_dup(k);
        q->key_bytes = k.n;
        map_put(&h->queues, k, q);
    }
    w->hold = h;
    w->queue = q;
    w->past = past;
    w->deadline_ms = deadline_ms;
    list_add(&q->waiters, &w->node);
    h->waiting++;
    timer_init(&w->timer, on_timeout, w);
    timer_start(h->tasks, &w->timer, deadline_ms - tasks_mono_ms(h->tasks));
}

void hold_cancel(struct waiter *w)
{
    if (w->hold) leave(w);
}

/* Waking may put the same request to wait again, and may end the queue's entry; so the waiters to wake are taken out first. */
static void wake_all(struct hold_queue *q, int64_t end, enum wake_reason reason)
{
    size_t count = 0;
    LIST_EACH(&q->waiters, node) count += LIST_OWNER(node, struct waiter, node)->past < end;
    if (!count) return;
    struct waiter *few[16];
    struct waiter **woken = count <= 16 ? few : must_alloc(count * sizeof(struct waiter *));
    size_t n = 0;
    struct list_node *node = q->waiters.head.next;
    while (n < count) {
        struct waiter *w = LIST_OWNER(node, struct waiter, node);
        node = node->next;
        if (w->past < end) woken[n++] = w;
    }
    for (size_t i = 0; i < n; i++) leave(woken[i]);
    for (size_t i = 0; i < n; i++) woken[i]->wake(woken[i], reason);
    if (woken != few) free(woken);
}

void hold_arrived(struct hold *h, struct slice topic, int32_t queue_id, int64_t end)
{
    if (!h->waiting) return;
    char key[TOPIC_MAX + 5];
    struct hold_queue *q = map_get(&h->queues, make_key(key, topic, queue_id));
    if (q) wake_all(q, end, WAKE_ARRIVED);
}

void hold_drop_topic(struct hold *h, struct slice topic)
{
    bool again = true;
    while (again) {   /* waking may change the table: begin anew after each */
        again = false;
        struct map_entry *e;
        for (size_t at = 0; !again && (e = map_next(&h->queues, &at));) {
            struct hold_queue *q = e->value;
            if (!slice_eq(slice_of(q->key, q->topic_bytes), topic)) continue;
            wake_all(q, INT64_MAX, WAKE_DROPPED);
            again = true;
        }
    }
}

void hold_done(struct hold *h)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&h->queues, &at)); at = 0) wake_all(e->value, INT64_MAX, WAKE_DROPPED);
    map_done(&h->queues);
}
