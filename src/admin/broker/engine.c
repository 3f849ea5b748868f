/* What brokers keep things in: switchTimerEngine, checkRocksdbCqWriteProgress, rocksDBConfigToJson. Skylark's have no RocksDB; those of the
 * original that a cluster also has may. */
#include "admin/broker/broker.h"

enum { CHECK_FINE, CHECK_DIFFERS, CHECK_UNDER_WAY, CHECK_FAILED, DAYS_DEFAULT = 30, MS_A_DAY = 86400000 };

/* --- timers --- */

static void on_switched(struct job *j) { broker_end_changes(j, "the timer engine is switched"); }

static void ask_switch(struct job *j)
{
    struct request r = {.code = REQUEST_SWITCH_TIMER_ENGINE, .kind = &switch_timer_kind, .header = j->state};
    job_ask_all(j, &r, on_switched);
}

static void switch_timers(struct job *j)
{
    struct switch_timer_header *h = job_take(j, sizeof *h);
    *h = (struct switch_timer_header){.engine = slice_trim(job_param(j, "engineType"))};
    j->state = h;
    if (slice_eq(h->engine, SLICE("R")) || slice_eq(h->engine, SLICE("F"))) job_brokers(j, ask_switch);
    else job_fail(j, err_new(ERR_USAGE, "--engineType is F (files) or R (RocksDB), not \"%.*s\"", SLICE_ARG(h->engine)));
}

static const struct param switch_params[] = {
    BROKER_OR_CLUSTER,
    {"engineType", "e", PARAM_NEEDED, "TYPE", "F: files; R: RocksDB, which Skylark's brokers refuse"},
    {.name = NULL},
};

/* --- consume queues in RocksDB against those in files --- */

struct check_result {
    struct slice text;
    int32_t status;
};

static const struct bean_field check_rows[] = {
    {"checkResult", offsetof(struct check_result, text), &bean_text, NULL, false},
    {"checkStatus", offsetof(struct check_result, status), &bean_i32, NULL, false},
};
static const struct bean check_bean = BEAN(struct check_result, check_rows, NULL);

static const struct column check_columns[] = {{"brokerName", CELL_TEXT}, {"checkStatus", CELL_TEXT}, {"checkResult", CELL_TEXT}};

static const char *check_text(int32_t status)
{
    switch (status) {
    case CHECK_FINE: return "the same";
    case CHECK_DIFFERS: return "different";
    case CHECK_UNDER_WAY: return "under way, the result will be in the broker's log";
    case CHECK_FAILED: return "failed";
    default: return "unknown";
    }
}

static void on_checks(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", check_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        struct check_result c;
        if (!job_read(j, all.list.items[i], &check_bean, &c)) continue;
        row_text(t, all.list.items[i]->broker.name);
        row_text(t, slice_text(check_text(c.status)));
        row_text(t, c.text);
        j->bad |= c.status == CHECK_DIFFERS || c.status == CHECK_FAILED;
    }
    job_end_with(j, &all);
}

static void ask_checks(struct job *j)
{
    struct request r = {.code = REQUEST_CHECK_ROCKSDB_CQ_WRITE_PROGRESS, .kind = &check_queues_kind, .header = j->state};
    job_ask_all(j, &r, on_checks);
}

static void check_progress(struct job *j)
{
    struct check_queues_header *h = job_take(j, sizeof *h);
    struct slice topic = slice_trim(job_param(j, "topic"));
    *h = (struct check_queues_header){.topic = topic.p ? topic : SLICE("")};
    header_set(h, check_queues, check_store_time);
    err_t e = param_time(j->params, "checkFrom", j->now_ms, j->now_ms - (int64_t)DAYS_DEFAULT * MS_A_DAY, &h->check_store_time);
    j->state = h;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_checks);
}

static const struct param check_params[] = {
    {"cluster", "c", PARAM_NEEDED, "CLUSTER", "all masters of this cluster"},
    {"topic", "t", PARAM_VALUE, "TOPIC", "this topic alone"},
    {"checkFrom", "cf", PARAM_VALUE, "TIME", "messages stored from then on (default: 30 days ago)"},
    {.name = NULL},
};

/* --- settings in RocksDB --- */

static void on_exported(struct job *j) { broker_end_changes(j, "the brokers have written their config/*.json"); }

static void ask_export(struct job *j)
{
    struct request r = {.code = REQUEST_EXPORT_ROCKSDB_CONFIG_TO_JSON, .kind = &export_config_kind, .header = j->state};
    job_ask_all(j, &r, on_exported);
}

static void export_settings(struct job *j)
{
    struct export_config_header *h = job_take(j, sizeof *h);
    struct slice kinds = slice_trim(job_param(j, "configType"));
    *h = (struct export_config_header){.config_type = kinds.n ? kinds : SLICE("topics;subscriptionGroups;consumerOffsets;")};
    j->state = h;
    if (param_has(j->params, "configPath"))
        job_fail(j, err_new(ERR_NOT_SUPPORTED, "files of RocksDB cannot be read here; with -b or -c the broker that has them open writes its config/*.json"));
    else if (!param_has(j->params, "brokerAddr") && !param_has(j->params, "cluster"))
        job_fail(j, err_new(ERR_USAGE, "it needs one of brokerAddr|cluster; see 'skylark admin rocksDBConfigToJson --help'"));
    else
        job_brokers(j, ask_export);
}

static const struct param export_params[] = {
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "this broker writes them"},
    {"cluster", "c", PARAM_VALUE, "CLUSTER", "all masters of this cluster do"},
    {"configType", "t", PARAM_VALUE, "TYPES", "topics;subscriptionGroups;consumerOffsets (default: all of them)"},
    {"configPath", "p", PARAM_VALUE, "DIR", "is refused: files of RocksDB cannot be read here"},
    {"exportFile", "e", PARAM_VALUE, "FILE", "is taken: it belongs to -p"},
    {"jsonEnable", "j", PARAM_VALUE, "BOOL", "is taken: it belongs to -p"},
    {.name = NULL},
};

const struct command broker_engine_commands[] = {
    {.name = "switchTimerEngine", .params = switch_params, .one_of = "brokerAddr|clusterName", .start = switch_timers,
     .summary = "what a broker keeps messages in that wait for a time"},
    {.name = "checkRocksdbCqWriteProgress", .params = check_params, .start = check_progress,
     .summary = "has brokers of the original compare their queues in RocksDB with those in files"},
    {.name = "rocksDBConfigToJson", .params = export_params, .start = export_settings,
     .summary = "has brokers of the original write settings that are in RocksDB as JSON"},
    {.name = NULL},
};
