/* What brokers are told to do: cleaning, permissions, cold reads, replicas. */
#include "admin/broker/broker.h"

static void on_done(struct job *j) { broker_end_changes(j, "done"); }

static void ask_code(struct job *j, int32_t code)
{
    struct request r = {.code = code};
    job_ask_all(j, &r, on_done);
}

static void ask_clean_queues(struct job *j) { ask_code(j, REQUEST_CLEAN_EXPIRED_CONSUMEQUEUE); }
static void ask_clean_topics(struct job *j) { ask_code(j, REQUEST_CLEAN_UNUSED_TOPIC); }
static void ask_delete_log(struct job *j) { ask_code(j, REQUEST_DELETE_EXPIRED_COMMITLOG); }
static void clean_queues(struct job *j) { job_brokers(j, ask_clean_queues); }
static void clean_topics(struct job *j) { job_brokers(j, ask_clean_topics); }
static void delete_log(struct job *j) { job_brokers(j, ask_delete_log); }

static const struct param clean_params[] = {
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "this broker"},
    {"cluster", "c", PARAM_VALUE, "CLUSTER", "all masters of this cluster (else all there are)"},
    {.name = NULL},
};

/* --- permission to write, at the name servers --- */

static const struct column perm_columns[] = {{"namesrvAddr", CELL_TEXT}, {"topics", CELL_NUMBER}};

static void on_perm(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "nameServers", perm_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        const struct wipe_perm_reply_header *h = all.list.items[i]->heard.header;   /* that of 327 is alike */
        if (!job_good(j, all.list.items[i]) || !h) continue;
        row_text(t, all.list.items[i]->broker.address);
        row_number(t, h->wipe_topic_count);
    }
    job_end_with(j, &all);
}

static void change_perm(struct job *j, int32_t code, const struct header_kind *kind, const struct header_kind *heard)
{
    struct wipe_perm_header *h = job_take(j, sizeof *h);   /* that of 327 is alike */
    h->broker_name = slice_trim(job_param(j, "brokerName"));
    struct request r = {.code = code, .kind = kind, .header = h, .heard_kind = heard};
    job_ask_names(j, &r);
    job_wait(j, on_perm);
}

_Static_assert(sizeof(struct wipe_perm_header) == sizeof(struct add_perm_header) &&
               offsetof(struct wipe_perm_header, broker_name) == offsetof(struct add_perm_header, broker_name) &&
               offsetof(struct wipe_perm_reply_header, wipe_topic_count) == offsetof(struct add_perm_reply_header,
                                                                                     add_topic_count), "they are alike");

static void wipe_perm(struct job *j) { change_perm(j, REQUEST_WIPE_WRITE_PERM_OF_BROKER, &wipe_perm_kind, &wipe_perm_reply_kind); }
static void add_perm(struct job *j) { change_perm(j, REQUEST_ADD_WRITE_PERM_OF_BROKER, &add_perm_kind, &add_perm_reply_kind); }

static const struct param perm_params[] = {{"brokerName", "b", PARAM_NEEDED, "NAME", "the broker's name"}, {.name = NULL}};

/* --- replicas --- */

static void ask_flush_offset(struct job *j)
{
    struct request r = {.code = REQUEST_RESET_MASTER_FLUSH_OFFSET, .kind = &reset_flush_offset_kind, .header = j->state};
    job_ask_all(j, &r, on_done);
}

static void reset_flush_offset(struct job *j)
{
    struct reset_flush_offset_header *h = job_take(j, sizeof *h);
    err_t e = param_i64(j->params, "offset", 0, &h->master_flush_offset);
    if (!e && (!param_has(j->params, "brokerAddr") || !param_has(j->params, "offset")))
        e = err_new(ERR_USAGE, "it needs -b ADDR and -o OFFSET");
    j->state = h;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_flush_offset);
}

static const struct param flush_params[] = {
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "the follower"},
    {"offset", "o", PARAM_VALUE, "N", "up to where its master has the log on disk"},
    {.name = NULL},
};

static const struct column epoch_columns[] = {{"brokerName", CELL_TEXT}, {"brokerAddr", CELL_TEXT}, {"epochs", CELL_TEXT}};

static void on_epochs(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", epoch_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        if (!job_good(j, all.list.items[i])) continue;
        row_text(t, all.list.items[i]->broker.name);
        row_text(t, all.list.items[i]->broker.address);
        row_text(t, all.list.items[i]->body);
    }
    if (!table_rows(t)) j->failures = (struct admin_failures){.list = {NULL, 0}};   /* the error of one is told for all */
    job_end_with(j, &all);
}

/* A broker that was named by its name. */
static void ask_epochs(struct job *j)
{
    struct slice name = slice_trim(job_param(j, "brokerName"));
    struct request r = {.code = REQUEST_GET_BROKER_EPOCH_CACHE};
    size_t asked = 0;
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        if (name.n && !slice_eq(name, j->brokers.list.items[i].broker.name)) continue;
        job_ask(j, &j->brokers.list.items[i].broker, &r, NULL);
        asked++;
    }
    if (asked) job_wait(j, on_epochs);
    else job_fail(j, err_new(ERR_NOT_FOUND, "there is no broker \"%.*s\"; 'skylark admin cluster status' shows those there are",
                             SLICE_ARG(name)));
}

