/* Groups are made, changed, deleted: updateSubGroup, updateSubGroupList, deleteSubGroup, setConsumeMode, group create, group delete. */
#include "admin/group/group.h"
#include "admin/topic/topic.h"
#include "codec/body_assignment.h"

/* What is to be sent, to all brokers the same. */
struct change {
    struct slice body;
    const char *done;
};

static void on_changed(struct job *j)
{
    const struct change *c = j->state;
    struct replies all = j->replies;
    topic_report_changes(j, c->done);
    job_end_with(j, &all);
}

static void ask_group(struct job *j)
{
    const struct change *c = j->state;
    struct request r = {.code = REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, .body = c->body};
    job_ask_all(j, &r, on_changed);
}

/* "+key=value,-key": keys keep their sign, the broker looks at it. */
static err_t read_attributes(struct job *j, struct group_config *g)
{
    struct slice rest = job_param(j, "attributes"), one, key;
    while (slice_split(&rest, ',', &one)) {
        struct pair *p = arena_list_add(job_arena(j), (void **)&g->attributes.items, &g->attributes.count, sizeof *p);
        if (!one.n || (one.p[0] != '+' && one.p[0] != '-') || !p || !slice_split(&one, '=', &key) || (one.n > 0) != (key.p[0] == '+'))
            return err_new(ERR_USAGE, "--attributes wants +key=value,-key");
        *p = (struct pair){key, one.n ? one : SLICE("")};
    }
    return NULL;
}

static err_t read_policy(struct job *j, struct group_config *g)
{
    struct slice text = job_param(j, "groupRetryPolicy");
    struct group_config read;
    if (!text.p) return NULL;
    err_t e = bean_decode(&group_config_bean, job_text(j, "{\"groupRetryPolicy\":%.*s}", SLICE_ARG(text)), job_arena(j),
                          "groupRetryPolicy", &read);
    if (e) {
        err_free(e);
        return err_new(ERR_USAGE, "--groupRetryPolicy wants JSON like {\"type\":\"CUSTOMIZED\",\"customizedRetryPolicy\":{\"next\":[1000,5000]}}");
    }
    g->retry = read.retry;
    return NULL;
}

/* What was not given is as mqadmin sets it, also of a group that is there. */
static err_t read_group(struct job *j, struct group_config *g)
{
    const struct params *p = j->params;
    *g = group_config_default;
    g->name = group_name(j);
    err_t e = param_bool(p, "consumeEnable", true, &g->consume_enable);
    if (!e) e = param_bool(p, "consumeFromMinEnable", false, &g->consume_from_min_enable);
    if (!e) e = param_bool(p, "consumeBroadcastEnable", false, &g->consume_broadcast_enable);
    if (!e) e = param_bool(p, "consumeMessageOrderly", false, &g->consume_orderly);
    if (!e) e = param_bool(p, "notifyConsumerIdsChanged", true, &g->notify_ids_changed);
    if (!e) e = param_i32(p, "retryQueueNums", g->retry_queues, &g->retry_queues);
    if (!e) e = param_i32(p, "retryMaxTimes", g->retry_max_times, &g->retry_max_times);
    if (!e) e = param_i64(p, "brokerId", g->broker_id, &g->broker_id);
    if (!e) e = param_i64(p, "whichBrokerWhenConsumeSlowly", g->slow_broker_id, &g->slow_broker_id);
    if (!e) e = read_attributes(j, g);
    return e ? e : read_policy(j, g);
}

static void update_group(struct job *j)
{
    struct change *c = job_take(j, sizeof *c);
    struct group_config g;
    err_t e = read_group(j, &g);
    j->state = c;
    c->done = "the group is there";
    if (!e) c->body = job_encode(j, &group_config_bean, &g);
    if (e) job_fail(j, e);
    else job_brokers(j, ask_group);
}

