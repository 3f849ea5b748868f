/* Which topics there are: topicList, topicClusterList, topic list. */
#include "admin/topic/topic.h"

#include <stdlib.h>

/* --- topicList: names alone, or with clusters and groups --- */

static void report_names(struct job *j, const struct topic_list *list)
{
    struct table *t = outcome_texts(&j->outcome, "topics");
    for (size_t i = 0; i < list->topics.count; i++) row_text(t, list->topics.items[i]);
    table_sort(t, 1);
    job_end(j);
}

/* A topic of topicList -c, and the cluster its first broker is in. */
struct home {
    struct slice topic;
    struct slice cluster;
};

static const struct column home_columns[] = {{"clusterName", CELL_TEXT}, {"topic", CELL_TEXT}, {"consumerGroup", CELL_TEXT}};

static void on_groups(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "consumers", home_columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        const struct home *h = r->tag;
        struct group_list groups;
        if (!job_read(j, r, &group_list_bean, &groups)) continue;
        for (size_t k = 0; k < groups.groups.count || k == 0; k++) {
            row_text(t, h->cluster);
            row_text(t, h->topic);
            if (k < groups.groups.count) row_text(t, groups.groups.items[k]);
            else row_none(t);
        }
    }
    table_sort(t, 3);
    job_end(j);
}

static void on_routes(struct job *j)
{
    struct replies all = j->replies;
    for (size_t i = 0; i < all.list.count; i++) {
        struct home *h = job_take(j, sizeof *h);
        struct topic_consume_by_who_header *who = job_take(j, sizeof *who);
        h->topic = *(const struct slice *)all.list.items[i]->tag;
        *who = (struct topic_consume_by_who_header){.topic = h->topic};
        struct request r = {.code = REQUEST_QUERY_TOPIC_CONSUME_BY_WHO, .kind = &topic_consume_by_who_kind, .header = who};
        if (all.list.items[i]->code || topic_route_decode(all.list.items[i]->body, job_arena(j), &j->route) || !j->route.brokers.count)
            continue;
        h->cluster = j->route.brokers.items[0].cluster;
        struct admin_broker b = {.name = j->route.brokers.items[0].name, .address = job_address_of(j, j->route.brokers.items[0].name)};
        if (b.address.p) job_ask(j, &b, &r, h);
    }
    job_wait(j, on_groups);
}

/* All of them at the name server that told the list. */
static void ask_routes(struct job *j, const struct admin_broker *names, const struct topic_list *list)
{
    for (size_t i = 0; i < list->topics.count; i++) {
        struct route_header *h = job_take(j, sizeof *h);
        struct slice *topic = job_take(j, sizeof *topic);
        *topic = list->topics.items[i];
        if (topic_is_of_group(*topic)) continue;
        *h = (struct route_header){.topic = *topic, .accept_standard_json_only = true};
        header_set(h, route, accept_standard_json_only);
        struct request r = {.code = REQUEST_GET_ROUTEINFO_BY_TOPIC, .kind = &route_kind, .header = h};
        job_ask(j, names, &r, topic);
    }
    job_wait(j, on_routes);
}

static void on_topics(struct job *j)
{
    const struct reply *r = j->replies.list.items[0];
    struct topic_list list;
    err_t e = bean_decode(&topic_list_bean, r->body, job_arena(j), "topic list", &list);
    if (e) job_fail(j, e);
    else if (param_has(j->params, "clusterModel")) ask_routes(j, &r->broker, &list);
    else report_names(j, &list);
}

static void topic_list(struct job *j)
{
    struct request r = {.code = REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER};
    job_ask_a_name(j, &r, ERR_NONE, on_topics);
}

static const struct param list_params[] = {
    {"clusterModel", "c", PARAM_SWITCH, NULL, "with the cluster and the consumer groups of each"},
    {.name = NULL},
};

/* --- topicClusterList --- */

static void on_cluster(struct job *j)
{
    struct table *t = outcome_texts(&j->outcome, "clusters");
    for (size_t i = 0; i < j->route.brokers.count; i++) {
        struct slice cluster = j->route.brokers.items[i].cluster;
        bool known = false;
        for (size_t k = 0; k < t->cells.count; k++) known |= slice_eq(t->cells.items[k].text, cluster);
        if (!known) row_text(t, cluster);
    }
    table_sort(t, 1);
    job_end(j);
}

