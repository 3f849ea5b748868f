/* startMonitoring: rounds of looking at all groups, for what waits too long and for members that do not get on.
 * Facts    docs/protocol/mqadmin.md 3 (what mqadmin's rounds look at, and after how long it speaks up) */
#include "admin/group/group.h"
#include "base/clamped.h"
#include "codec/body_running.h"

#include <stdlib.h>

enum { ROUND_S = 60, ROUND_TIMEOUT_MS = 30000, STARTING_MS = 120000, STUCK_MS = 60000 };

struct watched_group {
    struct slice name;
    int64_t members;
};

struct watched_member {
    struct watched_group *group;
    struct slice client;
    bool told;
    struct client_running info;
};

/* A queue that a group has an offset in. */
struct watched_queue {
    struct watched_group *group;
    struct consume_offsets offsets;
};

struct watch {
    BEAN_LIST(struct watched_group *) groups;
    BEAN_LIST(struct watched_member *) members;
    BEAN_LIST(struct watched_queue) queues;
    BEAN_LIST(struct topic_offsets) ends;       /* of their topics, sorted */
    BEAN_LIST(struct slice) topics;
    struct table *undone, *findings;
};

/* --- what members say: those that have been there for a while, and are pushed messages --- */

static const struct column finding_columns[] = {
    {"consumerGroup", CELL_TEXT}, {"clientId", CELL_TEXT}, {"topic", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"finding", CELL_TEXT},
};

static struct slice property(const struct client_running *info, const char *key)
{
    for (size_t i = 0; i < info->properties.count; i++)
        if (slice_eq(info->properties.items[i].key, slice_text(key))) return info->properties.items[i].value;
    return (struct slice){NULL, 0};
}

static void put_finding(struct watch *w, const struct watched_member *m, const struct message_queue *q, struct slice finding)
{
    row_text(w->findings, m->group->name);
    row_text(w->findings, m->client);
    row_text(w->findings, q ? q->topic : (struct slice){NULL, 0});
    row_text(w->findings, q ? q->broker : (struct slice){NULL, 0});
    if (q) row_number(w->findings, q->queue_id);
    else row_none(w->findings);
    row_text(w->findings, finding);
}

static void look_at_queue(struct job *j, struct watch *w, const struct watched_member *m, const struct client_queue *q, bool orderly)
{
    const struct client_queue_state *s = &q->state;
    int64_t idle = clamped_minus(j->now_ms, s->last_consume_ms);
    if (orderly && !s->locked)
        put_finding(w, m, &q->queue, job_text(j, "has not got the queue's lock for %lld ms", (long long)clamped_minus(j->now_ms, s->last_lock_ms)));
    else if (orderly && s->dropped && s->try_unlock_times > 0)
        put_finding(w, m, &q->queue, job_text(j, "did not give the queue's lock back, %lld tries", (long long)s->try_unlock_times));
    else if (!orderly && idle > STUCK_MS && s->cached > 0)
        put_finding(w, m, &q->queue, job_text(j, "has %d messages and consumes none for %lld ms", s->cached, (long long)idle));
}

static void look_at_member(struct job *j, struct watch *w, const struct watched_member *m)
{
    bool orderly = slice_eq(property(&m->info, "PROP_CONSUMEORDERLY"), SLICE("true"));
    if (!slice_eq(property(&m->info, "PROP_CONSUME_TYPE"), SLICE("CONSUME_PASSIVELY"))) return;
    for (size_t i = 0; i < m->info.queues.count; i++) look_at_queue(j, w, m, &m->info.queues.items[i], orderly);
}

static bool same_subscriptions(const struct client_running *a, const struct client_running *b)
{
    if (a->subscriptions.count != b->subscriptions.count) return false;
    for (size_t i = 0; i < a->subscriptions.count; i++) {
        bool found = false;
        for (size_t k = 0; k < b->subscriptions.count; k++)
            found |= slice_eq(a->subscriptions.items[i].topic, b->subscriptions.items[k].topic) &&
                     slice_eq(a->subscriptions.items[i].expression, b->subscriptions.items[k].expression);
        if (!found) return false;
    }
    return true;
}

