#include "broker/members/members.h"

#include "base/log.h"

#include <stdlib.h>

void members_init(struct members *m, struct tasks *tasks, void (*changed)(void *ctx, struct member_group *g), void *ctx)
{
    *m = (struct members){
        .tasks = tasks, .consumers = MAP_EMPTY, .producers = MAP_EMPTY, .clients = MAP_EMPTY, .by_id = MAP_EMPTY, .changed = changed, .ctx = ctx,
    };
}

/* --- clients --- */

static struct slice conn_key(struct rpc_conn *conn, uint64_t *id)
{
    *id = rpc_conn_id(conn);
    return slice_of(id, sizeof *id);
}

static struct client *find_client(struct members *m, struct rpc_conn *conn)
{
    uint64_t id;
    return map_get(&m->clients, conn_key(conn, &id));
}

static void forget_id(struct members *m, const struct client *c)
{
    if (c->id && map_get(&m->by_id, slice_text(c->id)) == c) map_remove(&m->by_id, slice_text(c->id));
}

struct client *members_client(struct members *m, struct call *call, struct slice client_id)
{
    struct client *c = find_client(m, call->conn);
    if (!c) {
        uint64_t id;
        c = must_zero(sizeof *c);
        c->conn = rpc_conn_ref(call->conn);
        list_init(&c->consumers);
        list_init(&c->producers);
        map_put(&m->clients, conn_key(call->conn, &id), c);
    }
    if (!c->id || !slice_eq(slice_text(c->id), client_id)) {
        forget_id(m, c);
        free(c->id);
        c->id = must_dup(client_id);
        map_put(&m->by_id, client_id, c);
    }
    if (!map_get(&m->by_id, client_id)) map_put(&m->by_id, client_id, c);   /* a later one of that id has gone */
    c->language = call->language;
    c->version = call->version;
    return c;
}

static void free_client(struct members *m, struct client *c)
{
    uint64_t id;
    map_remove(&m->clients, conn_key(c->conn, &id));
    forget_id(m, c);
    rpc_conn_unref(c->conn);
    free(c->id);
    free(c);
}

/* --- groups --- */

static void notice(void *ctx)
{
    struct member_group *g = ctx;
    g->table->changed(g->table->ctx, g);
}

static void tell(struct member_group *g)
{
    int64_t delay_ms = (int64_t)g->count / NOTICE_MEMBERS_PER_MS;
    if (!delay_ms) notice(g);
    else if (!g->notice.armed) timer_start(g->table->tasks, &g->notice, delay_ms < NOTICE_MAX_MS ? delay_ms : NOTICE_MAX_MS);
}

static struct member_group *get_group(struct members *m, struct slice name, bool producer)
{
    struct map *groups = producer ? &m->producers : &m->consumers;
    struct member_group *g = map_get(groups, name);
    if (g) return g;
    g = must_zero(sizeof *g);
    g->name = must_dup(name);
    g->producer = producer;
    g->type = CONSUME_NONE;
    g->model = MODEL_NONE;
    g->from = FROM_NONE;
    g->table = m;
    timer_init(&g->notice, notice, g);
    list_init(&g->members);
    map_put(groups, name, g);
    return g;
}

static void free_group_if_empty(struct members *m, struct member_group *g)
{
    if (g->count) return;
    map_remove(g->producer ? &m->producers : &m->consumers, slice_text(g->name));
    timer_stop(m->tasks, &g->notice);
    map_done(&g->view);
    free(g->name);
    free(g);
}

/* Walks over the client's groups and the group's clients in step: one of them is nearly always short. Heartbeats name their
 * groups in the same order each time, so what was found goes to the end and the next one is at the front. */
static struct member *find_member(struct list *of_client, struct member_group *g, const struct client *c)
{
    struct list_node *mine = of_client->head.next, *theirs = g->members.head.next;
    for (; mine != &of_client->head && theirs != &g->members.head; mine = mine->next, theirs = theirs->next) {
        struct member *one = LIST_OWNER(mine, struct member, in_client);
        if (one->group != g) one = MEMBER_OF(theirs);
        if (one->client != c) continue;
        list_remove(&one->in_client);
        list_add(of_client, &one->in_client);
        return one;
    }
    return NULL;
}

static struct member *add_member(struct member_group *g, struct client *c)
{
    struct member *one = must_zero(sizeof *one);
    one->group = g;
    one->client = c;
    one->arena = ARENA_EMPTY;
    list_add(&g->members, &one->in_group);
    list_add(g->producer ? &c->producers : &c->consumers, &one->in_client);
    g->count++;
    return one;
}

/* --- subscriptions --- */

/* Looks at the place it had in another list first: clients keep their order. */
static struct subscription *find_subscription(struct subscription *all, size_t count, struct slice topic, size_t guess)
{
    for (size_t i = 0; i < count; i++) {
        struct subscription *s = &all[(guess + i) % count];
        if (slice_eq(s->topic, topic)) return s;
    }
    return NULL;
}

