/* Dead letters: dlq list, dlq show, dlq resend. They lie in topic %DLQ%GROUP. */
#include "admin/message/message.h"

#include "codec/properties.h"

enum { PULL_AT_ONCE = 32, HAS_SUBSCRIPTION = 4, LETTERS_MOST = 10000 };

/* --- list: which groups have any --- */

static const struct column list_columns[] = {{"group", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"letters", CELL_NUMBER},
                                             {"lastUpdateTimestamp", CELL_TIME}};

struct dead {
    struct slice group;
};

static void on_counts(struct job *j)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "deadLetters", list_columns);
    for (size_t i = 0; i < j->replies.list.count; i++) {
        struct topic_stats s;
        const struct reply *r = j->replies.list.items[i];
        int64_t count = 0, last = 0;
        if (!job_read(j, r, &topic_stats_bean, &s)) continue;
        for (size_t k = 0; k < s.queues.count; k++) {
            count += s.queues.items[k].max_offset - s.queues.items[k].min_offset;
            if (s.queues.items[k].last_update_ms > last) last = s.queues.items[k].last_update_ms;
        }
        if (!count) continue;
        row_text(t, ((const struct dead *)r->tag)->group);
        row_text(t, r->broker.name);
        row_number(t, count);
        row_time(t, last);
    }
    table_sort(t, 2);
    job_end(j);
}

static void ask_count(struct job *j, const struct admin_broker *b, struct slice topic)
{
    struct topic_stats_header *h = job_take(j, sizeof *h);
    struct dead *d = job_take(j, sizeof *d);
    d->group = slice_skip(topic, 5);
    *h = (struct topic_stats_header){.topic = topic};
    struct request r = {.code = REQUEST_GET_TOPIC_STATS_INFO, .kind = &topic_stats_kind, .header = h};
    job_ask(j, b, &r, d);
}

static void on_topics(struct job *j)
{
    struct replies all = j->replies;
    bool well = false;
    for (size_t i = 0; i < all.list.count; i++) {
        struct topic_table table;
        if (!job_read(j, all.list.items[i], &topic_table_bean, &table)) continue;
        well = true;
        for (size_t k = 0; k < table.topics.count; k++)
            if (slice_starts(table.topics.items[k].name, SLICE("%DLQ%")))
                ask_count(j, &all.list.items[i]->broker, table.topics.items[k].name);
    }
    if (well) job_wait(j, on_counts);
    else job_end_with(j, &all);
}

static void ask_topics(struct job *j)
{
    struct all_topics_header *h = job_take(j, sizeof *h);
    struct request r = {.code = REQUEST_GET_ALL_TOPIC_CONFIG, .kind = &all_topics_kind, .header = h};
    job_ask_all(j, &r, on_topics);
}

static void list_dead(struct job *j) { job_brokers(j, ask_topics); }

/* --- the letters of a group --- */

struct queue {
    struct admin_broker broker;
    int32_t id;
    int64_t next, end;
};

struct letters {
    struct slice topic, only;       /* only: a unique key; p NULL: all */
    bool resend;
    BEAN_LIST(struct queue) queues;
    struct founds found;
};

static const struct column letter_columns[] = {
    {"msgId", CELL_TEXT}, {"originTopic", CELL_TEXT}, {"originMessageId", CELL_TEXT}, {"brokerName", CELL_TEXT},
    {"queueOffset", CELL_NUMBER},
    {"tags", CELL_TEXT}, {"keys", CELL_TEXT}, {"reconsumeTimes", CELL_NUMBER}, {"storeTimestamp", CELL_TIME}, {"body", CELL_TEXT},
};

static struct slice origin_topic(const struct message *m)
{
    struct slice topic = message_property(m, "DLQ_ORIGIN_TOPIC");
    return topic.n ? topic : message_property(m, "RETRY_TOPIC");
}

static struct slice or_none(struct slice s) { return s.n ? s : (struct slice){NULL, 0}; }

