#include "client/route.h"

#include "client/state.h"
#include "codec/requests.h"
#include "meta/names.h"

#include <assert.h>
#include <stdlib.h>

enum { QUEUES_MAX = 1 << 20 };

/* By which the server makes topics that are not there. */
static const char DEFAULT_TOPIC[] = "TBW102";

struct broker_state {
    struct arena arena;
    BEAN_LIST(struct id_text) addresses;
    bool needed;
};

/* --- brokers and links --- */

static void broker_free(void *p)
{
    struct broker_state *b = p;
    if (!b) return;
    arena_done(&b->arena);
    free(b);
}

static bool same_addresses(const struct broker_state *b, const struct route_broker *r)
{
    if (!b || b->addresses.count != r->addresses.count) return false;
    for (size_t i = 0; i < r->addresses.count; i++) {
        if (b->addresses.items[i].id != r->addresses.items[i].id) return false;
        if (!slice_eq(b->addresses.items[i].text, r->addresses.items[i].text)) return false;
    }
    return true;
}

/* Addresses of a broker as the newest route tells them; those who are new hear of us at once. */
static void take_broker(struct sky_client *c, const struct route_broker *r)
{
    if (same_addresses(map_get(&c->routes.brokers, r->name), r)) return;
    struct broker_state *b = must_zero(sizeof *b);
    b->arena = ARENA_EMPTY;
    b->addresses.items = arena_take(&b->arena, r->addresses.count * sizeof *r->addresses.items);
    for (size_t i = 0; b->addresses.items && i < r->addresses.count; i++) {
        struct slice text = arena_copy(&b->arena, r->addresses.items[i].text);
        if (text.p) b->addresses.items[b->addresses.count++] = (struct id_text){r->addresses.items[i].id, text};
    }
    broker_free(map_put(&c->routes.brokers, r->name, b));
    heartbeat_soon(c);
}

struct slice routes_address(struct sky_client *c, struct slice broker, int64_t id)
{
    const struct broker_state *b = map_get(&c->routes.brokers, broker);
    for (size_t i = 0; b && i < b->addresses.count; i++)
        if (b->addresses.items[i].id == id) return b->addresses.items[i].text;
    return (struct slice){NULL, 0};
}

void routes_each_address(struct sky_client *c, bool replicas, void (*f)(struct sky_client *, struct slice, struct slice), struct slice what)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->routes.brokers, &at));) {
        const struct broker_state *b = e->value;
        for (size_t i = 0; i < b->addresses.count; i++)
            if (replicas || b->addresses.items[i].id == 0) f(c, b->addresses.items[i].text, what);
    }
}

static void link_free(void *p)
{
    struct link *l = p;
    if (l) rpc_peer_free(l->peer);
    free(l);
}

struct link *routes_link(struct sky_client *c, struct slice address)
{
    struct link *l = map_get(&c->routes.links, address);
    if (l) return l;
    struct rpc_options options = rpc_options_default();
    l = must_zero(sizeof *l);
    l->peer = rpc_peer_new(c->loop, address, &c->service, &options);
    map_put(&c->routes.links, address, l);
    return l;
}

static void need_brokers_of(struct sky_client *c, const struct topic_state *t)
{
    for (size_t i = 0; i < t->route.brokers.count; i++) {
        struct broker_state *b = map_get(&c->routes.brokers, t->route.brokers.items[i].name);
        if (b) b->needed = true;
    }
}

static void need_links_of(struct sky_client *c, struct broker_state *b)
{
    for (size_t i = 0; i < b->addresses.count; i++) {
        struct link *l = map_get(&c->routes.links, b->addresses.items[i].text);
        if (l) l->needed = true;
    }
    b->needed = false;
}

/* Requests that wait for a link which goes may be sent elsewhere at once, and so make others: it leaves the table first. */
static void drop_links(struct sky_client *c)
{
    struct map *links = &c->routes.links;
    struct link **gone = must_zero((links->count + 1) * sizeof(struct link *));
    size_t count = 0, at = 0;
    for (struct map_entry *e; (e = map_next(links, &at));) {
        struct link *l = e->value;
        if (!l->needed) {
            log_info("broker.gone address=%.*s", SLICE_ARG(e->key));
            gone[count++] = map_remove(links, e->key);
        }
        l->needed = false;
    }
    for (size_t i = 0; i < count; i++) link_free(gone[i]);
    free(gone);
}

/* Brokers that no route names any more. */
static void drop_brokers(struct sky_client *c)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->routes.topics, &at));) need_brokers_of(c, e->value);
    for (size_t at = 0; (e = map_next(&c->routes.brokers, &at));) {
        struct broker_state *b = e->value;
        if (b->needed) need_links_of(c, b);
        else broker_free(map_remove(&c->routes.brokers, e->key));
    }
    drop_links(c);
}

