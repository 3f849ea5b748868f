/* What members of a group say of themselves: consumerStatus, subscription check. */
#include "admin/group/group.h"
#include "codec/body_running.h"

#include <stdlib.h>

struct told {
    struct slice client;
    struct client_running info;
};

struct state {
    struct consumer_connections members;
    struct told *told;                  /* of those that answered */
    size_t count;
};

/* --- asking members, each by a broker that it is connected to --- */

static void ask_member(struct job *j, const struct admin_broker *b, struct slice client, bool stacks)
{
    struct running_info_header *h = job_take(j, sizeof *h);
    struct slice *tag = job_take(j, sizeof *tag);
    *tag = client;
    *h = (struct running_info_header){.client_id = client, .consumer_group = group_name(j), .jstack_enable = stacks};
    header_set(h, running_info, jstack_enable);
    struct request r = {.code = REQUEST_GET_CONSUMER_RUNNING_INFO, .kind = &running_info_kind, .header = h};
    job_ask(j, b, &r, tag);
}

static void take_told(struct job *j, struct state *s)
{
    s->told = job_take(j, (j->replies.list.count + 1) * sizeof *s->told);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct told *t = &s->told[s->count];
        t->client = *(const struct slice *)j->replies.list.items[i]->tag;
        if (job_read(j, j->replies.list.items[i], &client_running_bean, &t->info)) s->count++;
    }
}

/* --- do they agree? --- */

static const struct subscription *find_subscription(const struct client_running *info, struct slice topic)
{
    for (size_t i = 0; i < info->subscriptions.count; i++)
        if (slice_eq(info->subscriptions.items[i].topic, topic)) return &info->subscriptions.items[i];
    return NULL;
}

static const struct column disagreement_columns[] = {
    {"topic", CELL_TEXT}, {"clientId", CELL_TEXT}, {"subExpression", CELL_TEXT}, {"otherClientId", CELL_TEXT},
    {"otherSubExpression", CELL_TEXT},
};

static void put_disagreement(struct table *t, const struct told *a, const struct told *b, const struct subscription *x,
                             const struct subscription *y)
{
    row_text(t, x ? x->topic : y->topic);
    row_text(t, a->client);
    row_text(t, x ? x->expression : (struct slice){NULL, 0});
    row_text(t, b->client);
    row_text(t, y ? y->expression : (struct slice){NULL, 0});
}

/* Each member against the first one. */
static size_t compare(struct table *t, const struct state *s)
{
    const struct told *first = s->told;
    for (size_t i = 1; i < s->count; i++) {
        const struct told *other = &s->told[i];
        for (size_t k = 0; k < first->info.subscriptions.count; k++) {
            const struct subscription *x = &first->info.subscriptions.items[k], *y = find_subscription(&other->info, x->topic);
            if (!y || !slice_eq(x->expression, y->expression)) put_disagreement(t, first, other, x, y);
        }
        for (size_t k = 0; k < other->info.subscriptions.count; k++)
            if (!find_subscription(&first->info, other->info.subscriptions.items[k].topic))
                put_disagreement(t, first, other, NULL, &other->info.subscriptions.items[k]);
    }
    return table_rows(t);
}

static void report_agreement(struct job *j, const struct state *s)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "disagreements", disagreement_columns);
    size_t n = compare(t, s);
    outcome_flag(&j->outcome, "subscriptionsAgree", !n);
    j->bad |= n > 0;
}

/* --- consumerStatus --- */

static const struct column told_columns[] = {{"clientId", CELL_TEXT}, {"version", CELL_TEXT}, {"consumeType", CELL_TEXT},
                                             {"queues", CELL_NUMBER},
                                             {"cachedMsgCount", CELL_NUMBER}};

static struct slice property(const struct client_running *info, const char *key)
{
    for (size_t i = 0; i < info->properties.count; i++)
        if (slice_eq(info->properties.items[i].key, slice_text(key))) return info->properties.items[i].value;
    return (struct slice){NULL, 0};
}

static void report_all(struct job *j, const struct state *s)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "members", told_columns);
    for (size_t i = 0; i < s->count; i++) {
        const struct client_running *info = &s->told[i].info;
        int64_t cached = 0;
        for (size_t k = 0; k < info->queues.count; k++) cached += info->queues.items[k].state.cached;
        row_text(t, s->told[i].client);
        row_text(t, property(info, "PROP_CLIENT_VERSION"));
        row_text(t, property(info, "PROP_CONSUME_TYPE"));
        row_number(t, (int64_t)info->queues.count);
        row_number(t, cached);
    }
    report_agreement(j, s);
}

static const struct column queue_columns[] = {
    {"topic", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"commitOffset", CELL_NUMBER},
    {"cachedMsgCount", CELL_NUMBER},
    {"lastPullTimestamp", CELL_TIME}, {"lastConsumeTimestamp", CELL_TIME}, {"locked", CELL_FLAG}, {"droped", CELL_FLAG},
};
static const struct column rate_columns[] = {
    {"topic", CELL_TEXT}, {"pullRT", CELL_RATE}, {"pullTPS", CELL_RATE}, {"consumeRT", CELL_RATE}, {"consumeOKTPS", CELL_RATE},
    {"consumeFailedTPS", CELL_RATE}, {"consumeFailedMsgs", CELL_NUMBER},
};
static const struct column expression_columns[] = {{"topic", CELL_TEXT}, {"subExpression", CELL_TEXT}};