static bool is_settled(const struct job *j, const struct client_running *info)
{
    int64_t started = 0;
    return slice_eq(property(info, "PROP_CONSUME_TYPE"), SLICE("CONSUME_PASSIVELY")) &&
           slice_to_i64(property(info, "PROP_CONSUMER_START_TIMESTAMP"), &started) && clamped_minus(j->now_ms, started) > STARTING_MS;
}

/* Members of a group stand together; each is compared with the group's first. */
static void look_at_members(struct job *j, struct watch *w)
{
    const struct watched_member *first = NULL;
    for (size_t i = 0; i < w->members.count; i++) {
        const struct watched_member *m = w->members.items[i];
        if (!m->told) continue;
        if (!first || first->group != m->group) first = m;
        else if (is_settled(j, &first->info) && !same_subscriptions(&first->info, &m->info))
            put_finding(w, m, NULL, job_text(j, "subscribes to other things than %.*s", SLICE_ARG(first->client)));
        look_at_member(j, w, m);
    }
}

/* --- what is undone --- */

static const struct column undone_columns[] = {
    {"consumerGroup", CELL_TEXT}, {"topic", CELL_TEXT}, {"members", CELL_NUMBER}, {"undoneMsgsTotal", CELL_NUMBER},
    {"undoneMsgsSingleMQ", CELL_NUMBER}, {"undoneMsgsDelayTimeMills", CELL_NUMBER},
};

static int compare_queues(const struct message_queue *a, const struct message_queue *b)
{
    int order = slice_compare(a->topic, b->topic);
    if (!order) order = slice_compare(a->broker, b->broker);
    return order ? order : a->queue_id - b->queue_id;
}

static int by_queue(const void *a, const void *b)
{
    return compare_queues(&((const struct topic_offsets *)a)->queue, &((const struct topic_offsets *)b)->queue);
}

static int by_group(const void *a, const void *b)
{
    const struct watched_queue *x = a, *y = b;
    int order = slice_compare(x->group->name, y->group->name);
    return order ? order : slice_compare(x->offsets.queue.topic, y->offsets.queue.topic);
}

/* How much older than the queue's newest message the last one is that the group has consumed. */
static int64_t delay_of(const struct watch *w, const struct consume_offsets *o)
{
    struct topic_offsets wanted = {.queue = o->queue};
    const struct topic_offsets *end = w->ends.count ? bsearch(&wanted, w->ends.items, w->ends.count, sizeof wanted, by_queue) : NULL;
    return end && o->last_ms > 0 && end->last_update_ms > o->last_ms ? end->last_update_ms - o->last_ms : 0;
}

/* Those from `at` on that are of the same group and topic, as one row; returns where the next begin. */
static size_t put_undone(struct watch *w, size_t at)
{
    const struct watched_queue *first = &w->queues.items[at];
    int64_t total = 0, most = 0, delay = 0;
    for (; at < w->queues.count && !by_group(first, &w->queues.items[at]); at++) {
        const struct consume_offsets *o = &w->queues.items[at].offsets;
        int64_t behind = o->broker_offset - o->consumer_offset, late = delay_of(w, o);
        if (behind > 0) total += behind;
        if (behind > most) most = behind;
        if (late > delay) delay = late;
    }
    row_text(w->undone, first->group->name);
    row_text(w->undone, first->offsets.queue.topic);
    row_number(w->undone, first->group->members);
    row_number(w->undone, total);
    row_number(w->undone, most);
    row_number(w->undone, delay);
    return at;
}

static void take_ends(struct job *j, struct watch *w, const struct reply *r)
{
    struct topic_stats s;
    if (r->code == ERR_TOPIC_NOT_FOUND || !job_read(j, r, &topic_stats_bean, &s)) return;
    for (size_t i = 0; i < s.queues.count; i++) {
        struct topic_offsets *o = arena_list_add(job_arena(j), (void **)&w->ends.items, &w->ends.count, sizeof *o);
        if (o) *o = s.queues.items[i];
    }
}

