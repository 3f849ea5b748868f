/* How brokers are doing: clusterList, brokerStatus, brokerConsumeStats, haStatus, getBrokerEpoch, cluster status. */
#include "admin/broker/broker.h"

#include "codec/body_ha.h"
#include "codec/body_progress.h"

#include <stdlib.h>

enum { MS_A_HOUR = 3600000 };

/* --- the cluster --- */

static const struct column cluster_columns[] = {
    {"clusterName", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"brokerId", CELL_NUMBER}, {"brokerAddr", CELL_TEXT}, {"version", CELL_TEXT},
    {"inTPS", CELL_RATE}, {"outTPS", CELL_RATE}, {"timerReadBehind", CELL_TEXT}, {"timerOffsetBehind", CELL_TEXT},
    {"timerCongestNum", CELL_TEXT},
    {"pageCacheLockTimeMills", CELL_TEXT}, {"hours", CELL_RATE}, {"commitLogDiskRatio", CELL_TEXT}, {"brokerActive", CELL_TEXT},
};
static const struct column total_columns[] = {
    {"clusterName", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"inTotalYest", CELL_NUMBER}, {"outTotalYest", CELL_NUMBER},
    {"inTotalToday", CELL_NUMBER}, {"outTotalToday", CELL_NUMBER},
};

double kv_rate(const struct kv_table *t, const char *key)
{
    char copy[40];
    struct slice rest = kv_value(t, key), first = rest;
    slice_split(&rest, ' ', &first);
    if (!first.n || first.n >= sizeof copy) return 0;
    memcpy(copy, first.p, first.n);
    copy[first.n] = 0;
    return strtod(copy, NULL);
}

int64_t kv_number(const struct kv_table *t, const char *key)
{
    int64_t n = 0;
    struct slice text = kv_value(t, key);
    return text.p && slice_to_i64(text, &n) ? n : 0;
}

static void put_broker(struct job *j, struct table *t, const struct member *m, const struct kv_table *kv)
{
    int64_t earliest = kv_number(kv, "earliestMessageTimeStamp");
    row_text(t, m->broker.cluster);
    row_text(t, m->broker.name);
    row_number(t, m->id);
    row_text(t, m->broker.address);
    row_text(t, kv_value(kv, "brokerVersionDesc"));
    row_rate(t, kv_rate(kv, "putTps"));
    row_rate(t, kv_rate(kv, "getTransferredTps"));
    row_text(t, kv_value(kv, "timerReadBehind"));
    row_text(t, kv_value(kv, "timerOffsetBehind"));
    row_text(t, kv_value(kv, "timerCongestNum"));
    row_text(t, kv_value(kv, "pageCacheLockTimeMills"));
    row_rate(t, earliest > 0 ? (double)(j->now_ms - earliest) / MS_A_HOUR : 0);
    row_text(t, kv_value(kv, "commitLogDiskRatio"));
    row_text(t, kv_value(kv, "brokerActive"));
}

static void put_totals(struct table *t, const struct member *m, const struct kv_table *kv)
{
    row_text(t, m->broker.cluster);
    row_text(t, m->broker.name);
    row_number(t, kv_number(kv, "msgPutTotalTodayMorning") - kv_number(kv, "msgPutTotalYesterdayMorning"));
    row_number(t, kv_number(kv, "msgGetTotalTodayMorning") - kv_number(kv, "msgGetTotalYesterdayMorning"));
    row_number(t, kv_number(kv, "msgPutTotalTodayNow") - kv_number(kv, "msgPutTotalTodayMorning"));
    row_number(t, kv_number(kv, "msgGetTotalTodayNow") - kv_number(kv, "msgGetTotalTodayMorning"));
}

