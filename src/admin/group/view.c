/* How one group is doing: consumerProgress, consumerConnection, consumerStatus, getConsumerConfig, producerConnection, producer, group describe. */
#include "admin/group/group.h"
#include "codec/body_running.h"

#include <stdlib.h>

static struct slice not_empty(struct slice text) { return text.n ? text : (struct slice){NULL, 0}; }

/* --- consumerProgress --- */

/* Which member has which queue, where members were asked. */
struct asked_progress {
    struct replies progress;
    struct consumer_connections members;
};

/* Puts the member that has the queue into the column of a row. */
static void mark_owner(struct table *t, const struct message_queue *q, struct slice client)
{
    struct slice rest = client, ip;
    if (!slice_split(&rest, '@', &ip)) ip = client;
    for (size_t row = 0; row < table_rows(t); row++) {
        struct cell *c = &t->cells.items[row * t->width];
        if (slice_eq(c[0].text, q->topic) && slice_eq(c[1].text, q->broker) && c[2].number == q->queue_id)
            c[5] = (struct cell){.type = CELL_TEXT, .text = ip};
    }
}

static struct table *queues_table(struct job *j)
{
    for (size_t i = 0; i < j->outcome.items.count; i++)
        if (j->outcome.items.items[i].type == ITEM_TABLE) return j->outcome.items.items[i].table;
    return NULL;
}

static void on_owners(struct job *j)
{
    struct asked_progress *a = j->state;
    struct replies told = j->replies;
    j->replies = a->progress;
    group_outcome_progress(j);
    struct table *t = queues_table(j);
    for (size_t i = 0; t && i < told.list.count; i++) {
        struct client_running info;
        const struct reply *r = told.list.items[i];
        if (r->code || !job_read(j, r, &client_running_bean, &info)) continue;   /* a member that does not say */
        for (size_t k = 0; k < info.queues.count; k++) mark_owner(t, &info.queues.items[k].queue, *(const struct slice *)r->tag);
    }
    job_end_with(j, &a->progress);
}

/* 307 to each member, by the broker of j->brokers that answered for it. */
static void ask_running(struct job *j, const struct consumer_connections *c, bool stacks)
{
    for (size_t i = 0; i < c->connections.count; i++) {
        struct running_info_header *h = job_take(j, sizeof *h);
        struct slice *client = job_take(j, sizeof *client);
        *client = c->connections.items[i].client_id;
        *h = (struct running_info_header){.client_id = *client, .consumer_group = group_name(j), .jstack_enable = stacks};
        header_set(h, running_info, jstack_enable);
        struct request r = {.code = REQUEST_GET_CONSUMER_RUNNING_INFO, .kind = &running_info_kind, .header = h};
        if (j->brokers.list.count) job_ask(j, &j->brokers.list.items[0].broker, &r, client);
    }
}

static void on_members(struct job *j)
{
    struct asked_progress *a = j->state;
    a->members = group_merge_connections(j);
    ask_running(j, &a->members, false);
    job_wait(j, on_owners);
}

static void on_progress(struct job *j)
{
    struct asked_progress *a = job_take(j, sizeof *a);
    bool owners = false;
    err_t e = param_bool(j->params, "showClientIP", false, &owners);
    a->progress = j->replies;
    j->state = a;
    if (e) {
        job_fail(j, e);
    } else if (owners) {
        group_ask_connections(j, group_name(j), on_members);
    } else {
        group_outcome_progress(j);
        job_end_with(j, &a->progress);
    }
}

static void ask_progress(struct job *j) { group_ask_progress(j, group_name(j), not_empty(slice_trim(job_param(j, "topicName"))),
                                                             on_progress); }

static void consumer_progress(struct job *j)
{
    if (group_name(j).n) group_brokers(j, group_name(j), ask_progress);
    else group_all_progress(j);
}

static const struct param progress_params[] = {
    {"groupName", "g", PARAM_VALUE, "GROUP", "this one, queue by queue; all, when left out"},
    {"topicName", "t", PARAM_VALUE, "TOPIC", "of this topic alone"},
    {"showClientIP", "s", PARAM_VALUE, "BOOL", "with the member that has each queue"},
    {"cluster", "c", PARAM_VALUE, "CLUSTER", "asks the masters of this cluster"},
    {.name = NULL},
};

/* --- consumerConnection --- */

