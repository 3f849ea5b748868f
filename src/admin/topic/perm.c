/* Permissions and order of topics: updateTopicPerm, updateOrderConf. */
#include "admin/topic/topic.h"

static const struct column perm_columns[] = {{"brokerName", CELL_TEXT}, {"brokerAddr", CELL_TEXT}, {"from", CELL_TEXT}, {"to", CELL_TEXT}};

struct permission {
    struct create_topic_header header;
    int32_t before;
};

static void on_perm(struct job *j)
{
    const struct permission *p = j->state;
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", perm_columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        if (!job_good(j, r)) continue;
        row_text(t, r->broker.name);
        row_text(t, r->broker.address);
        row_text(t, topic_perm_text(j, p->before));
        row_text(t, topic_perm_text(j, p->header.perm));
    }
    job_end_with(j, &j->replies);
}

static void ask_perm(struct job *j)
{
    struct permission *p = j->state;
    struct request r = {.code = REQUEST_UPDATE_AND_CREATE_TOPIC, .kind = &create_topic_kind, .header = &p->header};
    job_ask_all(j, &r, on_perm);
}

/* Numbers of queues come from the first broker of the route, as with mqadmin. */
static void on_perm_route(struct job *j)
{
    struct permission *p = j->state;
    const struct route_queues *q = j->route.queues.count ? &j->route.queues.items[0] : NULL;
    if (!q) {
        job_fail(j, err_new(ERR_NOT_FOUND, "topic \"%.*s\" has no queues", SLICE_ARG(p->header.topic)));
        return;
    }
    p->before = q->perm;
    p->header.read_queue_nums = q->read_queues;
    p->header.write_queue_nums = q->write_queues;
    p->header.topic_sys_flag = q->sys_flag;
    if (p->before == p->header.perm) {
        outcome_line(&j->outcome, "nothing to do: the permission is %.*s already", SLICE_ARG(topic_perm_text(j, p->before)));
        job_end(j);
        return;
    }
    job_brokers(j, ask_perm);
}

static void update_perm(struct job *j)
{
    struct permission *p = job_take(j, sizeof *p);
    p->header = (struct create_topic_header){.topic = slice_trim(job_param(j, "topic")), .default_topic = SLICE("TBW102"),
                                             .topic_filter_type = SLICE("SINGLE_TAG")};
    header_set(&p->header, create_topic, topic_sys_flag);
    err_t e = topic_perm_read(j->params, 0, &p->header.perm);
    j->state = p;
    if (e) job_fail(j, e);
    else job_route(j, p->header.topic, true, on_perm_route);
}

static const struct param perm_params[] = {
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "on this broker"},
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "on all masters of this cluster"},
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its name"},
    {"perm", "p", PARAM_NEEDED, "2|4|6", "W, R or RW"},
    {.name = NULL},
};

/* --- the order of a topic at the name servers --- */

static void on_order_value(struct job *j)
{
    const struct reply *r = j->replies.list.items[0];
    const struct get_kv_reply_header *h = r->heard.header;
    outcome_text(&j->outcome, SLICE("topic"), job_param(j, "topic"));
    outcome_text(&j->outcome, SLICE("orderConf"), h ? h->value : (struct slice){NULL, 0});
    job_end(j);
}

static void on_order_set(struct job *j)
{
    for (size_t i = 0; i < j->replies.list.count; i++) job_good(j, j->replies.list.items[i]);
    outcome_line(&j->outcome, "the name servers know it");
    outcome_text(&j->outcome, SLICE("topic"), job_param(j, "topic"));
    if (param_has(j->params, "orderConf")) outcome_text(&j->outcome, SLICE("orderConf"), job_param(j, "orderConf"));
    job_end_with(j, &j->replies);
}

static void update_order(struct job *j)
{
    struct slice topic = slice_trim(job_param(j, "topic")), method = slice_trim(job_param(j, "method")), conf = job_param(j, "orderConf");
    struct put_kv_header *h = job_take(j, sizeof *h);
    struct get_kv_header *get = job_take(j, sizeof *get);
    *h = (struct put_kv_header){.key = topic, .namespace = KV_ORDER_TOPICS, .value = slice_trim(conf)};
    *get = (struct get_kv_header){.key = topic, .namespace = KV_ORDER_TOPICS};
    struct request put = {.code = REQUEST_PUT_KV_CONFIG, .kind = &put_kv_kind, .header = h};
    struct request delete = {.code = REQUEST_DELETE_KV_CONFIG, .kind = &get_kv_kind, .header = get};
    struct request ask = {.code = REQUEST_GET_KV_CONFIG, .kind = &get_kv_kind, .header = get, .heard_kind = &get_kv_reply_kind};
    if (slice_eq(method, SLICE("get"))) {
        job_ask_a_name(j, &ask, ERR_NONE, on_order_value);
    } else if (slice_eq(method, SLICE("put")) && h->value.n) {
        job_ask_names(j, &put);
        job_wait(j, on_order_set);
    } else if (slice_eq(method, SLICE("delete"))) {
        job_ask_names(j, &delete);
        job_wait(j, on_order_set);
    } else if (slice_eq(method, SLICE("put"))) {
        job_fail(j, err_new(ERR_USAGE, "put needs -v broker:queues;broker:queues"));
    } else {
        job_fail(j, err_new(ERR_USAGE, "-m wants put, get or delete, not \"%.*s\"", SLICE_ARG(method)));
    }
}

static const struct param order_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its name"},
    {"orderConf", "v", PARAM_VALUE, "CONF", "broker:queues;broker:queues, for put"},
    {"method", "m", PARAM_NEEDED, "METHOD", "put, get or delete"},
    {.name = NULL},
};

const struct command topic_perm_commands[] = {
    {.name = "updateTopicPerm", .params = perm_params, .one_of = "brokerAddr|clusterName", .start = update_perm,
     .summary = "sets what clients may do with a topic"},
    {.name = "updateOrderConf", .params = order_params, .start = update_order,
     .summary = "puts, gets or deletes the order of a topic's queues at the name servers"},
    {.name = NULL},
};
