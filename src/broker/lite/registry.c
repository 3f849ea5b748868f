#include "broker/lite/lite_state.h"

#include "base/log.h"
#include "codec/requests.h"

#include <stdlib.h>

/* --- topics and shares --- */

static struct lite_topic *topic_get(struct lite *l, struct slice queue)
{
    struct lite_topic *t = map_get(&l->topics, queue);
    if (t) return t;
    t = must_zero(sizeof *t + queue.n);
    memcpy(t + 1, queue.p, queue.n);
    t->queue = slice_of(t + 1, queue.n);
    if (!lite_queue_parse(t->queue, &t->parent, &t->name)) t->parent = t->name = (struct slice){NULL, 0};
    list_init(&t->shares);
    map_put(&l->topics, t->queue, t);
    return t;
}

static void topic_tidy(struct lite *l, struct lite_topic *t)
{
    if (!list_empty(&t->shares)) return;
    map_remove(&l->topics, t->queue);
    free(t);
}

static struct lite_share *share_of(const struct lite_topic *t, struct slice group)
{
    for (struct list_node *n = t->shares.head.next; n != &t->shares.head; n = n->next) {
        struct lite_share *s = LIST_OWNER(n, struct lite_share, in_topic);
        if (slice_eq(s->group->name, group)) return s;
    }
    return NULL;
}

struct lite_share *lite_share_find(const struct lite *l, struct slice queue, struct slice group)
{
    const struct lite_topic *t = map_get(&l->topics, queue);
    return t ? share_of(t, group) : NULL;
}

static void on_unlock(void *ctx)
{
    struct lite_share *s = ctx;
    lite_ready(s->lite, s);
}

struct lite_share *lite_share_get(struct lite *l, struct slice queue, struct lite_group *group)
{
    struct lite_topic *t = topic_get(l, queue);
    struct lite_share *s = share_of(t, group->name);
    if (s) return s;
    s = must_zero(sizeof *s);
    s->lite = l;
    s->topic = t;
    s->group = group;
    list_init(&s->subs);
    list_node_init(&s->in_ready);
    timer_init(&s->unlock, on_unlock, s);
    list_add(&t->shares, &s->in_topic);
    group->shares++;
    return s;
}

void lite_share_tidy(struct lite *l, struct lite_share *s)
{
    struct lite_group *g = s->group;
    struct lite_topic *t = s->topic;
    bool waits = g->wildcard.p && (list_linked(&s->in_ready) || s->unlock.armed);
    if (!list_empty(&s->subs) || waits) return;
    timer_stop(l->broker->tasks, &s->unlock);
    if (list_linked(&s->in_ready)) list_remove(&s->in_ready);
    list_remove(&s->in_topic);
    g->shares--;
    free(s);
    topic_tidy(l, t);
    lite_group_tidy(l, g);
}

/* --- groups --- */

struct lite_group *lite_group_find(const struct lite *l, struct slice name) { return map_get(&l->groups, name); }

static struct lite_group *group_get(struct lite *l, struct slice name)
{
    struct lite_group *g = map_get(&l->groups, name);
    if (g) return g;
    g = must_zero(sizeof *g + name.n);
    memcpy(g + 1, name.p, name.n);
    g->name = slice_of(g + 1, name.n);
    list_init(&g->clients);
    list_init(&g->ready);
    list_node_init(&g->in_wildcards);
    map_put(&l->groups, g->name, g);
    return g;
}

/* The caller holds the group. */
static void end_wildcard(struct lite *l, struct lite_group *g)
{
    struct slice parent = g->wildcard;
    struct map_entry *e;
    if (!parent.p) return;
    g->wildcard = (struct slice){NULL, 0};
    list_remove(&g->in_wildcards);
    while (!list_empty(&g->ready)) list_remove(list_first(&g->ready));
    for (size_t at = 0; (e = map_next(&l->topics, &at));) {
        struct lite_share *s = share_of(e->value, g->name);
        if (s) lite_share_tidy(l, s);
    }
    free((void *)parent.p);
}

void lite_group_tidy(struct lite *l, struct lite_group *g)
{
    if (!list_empty(&g->clients) || g->shares || g->wildcard.p) return;
    map_remove(&l->groups, g->name);
    free(g);
}

static void begin_wildcard(struct lite *l, struct lite_group *g, struct slice parent)
{
    if (g->wildcard.p || !lite_is_wildcard(l->broker, g->name)) return;
    g->wildcard = slice_of(must_dup(parent), parent.n);
    list_add(&l->wildcards, &g->in_wildcards);
}

/* --- clients --- */

struct lite_client *lite_client_find(const struct lite *l, struct slice id) { return map_get(&l->clients, id); }

struct lite_client *lite_client_get(struct lite *l, struct slice id)
{
    struct lite_client *c = map_get(&l->clients, id);
    if (c) return c;
    c = must_zero(sizeof *c + id.n);
    if (id.n) memcpy(c + 1, id.p, id.n);
    c->id = slice_of(c + 1, id.n);
    list_init(&c->subs);
    list_init(&c->ready);
    list_init(&c->polls);
    list_node_init(&c->in_woken);
    list_node_init(&c->in_group);
    map_put(&l->clients, c->id, c);
    return c;
}

static void client_free(struct lite *l, struct lite_client *c)
{
    map_remove(&l->clients, c->id);
    if (list_linked(&c->in_woken)) list_remove(&c->in_woken);
    if (c->conn) rpc_conn_unref(c->conn);
    free(c->topic);
    free(c->attempt_id);
    free(c);
}

