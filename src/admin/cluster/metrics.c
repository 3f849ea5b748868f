/* exportMetrics: numbers of the brokers of a cluster, and sums over them, as one file. The file is as mqadmin writes it. */
#include "admin/broker/broker.h"

#include "admin/group/group.h"
#include "admin/topic/topic.h"
#include "base/properties_file.h"

#include <stdlib.h>

/* What is asked of each broker; the answers stand in this order. */
enum { ASK_RUNTIME, ASK_CONFIG, ASK_GROUPS, ASK_TOPICS, ASK_SYSTEM_TOPICS, ASK_HALF, ASK_DELAYED, QUESTIONS };

struct sums {
    double in_tps, out_tps, half_tps, delayed_tps;
    int64_t in, out, half, delayed;
};

struct broker_metrics {
    struct admin_broker broker;
    bool whole;                     /* it has told what counts most */
    struct kv_table runtime;
    struct slice config;
    struct group_table groups;
    size_t topic_count, group_count;
    struct sums sums;
    BEAN_LIST(struct slice) clients;
};

struct all_metrics {
    struct broker_metrics *brokers;
    size_t count;
    struct sums sums;
};

/* --- the file --- */

static void put_number(struct json_out *w, const char *name, double v)
{
    json_put_key(w, slice_text(name));
    json_put_double(w, v);
}

static void begin_object(struct json_out *w, const char *name)
{
    json_put_key(w, slice_text(name));
    json_put_object(w);
}

static struct slice setting(struct job *j, struct slice text, const char *wanted)
{
    struct properties p;
    struct slice key, value;
    properties_file_begin(&p, text);
    while (properties_file_next(&p, job_arena(j), &key, &value))
        if (slice_eq(key, slice_text(wanted))) return value;
    return (struct slice){NULL, 0};
}

static void put_environment(struct job *j, struct json_out *w, const struct broker_metrics *b)
{
    begin_object(w, "runtimeEnv");
    json_put_member(w, "cpuNum", setting(j, b->config, "clientCallbackExecutorThreads"));
    json_put_member(w, "totalMemKBytes", kv_value(&b->runtime, "totalMemKBytes"));
    json_put_object_end(w);
}

static void put_quota(struct json_out *w, const struct broker_metrics *b)
{
    begin_object(w, "runtimeQuota");
    begin_object(w, "diskRatio");
    json_put_member(w, "commitLogDiskRatio", kv_value(&b->runtime, "commitLogDiskRatio"));
    json_put_member(w, "consumeQueueDiskRatio", kv_value(&b->runtime, "consumeQueueDiskRatio"));
    json_put_object_end(w);
    json_put_number(w, "groupSize", (int64_t)b->group_count);
    json_put_member(w, "messageAverageSize", kv_value(&b->runtime, "putMessageAverageSize"));
    begin_object(w, "oneDayNum");
    json_put_number(w, "normalOneDayInNum", b->sums.in);
    json_put_number(w, "normalOneDayOutNum", b->sums.out);
    json_put_number(w, "scheduleOneDayInNum", b->sums.delayed);
    json_put_number(w, "transOneDayInNum", b->sums.half);
    json_put_object_end(w);
    json_put_number(w, "topicSize", (int64_t)b->topic_count);
    begin_object(w, "tps");
    put_number(w, "normalInTps", b->sums.in_tps);
    put_number(w, "normalOutTps", b->sums.out_tps);
    put_number(w, "scheduleInTps", b->sums.delayed_tps);
    put_number(w, "transInTps", b->sums.half_tps);
    json_put_object_end(w);
    json_put_object_end(w);
}

static void put_versions(struct json_out *w, const struct broker_metrics *b)
{
    begin_object(w, "runtimeVersion");
    json_put_key(w, SLICE("clientInfo"));
    json_put_array(w);
    for (size_t i = 0; i < b->clients.count; i++) json_put_text(w, b->clients.items[i]);
    json_put_array_end(w);
    json_put_member(w, "rocketmqVersion", kv_value(&b->runtime, "brokerVersionDesc"));
    json_put_object_end(w);
}

/* The names of the sums of a day are those of a broker, as mqadmin has them. */
static void put_totals(struct json_out *w, const struct sums *s)
{
    begin_object(w, "totalData");
    begin_object(w, "totalOneDayNum");
    json_put_number(w, "normalOneDayInNum", s->in);
    json_put_number(w, "normalOneDayOutNum", s->out);
    json_put_number(w, "scheduleOneDayInNum", s->delayed);
    json_put_number(w, "transOneDayInNum", s->half);
    json_put_object_end(w);
    begin_object(w, "totalTps");
    put_number(w, "totalNormalInTps", s->in_tps);
    put_number(w, "totalNormalOutTps", s->out_tps);
    put_number(w, "totalScheduleInTps", s->delayed_tps);
    put_number(w, "totalTransInTps", s->half_tps);
    json_put_object_end(w);
    json_put_object_end(w);
}

