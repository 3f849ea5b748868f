/* Messages are sent: sendMessage, message send, message resend, dlq resend. */
#include "admin/message/message.h"

#include "codec/compress.h"
#include "codec/message_id.h"
#include "codec/properties.h"

enum { QUEUES_DEFAULT = 4 };

/* Of 16 digits of chance beside the time: two commands at the same moment have different ones. */
static struct slice new_key(struct job *j)
{
    char text[MESSAGE_ID_TEXT];
    uint64_t chance = random_u64(&j->random);
    struct unique_id id = {.client = {.ip = {127, 0, 0, 1}}, .process = (uint16_t)chance, .loader = (uint32_t)(chance >> 16),
                           .month_ms = (uint32_t)(j->now_ms - month_start_ms(j->now_ms)), .counter = (uint16_t)(chance >> 48)};
    return job_copy(j, slice_of(text, unique_id_format(&id, text)));
}

struct slice message_ask_send(struct job *j, const struct admin_broker *b, const struct sending *s, const void *tag)
{
    struct send_header *h = job_take(j, sizeof *h);
    struct slice key = new_key(j);
    struct buf properties = BUF_EMPTY;
    buf_put_slice(&properties, s->properties);
    properties_put(&properties, SLICE("UNIQ_KEY"), key);
    *h = (struct send_header){.producer_group = SLICE("skylark_admin"), .topic = s->topic, .default_topic = SLICE("TBW102"),
                              .default_topic_queue_nums = QUEUES_DEFAULT, .queue_id = s->queue_id, .born_timestamp = j->now_ms,
                              .reconsume_times = s->reconsume_times, .sys_flag = s->sys_flag};
    h->properties = job_copy(j, buf_slice(&properties));
    header_set(h, send, reconsume_times);
    buf_done(&properties);
    struct request r = {.code = REQUEST_SEND_MESSAGE_V2, .kind = &send_v2_kind, .header = h, .body = s->body,
                        .heard_kind = &send_reply_kind};
    job_ask(j, b, &r, tag);
    return key;
}

/* --- one message --- */

static const struct column sent_columns[] = {{"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"sendResult", CELL_TEXT},
                                             {"msgId", CELL_TEXT},
                                             {"queueOffset", CELL_NUMBER}};

static void on_sent(struct job *j)
{
    const struct reply *r = j->replies.list.items[0];
    const struct send_reply_header *h = r->heard.header;
    struct replies all = j->replies;
    if (r->code) {
        job_end_with(j, &all);
        return;
    }
    struct table *t = OUTCOME_TABLE(&j->outcome, "sent", sent_columns);
    row_text(t, r->broker.name);
    if (h) row_number(t, h->queue_id);
    else row_none(t);
    row_text(t, SLICE("SEND_OK"));
    row_text(t, *(const struct slice *)j->state);
    if (h) row_number(t, h->queue_offset);
    else row_none(t);
    job_end(j);
}

static err_t read_sending(struct job *j, struct sending *s)
{
    struct buf properties = BUF_EMPTY;
    struct slice keys = job_param(j, "key"), tags = job_param(j, "tags"), group = job_param(j, "messageGroup");
    *s = (struct sending){.topic = slice_trim(job_param(j, "topic")), .body = job_param(j, "body"), .queue_id = -1};
    if (keys.n) properties_put(&properties, SLICE("KEYS"), keys);
    if (tags.n) properties_put(&properties, SLICE("TAGS"), tags);
    if (group.n) properties_put(&properties, SLICE("__SHARDINGKEY"), group);
    properties_put(&properties, SLICE("WAIT"), SLICE("true"));
    s->properties = job_copy(j, buf_slice(&properties));
    buf_done(&properties);
    return param_i32(j->params, "qid", -1, &s->queue_id);
}

/* Of several masters one by chance, unless one was named. */
static const struct admin_broker *choose_broker(struct job *j)
{
    struct slice name = slice_trim(job_param(j, "broker"));
    size_t n = j->brokers.list.count;
    if (!name.p) return &j->brokers.list.items[random_u64(&j->random) % n].broker;
    for (size_t i = 0; i < n; i++)
        if (slice_eq(j->brokers.list.items[i].broker.name, name)) return &j->brokers.list.items[i].broker;
    return NULL;
}

static void ask_send(struct job *j)
{
    struct sending s;
    struct slice *key = job_take(j, sizeof *key);
    const struct admin_broker *b = choose_broker(j);
    err_t e = read_sending(j, &s);
    if (!e && !b)
        e = err_new(ERR_NOT_FOUND, "topic \"%.*s\" has no broker \"%.*s\"; 'skylark admin topic describe' shows its brokers",
                    SLICE_ARG(s.topic),
                    SLICE_ARG(job_param(j, "broker")));
    if (e) {
        job_fail(j, e);
        return;
    }
    *key = message_ask_send(j, b, &s, NULL);
    j->state = key;
    job_wait(j, on_sent);
}

/* "broker" is a name here, and no address. */
static void on_send_route(struct job *j) { job_masters(j, ask_send); }

static void send_message(struct job *j)
{
    if (param_has(j->params, "qid") && !param_has(j->params, "broker"))
        job_fail(j, err_new(ERR_USAGE, "a queue is of one broker: it needs the broker's name, too"));
    else job_route(j, slice_trim(job_param(j, "topic")), true, on_send_route);
}

static const struct param send_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "where to"},
    {"body", "p", PARAM_NEEDED, "TEXT", "what"},
    {"key", "k", PARAM_VALUE, "KEYS", "keys to find it by, separated by blanks"},
    {"tags", "c", PARAM_VALUE, "TAG", "its tag"},
    {"broker", "b", PARAM_VALUE, "NAME", "to this broker"},
    {"qid", "i", PARAM_VALUE, "N", "into this queue of the broker"},
    {"msgTraceEnable", "m", PARAM_VALUE, "BOOL", "is taken: no trace is sent"},
    {.name = NULL},
};
static const struct param short_send_params[] = {
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {"body", NULL, PARAM_WORD, "TEXT", NULL},
    {"key", NULL, PARAM_VALUE, "KEYS", "keys to find it by, separated by blanks"},
    {"tags", NULL, PARAM_VALUE, "TAG", "its tag"},
    {"messageGroup", NULL, PARAM_VALUE, "GROUP", "of a FIFO topic: what is in order with it"},
    {"qid", NULL, PARAM_VALUE, "N", "into this queue of the broker"},
    {"broker", NULL, PARAM_VALUE, "NAME", "to the broker of this name"},
    {.name = NULL},
};

