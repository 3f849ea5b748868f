/* Controllers of the original: getControllerMetaData, getControllerConfig, updateControllerConfig, getSyncStateSet, electMaster,
 * cleanBrokerMetadata. Skylark's servers are none; those that a cluster of the original has answer.
 * What changes replicas is asked of the controller that leads, which any of them knows. */
#include "admin/broker/broker.h"
#include "codec/body_replicas.h"
#include "codec/body_route.h"

/* --- all that were named: a;b --- */

/* At most so many of them; without any the job fails. */
static void ask_some(struct job *j, const struct request *r, size_t most, job_phase *next)
{
    struct slice all = slice_trim(job_param(j, "controllerAddress")), one;
    size_t asked = 0;
    while (asked < most && all.n && slice_split(&all, ';', &one)) {
        struct admin_broker who = {.address = slice_trim(one)};
        if (!who.address.n) continue;
        job_ask(j, &who, r, NULL);
        asked++;
    }
    if (asked) job_wait(j, next);
    else job_fail(j, err_new(ERR_USAGE, "-a names no controller"));
}

static void ask_controllers(struct job *j, const struct request *r, job_phase *next) { ask_some(j, r, SIZE_MAX, next); }

static const struct column config_columns[] = {{"controllerAddr", CELL_TEXT}, {"key", CELL_TEXT}, {"value", CELL_TEXT}};

static void on_config(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "config", config_columns);
    for (size_t i = 0; i < j->replies.list.count; i++)
        if (job_good(j, j->replies.list.items[i]))
            broker_put_properties(j, t, j->replies.list.items[i]->broker.address, j->replies.list.items[i]->body);
    table_sort(t, 2);
    job_end_with(j, &j->replies);
}

static void get_config(struct job *j)
{
    struct request r = {.code = REQUEST_GET_CONTROLLER_CONFIG};
    ask_controllers(j, &r, on_config);
}

static const struct column told_columns[] = {{"controllerAddr", CELL_TEXT}};

static void on_told(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "controllers", told_columns);
    for (size_t i = 0; i < all.list.count; i++)
        if (job_good(j, all.list.items[i])) row_text(t, all.list.items[i]->broker.address);
    job_end_with(j, &all);
}

static void set_config(struct job *j)
{
    struct request r = {.code = REQUEST_UPDATE_CONTROLLER_CONFIG, .body = broker_property_line(j)};
    ask_controllers(j, &r, on_told);
}

/* --- the one that leads --- */

/* The first of those that were named says who leads; its answer is j->replies' only one. */
static void ask_who_leads(struct job *j, job_phase *next)
{
    struct request r = {.code = REQUEST_CONTROLLER_GET_METADATA_INFO, .heard_kind = &controller_metadata_kind};
    ask_some(j, &r, 1, next);
}

/* NULL: the job has ended. */
static const struct controller_metadata_header *metadata(struct job *j)
{
    const struct reply *r = j->replies.list.items[0];
    if (r->code) job_end_with(j, &j->replies);
    else if (!r->heard.header) job_fail(j, err_new(ERR_BODY, "%.*s does not say what a controller says of itself", SLICE_ARG(r->broker.address)));
    else return r->heard.header;
    return NULL;
}

static void ask_leader(struct job *j, const struct request *r, job_phase *next)
{
    const struct controller_metadata_header *h = metadata(j);
    if (!h) return;
    if (!h->leader_address.n) {
        job_fail(j, err_new(ERR_NOT_FOUND, "no controller leads at this moment; 'skylark admin getControllerMetaData' shows when one does"));
        return;
    }
    struct admin_broker who = {.address = h->leader_address};
    job_ask(j, &who, r, NULL);
    job_wait(j, next);
}

static void on_metadata(struct job *j)
{
    const struct controller_metadata_header *h = metadata(j);
    if (!h) return;
    outcome_text(&j->outcome, SLICE("controllerGroup"), h->group);
    outcome_text(&j->outcome, SLICE("controllerLeaderId"), h->leader_id);
    outcome_text(&j->outcome, SLICE("controllerLeaderAddress"), h->leader_address);
    struct table *t = outcome_texts(&j->outcome, "peers");
    struct slice peers = h->peers, one;
    while (peers.n && slice_split(&peers, ';', &one))
        if (one.n) row_text(t, one);
    job_end(j);
}

static void get_metadata(struct job *j) { ask_who_leads(j, on_metadata); }

/* --- replicas in step --- */

static const struct column replica_columns[] = {
    {"brokerName", CELL_TEXT}, {"brokerId", CELL_NUMBER}, {"brokerAddr", CELL_TEXT}, {"inSync", CELL_FLAG}, {"alive", CELL_FLAG},
    {"master", CELL_FLAG},     {"masterEpoch", CELL_NUMBER}, {"syncStateSetEpoch", CELL_NUMBER},
};