/* --- the route of a topic --- */

static int by_broker_name(const void *a, const void *b)
{
    return slice_compare(((const struct route_broker *)a)->name, ((const struct route_broker *)b)->name);
}
static int by_queue_broker(const void *a, const void *b)
{
    return slice_compare(((const struct route_queues *)a)->broker, ((const struct route_queues *)b)->broker);
}

static void sort_items(void *items, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    if (count > 1) qsort(items, count, size, compare);
}

static bool has_master(const struct topic_route *r, struct slice broker)
{
    for (size_t i = 0; i < r->brokers.count; i++) {
        if (!slice_eq(r->brokers.items[i].name, broker)) continue;
        for (size_t k = 0; k < r->brokers.items[i].addresses.count; k++)
            if (r->brokers.items[i].addresses.items[k].id == 0) return true;
    }
    return false;
}

static bool can_send_to(const struct topic_route *r, const struct route_queues *q)
{
    return q->perm & PERM_WRITE && q->write_queues > 0 && has_master(r, q->broker);
}

static err_t make_queues(struct topic_state *t)
{
    size_t count = 0;
    for (size_t i = 0; i < t->route.queues.count; i++) {
        const struct route_queues *q = &t->route.queues.items[i];
        if (can_send_to(&t->route, q)) count += (size_t)q->write_queues;
        if (count > QUEUES_MAX) return err_new(ERR_BODY, "a route of more than %d queues", QUEUES_MAX);
    }
    t->queues = arena_take(&t->arena, (count + 1) * sizeof *t->queues);
    if (!t->queues) return err_new(ERR_OUT_OF_MEMORY, NULL);
    for (size_t i = 0; i < t->route.queues.count; i++) {
        const struct route_queues *q = &t->route.queues.items[i];
        if (!can_send_to(&t->route, q)) continue;
        struct buf name = BUF_EMPTY;
        buf_put_slice(&name, q->broker);
        buf_put_u8(&name, 0);
        const char *broker = (const char *)arena_copy(&t->arena, buf_slice(&name)).p;
        buf_done(&name);
        if (!broker) return err_new(ERR_OUT_OF_MEMORY, NULL);
        for (int32_t id = 0; id < q->write_queues; id++) t->queues[t->count++] = (struct sky_queue){broker, id};
    }
    return NULL;
}

/* A topic that is made will have the queues of the default topic, but no more than its sender wants. */
static void limit_queues(struct topic_state *t)
{
    for (size_t i = 0; i < t->route.queues.count; i++) {
        struct route_queues *q = &t->route.queues.items[i];
        q->write_queues = q->read_queues = q->read_queues < t->new_queues ? q->read_queues : t->new_queues;
    }
}

static void topic_swap(struct topic_state *t, struct topic_state *with)
{
    struct topic_state old = *t;
    t->arena = with->arena;
    t->route = with->route;
    t->text = with->text;
    t->queues = with->queues;
    t->count = with->count;
    with->arena = old.arena;
    with->text = old.text;
}

/* Errors: BODY. */
static err_t apply(struct topic_state *t, struct slice body, bool borrowed)
{
    struct topic_state fresh = {.arena = ARENA_EMPTY, .new_queues = t->new_queues};
    struct slice copy = arena_copy(&fresh.arena, body);   /* texts of the route borrow from it */
    err_t e = topic_route_decode(copy, &fresh.arena, &fresh.route);
    if (e) goto out;
    if (borrowed) limit_queues(&fresh);
    sort_items(fresh.route.brokers.items, fresh.route.brokers.count, sizeof *fresh.route.brokers.items, by_broker_name);
    sort_items(fresh.route.queues.items, fresh.route.queues.count, sizeof *fresh.route.queues.items, by_queue_broker);
    bean_encode(&topic_route_bean, &fresh.route, JSON_STRICT, &fresh.text);
    for (size_t i = 0; i < fresh.route.brokers.count; i++) take_broker(t->client, &fresh.route.brokers.items[i]);
    t->borrowed = borrowed;
    if (t->known && slice_eq(buf_slice(&fresh.text), buf_slice(&t->text))) goto out;
    e = make_queues(&fresh);
    if (e) goto out;
    topic_swap(t, &fresh);
    t->known = true;
    client_route_changed(t->client, slice_text(t->name));
    log_info("route.changed topic=\"%s\" brokers=%zu queues=%zu borrowed=%d", t->name, t->route.brokers.count, t->count, borrowed);
out:
    arena_done(&fresh.arena);
    buf_done(&fresh.text);
    return e;
}

/* --- asking --- */

