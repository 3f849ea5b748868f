/* Messages that are delivered only when their transaction is committed: the half message, its end, and the broker's question after it. */
#include "client/producer/prepare.h"

#include "codec/properties.h"
#include "codec/record.h"
#include "codec/requests.h"

#include <stdlib.h>

/* Of catalog numbers: what END_TRANSACTION says. */
static int32_t number_of(enum sky_transaction outcome)
{
    return outcome == SKY_TRANSACTION_COMMIT ? SYS_FLAG_TRANSACTION_COMMIT : outcome == SKY_TRANSACTION_ROLLBACK ? SYS_FLAG_TRANSACTION_ROLLBACK : 0;
}

/* --- half messages --- */

static struct sky_error *half_of(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o, struct sending **out)
{
    struct sending *s;
    if (message_is_delayed(m)) return error_new(SKY_INVALID, 0, "a message of a transaction cannot be delayed");
    struct sky_error *e = sending_of(p, m, o, &s);
    if (e) return e;
    size_t id_bytes = s->properties.n - s->id_at;
    struct buf properties = BUF_EMPTY;
    properties_put(&properties, SLICE("TRAN_MSG"), SLICE("true"));
    properties_put(&properties, SLICE("PGROUP"), slice_text(p->options.group));
    buf_put_slice(&properties, buf_slice(&s->properties));
    buf_done(&s->properties);
    s->properties = properties;
    s->id_at = properties.n - id_bytes;
    s->sys_flag |= SYS_FLAG_TRANSACTION_PREPARED;
    s->half = true;
    *out = s;
    return NULL;
}

struct sky_error *sky_producer_send_half(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o, struct sky_receipt **out)
{
    struct sending *s;
    struct sky_error *e = half_of(p, m, o, &s);
    return e ? e : sending_wait(s, out);
}

struct sky_error *sky_producer_send_half_async(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o, sky_sent_fn *sent,
                                               void *user)
{
    struct sending *s;
    struct sky_error *e = half_of(p, m, o, &s);
    return e ? e : sending_later(s, sent, user);
}

/* --- their end --- */

struct ending {
    struct mail mail;
    struct sky_producer *producer;
    struct half_place place;
    char *broker;
    int32_t outcome;
};

static struct end_transaction_header header_of(const struct sky_producer *p, const struct half_place *h, int32_t outcome)
{
    return (struct end_transaction_header){.producer_group = slice_text(p->options.group), .topic = slice_text(h->topic), .msg_id = slice_text(h->message_id),
                                           .transaction_id = slice_text(h->transaction_id), .tran_state_table_offset = h->queue_offset,
                                           .commit_log_offset = h->log_offset, .commit_or_rollback = outcome};
}

void half_place_done(struct half_place *h)
{
    free(h->topic);
    free(h->message_id);
    free(h->transaction_id);
}

static void end_it(struct mail *mail)
{
    struct ending *x = LIST_OWNER(mail, struct ending, mail);
    struct sky_client *c = x->producer->member.client;
    struct slice address = routes_address(c, slice_text(x->broker), 0);
    struct end_transaction_header h = header_of(x->producer, &x->place, x->outcome);
    h.bname = slice_text(x->broker);
    header_set(&h, end_transaction, from_transaction_check);
    struct rpc_request r = {.code = REQUEST_END_TRANSACTION, .kind = &end_transaction_kind, .header = &h};
    if (address.p) rpc_peer_request(routes_link(c, address)->peer, &r);
    else log_warn("transaction.not_ended id=%s why=\"its broker has no master\"", x->place.transaction_id);
    half_place_done(&x->place);
    free(x->broker);
    free(x);
}

struct sky_error *sky_producer_end_transaction(struct sky_producer *p, const struct sky_receipt *r, enum sky_transaction outcome)
{
    struct ending *x = must_zero(sizeof *x);
    *x = (struct ending){.mail.deliver = end_it, .producer = p, .outcome = number_of(outcome)};
    struct sky_error *e = receipt_half(r, &x->place);
    if (!e && outcome != SKY_TRANSACTION_UNKNOWN) {
        x->broker = must_strdup(sky_receipt_broker(r));
        if (client_post(p->member.client, &p->member, &x->mail)) return NULL;
        e = error_new(SKY_CLOSED, 0, "the producer is shut down");
    }
    half_place_done(&x->place);
    free(x->broker);
    free(x);
    return e;
}

/* --- the broker asks what became of one --- */

struct checking {
    struct work work;
    struct sky_producer *producer;
    struct rpc_conn *conn;
    struct sky_message *message;
    struct half_place place;
    enum sky_transaction outcome;
};

static void run_check(struct work *w)
{
    struct checking *x = LIST_OWNER(w, struct checking, work);
    message_open(x->message);
    x->outcome = x->producer->options.check(x->producer->options.check_user, x->message);
}

static void on_checked(struct work *w)
{
    struct checking *x = LIST_OWNER(w, struct checking, work);
    struct sky_producer *p = x->producer;
    struct end_transaction_header h = header_of(p, &x->place, number_of(x->outcome));
    h.from_transaction_check = true;
    header_set(&h, end_transaction, from_transaction_check);
    struct rpc_request r = {.code = REQUEST_END_TRANSACTION, .kind = &end_transaction_kind, .header = &h};
    log_info("transaction.checked id=%s outcome=%d", x->place.transaction_id, (int)x->outcome);
    rpc_conn_request(x->conn, &r);
    rpc_conn_unref(x->conn);
    sky_message_free(x->message);
    half_place_done(&x->place);
    free(x);
    p->under_way--;
    member_settle(&p->member);
}

bool producer_check(struct member *m, struct rpc_conn *conn, const struct check_transaction_header *h, const struct message *half)
{
    struct sky_producer *p = LIST_OWNER(m, struct sky_producer, member);
    if (!p->options.check || m->leaving) return false;
    struct checking *x = must_zero(sizeof *x);
    *x = (struct checking){.work = {.run = run_check, .done = on_checked}, .producer = p, .conn = rpc_conn_ref(conn), .message = message_received(half, "")};
    x->place = (struct half_place){.topic = must_dup(half->topic), .message_id = must_strdup(x->message->arrival->id),
                                   .transaction_id = must_dup(h->transaction_id), .queue_offset = h->tran_state_table_offset, .log_offset = h->commit_log_offset};
    p->under_way++;
    pool_run(m->client->callbacks, &x->work);
    return true;
}
