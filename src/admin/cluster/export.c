/* What a cluster is, written into files: exportConfigs, exportMetadata, exportPopRecord, bundle. */
#include "admin/broker/broker.h"

#include "admin/group/group.h"
#include "admin/topic/topic.h"

#include "base/properties_file.h"
#include "codec/body_group_config.h"

#include <strings.h>

#define FOLDER_DEFAULT SLICE("/tmp/rocketmq/export")

static struct slice path_of(struct job *j, const char *file)
{
    struct slice folder = slice_trim(job_param(j, "filePath"));
    if (!folder.n) folder = FOLDER_DEFAULT;
    return job_text(j, "%.*s/%s", SLICE_ARG(folder), file);
}

/* --- settings --- */

static void put_properties(struct job *j, struct json_out *w, struct slice text)
{
    struct properties p;
    struct slice key, value;
    json_put_object(w);
    properties_file_begin(&p, text);
    while (properties_file_next(&p, job_arena(j), &key, &value)) json_put_member(w, (const char *)job_copy(j, key).p, value);
    json_put_object_end(w);
}

static void on_configs(struct job *j)
{
    struct buf text = BUF_EMPTY;
    struct json_out w;
    json_out_init(&w, &text, JSON_PRETTY);
    json_put_object(&w);
    json_put_key(&w, SLICE("brokerConfigs"));
    json_put_object(&w);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        if (!job_good(j, r)) continue;
        json_put_key(&w, r->broker.name.p ? r->broker.name : r->broker.address);
        put_properties(j, &w, r->body);
    }
    json_put_object_end(&w);
    json_put_object_end(&w);
    job_write_and_end(j, path_of(j, "configs.json"), job_copy(j, buf_slice(&text)));
    buf_done(&text);
}

static void ask_configs(struct job *j)
{
    struct request r = {.code = REQUEST_GET_BROKER_CONFIG};
    job_ask_all(j, &r, on_configs);
}

static void export_configs(struct job *j) { job_all_brokers(j, ask_configs); }

static const struct param config_params[] = {
    {"clusterName", "c", PARAM_NEEDED, "CLUSTER", "of this cluster"},
    {"filePath", "f", PARAM_VALUE, "DIR", "where configs.json is written (default /tmp/rocketmq/export)"},
    {.name = NULL},
};

/* --- topics and groups --- */

struct metadata {
    struct topic_table topics;
    struct group_table groups;
};

static bool has_topic(const struct metadata *m, struct slice name)
{
    for (size_t i = 0; i < m->topics.topics.count; i++)
        if (slice_eq(m->topics.topics.items[i].name, name)) return true;
    return false;
}

static bool has_group(const struct metadata *m, struct slice name)
{
    for (size_t i = 0; i < m->groups.groups.count; i++)
        if (slice_eq(m->groups.groups.items[i].name, name)) return true;
    return false;
}

/* The user's: not what a server made for itself, of which `system` are those that have its own names. */
static bool is_users(struct slice name, const struct topic_list *system, bool special)
{
    for (size_t i = 0; i < system->topics.count; i++)
        if (slice_eq(system->topics.items[i], name)) return false;
    return topic_is_of_group(name) ? special : !topic_is_internal(name);
}

static void add_topics(struct job *j, struct metadata *m, const struct topic_table *t, const struct topic_list *system)
{
    bool special = param_has(j->params, "specialTopic");
    for (size_t i = 0; i < t->topics.count; i++) {
        struct slice name = t->topics.items[i].name;
        if (has_topic(m, name) || !is_users(name, system, special)) continue;
        struct topic_config *c = arena_list_add(job_arena(j), (void **)&m->topics.topics.items, &m->topics.topics.count, sizeof *c);
        if (c) *c = t->topics.items[i];
    }
}

