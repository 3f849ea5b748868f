/* skylark admin transaction list | resume */
#include "admin/command.h"

static const struct param list_params[] = {
    {"topic", NULL, PARAM_VALUE, "TOPIC", "only those of messages for this topic"},
    {"group", NULL, PARAM_VALUE, "GROUP", "only those of this producer group"},
    {.name = NULL},
};

static err_t begin_list(struct invocation *in)
{
    admin_transaction_list(in->admin, command_param(in, "topic"), command_param(in, "group"), &in->results.transactions, command_done, in);
    return NULL;
}

static void put_list(const struct invocation *in, struct buf *out)
{
    static const char *const heads[] = {"broker", "topic", "queueId", "producerGroup", "bornTimestamp", "checkTimes", "uniqKey", "msgId"};
    const struct admin_transactions *all = &in->results.transactions;
    struct grid g;
    if (command_param(in, "topic").p || command_param(in, "group").p)
        buf_printf(out, "%zu of %lld open transactions\n", all->list.count, (long long)all->open);
    else if (all->list.count == 1) buf_put_text(out, "1 open transaction\n");
    else buf_printf(out, "%zu open transactions\n", all->list.count);
    if (!all->list.count) return;
    grid_init(&g, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < g.columns; i++) grid_text(&g, slice_text(heads[i]));
    for (size_t i = 0; i < all->list.count; i++) {
        const struct admin_transaction *t = &all->list.items[i];
        grid_broker(&g, &t->broker);
        grid_text(&g, t->row.topic);
        grid_i64(&g, t->row.queue_id);
        grid_text(&g, t->row.group);
        grid_time(&g, t->row.born_ms);
        grid_i64(&g, t->row.checks);
        grid_text(&g, t->row.key);
        grid_text(&g, t->message_id);
    }
    buf_put_u8(out, '\n');
    grid_print(&g, out);
    grid_done(&g);
}

static void put_list_json(const struct invocation *in, struct json_out *w)
{
    const struct admin_transactions *all = &in->results.transactions;
    json_put_number(w, "open", all->open);
    json_put_key(w, SLICE("transactions"));
    json_put_array(w);
    for (size_t i = 0; i < all->list.count; i++) {
        const struct admin_transaction *t = &all->list.items[i];
        json_put_object(w);
        json_put_broker(w, &t->broker);
        json_put_member(w, "topic", t->row.topic);
        json_put_number(w, "queueId", t->row.queue_id);
        json_put_member(w, "producerGroup", t->row.group);
        json_put_number(w, "bornTimestamp", t->row.born_ms);
        json_put_number(w, "checkTimes", t->row.checks);
        json_put_member(w, "uniqKey", t->row.key);
        json_put_member(w, "msgId", t->message_id);
        json_put_number(w, "queueOffset", t->row.queue_offset);
        json_put_number(w, "commitLogOffset", t->row.log_offset);
        json_put_object_end(w);
    }
    json_put_array_end(w);
    json_put_failures(w, &all->failures);
}

static const struct admin_failures *failures(const union results *r) { return &r->transactions.failures; }

/* --- transaction resume --- */

static err_t begin_resume(struct invocation *in)
{
    admin_transaction_resume(in->admin, command_param(in, "topic"), command_param(in, "id"), &in->results.resumed, command_done, in);
    return NULL;
}

static void put_resumed(const struct invocation *in, struct buf *out)
{
    const struct admin_resumed *r = &in->results.resumed;
    struct grid g;
    buf_put_text(out, "its producer is asked for the outcome again, from the first time on\n\n");
    grid_init(&g, 2);
    grid_text(&g, SLICE("broker"));
    grid_broker(&g, &r->broker);
    grid_text(&g, SLICE("msgId"));
    grid_text(&g, r->message_id);
    grid_print(&g, out);
    grid_done(&g);
}

static void put_resumed_json(const struct invocation *in, struct json_out *w)
{
    json_put_broker(w, &in->results.resumed.broker);
    json_put_member(w, "msgId", in->results.resumed.message_id);
}

static const struct command_hint resume_hints[] = {
    {ERR_NOT_FOUND, "'skylark admin transaction list' shows those that are open"},
    {ERR_REFUSED, "'skylark admin transaction list' shows those that are open"},
    {ERR_NONE, NULL},
};

static const struct param resume_params[] = {
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {"id", NULL, PARAM_WORD, "MSGID", NULL},
    {.name = NULL},
};

const struct command transaction_commands[] = {
    {
        .name = "transaction list", .params = list_params,
        .summary = "transactions that are open: neither committed nor rolled back",
        .help = "Lists the half messages of all masters that are neither committed nor rolled back, the oldest of each broker first. checkTimes says how often\n"
                "the producer was asked for the outcome.\n\n"
                "Examples:\n  skylark admin transaction list\n  skylark admin transaction list --topic Orders --group shop --json\n",
        .begin = begin_list, .print = put_list, .print_json = put_list_json, .failures = failures,
    },
    {
        .name = "transaction resume", .params = resume_params,
        .summary = "has a producer asked for the outcome again, from the first time on",
        .help = "Has the producer of a half message asked for the outcome again, as if it had never been asked; also of one that was given up after too many\n"
                "times. MSGID is its unique key or its message id, as 'skylark admin transaction list' shows them; of one that was given up, its message\n"
                "id in topic TRANS_CHECK_MAX_TIME_TOPIC.\n\n"
                "Example:\n  skylark admin transaction resume Orders 7F0000010A1B2C3D4E5F000000000001\n",
        .hints = resume_hints, .begin = begin_resume, .print = put_resumed, .print_json = put_resumed_json,
    },
    {.name = NULL},
};