/* Who waits is told; those that come meanwhile wait for the next answer. Takes e, whose code and text each of them gets. */
static void tell(struct topic_state *t, struct sky_error *e)
{
    struct list waiting;
    t->asking = false;
    list_move(&t->waiting, &waiting);
    while (!list_empty(&waiting)) {
        struct route_wait *w = LIST_OWNER(list_first(&waiting), struct route_wait, node);
        list_remove(&w->node);
        w->done(w, e && !t->known ? error_new(sky_error_code(e), sky_error_response(e), "%s", sky_error_text(e)) : NULL);
    }
    sky_error_free(e);
}

static void ask(struct topic_state *t, const char *name, rpc_done *done)
{
    struct route_header h = {.topic = slice_text(name), .accept_standard_json_only = true};
    header_set(&h, route, accept_standard_json_only);
    struct rpc_request r = {.code = REQUEST_GET_ROUTEINFO_BY_TOPIC, .kind = &route_kind, .header = &h,
                            .timeout_ms = t->client->options.request_timeout_ms, .done = done, .ctx = t};
    names_request(t->client, &r);
}

/* An answer that has a route, or says why not. */
static struct sky_error *take_answer(struct topic_state *t, err_t e, const struct rpc_reply *reply, bool borrowed)
{
    if (e) return sky_error_from(err_in(e, "the route of topic %s", t->name));
    if (reply->frame->code == RESPONSE_TOPIC_NOT_EXIST)
        return error_new(SKY_NO_ROUTE, reply->frame->code, "no name server knows a topic %s", t->name);
    if (reply->frame->code != RESPONSE_SUCCESS) return error_of_reply(reply->frame);
    return sky_error_from(err_in(apply(t, reply->frame->body, borrowed), "the route of topic %s", t->name));
}

static void on_default_route(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct topic_state *t = ctx;
    tell(t, take_answer(t, e, reply, true));
}

static void on_route(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct topic_state *t = ctx;
    struct sky_error *failed = take_answer(t, e, reply, false);
    if (sky_error_code(failed) == SKY_NO_ROUTE && t->new_queues && !t->known) {
        sky_error_free(failed);
        ask(t, DEFAULT_TOPIC, on_default_route);
        return;
    }
    bool expected = sky_error_code(failed) == SKY_NO_ROUTE && (t->borrowed || topic_name_is_retry(slice_text(t->name)));
    if (failed && !t->client->ending && !expected)
        log_warn("route.failed topic=\"%s\" error=%s text=\"%s\"", t->name, sky_code_name(sky_error_code(failed)), sky_error_text(failed));
    tell(t, failed);
}

void routes_ask(struct topic_state *t)
{
    if (t->asking || t->client->ending) return;
    t->asking = true;
    ask(t, t->name, on_route);
}

void routes_need(struct topic_state *t, int32_t new_queues, struct route_wait *w)
{
    if (new_queues > t->new_queues) t->new_queues = new_queues;
    if (t->known) {
        w->done(w, NULL);
        return;
    }
    list_add(&t->waiting, &w->node);
    routes_ask(t);
}

void routes_forget(struct route_wait *w) { list_remove(&w->node); }

static void refresh(void *ctx)
{
    struct sky_client *c = ctx;
    struct map_entry *e;
    drop_brokers(c);
    for (size_t at = 0; (e = map_next(&c->routes.topics, &at));) routes_ask(e->value);
    timer_start(c->tasks, &c->routes.refresh, c->options.route_refresh_ms);
}

/* --- life --- */

static void topic_free(void *p)
{
    struct topic_state *t = p;
    if (!t) return;
    assert(list_empty(&t->waiting) && "who waits for a route ends before the client");
    arena_done(&t->arena);
    buf_done(&t->text);
    free(t->name);
    free(t);
}

struct topic_state *routes_topic(struct sky_client *c, struct slice name)
{
    struct topic_state *t = map_get(&c->routes.topics, name);
    if (t) return t;
    t = must_zero(sizeof *t);
    t->client = c;
    t->name = must_dup(name);
    t->arena = ARENA_EMPTY;
    t->next = (uint32_t)random_u64(&c->random);
    list_init(&t->waiting);
    map_put(&c->routes.topics, name, t);
    return t;
}

void routes_begin(struct sky_client *c)
{
    timer_init(&c->routes.refresh, refresh, c);
    timer_start(c->tasks, &c->routes.refresh, c->options.route_refresh_ms);
}

void routes_done(struct sky_client *c)
{
    if (c->routes.refresh.fire) timer_stop(c->tasks, &c->routes.refresh);
    map_done_with(&c->routes.links, link_free);
    map_done_with(&c->routes.brokers, broker_free);
    map_done_with(&c->routes.topics, topic_free);
}
