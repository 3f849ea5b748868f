/* Which servers a job asks: name servers, brokers by what was given, brokers of a topic. */
#include "admin/job.h"

#include <stdlib.h>

/* --- name servers: all are asked, the first good answer counts --- */

struct naming {
    struct job *job;
    struct request request;
    enum err_code wanted;
    job_phase *next;
    struct reply best;
    size_t open;
    bool over;
};

static void end_naming(struct naming *n)
{
    struct job *j = n->job;
    struct reply **slot;
    n->over = true;
    if (n->best.code && n->best.code != n->wanted) {
        job_fail(j, n->best.silent ? err_new(n->best.code, "no name server answers: %.*s", SLICE_ARG(n->best.text))
                                   : err_new(n->best.code, "the name server: %.*s", SLICE_ARG(n->best.text)));
        return;
    }
    j->replies = (struct replies){.list = {NULL, 0}};
    slot = arena_list_add(job_arena(j), (void **)&j->replies.list.items, &j->replies.list.count, sizeof *slot);
    if (slot) *slot = &n->best;
    if (slot) n->next(j);
    else job_fail(j, err_new(ERR_BODY, "the answers are too large"));
}

struct asked_name {
    struct naming *naming;
    struct heard heard;
    struct slice address;
};

static bool is_better(const struct reply *now, err_t e, bool first)
{
    return first || !e || (now->silent && !admin_is_silence(e));
}

static void on_name(void *ctx, err_t e, struct slice body)
{
    struct asked_name *a = ctx;
    struct naming *n = a->naming;
    bool first = n->best.broker.address.p == NULL;
    n->open--;
    if (!n->over && is_better(&n->best, e, first)) {
        n->best = (struct reply){.broker = {.address = a->address}, .code = err_code(e), .silent = admin_is_silence(e), .body = body,
                                 .heard = a->heard};
        if (e) n->best.text = job_copy(n->job, slice_text(err_text(e)));
    }
    bool good = !e;
    err_free(e);   /* it is in the reply, or another one is told for all */
    if (!n->over && (good || !n->open)) end_naming(n);
}

void job_ask_a_name(struct job *j, const struct request *r, enum err_code wanted, job_phase *next)
{
    struct naming *n = job_take(j, sizeof *n);
    struct slice rest = admin_options(j->admin)->namesrv, one;
    *n = (struct naming){.job = j, .request = *r, .wanted = wanted, .next = next, .open = 1};
    while (slice_split(&rest, ';', &one)) n->open += slice_trim(one).n > 0;
    n->open--;
    rest = admin_options(j->admin)->namesrv;
    while (slice_split(&rest, ';', &one)) {
        if (!slice_trim(one).n) continue;
        struct asked_name *a = job_take(j, sizeof *a);
        *a = (struct asked_name){.naming = n, .address = slice_trim(one)};
        n->request.heard = &a->heard;
        admin_ask(j->admin, slice_trim(one), &n->request, on_name, a);
    }
}

void job_ask_names(struct job *j, const struct request *r)
{
    struct slice rest = admin_options(j->admin)->namesrv, one;
    while (slice_split(&rest, ';', &one)) {
        struct admin_broker who = {.address = slice_trim(one)};
        if (who.address.n) job_ask(j, &who, r, NULL);
    }
}

/* --- the cluster, a route --- */

static void on_cluster(struct job *j)
{
    err_t e = bean_decode(&cluster_info_bean, j->replies.list.items[0]->body, job_arena(j), "cluster info", &j->cluster);
    if (e) job_fail(j, e);
    else j->found(j);
}

void job_cluster(struct job *j, job_phase *next)
{
    struct request r = {.code = REQUEST_GET_BROKER_CLUSTER_INFO};
    j->found = next;
    job_ask_a_name(j, &r, ERR_NONE, on_cluster);
}

static void on_route(struct job *j)
{
    const struct reply *r = j->replies.list.items[0];
    err_t e = NULL;
    j->route = (struct topic_route){.order = {NULL, 0}};
    if (!r->code) e = topic_route_decode(r->body, job_arena(j), &j->route);
    if (e) job_fail(j, e);
    else j->found(j);
}

static void on_needed_route(struct job *j)
{
    const struct reply *r = j->replies.list.items[0];
    if (!r->code) on_route(j);
    else job_fail(j, err_new(r->code, "no broker has a topic \"%.*s\"", SLICE_ARG(j->topic)));
}

void job_route(struct job *j, struct slice topic, bool must, job_phase *next)
{
    struct route_header *h = job_take(j, sizeof *h);
    *h = (struct route_header){.topic = topic, .accept_standard_json_only = true};
    header_set(h, route, accept_standard_json_only);
    struct request r = {.code = REQUEST_GET_ROUTEINFO_BY_TOPIC, .kind = &route_kind, .header = h};
    j->found = next;
    j->topic = topic;
    job_ask_a_name(j, &r, ERR_TOPIC_NOT_FOUND, must ? on_needed_route : on_route);
}

/* --- brokers --- */

