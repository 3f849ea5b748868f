/* Settings of brokers and name servers: getBrokerConfig, updateBrokerConfig, getNamesrvConfig, updateNamesrvConfig, the key-value table,
 * broker config get | set | diff. */
#include "admin/broker/broker.h"

#include "base/properties_file.h"

#include <stdlib.h>

static const struct column config_columns[] = {{"brokerAddr", CELL_TEXT}, {"key", CELL_TEXT}, {"value", CELL_TEXT}};
static const struct column names_columns[] = {{"namesrvAddr", CELL_TEXT}, {"key", CELL_TEXT}, {"value", CELL_TEXT}};

/* --- get --- */

static void keep_key(struct table *t, struct slice key)
{
    size_t n = 0;
    for (size_t row = 0; row < table_rows(t); row++) {
        if (!slice_eq(t->cells.items[row * t->width + 1].text, key)) continue;
        memmove(&t->cells.items[n++ * t->width], &t->cells.items[row * t->width], t->width * sizeof *t->cells.items);
    }
    t->cells.count = n * t->width;
}

/* Keeps those keys of which two brokers have different values, or one has none. Rows are sorted by key and value. */
static void keep_different(struct table *t, size_t brokers)
{
    size_t rows = table_rows(t), n = 0;
    for (size_t from = 0, to; from < rows; from = to) {
        bool same = true;
        const struct cell *first = &t->cells.items[from * t->width];
        for (to = from; to < rows && slice_eq(t->cells.items[to * t->width + 1].text, first[1].text); to++)
            same &= slice_eq(t->cells.items[to * t->width + 2].text, first[2].text);
        if (same && to - from == brokers) continue;
        memmove(&t->cells.items[n * t->width], first, (to - from) * t->width * sizeof *first);
        n += to - from;
    }
    t->cells.count = n * t->width;
}

static int by_key(const void *a, const void *b)
{
    const struct cell *x = a, *y = b;
    int order = slice_compare(x[1].text, y[1].text);
    return order ? order : slice_compare(x[0].text, y[0].text);
}

/* What a broker has of its own by its nature. */
static bool is_its_own(struct slice key)
{
    static const char *const own[] = {"brokerName", "brokerId", "brokerIP1", "brokerIP2", "listenPort", "haListenPort", "storePathRootDir",
                                      "storePathCommitLog"};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (slice_eq(key, slice_text(own[i]))) return true;
    return false;
}

static void drop_own(struct table *t)
{
    size_t n = 0;
    for (size_t row = 0; row < table_rows(t); row++) {
        if (is_its_own(t->cells.items[row * t->width + 1].text)) continue;
        memmove(&t->cells.items[n++ * t->width], &t->cells.items[row * t->width], t->width * sizeof *t->cells.items);
    }
    t->cells.count = n * t->width;
}

static struct table *read_configs(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "config", config_columns);
    for (size_t i = 0; i < j->replies.list.count; i++)
        if (job_good(j, j->replies.list.items[i]))
            broker_put_properties(j, t, j->replies.list.items[i]->broker.address, j->replies.list.items[i]->body);
    return t;
}

static void on_config(struct job *j)
{
    struct slice key = slice_trim(job_param(j, "key"));
    struct table *t = read_configs(j);
    if (key.n) keep_key(t, key);
    table_sort(t, 2);
    if (key.n && !table_rows(t) && !j->failures.list.count) {
        job_fail(j, err_new(ERR_NOT_FOUND, "no broker has a key \"%.*s\"; 'skylark admin broker config get' shows those there are",
                            SLICE_ARG(key)));
        return;
    }
    job_end_with(j, &j->replies);
}

static void on_diff(struct job *j)
{
    struct table *t = read_configs(j);
    drop_own(t);
    if (t->cells.count) qsort(t->cells.items, table_rows(t), t->width * sizeof *t->cells.items, by_key);
    keep_different(t, j->replies.list.count - j->failures.list.count);
    j->bad = table_rows(t) > 0;
    if (!j->bad) outcome_line(&j->outcome, "%zu brokers have the same settings", j->replies.list.count - j->failures.list.count);
    job_end_with(j, &j->replies);
}

static void ask_config(struct job *j)
{
    struct request r = {.code = REQUEST_GET_BROKER_CONFIG};
    job_ask_all(j, &r, on_config);
}

static void ask_diff(struct job *j)
{
    struct request r = {.code = REQUEST_GET_BROKER_CONFIG};
    job_ask_all(j, &r, on_diff);
}

static void get_config(struct job *j) { job_all_brokers(j, ask_config); }
static void diff_config(struct job *j) { job_all_brokers(j, ask_diff); }

static const struct param get_params[] = {BROKER_OR_CLUSTER, {.name = NULL}};
static const struct param short_get_params[] = {
    {"key", NULL, PARAM_MORE, "KEY", NULL},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "of its brokers alone"},
    {.name = NULL},
};
static const struct param diff_params[] = {{"cluster", NULL, PARAM_VALUE, "CLUSTER", "of its brokers alone"}, {.name = NULL}};

/* --- set --- */

static void on_set(struct job *j) { broker_end_changes(j, "it is set"); }

static void ask_set(struct job *j)
{
    struct request r = {.code = REQUEST_UPDATE_BROKER_CONFIG, .body = broker_property_line(j)};
    job_ask_all(j, &r, on_set);
}