static bool says_the_same(const struct subscription *a, const struct subscription *b)
{
    return a && b && slice_eq(a->expression, b->expression) && slice_eq(a->type, b->type);
}

/* Same topics, expressions and versions. */
static bool is_unchanged(const struct member *one, const struct heartbeat_consumer *h)
{
    if (one->count != h->subscriptions.count) return false;
    for (size_t i = 0; i < one->count; i++) {
        const struct subscription *now = find_subscription(h->subscriptions.items, h->subscriptions.count, one->subscriptions[i].topic, i);
        if (!says_the_same(&one->subscriptions[i], now) || now->version != one->subscriptions[i].version) return false;
    }
    return true;
}

static bool has_same_topics(const struct member *one, const struct heartbeat_consumer *h)
{
    if (one->count != h->subscriptions.count) return false;
    for (size_t i = 0; i < one->count; i++)
        if (!find_subscription(h->subscriptions.items, h->subscriptions.count, one->subscriptions[i].topic, i)) return false;
    return true;
}

static void keep_subscriptions(struct member *one, const struct heartbeat_consumer *h)
{
    struct arena arena = ARENA_EMPTY;
    size_t n = h->subscriptions.count;
    struct subscription *all = arena_take(&arena, (n ? n : 1) * sizeof *all);
    size_t kept = 0;
    for (size_t i = 0; all && i < n; i++) {
        err_t e = subscription_copy(&h->subscriptions.items[i], &arena, &all[kept]);
        if (e) err_drop(e, "a subscription too large to keep is as good as none");
        else kept++;
    }
    arena_done(&one->arena);
    one->arena = arena;
    one->subscriptions = all;
    one->count = kept;
}

/* --- the view: of each topic the newest subscription, and of equally new ones what was said last --- */

static void show(struct member_group *g, struct member *one)
{
    for (size_t i = 0; i < one->count; i++) {
        struct subscription *s = &one->subscriptions[i];
        const struct subscription *known = map_get(&g->view, s->topic);
        if (!known || known->version <= s->version) map_put(&g->view, s->topic, s);
    }
}

static struct subscription *newest_of_others(struct member_group *g, const struct member *one, struct slice topic, size_t guess)
{
    struct subscription *newest = NULL;
    MEMBERS_EACH(g, node) {
        struct member *other = MEMBER_OF(node);
        struct subscription *s = other == one ? NULL : find_subscription(other->subscriptions, other->count, topic, guess);
        if (s && (!newest || newest->version <= s->version)) newest = s;
    }
    return newest;
}

/* What the member said rules no longer. */
static void hide(struct member_group *g, const struct member *one)
{
    for (size_t i = 0; i < one->count; i++) {
        struct subscription *s = &one->subscriptions[i];
        if (map_get(&g->view, s->topic) != s) continue;
        struct subscription *next = newest_of_others(g, one, s->topic, i);
        if (next) map_put(&g->view, s->topic, next);
        else map_remove(&g->view, s->topic);
    }
}

static bool agrees(const struct member_group *g, const struct member *one)
{
    for (size_t i = 0; i < one->count; i++)
        if (!says_the_same(&one->subscriptions[i], map_get(&g->view, one->subscriptions[i].topic))) return false;
    return true;
}

/* Members of a group that ask for different things skip messages for each other, for good; the operator must hear of it.
 * The view shows what the others say. */
static void warn_about_disagreement(struct member_group *g, const struct member *one)
{
    if (agrees(g, one)) return;
    MEMBERS_EACH(g, node) {
        const struct member *other = MEMBER_OF(node);
        if (other == one) continue;
        for (size_t i = 0; i < one->count; i++) {
            const struct subscription *mine = &one->subscriptions[i];
            const struct subscription *theirs = find_subscription(other->subscriptions, other->count, mine->topic, i);
            if (says_the_same(mine, theirs)) continue;
            log_warn("subscription.inconsistent group=\"%s\" topic=\"%.*s\" client=\"%s\" expression=\"%.*s\" other_client=\"%s\" "
                     "other_expression=\"%.*s\"",
                     g->name, SLICE_ARG(mine->topic), one->client->id, SLICE_ARG(mine->expression), other->client->id,
                     theirs ? (int)theirs->expression.n : 6, theirs ? (const char *)theirs->expression.p : "(none)");
            return;
        }
    }
}

/* --- leaving --- */

static void remove_member(struct members *m, struct member *one)
{
    struct member_group *g = one->group;
    log_info("member.left group=\"%s\" client=\"%s\" kind=%s", g->name, one->client->id, g->producer ? "producer" : "consumer");
    list_remove(&one->in_group);
    list_remove(&one->in_client);
    g->count--;
    if (!g->producer) {
        hide(g, one);
        tell(g);
    }
    arena_done(&one->arena);
    free(one);
    free_group_if_empty(m, g);
}

