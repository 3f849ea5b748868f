/* What a topic is made of: topicRoute, topicStatus, topic describe, allocateMQ. */
#include "admin/topic/topic.h"

#include <stdlib.h>

/* --- routes --- */

static const struct column route_columns[] = {
    {"clusterName", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"brokerAddrs", CELL_TEXT}, {"readQueueNums", CELL_NUMBER},
    {"writeQueueNums", CELL_NUMBER}, {"perm", CELL_TEXT}, {"topicSysFlag", CELL_NUMBER},
};

static const struct route_broker *find_broker(const struct topic_route *r, struct slice name)
{
    for (size_t i = 0; i < r->brokers.count; i++)
        if (slice_eq(r->brokers.items[i].name, name)) return &r->brokers.items[i];
    return NULL;
}

static struct slice addresses_text(struct job *j, const struct route_broker *b)
{
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; b && i < b->addresses.count; i++)
        buf_printf(&text, "%s%lld:%.*s", i ? " " : "", (long long)b->addresses.items[i].id, SLICE_ARG(b->addresses.items[i].text));
    struct slice kept = job_copy(j, buf_slice(&text));
    buf_done(&text);
    return kept;
}

static void report_route(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "route", route_columns);
    for (size_t i = 0; i < j->route.queues.count; i++) {
        const struct route_queues *q = &j->route.queues.items[i];
        const struct route_broker *b = find_broker(&j->route, q->broker);
        row_text(t, b ? b->cluster : (struct slice){NULL, 0});
        row_text(t, q->broker);
        row_text(t, addresses_text(j, b));
        row_number(t, q->read_queues);
        row_number(t, q->write_queues);
        row_text(t, topic_perm_text(j, q->perm));
        row_number(t, q->sys_flag);
    }
    table_sort(t, 2);
    if (j->route.order.p) outcome_text(&j->outcome, SLICE("orderTopicConf"), j->route.order);
}

static void on_route(struct job *j)
{
    int64_t reads = 0, writes = 0;
    for (size_t i = 0; i < j->route.queues.count; i++) {
        reads += j->route.queues.items[i].read_queues;
        writes += j->route.queues.items[i].write_queues;
    }
    report_route(j);
    if (param_has(j->params, "list")) {
        outcome_number(&j->outcome, "brokers", (int64_t)j->route.queues.count);
        outcome_number(&j->outcome, "readQueues", reads);
        outcome_number(&j->outcome, "writeQueues", writes);
    }
    job_end(j);
}

static void topic_route(struct job *j) { job_route(j, slice_trim(job_param(j, "topic")), true, on_route); }

static const struct param route_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its name"},
    {"list", "l", PARAM_SWITCH, NULL, "with the sums of all brokers"},
    {.name = NULL},
};

/* --- offsets --- */

static const struct column status_columns[] = {
    {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"minOffset", CELL_NUMBER}, {"maxOffset", CELL_NUMBER},
    {"lastUpdateTimestamp", CELL_TIME},
};

static void report_status(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "queues", status_columns);
    double tps = 0;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct topic_stats stats;
        if (!job_read(j, j->replies.list.items[i], &topic_stats_bean, &stats)) continue;
        tps += stats.put_tps;
        for (size_t k = 0; k < stats.queues.count; k++) {
            const struct topic_offsets *q = &stats.queues.items[k];
            row_text(t, q->queue.broker);
            row_number(t, q->queue.queue_id);
            row_number(t, q->min_offset);
            row_number(t, q->max_offset);
            row_time(t, q->last_update_ms);
        }
    }
    table_sort(t, 2);
    outcome_rate(&j->outcome, "topicPutTps", tps);
}

static void on_status(struct job *j)
{
    report_status(j);
    job_end_with(j, &j->replies);
}

static void ask_status_then(struct job *j, job_phase *next)
{
    struct topic_stats_header *h = job_take(j, sizeof *h);
    *h = (struct topic_stats_header){.topic = slice_trim(job_param(j, "topic"))};
    struct request r = {.code = REQUEST_GET_TOPIC_STATS_INFO, .kind = &topic_stats_kind, .header = h};
    job_ask_all(j, &r, next);
}

static void ask_status(struct job *j) { ask_status_then(j, on_status); }

static void topic_status(struct job *j)
{
    if (param_has(j->params, "cluster")) job_brokers(j, ask_status);
    else job_topic_masters(j, slice_trim(job_param(j, "topic")), ask_status);
}

static const struct param status_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its name"},
    {"cluster", "c", PARAM_VALUE, "CLUSTER", "asks the masters of this cluster, whatever the route says"},
    {.name = NULL},
};

/* --- topic describe --- */

static void on_groups(struct job *j)
{
    struct table *t = outcome_texts(&j->outcome, "consumerGroups");
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct group_list groups;
        if (!job_read(j, j->replies.list.items[i], &group_list_bean, &groups)) continue;
        for (size_t k = 0; k < groups.groups.count; k++) {
            bool known = false;
            for (size_t n = 0; n < t->cells.count; n++) known |= slice_eq(t->cells.items[n].text, groups.groups.items[k]);
            if (!known) row_text(t, groups.groups.items[k]);
        }
    }
    table_sort(t, 1);
    job_end(j);
}

