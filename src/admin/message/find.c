/* Messages by id, key, offset: queryMsgById, queryMsgByKey, queryMsgByUniqueKey, queryMsgByOffset, message show, message find;
 * and what mqadmin does with one that it found: a member consumes it, it is sent again. */
#include "admin/message/message.h"

#include "codec/body_connection.h"
#include "codec/message_id.h"

#include <stdlib.h>

enum { FOUND_DEFAULT = 64, UNIQUE_MOST = 32 };

struct search {
    struct query_message_header query;
    struct founds found;
    struct slice id;            /* as it was given */
    struct slice ids;           /* those behind it, "a,b" */
    job_phase *ask;             /* looks for `id` */
    bool several;
    struct table *done;         /* what was done with those that were found */
    struct addr host;           /* of an offset id */
    int64_t log_offset;
};

static struct search *new_search(struct job *j, const char *id)
{
    struct search *s = job_take(j, sizeof *s);
    s->id = slice_trim(job_param(j, id));
    j->state = s;
    return s;
}

/* "a,b": the first is looked for, then the next. */
static bool next_id(struct search *s)
{
    while (slice_split(&s->ids, ',', &s->id))
        if ((s->id = slice_trim(s->id)).n) return true;
    return false;
}

/* Each of several messages that are shown is an answer of its own. */
static void end_one(struct job *j)
{
    struct search *s = j->state;
    if (!next_id(s)) {
        job_end(j);
        return;
    }
    if (!s->done && j->emit) j->emit(j);
    s->found = (struct founds){.list = {NULL, 0}};
    s->ask(j);
}

static int by_place(const void *a, const void *b)
{
    const struct found *x = a, *y = b;
    int order = slice_compare(x->broker.name, y->broker.name);
    return order ? order : (x->message.log_offset > y->message.log_offset) - (x->message.log_offset < y->message.log_offset);
}

/* A broker that has nothing says so with an error. */
static void take_found(struct job *j)
{
    struct search *s = j->state;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        if (r->heard.code == RESPONSE_QUERY_NOT_FOUND || r->heard.code == RESPONSE_SYSTEM_ERROR) continue;
        if (job_good(j, r)) messages_add(j, &r->broker, r->body, &s->found);
    }
    if (s->found.list.count) qsort(s->found.list.items, s->found.list.count, sizeof *s->found.list.items, by_place);
}

static void fail_nothing(struct job *j)
{
    const struct search *s = j->state;
    struct slice topic = slice_trim(job_param(j, "topic"));
    if (!s->several) {
        job_fail(j, err_new(ERR_NOT_FOUND, "no broker has a message \"%.*s\" of topic \"%.*s\"", SLICE_ARG(s->id), SLICE_ARG(topic)));
        return;
    }
    outcome_line(&j->outcome, "no broker has a message \"%.*s\" of topic \"%.*s\"", SLICE_ARG(s->id), SLICE_ARG(topic));
    j->bad = true;
    end_one(j);
}

/* --- one, in full; then what became of it in each group --- */

static const struct column track_columns[] = {{"consumerGroup", CELL_TEXT}, {"trackType", CELL_TEXT}, {"exceptionDesc", CELL_TEXT}};

static bool wants_tag(const struct consumer_connections *c, const struct message *m)
{
    struct slice tag = message_property(m, "TAGS");
    for (size_t i = 0; i < c->subscriptions.count; i++) {
        const struct subscription *s = &c->subscriptions.items[i];
        if (!slice_eq(s->topic, m->topic) || !s->tags.count) continue;
        for (size_t k = 0; k < s->tags.count; k++)
            if (slice_eq(s->tags.items[k], tag) || slice_eq(s->tags.items[k], SLICE("*"))) return true;
        return false;
    }
    return true;
}

