/* Who has something for whom. A lite topic stands in the list of every client of a group that subscribes to it, and one of those that wait is
 * woken: whoever looks first takes it, and the others find it blocked. A list may tell of a queue that has nothing any more, never the other
 * way round: what is there and not blocked is in the lists. */
#include "broker/lite/lite_state.h"

enum { LOOK_AGAIN_MS = 3600000 };

/* --- is there anything --- */

bool lite_has_messages(const struct lite *l, struct slice queue, struct slice group)
{
    int64_t offset = offsets_query(l->broker->offsets, queue, group, 0);
    return store_max_offset(l->broker->store, queue, 0) > (offset < 0 ? 0 : offset);
}

bool lite_is_blocked(const struct lite *l, struct slice queue, struct slice group, struct slice attempt_id)
{
    const struct order_queue *q = order_find(&l->order, queue, group, 0);
    return q && order_is_blocked(q, attempt_id, 0, tasks_wall_ms(l->broker->tasks));
}

void lite_arm(struct lite *l, struct lite_share *s)
{
    const struct order_queue *q = order_find(&l->order, s->topic->queue, s->group->name, 0);
    int64_t now = tasks_wall_ms(l->broker->tasks), at = order_unlock_ms(q, now);
    if (at < 0 || l->stopped) return;
    int64_t ms = at > now ? at - now : 0;
    timer_start(l->broker->tasks, &s->unlock, ms < LOOK_AGAIN_MS ? ms : LOOK_AGAIN_MS);
}

/* --- waking: not from within, or those who wake each other would stand on one another's shoulders --- */

static void look(struct lite_client *c)
{
    if (c->poll_count) hold_wake(&LIST_OWNER(list_first(&c->polls), struct lite_poll, in_client)->waiter, WAKE_ARRIVED);
}

void lite_wake(struct lite *l, struct lite_client *c)
{
    if (!list_linked(&c->in_woken)) list_add(&l->woken, &c->in_woken);
    if (l->waking) return;
    l->waking = true;
    while (!list_empty(&l->woken)) {
        struct lite_client *next = LIST_OWNER(list_first(&l->woken), struct lite_client, in_woken);
        list_remove(&next->in_woken);
        look(next);
    }
    l->waking = false;
}

/* Whoever is woken is the last one next time. */
static struct lite_client *waiting_in_share(struct lite_share *s)
{
    LIST_EACH(&s->subs, node) {
        struct lite_sub *sub = LIST_OWNER(node, struct lite_sub, in_share);
        if (!sub->client->poll_count) continue;
        list_remove(&sub->in_share);
        list_add(&s->subs, &sub->in_share);
        return sub->client;
    }
    return NULL;
}

static struct lite_client *waiting_in_group(struct lite_group *g)
{
    LIST_EACH(&g->clients, node) {
        struct lite_client *c = LIST_OWNER(node, struct lite_client, in_group);
        if (!c->poll_count) continue;
        list_remove(&c->in_group);
        list_add(&g->clients, &c->in_group);
        return c;
    }
    return NULL;
}

/* --- lists --- */

static void enter(struct lite_share *s)
{
    if (s->group->wildcard.p) {
        if (!list_linked(&s->in_ready)) list_add(&s->group->ready, &s->in_ready);
        return;
    }
    LIST_EACH(&s->subs, node) {
        struct lite_sub *sub = LIST_OWNER(node, struct lite_sub, in_share);
        if (!list_linked(&sub->in_ready)) list_add(&sub->client->ready, &sub->in_ready);
    }
}

void lite_ready(struct lite *l, struct lite_share *s)
{
    struct slice queue = s->topic->queue, group = s->group->name;
    if (l->stopped) return;
    if (!lite_has_messages(l, queue, group)) {
        lite_share_tidy(l, s);
        return;
    }
    if (lite_is_blocked(l, queue, group, (struct slice){NULL, 0})) {
        lite_arm(l, s);
        return;
    }
    enter(s);
    struct lite_client *c = s->group->wildcard.p ? waiting_in_group(s->group) : waiting_in_share(s);
    if (c) lite_wake(l, c);
}

void lite_ready_named(struct lite *l, struct slice queue, struct slice group)
{
    struct lite_share *s = lite_share_find(l, queue, group);
    struct lite_group *g = s ? NULL : lite_group_find(l, group);
    if (g && g->wildcard.p) s = lite_share_get(l, queue, g);
    if (s) lite_ready(l, s);
}