static struct slice write_text(struct job *j, const struct all_metrics *all)
{
    struct buf text = BUF_EMPTY;
    struct json_out w;
    json_out_init(&w, &text, JSON_PRETTY);
    json_put_object(&w);
    begin_object(&w, "evaluateReport");
    for (size_t i = 0; i < all->count; i++) {
        const struct broker_metrics *b = &all->brokers[i];
        if (!b->whole) continue;
        json_put_key(&w, b->broker.name.p ? b->broker.name : b->broker.address);
        json_put_object(&w);
        put_environment(j, &w, b);
        put_quota(&w, b);
        put_versions(&w, b);
        json_put_object_end(&w);
    }
    json_put_object_end(&w);
    put_totals(&w, &all->sums);
    json_put_object_end(&w);
    struct slice copy = job_copy(j, buf_slice(&text));
    buf_done(&text);
    return copy;
}

static void write_file(struct job *j)
{
    const struct all_metrics *all = j->state;
    struct slice folder = slice_trim(job_param(j, "filePath")), text = write_text(j, all);
    struct slice path = job_text(j, "%.*s/metrics.json", SLICE_ARG(folder.n ? folder : SLICE("/tmp/rocketmq/export")));
    job_write_and_end(j, path, text);
}

/* --- who is connected: "JAVA%V5_3_3", each once --- */

static void add_client(struct job *j, struct broker_metrics *b, const struct connection_row *c)
{
    struct slice text = job_text(j, "%.*s%%%.*s", SLICE_ARG(c->language), SLICE_ARG(client_version_text(j, c->version)));
    for (size_t i = 0; i < b->clients.count; i++)
        if (slice_eq(b->clients.items[i], text)) return;
    struct slice *slot = arena_list_add(job_arena(j), (void **)&b->clients.items, &b->clients.count, sizeof *slot);
    if (slot) *slot = text;
}

static void on_clients(struct job *j)
{
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        struct consumer_connections c;
        if (r->code == ERR_NOT_ONLINE || !job_read(j, r, &consumer_connections_bean, &c)) continue;
        for (size_t k = 0; k < c.connections.count; k++) add_client(j, (struct broker_metrics *)r->tag, &c.connections.items[k]);
    }
    write_file(j);
}

static void ask_clients(struct job *j)
{
    const struct all_metrics *all = j->state;
    for (size_t i = 0; i < all->count; i++) {
        const struct broker_metrics *b = &all->brokers[i];
        for (size_t k = 0; k < b->groups.groups.count; k++) {
            if (group_is_internal(b->groups.groups.items[k].name)) continue;
            struct consumer_connections_header *h = job_take(j, sizeof *h);
            *h = (struct consumer_connections_header){.consumer_group = b->groups.groups.items[k].name};
            struct request r = {.code = REQUEST_GET_CONSUMER_CONNECTION_LIST, .kind = &consumer_connections_kind, .header = h};
            job_ask(j, &b->broker, &r, b);
        }
    }
    job_wait(j, on_clients);
}

/* --- numbers --- */

static bool has_text(const struct slice *items, size_t count, struct slice text)
{
    for (size_t i = 0; i < count; i++)
        if (slice_eq(items[i], text)) return true;
    return false;
}

static size_t count_topics(struct job *j, const struct reply *topics, const struct reply *internal)
{
    struct topic_table t;
    struct topic_list system = {.topics = {NULL, 0}};
    size_t n = 0;
    if (!job_read(j, topics, &topic_table_bean, &t)) return 0;
    if (!internal->code && !job_read(j, internal, &topic_list_bean, &system)) return 0;
    for (size_t i = 0; i < t.topics.count; i++) {
        struct slice name = t.topics.items[i].name;
        n += !topic_is_internal(name) && !has_text(system.topics.items, system.topics.count, name);
    }
    return n;
}

static void take_stats(struct job *j, const struct reply *r, double *tps, int64_t *day)
{
    struct broker_stats s;
    if (r->code || !job_read(j, r, &broker_stats_bean, &s)) return;   /* nothing came to that topic yet */
    *tps = s.minute.tps;
    *day = s.day.sum ? s.day.sum : s.hour.sum ? s.hour.sum : s.minute.sum;
}