static struct slice progress_of(struct job *j, const struct reply *r, const struct message *m, const struct consumer_connections *c)
{
    struct consume_stats s;
    if (!job_read(j, r, &consume_stats_bean, &s)) return SLICE("UNKNOWN");
    for (size_t i = 0; i < s.queues.count; i++) {
        const struct consume_offsets *q = &s.queues.items[i];
        if (!slice_eq(q->queue.topic, m->topic) || q->queue.queue_id != m->queue_id) continue;
        if (q->consumer_offset <= m->queue_offset) return SLICE("NOT_CONSUME_YET");
        return wants_tag(c, m) ? SLICE("CONSUMED") : SLICE("CONSUMED_BUT_FILTERED");
    }
    return SLICE("UNKNOWN");
}

static struct slice track(struct job *j, const struct reply *members, const struct reply *progress, const struct message *m)
{
    struct consumer_connections c;
    if (members->code == ERR_NOT_ONLINE) return SLICE("NOT_ONLINE");
    if (!job_read(j, members, &consumer_connections_bean, &c)) return SLICE("UNKNOWN");
    if (c.type == CONSUME_ACTIVELY) return SLICE("PULL");
    if (c.model == MODEL_BROADCASTING) return SLICE("CONSUME_BROADCASTING");
    return progress_of(j, progress, m, &c);
}

static void on_tracks(struct job *j)
{
    const struct search *s = j->state;
    struct table *t = OUTCOME_TABLE(&j->outcome, "tracks", track_columns);
    for (size_t i = 0; i + 1 < j->replies.list.count; i += 2) {
        const struct reply *members = j->replies.list.items[i];
        row_text(t, *(const struct slice *)members->tag);
        row_text(t, track(j, members, j->replies.list.items[i + 1], &s->found.list.items[0].message));
        row_text(t, members->code ? members->text : (struct slice){NULL, 0});
    }
    table_sort(t, 1);
    end_one(j);
}

static void ask_track(struct job *j, const struct admin_broker *b, struct slice group, struct slice topic)
{
    struct consumer_connections_header *c = job_take(j, sizeof *c);
    struct consume_stats_header *s = job_take(j, sizeof *s);
    struct slice *tag = job_take(j, sizeof *tag);
    *tag = group;
    *c = (struct consumer_connections_header){.consumer_group = group};
    *s = (struct consume_stats_header){.consumer_group = group, .topic = topic};
    struct request members = {.code = REQUEST_GET_CONSUMER_CONNECTION_LIST, .kind = &consumer_connections_kind, .header = c};
    struct request progress = {.code = REQUEST_GET_CONSUME_STATS, .kind = &consume_stats_kind, .header = s};
    job_ask(j, b, &members, tag);
    job_ask(j, b, &progress, tag);
}

static void on_groups(struct job *j)
{
    const struct search *s = j->state;
    const struct reply *r = j->replies.list.items[0];
    struct group_list groups = {.groups = {NULL, 0}};
    if (job_read(j, r, &group_list_bean, &groups))
        for (size_t i = 0; i < groups.groups.count; i++)
            ask_track(j, &r->broker, groups.groups.items[i], s->found.list.items[0].message.topic);
    job_wait(j, on_tracks);
}

/* False: it is shown. */
static bool do_with(struct job *j, const struct found *f)
{
    struct search *s = j->state;
    bool send = false;
    err_t e = param_bool(j->params, "sendMessage", false, &send);
    if (e) job_fail(j, e);
    else if (param_has(j->params, "clientId") && param_has(j->params, "consumerGroup")) message_consume_directly(j, f, &s->done, end_one);
    else if (send) message_send_again(j, f, &s->done, end_one);
    else return false;
    return true;
}

static void report_first(struct job *j)
{
    const struct search *s = j->state;
    const struct found *f = s->found.list.count ? &s->found.list.items[0] : NULL;
    struct topic_consume_by_who_header *h = job_take(j, sizeof *h);
    if (!f) {
        fail_nothing(j);
        return;
    }
    if (do_with(j, f)) return;
    message_outcome(j, f, true);
    *h = (struct topic_consume_by_who_header){.topic = f->message.topic};
    struct request r = {.code = REQUEST_QUERY_TOPIC_CONSUME_BY_WHO, .kind = &topic_consume_by_who_kind, .header = h};
    job_ask(j, &f->broker, &r, NULL);
    job_wait(j, on_groups);
}

/* --- by key --- */