static void topic_clusters(struct job *j) { job_route(j, slice_trim(job_param(j, "topic")), true, on_cluster); }

static const struct param topic_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its name"},
    {.name = NULL},
};

/* --- topic list: what masters say --- */

/* One line a topic, over all brokers. */
struct topic_row {
    struct topic_config config;
    int32_t brokers, read_queues, write_queues;
};

struct topic_rows {
    BEAN_LIST(struct topic_row) list;
};

static const struct column row_columns[] = {
    {"topic", CELL_TEXT}, {"type", CELL_TEXT}, {"brokers", CELL_NUMBER}, {"readQueueNums", CELL_NUMBER}, {"writeQueueNums", CELL_NUMBER},
    {"perm", CELL_TEXT}, {"order", CELL_FLAG},
};

static int by_name(const void *a, const void *b)
{
    const struct topic_row *x = a, *y = b;
    return slice_compare(x->config.name, y->config.name);
}

/* Clusters and brokers have topics of their names. */
static bool is_home(const struct job *j, struct slice topic)
{
    for (size_t i = 0; i < j->brokers.list.count; i++)
        if (slice_eq(topic, j->brokers.list.items[i].broker.name) || slice_eq(topic, j->brokers.list.items[i].broker.cluster)) return true;
    return false;
}

static void add_topics(struct job *j, struct topic_rows *rows, const struct topic_table *table)
{
    for (size_t i = 0; i < table->topics.count; i++) {
        const struct topic_config *c = &table->topics.items[i];
        if ((topic_is_internal(c->name) || is_home(j, c->name)) && !param_has(j->params, "all")) continue;
        struct topic_row *row = arena_list_add(job_arena(j), (void **)&rows->list.items, &rows->list.count, sizeof *row);
        if (row) *row = (struct topic_row){*c, 1, c->read_queues, c->write_queues};
    }
}

/* Those of one name become one. */
static void merge(struct topic_rows *rows)
{
    size_t n = 0;
    if (rows->list.count) qsort(rows->list.items, rows->list.count, sizeof *rows->list.items, by_name);
    for (size_t i = 0; i < rows->list.count; i++) {
        struct topic_row *one = &rows->list.items[i], *last = n ? &rows->list.items[n - 1] : NULL;
        if (!last || !slice_eq(last->config.name, one->config.name)) {
            rows->list.items[n++] = *one;
            continue;
        }
        last->brokers++;
        last->read_queues += one->read_queues;
        last->write_queues += one->write_queues;
    }
    rows->list.count = n;
}

static void on_configs(struct job *j)
{
    struct topic_rows rows = {.list = {NULL, 0}};
    struct table *t = OUTCOME_TABLE(&j->outcome, "topics", row_columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct topic_table table;
        if (job_read(j, j->replies.list.items[i], &topic_table_bean, &table)) add_topics(j, &rows, &table);
    }
    merge(&rows);
    for (size_t i = 0; i < rows.list.count; i++) {
        const struct topic_row *r = &rows.list.items[i];
        struct slice type = topic_attribute(&r->config, SLICE("message.type"));
        row_text(t, r->config.name);
        row_text(t, type.p ? type : SLICE("NORMAL"));
        row_number(t, r->brokers);
        row_number(t, r->read_queues);
        row_number(t, r->write_queues);
        row_text(t, topic_perm_text(j, r->config.perm));
        row_flag(t, r->config.order);
    }
    job_end_with(j, &j->replies);
}

static void ask_configs(struct job *j)
{
    struct all_topics_header *h = job_take(j, sizeof *h);
    struct request r = {.code = REQUEST_GET_ALL_TOPIC_CONFIG, .kind = &all_topics_kind, .header = h};
    job_ask_all(j, &r, on_configs);
}

static void list_topics(struct job *j) { job_brokers(j, ask_configs); }

static const struct param short_params[] = {
    {"all", NULL, PARAM_SWITCH, NULL, "also those that servers made, and those of retries and dead letters"},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "of this cluster alone"},
    {.name = NULL},
};

const struct command topic_list_commands[] = {
    {.name = "topic list", .params = short_params, .start = list_topics, .summary = "which topics there are, with their types and queues"},
    {.name = "topicList", .params = list_params, .start = topic_list, .summary = "the names of all topics"},
    {.name = "topicClusterList", .params = topic_params, .start = topic_clusters, .summary = "the clusters that a topic is in"},
    {.name = NULL},
};
