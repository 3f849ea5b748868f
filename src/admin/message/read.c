/* Queues are read: printMsg, printMsgByQueue, consumeMessage, message tail. Nothing is committed. */
#include "admin/message/message.h"

#include <stdlib.h>

enum { PULL_AT_ONCE = 32, READ_MOST = 10000, HAS_SUBSCRIPTION = 4, MAY_WAIT = 2, TAIL_WAIT_MS = 1000 };

/* One queue that is read from `next` to before `end`. */
struct reader {
    struct admin_broker broker;
    int32_t queue_id;
    int64_t first, next, end;
    bool failed;
};

struct reading {
    struct slice topic, expression;
    struct slice only_broker;       /* p NULL: all */
    int32_t only_queue;             /* -1: all */
    int64_t from, to;               /* offsets; -1: the queue's own */
    int64_t begin_ms, end_ms;       /* store times; 0 and INT64_MAX: any */
    int64_t most;
    bool bodies, counts, quiet;
    bool tail;
    BEAN_LIST(struct reader) readers;
    struct founds found;
    struct opening opening;
    bool more;                      /* there were more than `most` */
};

/* --- what was read --- */

static const struct column tag_columns[] = {{"tag", CELL_TEXT}, {"count", CELL_NUMBER}};

static void count_tags(struct job *j, const struct reading *g)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "tags", tag_columns);
    for (size_t i = 0; i < g->found.list.count; i++) {
        struct slice tag = message_property(&g->found.list.items[i].message, "TAGS");
        struct cell *count = NULL;
        if (!tag.n) tag = SLICE("(none)");
        for (size_t row = 0; row < table_rows(t); row++)
            if (slice_eq(t->cells.items[row * 2].text, tag)) count = &t->cells.items[row * 2 + 1];
        if (count) {
            count->number++;
            continue;
        }
        row_text(t, tag);
        row_number(t, 1);
    }
    table_sort(t, 1);
}

static int by_time(const void *a, const void *b)
{
    const struct message *x = &((const struct found *)a)->message, *y = &((const struct found *)b)->message;
    if (x->store_ms != y->store_ms) return x->store_ms > y->store_ms ? 1 : -1;
    if (x->queue_id != y->queue_id) return x->queue_id - y->queue_id;
    return (x->queue_offset > y->queue_offset) - (x->queue_offset < y->queue_offset);
}

static void put_found(struct job *j, struct reading *g)
{
    if (g->found.list.count) qsort(g->found.list.items, g->found.list.count, sizeof *g->found.list.items, by_time);
    struct table *t = message_table(j, g->bodies);
    for (size_t i = 0; i < g->found.list.count; i++) message_row(j, t, &g->found.list.items[i], g->bodies);
}

static void end_reading(struct job *j)
{
    struct reading *g = j->state;
    if (g->tail) {
        job_end(j);   /* all was printed as it came */
        return;
    }
    if (!g->quiet) put_found(j, g);
    if (g->counts) count_tags(j, g);
    if (g->more) outcome_line(&j->outcome, "there are more; --limit N, or a shorter time, shows others");
    outcome_flag(&j->outcome, "more", g->more);
    job_end(j);
}

/* --- reading --- */

static bool has_tag(const struct message *m, struct slice expression)
{
    struct slice tag = message_property(m, "TAGS"), rest = expression, one;
    if (!slice_trim(expression).n || slice_eq(slice_trim(expression), SLICE("*"))) return true;
    while (slice_split(&rest, '|', &one))
        if (slice_trim(one).n && slice_eq(slice_trim(one), tag)) return true;
    return false;
}

static bool is_wanted(const struct reading *g, const struct reader *r, const struct message *m)
{
    return m->queue_offset < r->end && m->store_ms >= g->begin_ms && m->store_ms <= g->end_ms && has_tag(m, g->expression);
}

static void keep_wanted(struct job *j, struct reading *g, struct reader *r, struct slice body)
{
    struct founds stored = {.list = {NULL, 0}}, all = {.list = {NULL, 0}};
    messages_add(j, &r->broker, body, &stored);
    for (size_t i = 0; i < stored.list.count; i++) message_open(j, &g->opening, &stored.list.items[i], &all);
    for (size_t i = 0; i < all.list.count; i++) {
        const struct message *m = &all.list.items[i].message;
        if (m->store_ms > g->end_ms && !g->tail) r->end = r->next;   /* those behind it are newer */
        if (!is_wanted(g, r, m)) continue;
        if ((int64_t)g->found.list.count >= g->most) {
            g->more = true;
            return;
        }
        struct found *f = arena_list_add(job_arena(j), (void **)&g->found.list.items, &g->found.list.count, sizeof *f);
        if (f) *f = all.list.items[i];
    }
}

