/* What lies behind messages: queryCq, decodeMessageId, timer list, timer cancel. */
#include "admin/message/message.h"

#include "codec/body_queue_data.h"
#include "codec/message_id.h"
#include "codec/recall_handle.h"

enum { COUNT_DEFAULT = 10 };

/* --- entries of a consume queue --- */

static const struct column entry_columns[] = {{"index", CELL_NUMBER}, {"physicOffset", CELL_NUMBER}, {"physicSize", CELL_NUMBER},
                                              {"tagsCode", CELL_NUMBER}};

static void on_entries(struct job *j)
{
    const struct query_consume_queue_header *h = j->state;
    struct replies all = j->replies;
    struct queue_data_list list;
    if (!job_read(j, all.list.items[0], &queue_data_list_bean, &list)) {
        j->failures = (struct admin_failures){.list = {NULL, 0}};
        job_end_with(j, &all);
        return;
    }
    outcome_number(&j->outcome, "minQueueIndex", list.min_offset);
    outcome_number(&j->outcome, "maxQueueIndex", list.max_offset);
    struct table *t = OUTCOME_TABLE(&j->outcome, "queueData", entry_columns);
    for (size_t i = 0; i < list.entries.count; i++) {
        row_number(t, h->index + (int64_t)i);
        row_number(t, list.entries.items[i].log_offset);
        row_number(t, list.entries.items[i].size);
        row_number(t, list.entries.items[i].tag_hash);
    }
    job_end(j);
}

static void ask_entries(struct job *j)
{
    struct request r = {.code = REQUEST_QUERY_CONSUME_QUEUE, .kind = &query_consume_queue_kind, .header = j->state};
    job_ask(j, &j->brokers.list.items[0].broker, &r, NULL);
    job_wait(j, on_entries);
}

static void query_queue(struct job *j)
{
    struct query_consume_queue_header *h = job_take(j, sizeof *h);
    *h = (struct query_consume_queue_header){.topic = slice_trim(job_param(j, "topic")), .consumer_group = slice_trim(job_param(j, "consumer"))};
    err_t e = param_i32(j->params, "queue", 0, &h->queue_id);
    if (!e) e = param_i64(j->params, "index", 0, &h->index);
    if (!e) e = param_i32(j->params, "count", COUNT_DEFAULT, &h->count);
    j->state = h;
    if (e) job_fail(j, e);
    else job_topic_masters(j, h->topic, ask_entries);
}

static const struct param queue_params[] = {
    {"topic", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"queue", "q", PARAM_NEEDED, "N", "the queue"},
    {"index", "i", PARAM_NEEDED, "N", "the first entry's offset"},
    {"count", "c", PARAM_VALUE, "N", "entries (default 10)"},
    {"broker", "b", PARAM_VALUE, "ADDR", "of this broker (default: the first of the topic's)"},
    {"consumer", "g", PARAM_VALUE, "GROUP", "with what this group subscribes to"},
    {.name = NULL},
};

/* --- ids --- */

static void decode_id(struct job *j)
{
    struct addr host;
    int64_t offset;
    struct unique_id u;
    struct slice id = slice_trim(job_param(j, "messageId"));
    err_t e = offset_id_parse(id, &host, &offset), not_unique = unique_id_parse(id, &u);
    if (e && not_unique) {
        err_free(not_unique);   /* one is told for both */
        job_fail(j, e);
        return;
    }
    if (!e) {
        outcome_text(&j->outcome, SLICE("storeHost"), addr_text_of(j, &host));
        outcome_number(&j->outcome, "commitLogOffset", offset);
    }
    if (!not_unique) {
        u.client.port = 0;
        outcome_line(&j->outcome, "read as a unique key, which looks alike:");
        struct slice text = addr_text_of(j, &u.client);
        outcome_text(&j->outcome, SLICE("clientHost"), slice_of(text.p, text.n - 2));   /* without ":0" */
        outcome_number(&j->outcome, "processId", u.process);
        outcome_number(&j->outcome, "counter", u.counter);
    }
    err_free(e);
    err_free(not_unique);
    job_end(j);
}

static const struct param id_params[] = {{"messageId", "i", PARAM_NEEDED, "ID", "an offset id"}, {.name = NULL}};

/* --- messages that wait for a time --- */

static const struct column timer_columns[] = {{"topic", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"waiting", CELL_NUMBER},
                                              {"timestamp", CELL_TIME}};