/* --- heartbeats --- */

bool members_consumer(struct members *m, struct client *c, const struct heartbeat_consumer *h, int32_t fingerprint, bool without_sub)
{
    struct member_group *g = get_group(m, h->group, false);
    struct member *one = find_member(&c->consumers, g, c);
    bool is_new = !one;
    bool must_tell = is_new ? without_sub : one->fingerprint != fingerprint;
    if (is_new) {
        one = add_member(g, c);
        log_info("member.joined group=\"%s\" client=\"%s\" kind=consumer language=%s version=%d", g->name, c->id,
                 language_name(c->language), c->version);
    }
    g->type = h->type;
    g->model = h->model;
    g->from = h->from;
    one->seen_ms = tasks_mono_ms(m->tasks);
    bool other_topics = false;
    if (!without_sub) one->fingerprint = fingerprint;
    if (!without_sub && (is_new || !is_unchanged(one, h))) {
        other_topics = !has_same_topics(one, h);
        hide(g, one);
        keep_subscriptions(one, h);
        warn_about_disagreement(g, one);
        show(g, one);
    }
    if (is_new || other_topics) tell(g);
    return must_tell;
}

void members_producer(struct members *m, struct client *c, struct slice group)
{
    struct member_group *g = get_group(m, group, true);
    struct member *one = find_member(&c->producers, g, c);
    if (!one) {
        one = add_member(g, c);
        log_info("member.joined group=\"%s\" client=\"%s\" kind=producer language=%s version=%d", g->name, c->id,
                 language_name(c->language), c->version);
    }
    one->seen_ms = tasks_mono_ms(m->tasks);
}

static void leave_group(struct members *m, struct client *c, struct slice name, bool producer)
{
    struct member_group *g = name.p ? map_get(producer ? &m->producers : &m->consumers, name) : NULL;
    struct member *one = g ? find_member(producer ? &c->producers : &c->consumers, g, c) : NULL;
    if (one) remove_member(m, one);
}

static bool is_member_of_any(struct client *c) { return !list_empty(&c->consumers) || !list_empty(&c->producers); }

void members_leave(struct members *m, struct rpc_conn *conn, struct slice producer_group, struct slice consumer_group)
{
    struct client *c = find_client(m, conn);
    if (!c) return;
    leave_group(m, c, producer_group, true);
    leave_group(m, c, consumer_group, false);
    if (!is_member_of_any(c)) free_client(m, c);
}

void members_closed(struct members *m, struct rpc_conn *conn)
{
    struct client *c = find_client(m, conn);
    if (!c) return;
    while (!list_empty(&c->consumers)) remove_member(m, LIST_OWNER(list_first(&c->consumers), struct member, in_client));
    while (!list_empty(&c->producers)) remove_member(m, LIST_OWNER(list_first(&c->producers), struct member, in_client));
    free_client(m, c);
}

static void expire_in(struct members *m, struct list *of_client, int64_t oldest_ms)
{
    LIST_EACH(of_client, node) {
        struct member *one = LIST_OWNER(node, struct member, in_client);
        if (one->seen_ms < oldest_ms) remove_member(m, one);
    }
}

void members_expire(struct members *m, int64_t after_ms)
{
    int64_t oldest_ms = tasks_mono_ms(m->tasks) - after_ms;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&m->clients, &at));) {
        struct client *c = e->value;
        expire_in(m, &c->consumers, oldest_ms);
        expire_in(m, &c->producers, oldest_ms);
        if (!is_member_of_any(c)) rpc_conn_close(c->conn, "no heartbeat");   /* and with it the client goes */
    }
}

struct member_group *members_consumers(struct members *m, struct slice group) { return map_get(&m->consumers, group); }
struct member_group *members_producers(struct members *m, struct slice group) { return map_get(&m->producers, group); }

struct client *members_producer_by_id(struct members *m, struct slice client_id)
{
    struct client *c = map_get(&m->by_id, client_id);
    return c && !list_empty(&c->producers) ? c : NULL;
}

struct client *members_consumer_by_id(struct members *m, struct slice group, struct slice client_id)
{
    struct member_group *g = members_consumers(m, group);
    if (!g) return NULL;
    MEMBERS_EACH(g, node)
        if (slice_eq(slice_text(MEMBER_OF(node)->client->id), client_id)) return MEMBER_OF(node)->client;
    return NULL;
}

const struct subscription *members_subscription(struct member_group *g, struct slice topic) { return map_get(&g->view, topic); }

void members_done(struct members *m)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&m->clients, &at)); at = 0) members_closed(m, ((struct client *)e->value)->conn);
    map_done(&m->consumers);
    map_done(&m->producers);
    map_done(&m->clients);
    map_done(&m->by_id);
}