static void report_letters(struct job *j, const struct letters *l)
{
    struct table *t = OUTCOME_TABLE(&j->outcome, "deadLetters", letter_columns);
    struct founds opened = {.list = {NULL, 0}};
    struct opening o;
    opening_begin(&o);
    for (size_t i = 0; i < l->found.list.count; i++) message_open(j, &o, &l->found.list.items[i], &opened);
    for (size_t i = 0; i < opened.list.count; i++) {
        const struct found *f = &opened.list.items[i];
        const struct message *m = &f->message;
        row_text(t, message_key_of(j, m));
        row_text(t, or_none(origin_topic(m)));
        row_text(t, or_none(message_property(m, "DLQ_ORIGIN_MESSAGE_ID")));
        row_text(t, f->broker.name);
        row_number(t, m->queue_offset);
        row_text(t, or_none(message_property(m, "TAGS")));
        row_text(t, or_none(message_property(m, "KEYS")));
        row_number(t, m->reconsume_times);
        row_time(t, m->store_ms);
        row_text(t, message_body_text(j, f));
    }
    job_end(j);
}

static const struct column resent_columns[] = {{"msgId", CELL_TEXT}, {"topic", CELL_TEXT}, {"queueOffset", CELL_NUMBER}};

static void on_resent(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "resent", resent_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        const struct found *f = all.list.items[i]->tag;
        const struct send_reply_header *h = all.list.items[i]->heard.header;
        if (!job_good(j, all.list.items[i])) continue;
        row_text(t, message_key_of(j, &f->message));
        row_text(t, origin_topic(&f->message));
        if (h) row_number(t, h->queue_offset);
        else row_none(t);
    }
    outcome_line(&j->outcome, "%zu of %zu sent to their topics again", table_rows(t), all.list.count);
    job_end_with(j, &all);
}

static void resend_letters(struct job *j, const struct letters *l)
{
    size_t asked = 0;
    for (size_t i = 0; i < l->found.list.count; i++) {
        const struct found *f = &l->found.list.items[i];
        if ((f->message.sys_flag & SYS_FLAG_INNER_BATCH) || !origin_topic(&f->message).n) {
            outcome_line(&j->outcome, "%.*s cannot be sent by this command: it is a batch, or does not say its topic",
                         SLICE_ARG(message_key_of(j, &f->message)));
            j->bad = true;
            continue;
        }
        message_ask_resend(j, &f->broker, f, origin_topic(&f->message), f);
        asked++;
    }
    if (asked || j->bad) job_wait(j, on_resent);
    else job_fail(j, err_new(ERR_NOT_FOUND, l->only.p ? "group \"%.*s\" has no such dead letter" : "group \"%.*s\" has no dead letters",
                             SLICE_ARG(slice_skip(l->topic, 5))));
}

static void next_round(struct job *j);

static void on_round(struct job *j)
{
    struct letters *l = j->state;
    for (size_t i = 0; i < j->replies.list.count; i++) {
        const struct reply *r = j->replies.list.items[i];
        const struct pull_reply_header *h = r->heard.header;
        struct queue *q = (struct queue *)r->tag;
        struct founds some = {.list = {NULL, 0}};
        bool moved = h && h->next_begin_offset > q->next;
        if (!r->code) messages_add(j, &r->broker, r->body, &some);
        else if (!moved) job_good(j, r);
        q->next = moved ? h->next_begin_offset : q->end;
        for (size_t k = 0; k < some.list.count; k++) {
            if (l->only.p && !slice_eq(l->only, message_key_of(j, &some.list.items[k].message)) &&
                !slice_eq(l->only, message_property(&some.list.items[k].message, "DLQ_ORIGIN_MESSAGE_ID"))) continue;
            struct found *f = arena_list_add(job_arena(j), (void **)&l->found.list.items, &l->found.list.count, sizeof *f);
            if (f) *f = some.list.items[k];
        }
    }
    next_round(j);
}

static void ask_letters(struct job *j, struct queue *q)
{
    const struct letters *l = j->state;
    struct pull_header *h = job_take(j, sizeof *h);
    *h = (struct pull_header){.consumer_group = SLICE("TOOLS_CONSUMER"), .topic = l->topic, .queue_id = q->id, .queue_offset = q->next,
                              .max_msg_nums = PULL_AT_ONCE, .sys_flag = HAS_SUBSCRIPTION, .subscription = SLICE("*")};
    struct request r = {.code = REQUEST_PULL_MESSAGE, .kind = &pull_kind, .header = h, .heard_kind = &pull_reply_kind};
    job_ask(j, &q->broker, &r, q);
}