static void on_described_status(struct job *j)
{
    struct topic_consume_by_who_header *h = job_take(j, sizeof *h);
    report_status(j);
    *h = (struct topic_consume_by_who_header){.topic = job_param(j, "topic")};
    struct request r = {.code = REQUEST_QUERY_TOPIC_CONSUME_BY_WHO, .kind = &topic_consume_by_who_kind, .header = h};
    job_ask_all(j, &r, on_groups);
}

static void on_config(struct job *j)
{
    struct replies all = j->replies;
    const struct topic_config *shown = NULL;
    for (size_t i = 0; i < all.list.count; i++) {
        struct topic_config *c = job_take(j, sizeof *c);
        if (job_read(j, all.list.items[i], &topic_config_bean, c) && !shown) shown = c;
    }
    if (!shown) {
        job_end_with(j, &all);
        return;
    }
    struct slice type = topic_attribute(shown, SLICE("message.type"));
    outcome_text(&j->outcome, SLICE("topic"), shown->name);
    outcome_text(&j->outcome, SLICE("type"), type.p ? type : SLICE("NORMAL"));
    outcome_text(&j->outcome, SLICE("perm"), topic_perm_text(j, shown->perm));
    outcome_flag(&j->outcome, "order", shown->order);
    for (size_t i = 0; i < shown->attributes.count; i++)
        outcome_text(&j->outcome, shown->attributes.items[i].key, shown->attributes.items[i].value);
    if (j->route.queues.count) report_route(j);
    ask_status_then(j, on_described_status);
}

static void ask_config(struct job *j)
{
    struct get_topic_config_header *h = job_take(j, sizeof *h);
    *h = (struct get_topic_config_header){.topic = job_param(j, "topic")};
    struct request r = {.code = REQUEST_GET_TOPIC_CONFIG, .kind = &get_topic_config_kind, .header = h};
    job_ask_all(j, &r, on_config);
}

static void describe_topic(struct job *j) { job_topic_masters(j, job_param(j, "topic"), ask_config); }

static const struct param describe_params[] = {
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {.name = NULL},
};

/* --- who would get which queue --- */

static const struct column share_columns[] = {{"ip", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}};

static int by_queue(const void *a, const void *b)
{
    const struct message_queue *x = a, *y = b;
    int order = slice_compare(x->broker, y->broker);
    return order ? order : (x->queue_id > y->queue_id) - (x->queue_id < y->queue_id);
}

struct queue_set {
    BEAN_LIST(struct message_queue) list;
};

static void list_queues(struct job *j, struct queue_set *out)
{
    for (size_t i = 0; i < j->route.queues.count; i++) {
        const struct route_queues *r = &j->route.queues.items[i];
        for (int32_t id = 0; (r->perm & PERM_READ) && id < r->read_queues; id++) {
            struct message_queue *q = arena_list_add(job_arena(j), (void **)&out->list.items, &out->list.count, sizeof *q);
            if (q) *q = (struct message_queue){.topic = j->topic, .broker = r->broker, .queue_id = id};
        }
    }
    if (out->list.count) qsort(out->list.items, out->list.count, sizeof *out->list.items, by_queue);
}

/* Averagely: consecutive ones, the first members get one more. */
static void on_shares(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "result", share_columns);
    struct queue_set queues = {.list = {NULL, 0}};
    struct slice rest = job_param(j, "ipList"), ip;
    size_t members = 0, at = 0, place = 0;
    list_queues(j, &queues);
    while (slice_split(&rest, ',', &ip)) members++;
    rest = job_param(j, "ipList");
    while (slice_split(&rest, ',', &ip)) {
        size_t share = queues.list.count / members + (place++ < queues.list.count % members);
        for (size_t i = 0; i < share; i++, at++) {
            row_text(t, slice_trim(ip));
            row_text(t, queues.list.items[at].broker);
            row_number(t, queues.list.items[at].queue_id);
        }
    }
    job_end(j);
}

static void allocate(struct job *j) { job_route(j, slice_trim(job_param(j, "topic")), true, on_shares); }

static const struct param allocate_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its name"},
    {"ipList", "i", PARAM_NEEDED, "IP,IP...", "the members of a group, in their order"},
    {.name = NULL},
};

const struct command topic_view_commands[] = {
    {.name = "topic describe", .params = describe_params, .start = describe_topic,
     .summary = "a topic's settings, brokers, queues with offsets, consumer groups"},
    {.name = "topicRoute", .params = route_params, .start = topic_route,
     .summary = "the brokers and queues of a topic, as a name server tells them"},
    {.name = "topicStatus", .params = status_params, .start = topic_status, .summary = "the offsets of a topic's queues"},
    {.name = "allocateMQ", .params = allocate_params, .start = allocate,
     .summary = "which member of a group would get which queues of a topic"},
    {.name = NULL},
};