static void take_broker(struct job *j, struct broker_metrics *b, struct reply *const *r)
{
    b->whole = job_read(j, r[ASK_RUNTIME], &kv_table_bean, &b->runtime);
    if (!b->whole) return;
    if (job_good(j, r[ASK_CONFIG])) b->config = r[ASK_CONFIG]->body;
    if (job_read(j, r[ASK_GROUPS], &group_table_bean, &b->groups))
        for (size_t i = 0; i < b->groups.groups.count; i++) b->group_count += !group_is_internal(b->groups.groups.items[i].name);
    b->topic_count = count_topics(j, r[ASK_TOPICS], r[ASK_SYSTEM_TOPICS]);
    b->sums.in_tps = kv_rate(&b->runtime, "putTps");
    b->sums.out_tps = kv_rate(&b->runtime, "getTransferredTps");
    b->sums.in = kv_number(&b->runtime, "msgPutTotalTodayMorning") - kv_number(&b->runtime, "msgPutTotalYesterdayMorning");
    b->sums.out = kv_number(&b->runtime, "msgGetTotalTodayMorning") - kv_number(&b->runtime, "msgGetTotalYesterdayMorning");
    take_stats(j, r[ASK_HALF], &b->sums.half_tps, &b->sums.half);
    take_stats(j, r[ASK_DELAYED], &b->sums.delayed_tps, &b->sums.delayed);
}

static void add_sums(struct sums *to, const struct sums *s)
{
    to->in_tps += s->in_tps;
    to->out_tps += s->out_tps;
    to->half_tps += s->half_tps;
    to->delayed_tps += s->delayed_tps;
    to->in += s->in;
    to->out += s->out;
    to->half += s->half;
    to->delayed += s->delayed;
}

static void on_numbers(struct job *j)
{
    struct all_metrics *all = job_take(j, sizeof *all);
    struct replies told = j->replies;
    size_t whole = 0;
    all->count = j->brokers.list.count;
    all->brokers = job_take(j, all->count * sizeof *all->brokers);
    for (size_t i = 0; i < all->count && (i + 1) * QUESTIONS <= told.list.count; i++) {
        all->brokers[i].broker = j->brokers.list.items[i].broker;
        take_broker(j, &all->brokers[i], &told.list.items[i * QUESTIONS]);
        add_sums(&all->sums, &all->brokers[i].sums);
        whole += all->brokers[i].whole;
    }
    j->state = all;
    if (whole) {
        ask_clients(j);
        return;
    }
    j->failures = (struct admin_failures){.list = {NULL, 0}};   /* the error of one is told for all */
    job_end_with(j, &told);
}

static struct view_stats_header *stats_of(struct job *j, const char *topic)
{
    struct view_stats_header *h = job_take(j, sizeof *h);
    *h = (struct view_stats_header){.stats_name = SLICE("TOPIC_PUT_NUMS"), .stats_key = slice_text(topic)};
    return h;
}

static void ask_numbers(struct job *j)
{
    struct all_topics_header *topics = job_take(j, sizeof *topics);
    struct all_groups_header *groups = job_take(j, sizeof *groups);
    const struct request questions[QUESTIONS] = {
        [ASK_RUNTIME] = {.code = REQUEST_GET_BROKER_RUNTIME_INFO},
        [ASK_CONFIG] = {.code = REQUEST_GET_BROKER_CONFIG},
        [ASK_GROUPS] = {.code = REQUEST_GET_ALL_SUBSCRIPTIONGROUP_CONFIG, .kind = &all_groups_kind, .header = groups},
        [ASK_TOPICS] = {.code = REQUEST_GET_ALL_TOPIC_CONFIG, .kind = &all_topics_kind, .header = topics},
        [ASK_SYSTEM_TOPICS] = {.code = REQUEST_GET_SYSTEM_TOPIC_LIST_FROM_BROKER},
        [ASK_HALF] = {.code = REQUEST_VIEW_BROKER_STATS_DATA, .kind = &view_stats_kind, .header = stats_of(j, "RMQ_SYS_TRANS_HALF_TOPIC")},
        [ASK_DELAYED] = {.code = REQUEST_VIEW_BROKER_STATS_DATA, .kind = &view_stats_kind, .header = stats_of(j, "SCHEDULE_TOPIC_XXXX")},
    };
    for (size_t i = 0; i < j->brokers.list.count; i++)
        for (size_t k = 0; k < QUESTIONS; k++) job_ask(j, &j->brokers.list.items[i].broker, &questions[k], NULL);
    job_wait(j, on_numbers);
}

static void export_metrics(struct job *j) { job_brokers(j, ask_numbers); }

static const struct param params[] = {
    {"clusterName", "c", PARAM_NEEDED, "CLUSTER", "of this cluster"},
    {"filePath", "f", PARAM_VALUE, "DIR", "where metrics.json is written (default /tmp/rocketmq/export)"},
    {.name = NULL},
};

const struct command export_metrics_commands[] = {
    {.name = "exportMetrics", .params = params, .start = export_metrics, .timeout_ms = 30000,
     .summary = "writes what brokers take and give, and who is connected, into a file"},
    {.name = NULL},
};