static void add_groups(struct job *j, struct metadata *m, const struct group_table *t)
{
    for (size_t i = 0; i < t->groups.count; i++) {
        if (has_group(m, t->groups.items[i].name) || group_is_internal(t->groups.items[i].name)) continue;
        struct group_config *c = arena_list_add(job_arena(j), (void **)&m->groups.groups.items, &m->groups.groups.count, sizeof *c);
        if (c) *c = t->groups.items[i];
    }
}

static void write_metadata(struct job *j, const struct metadata *m)
{
    struct buf text = BUF_EMPTY;
    struct json_out w;
    bool topics = !param_has(j->params, "subscriptionGroup") || param_has(j->params, "topic");
    bool groups = !param_has(j->params, "topic") || param_has(j->params, "subscriptionGroup");
    json_out_init(&w, &text, JSON_PRETTY);
    json_put_object(&w);
    json_put_number(&w, "exportTime", j->now_ms);
    if (topics) {
        json_put_key(&w, SLICE("topicConfigTable"));
        json_put_object(&w);
        for (size_t i = 0; i < m->topics.topics.count; i++) {
            json_put_key(&w, m->topics.topics.items[i].name);
            bean_write(&w, &topic_config_bean, &m->topics.topics.items[i]);
        }
        json_put_object_end(&w);
    }
    if (groups) {
        json_put_key(&w, SLICE("subscriptionGroupTable"));
        json_put_object(&w);
        for (size_t i = 0; i < m->groups.groups.count; i++) {
            json_put_key(&w, m->groups.groups.items[i].name);
            bean_write(&w, &group_config_bean, &m->groups.groups.items[i]);
        }
        json_put_object_end(&w);
    }
    json_put_object_end(&w);
    job_write_and_end(j, path_of(j, topics && groups ? "metadata.json" : topics ? "topic.json" : "subscriptionGroup.json"),
                  job_copy(j, buf_slice(&text)));
    buf_done(&text);
}

enum { ASK_SYSTEM_TOPICS, ASK_TOPICS, ASK_GROUPS, QUESTIONS };

static size_t take_metadata(struct job *j, struct metadata *m, struct reply *const *r)
{
    struct topic_table topics;
    struct group_table groups;
    struct topic_list system = {.topics = {NULL, 0}};
    bool whole = job_read(j, r[ASK_SYSTEM_TOPICS], &topic_list_bean, &system);
    size_t read = 0;
    if (whole && job_read(j, r[ASK_TOPICS], &topic_table_bean, &topics)) add_topics(j, m, &topics, &system), read++;
    if (job_read(j, r[ASK_GROUPS], &group_table_bean, &groups)) add_groups(j, m, &groups), read++;
    return read;
}

static void on_metadata(struct job *j)
{
    struct metadata *m = job_take(j, sizeof *m);
    struct replies all = j->replies;
    size_t read = 0;
    for (size_t i = 0; i + QUESTIONS <= all.list.count; i += QUESTIONS) read += take_metadata(j, m, &all.list.items[i]);
    if (read) write_metadata(j, m);
    else job_end_with(j, &all);
}

static void ask_metadata(struct job *j)
{
    struct all_topics_header *t = job_take(j, sizeof *t);
    struct all_groups_header *g = job_take(j, sizeof *g);
    struct request topics = {.code = REQUEST_GET_ALL_TOPIC_CONFIG, .kind = &all_topics_kind, .header = t};
    struct request groups = {.code = REQUEST_GET_ALL_SUBSCRIPTIONGROUP_CONFIG, .kind = &all_groups_kind, .header = g};
    struct request system = {.code = REQUEST_GET_SYSTEM_TOPIC_LIST_FROM_BROKER};
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        job_ask(j, &j->brokers.list.items[i].broker, &system, NULL);
        job_ask(j, &j->brokers.list.items[i].broker, &topics, NULL);
        job_ask(j, &j->brokers.list.items[i].broker, &groups, NULL);
    }
    job_wait(j, on_metadata);
}

static void export_metadata(struct job *j) { job_brokers(j, ask_metadata); }

