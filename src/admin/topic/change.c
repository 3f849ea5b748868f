/* Topics are made and changed: updateTopic, updateTopicList, topic create, topic update. */
#include "admin/topic/topic.h"

#include <inttypes.h>

/* One change, of all brokers that are meant. */
struct change {
    struct create_topic_header header;
    struct slice order;             /* what ORDER_TOPIC_CONFIG is to say; p NULL: nothing */
    bool created;
};

static void end_change(struct job *j)
{
    for (size_t i = 0; i < j->replies.list.count; i++) job_good(j, j->replies.list.items[i]);
    job_end(j);
}

/* The order of a topic stands in every name server, too. */
static void put_order(struct job *j, struct slice topic, struct slice conf)
{
    struct put_kv_header *h = job_take(j, sizeof *h);
    *h = (struct put_kv_header){.key = topic, .namespace = KV_ORDER_TOPICS, .value = conf};
    struct request r = {.code = REQUEST_PUT_KV_CONFIG, .kind = &put_kv_kind, .header = h};
    job_ask_names(j, &r);
    job_wait(j, end_change);
}

static struct slice order_conf(struct job *j, int32_t queues)
{
    struct buf text = BUF_EMPTY;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        if (!r->code && r->broker.name.p) buf_printf(&text, "%s%.*s:%" PRId32, text.n ? ";" : "", SLICE_ARG(r->broker.name), queues);
    }
    struct slice conf = job_copy(j, buf_slice(&text));
    buf_done(&text);
    return conf;
}

static void report_config(struct job *j, const struct create_topic_header *h)
{
    outcome_text(&j->outcome, SLICE("topic"), h->topic);
    outcome_number(&j->outcome, "readQueueNums", h->read_queue_nums);
    outcome_number(&j->outcome, "writeQueueNums", h->write_queue_nums);
    outcome_text(&j->outcome, SLICE("perm"), topic_perm_text(j, h->perm));
    outcome_flag(&j->outcome, "order", h->order);
    if (h->attributes.p) outcome_text(&j->outcome, SLICE("attributes"), h->attributes);
}

static void on_changed(struct job *j)
{
    const struct change *c = j->state;
    struct replies all = j->replies;
    struct slice conf;
    bool well = false;
    topic_report_changes(j, c->created ? "the topic is there" : "the topic is changed");
    for (size_t i = 0; i < all.list.count; i++) well |= !all.list.items[i]->code;
    if (!well) {
        job_end_with(j, &all);
        return;
    }
    report_config(j, &c->header);
    conf = c->header.order ? order_conf(j, c->header.write_queue_nums) : (struct slice){NULL, 0};
    if (conf.p) put_order(j, c->header.topic, conf);
    else job_end(j);
}

static void ask_change(struct job *j)
{
    struct change *c = j->state;
    struct request r = {.code = REQUEST_UPDATE_AND_CREATE_TOPIC, .kind = &create_topic_kind, .header = &c->header};
    job_ask_all(j, &r, on_changed);
}

/* What was not given is as a new topic has it, also of one that is there: mqadmin does so. */
static err_t read_change(struct job *j, struct change *c)
{
    struct create_topic_header *h = &c->header;
    bool unit = false, sub = false;
    int32_t queues = 8;
    *h = (struct create_topic_header){.topic = slice_trim(job_param(j, "topic")), .default_topic = SLICE("TBW102"), .topic_filter_type = SLICE("SINGLE_TAG")};
    header_set(h, create_topic, topic_sys_flag);
    err_t e = param_i32(j->params, "queues", 8, &queues);
    if (!e) e = param_i32(j->params, "readQueueNums", queues, &h->read_queue_nums);
    if (!e) e = param_i32(j->params, "writeQueueNums", queues, &h->write_queue_nums);
    if (!e) e = topic_perm_read(j->params, PERM_READ | PERM_WRITE, &h->perm);
    if (!e) e = param_bool(j->params, "order", false, &h->order);
    if (!e) e = param_bool(j->params, "unit", false, &unit);
    if (!e) e = param_bool(j->params, "hasUnitSub", false, &sub);
    h->topic_sys_flag = (unit ? TOPIC_SYS_UNIT : 0) | (sub ? TOPIC_SYS_UNIT_SUB : 0);
    h->attributes = job_param(j, "attributes");
    return e;
}

