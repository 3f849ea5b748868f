/* What clients traced: queryMsgTraceById. Facts: docs/protocol/mqadmin.md 2; a body holds contexts that end with 0x02, of parts between 0x01. */
#include "admin/message/message.h"

enum { PARTS_MAX = 16, FOUND_MOST = 64 };

static const struct column pub_columns[] = {
    {"type", CELL_TEXT}, {"producerGroup", CELL_TEXT}, {"clientHost", CELL_TEXT}, {"sendTime", CELL_TIME}, {"costTimes", CELL_NUMBER},
    {"status", CELL_TEXT},
};
static const struct column sub_columns[] = {
    {"type", CELL_TEXT}, {"consumerGroup", CELL_TEXT}, {"clientHost", CELL_TEXT}, {"consumerTime", CELL_TIME}, {"costTimes", CELL_NUMBER},
    {"status", CELL_TEXT},
};

struct context {
    struct slice parts[PARTS_MAX];
    size_t count;
    struct slice host;
};

struct contexts {
    BEAN_LIST(struct context) list;
};

static void read_context(struct slice text, struct context *c)
{
    struct slice part;
    while (c->count < PARTS_MAX && slice_split(&text, 1, &part)) c->parts[c->count++] = part;
}

static bool is_kind(const struct context *c, const char *kind) { return c->count > 0 && slice_eq(c->parts[0], slice_text(kind)); }

static struct slice host_of(struct job *j, const struct message *m)
{
    struct slice text = addr_text_of(j, &m->born_host), host = text;
    if (text.n && text.p[0] != '[') slice_split(&text, ':', &host);
    return host;
}

/* Contexts of other messages may stand in the same body. */
static void add_contexts(struct job *j, const struct message *m, struct slice id, struct contexts *all)
{
    struct slice rest = m->body, one;
    while (slice_split(&rest, 2, &one)) {
        struct context c = {.count = 0, .host = host_of(j, m)};
        read_context(one, &c);
        bool ours = false;
        for (size_t i = 0; i < c.count; i++) ours |= slice_eq(c.parts[i], id);
        struct context *slot = ours ? arena_list_add(job_arena(j), (void **)&all->list.items, &all->list.count, sizeof *slot) : NULL;
        if (slot) *slot = c;
    }
}

static int64_t number_at(const struct context *c, size_t i)
{
    int64_t n = 0;
    return i < c->count && slice_to_i64(c->parts[i], &n) ? n : 0;
}

static struct slice part(const struct context *c, size_t i) { return i < c->count ? c->parts[i] : (struct slice){NULL, 0}; }

static struct slice outcome_of(struct slice success) { return slice_eq(success, SLICE("true")) ? SLICE("success") : SLICE("failed"); }

static void put_pub(struct table *t, const struct context *c)
{
    row_text(t, SLICE("Pub"));
    row_text(t, part(c, 3));
    row_text(t, c->host);
    row_time(t, number_at(c, 1));
    row_number(t, number_at(c, 10));
    row_text(t, outcome_of(part(c, c->count >= 14 ? 13 : 12)));
}

/* SubAfter has the outcome, SubBefore of the same request the group and the time. */
static const struct context *before_of(const struct contexts *all, const struct context *after)
{
    for (size_t i = 0; i < all->list.count; i++)
        if (is_kind(&all->list.items[i], "SubBefore") && slice_eq(part(&all->list.items[i], 4), part(after, 1))) return &all->list.items[i];
    return NULL;
}

static void put_sub(struct table *t, const struct context *after, const struct context *before)
{
    row_text(t, SLICE("Sub"));
    row_text(t, before ? part(before, 3) : part(after, 8));
    row_text(t, after->host);
    row_time(t, before ? number_at(before, 1) : number_at(after, 7));
    row_number(t, number_at(after, 3));
    row_text(t, outcome_of(part(after, 4)));
}

static void report(struct job *j, const struct contexts *all)
{
    struct table *pub = OUTCOME_TABLE(&j->outcome, "pub", pub_columns), *sub = OUTCOME_TABLE(&j->outcome, "sub", sub_columns);
    for (size_t i = 0; i < all->list.count; i++) {
        const struct context *c = &all->list.items[i];
        if (is_kind(c, "Pub")) put_pub(pub, c);
        else if (is_kind(c, "SubAfter")) put_sub(sub, c, before_of(all, c));
    }
    table_sort(sub, 4);
    job_end(j);
}

static void on_traces(struct job *j)
{
    struct contexts all = {.list = {NULL, 0}};
    struct founds found = {.list = {NULL, 0}}, opened = {.list = {NULL, 0}};
    struct opening o;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        if (r->heard.code == RESPONSE_QUERY_NOT_FOUND || !job_good(j, r)) continue;
        messages_add(j, &r->broker, r->body, &found);
    }
    opening_begin(&o);
    for (size_t i = 0; i < found.list.count; i++) message_open(j, &o, &found.list.items[i], &opened);   /* clients compress what is large */
    for (size_t i = 0; i < opened.list.count; i++) add_contexts(j, &opened.list.items[i].message, slice_trim(job_param(j, "msgId")), &all);
    report(j, &all);
}

static void ask_traces(struct job *j)
{
    struct query_message_header *h = j->state;
    struct request r = {.code = REQUEST_QUERY_MESSAGE, .kind = &query_message_kind, .header = h};
    job_ask_all(j, &r, on_traces);
}

static void query_trace(struct job *j)
{
    struct query_message_header *h = job_take(j, sizeof *h);
    struct slice topic = slice_trim(job_param(j, "traceTopic"));
    *h = (struct query_message_header){.topic = topic.n ? topic : SLICE("RMQ_SYS_TRACE_TOPIC"), .key = slice_trim(job_param(j, "msgId"))};
    err_t e = param_time(j->params, "beginTimestamp", j->now_ms, 0, &h->begin_timestamp);
    if (!e) e = param_time(j->params, "endTimestamp", j->now_ms, INT64_MAX, &h->end_timestamp);
    if (!e) e = param_i32(j->params, "maxNum", FOUND_MOST, &h->max_num);
    j->state = h;
    if (e) job_fail(j, e);
    else job_topic_masters(j, h->topic, ask_traces);
}

static const struct param params[] = {
    {"msgId", "i", PARAM_NEEDED, "KEY", "the unique key, which is the msgId that a producer is given"},
    {"traceTopic", "t", PARAM_VALUE, "TOPIC", "where traces are (default RMQ_SYS_TRACE_TOPIC)"},
    {"beginTimestamp", "b", PARAM_VALUE, "TIME", "traced not before"},
    {"endTimestamp", "e", PARAM_VALUE, "TIME", "nor after"},
    {"maxNum", "c", PARAM_VALUE, "N", "messages of traces to look at (default 64)"},
    {.name = NULL},
};

const struct command message_trace_commands[] = {
    {.name = "queryMsgTraceById", .params = params, .start = query_trace,
     .summary = "who sent and who consumed a message, as clients traced it"},
    {.name = NULL},
};
