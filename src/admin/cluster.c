#include "admin/session.h"

#include "codec/requests.h"

#include <stdlib.h>

/* --- masters --- */

/* Name servers are asked all at once; the first good answer counts. */
struct finding {
    struct admin *admin;
    struct slice topic;
    masters_found *found;
    void *ctx;
    struct masters masters;
    size_t waiting;
    bool over;
    err_t worst;        /* what is told when all fail: rather an answer than silence */
};

static int by_name(const void *a, const void *b)
{
    const struct master *x = a, *y = b;
    return slice_compare(x->broker.name, y->broker.name);
}

static struct slice master_address(const struct route_broker *b)
{
    for (size_t i = 0; i < b->addresses.count; i++)
        if (b->addresses.items[i].id == 0) return b->addresses.items[i].text;
    return (struct slice){NULL, 0};
}

static void add_master(struct finding *f, const struct route_broker *b, int32_t queues)
{
    struct slice address = master_address(b);
    if (!address.n) return;
    struct master *m = arena_list_add(admin_arena(f->admin), (void **)&f->masters.list.items, &f->masters.list.count, sizeof *m);
    if (m) *m = (struct master){.broker = {.cluster = b->cluster, .name = b->name, .address = address}, .queues = queues};
}

static int32_t queues_on(const struct topic_route *r, struct slice broker)
{
    int32_t most = 0;
    for (size_t i = 0; i < r->queues.count; i++) {
        const struct route_queues *q = &r->queues.items[i];
        if (!slice_eq(q->broker, broker)) continue;
        if (q->read_queues > most) most = q->read_queues;
        if (q->write_queues > most) most = q->write_queues;
    }
    return most;
}

static err_t read_route(struct finding *f, struct slice body)
{
    struct topic_route route;
    err_t e = topic_route_decode(body, admin_arena(f->admin), &route);
    for (size_t i = 0; !e && i < route.brokers.count; i++) {
        const struct route_broker *b = &route.brokers.items[i];
        add_master(f, b, queues_on(&route, b->name));
    }
    return e;
}

static err_t read_cluster(struct finding *f, struct slice body)
{
    struct cluster_info info;
    err_t e = bean_decode(&cluster_info_bean, body, admin_arena(f->admin), "cluster info", &info);
    for (size_t i = 0; !e && i < info.brokers.count; i++) add_master(f, &info.brokers.items[i], 0);
    return e;
}

static void found(struct finding *f, err_t e)
{
    struct masters *m = &f->masters;
    f->over = true;
    err_free(f->worst);
    f->worst = NULL;
    if (!e && !m->list.count && f->topic.p)
        e = err_new(ERR_NOT_FOUND, "no broker of topic \"%.*s\" is there as a master", SLICE_ARG(f->topic));
    if (!e && !m->list.count) e = err_new(ERR_NOT_FOUND, "no broker is registered with the name servers as a master");
    if (m->list.count) qsort(m->list.items, m->list.count, sizeof *m->list.items, by_name);
    f->found(f->ctx, e, m);
}

static void nobody_knows(struct finding *f)
{
    err_t e = f->worst;
    f->worst = NULL;
    if (err_code(e) == ERR_TOPIC_NOT_FOUND) {
        err_free(e);
        e = err_new(ERR_TOPIC_NOT_FOUND, "no broker has a topic \"%.*s\"", SLICE_ARG(f->topic));
    } else {
        e = err_in(e, admin_is_silence(e) ? "no name server answers" : "the name server");
    }
    found(f, e);
}

static void on_names(void *ctx, err_t e, struct slice body)
{
    struct finding *f = ctx;
    f->waiting--;
    if (f->over) {
        err_free(e);   /* another one was faster */
        return;
    }
    if (!e) e = f->topic.p ? read_route(f, body) : read_cluster(f, body);
    if (!e) {
        found(f, NULL);
        return;
    }
    if (!f->worst || (admin_is_silence(f->worst) && !admin_is_silence(e))) {
        err_free(f->worst);
        f->worst = e;
    } else {
        err_free(e);   /* one is told for all */
    }
    if (!f->waiting) nobody_knows(f);
}