/* An answer tells where to go on, whether or not it brought messages. */
static void take_pulled(struct job *j, const struct reply *r)
{
    struct reader *q = (struct reader *)r->tag;
    const struct pull_reply_header *h = r->heard.header;
    bool told = r->heard.code == RESPONSE_PULL_NOT_FOUND || r->heard.code == RESPONSE_PULL_RETRY_IMMEDIATELY || r->heard.code == RESPONSE_PULL_OFFSET_MOVED;
    bool over = r->silent && ((struct reading *)j->state)->tail;   /* the time of a tail is up */
    if (r->code && !told && !over) job_good(j, r);
    if (!h || (r->code && !told)) {
        q->failed = true;
        return;
    }
    int64_t before = q->next;
    q->next = h->next_begin_offset;
    if (!r->code) keep_wanted(j, j->state, q, r->body);
    if (q->next <= before && !((struct reading *)j->state)->tail)
        q->failed = true;   /* no progress: nobody is asked the same again and again */
}

static void next_round(struct job *j);

static void ask_pull(struct job *j, struct reader *q)
{
    struct reading *g = j->state;
    struct pull_header *h = job_take(j, sizeof *h);
    *h = (struct pull_header){.consumer_group = SLICE("TOOLS_CONSUMER"), .topic = g->topic, .queue_id = q->queue_id, .queue_offset = q->next,
                              .max_msg_nums = PULL_AT_ONCE, .sys_flag = HAS_SUBSCRIPTION, .subscription = g->expression};
    if (g->tail) {
        h->sys_flag |= MAY_WAIT;
        h->suspend_timeout_millis = TAIL_WAIT_MS;
    }
    struct request r = {.code = REQUEST_PULL_MESSAGE, .kind = &pull_kind, .header = h, .heard_kind = &pull_reply_kind};
    job_ask(j, &q->broker, &r, q);
}

static void on_round(struct job *j)
{
    struct reading *g = j->state;
    for (size_t i = 0; i < j->replies.list.count; i++) take_pulled(j, j->replies.list.items[i]);
    if (g->tail && g->found.list.count && j->emit) {
        put_found(j, g);
        j->emit(j);
        g->most -= (int64_t)g->found.list.count;
        g->found = (struct founds){.list = {NULL, 0}};
        g->more |= g->most <= 0;
    }
    if (g->more) end_reading(j);
    else next_round(j);
}

static void show_progress(struct job *j)
{
    const struct reading *g = j->state;
    int64_t done = 0, all = 0;
    if (!j->progress || g->tail) return;
    for (size_t i = 0; i < g->readers.count; i++) {
        done += g->readers.items[i].next - g->readers.items[i].first;
        all += g->readers.items[i].end - g->readers.items[i].first;
    }
    if (all > PULL_AT_ONCE) j->progress(j->progress_ctx, done, all);
}

static void next_round(struct job *j)
{
    struct reading *g = j->state;
    size_t asked = 0;
    show_progress(j);
    for (size_t i = 0; i < g->readers.count; i++) {
        struct reader *q = &g->readers.items[i];
        if (q->failed || q->next >= q->end) continue;
        ask_pull(j, q);
        asked++;
    }
    if (asked) job_wait(j, on_round);
    else end_reading(j);
}

/* --- where queues begin and end --- */

static void on_begins(struct job *j)
{
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        const struct offset_reply_header *h = r->heard.header;
        struct reader *q = (struct reader *)r->tag;
        if (job_good(j, r) && h && h->offset > q->next) q->first = q->next = h->offset;
    }
    next_round(j);
}

static void ask_begins(struct job *j)
{
    struct reading *g = j->state;
    for (size_t i = 0; g->begin_ms > 0 && i < g->readers.count; i++) {
        struct search_offset_header *h = job_take(j, sizeof *h);
        *h = (struct search_offset_header){.topic = g->topic, .queue_id = g->readers.items[i].queue_id, .timestamp = g->begin_ms};
        struct request r = {.code = REQUEST_SEARCH_OFFSET_BY_TIMESTAMP, .kind = &search_offset_kind, .header = h,
                            .heard_kind = &offset_reply_kind};
        job_ask(j, &g->readers.items[i].broker, &r, &g->readers.items[i]);
    }
    job_wait(j, on_begins);
}

