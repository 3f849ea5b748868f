/* How all groups are doing: consumerProgress without a group, group list. */
#include "admin/group/group.h"
#include "admin/topic/topic.h"

#include <stdlib.h>

/* One group, over all brokers. */
struct group_row {
    struct slice name;
    struct consumer_connections members;
    double tps;
    int64_t diff;
};

struct group_rows {
    BEAN_LIST(struct group_row *) list;
};

static const struct column columns[] = {
    {"group", CELL_TEXT}, {"count", CELL_NUMBER}, {"version", CELL_TEXT}, {"type", CELL_TEXT}, {"model", CELL_TEXT}, {"tps", CELL_RATE},
    {"diffTotal", CELL_NUMBER},
};

static void add_group(struct job *j, struct group_rows *all, struct slice name)
{
    struct group_row **slot;
    for (size_t i = 0; i < all->list.count; i++)
        if (slice_eq(all->list.items[i]->name, name)) return;
    slot = arena_list_add(job_arena(j), (void **)&all->list.items, &all->list.count, sizeof *slot);
    if (!slot) return;
    *slot = job_take(j, sizeof **slot);
    **slot = (struct group_row){.name = name, .members = {.type = CONSUME_NONE, .model = MODEL_NONE}};
}

/* --- what is known of each --- */

static void put_row(struct job *j, struct table *t, const struct group_row *g)
{
    const struct consumer_connections *c = &g->members;
    bool online = c->connections.count > 0;
    row_text(t, g->name);
    row_number(t, (int64_t)c->connections.count);
    row_text(t, online ? client_version_text(j, c->connections.items[0].version) : SLICE("OFFLINE"));
    if (online && c->type >= 0)
        row_text(t, c->type == CONSUME_ACTIVELY ? SLICE("PULL") : c->type == CONSUME_POP ? SLICE("POP") : SLICE("PUSH"));
    else row_none(t);
    if (online && c->model >= 0) row_text(t, slice_text(message_model_names[c->model]));
    else row_none(t);
    row_rate(t, g->tps);
    row_number(t, g->diff);
}

static void take_members(struct job *j, const struct reply *r, struct group_row *g)
{
    struct consumer_connections c;
    if (!job_read(j, r, &consumer_connections_bean, &c)) return;
    if (c.connections.count > g->members.connections.count) g->members = c;
}

static void take_progress(struct job *j, const struct reply *r, struct group_row *g)
{
    struct consume_stats s;
    if (!job_read(j, r, &consume_stats_bean, &s)) return;
    g->tps += s.tps;
    for (size_t i = 0; i < s.queues.count; i++) g->diff += s.queues.items[i].broker_offset - s.queues.items[i].consumer_offset;
}

/* Two answers of each broker for each group: members, progress. A broker that has nothing of a group says so, which is no failure. */
static void on_answers(struct job *j)
{
    struct group_rows *all = j->state;
    struct table *t = OUTCOME_TABLE(&j->outcome, "groups", columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct group_row *g = (struct group_row *)r->tag;
        if (r->code == ERR_NOT_ONLINE || r->code == ERR_GROUP_NOT_FOUND || r->code == ERR_TOPIC_NOT_FOUND) continue;
        if (i % 2 == 0) take_members(j, r, g);
        else take_progress(j, r, g);
    }
    for (size_t i = 0; i < all->list.count; i++) put_row(j, t, all->list.items[i]);
    table_sort(t, 1);
    job_end(j);
}

static void ask_group(struct job *j, struct group_row *g)
{
    struct consumer_connections_header *c = job_take(j, sizeof *c);
    struct consume_stats_header *s = job_take(j, sizeof *s);
    *c = (struct consumer_connections_header){.consumer_group = g->name};
    *s = (struct consume_stats_header){.consumer_group = g->name};
    struct request members = {.code = REQUEST_GET_CONSUMER_CONNECTION_LIST, .kind = &consumer_connections_kind, .header = c};
    struct request progress = {.code = REQUEST_GET_CONSUME_STATS, .kind = &consume_stats_kind, .header = s};
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        job_ask(j, &j->brokers.list.items[i].broker, &members, g);
        job_ask(j, &j->brokers.list.items[i].broker, &progress, g);
    }
}

static void ask_all(struct job *j)
{
    struct group_rows *all = j->state;
    for (size_t i = 0; i < all->list.count; i++) ask_group(j, all->list.items[i]);
    job_wait(j, on_answers);
}

/* --- which groups: those with a retry topic, for mqadmin's command --- */

static void on_topics(struct job *j)
{
    struct group_rows *all = job_take(j, sizeof *all);
    struct topic_list list;
    err_t e = bean_decode(&topic_list_bean, j->replies.list.items[0]->body, job_arena(j), "topic list", &list);
    j->state = all;
    for (size_t i = 0; !e && i < list.topics.count; i++)
        if (slice_starts(list.topics.items[i], SLICE("%RETRY%"))) add_group(j, all, slice_skip(list.topics.items[i], 7));
    if (e) job_fail(j, e);
    else job_brokers(j, ask_all);
}

void group_all_progress(struct job *j)
{
    struct request r = {.code = REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER};
    job_ask_a_name(j, &r, ERR_NONE, on_topics);
}

/* --- those that brokers have --- */

bool group_is_internal(struct slice group)
{
    return slice_starts(group, SLICE("CID_ONSAPI_")) || slice_starts(group, SLICE("CID_ONS-")) || slice_eq(group,
        SLICE("TOOLS_CONSUMER")) ||
           slice_eq(group, SLICE("FILTERSRV_CONSUMER")) || slice_eq(group, SLICE("SELF_TEST_C_GROUP")) || slice_starts(group,
               SLICE("CID_SYS_RMQ_")) ||
           slice_eq(group, SLICE("CID_RMQ_SYS_TRANS")) || slice_eq(group, SLICE("CID_DefaultHeartBeatSyncerTopic"));
}

static void on_groups(struct job *j)
{
    struct group_rows *all = job_take(j, sizeof *all);
    struct replies told = j->replies;
    j->state = all;
    for (size_t i = 0; i < told.list.count; i++) {
        struct group_table table;
        if (!job_read(j, told.list.items[i], &group_table_bean, &table)) continue;
        for (size_t k = 0; k < table.groups.count; k++)
            if (param_has(j->params, "all") || !group_is_internal(table.groups.items[k].name)) add_group(j, all, table.groups.items[k].name);
    }
    if (all->list.count) {
        ask_all(j);
        return;
    }
    OUTCOME_TABLE(&j->outcome, "groups", columns);
    job_end_with(j, &told);
}

static void ask_groups(struct job *j)
{
    struct all_groups_header *h = job_take(j, sizeof *h);
    struct request r = {.code = REQUEST_GET_ALL_SUBSCRIPTIONGROUP_CONFIG, .kind = &all_groups_kind, .header = h};
    job_ask_all(j, &r, on_groups);
}

static void list_groups(struct job *j) { job_brokers(j, ask_groups); }

static const struct param list_params[] = {
    {"all", NULL, PARAM_SWITCH, NULL, "also those that servers made"},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "of this cluster alone"},
    {.name = NULL},
};

const struct command group_list_commands[] = {
    {.name = "group list", .params = list_params, .start = list_groups, .timeout_ms = 10000,
     .summary = "which consumer groups there are, who is online, how far they are behind"},
    {.name = NULL},
};
