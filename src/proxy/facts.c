#include "proxy/state.h"

#include "base/log.h"
#include "codec/requests.h"

#include <stdlib.h>

enum { ASK_MS = 3000 };
enum { ROUTE, TYPE, GROUP };

const char *const topic_type_names[] = {"UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "LITE", "PRIORITY", "MIXED", NULL};
static const enum topic_type type_values[] = {
    TOPIC_UNSPECIFIED, TOPIC_NORMAL, TOPIC_FIFO, TOPIC_DELAY, TOPIC_TRANSACTION, TOPIC_LITE, TOPIC_PRIORITY, TOPIC_MIXED,
};

struct fact {
    struct facts *facts;
    int kind;
    char *name;
    void *value;              /* struct route, const enum topic_type, struct group_facts; NULL: not known, or not there */
    err_t error;              /* why there is none; while waiters are told */
    int64_t fetched_ms, used_ms;
    bool loading, doubted;
    size_t tries;             /* servers that were asked in vain */
    bool unknown;             /* one of them said that there is no such thing */
    struct route *route;      /* of the topic, or of the cluster, while its brokers are asked */
    struct waiter on_route;
    struct list waiters;
};

static void load(struct fact *f);

/* --- values --- */

static void group_unref(struct group_facts *g)
{
    if (!g || --g->refs) return;
    arena_done(&g->arena);
    free(g);
}

static void forget_value(struct fact *f)
{
    if (f->kind == ROUTE) route_unref(f->value);
    else if (f->kind == GROUP) group_unref(f->value);
    f->value = NULL;
}

static void fact_free(void *value)
{
    struct fact *f = value;
    forget_value(f);
    route_unref(f->route);
    err_free(f->error);
    free(f->name);
    free(f);
}

void facts_init(struct facts *f, struct proxy *p)
{
    *f = (struct facts){.proxy = p};
    struct slice rest = slice_text(p->options.namesrv_addr), part;
    while (slice_split(&rest, ';', &part)) {
        if (!slice_trim(part).n) continue;
        f->namesrvs = realloc(f->namesrvs, (f->namesrv_count + 1) * sizeof *f->namesrvs);
        if (!f->namesrvs) abort();
        f->namesrvs[f->namesrv_count++] = brokers_connect(p, slice_trim(part), NULL);
    }
    for (int i = 0; i < WANTS; i++) f->tables[i] = MAP_EMPTY;
}

void facts_close(struct facts *f)
{
    size_t count = f->namesrv_count;
    f->namesrv_count = 0;
    for (size_t i = 0; i < count; i++) rpc_peer_free(f->namesrvs[i]);
    free(f->namesrvs);
    f->namesrvs = NULL;
}

void facts_done(struct facts *f)
{
    for (int i = 0; i < WANTS; i++) {
        map_done_with(&f->tables[i], fact_free);
        f->tables[i] = MAP_EMPTY;
    }
}

/* --- the end of a question --- */

static void tell(struct fact *f)
{
    struct list waiters;
    list_move(&f->waiters, &waiters);
    while (!list_empty(&waiters)) {
        struct waiter *w = LIST_OWNER(list_first(&waiters), struct waiter, node);
        list_remove(&w->node);
        w->ready(w, f);
    }
}

static void loaded(struct fact *f, void *value)
{
    forget_value(f);
    f->value = value;
    f->fetched_ms = tasks_mono_ms(f->facts->proxy->tasks);
    f->loading = f->doubted = false;
    tell(f);
}

/* It is not there, or was not told; what was known before stays in the second case. Takes e. */
static void not_loaded(struct fact *f, err_t e, bool gone)
{
    if (gone) forget_value(f);
    else if (f->value) log_debug("fact.stale name=\"%s\" why=\"%s\"", f->name, err_text(e));
    err_free(f->error);
    f->error = e;
    f->fetched_ms = tasks_mono_ms(f->facts->proxy->tasks);
    f->loading = false;
    tell(f);
}

/* --- routes: a name server knows --- */

static void ask_namesrv(struct fact *f);

static void on_route_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct fact *f = ctx;
    struct route *r = NULL;
    if (e) {   /* the next one may be alive */
        f->facts->namesrv++;
        if (++f->tries < f->facts->namesrv_count && !f->facts->proxy->ending) {
            err_drop(e, "the next name server is asked");
            ask_namesrv(f);
            return;
        }
        not_loaded(f, e, false);
        return;
    }
    const struct frame *frame = reply->frame;
    if (frame->code == RESPONSE_SUCCESS) e = route_make(f->facts->proxy, slice_text(f->name), frame->body, &r);
    else if (frame->code == RESPONSE_TOPIC_NOT_EXIST) e = err_new(ERR_TOPIC_NOT_FOUND, "%.*s", SLICE_ARG(frame->remark));
    else e = err_new(ERR_INTERNAL, "name server: %.*s", SLICE_ARG(frame->remark));
    if (e) not_loaded(f, e, err_code(e) == ERR_TOPIC_NOT_FOUND);
    else loaded(f, r);
}