static void add_reader(struct job *j, struct reading *g, const struct admin_broker *b, const struct topic_offsets *q)
{
    if (g->only_queue >= 0 && q->queue.queue_id != g->only_queue) return;
    struct reader *r = arena_list_add(job_arena(j), (void **)&g->readers.items, &g->readers.count, sizeof *r);
    if (!r) return;
    *r = (struct reader){.broker = *b, .queue_id = q->queue.queue_id, .next = g->tail ? q->max_offset : q->min_offset, .end = q->max_offset};
    if (g->from > r->next) r->next = g->from;
    if (g->to >= 0 && g->to < r->end) r->end = g->to;
    if (g->tail) r->end = INT64_MAX;
    r->first = r->next;
}

static void on_offsets(struct job *j)
{
    struct reading *g = j->state;
    struct replies all = j->replies;
    for (size_t i = 0; i < all.list.count; i++) {
        struct topic_stats s;
        const struct admin_broker *b = &all.list.items[i]->broker;
        if (!job_read(j, all.list.items[i], &topic_stats_bean, &s)) continue;
        for (size_t k = 0; k < s.queues.count; k++) add_reader(j, g, b, &s.queues.items[k]);
    }
    if (g->readers.count) ask_begins(j);
    else if (!j->failures.list.count)
        job_fail(j, err_new(ERR_NOT_FOUND, "topic \"%.*s\" has no such queue; 'skylark admin topic describe' shows those it has",
                            SLICE_ARG(g->topic)));
    else job_end_with(j, &all);
}

static void ask_offsets(struct job *j)
{
    struct reading *g = j->state;
    struct topic_stats_header *h = job_take(j, sizeof *h);
    size_t asked = 0;
    *h = (struct topic_stats_header){.topic = g->topic};
    struct request r = {.code = REQUEST_GET_TOPIC_STATS_INFO, .kind = &topic_stats_kind, .header = h};
    for (size_t i = 0; i < j->brokers.list.count; i++) {
        if (g->only_broker.p && !slice_eq(g->only_broker, j->brokers.list.items[i].broker.name)) continue;
        job_ask(j, &j->brokers.list.items[i].broker, &r, NULL);
        asked++;
    }
    if (asked) job_wait(j, on_offsets);
    else job_fail(j, err_new(ERR_NOT_FOUND, "topic \"%.*s\" has no broker \"%.*s\"; 'skylark admin topic describe' shows its brokers",
                             SLICE_ARG(g->topic),
                             SLICE_ARG(g->only_broker)));
}

/* --- the commands --- */

static err_t read_params(struct job *j, struct reading *g)
{
    const struct params *p = j->params;
    struct slice broker = slice_trim(param_get(p, "brokerName"));
    *g = (struct reading){.topic = slice_trim(param_get(p, "topic")), .expression = SLICE("*"), .only_queue = -1, .from = -1, .to = -1, .end_ms = INT64_MAX};
    opening_begin(&g->opening);
    if (param_has(p, "subExpression")) g->expression = param_get(p, "subExpression");
    if (broker.n) g->only_broker = broker;
    err_t e = param_i32(p, "queueId", -1, &g->only_queue);
    if (!e) e = param_time(p, "beginTimestamp", j->now_ms, 0, &g->begin_ms);
    if (!e) e = param_time(p, "endTimestamp", j->now_ms, INT64_MAX, &g->end_ms);
    if (!e) e = param_i64(p, "limit", READ_MOST, &g->most);
    if (!e && g->most < 1) e = err_new(ERR_USAGE, "--limit is 1 at least");
    if (!e && g->end_ms < 0) g->end_ms = INT64_MAX;
    return e;
}

static void start_reading(struct job *j, err_t e)
{
    const struct reading *g = j->state;
    if (e) job_fail(j, e);
    else job_topic_masters(j, g->topic, ask_offsets);
}

static void print_messages(struct job *j)
{
    struct reading *g = job_take(j, sizeof *g);
    err_t e = read_params(j, g);
    if (!e) e = param_bool(j->params, "printBody", true, &g->bodies);
    j->state = g;
    start_reading(j, e);
}

static void print_queue(struct job *j)
{
    struct reading *g = job_take(j, sizeof *g);
    bool print = false;
    err_t e = read_params(j, g);
    if (!e) e = param_bool(j->params, "printBody", false, &g->bodies);
    if (!e) e = param_bool(j->params, "print msg", false, &print);
    if (!e) e = param_bool(j->params, "calculate", false, &g->counts);
    g->quiet = !print;
    j->state = g;
    start_reading(j, e);
}

