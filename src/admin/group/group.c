#include "admin/group/group.h"

#include <stdlib.h>

enum { VERSION_4_0_0_SNAPSHOT = 212, VERSIONS_A_MAJOR = 200, VERSIONS_A_MINOR = 20, VERSION_HIGHEST = 612 };

struct slice client_version_text(struct job *j, int32_t version)
{
    int32_t n = version - VERSION_4_0_0_SNAPSHOT;
    if (n < 0 || version >= VERSION_HIGHEST) return job_text(j, "%d", version);
    return job_text(j, "V%d_%d_%d%s", 4 + n / VERSIONS_A_MAJOR, n % VERSIONS_A_MAJOR / VERSIONS_A_MINOR, n % VERSIONS_A_MINOR / 2,
                    n % 2 ? "" : "_SNAPSHOT");
}

struct slice group_name(const struct job *j)
{
    static const char *const names[] = {"group", "groupName", "consumerGroup"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (param_has(j->params, names[i])) return slice_trim(job_param(j, names[i]));
    return (struct slice){NULL, 0};
}

/* --- which brokers --- */

struct home {
    job_phase *next;
    void *state;
};

static void go_on(struct job *j)
{
    struct home *h = j->state;
    j->state = h->state;
    h->next(j);
}

static void on_retry_route(struct job *j)
{
    if (j->route.brokers.count) job_masters(j, go_on);
    else job_brokers(j, go_on);
}

void group_brokers(struct job *j, struct slice group, job_phase *next)
{
    struct home *h = job_take(j, sizeof *h);
    *h = (struct home){next, j->state};
    j->state = h;
    if (admin_options(j->admin)->broker.p || param_has(j->params, "brokerAddr") || param_has(j->params, "cluster")) job_brokers(j, go_on);
    else job_route(j, job_text(j, "%%RETRY%%%.*s", SLICE_ARG(group)), false, on_retry_route);
}

void group_ask_progress(struct job *j, struct slice group, struct slice topic, job_phase *next)
{
    struct consume_stats_header *h = job_take(j, sizeof *h);
    *h = (struct consume_stats_header){.consumer_group = group, .topic = topic};
    struct request r = {.code = REQUEST_GET_CONSUME_STATS, .kind = &consume_stats_kind, .header = h};
    job_ask_all(j, &r, next);
}

void group_ask_connections(struct job *j, struct slice group, job_phase *next)
{
    struct consumer_connections_header *h = job_take(j, sizeof *h);
    *h = (struct consumer_connections_header){.consumer_group = group};
    struct request r = {.code = REQUEST_GET_CONSUMER_CONNECTION_LIST, .kind = &consumer_connections_kind, .header = h};
    job_ask_all(j, &r, next);
}

/* --- members --- */

static bool has_client(const struct consumer_connections *c, struct slice id)
{
    for (size_t i = 0; i < c->connections.count; i++)
        if (slice_eq(c->connections.items[i].client_id, id)) return true;
    return false;
}

static void merge(struct job *j, const struct consumer_connections *one, struct consumer_connections *all)
{
    if (!all->connections.count) {
        struct consumer_connections first = *one;
        first.connections.items = NULL;
        first.connections.count = 0;
        *all = first;
    }
    for (size_t i = 0; i < one->connections.count; i++) {
        if (has_client(all, one->connections.items[i].client_id)) continue;
        struct connection_row *row = arena_list_add(job_arena(j), (void **)&all->connections.items, &all->connections.count, sizeof *row);
        if (row) *row = one->connections.items[i];
    }
}

struct consumer_connections group_merge_connections(struct job *j)
{
    struct consumer_connections all = {.type = CONSUME_NONE, .model = MODEL_NONE, .from = FROM_NONE};
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct consumer_connections one;
        const struct reply *r = j->replies.list.items[i];
        if (r->code != ERR_NOT_ONLINE && job_read(j, r, &consumer_connections_bean, &one)) merge(j, &one, &all);
    }
    return all;
}

static struct slice choice_text(const char *const names[], int32_t choice) { return choice < 0 ? (struct slice){NULL,
    0} : slice_text(names[choice]); }

static const struct column member_columns[] = {{"clientId", CELL_TEXT}, {"clientAddr", CELL_TEXT}, {"language", CELL_TEXT},
                                               {"version", CELL_TEXT}};
static const struct column subscription_columns[] = {{"topic", CELL_TEXT}, {"subExpression", CELL_TEXT}, {"expressionType", CELL_TEXT}};

void group_outcome_connections(struct job *j, const struct consumer_connections *c)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "members", member_columns);
    for (size_t i = 0; i < c->connections.count; i++) {
        row_text(t, c->connections.items[i].client_id);
        row_text(t, c->connections.items[i].address);
        row_text(t, c->connections.items[i].language);
        row_text(t, client_version_text(j, c->connections.items[i].version));
    }
    table_sort(t, 1);
    t = OUTCOME_TABLE(&j->outcome, "subscriptions", subscription_columns);
    for (size_t i = 0; i < c->subscriptions.count; i++) {
        row_text(t, c->subscriptions.items[i].topic);
        row_text(t, c->subscriptions.items[i].expression);
        row_text(t, c->subscriptions.items[i].type);
    }
    table_sort(t, 1);
    outcome_text(&j->outcome, SLICE("consumeType"), choice_text(consume_type_names, c->type));
    outcome_text(&j->outcome, SLICE("messageModel"), choice_text(message_model_names, c->model));
    outcome_text(&j->outcome, SLICE("consumeFromWhere"), choice_text(consume_from_names, c->from));
}

/* --- progress --- */

static const struct column progress_columns[] = {
    {"topic", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"brokerOffset", CELL_NUMBER},
    {"consumerOffset", CELL_NUMBER},
    {"clientIP", CELL_TEXT}, {"diff", CELL_NUMBER}, {"inflight", CELL_NUMBER}, {"lastTimestamp", CELL_TIME},
};

struct sums {
    double tps;
    int64_t diff, inflight;
};

static void put_queue(struct table *t, const struct consume_offsets *q, struct sums *s)
{
    row_text(t, q->queue.topic);
    row_text(t, q->queue.broker);
    row_number(t, q->queue.queue_id);
    row_number(t, q->broker_offset);
    row_number(t, q->consumer_offset);
    row_none(t);
    row_number(t, q->broker_offset - q->consumer_offset);
    row_number(t, q->pull_offset - q->consumer_offset);
    row_time(t, q->last_ms);
    s->diff += q->broker_offset - q->consumer_offset;
    s->inflight += q->pull_offset - q->consumer_offset;
}

void group_outcome_progress(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "queues", progress_columns);
    struct sums sums = {.tps = 0};
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct consume_stats s;
        if (!job_read(j, j->replies.list.items[i], &consume_stats_bean, &s)) continue;
        sums.tps += s.tps;
        for (size_t k = 0; k < s.queues.count; k++) put_queue(t, &s.queues.items[k], &sums);
    }
    table_sort(t, 3);
    outcome_rate(&j->outcome, "consumeTps", sums.tps);
    outcome_number(&j->outcome, "diffTotal", sums.diff);
    outcome_number(&j->outcome, "inflightTotal", sums.inflight);
}