static void ask_query(struct job *j, job_phase *next)
{
    struct search *s = j->state;
    struct request r = {.code = REQUEST_QUERY_MESSAGE, .kind = &query_message_kind, .header = &s->query};
    job_ask_all(j, &r, next);
}

static void on_keyed(struct job *j)
{
    struct search *s = j->state;
    struct replies all = j->replies;
    take_found(j);
    struct table *t = message_table(j, false);
    for (size_t i = 0; i < s->found.list.count && i < (size_t)s->query.max_num; i++) message_row(j, t, &s->found.list.items[i], false);
    if (!j->failures.list.count || s->found.list.count) job_end(j);
    else job_end_with(j, &all);
}

static void ask_keyed(struct job *j) { ask_query(j, on_keyed); }

static err_t take_key_type(struct job *j, struct query_message_header *h)
{
    h->index_type = slice_trim(job_param(j, "keyType"));
    if (slice_eq(h->index_type, SLICE("K")) || slice_eq(h->index_type, SLICE("T"))) return NULL;
    return err_new(ERR_USAGE, "--keyType is K or T, not \"%.*s\"", SLICE_ARG(h->index_type));
}

static void query_key(struct job *j)
{
    struct search *s = new_search(j, param_has(j->params, "msgKey") ? "msgKey" : "key");
    s->query = (struct query_message_header){.topic = slice_trim(job_param(j, "topic")), .key = s->id};
    err_t e = param_time(j->params, "beginTimestamp", j->now_ms, 0, &s->query.begin_timestamp);
    if (!e) e = param_time(j->params, "endTimestamp", j->now_ms, INT64_MAX, &s->query.end_timestamp);
    if (!e) e = param_i32(j->params, "maxNum", FOUND_DEFAULT, &s->query.max_num);
    if (!e && param_has(j->params, "keyType")) e = take_key_type(j, &s->query);
    if (!e && (s->query.max_num < 1 || !s->id.n)) e = err_new(ERR_USAGE, s->id.n ? "--maxNum is 1 at least" : "it needs --key KEY");
    if (e) job_fail(j, e);
    else if (param_has(j->params, "cluster")) job_brokers(j, ask_keyed);
    else job_topic_masters(j, s->query.topic, ask_keyed);
}

/* --- by unique key --- */

static void on_unique(struct job *j)
{
    struct search *s = j->state;
    take_found(j);
    if (!param_has(j->params, "showAll") || !s->found.list.count) {
        report_first(j);
        return;
    }
    struct table *t = message_table(j, true);
    struct founds opened = {.list = {NULL, 0}};
    struct opening o;
    opening_begin(&o);
    for (size_t i = 0; i < s->found.list.count; i++) message_open(j, &o, &s->found.list.items[i], &opened);
    for (size_t i = 0; i < opened.list.count; i++) message_row(j, t, &opened.list.items[i], true);
    job_end(j);
}

static void ask_unique(struct job *j)
{
    struct search *s = j->state;
    s->query = (struct query_message_header){.topic = slice_trim(job_param(j, "topic")), .key = s->id, .max_num = UNIQUE_MOST,
                                             .begin_timestamp = s->query.begin_timestamp,
                                             .end_timestamp = s->query.end_timestamp ? s->query.end_timestamp : INT64_MAX,
                                             .unique_key_query = SLICE("true")};
    ask_query(j, on_unique);
}

static void query_unique(struct job *j)
{
    struct search *s = new_search(j, "msgId");
    err_t e = param_time(j->params, "startTime", j->now_ms, 0, &s->query.begin_timestamp);
    if (!e) e = param_time(j->params, "endTime", j->now_ms, INT64_MAX, &s->query.end_timestamp);
    if (e) job_fail(j, e);
    else if (param_has(j->params, "cluster")) job_brokers(j, ask_unique);
    else job_topic_masters(j, slice_trim(job_param(j, "topic")), ask_unique);
}

/* --- by offset id: the broker that it names is asked, when it is one of the topic's; by unique key otherwise --- */

static void on_viewed(struct job *j)
{
    take_found(j);
    report_first(j);
}