static void on_runtime(struct job *j)
{
    bool totals = param_has(j->params, "moreStats");
    struct table *t = totals ? OUTCOME_TABLE(&j->outcome, "brokers", total_columns) : OUTCOME_TABLE(&j->outcome, "brokers",
        cluster_columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct kv_table kv;
        if (!job_read(j, r, &kv_table_bean, &kv)) continue;
        if (totals) put_totals(t, r->tag, &kv);
        else put_broker(j, t, r->tag, &kv);
    }
    table_sort(t, 3);
    job_end_with(j, &j->replies);
}

static void ask_runtime_then(struct job *j, job_phase *next)
{
    struct request r = {.code = REQUEST_GET_BROKER_RUNTIME_INFO};
    job_ask_all(j, &r, next);
}

static void ask_runtime(struct job *j) { ask_runtime_then(j, on_runtime); }

static void cluster_list(struct job *j) { job_all_brokers(j, ask_runtime); }

static const struct param cluster_params[] = {
    {"moreStats", "m", PARAM_SWITCH, NULL, "messages of yesterday and today instead"},
    PARAM_INTERVAL("i", "again after so many seconds, until it is interrupted"),
    PARAM_ROUNDS,
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "of this cluster alone"},
    {.name = NULL},
};
static const struct param short_params[] = {
    {"moreStats", NULL, PARAM_SWITCH, NULL, "messages of yesterday and today instead"},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "of this cluster alone"},
    {.name = NULL},
};

/* --- all that a broker says of itself --- */

static const struct column status_columns[] = {{"brokerAddr", CELL_TEXT}, {"key", CELL_TEXT}, {"value", CELL_TEXT}};

static void on_status(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "runtime", status_columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct kv_table kv;
        if (!job_read(j, r, &kv_table_bean, &kv)) continue;
        for (size_t k = 0; k < kv.pairs.count; k++) {
            row_text(t, r->broker.address);
            row_text(t, kv.pairs.items[k].key);
            row_text(t, kv.pairs.items[k].value);
        }
    }
    table_sort(t, 2);
    job_end_with(j, &j->replies);
}

static void ask_status(struct job *j) { ask_runtime_then(j, on_status); }
static void broker_status(struct job *j) { job_brokers(j, ask_status); }

static const struct param status_params[] = {BROKER_OR_CLUSTER, {.name = NULL}};

/* --- how far all groups of a broker are --- */

static const struct column progress_columns[] = {
    {"topic", CELL_TEXT}, {"group", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"brokerOffset", CELL_NUMBER},
    {"consumerOffset", CELL_NUMBER}, {"diff", CELL_NUMBER}, {"lastTimestamp", CELL_TIME},
};

static void put_queue(struct table *t, struct slice group, const struct consume_offsets *q)
{
    row_text(t, q->queue.topic);
    row_text(t, group);
    row_text(t, q->queue.broker);
    row_number(t, q->queue.queue_id);
    row_number(t, q->broker_offset);
    row_number(t, q->consumer_offset);
    row_number(t, q->broker_offset - q->consumer_offset);
    row_time(t, q->last_ms);
}

static void put_group(struct table *t, const struct group_progress *g, int64_t level)
{
    for (size_t i = 0; i < g->topics.count; i++)
        for (size_t k = 0; k < g->topics.items[i].queues.count; k++) {
            const struct consume_offsets *q = &g->topics.items[i].queues.items[k];
            if (q->broker_offset - q->consumer_offset >= level && q->last_ms) put_queue(t, g->group, q);
        }
}

static void on_progress(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "queues", progress_columns);
    const int64_t *level = j->state;
    int64_t lag = 0;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct broker_progress p;
        if (!job_read(j, j->replies.list.items[i], &broker_progress_bean, &p)) continue;
        for (size_t k = 0; k < p.groups.count; k++) put_group(t, &p.groups.items[k], *level);
        lag += p.lag;
    }
    table_sort(t, 4);
    outcome_number(&j->outcome, "diffTotal", lag);
    job_end_with(j, &j->replies);
}