/* Answers of members have them as their tags, those about topics none. A member that does not say how it is doing is no failure: clients over gRPC, and those that have just gone, do not. */
static void on_details(struct job *j)
{
    struct watch *w = j->state;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct watched_member *m = (struct watched_member *)r->tag;
        if (!m) take_ends(j, w, r);
        else if (!r->code) m->told |= job_read(j, r, &client_running_bean, &m->info);
    }
    if (w->ends.count) qsort(w->ends.items, w->ends.count, sizeof *w->ends.items, by_queue);
    if (w->queues.count) qsort(w->queues.items, w->queues.count, sizeof *w->queues.items, by_group);
    outcome_time(&j->outcome, "round", j->now_ms);
    w->undone = OUTCOME_TABLE(&j->outcome, "undone", undone_columns);
    w->findings = OUTCOME_TABLE(&j->outcome, "findings", finding_columns);
    for (size_t at = 0; at < w->queues.count;) at = put_undone(w, at);
    look_at_members(j, w);
    job_end(j);
}

/* --- asking --- */

static void ask_ends(struct job *j, struct slice topic)
{
    struct topic_stats_header *h = job_take(j, sizeof *h);
    *h = (struct topic_stats_header){.topic = topic};
    struct request r = {.code = REQUEST_GET_TOPIC_STATS_INFO, .kind = &topic_stats_kind, .header = h};
    for (size_t i = 0; i < j->brokers.list.count; i++) job_ask(j, &j->brokers.list.items[i].broker, &r, NULL);
}

static void ask_member(struct job *j, const struct admin_broker *b, const struct watched_member *m)
{
    struct running_info_header *h = job_take(j, sizeof *h);
    *h = (struct running_info_header){.client_id = m->client, .consumer_group = m->group->name};
    header_set(h, running_info, jstack_enable);
    struct request r = {.code = REQUEST_GET_CONSUMER_RUNNING_INFO, .kind = &running_info_kind, .header = h};
    job_ask(j, b, &r, m);
}

static bool has_member(const struct watch *w, const struct watched_group *g, struct slice client)
{
    for (size_t i = w->members.count; i > 0 && w->members.items[i - 1]->group == g; i--)
        if (slice_eq(w->members.items[i - 1]->client, client)) return true;
    return false;
}

static void take_members(struct job *j, struct watch *w, const struct reply *r, struct watched_group *g)
{
    struct consumer_connections c;
    if (!job_read(j, r, &consumer_connections_bean, &c)) return;
    for (size_t i = 0; i < c.connections.count; i++) {
        if (has_member(w, g, c.connections.items[i].client_id)) continue;
        struct watched_member **slot = arena_list_add(job_arena(j), (void **)&w->members.items, &w->members.count, sizeof *slot), *m = job_take(j, sizeof *m);
        if (!slot) return;
        *m = (struct watched_member){.group = g, .client = c.connections.items[i].client_id};
        *slot = m;
        g->members++;
        ask_member(j, &r->broker, m);
    }
}

static bool knows_topic(const struct watch *w, struct slice topic)
{
    for (size_t i = 0; i < w->topics.count; i++)
        if (slice_eq(w->topics.items[i], topic)) return true;
    return false;
}

static void take_progress(struct job *j, struct watch *w, const struct reply *r, struct watched_group *g)
{
    struct consume_stats s;
    if (!job_read(j, r, &consume_stats_bean, &s)) return;
    for (size_t i = 0; i < s.queues.count; i++) {
        struct slice topic = s.queues.items[i].queue.topic, *known = NULL;
        struct watched_queue *q = arena_list_add(job_arena(j), (void **)&w->queues.items, &w->queues.count, sizeof *q);
        if (q) *q = (struct watched_queue){g, s.queues.items[i]};
        if (!knows_topic(w, topic)) known = arena_list_add(job_arena(j), (void **)&w->topics.items, &w->topics.count, sizeof *known);
        if (!known) continue;
        *known = topic;
        ask_ends(j, topic);
    }
}

