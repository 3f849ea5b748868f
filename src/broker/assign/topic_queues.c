#include "broker/assign/topic_queues.h"

#include "broker/registration.h"
#include "broker/state.h"
#include "codec/body_route.h"
#include "codec/requests.h"

#include <stdlib.h>

enum { ASK_TIMEOUT_MS = 3000, TOPICS_MAX = 100000 };

struct waiting {
    struct list_node node;
    topic_queues_done *done;
    void *ctx;
};

struct entry {
    struct topic_queues *owner;
    char *topic;
    struct arena arena;             /* of the queues */
    struct message_queue *queues;
    size_t count;
    bool known;
    bool asking;
    int64_t asked_ms;               /* mono_ms of the last answer */
    struct list waiting;
};

struct topic_queues {
    struct broker *broker;
    struct map topics;
};

/* --- what is known --- */

static void forget(struct entry *e)
{
    arena_done(&e->arena);
    e->arena = ARENA_EMPTY;
    e->queues = NULL;
    e->count = 0;
    e->known = false;
}

static void add(struct entry *e, struct slice broker, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        struct message_queue *q = arena_list_add(&e->arena, (void **)&e->queues, &e->count, sizeof *q);
        if (!q) return;   /* more than anybody can share */
        *q = (struct message_queue){.topic = slice_text(e->topic), .broker = broker, .queue_id = i};
    }
}

static int by_broker(const void *a, const void *b)
{
    const struct route_queues *x = a, *y = b;
    size_t n = x->broker.n < y->broker.n ? x->broker.n : y->broker.n;
    int order = n ? memcmp(x->broker.p, y->broker.p, n) : 0;
    return order ? order : x->broker.n < y->broker.n ? -1 : x->broker.n > y->broker.n;
}

static void take_route(struct entry *e, struct topic_route *route)
{
    forget(e);
    e->known = true;
    if (route->queues.count) qsort(route->queues.items, route->queues.count, sizeof *route->queues.items, by_broker);
    for (size_t i = 0; i < route->queues.count; i++) {
        const struct route_queues *q = &route->queues.items[i];
        if (q->perm & PERM_READ && q->read_queues <= TOPIC_QUEUES_MAX) add(e, arena_copy(&e->arena, q->broker), q->read_queues);
    }
}

/* A broker without name servers knows its own topics. */
static void take_own(struct entry *e)
{
    const struct broker *b = e->owner->broker;
    const struct topic *topic = topics_find(b->topics, slice_text(e->topic));
    forget(e);
    e->known = topic;
    if (topic && topic->config.perm & PERM_READ) add(e, arena_copy(&e->arena, slice_text(b->cfg->broker.name)), topic->config.read_queues);
}

static void tell_all(struct entry *e)
{
    while (!list_empty(&e->waiting)) {
        struct waiting *w = LIST_OWNER(e->waiting.head.next, struct waiting, node);
        list_remove(&w->node);
        w->done(w->ctx, e->known, e->queues, e->count);
        free(w);
    }
}

/* --- asking --- */

static void on_route(void *ctx, err_t failed, const struct rpc_reply *reply)
{
    struct entry *e = ctx;
    struct arena arena = ARENA_EMPTY;
    struct topic_route route;
    e->asking = false;
    e->asked_ms = tasks_mono_ms(e->owner->broker->tasks);
    if (!failed && reply->frame->code == RESPONSE_TOPIC_NOT_EXIST) forget(e);
    if (!failed && reply->frame->code == RESPONSE_SUCCESS) {
        failed = topic_route_decode(reply->frame->body, &arena, &route);
        if (!failed) take_route(e, &route);
    }
    err_drop(failed, "what was known before is good enough");
    arena_done(&arena);
    tell_all(e);
}

static void ask(struct entry *e, struct rpc_peer *names)
{
    struct route_header h = {.topic = slice_text(e->topic)};
    struct rpc_request r = {.code = REQUEST_GET_ROUTEINFO_BY_TOPIC, .kind = &route_kind, .header = &h, .timeout_ms = ASK_TIMEOUT_MS,
                            .done = on_route, .ctx = e};
    e->asking = true;
    rpc_peer_request(names, &r);
}

static struct entry *find_or_make(struct topic_queues *q, struct slice topic)
{
    struct entry *e = map_get(&q->topics, topic);
    if (e) return e;
    e = must_zero(sizeof *e);
    e->owner = q;
    e->arena = ARENA_EMPTY;
    e->topic = must_dup(topic);
    list_init(&e->waiting);
    map_put(&q->topics, topic, e);
    return e;
}

static void free_entry(void *entry)
{
    struct entry *e = entry;
    arena_done(&e->arena);
    free(e->topic);
    free(e);
}

/* Names come from clients: what was asked for does not fill the memory. */
static void make_room(struct topic_queues *q)
{
    struct map_entry *m;
    if (q->topics.count < TOPICS_MAX) return;
    for (size_t at = 0; (m = map_next(&q->topics, &at));) {
        struct entry *e = m->value;
        if (e->asking) continue;
        map_remove(&q->topics, slice_text(e->topic));
        free_entry(e);
    }
}

static bool is_fresh(const struct entry *e)
{
    const struct broker *b = e->owner->broker;
    return e->count && tasks_mono_ms(b->tasks) - e->asked_ms < b->cfg->broker.route_poll_ms;
}

void topic_queues_get(struct topic_queues *q, struct slice topic, topic_queues_done *done, void *ctx)
{
    make_room(q);
    struct entry *e = find_or_make(q, topic);
    struct rpc_peer *names = registration_names(q->broker->registration);
    if (!names) take_own(e);
    if (!names || is_fresh(e)) {
        done(ctx, e->known, e->queues, e->count);
        return;
    }
    struct waiting *w = must_zero(sizeof *w);
    w->done = done;
    w->ctx = ctx;
    list_add(&e->waiting, &w->node);
    if (!e->asking) ask(e, names);
}

struct topic_queues *topic_queues_new(struct broker *b)
{
    struct topic_queues *q = must_zero(sizeof *q);
    q->broker = b;
    return q;
}

void topic_queues_free(struct topic_queues *q)
{
    if (!q) return;
    map_done_with(&q->topics, free_entry);
    free(q);
}