static void put_replica(struct table *t, const struct replica_set *set, const struct replica *one, bool in_sync)
{
    row_text(t, set->name);
    row_number(t, one->id);
    row_text(t, one->address);
    row_flag(t, in_sync);
    row_flag(t, one->alive);
    row_flag(t, one->id == set->master_id);
    row_number(t, set->master_epoch);
    row_number(t, set->epoch);
}

static void on_replicas(struct job *j)
{
    struct replies all = j->replies;
    struct replica_sets sets;
    struct table *t = OUTCOME_TABLE(&j->outcome, "replicas", replica_columns);
    if (job_read(j, all.list.items[0], &replica_sets_bean, &sets)) {
        for (size_t i = 0; i < sets.list.count; i++) {
            const struct replica_set *set = &sets.list.items[i];
            for (size_t k = 0; k < set->in_sync.count; k++) put_replica(t, set, &set->in_sync.items[k], true);
            for (size_t k = 0; k < set->behind.count; k++) put_replica(t, set, &set->behind.items[k], false);
        }
    }
    table_sort(t, 2);
    job_end_with(j, &all);
}

/* ["a","b"] */
static struct slice names_body(struct job *j, const struct slice *names, size_t n)
{
    struct buf text = BUF_EMPTY;
    struct json_out w;
    json_out_init(&w, &text, JSON_RAW);
    json_put_array(&w);
    for (size_t i = 0; i < n; i++) json_put_text(&w, names[i]);
    json_put_array_end(&w);
    struct slice body = job_copy(j, buf_slice(&text));
    buf_done(&text);
    return body;
}

static void ask_replicas(struct job *j)
{
    ask_leader(j, &(struct request){.code = REQUEST_CONTROLLER_GET_SYNC_STATE_DATA, .body = *(const struct slice *)j->state}, on_replicas);
}

static void ask_of(struct job *j, const struct slice *names, size_t n)
{
    struct slice *body = job_take(j, sizeof *body);
    *body = names_body(j, names, n);
    j->state = body;
    ask_who_leads(j, ask_replicas);
}

static void ask_of_cluster(struct job *j)
{
    struct slice cluster = slice_trim(job_param(j, "clusterName"));
    for (size_t i = 0; i < j->cluster.clusters.count; i++) {
        const struct named_list *c = &j->cluster.clusters.items[i];
        if (!slice_eq(c->name, cluster)) continue;
        ask_of(j, c->texts.items, c->texts.count);
        return;
    }
    job_fail(j, err_new(ERR_NOT_FOUND, "there is no cluster \"%.*s\"; 'skylark admin cluster status' shows those there are", SLICE_ARG(cluster)));
}

static void get_replicas(struct job *j)
{
    struct slice name = slice_trim(job_param(j, "brokerName"));
    if (name.n) ask_of(j, &name, 1);
    else job_cluster(j, ask_of_cluster);
}

/* --- another master --- */

static const struct column member_columns[] = {{"brokerId", CELL_NUMBER}, {"brokerAddr", CELL_TEXT}};

static void on_elected(struct job *j)
{
    struct replies all = j->replies;
    const struct elect_master_reply_header *h = all.list.items[0]->heard.header;
    struct broker_group group = {.name = {NULL, 0}};
    if (!all.list.items[0]->code && h) {
        outcome_line(&j->outcome, "a master is elected");
        outcome_text(&j->outcome, SLICE("clusterName"), slice_trim(job_param(j, "clusterName")));
        outcome_text(&j->outcome, SLICE("brokerName"), slice_trim(job_param(j, "brokerName")));
        outcome_text(&j->outcome, SLICE("brokerMasterAddr"), h->master_address);
        outcome_number(&j->outcome, "masterEpoch", h->master_epoch);
        outcome_number(&j->outcome, "syncStateSetEpoch", h->sync_state_set_epoch);
        struct table *t = OUTCOME_TABLE(&j->outcome, "brokers", member_columns);
        bool known = all.list.items[0]->body.n && job_read(j, all.list.items[0], &member_group_reply_bean, &group);
        for (size_t i = 0; known && i < group.addresses.count; i++) {
            row_number(t, group.addresses.items[i].id);
            row_text(t, group.addresses.items[i].text);
        }
    }
    job_end_with(j, &all);
}

static void ask_election(struct job *j)
{
    struct request r = {.code = REQUEST_CONTROLLER_ELECT_MASTER, .kind = &elect_master_kind, .header = j->state, .heard_kind = &elect_master_reply_kind};
    ask_leader(j, &r, on_elected);
}