struct lite_share *lite_next(struct lite_client *c)
{
    struct list_node *node = c->group && c->group->wildcard.p ? list_first(&c->group->ready) : NULL;
    if (node) {
        list_remove(node);
        return LIST_OWNER(node, struct lite_share, in_ready);
    }
    node = list_first(&c->ready);
    if (!node) return NULL;
    list_remove(node);
    return LIST_OWNER(node, struct lite_sub, in_ready)->share;
}

static void put_first(struct list *l, struct list_node *n)
{
    list_add(l, n);
    if (list_first(l) == n) return;
    list_remove(n);
    n->next = l->head.next;
    n->prev = &l->head;
    l->head.next->prev = n;
    l->head.next = n;
}

void lite_put_back(struct lite *l, struct lite_client *c, struct lite_share *s)
{
    if (s->group->wildcard.p) {
        if (!list_linked(&s->in_ready)) put_first(&s->group->ready, &s->in_ready);
        return;
    }
    struct lite_sub *sub = lite_sub_find(l, c, s->topic->queue);
    if (sub && !list_linked(&sub->in_ready)) put_first(&c->ready, &sub->in_ready);
}

/* --- arrivals --- */

/* Nobody may be woken while the shares are walked over: who pops may be the end of one. */
void lite_arrived(struct lite *l, struct slice queue)
{
    struct slice parent, name;
    if (!l || l->stopped || !l->clients.count || !lite_queue_parse(queue, &parent, &name)) return;
    bool waking = l->waking;
    l->waking = true;
    LIST_EACH(&l->wildcards, node) {
        struct lite_group *g = LIST_OWNER(node, struct lite_group, in_wildcards);
        if (slice_eq(g->wildcard, parent)) lite_share_get(l, queue, g);
    }
    struct lite_topic *t = map_get(&l->topics, queue);
    for (struct list_node *n = t ? t->shares.head.next : NULL, *next; n && n != &t->shares.head; n = next) {
        struct lite_share *s = LIST_OWNER(n, struct lite_share, in_topic);
        next = n->next;
        bool last = next == &t->shares.head;
        lite_ready(l, s);
        if (last) break;   /* the topic may have gone with it */
    }
    l->waking = waking;
    struct list_node *first = waking ? NULL : list_first(&l->woken);
    if (first) lite_wake(l, LIST_OWNER(first, struct lite_client, in_woken));
}

/* --- looking at all of it: also at what is blocked, which an attempt that is repeated may have --- */

void lite_dispatch_client(struct lite *l, struct lite_client *c)
{
    for (struct list_node *n = c->subs.head.next; n != &c->subs.head; n = n->next) {
        struct lite_sub *sub = LIST_OWNER(n, struct lite_sub, in_client);
        struct slice queue = sub->share->topic->queue, group = sub->share->group->name;
        if (!list_linked(&sub->in_ready) && lite_has_messages(l, queue, group)) list_add(&c->ready, &sub->in_ready);
    }
    if (!list_empty(&c->ready)) lite_wake(l, c);
}

struct dispatch {
    struct lite *lite;
    struct lite_group *group;
};

static void dispatch_queue(void *ctx, struct slice queue)
{
    struct dispatch *d = ctx;
    struct slice parent, name;
    if (!lite_queue_parse(queue, &parent, &name) || !slice_eq(parent, d->group->wildcard)) return;
    if (!lite_has_messages(d->lite, queue, d->group->name)) return;
    enter(lite_share_get(d->lite, queue, d->group));
}

void lite_dispatch_group(struct lite *l, struct lite_group *g)
{
    if (g->wildcard.p) {
        struct dispatch d = {l, g};
        store_each_topic(l->broker->store, dispatch_queue, &d);
        struct lite_client *c = list_empty(&g->ready) ? NULL : waiting_in_group(g);
        if (c) lite_wake(l, c);
        return;
    }
    g->shares++;           /* it stays */
    struct list clients;   /* who is woken may leave the group */
    list_move(&g->clients, &clients);
    while (!list_empty(&clients)) {
        struct lite_client *c = LIST_OWNER(list_first(&clients), struct lite_client, in_group);
        list_remove(&c->in_group);
        list_add(&g->clients, &c->in_group);
        lite_dispatch_client(l, c);
    }
    g->shares--;
}
