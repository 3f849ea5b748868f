#include "client/push/push.h"

#include "allocate/allocate.h"
#include "codec/body_topic_config.h"
#include "codec/requests.h"

#include <stdlib.h>

enum { UNBALANCED_MS = 1000, PULL_EXPIRES_MS = 120000, MEMBERS_MAX = 100000 };

/* What one topic has, and who shares it. */
struct shares {
    struct topic_sub *sub;
    struct message_queue *queues;
    size_t count;
    bool *mine;
};

/* --- queues that come and go --- */

struct work_queue *queue_find(struct sky_push_consumer *p, struct slice topic, struct slice broker, int32_t id)
{
    LIST_EACH(&p->queues, node) {
        struct work_queue *q = LIST_OWNER(node, struct work_queue, node);
        if (q->id == id && slice_eq(slice_text(q->broker), broker) && slice_eq(slice_text(q->topic), topic)) return q;
    }
    return NULL;
}

static void pull_again(void *ctx) { pull_now(ctx); }
static void kick(void *ctx) { order_kick(ctx); }

static void queue_add(struct topic_sub *s, const struct message_queue *m)
{
    struct sky_push_consumer *p = s->consumer;
    struct work_queue *q = must_zero(sizeof *q);
    *q = (struct work_queue){.consumer = p, .sub = s, .topic = must_strdup(s->topic), .broker = must_dup(m->broker), .id = m->queue_id, .refs = 1,
                             .next_offset = -1, .commit_offset = -1, .wanted = true, .pulled_ms = tasks_mono_ms(tasks_of(p))};
    held_init(&q->held);
    timer_init(&q->again, pull_again, q);
    timer_init(&q->resume, kick, q);
    list_add(&p->queues, &q->node);
    s->queues++;
    push_count(p, q, 0, 0);
    if (p->options.ordered) order_lock(q);
    else offset_begin(q);
}

void queue_drop(struct work_queue *q)
{
    struct sky_push_consumer *p = q->consumer;
    if (q->dropped) return;
    log_info("queue.given_back topic=\"%s\" broker=\"%s\" queue=%d offset=%lld", q->topic, q->broker, q->id, (long long)q->commit_offset);
    q->dropped = true;
    pull_forget(q);
    timer_stop(tasks_of(p), &q->resume);
    offset_tell(q);
    if (q->locked) order_unlock(q);
    q->locked = false;
    list_remove(&q->node);
    q->sub->queues--;
    q->sub = NULL;
    int64_t messages = q->held.messages, bytes = q->held.bytes;
    q->held.messages = q->held.bytes = 0;
    push_count(p, q, messages, bytes);
    work_unref(q);
}

/* One whose pulls stopped, whatever the reason, is begun anew. An ordered queue stays while a callback has its messages. */
static bool may_stay(const struct work_queue *q)
{
    if (q->consumer->options.ordered && q->running) return true;
    int64_t now = tasks_mono_ms(tasks_of(q->consumer));
    bool silent = q->pulling && now - q->pulled_ms > PULL_EXPIRES_MS;
    return q->wanted && !silent;
}

static void apply(const struct shares *x)
{
    struct topic_sub *s = x->sub;
    struct sky_push_consumer *p = s->consumer;
    for (size_t i = 0; i < x->count; i++) {
        struct work_queue *q = queue_find(p, slice_text(s->topic), x->queues[i].broker, x->queues[i].queue_id);
        if (q) q->wanted = x->mine[i];
    }
    LIST_EACH(&p->queues, node) {
        struct work_queue *q = LIST_OWNER(node, struct work_queue, node);
        if (q->sub != s) continue;
        if (!may_stay(q)) queue_drop(q);
        else q->wanted = false;   /* until it is named again */
    }
    for (size_t i = 0; i < x->count; i++)
        if (x->mine[i] && !queue_find(p, slice_text(s->topic), x->queues[i].broker, x->queues[i].queue_id)) queue_add(s, &x->queues[i]);
}

/* --- who has which --- */

static void list_queues(struct shares *x, const struct topic_state *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->route.queues.count; i++) count += t->route.queues.items[i].read_queues > 0 ? (size_t)t->route.queues.items[i].read_queues : 0;
    x->queues = must_alloc((count + 1) * sizeof *x->queues);
    x->mine = must_zero(count + 1);
    for (size_t i = 0; i < t->route.queues.count; i++) {
        const struct route_queues *r = &t->route.queues.items[i];
        if (!(r->perm & PERM_READ)) continue;
        for (int32_t id = 0; id < r->read_queues; id++)
            x->queues[x->count++] = (struct message_queue){.topic = slice_text(x->sub->topic), .broker = r->broker, .queue_id = id};
    }
}

static void shares_done(struct shares *x)
{
    free(x->queues);
    free(x->mine);
}

static void mark(void *ctx, size_t place)
{
    struct shares *x = ctx;
    x->mine[place] = true;
}

static void ask_user(struct shares *x, const struct sharers *sh)
{
    const struct sky_push_consumer_options *o = &x->sub->consumer->options;
    const char **clients = must_alloc(sh->count * sizeof(char *));
    struct sky_queue *queues = must_alloc((x->count + 1) * sizeof *queues);
    for (size_t i = 0; i < sh->count; i++) clients[i] = must_dup(sh->clients[i]);
    for (size_t i = 0; i < x->count; i++) queues[i] = (struct sky_queue){must_dup(x->queues[i].broker), x->queues[i].queue_id};
    o->allocate(o->allocate_user, x->sub->topic, clients, sh->count, sh->self, queues, x->count, x->mine);
    for (size_t i = 0; i < sh->count; i++) free((char *)clients[i]);
    for (size_t i = 0; i < x->count; i++) free((char *)queues[i].broker);
    free(clients);
    free(queues);
}