static void put_timers(struct job *j, struct table *t, const struct reply *r)
{
    struct json s;
    json_begin(&s, r->body, job_arena(j));
    if (json_object(&s))
        while (json_next(&s)) {
            if (!slice_eq(json_key(&s), SLICE("timingCount")) || !json_object(&s)) {
                if (json_ok(&s)) json_skip(&s);
                continue;
            }
            while (json_next(&s)) {
                struct slice topic = json_key(&s);
                int64_t count = 0, at = 0;
                if (!json_object(&s)) break;
                while (json_next(&s)) {
                    struct slice key = json_key(&s);
                    if (slice_eq(key, SLICE("count"))) count = json_i64(&s);
                    else if (slice_eq(key, SLICE("timeStamp"))) at = json_i64(&s);
                    else json_skip(&s);
                }
                row_text(t, job_copy(j, topic));
                row_text(t, r->broker.name);
                row_number(t, count);
                row_time(t, at);
            }
        }
    err_free(json_end(&s, "timer metrics"));   /* what could be read is shown */
}

static void on_timers(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "timers", timer_columns);
    for (size_t i = 0; i < all.list.count; i++)
        if (job_good(j, all.list.items[i])) put_timers(j, t, all.list.items[i]);
    table_sort(t, 2);
    job_end_with(j, &all);
}

static void ask_timers(struct job *j)
{
    struct request r = {.code = REQUEST_GET_TIMER_METRICS};
    job_ask_all(j, &r, on_timers);
}

static void list_timers(struct job *j) { job_brokers(j, ask_timers); }

static void on_recalled(struct job *j)
{
    struct replies all = j->replies;
    const struct reply *r = all.list.items[0];
    const struct recall_reply_header *h = r->heard.header;
    if (r->code) {
        job_end_with(j, &all);
        return;
    }
    outcome_line(&j->outcome, "it will not be delivered");
    if (h) outcome_text(&j->outcome, SLICE("msgId"), h->msg_id);
    job_end(j);
}

static void ask_recall(struct job *j)
{
    struct recall_header *h = j->state;
    struct buf plain = BUF_EMPTY;
    struct recall_handle handle;
    struct admin_broker b = {.name = {NULL, 0}};
    if (recall_handle_decode(h->recall_handle, &plain, &handle))
        b = (struct admin_broker){.name = job_copy(j, handle.broker), .address = job_address_of(j, handle.broker)};
    buf_done(&plain);
    struct request r = {.code = REQUEST_RECALL_MESSAGE, .kind = &recall_kind, .header = h, .heard_kind = &recall_reply_kind};
    if (!b.name.p) {
        job_fail(j, err_new(ERR_USAGE, "HANDLE is what the producer was given when it sent the message (recallHandle)"));
    } else if (!b.address.p) {
        job_fail(j, err_new(ERR_NOT_FOUND, "topic \"%.*s\" has no broker \"%.*s\", which the handle names", SLICE_ARG(j->topic),
                            SLICE_ARG(b.name)));
    } else {
        job_ask(j, &b, &r, NULL);
        job_wait(j, on_recalled);
    }
}

static void cancel_timer(struct job *j)
{
    struct recall_header *h = job_take(j, sizeof *h);
    *h = (struct recall_header){.topic = slice_trim(job_param(j, "topic")), .recall_handle = slice_trim(job_param(j, "handle")), .producer_group = SLICE("skylark_admin")};
    j->state = h;
    job_route(j, h->topic, true, ask_recall);
}

static const struct param cancel_params[] = {{"topic", NULL, PARAM_WORD, "TOPIC", NULL}, {"handle", NULL, PARAM_WORD, "HANDLE", NULL},
                                             {.name = NULL}};

const struct command message_queue_commands[] = {
    {.name = "timer list", .start = list_timers, .summary = "how many messages of each topic wait for their time"},
    {.name = "timer cancel", .params = cancel_params, .start = cancel_timer, .summary = "takes a message back that waits for its time",
     .help = "Takes a message back before its time. HANDLE is what its producer was given when it sent it (recallHandle).\n\n"
             "Example:\n  skylark admin timer cancel Reminders djEgUmVtaW5kZXJzIGItMSAxNzk2MDQyNDQ1MDcwIDdGMDA=\n"},
    {.name = "queryCq", .params = queue_params, .start = query_queue, .summary = "entries of a consume queue"},
    {.name = "decodeMessageId", .params = id_params, .start = decode_id, .summary = "what an offset id is made of"},
    {.name = NULL},
};