static void update_topic(struct job *j)
{
    struct change *c = job_take(j, sizeof *c);
    err_t e = read_change(j, c);
    j->state = c;
    c->created = true;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_change);
}

static const struct param update_topic_params[] = {
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "on this broker"},
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "on all masters of this cluster"},
    {"attributes", "a", PARAM_VALUE, "LIST", "+key=value,-key"},
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its name"},
    {"readQueueNums", "r", PARAM_VALUE, "N", "queues to read from (default 8)"},
    {"writeQueueNums", "w", PARAM_VALUE, "N", "queues to write to (default 8)"},
    {"perm", "p", PARAM_VALUE, "2|4|6", "W, R or RW (default 6)"},
    {"order", "o", PARAM_VALUE, "BOOL", "its queues stay in order; noted at the name servers, too"},
    {"unit", "u", PARAM_VALUE, "BOOL", "is a unit topic"},
    {"hasUnitSub", "s", PARAM_VALUE, "BOOL", "has subscriptions of units"},
    {.name = NULL},
};

/* --- a list from a file --- */

static void on_list(struct job *j)
{
    topic_report_changes(j, "the topics are there");
    job_end_with(j, &j->replies);
}

static void ask_list(struct job *j)
{
    const struct slice *body = j->state;
    struct request r = {.code = REQUEST_UPDATE_AND_CREATE_TOPIC_LIST, .body = *body};
    job_ask_all(j, &r, on_list);
}

static void update_topic_list(struct job *j)
{
    struct slice text, *body = job_take(j, sizeof *body);
    err_t e = job_read_file(j, job_param(j, "filename"), &text);
    if (!e) {
        struct topic_config_list list;
        *body = job_text(j, "{\"topicConfigList\":%.*s}", SLICE_ARG(text));
        e = bean_decode(&topic_config_list_bean, *body, job_arena(j), "the file", &list);
    }
    j->state = body;
    if (e) job_fail(j, e);
    else job_brokers(j, ask_list);
}

static const struct param update_list_params[] = {
    {"brokerAddr", "b", PARAM_VALUE, "ADDR", "on this broker"},
    {"clusterName", "c", PARAM_VALUE, "CLUSTER", "on all masters of this cluster"},
    {"filename", "f", PARAM_NEEDED, "FILE", "JSON: an array of topics, as exportMetadata writes them"},
    {.name = NULL},
};

/* --- create --- */

static void create_if_new(struct job *j)
{
    struct change *c = j->state;
    if (j->route.brokers.count)
        job_fail(j, err_new(ERR_EXISTS, "there is a topic \"%.*s\" already; 'skylark admin topic update' changes it",
                            SLICE_ARG(c->header.topic)));
    else job_brokers(j, ask_change);
}

static void create_topic(struct job *j)
{
    struct change *c = job_take(j, sizeof *c);
    struct slice type = job_param(j, "type");
    err_t e = read_change(j, c);
    c->created = true;
    if (!e && type.p)
        c->header.attributes = c->header.attributes.p ? job_text(j, "%.*s,+message.type=%.*s", SLICE_ARG(c->header.attributes),
                                                                 SLICE_ARG(type))
                                                      : job_text(j, "+message.type=%.*s", SLICE_ARG(type));
    j->state = c;
    if (e) job_fail(j, e);
    else if (admin_options(j->admin)->broker.p) create_if_new(j);
    else job_route(j, c->header.topic, false, create_if_new);
}