static void ask_namesrv(struct fact *f)
{
    struct facts *all = f->facts;
    if (!all->namesrv_count || all->proxy->ending) {
        not_loaded(f, err_new(ERR_NETWORK, "no name server is known"), false);
        return;
    }
    struct route_header h = {.topic = slice_text(f->name), .accept_standard_json_only = true};
    header_set(&h, route, accept_standard_json_only);
    struct rpc_request q = {
        .code = REQUEST_GET_ROUTEINFO_BY_TOPIC, .kind = &route_kind, .header = &h, .timeout_ms = ASK_MS, .done = on_route_reply, .ctx = f,
    };
    rpc_peer_request(all->namesrvs[all->namesrv % all->namesrv_count], &q);
}

/* --- types and groups: any broker of the topic, or of the cluster, knows --- */

static const enum topic_type *type_named(struct slice name)
{
    if (!name.p) return &type_values[TOPIC_NORMAL];
    for (size_t i = 0; topic_type_names[i]; i++)
        if (slice_eq(name, slice_text(topic_type_names[i]))) return &type_values[i];
    return &type_values[TOPIC_UNSPECIFIED];
}

static void take_type(struct fact *f, struct slice body)
{
    struct arena arena = ARENA_EMPTY;
    struct topic_config c;
    err_t e = bean_decode(&topic_config_bean, body, &arena, "topic configuration", &c);
    if (e) not_loaded(f, e, false);
    else loaded(f, (void *)(uintptr_t)type_named(topic_attribute(&c, SLICE("message.type"))));
    arena_done(&arena);
}

static void take_group(struct fact *f, struct slice body)
{
    struct group_facts *g = must_zero(sizeof *g);
    g->refs = 1;
    g->arena = ARENA_EMPTY;
    err_t e = bean_decode(&group_config_bean, arena_copy(&g->arena, body), &g->arena, "group configuration", &g->config);
    if (e) {
        group_unref(g);
        not_loaded(f, e, false);
    } else {
        loaded(f, g);
    }
}

static void ask_broker(struct fact *f);

static void on_broker_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct fact *f = ctx;
    bool told = !e && reply->frame->code == RESPONSE_SUCCESS;
    if (!told && !f->facts->proxy->ending) {
        f->unknown = f->unknown || !e;
        err_drop(e, "another broker may know");
        f->tries++;
        ask_broker(f);
        return;
    }
    route_unref(f->route);
    f->route = NULL;
    if (!told) not_loaded(f, e ? e : err_new(ERR_NOT_FOUND, NULL), false);
    else if (f->kind == TYPE) take_type(f, reply->frame->body);
    else take_group(f, reply->frame->body);
}

static void send_question(struct fact *f, struct broker_peer *broker)
{
    struct get_topic_config_header topic = {.topic = slice_text(f->name)};
    struct get_group_config_header group = {.group = slice_text(f->name)};
    struct rpc_request q = {.timeout_ms = ASK_MS, .done = on_broker_reply, .ctx = f};
    q.code = f->kind == TYPE ? REQUEST_GET_TOPIC_CONFIG : REQUEST_GET_SUBSCRIPTIONGROUP_CONFIG;
    q.kind = f->kind == TYPE ? &get_topic_config_kind : &get_group_config_kind;
    q.header = f->kind == TYPE ? (const void *)&topic : &group;
    broker_request(broker, &q);
}

static void ask_broker(struct fact *f)
{
    size_t skip = f->tries;
    for (size_t i = 0; f->route && i < f->route->part_count; i++) {
        if (!f->route->parts[i].broker || skip--) continue;
        send_question(f, f->route->parts[i].broker);
        return;
    }
    route_unref(f->route);
    f->route = NULL;
    if (f->unknown) not_loaded(f, err_new(ERR_NOT_FOUND, "no broker knows %s", f->name), true);
    else not_loaded(f, err_new(ERR_NETWORK, "no broker answers"), false);
}

/* Where the cluster has no topic of its name, whoever is known may know the group. */
static bool ask_any_broker(struct fact *f)
{
    size_t at = 0;
    struct map_entry *first = map_next(&f->facts->proxy->brokers.by_name, &at);
    if (!first) return false;
    send_question(f, first->value);
    return true;
}