static void on_connections(struct job *j)
{
    struct replies all = j->replies;
    struct consumer_connections c = group_merge_connections(j);
    if (c.connections.count) {
        group_outcome_connections(j, &c);
        job_end(j);
        return;
    }
    for (size_t i = 0; i < all.list.count; i++) {
        if (all.list.items[i]->code != ERR_NOT_ONLINE) continue;
        job_fail(j, err_new(ERR_NOT_ONLINE, "no member of group \"%.*s\" is online", SLICE_ARG(group_name(j))));
        return;
    }
    job_end_with(j, &all);
}

static void ask_connections(struct job *j) { group_ask_connections(j, group_name(j), on_connections); }
static void consumer_connection(struct job *j) { group_brokers(j, group_name(j), ask_connections); }

static const struct param connection_params[] = {
    {"consumerGroup", "g", PARAM_NEEDED, "GROUP", "the group"},
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "asks this broker"},
    {.name = NULL},
};

/* --- producers --- */

static const struct column producer_columns[] = {{"clientId", CELL_TEXT}, {"clientAddr", CELL_TEXT}, {"language", CELL_TEXT},
                                                 {"version", CELL_TEXT}};

static bool has_text(const struct table *t, size_t column, struct slice text)
{
    for (size_t row = 0; row < table_rows(t); row++)
        if (slice_eq(t->cells.items[row * t->width + column].text, text)) return true;
    return false;
}

/* A broker that no producer of the group is connected to says so with an error: one that knows some is enough. */
static void on_producers(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "producers", producer_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        struct producer_connections c;
        if (all.list.items[i]->code == ERR_REFUSED || !job_read(j, all.list.items[i], &producer_connections_bean, &c)) continue;
        for (size_t k = 0; k < c.connections.count; k++) {
            if (has_text(t, 0, c.connections.items[k].client_id)) continue;
            row_text(t, c.connections.items[k].client_id);
            row_text(t, c.connections.items[k].address);
            row_text(t, c.connections.items[k].language);
            row_text(t, client_version_text(j, c.connections.items[k].version));
        }
    }
    table_sort(t, 1);
    job_end_with(j, &all);
}

static void ask_producers(struct job *j)
{
    struct producer_connections_header *h = job_take(j, sizeof *h);
    *h = (struct producer_connections_header){.producer_group = slice_trim(job_param(j, "producerGroup"))};
    struct request r = {.code = REQUEST_GET_PRODUCER_CONNECTION_LIST, .kind = &producer_connections_kind, .header = h};
    job_ask_all(j, &r, on_producers);
}

static void producer_connection(struct job *j) { job_topic_masters(j, slice_trim(job_param(j, "topic")), ask_producers); }

static const struct param producer_params[] = {
    {"producerGroup", "g", PARAM_NEEDED, "GROUP", "the producers' group"},
    {"topic", "t", PARAM_NEEDED, "TOPIC", "a topic that they send to"},
    {.name = NULL},
};

static const struct column all_producer_columns[] = {
    {"producerGroup", CELL_TEXT}, {"clientId", CELL_TEXT}, {"remoteIP", CELL_TEXT}, {"language", CELL_TEXT}, {"version", CELL_TEXT},
    {"lastUpdateTimestamp", CELL_TIME},
};

static void on_all_producers(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "producers", all_producer_columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct producer_table all;
        if (!job_read(j, j->replies.list.items[i], &producer_table_bean, &all)) continue;
        for (size_t g = 0; g < all.groups.count; g++)
            for (size_t k = 0; k < all.groups.items[g].producers.count; k++) {
                const struct producer_row *p = &all.groups.items[g].producers.items[k];
                row_text(t, all.groups.items[g].group);
                row_text(t, p->client_id);
                row_text(t, p->address);
                row_text(t, p->language);
                row_text(t, client_version_text(j, p->version));
                row_time(t, p->seen_ms);
            }
    }
    table_sort(t, 2);
    job_end_with(j, &j->replies);
}

static void ask_all_producers(struct job *j)
{
    struct request r = {.code = REQUEST_GET_ALL_PRODUCER_INFO};
    job_ask_all(j, &r, on_all_producers);
}

static void all_producers(struct job *j) { job_brokers(j, ask_all_producers); }

static const struct param all_producers_params[] = {
    {"broker", "b", PARAM_NEEDED, "ADDR", "the broker"},
    {.name = NULL},
};