/* Those of one group stand together: members of each broker, then progress of each. A broker that has nothing of a group says so. */
static void on_groups(struct job *j)
{
    struct watch *w = j->state;
    struct replies told = j->replies;
    size_t brokers = j->brokers.list.count;
    for (size_t i = 0; i < told.list.count; i++) {
        const struct reply *r = told.list.items[i];
        struct watched_group *g = (struct watched_group *)r->tag;
        if (r->code == ERR_NOT_ONLINE || r->code == ERR_GROUP_NOT_FOUND || r->code == ERR_TOPIC_NOT_FOUND) continue;
        if (i % (2 * brokers) < brokers) take_members(j, w, r, g);
        else take_progress(j, w, r, g);
    }
    job_wait(j, on_details);
}

static void ask_group(struct job *j, const struct watched_group *g)
{
    struct consumer_connections_header *c = job_take(j, sizeof *c);
    struct consume_stats_header *s = job_take(j, sizeof *s);
    *c = (struct consumer_connections_header){.consumer_group = g->name};
    *s = (struct consume_stats_header){.consumer_group = g->name};
    struct request members = {.code = REQUEST_GET_CONSUMER_CONNECTION_LIST, .kind = &consumer_connections_kind, .header = c};
    struct request progress = {.code = REQUEST_GET_CONSUME_STATS, .kind = &consume_stats_kind, .header = s};
    for (size_t i = 0; i < j->brokers.list.count; i++) job_ask(j, &j->brokers.list.items[i].broker, &members, g);
    for (size_t i = 0; i < j->brokers.list.count; i++) job_ask(j, &j->brokers.list.items[i].broker, &progress, g);
}

static void ask_groups(struct job *j)
{
    const struct watch *w = j->state;
    for (size_t i = 0; i < w->groups.count; i++) ask_group(j, w->groups.items[i]);
    job_wait(j, on_groups);
}

/* Groups are those with a retry topic. */
static void on_topics(struct job *j)
{
    struct watch *w = job_take(j, sizeof *w);
    struct topic_list list = {.topics = {NULL, 0}};
    err_t e = bean_decode(&topic_list_bean, j->replies.list.items[0]->body, job_arena(j), "topic list", &list);
    j->state = w;
    for (size_t i = 0; !e && i < list.topics.count; i++) {
        if (!slice_starts(list.topics.items[i], SLICE("%RETRY%"))) continue;
        struct watched_group **slot = arena_list_add(job_arena(j), (void **)&w->groups.items, &w->groups.count, sizeof *slot), *g = job_take(j, sizeof *g);
        if (!slot) break;
        g->name = slice_skip(list.topics.items[i], 7);
        *slot = g;
    }
    if (e) job_fail(j, e);
    else job_brokers(j, ask_groups);
}

static void watch_groups(struct job *j)
{
    struct request r = {.code = REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER};
    job_ask_a_name(j, &r, ERR_NONE, on_topics);
}

static const struct param params[] = {
    PARAM_INTERVAL(NULL, "seconds between two rounds (default 60)"),
    PARAM_ROUNDS,
    {.name = NULL},
};

const struct command monitor_commands[] = {
    {.name = "startMonitoring", .params = params, .start = watch_groups, .timeout_ms = ROUND_TIMEOUT_MS, .interval_s = ROUND_S,
     .summary = "looks at all groups each minute: what waits, and which members do not get on",
     .help = "Looks at all groups that have a retry topic, again and again until it is interrupted: how much waits for each of them and how long (undone),\n"
             "and members that subscribe to other things than the rest, get no lock, or consume nothing though they have messages (findings).\n"
             "With --json each round is one document on its line.\n\n"
             "Example:\n  skylark admin startMonitoring --interval 10 --json | tee monitoring.jsonl\n"},
    {.name = NULL},
};
