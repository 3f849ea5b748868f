/* skylark admin why queue | message | send */
#include "admin/command.h"

/* --- printing --- */

static void put_facts(const struct admin_reason *r, struct buf *out)
{
    struct grid g;
    grid_init(&g, 2);
    grid_text(&g, SLICE("broker"));
    grid_broker(&g, &r->broker);
    for (size_t i = 0; i < r->why.facts.count; i++) {
        grid_text(&g, r->why.facts.items[i].key);
        grid_text(&g, r->why.facts.items[i].value);
    }
    grid_print(&g, out);
    grid_done(&g);
}

static void put_copies(const struct admin_reason *r, struct buf *out)
{
    static const char *const heads[] = {"place", "topic", "queueId", "queueOffset", "commitLogOffset", "storeTimestamp", "dueTimestamp",
                                        "reconsumeTimes"};
    struct grid g;
    if (!r->why.copies.count) return;
    grid_init(&g, sizeof heads / sizeof *heads);
    for (size_t i = 0; i < g.columns; i++) grid_text(&g, slice_text(heads[i]));
    for (size_t i = 0; i < r->why.copies.count; i++) {
        const struct why_copy *c = &r->why.copies.items[i];
        grid_text(&g, c->place);
        grid_text(&g, c->topic);
        grid_i64(&g, c->queue_id);
        grid_i64(&g, c->queue_offset);
        grid_i64(&g, c->log_offset);
        grid_time(&g, c->store_ms);
        grid_time(&g, c->due_ms);
        grid_i64(&g, c->reconsume_times);
    }
    buf_put_u8(out, '\n');
    grid_print(&g, out);
    grid_done(&g);
}

static void put_reasons(const struct invocation *in, struct buf *out)
{
    const struct admin_reasons *all = &in->results.reasons;
    for (size_t i = 0; i < all->list.count; i++) {
        if (i) buf_put_u8(out, '\n');
        put_line(out, all->list.items[i].why.sentence);
        buf_put_u8(out, '\n');
        put_facts(&all->list.items[i], out);
        put_copies(&all->list.items[i], out);
    }
}

/* Members of an object. */
static void put_reason_json(const struct admin_reason *r, struct json_out *w)
{
    json_put_member(w, "sentence", r->why.sentence);
    json_put_broker(w, &r->broker);
    json_put_key(w, SLICE("facts"));
    json_put_object(w);
    for (size_t i = 0; i < r->why.facts.count; i++) {
        json_put_key(w, r->why.facts.items[i].key);
        json_put_text(w, r->why.facts.items[i].value);
    }
    json_put_object_end(w);
    if (!r->why.copies.count) return;
    json_put_key(w, SLICE("copies"));
    json_put_array(w);
    for (size_t i = 0; i < r->why.copies.count; i++) bean_write(w, &why_copy_bean, &r->why.copies.items[i]);
    json_put_array_end(w);
}

static void put_one_json(const struct invocation *in, struct json_out *w)
{
    const struct admin_reasons *all = &in->results.reasons;
    if (all->list.count) put_reason_json(&all->list.items[0], w);
    json_put_failures(w, &all->failures);
}

static void put_each_json(const struct invocation *in, struct json_out *w)
{
    const struct admin_reasons *all = &in->results.reasons;
    json_put_key(w, SLICE("brokers"));
    json_put_array(w);
    for (size_t i = 0; i < all->list.count; i++) {
        json_put_object(w);
        put_reason_json(&all->list.items[i], w);
        json_put_object_end(w);
    }
    json_put_array_end(w);
    json_put_failures(w, &all->failures);
}

static const struct admin_failures *failures(const union results *r) { return &r->reasons.failures; }

static const struct command_hint topic_hints[] = {
    {ERR_TOPIC_NOT_FOUND, "'skylark admin why send TOPIC' says whether a send would make it"},
    {ERR_NONE, NULL},
};

/* --- why queue --- */

static err_t begin_queue(struct invocation *in)
{
    struct why_queue_header *h = &in->header.why_queue;
    *h = (struct why_queue_header){.consumer_group = command_param(in, "group"), .topic = command_param(in, "topic")};
    err_t e = command_number("QUEUE", command_param(in, "queue"), &h->queue_id);
    if (!e) admin_why_queue(in->admin, h, command_param(in, "broker-name"), &in->results.reasons, command_done, in);
    return e;
}

static const struct param queue_params[] = {
    {"group", NULL, PARAM_WORD, "GROUP", NULL},
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {"queue", NULL, PARAM_WORD, "QUEUE", NULL},
    {"broker-name", NULL, PARAM_VALUE, "NAME", "the broker whose queue is meant, when several have one with this number"},
    {.name = NULL},
};

static const struct command_hint queue_hints[] = {
    {ERR_TOPIC_NOT_FOUND, "'skylark admin why send TOPIC' says whether a send would make it"},
    {ERR_USAGE, "choose one with --broker-name"},
    {ERR_NONE, NULL},
};

/* --- why message --- */

static err_t begin_message(struct invocation *in)
{
    struct why_message_header *h = &in->header.why_message;
    *h = (struct why_message_header){.topic = command_param(in, "topic"), .unique_key = command_param(in, "key"),
                                       .consumer_group = command_param(in, "group")};
    admin_why_message(in->admin, h, &in->results.reasons, command_done, in);
    return NULL;
}

static const struct param message_params[] = {
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {"key", NULL, PARAM_WORD, "KEY", NULL},
    {"group", NULL, PARAM_MORE, "GROUP", NULL},
    {.name = NULL},
};

/* --- why send --- */

static err_t begin_send(struct invocation *in)
{
    in->header.why_send = (struct why_send_header){.topic = command_param(in, "topic")};
    admin_why_send(in->admin, &in->header.why_send, &in->results.reasons, command_done, in);
    return NULL;
}

static const struct param send_params[] = {
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {.name = NULL},
};

const struct command why_commands[] = {
    {
        .name = "why queue", .params = queue_params, .hints = queue_hints,
        .summary = "why a queue does not move for a consumer group",
        .help = "Asks the broker that has the queue why it does not move for a consumer group: the reason in one sentence, then what it follows from.\n\n"
                "Example:\n  skylark admin why queue billing Orders 0\n",
        .begin = begin_queue, .print = put_reasons, .print_json = put_one_json,
    },
    {
        .name = "why message", .params = message_params,
        .summary = "where a message is, and why a group did not get it",
        .help = "Asks every master of the topic where the message with this unique key (the msgId that a producer is given) lies: in its topic, waiting for\n"
                "its time, prepared in a transaction, to be tried again, a dead letter; with GROUP also why the group did not get it. The broker that has\n"
                "the newest copy answers.\n\n"
                "Examples:\n  skylark admin why message Orders 7F0000010A1B2C3D4E5F000000000001\n"
                "  skylark admin why message Orders 7F0000010A1B2C3D4E5F000000000001 billing --json\n",
        .hints = topic_hints, .begin = begin_message, .print = put_reasons, .print_json = put_one_json, .failures = failures,
    },
    {
        .name = "why send", .params = send_params,
        .summary = "why a send to a topic is refused",
        .help = "Asks each master of the topic whether it would take a message, and which one it refused last. For a topic that no broker has, all masters\n"
                "are asked: they say whether a send would make it.\n\n"
                "Example:\n  skylark admin why send Orders\n",
        .begin = begin_send, .print = put_reasons, .print_json = put_each_json, .failures = failures,
    },
    {.name = NULL},
};
