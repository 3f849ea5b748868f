/* What mqadmin does with a message that it found: a member of a group consumes it at once, or a copy is sent. */
#include "admin/message/message.h"

#include "codec/body_guests.h"
#include "codec/body_running.h"

struct direct {
    const struct found *found;
    struct table **rows;
    job_phase *next;
    void *outer;                        /* j->state of who asked */
    struct slice key;                   /* of the copy */
    struct running_info_header running;
    struct consume_directly_header consume;
};

static struct direct *new_direct(struct job *j, const struct found *f, struct table **rows, job_phase *next)
{
    struct direct *d = job_take(j, sizeof *d);
    *d = (struct direct){.found = f, .rows = rows, .next = next, .outer = j->state};
    j->state = d;
    return d;
}

static void go_on(struct job *j)
{
    struct direct *d = j->state;
    j->state = d->outer;
    d->next(j);
}

/* --- consumed at once --- */

static const struct column consumed_columns[] = {
    {"msgId", CELL_TEXT}, {"clientId", CELL_TEXT}, {"consumeResult", CELL_TEXT}, {"order", CELL_FLAG}, {"autoCommit", CELL_FLAG},
    {"spentTimeMills", CELL_NUMBER}, {"remark", CELL_TEXT},
};
static const char *const outcomes[] = {"CR_SUCCESS", "CR_LATER", "CR_ROLLBACK", "CR_COMMIT", "CR_THROW_EXCEPTION", "CR_RETURN_NULL"};

static void put_consumed(struct job *j, const struct direct *d, const struct consume_result *r)
{
    bool known = r->outcome >= 0 && (size_t)r->outcome < sizeof outcomes / sizeof *outcomes;
    if (!*d->rows) *d->rows = OUTCOME_TABLE(&j->outcome, "consumed", consumed_columns);
    row_text(*d->rows, message_key_of(j, &d->found->message));
    row_text(*d->rows, d->consume.client_id);
    row_text(*d->rows, known ? slice_text(outcomes[r->outcome]) : (struct slice){NULL, 0});
    row_flag(*d->rows, r->order);
    row_flag(*d->rows, r->auto_commit);
    row_number(*d->rows, r->spent_ms);
    row_text(*d->rows, r->remark);
    j->bad |= r->outcome != CONSUMED && r->outcome != CONSUME_COMMIT;
}

static void on_consumed(struct job *j)
{
    const struct direct *d = j->state;
    struct consume_result r;
    if (job_read(j, j->replies.list.items[0], &consume_result_bean, &r)) put_consumed(j, d, &r);
    go_on(j);
}

static bool is_pushed(const struct client_running *info)
{
    for (size_t i = 0; i < info->properties.count; i++)
        if (slice_eq(info->properties.items[i].key, SLICE("PROP_CONSUME_TYPE")))
            return slice_eq(info->properties.items[i].value, SLICE("CONSUME_PASSIVELY"));
    return true;   /* clients over gRPC say nothing of it; whoever cannot do it says so */
}

static void on_member(struct job *j)
{
    struct direct *d = j->state;
    struct client_running info;
    struct replies all = j->replies;
    if (all.list.items[0]->code) {
        job_end_with(j, &all);
        return;
    }
    if (job_read(j, all.list.items[0], &client_running_bean, &info) && !is_pushed(&info)) {
        job_fail(j, err_new(ERR_NOT_SUPPORTED, "%.*s is no push consumer: it takes messages when it wants to", SLICE_ARG(d->consume.client_id)));
        return;
    }
    struct request r = {.code = REQUEST_CONSUME_MESSAGE_DIRECTLY, .kind = &consume_directly_kind, .header = &d->consume};
    job_ask(j, &d->found->broker, &r, NULL);
    job_wait(j, on_consumed);
}

void message_consume_directly(struct job *j, const struct found *f, struct table **t, job_phase *next)
{
    struct direct *d = new_direct(j, f, t, next);
    struct slice client = slice_trim(job_param(j, "clientId")), group = slice_trim(job_param(j, "consumerGroup"));
    d->running = (struct running_info_header){.client_id = client, .consumer_group = group};
    header_set(&d->running, running_info, jstack_enable);
    d->consume = (struct consume_directly_header){.client_id = client, .consumer_group = group, .topic = f->message.topic,
                                                  .msg_id = message_offset_id(j, &f->message), .broker_name = f->broker.name};
    struct request r = {.code = REQUEST_GET_CONSUMER_RUNNING_INFO, .kind = &running_info_kind, .header = &d->running};
    job_ask(j, &f->broker, &r, NULL);
    job_wait(j, on_member);
}

/* --- sent again --- */

static const struct column sent_columns[] = {
    {"originalMsgId", CELL_TEXT}, {"brokerName", CELL_TEXT}, {"queueId", CELL_NUMBER}, {"sendResult", CELL_TEXT}, {"msgId", CELL_TEXT},
    {"queueOffset", CELL_NUMBER},
};

static void on_sent(struct job *j)
{
    const struct direct *d = j->state;
    const struct reply *r = j->replies.list.items[0];
    const struct send_reply_header *h = r->heard.header;
    if (job_good(j, r)) {
        if (!*d->rows) *d->rows = OUTCOME_TABLE(&j->outcome, "sent", sent_columns);
        row_text(*d->rows, message_key_of(j, &d->found->message));
        row_text(*d->rows, r->broker.name);
        if (h) row_number(*d->rows, h->queue_id);
        else row_none(*d->rows);
        row_text(*d->rows, SLICE("SEND_OK"));
        row_text(*d->rows, d->key);
        if (h) row_number(*d->rows, h->queue_offset);
        else row_none(*d->rows);
    }
    go_on(j);
}

void message_send_again(struct job *j, const struct found *f, struct table **t, job_phase *next)
{
    if (f->message.sys_flag & SYS_FLAG_INNER_BATCH) {
        job_fail(j, err_new(ERR_NOT_SUPPORTED, "it is a batch: its producer has to send it again"));
        return;
    }
    struct direct *d = new_direct(j, f, t, next);
    d->key = message_ask_resend(j, &f->broker, f, f->message.topic, NULL);
    job_wait(j, on_sent);
}