static void consume_messages(struct job *j)
{
    struct reading *g = job_take(j, sizeof *g);
    int64_t count = 128;
    err_t e = read_params(j, g);
    if (!e) e = param_i64(j->params, "offset", -1, &g->from);
    if (!e) e = param_i64(j->params, "MessageNumber", 128, &count);
    if (!e && count < 1) e = err_new(ERR_USAGE, "-c is 1 at least");
    if (!e && g->from >= 0 && g->only_queue < 0) e = err_new(ERR_USAGE, "an offset is of one queue: it needs -b BROKER and -i QUEUE, too");
    g->most = count;
    g->bodies = true;
    j->state = g;
    start_reading(j, e);
}

static void tail_messages(struct job *j)
{
    struct reading *g = job_take(j, sizeof *g);
    err_t e = read_params(j, g);
    g->tail = true;
    g->bodies = true;
    j->state = g;
    start_reading(j, e);
}

#define TIMES \
    {"beginTimestamp", "b", PARAM_VALUE, "TIME", "stored not before"}, \
    {"endTimestamp", "e", PARAM_VALUE, "TIME", "nor after"}
#define LIMIT {"limit", NULL, PARAM_VALUE, "N", "at most so many (default 10000)"}

static const struct param print_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"charsetName", "c", PARAM_VALUE, "CHARSET", "is taken; bodies are shown as UTF-8 or as hexadecimal digits"},
    {"subExpression", "s", PARAM_VALUE, "TAGS", "'a || b': messages with these tags alone"},
    TIMES,
    {"printBody", "d", PARAM_VALUE, "BOOL", "with bodies (default true)"},
    {"lmqParentTopic", "l", PARAM_VALUE, "TOPIC", "is taken"},
    LIMIT,
    {.name = NULL},
};
static const struct param queue_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"brokerName", "a", PARAM_NEEDED, "NAME", "the broker's name"},
    {"queueId", "i", PARAM_NEEDED, "N", "the queue"},
    {"charsetName", "c", PARAM_VALUE, "CHARSET", "is taken"},
    {"subExpression", "s", PARAM_VALUE, "TAGS", "messages with these tags alone"},
    TIMES,
    {"print msg", "p", PARAM_VALUE, "BOOL", "prints the messages (default false)"},
    {"printBody", "d", PARAM_VALUE, "BOOL", "with bodies (default false)"},
    {"calculate", "f", PARAM_VALUE, "BOOL", "counts them by tag (default false)"},
    LIMIT,
    {.name = NULL},
};
static const struct param consume_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"brokerName", "b", PARAM_VALUE, "NAME", "of this broker"},
    {"queueId", "i", PARAM_VALUE, "N", "of this queue"},
    {"offset", "o", PARAM_VALUE, "N", "from this offset on"},
    {"consumerGroup", "g", PARAM_VALUE, "GROUP", "is taken: nothing is committed for it"},
    {"beginTimestamp", "s", PARAM_VALUE, "TIME", "stored not before"},
    {"endTimestamp", "e", PARAM_VALUE, "TIME", "nor after"},
    {"MessageNumber", "c", PARAM_VALUE, "N", "at most so many (default 128)"},
    {.name = NULL},
};
static const struct param tail_params[] = {
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {"subExpression", NULL, PARAM_VALUE, "TAGS", "messages with these tags alone"},
    {"limit", NULL, PARAM_VALUE, "N", "ends after so many (default 10000)"},
    {.name = NULL},
};

const struct command message_read_commands[] = {
    {.name = "message tail", .params = tail_params, .start = tail_messages, .timeout_ms = 3600000,
     .summary = "messages as they arrive",
     .help = "Prints the messages of a topic as they arrive, until --limit or --timeout (an hour). With --json each lot is one document on its line.\n\n"
             "Example:\n  skylark admin message tail Orders --subExpression 'paid || sent'\n"},
    {.name = "printMsg", .params = print_params, .start = print_messages, .timeout_ms = 600000, .summary = "the messages of a topic"},
    {.name = "printMsgByQueue", .params = queue_params, .start = print_queue, .timeout_ms = 600000,
     .summary = "the messages of a queue, or how many there are of each tag"},
    {.name = "consumeMessage", .params = consume_params, .start = consume_messages, .timeout_ms = 600000,
     .summary = "messages of a topic, a queue, a time"},
    {.name = NULL},
};