/* --- the same message once more --- */

/* What belongs to one delivery, and not to the message. */
static bool is_of_delivery(struct slice name)
{
    static const char *const names[] = {"UNIQ_KEY", "MIN_OFFSET", "MAX_OFFSET", "REAL_TOPIC", "REAL_QID", "DELAY", "RECONSUME_TIME",
                                        "MAX_RECONSUME_TIMES",
        "CONSUME_START_TIME", "POP_CK", "1ST_POP_TIME", "TRAN_MSG", "PGROUP", "DLQ_ORIGIN_TOPIC", "DLQ_ORIGIN_MESSAGE_ID", "RETRY_TOPIC",
        "ORIGIN_MESSAGE_ID", "TIMER_DELAY_MS", "TIMER_DELAY_SEC", "TIMER_DELIVER_MS", "TIMER_OUT_MS", "INNER_NUM", "INNER_BASE", "__CRC32#"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (slice_eq(name, slice_text(names[i]))) return true;
    return false;
}

static struct slice kept_properties(struct job *j, const struct message *m)
{
    struct buf out = BUF_EMPTY;
    struct slice rest = m->properties, name, value;
    while (properties_next(&rest, &name, &value))
        if (!is_of_delivery(name)) properties_put(&out, name, value);
    struct slice kept = job_copy(j, buf_slice(&out));
    buf_done(&out);
    return kept;
}

struct slice message_ask_resend(struct job *j, const struct admin_broker *b, const struct found *f, struct slice topic, const void *tag)
{
    struct sending s = {.topic = topic, .body = f->message.body, .properties = kept_properties(j, &f->message), .queue_id = -1,
                        .sys_flag = f->message.sys_flag & (SYS_FLAG_COMPRESSED | SYS_FLAG_COMPRESSION_MASK)};
    return message_ask_send(j, b, &s, tag);
}

static void on_found(struct job *j)
{
    struct founds all = {.list = {NULL, 0}};
    struct slice topic = slice_trim(job_param(j, "topic"));
    for (size_t i = 0; i < j->replies.list.count; i++)
        if (!j->replies.list.items[i]->code) messages_add(j, &j->replies.list.items[i]->broker, j->replies.list.items[i]->body, &all);
    const struct found *f = all.list.count ? &all.list.items[0] : NULL;
    struct slice *key = job_take(j, sizeof *key);
    if (!f) {
        job_fail(j, err_new(ERR_NOT_FOUND, "no broker has a message \"%.*s\" of topic \"%.*s\"", SLICE_ARG(job_param(j, "id")),
                            SLICE_ARG(topic)));
        return;
    }
    if (f->message.sys_flag & SYS_FLAG_INNER_BATCH) {
        job_fail(j, err_new(ERR_NOT_SUPPORTED, "it is a batch: its producer has to send it again"));
        return;
    }
    *key = message_ask_resend(j, &f->broker, f, topic, NULL);
    j->state = key;
    job_wait(j, on_sent);
}

static void ask_original(struct job *j)
{
    struct query_message_header *h = job_take(j, sizeof *h);
    *h = (struct query_message_header){.topic = slice_trim(job_param(j, "topic")), .key = slice_trim(job_param(j, "id")), .max_num = 1,
                                       .end_timestamp = INT64_MAX, .unique_key_query = SLICE("true")};
    struct request r = {.code = REQUEST_QUERY_MESSAGE, .kind = &query_message_kind, .header = h};
    job_ask_all(j, &r, on_found);
}

static void resend(struct job *j) { job_topic_masters(j, slice_trim(job_param(j, "topic")), ask_original); }

static const struct param resend_params[] = {{"topic", NULL, PARAM_WORD, "TOPIC", NULL}, {"id", NULL, PARAM_WORD, "KEY", NULL},
                                             {.name = NULL}};

const struct command message_send_commands[] = {
    {.name = "message send", .params = short_send_params, .start = send_message, .summary = "sends a message",
     .help = "Sends one message to a topic.\n\nExample:\n  skylark admin message send Orders 'hello' --tags paid --key 4711\n"},
    {.name = "message resend", .params = resend_params, .start = resend,
     .summary = "sends a copy of a message to its topic: every group gets it",
     .help = "Sends a copy of a message, found by its unique key, to its topic once more, as a new message: every group gets it.\n\n"
             "Example:\n  skylark admin message resend Orders 7F0000010A1B2C3D4E5F000000000001\n"},
    {.name = "sendMessage", .params = send_params, .start = send_message, .summary = "sends a message"},
    {.name = NULL},
};