static void add_member(struct job *j, const struct route_broker *b, const struct id_text *address)
{
    struct member *m = arena_list_add(job_arena(j), (void **)&j->brokers.list.items, &j->brokers.list.count, sizeof *m);
    if (m) *m = (struct member){{.cluster = b->cluster, .name = b->name, .address = address->text}, address->id};
}

static void add_members(struct job *j, const struct route_broker *b, bool slaves)
{
    for (size_t i = 0; i < b->addresses.count; i++)
        if (slaves || b->addresses.items[i].id == 0) add_member(j, b, &b->addresses.items[i]);
}

static int by_name(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    int order = slice_compare(x->broker.name, y->broker.name);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static void sort_members(struct members *m)
{
    if (m->list.count) qsort(m->list.items, m->list.count, sizeof *m->list.items, by_name);
}

static void put_clusters(const struct job *j, struct buf *out)
{
    for (size_t i = 0; i < j->cluster.clusters.count; i++)
        buf_printf(out, "%s%.*s", i ? ", " : "", SLICE_ARG(j->cluster.clusters.items[i].name));
}

static err_t no_members(const struct job *j, struct slice cluster)
{
    struct buf there = BUF_EMPTY;
    err_t e;
    put_clusters(j, &there);
    if (cluster.p && there.n)
        e = err_new(ERR_NOT_FOUND, "there is no cluster \"%.*s\" with a master; there are: %.*s", SLICE_ARG(cluster),
                    SLICE_ARG(buf_slice(&there)));
    else
        e = err_new(ERR_NOT_FOUND, "no broker is registered with the name servers as a master");
    buf_done(&there);
    return e;
}

static struct slice cluster_param(const struct job *j)
{
    struct slice cluster = slice_trim(job_param(j, "clusterName"));
    if (!cluster.n) cluster = slice_trim(job_param(j, "cluster"));
    return cluster.n ? cluster : (struct slice){NULL, 0};
}

static void choose_brokers(struct job *j)
{
    struct slice cluster = cluster_param(j);
    for (size_t i = 0; i < j->cluster.brokers.count; i++) {
        const struct route_broker *b = &j->cluster.brokers.items[i];
        if (!cluster.p || slice_eq(b->cluster, cluster)) add_members(j, b, j->slaves);
    }
    sort_members(&j->brokers);
    if (j->brokers.list.count) j->chosen(j);
    else job_fail(j, no_members(j, cluster));
}

/* The one that was named by its address; false: none was. */
static bool choose_named(struct job *j)
{
    struct slice address = slice_trim(job_param(j, param_has(j->params, "brokerAddr") ? "brokerAddr" : "broker"));
    struct id_text only = {0, address.n ? address : admin_options(j->admin)->broker};
    struct route_broker alone = {.cluster = {NULL, 0}};
    j->brokers = (struct members){.list = {NULL, 0}};
    if (only.text.p) add_member(j, &alone, &only);
    return only.text.p != NULL;
}

static void find_brokers(struct job *j, bool slaves, job_phase *next)
{
    j->slaves = slaves;
    j->chosen = next;
    if (choose_named(j)) next(j);
    else job_cluster(j, choose_brokers);
}

void job_brokers(struct job *j, job_phase *next) { find_brokers(j, false, next); }
void job_all_brokers(struct job *j, job_phase *next) { find_brokers(j, true, next); }

static void choose_masters(struct job *j)
{
    for (size_t i = 0; i < j->route.brokers.count; i++) add_members(j, &j->route.brokers.items[i], false);
    sort_members(&j->brokers);
    if (j->brokers.list.count) j->chosen(j);
    else job_fail(j, err_new(ERR_NOT_FOUND, "no broker of topic \"%.*s\" is there as a master", SLICE_ARG(j->topic)));
}

void job_masters(struct job *j, job_phase *next)
{
    j->chosen = next;
    j->brokers = (struct members){.list = {NULL, 0}};
    choose_masters(j);
}

void job_topic_masters(struct job *j, struct slice topic, job_phase *next)
{
    j->chosen = next;
    if (choose_named(j)) next(j);
    else job_route(j, topic, true, choose_masters);
}

void job_ask_all(struct job *j, const struct request *r, job_phase *next)
{
    for (size_t i = 0; i < j->brokers.list.count; i++) job_ask(j, &j->brokers.list.items[i].broker, r, &j->brokers.list.items[i]);
    job_wait(j, next);
}

static struct slice master_in(const struct route_broker *brokers, size_t count, struct slice name)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; slice_eq(brokers[i].name, name) && k < brokers[i].addresses.count; k++)
            if (brokers[i].addresses.items[k].id == 0) return brokers[i].addresses.items[k].text;
    return (struct slice){NULL, 0};
}

struct slice job_address_of(const struct job *j, struct slice broker_name)
{
    struct slice found = master_in(j->route.brokers.items, j->route.brokers.count, broker_name);
    return found.p ? found : master_in(j->cluster.brokers.items, j->cluster.brokers.count, broker_name);
}
