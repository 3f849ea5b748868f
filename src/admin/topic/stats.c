/* statsAll: what topics took and groups got in the last minute, what they took in a day, and how far groups are behind. */
#include "admin/topic/topic.h"

#include <stdlib.h>

/* A topic, or one of its groups; sums over all brokers. */
struct traffic {
    struct slice topic, group;      /* group p NULL: the topic itself */
    double tps;
    int64_t day;
    int64_t behind;
    struct traffic *groups, *next;  /* of a topic: its groups, the list of them */
};

struct traffics {
    BEAN_LIST(struct traffic *) list;   /* topics */
};

static void add_topic(struct job *j, struct traffics *all, struct slice topic)
{
    struct traffic **slot = arena_list_add(job_arena(j), (void **)&all->list.items, &all->list.count, sizeof *slot);
    if (!slot) return;
    *slot = job_take(j, sizeof **slot);
    (*slot)->topic = topic;
}

static void add_group(struct job *j, struct traffic *topic, struct slice group)
{
    for (struct traffic *t = topic->groups; t; t = t->next)
        if (slice_eq(t->group, group)) return;
    struct traffic *t = job_take(j, sizeof *t);
    *t = (struct traffic){.topic = topic->topic, .group = group, .next = topic->groups};
    topic->groups = t;
}

/* A day's sum, as far as there is one yet. */
static void add_traffic(struct job *j, const struct reply *r)
{
    struct broker_stats s;
    if (r->code || bean_decode(&broker_stats_bean, r->body, job_arena(j), "stats", &s)) return;   /* nothing was counted yet */
    struct traffic *t = (struct traffic *)r->tag;
    t->tps += s.minute.tps;
    t->day += s.day.sum ? s.day.sum : s.hour.sum ? s.hour.sum : s.minute.sum;
}

static void ask_count(struct job *j, const struct admin_broker *b, const char *name, struct slice key, struct traffic *t)
{
    struct view_stats_header *h = job_take(j, sizeof *h);
    *h = (struct view_stats_header){.stats_key = key, .stats_name = slice_text(name)};
    struct request r = {.code = REQUEST_VIEW_BROKER_STATS_DATA, .kind = &view_stats_kind, .header = h};
    job_ask(j, b, &r, t);
}

/* --- what is reported --- */

static const struct column columns[] = {
    {"topic", CELL_TEXT}, {"consumerGroup", CELL_TEXT}, {"accumulation", CELL_NUMBER}, {"inTPS", CELL_RATE}, {"outTPS", CELL_RATE},
    {"inMsg24Hour", CELL_NUMBER}, {"outMsg24Hour", CELL_NUMBER},
};

static void put_row(struct table *t, const struct traffic *in, const struct traffic *out)
{
    row_text(t, in->topic);
    row_text(t, out ? out->group : (struct slice){NULL, 0});
    row_number(t, out ? out->behind : 0);
    row_rate(t, in->tps);
    if (out) row_rate(t, out->tps);
    else row_none(t);
    row_number(t, in->day);
    if (out) row_number(t, out->day);
    else row_none(t);
}

static void report(struct job *j, const struct traffics *all)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "topics", columns);
    bool active = param_has(j->params, "activeTopic");
    for (size_t i = 0; i < all->list.count; i++) {
        const struct traffic *in = all->list.items[i];
        for (const struct traffic *out = in->groups; out; out = out->next)
            if (!active || in->day || out->day) put_row(t, in, out);
        if (!in->groups && (!active || in->day)) put_row(t, in, NULL);
    }
    table_sort(t, 2);
    job_end(j);
}

static void on_group_counts(struct job *j)
{
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct consume_stats s;
        if (r->heard.code == 0 && r->tag && r->body.n && slice_starts(r->body, SLICE("{\"consumeTps\""))) {
            err_t e = bean_decode(&consume_stats_bean, r->body, job_arena(j), "consume stats", &s);
            for (size_t k = 0; !e && k < s.queues.count; k++)
                ((struct traffic *)r->tag)->behind += s.queues.items[k].broker_offset - s.queues.items[k].consumer_offset;
            err_free(e);   /* the row says 0 then */
        } else {
            add_traffic(j, r);
        }
    }
    report(j, j->state);
}