static void broker_epochs(struct job *j) { job_all_brokers(j, ask_epochs); }

static const struct param epoch_params[] = {
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "all brokers of this cluster"},
    {"brokerName", "b", PARAM_VALUE, "NAME", "those of this name"},
    PARAM_INTERVAL("i", "again after so many seconds, until it is interrupted"),
    PARAM_ROUNDS,
    {.name = NULL},
};

/* --- cold reads --- */

static const struct column cold_columns[] = {{"brokerName", CELL_TEXT}, {"brokerAddr", CELL_TEXT}, {"coldData", CELL_TEXT}};

static void on_cold(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", cold_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        if (!job_good(j, all.list.items[i])) continue;
        row_text(t, all.list.items[i]->broker.name);
        row_text(t, all.list.items[i]->broker.address);
        row_text(t, all.list.items[i]->body);
    }
    job_end_with(j, &all);
}

static void ask_cold(struct job *j)
{
    struct request r = {.code = REQUEST_GET_COLD_DATA_FLOW_CTR_INFO};
    job_ask_all(j, &r, on_cold);
}

static void cold_info(struct job *j) { job_brokers(j, ask_cold); }

static void ask_body(struct job *j, int32_t code, struct slice body)
{
    struct request r = {.code = code, .body = body};
    job_ask_all(j, &r, on_done);
}

static void ask_set_cold(struct job *j)
{
    ask_body(j, REQUEST_UPDATE_COLD_DATA_FLOW_CTR_CONFIG,
             job_text(j, "%.*s=%.*s\n", SLICE_ARG(slice_trim(job_param(j, "consumerGroup"))),
                      SLICE_ARG(slice_trim(job_param(j, "threshold")))));
}

static void ask_remove_cold(struct job *j) { ask_body(j, REQUEST_REMOVE_COLD_DATA_FLOW_CTR_CONFIG,
                                                      slice_trim(job_param(j, "consumerGroup"))); }
static void set_cold(struct job *j) { job_brokers(j, ask_set_cold); }
static void remove_cold(struct job *j) { job_brokers(j, ask_remove_cold); }

static void ask_read_mode(struct job *j)
{
    struct request r = {.code = REQUEST_SET_COMMITLOG_READ_MODE, .kind = &read_mode_kind, .header = j->state};
    job_ask_all(j, &r, on_done);
}

static void set_read_mode(struct job *j)
{
    struct read_mode_header *h = job_take(j, sizeof *h);
    err_t e = param_i32(j->params, "commitLogReadAheadMode", 0, &h->mode);
    j->state = h;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_read_mode);
}

static const struct param cold_params[] = {BROKER_OR_CLUSTER, {.name = NULL}};
static const struct param set_cold_params[] = {
    BROKER_OR_CLUSTER,
    {"consumerGroup", "g", PARAM_NEEDED, "GROUP", "the group"},
    {"threshold", "v", PARAM_NEEDED, "BYTES", "that it may have read from the disk in a second"},
    {.name = NULL},
};
static const struct param remove_cold_params[] = {BROKER_OR_CLUSTER, {"consumerGroup", "g", PARAM_NEEDED, "GROUP", "the group"},
                                                  {.name = NULL}};
static const struct param mode_params[] = {
    BROKER_OR_CLUSTER,
    {"commitLogReadAheadMode", "m", PARAM_NEEDED, "0|1", "0 reads ahead, 1 does not; Skylark reads by need, whatever is set"},
    {.name = NULL},
};

const struct command broker_care_commands[] = {
    {.name = "cleanExpiredCQ", .params = clean_params, .start = clean_queues, .summary = "deletes queue entries whose messages are gone"},
    {.name = "cleanUnusedTopic", .params = clean_params, .start = clean_topics,
     .summary = "deletes the queues of topics that are not there"},
    {.name = "deleteExpiredCommitLog", .params = clean_params, .start = delete_log,
     .summary = "deletes files of the log that are old enough, now"},
    {.name = "wipeWritePerm", .params = perm_params, .start = wipe_perm,
     .summary = "no client writes to a broker any more: name servers take the permission away"},
    {.name = "addWritePerm", .params = perm_params, .start = add_perm, .summary = "gives the permission to write to a broker back"},
    {.name = "resetMasterFlushOffset", .params = flush_params, .start = reset_flush_offset,
     .summary = "tells a follower up to where its master is on disk"},
    {.name = "getBrokerEpoch", .params = epoch_params, .start = broker_epochs, .summary = "the epochs of brokers that a controller rules"},
    {.name = "getColdDataFlowCtrInfo", .params = cold_params, .one_of = "brokerAddr|clusterName", .start = cold_info,
     .summary = "what groups have read from the disk, and how much they may"},
    {.name = "updateColdDataFlowCtrGroupConfig", .params = set_cold_params, .one_of = "brokerAddr|clusterName", .start = set_cold,
     .summary = "limits what a group may have read from the disk"},
    {.name = "removeColdDataFlowCtrGroupConfig", .params = remove_cold_params, .one_of = "brokerAddr|clusterName", .start = remove_cold,
     .summary = "lifts a group's own limit of cold reads"},
    {.name = "setCommitLogReadAheadMode", .params = mode_params, .one_of = "brokerAddr|clusterName", .start = set_read_mode,
     .summary = "how the original reads its log ahead"},
    {.name = NULL},
};