static void set_config(struct job *j)
{
    bool all = false;
    err_t e = param_bool(j->params, "updateAllBroker", false, &all);
    if (e) job_fail(j, e);
    else if (all) job_all_brokers(j, ask_set);
    else job_brokers(j, ask_set);
}

static const struct param set_params[] = {
    BROKER_OR_CLUSTER,
    {"updateAllBroker", "a", PARAM_VALUE, "BOOL", "with -c, also on slaves"},
    {"key", "k", PARAM_NEEDED, "KEY", "the setting"},
    {"value", "v", PARAM_NEEDED, "VALUE", "its value"},
    {.name = NULL},
};
static const struct param short_set_params[] = {
    {"key", NULL, PARAM_WORD, "KEY", NULL},
    {"value", NULL, PARAM_WORD, "VALUE", NULL},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "on its masters alone (else on all there are)"},
    {.name = NULL},
};

/* --- name servers --- */

static void on_names_config(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "config", names_columns);
    for (size_t i = 0; i < j->replies.list.count; i++)
        if (job_good(j, j->replies.list.items[i]))
            broker_put_properties(j, t, j->replies.list.items[i]->broker.address, j->replies.list.items[i]->body);
    table_sort(t, 2);
    job_end_with(j, &j->replies);
}

static void get_names_config(struct job *j)
{
    struct request r = {.code = REQUEST_GET_NAMESRV_CONFIG};
    job_ask_names(j, &r);
    job_wait(j, on_names_config);
}

static const struct column told_columns[] = {{"namesrvAddr", CELL_TEXT}};

static void on_names_told(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "nameServers", told_columns);
    for (size_t i = 0; i < all.list.count; i++)
        if (job_good(j, all.list.items[i])) row_text(t, all.list.items[i]->broker.address);
    job_end_with(j, &all);
}

static void ask_names(struct job *j, const struct request *r)
{
    job_ask_names(j, r);
    job_wait(j, on_names_told);
}

static void set_names_config(struct job *j)
{
    struct request r = {.code = REQUEST_UPDATE_NAMESRV_CONFIG, .body = broker_property_line(j)};
    ask_names(j, &r);
}

static void put_kv(struct job *j)
{
    struct put_kv_header *h = job_take(j, sizeof *h);
    *h = (struct put_kv_header){.key = slice_trim(job_param(j, "key")), .namespace = slice_trim(job_param(j, "namespace")), .value = slice_trim(job_param(j, "value"))};
    struct request r = {.code = REQUEST_PUT_KV_CONFIG, .kind = &put_kv_kind, .header = h};
    ask_names(j, &r);
}

static void delete_kv(struct job *j)
{
    struct delete_kv_header *h = job_take(j, sizeof *h);
    *h = (struct delete_kv_header){.key = slice_trim(job_param(j, "key")), .namespace = slice_trim(job_param(j, "namespace"))};
    struct request r = {.code = REQUEST_DELETE_KV_CONFIG, .kind = &delete_kv_kind, .header = h};
    ask_names(j, &r);
}

static const struct param names_set_params[] = {
    {"key", "k", PARAM_NEEDED, "KEY", "the setting"},
    {"value", "v", PARAM_NEEDED, "VALUE", "its value"},
    {.name = NULL},
};
static const struct param kv_params[] = {
    {"namespace", "s", PARAM_NEEDED, "NAMESPACE", "where the key is"},
    {"key", "k", PARAM_NEEDED, "KEY", "the key"},
    {"value", "v", PARAM_NEEDED, "VALUE", "its value"},
    {.name = NULL},
};
static const struct param delete_kv_params[] = {
    {"namespace", "s", PARAM_NEEDED, "NAMESPACE", "where the key is"},
    {"key", "k", PARAM_NEEDED, "KEY", "the key"},
    {.name = NULL},
};

const struct command broker_config_commands[] = {
    {.name = "broker config get", .params = short_get_params, .start = get_config, .summary = "the settings of brokers, or one of them"},
    {.name = "broker config set", .params = short_set_params, .start = set_config, .summary = "sets a setting on all masters",
     .help = "Sets a setting on all masters, or those of one cluster; -b names one broker. Settings that are read at the start only are refused.\n\n"
             "Example:\n  skylark admin broker config set fileReservedTime 48\n"},
    {.name = "broker config diff", .params = diff_params, .start = diff_config,
     .summary = "settings in which brokers differ; exit status 1 when there are any"},
    {.name = "getBrokerConfig", .params = get_params, .one_of = "brokerAddr|clusterName", .start = get_config,
     .summary = "the settings of brokers"},
    {.name = "updateBrokerConfig", .params = set_params, .one_of = "brokerAddr|clusterName", .start = set_config,
     .summary = "sets a setting of brokers"},
    {.name = "getNamesrvConfig", .start = get_names_config, .summary = "the settings of the name servers"},
    {.name = "updateNamesrvConfig", .params = names_set_params, .start = set_names_config, .summary = "sets a setting of the name servers"},
    {.name = "updateKvConfig", .params = kv_params, .start = put_kv, .summary = "puts a key into a namespace of the name servers"},
    {.name = "deleteKvConfig", .params = delete_kv_params, .start = delete_kv,
     .summary = "deletes a key from a namespace of the name servers"},
    {.name = NULL},
};