static void on_route(struct waiter *w, struct fact *route)
{
    struct fact *f = w->ctx;
    if (route->value) {
        f->route = route_ref(route->value);
        ask_broker(f);
    } else if (f->kind == GROUP && ask_any_broker(f)) {
        log_debug("fact.no_cluster_topic cluster=\"%s\"", f->facts->proxy->cfg->cluster);
    } else {
        not_loaded(f, err_new(err_code(route->error), "%s", err_text(route->error)), err_code(route->error) == ERR_TOPIC_NOT_FOUND);
    }
}

/* --- asking --- */

static struct fact *fact_of(struct facts *all, int kind, struct slice name)
{
    struct fact *f = map_get(&all->tables[kind], name);
    if (!f) {
        f = must_zero(sizeof *f);
        f->facts = all;
        f->kind = kind;
        f->name = must_dup(name);
        list_init(&f->waiters);
        map_put(&all->tables[kind], name, f);
    }
    f->used_ms = tasks_mono_ms(all->proxy->tasks);
    return f;
}

/* The waiter is told, at once when the fact is known. */
static void want(struct facts *all, int kind, struct slice name, struct waiter *w)
{
    struct fact *f = fact_of(all, kind, name);
    bool old = f->doubted || f->used_ms - f->fetched_ms >= all->proxy->cfg->route_refresh_s * 1000;
    if (f->value && !old) {
        w->ready(w, f);
        return;
    }
    list_add(&f->waiters, &w->node);
    if (f->value && !f->doubted) {   /* good enough until the new one is there */
        list_remove(&w->node);
        w->ready(w, f);
    }
    if (!f->loading) load(f);
}

static void load(struct fact *f)
{
    struct proxy *p = f->facts->proxy;
    f->loading = true;
    f->unknown = false;
    f->tries = 0;
    if (f->kind == ROUTE) {
        ask_namesrv(f);
        return;
    }
    f->on_route = (struct waiter){.ready = on_route, .ctx = f};
    list_node_init(&f->on_route.node);
    want(f->facts, ROUTE, slice_text(f->kind == TYPE ? f->name : p->cfg->cluster), &f->on_route);
}

void facts_doubt(struct facts *all, struct slice topic)
{
    struct fact *f = map_get(&all->tables[ROUTE], topic);
    if (f) f->doubted = true;
}

static void scan(struct map *table, int64_t oldest_ms)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(table, &at));) {
        struct fact *f = e->value;
        if (f->loading || !list_empty(&f->waiters) || (f->value && f->used_ms >= oldest_ms)) continue;
        map_remove(table, slice_text(f->name));
        fact_free(f);
    }
}

void facts_scan(struct facts *all)
{
    struct proxy *p = all->proxy;
    for (int i = WANTS; i-- > 0;) scan(&all->tables[i], tasks_mono_ms(p->tasks) - p->cfg->route_keep_s * 1000);
}

/* --- for a request --- */

static void one_is_there(struct request *r)
{
    struct wanted *w = &r->wanted;
    if (--w->waits || w->asking) return;
    w->next(r);
}

static void request_route(struct waiter *w, struct fact *f)
{
    struct request *r = w->ctx;
    if (f->value) r->wanted.route = route_ref(f->value);
    else r->wanted.route_error = err_new(err_code(f->error), "%s", err_text(f->error));
    one_is_there(r);
}

static void request_type(struct waiter *w, struct fact *f)
{
    struct request *r = w->ctx;
    r->wanted.type = f->value ? *(const enum topic_type *)f->value : TOPIC_UNSPECIFIED;
    one_is_there(r);
}

static void request_group(struct waiter *w, struct fact *f)
{
    struct request *r = w->ctx;
    r->wanted.group = f->value;
    if (f->value) r->wanted.group->refs++;
    one_is_there(r);
}

void facts_want(struct request *r, unsigned what, struct slice topic, struct slice group, void (*next)(struct request *r))
{
    static void (*const ready[WANTS])(struct waiter *, struct fact *) = {request_route, request_type, request_group};
    struct wanted *w = &r->wanted;
    facts_release(r);
    *w = (struct wanted){.next = next, .asking = true};
    for (int i = 0; i < WANTS; i++) {
        w->waiters[i] = (struct waiter){.ready = ready[i], .ctx = r};
        list_node_init(&w->waiters[i].node);
        w->waits += what >> i & 1;
    }
    for (int i = 0; i < WANTS; i++)
        if (what >> i & 1) want(&r->proxy->facts, i, i == GROUP ? group : topic, &w->waiters[i]);
    w->asking = false;
    if (!w->waits) next(r);
}

void facts_release(struct request *r)
{
    struct wanted *w = &r->wanted;
    for (int i = 0; i < WANTS; i++)
        if (w->waiters[i].ready && list_linked(&w->waiters[i].node)) list_remove(&w->waiters[i].node);
    route_unref(w->route);
    group_unref(w->group);
    err_free(w->route_error);
    *w = (struct wanted){.route = NULL};
}