static const struct member *find_host(struct job *j, const struct addr *host)
{
    for (size_t i = 0; i < j->brokers.list.count; i++)
        if (slice_eq(j->brokers.list.items[i].broker.address, addr_text_of(j, host))) return &j->brokers.list.items[i];
    return NULL;
}

static void ask_by_id(struct job *j)
{
    struct search *s = j->state;
    struct view_message_header *h = job_take(j, sizeof *h);
    err_t e = offset_id_parse(s->id, &s->host, &s->log_offset);
    const struct member *m = e ? NULL : find_host(j, &s->host);
    err_free(e);   /* it is a unique key, or nothing */
    if (!m) {
        ask_unique(j);
        return;
    }
    *h = (struct view_message_header){.offset = s->log_offset, .topic = slice_trim(job_param(j, "topic"))};
    struct request r = {.code = REQUEST_VIEW_MESSAGE_BY_ID, .kind = &view_message_kind, .header = h};
    job_ask(j, &m->broker, &r, NULL);
    job_wait(j, on_viewed);
}

static void query_id(struct job *j)
{
    struct search *s = new_search(j, param_has(j->params, "msgId") ? "msgId" : "id");
    s->ids = s->id;
    s->ask = ask_by_id;
    bool any = next_id(s);
    s->several = s->ids.n > 0;
    if (!any) job_fail(j, err_new(ERR_USAGE, "it names no message"));
    else if (param_has(j->params, "cluster")) job_brokers(j, ask_by_id);
    else job_topic_masters(j, slice_trim(job_param(j, "topic")), ask_by_id);
}

/* --- by offset --- */

static void on_pulled(struct job *j)
{
    struct search *s = j->state;
    const struct reply *r = j->replies.list.items[0];
    if (!r->code) messages_add(j, &r->broker, r->body, &s->found);
    if (s->found.list.count) report_first(j);
    else if (r->heard.code > 0 && r->heard.header)
        job_fail(j, err_new(ERR_NOT_FOUND, "the queue has no such offset: it has those from %lld to %lld",
                            (long long)((const struct pull_reply_header *)r->heard.header)->min_offset,
                            (long long)((const struct pull_reply_header *)r->heard.header)->max_offset - 1));
    else job_end_with(j, &j->replies);
}

static void ask_offset(struct job *j)
{
    struct pull_header *h = job_take(j, sizeof *h);
    struct slice name = slice_trim(job_param(j, "brokerName"));
    struct admin_broker b = {.name = name, .address = job_address_of(j, name)};
    *h = (struct pull_header){.consumer_group = SLICE("TOOLS_CONSUMER"), .topic = slice_trim(job_param(j, "topic")), .max_msg_nums = 1, .sys_flag = 4, .subscription = SLICE("*")};
    err_t e = param_i32(j->params, "queueId", 0, &h->queue_id);
    if (!e) e = param_i64(j->params, "offset", 0, &h->queue_offset);
    if (!e && !b.address.p)
        e = err_new(ERR_NOT_FOUND, "topic \"%.*s\" has no broker \"%.*s\"; 'skylark admin topic describe' shows its brokers",
                    SLICE_ARG(j->topic), SLICE_ARG(name));
    struct request r = {.code = REQUEST_PULL_MESSAGE, .kind = &pull_kind, .header = h, .heard_kind = &pull_reply_kind};
    if (e) {
        job_fail(j, e);
        return;
    }
    job_ask(j, &b, &r, NULL);
    job_wait(j, on_pulled);
}

static void query_offset(struct job *j)
{
    new_search(j, "offset");
    job_route(j, slice_trim(job_param(j, param_has(j->params, "routeTopic") ? "routeTopic" : "topic")), true, ask_offset);
}

/* --- rows --- */

#define BODY_FORMAT {"bodyFormat", "f", PARAM_VALUE, "CHARSET", "is taken; bodies are shown as UTF-8 or as hexadecimal digits"}
#define CONSUME_DIRECTLY \
    {"consumerGroup", "g", PARAM_VALUE, "GROUP", "with -d: a member of this group consumes it now"}, \
    {"clientId", "d", PARAM_VALUE, "ID", "the member"}
#define TOPIC_CLUSTER {"cluster", "c", PARAM_VALUE, "CLUSTER", "asks the masters of this cluster, whatever the route says"}