/* --- settings --- */

static void report_config(struct job *j, const struct reply *r, const struct group_config *g)
{
    struct buf text = BUF_EMPTY;
    struct json json;
    if (r->broker.name.p) outcome_text(&j->outcome, SLICE("brokerName"), r->broker.name);
    bean_encode(&group_config_bean, g, JSON_STRICT, &text);
    json_begin(&json, job_copy(j, buf_slice(&text)), job_arena(j));
    if (json_object(&json))
        while (json_next(&json)) {
            struct slice key = json_key(&json);
            if (json_peek(&json) == JSON_TEXT) outcome_text(&j->outcome, key, json_text(&json));
            else outcome_text(&j->outcome, key, json_skip(&json));
        }
    err_free(json_end(&json, "a group"));   /* we wrote it ourselves */
    buf_done(&text);
}

static bool report_configs(struct job *j)
{
    bool found = false;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct group_config g;
        const struct reply *r = j->replies.list.items[i];
        if (r->code == ERR_GROUP_NOT_FOUND || !job_read(j, r, &group_config_bean, &g)) continue;
        if (found) outcome_line(&j->outcome, "broker %.*s", SLICE_ARG(r->broker.name));
        report_config(j, r, &g);
        found = true;
    }
    return found;
}

static void fail_unknown(struct job *j, const struct replies *all)
{
    for (size_t i = 0; i < all->list.count; i++) {
        if (all->list.items[i]->code != ERR_GROUP_NOT_FOUND) continue;
        job_fail(j, err_new(ERR_GROUP_NOT_FOUND, "no broker has a group \"%.*s\"", SLICE_ARG(group_name(j))));
        return;
    }
    job_end_with(j, all);
}

static void on_configs(struct job *j)
{
    struct replies all = j->replies;
    if (report_configs(j)) job_end(j);
    else fail_unknown(j, &all);
}

static void ask_config_then(struct job *j, job_phase *next)
{
    struct get_group_config_header *h = job_take(j, sizeof *h);
    *h = (struct get_group_config_header){.group = group_name(j)};
    struct request r = {.code = REQUEST_GET_SUBSCRIPTIONGROUP_CONFIG, .kind = &get_group_config_kind, .header = h};
    job_ask_all(j, &r, next);
}

static void ask_configs(struct job *j) { ask_config_then(j, on_configs); }
static void consumer_config(struct job *j) { job_brokers(j, ask_configs); }

static const struct param config_params[] = {{"groupName", "g", PARAM_NEEDED, "GROUP", "the group"}, {.name = NULL}};

/* --- group describe: settings, members, progress --- */

static void on_described_progress(struct job *j)
{
    group_outcome_progress(j);
    job_end(j);
}

static void on_described_members(struct job *j)
{
    struct consumer_connections c = group_merge_connections(j);
    group_outcome_connections(j, &c);
    group_ask_progress(j, group_name(j), (struct slice){NULL, 0}, on_described_progress);
}

static void on_described_config(struct job *j)
{
    struct replies all = j->replies;
    if (report_configs(j)) group_ask_connections(j, group_name(j), on_described_members);
    else fail_unknown(j, &all);
}

static void ask_described(struct job *j) { ask_config_then(j, on_described_config); }
static void describe_group(struct job *j) { job_brokers(j, ask_described); }

static const struct param describe_params[] = {{"group", NULL, PARAM_WORD, "GROUP", NULL}, {.name = NULL}};

const struct command group_view_commands[] = {
    {.name = "group describe", .params = describe_params, .start = describe_group,
     .summary = "a group's settings, members, and how far it is"},
    {.name = "consumerProgress", .params = progress_params, .start = consumer_progress, .timeout_ms = 15000,
     .summary = "how far a group is, or all of them"},
    {.name = "consumerConnection", .params = connection_params, .start = consumer_connection,
     .summary = "the members of a group, and what they subscribe to"},
    {.name = "producerConnection", .params = producer_params, .start = producer_connection, .summary = "the producers of a group"},
    {.name = "producer", .params = all_producers_params, .start = all_producers, .summary = "all producers of a broker"},
    {.name = "getConsumerConfig", .params = config_params, .start = consumer_config, .summary = "the settings of a group on each master"},
    {.name = NULL},
};