static void elect(struct job *j)
{
    struct elect_master_header *h = job_take(j, sizeof *h);
    *h = (struct elect_master_header){.broker_name = slice_trim(job_param(j, "brokerName")), .cluster_name = slice_trim(job_param(j, "clusterName")),
                                      .designate_elect = true, .invoke_time = j->now_ms};
    err_t e = param_i64(j->params, "brokerId", 0, &h->broker_id);
    j->state = h;
    if (e) job_fail(j, e);
    else ask_who_leads(j, ask_election);
}

/* --- brokers that are gone --- */

static void on_cleaned(struct job *j)
{
    struct replies all = j->replies;
    if (!all.list.items[0]->code) {
        outcome_line(&j->outcome, "the controller has forgotten them");
        outcome_text(&j->outcome, SLICE("brokerName"), slice_trim(job_param(j, "brokerName")));
    }
    job_end_with(j, &all);
}

static void ask_cleaning(struct job *j)
{
    struct request r = {.code = REQUEST_CLEAN_BROKER_DATA, .kind = &clean_broker_data_kind, .header = j->state};
    ask_leader(j, &r, on_cleaned);
}

/* 1;2;3 */
static err_t check_ids(struct slice ids)
{
    struct slice one;
    int64_t id;
    while (ids.n && slice_split(&ids, ';', &one))
        if (!slice_to_i64(one, &id)) return err_new(ERR_USAGE, "-b is numbers with ';' between them, not \"%.*s\"", SLICE_ARG(one));
    return NULL;
}

static void clean(struct job *j)
{
    struct clean_broker_data_header *h = job_take(j, sizeof *h);
    *h = (struct clean_broker_data_header){.ids = slice_trim(job_param(j, "brokerControllerIdsToClean")), .broker_name = slice_trim(job_param(j, "brokerName")),
                                           .cluster_name = slice_trim(job_param(j, "clusterName")), .invoke_time = j->now_ms,
                                           .living = param_has(j->params, "cleanLivingBroker")};
    err_t e = check_ids(h->ids);
    if (!e && !h->living && !h->cluster_name.n) e = err_new(ERR_USAGE, "it needs -c CLUSTER, or -l for brokers that live");
    j->state = h;
    if (e) job_fail(j, e);
    else ask_who_leads(j, ask_cleaning);
}

#define CONTROLLER {"controllerAddress", "a", PARAM_NEEDED, "ADDR[;ADDR...]", "controllers"}

static const struct param controller_params[] = {CONTROLLER, {.name = NULL}};
static const struct param set_params[] = {
    CONTROLLER,
    {"key", "k", PARAM_NEEDED, "KEY", "the setting"},
    {"value", "v", PARAM_NEEDED, "VALUE", "its value"},
    {.name = NULL},
};
static const struct param replica_params[] = {
    CONTROLLER,
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "all brokers of this cluster"},
    {"brokerName", "b", PARAM_VALUE, "NAME", "those of this name"},
    PARAM_INTERVAL("i", "again after so many seconds, until it is interrupted"),
    PARAM_ROUNDS,
    {.name = NULL},
};
static const struct param elect_params[] = {
    CONTROLLER,
    {"brokerId", "b", PARAM_NEEDED, "ID", "the id of the broker that shall be master"},
    {"brokerName", "bn", PARAM_NEEDED, "NAME", "the name of its group"},
    {"clusterName", "c", PARAM_NEEDED, "CLUSTER", "its cluster"},
    {.name = NULL},
};
static const struct param clean_params[] = {
    CONTROLLER,
    {"brokerControllerIdsToClean", "b", PARAM_VALUE, "ID[;ID...]", "of these alone (default: all of the name)"},
    {"brokerName", "bn", PARAM_NEEDED, "NAME", "the name of their group"},
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "their cluster"},
    {"cleanLivingBroker", "l", PARAM_SWITCH, NULL, "also those that live"},
    {.name = NULL},
};

const struct command controller_commands[] = {
    {.name = "getControllerMetaData", .params = controller_params, .start = get_metadata,
     .summary = "which controller leads, and who the others are"},
    {.name = "getControllerConfig", .params = controller_params, .start = get_config, .summary = "the settings of controllers"},
    {.name = "updateControllerConfig", .params = set_params, .start = set_config, .summary = "sets a setting of controllers"},
    {.name = "getSyncStateSet", .params = replica_params, .one_of = "clusterName|brokerName", .start = get_replicas,
     .summary = "which replicas are in step, as a controller sees it"},
    {.name = "electMaster", .params = elect_params, .start = elect, .summary = "makes a replica the master of its group"},
    {.name = "cleanBrokerMetadata", .params = clean_params, .start = clean, .summary = "a controller forgets brokers"},
    {.name = NULL},
};