static const struct param id_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its topic"},
    {"msgId", "i", PARAM_NEEDED, "ID[,ID...]", "offset ids or unique keys"},
    CONSUME_DIRECTLY,
    {"sendMessage", "s", PARAM_VALUE, "BOOL", "sends a copy to its topic, where every group gets it (default false)"},
    {"unitName", "u", PARAM_VALUE, "NAME", "is taken"},
    BODY_FORMAT,
    TOPIC_CLUSTER,
    {.name = NULL},
};
static const struct param key_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its topic"},
    {"msgKey", "k", PARAM_NEEDED, "KEY", "one of the message's keys"},
    {"beginTimestamp", "b", PARAM_VALUE, "TIME", "stored not before"},
    {"endTimestamp", "e", PARAM_VALUE, "TIME", "nor after"},
    {"maxNum", "m", PARAM_VALUE, "N", "at most so many (default 64)"},
    {"keyType", "p", PARAM_VALUE, "TYPE", "K: by keys (default), T: by tags"},
    {"lastKey", "l", PARAM_VALUE, "KEY", "is taken: of indexes in RocksDB"},
    TOPIC_CLUSTER,
    {.name = NULL},
};
static const struct param unique_params[] = {
    {"msgId", "i", PARAM_NEEDED, "KEY", "the unique key, which is the msgId that a producer is given"},
    CONSUME_DIRECTLY,
    {"topic", "t", PARAM_NEEDED, "TOPIC", "its topic"},
    {"showAll", "a", PARAM_SWITCH, NULL, "all messages with this key"},
    {"startTime", "s", PARAM_VALUE, "TIME", "stored not before"},
    {"endTime", "e", PARAM_VALUE, "TIME", "nor after"},
    TOPIC_CLUSTER,
    {.name = NULL},
};
static const struct param offset_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"brokerName", "b", PARAM_NEEDED, "NAME", "the broker's name"},
    {"queueId", "i", PARAM_NEEDED, "N", "the queue"},
    {"offset", "o", PARAM_NEEDED, "N", "the offset in it"},
    {"routeTopic", "r", PARAM_VALUE, "TOPIC", "the topic whose brokers are asked"},
    BODY_FORMAT,
    {.name = NULL},
};
static const struct param show_params[] = {{"topic", NULL, PARAM_WORD, "TOPIC", NULL}, {"id", NULL, PARAM_WORD, "ID", NULL},
                                           {.name = NULL}};
static const struct param find_params[] = {
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {"key", NULL, PARAM_VALUE, "KEY", "one of the message's keys"},
    {"beginTimestamp", NULL, PARAM_VALUE, "TIME", "stored not before"},
    {"endTimestamp", NULL, PARAM_VALUE, "TIME", "nor after"},
    {"maxNum", NULL, PARAM_VALUE, "N", "at most so many (default 64)"},
    {.name = NULL},
};

const struct command message_find_commands[] = {
    {.name = "message show", .params = show_params, .start = query_id, .summary = "a message with all its properties, and which groups have consumed it",
     .help = "Shows a message by its unique key (the msgId that a producer is given) or its offset id, and what became of it in each group.\n\n"
             "Example:\n  skylark admin message show Orders 7F0000010A1B2C3D4E5F000000000001\n"},
    {.name = "message find", .params = find_params, .start = query_key, .summary = "the messages with a key",
     .help = "Lists the messages that have this key, of all masters of the topic.\n\n"
             "Example:\n  skylark admin message find Orders --key 4711 --beginTimestamp -2h\n"},
    {.name = "queryMsgById", .params = id_params, .start = query_id, .summary = "a message by its offset id, and which groups have consumed it"},
    {.name = "queryMsgByKey", .params = key_params, .start = query_key, .summary = "the messages with a key"},
    {.name = "queryMsgByUniqueKey", .params = unique_params, .start = query_unique,
     .summary = "a message by its unique key, and which groups have consumed it"},
    {.name = "queryMsgByOffset", .params = offset_params, .start = query_offset, .summary = "the message at an offset of a queue"},
    {.name = NULL},
};