static void share(struct shares *x, const struct slice *clients, size_t count, size_t self)
{
    const struct sky_push_consumer_options *o = &x->sub->consumer->options;
    struct sharers sh = {clients, count, self, x->queues, x->count};
    if (o->allocate) ask_user(x, &sh);
    else if (o->allocation == SKY_ALLOCATE_HASH) allocate_by_hash(&sh, mark, x);
    else allocate_named(o->allocation == SKY_ALLOCATE_CIRCLE ? SLICE("AVG_BY_CIRCLE") : SLICE("AVG"))(count, self, x->count, mark, x);
}

static int by_text(const void *a, const void *b) { return slice_compare(*(const struct slice *)a, *(const struct slice *)b); }

/* False: we are not among the members that the server knows. */
static bool share_among(struct shares *x, struct slice *clients, size_t count)
{
    struct slice own = slice_text(client_of(x->sub->consumer)->id);
    if (count) qsort(clients, count, sizeof *clients, by_text);
    for (size_t i = 0; i < count; i++) {
        if (!slice_eq(clients[i], own)) continue;
        share(x, clients, count, i);
        return true;
    }
    return false;
}

/* --- asking the server who is in the group --- */

static struct slice any_address(struct sky_client *c, const struct topic_state *t)
{
    struct slice found = {NULL, 0};
    for (size_t i = 0; i < t->route.brokers.count && !found.p; i++) found = routes_address(c, t->route.brokers.items[i].name, 0);
    for (size_t i = 0; i < t->route.brokers.count && !found.p; i++)
        if (t->route.brokers.items[i].addresses.count)
            found = routes_address(c, t->route.brokers.items[i].name, t->route.brokers.items[i].addresses.items[0].id);
    return found;
}

static err_t take_members(struct topic_sub *s, const struct frame *f)
{
    struct arena arena = ARENA_EMPTY;
    struct consumer_list list = {.client_ids = {NULL, 0}};
    struct topic_state *t = routes_topic(client_of(s->consumer), slice_text(s->topic));
    struct shares x = {.sub = s};
    bool known = false;
    err_t e = NULL;
    if (f->code == RESPONSE_SUCCESS) e = bean_decode(&consumer_list_bean, f->body, &arena, "members", &list);
    if (!e && list.client_ids.count <= MEMBERS_MAX) {
        list_queues(&x, t);
        known = share_among(&x, list.client_ids.items, list.client_ids.count);
        if (known) apply(&x);
        shares_done(&x);
    }
    arena_done(&arena);
    if (!e && !known) e = err_new(ERR_NOT_FOUND, "the server does not know this member yet");
    return e;
}

static void on_members(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct topic_sub *s = ctx;
    struct sky_push_consumer *p = s->consumer;
    bool again = s->again;
    s->asking = s->again = false;
    if (!atomic_load(&p->stopping)) {
        if (!e) e = take_members(s, reply->frame);
        if (e) {
            log_info("rebalance.failed topic=\"%s\" why=\"%s\"", s->topic, err_text(e));
            rebalance_later(p, UNBALANCED_MS);
        } else if (again) rebalance_topic(s);
    }
    err_free(e);
    push_settle(p);
}

static void ask_members(struct topic_sub *s, struct slice address)
{
    struct sky_push_consumer *p = s->consumer;
    struct consumer_list_header h = {.consumer_group = slice_text(p->options.group)};
    struct rpc_request r = {.code = REQUEST_GET_CONSUMER_LIST_BY_GROUP, .kind = &consumer_list_kind, .header = &h,
                            .timeout_ms = client_of(p)->options.request_timeout_ms, .done = on_members, .ctx = s};
    s->asking = true;
    push_busy(p);
    rpc_peer_request(routes_link(client_of(p), address)->peer, &r);
}

static void take_all(struct topic_sub *s, const struct topic_state *t)
{
    struct shares x = {.sub = s};
    list_queues(&x, t);
    memset(x.mine, 1, x.count);
    apply(&x);
    shares_done(&x);
}

void rebalance_topic(struct topic_sub *s)
{
    struct sky_push_consumer *p = s->consumer;
    struct topic_state *t = routes_topic(client_of(p), slice_text(s->topic));
    if (atomic_load(&p->stopping)) return;
    if (s->asking) {
        s->again = true;
        return;
    }
    if (!t->known || t->borrowed) {
        routes_ask(t);
        if (!s->is_retry) rebalance_later(p, UNBALANCED_MS);
        return;
    }
    struct slice address = any_address(client_of(p), t);
    if (p->options.broadcast) take_all(s, t);
    else if (address.p) ask_members(s, address);
    else rebalance_later(p, UNBALANCED_MS);
}

void rebalance_all(struct sky_push_consumer *p)
{
    LIST_EACH(&p->subs, node) rebalance_topic(LIST_OWNER(node, struct topic_sub, node));
}

/* The next one comes so soon; an earlier one that is planned stays. */
void rebalance_later(struct sky_push_consumer *p, int64_t delay_ms)
{
    int64_t due = tasks_mono_ms(tasks_of(p)) + delay_ms;
    if (atomic_load(&p->stopping) || (p->rebalance.armed && p->rebalance.due_ms <= due)) return;
    timer_start(tasks_of(p), &p->rebalance, delay_ms);
}
