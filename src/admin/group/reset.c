/* Groups go on elsewhere: resetOffsetByTime, skipAccumulatedMessage, cloneGroupOffset, group reset-offset, group clone. */
#include "admin/group/group.h"

/* --- a time, or an offset --- */

static const struct column offset_columns[] = {{"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"offset", CELL_NUMBER}};

static void on_reset(struct job *j)
{
    const struct reset_offset_header *h = j->state;
    struct replies all = j->replies;
    outcome_line(&j->outcome, "%s", h->dry_run ? "this is where the group would go on; nothing was changed" : "the group goes on there");
    struct table *t = OUTCOME_TABLE(&j->outcome, "queues", offset_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        struct offset_table table;
        if (!job_read(j, all.list.items[i], &offset_table_bean, &table)) continue;
        for (size_t k = 0; k < table.queues.count; k++) {
            row_text(t, table.queues.items[k].queue.broker);
            row_number(t, table.queues.items[k].queue.queue_id);
            row_number(t, table.queues.items[k].offset);
        }
    }
    table_sort(t, 2);
    job_end_with(j, &all);
}

static void ask_reset(struct job *j)
{
    struct request r = {.code = REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, .kind = &reset_offset_kind, .header = j->state};
    job_ask_all(j, &r, on_reset);
}

static struct reset_offset_header *new_reset(struct job *j)
{
    struct reset_offset_header *h = job_take(j, sizeof *h);
    *h = (struct reset_offset_header){.group = group_name(j), .topic = slice_trim(job_param(j, "topic")), .is_force = true, .timestamp = -1};
    j->state = h;
    return h;
}

static void find_and_reset(struct job *j, err_t e)
{
    const struct reset_offset_header *h = j->state;
    if (e) job_fail(j, e);
    else if (param_has(j->params, "cluster") || param_has(j->params, "broker")) job_brokers(j, ask_reset);
    else job_topic_masters(j, h->topic, ask_reset);
}

static err_t read_place(struct job *j, struct reset_offset_header *h)
{
    err_t e = NULL;
    if (param_has(j->params, "queue")) {
        header_set(h, reset_offset, queue_id);
        e = param_i32(j->params, "queue", -1, &h->queue_id);
    }
    if (!e && param_has(j->params, "offset")) {
        header_set(h, reset_offset, offset);
        e = param_i64(j->params, "offset", -1, &h->offset);
    }
    if (!e && param_has(j->params, "offset") && !param_has(j->params, "queue"))
        e = err_new(ERR_USAGE, "an offset is of one queue: it needs the queue, too");
    return e;
}

static void reset_by_time(struct job *j)
{
    struct reset_offset_header *h = new_reset(j);
    err_t e = param_time(j->params, "timestamp", j->now_ms, -1, &h->timestamp);
    if (!e) e = param_bool(j->params, "force", true, &h->is_force);
    find_and_reset(j, e ? e : read_place(j, h));
}

static void skip_all(struct job *j)
{
    struct reset_offset_header *h = new_reset(j);
    find_and_reset(j, param_bool(j->params, "force", true, &h->is_force));
}

static void reset_short(struct job *j)
{
    struct reset_offset_header *h = new_reset(j);
    err_t e = param_time(j->params, "to", j->now_ms, -1, &h->timestamp);
    if (!e && !param_has(j->params, "to") && !param_has(j->params, "offset"))
        e = err_new(ERR_USAGE, "it needs --to TIME, or --queue N --offset N");
    h->dry_run = param_has(j->params, "dry-run");
    if (h->dry_run) header_set(h, reset_offset, dry_run);
    find_and_reset(j, e ? e : read_place(j, h));
}

static const struct param time_params[] = {
    {"group", "g", PARAM_NEEDED, "GROUP", "the group"},
    {"topic", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"timestamp", "s", PARAM_NEEDED, "TIME", "now, -1 for the end, ms since 1970, or yyyy-MM-dd#HH:mm:ss:SSS (UTC)"},
    {"force", "f", PARAM_VALUE, "BOOL", "also forwards, for consumers that do it themselves (default true)"},
    {"cluster", "c", PARAM_VALUE, "CLUSTER", "on the masters of this cluster, whatever the route says"},
    {"broker", "b", PARAM_VALUE, "ADDR", "on this broker"},
    {"queue", "q", PARAM_VALUE, "N", "this queue alone"},
    {"offset", "o", PARAM_VALUE, "N", "to this offset of the queue"},
    {.name = NULL},
};

static const struct param skip_params[] = {
    {"group", "g", PARAM_NEEDED, "GROUP", "the group"},
    {"topic", "t", PARAM_NEEDED, "TOPIC", "the topic"},
    {"force", "f", PARAM_VALUE, "BOOL", "as for resetOffsetByTime"},
    {"cluster", "c", PARAM_VALUE, "CLUSTER", "on the masters of this cluster, whatever the route says"},
    {.name = NULL},
};

static const struct param reset_params[] = {
    {"group", NULL, PARAM_WORD, "GROUP", NULL},
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {"to", NULL, PARAM_VALUE, "TIME", "beginning, end, now, -2h, ms since 1970, 2026-11-30T12:00:00 (UTC)"},
    {"queue", NULL, PARAM_VALUE, "N", "this queue alone"},
    {"offset", NULL, PARAM_VALUE, "N", "to this offset of the queue"},
    {"dry-run", NULL, PARAM_SWITCH, NULL, "says where the group would go on, and changes nothing"},
    {"cluster", NULL, PARAM_VALUE, "CLUSTER", "on the masters of this cluster alone"},
    {.name = NULL},
};

/* --- a group begins where another one is --- */

static const struct column clone_columns[] = {{"topic", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER},
                                              {"offset", CELL_NUMBER}};

static void on_cloned(struct job *j)
{
    struct replies all = j->replies;
    struct table *t = OUTCOME_TABLE(&j->outcome, "queues", clone_columns);
    for (size_t i = 0; i < all.list.count; i++) {
        const struct consume_offsets *q = all.list.items[i]->tag;
        if (!job_good(j, all.list.items[i])) continue;
        row_text(t, q->queue.topic);
        row_text(t, q->queue.broker);
        row_number(t, q->queue.queue_id);
        row_number(t, q->consumer_offset);
    }
    table_sort(t, 3);
    job_end_with(j, &all);
}

static void set_offset(struct job *j, const struct admin_broker *b, const struct consume_offsets *q)
{
    struct update_offset_header *h = job_take(j, sizeof *h);
    *h = (struct update_offset_header){.topic = q->queue.topic, .queue_id = q->queue.queue_id, .commit_offset = q->consumer_offset,
                                       .consumer_group = slice_trim(job_param(j, "destGroup"))};
    struct request r = {.code = REQUEST_UPDATE_CONSUMER_OFFSET, .kind = &update_offset_kind, .header = h};
    job_ask(j, b, &r, q);
}

static void on_source(struct job *j)
{
    struct replies all = j->replies;
    size_t queues = 0;
    for (size_t i = 0; i < all.list.count; i++) {
        struct consume_stats *s = job_take(j, sizeof *s);
        if (!job_read(j, all.list.items[i], &consume_stats_bean, s)) continue;
        for (size_t k = 0; k < s->queues.count; k++, queues++) set_offset(j, &all.list.items[i]->broker, &s->queues.items[k]);
    }
    if (queues) {
        job_wait(j, on_cloned);
        return;
    }
    OUTCOME_TABLE(&j->outcome, "queues", clone_columns);
    job_end_with(j, &all);
}

static void ask_source(struct job *j) { group_ask_progress(j, slice_trim(job_param(j, "srcGroup")), slice_trim(job_param(j, "topic")),
                                                           on_source); }

static void clone_offsets(struct job *j)
{
    if (slice_eq(slice_trim(job_param(j, "srcGroup")), slice_trim(job_param(j, "destGroup"))))
        job_fail(j, err_new(ERR_USAGE, "the two groups are the same"));
    else job_topic_masters(j, slice_trim(job_param(j, "topic")), ask_source);
}

static const struct param clone_params[] = {
    {"srcGroup", "s", PARAM_NEEDED, "GROUP", "whose offsets are copied"},
    {"destGroup", "d", PARAM_NEEDED, "GROUP", "which gets them"},
    {"topic", "t", PARAM_NEEDED, "TOPIC", "of this topic"},
    {"offline", "o", PARAM_VALUE, "BOOL", "is taken and has no effect, as with mqadmin"},
    {.name = NULL},
};

static const struct param short_clone_params[] = {
    {"srcGroup", NULL, PARAM_WORD, "GROUP", NULL},
    {"destGroup", NULL, PARAM_WORD, "NEWGROUP", NULL},
    {"topic", NULL, PARAM_WORD, "TOPIC", NULL},
    {.name = NULL},
};

const struct command group_reset_commands[] = {
    {.name = "group reset-offset", .params = reset_params, .start = reset_short,
     .summary = "has a group go on at another time or offset",
     .help = "Has a group go on at the first message of a time, or at an offset of one queue. Members that are online follow at their next pull.\n\n"
             "Examples:\n  skylark admin group reset-offset billing Orders --to -2h --dry-run\n"
             "  skylark admin group reset-offset billing Orders --queue 0 --offset 4711\n"},
    {.name = "group clone", .params = short_clone_params, .start = clone_offsets,
     .summary = "has a group begin where another one is",
     .help = "Copies the offsets of a group for a topic to another group, which goes on from there.\n\n"
             "Example:\n  skylark admin group clone billing billing-new Orders\n"},
    {.name = "resetOffsetByTime", .params = time_params, .start = reset_by_time, .summary = "has a group go on at a time"},
    {.name = "skipAccumulatedMessage", .params = skip_params, .start = skip_all, .summary = "has a group go on at the end of all queues"},
    {.name = "cloneGroupOffset", .params = clone_params, .start = clone_offsets, .summary = "copies the offsets of a group to another one"},
    {.name = NULL},
};