static void ask_group(struct job *j, struct traffic *t)
{
    struct consume_stats_header *h = job_take(j, sizeof *h);
    *h = (struct consume_stats_header){.consumer_group = t->group, .topic = t->topic};
    struct request r = {.code = REQUEST_GET_CONSUME_STATS, .kind = &consume_stats_kind, .header = h};
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        job_ask(j, &j->brokers.list.items[i].broker, &r, t);
        ask_count(j, &j->brokers.list.items[i].broker, "GROUP_GET_NUMS",
                  job_text(j, "%.*s@%.*s", SLICE_ARG(t->topic), SLICE_ARG(t->group)), t);
    }
}

/* Counts of topics, and which groups each has. */
static void on_topic_counts(struct job *j)
{
    struct replies all = j->replies;
    const struct traffics *traffic = j->state;
    for (size_t i = 0; i < all.list.count; i++) {
        const struct reply *r = all.list.items[i];
        struct group_list groups;
        if (!r->code && slice_starts(r->body, SLICE("{\"groupList\"")) && job_read(j, r, &group_list_bean, &groups))
            for (size_t k = 0; k < groups.groups.count; k++) add_group(j, (struct traffic *)r->tag, groups.groups.items[k]);
        else add_traffic(j, r);
    }
    for (size_t i = 0; i < traffic->list.count; i++)
        for (struct traffic *g = traffic->list.items[i]->groups; g; g = g->next) ask_group(j, g);
    job_wait(j, on_group_counts);
}

static void ask_topic(struct job *j, struct traffic *t)
{
    struct topic_consume_by_who_header *h = job_take(j, sizeof *h);
    *h = (struct topic_consume_by_who_header){.topic = t->topic};
    struct request r = {.code = REQUEST_QUERY_TOPIC_CONSUME_BY_WHO, .kind = &topic_consume_by_who_kind, .header = h};
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        ask_count(j, &j->brokers.list.items[i].broker, "TOPIC_PUT_NUMS", t->topic, t);
        job_ask(j, &j->brokers.list.items[i].broker, &r, t);
    }
}

static int by_text(const void *a, const void *b) { return slice_compare(*(const struct slice *)a, *(const struct slice *)b); }

struct names {
    BEAN_LIST(struct slice) list;
};

static void add_names(struct job *j, struct names *names, const struct topic_table *table)
{
    struct slice only = slice_trim(job_param(j, "topic"));
    for (size_t k = 0; k < table->topics.count; k++) {
        struct slice name = table->topics.items[k].name;
        if (topic_is_of_group(name) || (only.n && !slice_eq(only, name))) continue;
        struct slice *slot = arena_list_add(job_arena(j), (void **)&names->list.items, &names->list.count, sizeof *slot);
        if (slot) *slot = name;
    }
}

/* Several brokers have the same ones. */
static void on_topics(struct job *j)
{
    struct traffics *all = job_take(j, sizeof *all);
    struct names names = {.list = {NULL, 0}};
    struct replies told = j->replies;
    j->state = all;
    for (size_t i = 0; i < told.list.count; i++) {
        struct topic_table table;
        if (job_read(j, told.list.items[i], &topic_table_bean, &table)) add_names(j, &names, &table);
    }
    if (names.list.count) qsort(names.list.items, names.list.count, sizeof *names.list.items, by_text);
    for (size_t i = 0; i < names.list.count; i++)
        if (!i || !slice_eq(names.list.items[i], names.list.items[i - 1])) add_topic(j, all, names.list.items[i]);
    for (size_t i = 0; i < all->list.count; i++) ask_topic(j, all->list.items[i]);
    if (all->list.count) job_wait(j, on_topic_counts);
    else job_end_with(j, &told);
}

static void ask_topics(struct job *j)
{
    struct all_topics_header *h = job_take(j, sizeof *h);
    struct request r = {.code = REQUEST_GET_ALL_TOPIC_CONFIG, .kind = &all_topics_kind, .header = h};
    job_ask_all(j, &r, on_topics);
}

static void stats_all(struct job *j) { job_brokers(j, ask_topics); }

static const struct param params[] = {
    {"activeTopic", "a", PARAM_SWITCH, NULL, "only topics that had traffic"},
    {"topic", "t", PARAM_VALUE, "TOPIC", "this one alone"},
    {.name = NULL},
};

const struct command topic_stats_commands[] = {
    {.name = "statsAll", .params = params, .start = stats_all, .timeout_ms = 30000,
     .summary = "what each topic took and each group got, and how far groups are behind"},
    {.name = NULL},
};