static void ask_progress(struct job *j)
{
    struct broker_consume_stats_header *h = job_take(j, sizeof *h);
    struct request r = {.code = REQUEST_GET_BROKER_CONSUME_STATS, .kind = &broker_consume_stats_kind, .header = h};
    err_t e = param_bool(j->params, "order", false, &h->is_order);
    if (e) job_fail(j, e);
    else job_ask_all(j, &r, on_progress);
}

static void broker_consume_stats(struct job *j)
{
    int64_t *level = job_take(j, sizeof *level);
    err_t e = param_i64(j->params, "level", 0, level);
    j->state = level;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_progress);
}

static const struct param consume_params[] = {
    {"brokerAddr", "b", PARAM_NEEDED, "ADDR", "the broker"},
    {"timeoutMillis", "t", PARAM_VALUE, "MS", "is taken; --timeout is what counts"},
    {"level", "l", PARAM_VALUE, "N", "queues that are at least so far behind (default 0)"},
    {"order", "o", PARAM_VALUE, "BOOL", "topics in order alone (default false)"},
    {.name = NULL},
};

/* --- replicas --- */

static const struct column follower_columns[] = {
    {"masterAddr", CELL_TEXT}, {"slaveAddr", CELL_TEXT}, {"slaveAckOffset", CELL_NUMBER}, {"diff", CELL_NUMBER},
    {"transferredByteInSecond", CELL_NUMBER},
    {"inSync", CELL_FLAG}, {"transferFromWhere", CELL_NUMBER},
};
static const struct column master_columns[] = {
    {"brokerName", CELL_TEXT}, {"brokerAddr", CELL_TEXT}, {"master", CELL_FLAG}, {"masterCommitLogMaxOffset", CELL_NUMBER},
    {"slaveNum", CELL_NUMBER},
    {"inSyncSlaveNums", CELL_NUMBER},
};

static void put_followers(struct table *t, const struct reply *r, const struct ha_status *s)
{
    for (size_t k = 0; k < s->connections.count; k++) {
        const struct ha_connection *c = &s->connections.items[k];
        row_text(t, r->broker.address);
        row_text(t, c->address);
        row_number(t, c->ack_offset);
        row_number(t, c->diff);
        row_number(t, c->bytes_per_second);
        row_flag(t, c->in_sync);
        row_number(t, c->from_offset);
    }
}

static void on_replicas(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", master_columns), *followers = OUTCOME_TABLE(&j->outcome, "slaves",
        follower_columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct ha_status s;
        if (!job_read(j, r, &ha_status_bean, &s)) continue;
        row_text(t, r->broker.name);
        row_text(t, r->broker.address);
        row_flag(t, s.master);
        row_number(t, s.log_max_offset);
        row_number(t, (int64_t)s.connections.count);
        row_number(t, s.in_sync);
        put_followers(followers, r, &s);
    }
    job_end_with(j, &j->replies);
}

static void ask_replicas(struct job *j)
{
    struct request r = {.code = REQUEST_GET_BROKER_HA_STATUS};
    job_ask_all(j, &r, on_replicas);
}

static void ha_status(struct job *j) { job_all_brokers(j, ask_replicas); }

static const struct param ha_params[] = {
    BROKER_OR_CLUSTER,
    PARAM_INTERVAL("i", "again after so many seconds, until it is interrupted"),
    PARAM_ROUNDS,
    {.name = NULL},
};

const struct command broker_status_commands[] = {
    {.name = "cluster status", .params = short_params, .start = cluster_list,
     .summary = "all brokers, what they take and give, how full their disks are"},
    {.name = "clusterList", .params = cluster_params, .start = cluster_list,
     .summary = "all brokers, what they take and give, how full their disks are"},
    {.name = "brokerStatus", .params = status_params, .one_of = "brokerAddr|clusterName", .start = broker_status,
     .summary = "all that a broker says of itself"},
    {.name = "brokerConsumeStats", .params = consume_params, .start = broker_consume_stats,
     .summary = "how far all groups of a broker are"},
    {.name = "haStatus", .params = ha_params, .start = ha_status, .summary = "who follows a master, and how closely"},
    {.name = NULL},
};