static void put_queues(struct table *t, const struct client_running *info)
{
    for (size_t i = 0; i < info->queues.count; i++) {
        const struct client_queue *q = &info->queues.items[i];
        row_text(t, q->queue.topic);
        row_text(t, q->queue.broker);
        row_number(t, q->queue.queue_id);
        row_number(t, q->state.commit_offset);
        row_number(t, q->state.cached);
        row_time(t, q->state.last_pull_ms);
        row_time(t, q->state.last_consume_ms);
        row_flag(t, q->state.locked);
        row_flag(t, q->state.dropped);
    }
    table_sort(t, 3);
}

static void put_rates(struct table *t, const struct client_running *info)
{
    for (size_t i = 0; i < info->rates.count; i++) {
        const struct client_rates *r = &info->rates.items[i];
        row_text(t, r->topic);
        row_rate(t, r->pull_rt_ms);
        row_rate(t, r->pull_tps);
        row_rate(t, r->consume_rt_ms);
        row_rate(t, r->ok_tps);
        row_rate(t, r->failed_tps);
        row_number(t, r->failed);
    }
    table_sort(t, 1);
}

static void report_one(struct job *j, const struct told *one)
{
    const struct client_running *info = &one->info;
    outcome_text(&j->outcome, SLICE("clientId"), one->client);
    for (size_t i = 0; i < info->properties.count; i++)
        outcome_text(&j->outcome, info->properties.items[i].key, info->properties.items[i].value);
    struct table *t = OUTCOME_TABLE(&j->outcome, "subscriptions", expression_columns);
    for (size_t i = 0; i < info->subscriptions.count; i++) {
        row_text(t, info->subscriptions.items[i].topic);
        row_text(t, info->subscriptions.items[i].expression);
    }
    table_sort(t, 1);
    put_queues(OUTCOME_TABLE(&j->outcome, "queues", queue_columns), info);
    put_rates(OUTCOME_TABLE(&j->outcome, "rates", rate_columns), info);
    if (!info->stacks.p) return;
    struct table *stacks = outcome_texts(&j->outcome, "jstack");
    struct slice rest = info->stacks, line;
    while (slice_split(&rest, '\n', &line)) row_text(stacks, line);
}

static void on_told(struct job *j)
{
    struct state *s = j->state;
    struct replies all = j->replies;
    take_told(j, s);
    if (param_has(j->params, "clientId") && s->count) report_one(j, &s->told[0]);
    else if (s->count) report_all(j, s);
    job_end_with(j, &all);
}

static void on_members(struct job *j)
{
    struct state *s = job_take(j, sizeof *s);
    struct slice only = slice_trim(job_param(j, "clientId"));
    struct replies all = j->replies;
    size_t asked = 0;
    s->members = group_merge_connections(j);
    j->state = s;
    for (size_t i = 0; i < s->members.connections.count; i++) {
        struct slice client = s->members.connections.items[i].client_id;
        if (only.n && !slice_eq(only, client)) continue;
        ask_member(j, &j->brokers.list.items[0].broker, client, param_has(j->params, "jstack"));
        asked++;
    }
    if (asked) job_wait(j, on_told);
    else if (s->members.connections.count)
        job_fail(j, err_new(ERR_NOT_FOUND, "group \"%.*s\" has no member \"%.*s\"", SLICE_ARG(group_name(j)), SLICE_ARG(only)));
    else if (all.list.count && all.list.items[0]->code == ERR_NOT_ONLINE)
        job_fail(j, err_new(ERR_NOT_ONLINE, "no member of group \"%.*s\" is online", SLICE_ARG(group_name(j))));
    else job_end_with(j, &all);
}

static void ask_members(struct job *j) { group_ask_connections(j, group_name(j), on_members); }
static void consumer_status(struct job *j) { group_brokers(j, group_name(j), ask_members); }

static const struct param status_params[] = {
    {"consumerGroup", "g", PARAM_NEEDED, "GROUP", "the group"},
    {"clientId", "i", PARAM_VALUE, "ID", "this member, with its queues and rates"},
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "asks this broker"},
    {"jstack", "s", PARAM_SWITCH, NULL, "with what its threads are doing"},
    {.name = NULL},
};

static const struct param check_params[] = {{"group", NULL, PARAM_WORD, "GROUP", NULL}, {.name = NULL}};

const struct command group_status_commands[] = {
    {.name = "subscription check", .params = check_params, .start = consumer_status,
     .summary = "whether all members of a group ask for the same; exit status 1 when not",
     .help = "Asks each member of a group what it subscribes to, and names those that disagree. A group whose members disagree loses messages.\n"
             "The exit status is 1 when they do. Clients over gRPC do not answer this question.\n\n"
             "Example:\n  skylark admin subscription check billing\n"},
    {.name = "consumerStatus", .params = status_params, .start = consumer_status, .timeout_ms = 10000,
     .summary = "what the members of a group say of themselves, and whether they agree"},
    {.name = NULL},
};