static const struct param metadata_params[] = {
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "of this cluster"},
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "of this broker"},
    {"filePath", "f", PARAM_VALUE, "DIR", "where it is written (default /tmp/rocketmq/export)"},
    {"topic", "t", PARAM_SWITCH, NULL, "topics alone, into topic.json"},
    {"subscriptionGroup", "g", PARAM_SWITCH, NULL, "groups alone, into subscriptionGroup.json"},
    {"specialTopic", "s", PARAM_SWITCH, NULL, "with topics of retries and dead letters"},
    {.name = NULL},
};

/* --- records of pop: the original moves them from RocksDB to its log --- */

static void on_rolled_back(struct job *j) { broker_end_changes(j, "records of pop are in the log"); }

static void ask_rollback(struct job *j)
{
    struct request r = {.code = REQUEST_POP_ROLLBACK};
    job_ask_all(j, &r, on_rolled_back);
}

static void export_pop(struct job *j)
{
    bool dry = false;
    err_t e = param_bool(j->params, "dryRun", false, &dry);
    if (!e && dry) e = err_new(ERR_USAGE, "there is nothing to try: without it the brokers are asked, and Skylark's have nothing to move");
    if (e) job_fail(j, e);
    else job_brokers(j, ask_rollback);
}

static const struct param pop_params[] = {
    BROKER_OR_CLUSTER,
    {"dryRun", "d", PARAM_VALUE, "BOOL", "is refused"},
    {.name = NULL},
};

/* --- all that somebody needs who looks for a fault --- */

static const struct column answer_columns[] = {{"addr", CELL_TEXT}, {"what", CELL_TEXT}, {"answer", CELL_TEXT}};

static bool is_secret(struct slice line)
{
    static const char *const words[] = {"secret", "password", "accesskey", "credential", "token", "authenticationuser"};
    struct slice rest = line, key;
    if (!slice_split(&rest, '=', &key) || !rest.n) return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        for (size_t at = 0; at + strlen(words[i]) <= key.n; at++)
            if (!strncasecmp((const char *)key.p + at, words[i], strlen(words[i]))) return true;
    return false;
}

/* Settings may hold what is nobody's business. */
static struct slice without_secrets(struct job *j, struct slice text)
{
    struct buf out = BUF_EMPTY;
    struct slice rest = text, line, key;
    while (slice_split(&rest, '\n', &line)) {
        struct slice all = line;
        if (is_secret(line) && slice_split(&all, '=', &key)) buf_printf(&out, "%.*s=***\n", SLICE_ARG(key));
        else buf_printf(&out, "%.*s\n", SLICE_ARG(line));
    }
    struct slice kept = job_copy(j, buf_slice(&out));
    buf_done(&out);
    return kept;
}

static void put_answers(struct job *j)
{
    struct table *t = j->state;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        const char *what = r->tag;
        row_text(t, r->broker.address);
        row_text(t, slice_text(what));
        row_text(t, r->code ? r->text : strstr(what, "config") ? without_secrets(j, r->body) : r->body);
    }
}

static void write_bundle(struct job *j)
{
    struct buf text = BUF_EMPTY;
    struct json_out w;
    struct slice path = slice_trim(job_param(j, "file"));
    put_answers(j);
    json_out_init(&w, &text, JSON_STRICT);
    json_put_object(&w);
    outcome_write(&j->outcome, &w);
    json_put_object_end(&w);
    buf_put_u8(&text, '\n');
    outcome_init(&j->outcome, job_arena(j));
    if (!path.n) path = job_text(j, "skylark-bundle-%lld.json", (long long)j->now_ms);
    job_write_and_end(j, path, job_copy(j, buf_slice(&text)));
    buf_done(&text);
}