#define CONFIG_PARAMS \
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL}, \
    {"queues", NULL, PARAM_VALUE, "N", "queues on each broker (of a new topic 8)"}, \
    {"readQueueNums", NULL, PARAM_VALUE, "N", "to read from, when they are not as many"}, \
    {"writeQueueNums", NULL, PARAM_VALUE, "N", "to write to"}, \
    {"perm", NULL, PARAM_VALUE, "R|W|RW", "what clients may do (of a new topic RW)"}, \
    {"order", NULL, PARAM_VALUE, "BOOL", "its queues stay in order; noted at the name servers, too"}, \
    {"attributes", NULL, PARAM_VALUE, "LIST", "+key=value,-key"}, \
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "on its masters alone (else on all there are)"}

static const struct param create_params[] = {
    CONFIG_PARAMS,
    {"type", NULL, PARAM_VALUE, "TYPE", "of its messages: NORMAL, FIFO, DELAY, TRANSACTION"},
    {.name = NULL},
};

/* --- update: what is not given stays --- */

static void overlay(struct job *j, const struct topic_config *now, struct create_topic_header *h)
{
    struct change *c = j->state;
    *h = c->header;
    if (!param_has(j->params, "queues") && !param_has(j->params, "readQueueNums")) h->read_queue_nums = now->read_queues;
    if (!param_has(j->params, "queues") && !param_has(j->params, "writeQueueNums")) h->write_queue_nums = now->write_queues;
    if (!param_has(j->params, "perm")) h->perm = now->perm;
    if (!param_has(j->params, "order")) h->order = now->order;
    h->topic_sys_flag = now->sys_flag;
    c->header = *h;   /* is reported */
}

static void on_configs(struct job *j)
{
    struct replies all = j->replies;
    size_t read = 0;
    for (size_t i = 0; i < all.list.count; i++) {
        struct create_topic_header *h = job_take(j, sizeof *h);
        struct topic_config now;
        if (!job_read(j, all.list.items[i], &topic_config_bean, &now)) continue;
        overlay(j, &now, h);
        struct request r = {.code = REQUEST_UPDATE_AND_CREATE_TOPIC, .kind = &create_topic_kind, .header = h};
        job_ask(j, &all.list.items[i]->broker, &r, NULL);
        read++;
    }
    if (read) job_wait(j, on_changed);
    else job_end_with(j, &all);
}

static void ask_configs(struct job *j)
{
    const struct change *c = j->state;
    struct get_topic_config_header *h = job_take(j, sizeof *h);
    *h = (struct get_topic_config_header){.topic = c->header.topic};
    struct request r = {.code = REQUEST_GET_TOPIC_CONFIG, .kind = &get_topic_config_kind, .header = h};
    job_ask_all(j, &r, on_configs);
}

static void change_topic(struct job *j)
{
    struct change *c = job_take(j, sizeof *c);
    err_t e = read_change(j, c);
    j->state = c;
    if (e) job_fail(j, e);
    else job_topic_masters(j, c->header.topic, ask_configs);
}

static const struct param change_params[] = {CONFIG_PARAMS, {.name = NULL}};

const struct command topic_change_commands[] = {
    {.name = "topic create", .params = create_params, .start = create_topic,
     .summary = "makes a topic on all masters, or those of one cluster",
     .help = "Makes a topic on all masters, or those of one cluster. One that is there is left as it is.\n\n"
             "Example:\n  skylark admin topic create Orders --queues 8 --type FIFO\n"},
    {.name = "topic update", .params = change_params, .start = change_topic,
     .summary = "changes what is given of a topic, and leaves the rest",
     .help = "Changes what is given of a topic on each master that has it, and leaves the rest as it is there.\n\n"
             "Example:\n  skylark admin topic update Orders --queues 16\n"},
    {.name = "updateTopic", .params = update_topic_params, .one_of = "brokerAddr|clusterName", .start = update_topic,
     .summary = "makes a topic, or sets all of it: what is not given gets its default again"},
    {.name = "updateTopicList", .params = update_list_params, .one_of = "brokerAddr|clusterName", .start = update_topic_list,
     .summary = "makes and sets the topics of a file"},
    {.name = NULL},
};