static void next_round(struct job *j)
{
    struct letters *l = j->state;
    size_t asked = 0;
    for (size_t i = 0; l->found.list.count < LETTERS_MOST && i < l->queues.count; i++) {
        if (l->queues.items[i].next >= l->queues.items[i].end) continue;
        ask_letters(j, &l->queues.items[i]);
        asked++;
    }
    if (asked) job_wait(j, on_round);
    else if (l->resend) resend_letters(j, l);
    else report_letters(j, l);
}

static void on_offsets(struct job *j)
{
    struct letters *l = j->state;
    struct replies all = j->replies;
    for (size_t i = 0; i < all.list.count; i++) {
        struct topic_stats s;
        if (!job_read(j, all.list.items[i], &topic_stats_bean, &s)) continue;
        for (size_t k = 0; k < s.queues.count; k++) {
            struct queue *q = arena_list_add(job_arena(j), (void **)&l->queues.items, &l->queues.count, sizeof *q);
            if (q) *q = (struct queue){all.list.items[i]->broker, s.queues.items[k].queue.queue_id, s.queues.items[k].min_offset,
                                       s.queues.items[k].max_offset};
        }
    }
    if (l->queues.count || !j->failures.list.count) next_round(j);
    else job_end_with(j, &all);
}

static void ask_offsets(struct job *j)
{
    const struct letters *l = j->state;
    struct topic_stats_header *h = job_take(j, sizeof *h);
    *h = (struct topic_stats_header){.topic = l->topic};
    struct request r = {.code = REQUEST_GET_TOPIC_STATS_INFO, .kind = &topic_stats_kind, .header = h};
    job_ask_all(j, &r, on_offsets);
}

static void on_route(struct job *j)
{
    const struct letters *l = j->state;
    if (j->route.brokers.count) job_masters(j, ask_offsets);
    else if (l->resend) resend_letters(j, l);
    else report_letters(j, l);
}

static void read_letters(struct job *j, bool again)
{
    struct letters *l = job_take(j, sizeof *l);
    *l = (struct letters){.topic = job_text(j, "%%DLQ%%%.*s", SLICE_ARG(job_param(j, "group"))), .only = job_param(j, "id"), .resend = again};
    j->state = l;
    if (again && !l->only.p && !param_has(j->params, "all")) job_fail(j, err_new(ERR_USAGE, "it needs a message's ID, or --all"));
    else job_route(j, l->topic, false, on_route);
}

static void show_letters(struct job *j) { read_letters(j, false); }
static void send_letters(struct job *j) { read_letters(j, true); }

static const struct param show_params[] = {{"group", NULL, PARAM_WORD, "GROUP", NULL}, {"id", NULL, PARAM_MORE, "ID", NULL},
                                           {.name = NULL}};
static const struct param resend_params[] = {
    {"group", NULL, PARAM_WORD, "GROUP", NULL},
    {"id", NULL, PARAM_MORE, "ID", NULL},
    {"all", NULL, PARAM_SWITCH, NULL, "all of the group's"},
    {.name = NULL},
};

const struct command dlq_commands[] = {
    {.name = "dlq list", .start = list_dead, .summary = "which groups have dead letters"},
    {.name = "dlq show", .params = show_params, .start = show_letters, .timeout_ms = 30000, .summary = "the dead letters of a group",
     .help = "Lists the messages that a group has given up, with the topic and message that each was. ID is one of either kind.\n\n"
             "Example:\n  skylark admin dlq show billing\n"},
    {.name = "dlq resend", .params = resend_params, .start = send_letters, .timeout_ms = 30000,
     .summary = "sends dead letters to their topics again",
     .help = "Sends dead letters of a group to the topics that they came from, as new messages: every group of that topic gets them. They stay among\n"
             "the dead letters, too.\n\nExample:\n  skylark admin dlq resend billing --all\n"},
    {.name = NULL},
};