static void ask_all_of(struct job *j)
{
    static const struct { int32_t code; const char *what; } questions[] = {
        {REQUEST_GET_BROKER_RUNTIME_INFO, "runtime"}, {REQUEST_GET_BROKER_CONFIG, "config"}, {REQUEST_GET_ALL_CONSUMER_OFFSET, "offsets"},
        {REQUEST_GET_ALL_DELAY_OFFSET, "delay offsets"}, {REQUEST_GET_TIMER_METRICS, "timers"},
        {REQUEST_GET_ALL_PRODUCER_INFO, "producers"},
        {REQUEST_GET_BROKER_HA_STATUS, "replicas"}, {REQUEST_GET_COLD_DATA_FLOW_CTR_INFO, "cold reads"},
        {REQUEST_GET_OPEN_TRANSACTIONS, "transactions"},
    };
    struct all_topics_header *t = job_take(j, sizeof *t);
    struct all_groups_header *g = job_take(j, sizeof *g);
    struct broker_consume_stats_header *s = job_take(j, sizeof *s);
    struct request topics = {.code = REQUEST_GET_ALL_TOPIC_CONFIG, .kind = &all_topics_kind, .header = t};
    struct request groups = {.code = REQUEST_GET_ALL_SUBSCRIPTIONGROUP_CONFIG, .kind = &all_groups_kind, .header = g};
    struct request progress = {.code = REQUEST_GET_BROKER_CONSUME_STATS, .kind = &broker_consume_stats_kind, .header = s};
    put_answers(j);
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        const struct admin_broker *b = &j->brokers.list.items[i].broker;
        for (size_t k = 0; k < sizeof questions / sizeof *questions; k++) {
            struct request r = {.code = questions[k].code};
            job_ask(j, b, &r, questions[k].what);
        }
        job_ask(j, b, &topics, "topics");
        job_ask(j, b, &groups, "groups");
        job_ask(j, b, &progress, "progress");
    }
    job_wait(j, write_bundle);
}

static void on_names(struct job *j) { ask_all_of(j); }

/* Name servers: those of -n. */
static void ask_name_servers(struct job *j)
{
    static const struct { int32_t code; const char *what; } questions[] = {
        {REQUEST_GET_BROKER_CLUSTER_INFO, "cluster"}, {REQUEST_GET_NAMESRV_CONFIG, "config"},
        {REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER, "topic list"},
    };
    struct slice rest = admin_options(j->admin)->namesrv, one;
    j->state = OUTCOME_TABLE(&j->outcome, "answers", answer_columns);
    while (slice_split(&rest, ';', &one)) {
        struct admin_broker who = {.address = slice_trim(one)};
        for (size_t k = 0; who.address.n && k < sizeof questions / sizeof *questions; k++) {
            struct request r = {.code = questions[k].code};
            job_ask(j, &who, &r, questions[k].what);
        }
    }
    job_wait(j, on_names);
}

static void make_bundle(struct job *j)
{
    outcome_time(&j->outcome, "time", j->now_ms);
    job_all_brokers(j, ask_name_servers);
}

static const struct param bundle_params[] = {{"file", NULL, PARAM_MORE, "FILE", NULL}, {.name = NULL}};

const struct command export_commands[] = {
    {.name = "bundle", .params = bundle_params, .start = make_bundle, .timeout_ms = 30000,
     .summary = "all that is known of the cluster, into one file to send to who helps",
     .help = "Writes settings, topics, groups, offsets, clients and numbers of all name servers and brokers into one JSON file. Passwords and keys in\n"
             "settings are left out; no message is in it.\n\nExample:\n  skylark admin bundle cluster.json\n"},
    {.name = "exportConfigs", .params = config_params, .start = export_configs,
     .summary = "writes the settings of all brokers into a file"},
    {.name = "exportMetadata", .params = metadata_params, .one_of = "brokerAddr|clusterName", .start = export_metadata,
     .summary = "writes the user's topics and groups into a file"},
    {.name = "exportPopRecord", .params = pop_params, .one_of = "brokerAddr|clusterName", .start = export_pop,
     .summary = "has the original move records of pop from RocksDB to its log"},
    {.name = NULL},
};