#define GROUP_PARAMS \
    {"consumeEnable", "s", PARAM_VALUE, "BOOL", "it may consume (default true)"}, \
    {"consumeFromMinEnable", "m", PARAM_VALUE, "BOOL", "a new consumer may begin with the first message (default false)"}, \
    {"consumeBroadcastEnable", "d", PARAM_VALUE, "BOOL", "it may consume by broadcasting (default false)"}, \
    {"consumeMessageOrderly", "o", PARAM_VALUE, "BOOL", "it consumes in order (default false)"}, \
    {"retryQueueNums", "q", PARAM_VALUE, "N", "queues of its retry topic (default 1)"}, \
    {"retryMaxTimes", "r", PARAM_VALUE, "N", "how often a message is tried again (default 16)"}, \
    {"groupRetryPolicy", "p", PARAM_VALUE, "JSON", "how long each try waits"}, \
    {"brokerId", "i", PARAM_VALUE, "ID", "which broker of a group it reads from (default 0)"}, \
    {"whichBrokerWhenConsumeSlowly", "w", PARAM_VALUE, "ID", "which one when it is slow (default 1)"}, \
    {"notifyConsumerIdsChanged", "a", PARAM_VALUE, "BOOL", "members are told when one comes or goes (default true)"}, \
    {"attributes", NULL, PARAM_VALUE, "LIST", "+key=value,-key"}

/* The common params "brokerAddr", "clusterName" under the letters of mqadmin. */
#define BROKER_PARAMS \
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "on this broker"}, \
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "on all masters of this cluster"}

static const struct param update_params[] = {BROKER_PARAMS, {"groupName", "g", PARAM_NEEDED, "GROUP", "its name"}, GROUP_PARAMS,
                                             {.name = NULL}};
static const struct param create_params[] = {
    {"group", NULL, PARAM_WORD, "GROUP", NULL},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "on its masters alone (else on all there are)"},
    GROUP_PARAMS,
    {.name = NULL},
};

/* --- a list from a file --- */

static void ask_groups(struct job *j)
{
    const struct change *c = j->state;
    struct request r = {.code = REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST, .body = c->body};
    job_ask_all(j, &r, on_changed);
}

static void update_groups(struct job *j)
{
    struct change *c = job_take(j, sizeof *c);
    struct group_config_list list;
    struct slice text = {NULL, 0};
    err_t e = job_read_file(j, job_param(j, "filename"), &text);
    if (!e) c->body = job_text(j, "{\"groupConfigList\":%.*s}", SLICE_ARG(text));
    if (!e) e = bean_decode(&group_config_list_bean, c->body, job_arena(j), "the file", &list);
    c->done = "the groups are there";
    j->state = c;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_groups);
}

static const struct param list_params[] = {BROKER_PARAMS, {"filename", "f", PARAM_NEEDED, "FILE", "JSON: an array of groups"},
                                           {.name = NULL}};

/* --- delete --- */

static void on_topics_gone(struct job *j)
{
    for (size_t i = 0; i < j->replies.list.count; i++) job_good(j, j->replies.list.items[i]);
    job_end(j);
}

static void delete_topic_of(struct job *j, const char *prefix)
{
    struct delete_topic_header *here = job_take(j, sizeof *here);
    struct delete_topic_route_header *names = job_take(j, sizeof *names);
    here->topic = names->topic = job_text(j, "%s%.*s", prefix, SLICE_ARG(group_name(j)));
    struct request r = {.code = REQUEST_DELETE_TOPIC_IN_BROKER, .kind = &delete_topic_kind, .header = here};
    struct request n = {.code = REQUEST_DELETE_TOPIC_IN_NAMESRV, .kind = &delete_topic_route_kind, .header = names};
    for (size_t i = 0; i < j->brokers.list.count; i++) job_ask(j, &j->brokers.list.items[i].broker, &r, NULL);
    job_ask_names(j, &n);
}

/* Of a whole cluster the group's own topics go, too. */
static void on_group_gone(struct job *j)
{
    struct replies all = j->replies;
    bool well = false;
    for (size_t i = 0; i < all.list.count; i++) well |= !all.list.items[i]->code;
    topic_report_changes(j, "the group is gone");
    if (!well || param_has(j->params, "brokerAddr") || admin_options(j->admin)->broker.p) {
        job_end_with(j, &all);
        return;
    }
    delete_topic_of(j, "%RETRY%");
    delete_topic_of(j, "%DLQ%");
    job_wait(j, on_topics_gone);
}

static void ask_delete(struct job *j)
{
    struct delete_group_header *h = job_take(j, sizeof *h);
    *h = (struct delete_group_header){.group_name = group_name(j), .clean_offset = *(const bool *)j->state};
    header_set(h, delete_group, clean_offset);
    struct request r = {.code = REQUEST_DELETE_SUBSCRIPTIONGROUP, .kind = &delete_group_kind, .header = h};
    job_ask_all(j, &r, on_group_gone);
}