static void ask_names(struct finding *f)
{
    struct route_header h = {.topic = f->topic, .accept_standard_json_only = true};
    header_set(&h, route, accept_standard_json_only);
    struct request route = {REQUEST_GET_ROUTEINFO_BY_TOPIC, &route_kind, &h}, cluster = {.code = REQUEST_GET_BROKER_CLUSTER_INFO};
    struct slice rest = admin_options(f->admin)->namesrv, one;
    while (slice_split(&rest, ';', &one)) f->waiting += slice_trim(one).n > 0;
    rest = admin_options(f->admin)->namesrv;
    while (slice_split(&rest, ';', &one))
        if (slice_trim(one).n) admin_ask(f->admin, slice_trim(one), f->topic.p ? &route : &cluster, on_names, f);
}

void find_masters(struct admin *a, struct slice topic, masters_found *done, void *ctx)
{
    struct finding *f = admin_take(a, sizeof *f);
    const struct admin_options *o = admin_options(a);
    *f = (struct finding){.admin = a, .topic = topic, .found = done, .ctx = ctx};
    if (!o->broker.p) {
        ask_names(f);
        return;
    }
    struct route_broker alone = {.cluster = {NULL, 0}};
    struct id_text address = {0, o->broker};
    alone.addresses.items = &address;
    alone.addresses.count = 1;
    add_master(f, &alone, 0);
    found(f, NULL);
}

/* --- a sweep --- */

struct sweep {
    struct admin *admin;
    struct admin_failures *failures;
    sweep_answer *one;
    void (*end)(void *ctx, err_t e);
    void *ctx;
    size_t open;
    bool well;          /* somebody answered well */
    err_t worst;
};

struct visit {
    struct sweep *sweep;
    const struct master *master;
};

/* Takes e. */
static void note_failure(struct sweep *s, const struct master *m, err_t e)
{
    struct admin_failure *f = arena_list_add(admin_arena(s->admin), (void **)&s->failures->list.items, &s->failures->list.count, sizeof *f);
    if (f) *f = (struct admin_failure){m->broker, arena_copy(admin_arena(s->admin), slice_text(err_text(e))), admin_is_silence(e)};
    e = m->broker.name.p ? err_in(e, "broker %.*s", SLICE_ARG(m->broker.name)) : err_in(e, "the broker");
    if (!s->worst || (admin_is_silence(s->worst) && !admin_is_silence(e))) {
        err_free(s->worst);
        s->worst = e;
    } else {
        err_free(e);   /* it is in the list */
    }
}

static void end_one(struct sweep *s)
{
    if (--s->open) return;
    err_t e = s->worst;
    s->worst = NULL;
    if (s->well) {
        err_free(e);   /* it is in the list */
        e = NULL;
    }
    s->end(s->ctx, e);
}

static void on_visit(void *ctx, err_t e, struct slice body)
{
    struct visit *v = ctx;
    struct sweep *s = v->sweep;
    if (!e) e = s->one(s->ctx, s, v->master, body);
    if (e) note_failure(s, v->master, e);
    else s->well = true;
    end_one(s);
}

void sweep_ask_again(struct sweep *s, const struct master *m, const struct request *r)
{
    struct visit *v = admin_take(s->admin, sizeof *v);
    *v = (struct visit){s, m};
    s->open++;
    admin_ask(s->admin, m->broker.address, r, on_visit, v);
}

void sweep_begin(struct admin *a, const struct masters *m, const struct request *r, struct admin_failures *failures, sweep_answer *one,
                 void (*end)(void *ctx, err_t e), void *ctx)
{
    struct sweep *s = admin_take(a, sizeof *s);
    *s = (struct sweep){.admin = a, .failures = failures, .one = one, .end = end, .ctx = ctx, .open = 1};   /* until all are asked */
    for (size_t i = 0; i < m->list.count; i++) sweep_ask_again(s, &m->list.items[i], r);
    end_one(s);
}