void lite_client_tidy(struct lite *l, struct lite_client *c)
{
    if (!c->group && !c->poll_count) client_free(l, c);
}

void lite_client_join(struct lite *l, struct lite_client *c, struct slice group, struct slice topic)
{
    if (c->group) return;
    c->group = group_get(l, group);
    c->topic = must_dup(topic);
    list_add(&c->group->clients, &c->in_group);
    begin_wildcard(l, c->group, topic);
}

/* What it had in its hands is for the others. */
void lite_client_leave(struct lite *l, struct lite_client *c)
{
    struct lite_group *g = c->group;
    if (!g) {
        lite_client_tidy(l, c);
        return;
    }
    g->shares++;   /* it stays while this goes on */
    while (!list_empty(&c->subs)) lite_unsubscribe(l, LIST_OWNER(list_first(&c->subs), struct lite_sub, in_client));
    list_remove(&c->in_group);
    c->group = NULL;
    free(c->topic);
    c->topic = NULL;
    if (list_empty(&g->clients)) end_wildcard(l, g);
    g->shares--;
    lite_group_tidy(l, g);
    lite_client_tidy(l, c);
}

/* --- subscriptions --- */

static struct lite_sub *sub_of(const struct lite_share *s, const struct lite_client *c)
{
    for (struct list_node *n = s->subs.head.next; n != &s->subs.head; n = n->next) {
        struct lite_sub *sub = LIST_OWNER(n, struct lite_sub, in_share);
        if (sub->client == c) return sub;
    }
    return NULL;
}

struct lite_sub *lite_sub_find(const struct lite *l, const struct lite_client *c, struct slice queue)
{
    const struct lite_share *s = c->group ? lite_share_find(l, queue, c->group->name) : NULL;
    return s ? sub_of(s, c) : NULL;
}

bool lite_subscribe(struct lite *l, struct lite_client *c, struct slice queue)
{
    struct lite_share *s = lite_share_get(l, queue, c->group);
    if (sub_of(s, c)) return false;
    struct lite_sub *sub = must_zero(sizeof *sub);
    sub->client = c;
    sub->share = s;
    list_node_init(&sub->in_ready);
    list_add(&s->subs, &sub->in_share);
    list_add(&c->subs, &sub->in_client);
    c->sub_count++;
    l->subscriptions++;
    return true;
}

void lite_unsubscribe(struct lite *l, struct lite_sub *sub)
{
    struct lite_share *s = sub->share;
    if (list_linked(&sub->in_ready)) list_remove(&sub->in_ready);
    list_remove(&sub->in_share);
    list_remove(&sub->in_client);
    sub->client->sub_count--;
    l->subscriptions--;
    free(sub);
    lite_share_tidy(l, s);
}

static void tell(const struct lite_client *c, const struct lite_share *s)
{
    struct notify_unsubscribe_lite_header h = {.client_id = c->id, .consumer_group = s->group->name, .lite_topic = s->topic->name};
    struct rpc_request notice = {.code = REQUEST_NOTIFY_UNSUBSCRIBE_LITE, .kind = &notify_unsubscribe_lite_kind, .header = &h};
    if (c->conn && rpc_conn_open(c->conn)) rpc_conn_request(c->conn, &notice);
}

bool lite_take_over(struct lite *l, struct slice group, struct slice queue, const struct lite_client *keep)
{
    struct lite_share *s = lite_share_find(l, queue, group);
    if (!s) return false;
    struct list others;
    list_init(&others);
    LIST_EACH(&s->subs, node) {
        struct lite_sub *sub = LIST_OWNER(node, struct lite_sub, in_share);
        if (sub->client == keep) continue;
        list_remove(&sub->in_share);
        list_add(&others, &sub->in_share);
    }
    bool any = !list_empty(&others);
    while (!list_empty(&others)) {
        struct lite_sub *sub = LIST_OWNER(list_first(&others), struct lite_sub, in_share);
        struct lite_client *c = sub->client;
        log_info("lite.taken_over queue=\"%.*s\" group=\"%.*s\" from=\"%.*s\"", SLICE_ARG(queue), SLICE_ARG(group), SLICE_ARG(c->id));
        tell(c, s);
        bool last = list_empty(&s->subs) && others.head.next == others.head.prev;
        lite_unsubscribe(l, sub);
        if (!c->sub_count) lite_client_leave(l, c);
        if (last) break;   /* the share is gone */
    }
    return any;
}

void lite_forget_queue(struct lite *l, struct slice queue)
{
    struct lite_topic *t = map_get(&l->topics, queue);
    while (t && !list_empty(&t->shares)) {
        struct lite_share *s = LIST_OWNER(list_first(&t->shares), struct lite_share, in_topic);
        bool last = t->shares.head.next == t->shares.head.prev;
        timer_stop(l->broker->tasks, &s->unlock);
        if (list_linked(&s->in_ready)) list_remove(&s->in_ready);
        if (list_empty(&s->subs)) lite_share_tidy(l, s);
        else for (bool more = true; more;) {
            more = s->subs.head.next != s->subs.head.prev;
            lite_unsubscribe(l, LIST_OWNER(list_first(&s->subs), struct lite_sub, in_share));
        }
        if (last) return;
    }
}

void lite_registry_done(struct lite *l)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&l->clients, &at));) {
        struct lite_client *c = e->value;
        c->poll_count = 0;
        lite_client_leave(l, c);
    }
    map_done(&l->clients);
    map_done(&l->topics);
    map_done(&l->groups);
}
