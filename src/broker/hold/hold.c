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

struct hold_topic {
    struct slice name;           /* behind it */
    struct list watches;
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

void hold_init(struct hold *h, struct tasks *tasks)
{
    *h = (struct hold){.tasks = tasks, .queues = MAP_EMPTY, .topics = MAP_EMPTY};
    list_init(&h->parked);
}

static void leave(struct waiter *w)
{
    struct hold *h = w->hold;
    struct hold_queue *q = w->queue;
    list_remove(&w->node);
    timer_stop(h->tasks, &w->timer);
    w->hold = NULL;
    w->queue = NULL;
    if (!q) return;
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

static void begin(struct hold *h, struct waiter *w, struct hold_queue *q, int64_t deadline_ms)
{
    w->hold = h;
    w->queue = q;
    w->deadline_ms = deadline_ms;
    list_add(q ? &q->waiters : &h->parked, &w->node);
    timer_init(&w->timer, on_timeout, w);
    timer_start(h->tasks, &w->timer, deadline_ms - tasks_mono_ms(h->tasks));
}

void hold_park(struct hold *h, struct waiter *w, int64_t deadline_ms) { begin(h, w, NULL, deadline_ms); }

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
    w->past = past;
    begin(h, w, q, deadline_ms);
    h->waiting++;
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

/* --- watching --- */

void hold_watch(struct hold *h, struct watch *w, struct slice topic)
{
    struct hold_topic *t = map_get(&h->topics, topic);
    if (!t) {
        t = must_zero(sizeof *t + topic.n);
        memcpy(t + 1, topic.p, topic.n);
        t->name = slice_of(t + 1, topic.n);
        list_init(&t->watches);
        map_put(&h->topics, topic, t);
    }
    w->topic = t;
    list_add(&t->watches, &w->node);
}

void hold_unwatch(struct hold *h, struct watch *w)
{
    struct hold_topic *t = w->topic;
    if (!t) return;
    w->topic = NULL;
    list_remove(&w->node);
    if (!list_empty(&t->watches)) return;
    map_remove(&h->topics, t->name);
    free(t);
}

static void tell_arrived(struct hold *h, struct slice topic, int32_t queue_id, int64_t end)
{
    struct hold_topic *t = h->topics.count ? map_get(&h->topics, topic) : NULL;
    if (!t) return;
    LIST_EACH(&t->watches, node) {
        struct watch *w = LIST_OWNER(node, struct watch, node);
        w->arrived(w, queue_id, end);
    }
}

static void tell_gone(struct hold *h, struct slice topic)
{
    struct hold_topic *t = map_get(&h->topics, topic);
    if (!t) return;
    LIST_EACH(&t->watches, node) {
        struct watch *w = LIST_OWNER(node, struct watch, node);
        w->gone(w);
    }
}

static void wake_queue(struct hold *h, struct slice topic, int32_t queue_id, int64_t end)
{
    if (!h->waiting) return;
    char key[TOPIC_MAX + 5];
    struct hold_queue *q = map_get(&h->queues, make_key(key, topic, queue_id));
    if (q) wake_all(q, end, WAKE_ARRIVED);
}

void hold_arrived(struct hold *h, struct slice topic, int32_t queue_id, int64_t end)
{
    wake_queue(h, topic, queue_id, end);
    tell_arrived(h, topic, queue_id, end);
}

void hold_drop_topic(struct hold *h, struct slice topic)
{
    tell_gone(h, topic);
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

static void end_waits(struct hold *h, struct list *waiters)
{
    LIST_EACH(waiters, node) timer_start(h->tasks, &LIST_OWNER(node, struct waiter, node)->timer, 0);
}

void hold_end_waits(struct hold *h)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&h->queues, &at));) end_waits(h, &((struct hold_queue *)e->value)->waiters);
    end_waits(h, &h->parked);
}

void hold_done(struct hold *h)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&h->queues, &at)); at = 0) wake_all(e->value, INT64_MAX, WAKE_DROPPED);
    while (!list_empty(&h->parked)) hold_wake(LIST_OWNER(list_first(&h->parked), struct waiter, node), WAKE_DROPPED);
    map_done(&h->queues);
    map_done(&h->topics);
}