static void delete_group(struct job *j)
{
    bool *clean = job_take(j, sizeof *clean);
    err_t e = param_bool(j->params, "removeOffset", false, clean);
    j->state = clean;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_delete);
}

static void delete_with_offsets(struct job *j)
{
    bool *clean = job_take(j, sizeof *clean);
    *clean = !param_has(j->params, "keepOffset");
    j->state = clean;
    job_brokers(j, ask_delete);
}

static const struct param delete_params[] = {
    BROKER_PARAMS,
    {"groupName", "g", PARAM_NEEDED, "GROUP", "its name"},
    {"removeOffset", "r", PARAM_VALUE, "BOOL", "with its offsets (default false)"},
    {.name = NULL},
};
static const struct param short_delete_params[] = {
    {"group", NULL, PARAM_WORD, "GROUP", NULL},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "on its masters alone (else wherever it is)"},
    {"keepOffset", NULL, PARAM_SWITCH, NULL, "keeps its offsets"},
    {.name = NULL},
};

/* --- how it gets its messages --- */

static void ask_mode(struct job *j)
{
    const struct change *c = j->state;
    struct request r = {.code = REQUEST_SET_MESSAGE_REQUEST_MODE, .body = c->body};
    job_ask_all(j, &r, on_changed);
}

static void set_mode(struct job *j)
{
    struct change *c = job_take(j, sizeof *c);
    struct slice mode = slice_trim(job_param(j, "mode"));
    struct request_mode m = {.group = group_name(j), .topic = slice_trim(job_param(j, "topicName"))};
    err_t e = param_i32(j->params, "popShareQueueNum", 0, &m.share);
    if (slice_eq(mode, SLICE("POP"))) m.mode = MODE_POP;
    else if (slice_eq(mode, SLICE("PULL"))) m.mode = MODE_PULL;
    else if (!e) e = err_new(ERR_USAGE, "-m wants POP or PULL, not \"%.*s\"", SLICE_ARG(mode));
    c->done = "the mode is set";
    if (!e) c->body = job_encode(j, &request_mode_bean, &m);
    j->state = c;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_mode);
}

static const struct param mode_params[] = {
    BROKER_PARAMS,
    {"topicName", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"groupName", "g", PARAM_NEEDED, "GROUP", "the group"},
    {"mode", "m", PARAM_NEEDED, "POP|PULL", "how its members get messages"},
    {"popShareQueueNum", "q", PARAM_VALUE, "N", "of how many other members a member pops the queues, too"},
    {.name = NULL},
};

const struct command group_change_commands[] = {
    {.name = "group create", .params = create_params, .start = update_group,
     .summary = "makes a consumer group, or sets all of it",
     .help = "Makes a consumer group on all masters, or those of one cluster. One that is there gets what is given, and the defaults for the rest.\n\n"
             "Example:\n  skylark admin group create billing --retryMaxTimes 5\n"},
    {.name = "group delete", .params = short_delete_params, .start = delete_with_offsets,
     .asks = "deletes the group, its offsets, retries and dead letters:",
     .summary = "deletes a consumer group, its offsets, retries and dead letters",
     .help = "Deletes a consumer group, its offsets, its retry topic and its dead letters, on all masters.\n\n"
             "Example:\n  skylark admin group delete billing --yes\n"},
    {.name = "updateSubGroup", .params = update_params, .one_of = "brokerAddr|clusterName", .start = update_group,
     .summary = "makes a consumer group, or sets all of it: what is not given gets its default again"},
    {.name = "updateSubGroupList", .params = list_params, .one_of = "brokerAddr|clusterName", .start = update_groups,
     .summary = "makes and sets the consumer groups of a file"},
    {.name = "deleteSubGroup", .params = delete_params, .one_of = "brokerAddr|clusterName", .start = delete_group,
     .summary = "deletes a consumer group"},
    {.name = "setConsumeMode", .params = mode_params, .one_of = "brokerAddr|clusterName", .start = set_mode,
     .summary = "sets whether a group pulls or pops the messages of a topic"},
    {.name = NULL},
};
