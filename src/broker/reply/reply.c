/* Request and reply: a client answers a message, and the answer is pushed to the client that sent it. Facts: docs/protocol/remoting.md A17 */
#include "broker/handlers.h"
#include "broker/intake/intake.h"

#include "base/log.h"
#include "codec/message_id.h"
#include "codec/properties.h"

#include <stdlib.h>

enum { PUSH_MS = 10000 };

/* A reply on its way: it is pushed and kept at once, and its sender is told when both are over. */
struct pending_reply {
    struct broker *broker;
    struct call *call;
    int waits;                  /* of the two, those that are not over */
    err_t e;                    /* the requester did not get it */
    bool stored;
    int32_t queue_id;
    struct appended appended;
    char *requester;
};

static void end(struct pending_reply *p)
{
    struct broker *b = p->broker;
    char id[MESSAGE_ID_TEXT] = "0";   /* clients want to read one also when nothing is kept */
    struct send_reply_header h = {.queue_id = p->queue_id, .queue_offset = p->stored ? p->appended.queue_offset : 0};
    if (p->stored) offset_id_format(&b->advertised, p->appended.log_offset, id);
    h.msg_id = slice_text(id);
    bool has_place = p->stored || !p->e;
    call_reply_more(p->call, p->e ? err_response(p->e) : RESPONSE_SUCCESS, p->e ? err_text(p->e) : NULL, has_place ? &send_reply_kind : NULL, &h,
                    intake_trace_fields, b, (struct slice){NULL, 0});
    err_free(p->e);
    free(p->requester);
    free(p);
}

static void one_is_over(struct pending_reply *p)
{
    if (!--p->waits) end(p);
}

/* --- keeping --- */

static void on_stored(void *ctx, err_t e)
{
    struct pending_reply *p = ctx;
    p->stored = !e || err_code(e) == ERR_FLUSH_DISK_TIMEOUT;
    if (!p->stored) log_warn("reply.not_kept requester=\"%s\" why=\"%s\"", p->requester ? p->requester : "", err_text(e));
    err_free(e);
    one_is_over(p);
}

static void keep(struct pending_reply *p, const struct send_header *h, const struct topic *topic)
{
    struct broker *b = p->broker;
    struct known_properties known;
    struct message m;
    if (!b->cfg->broker.store_replies) return;
    known_properties_read(h->properties, &known);
    intake_common(p->call, h, topic, &m);
    m.body = p->call->body;
    m.properties = h->properties;
    intake_keys(&known, &m);
    p->waits++;
    err_t e = store_append(b->store, &m, 1, intake_waits(&known), on_stored, p, &p->appended);
    if (e) on_stored(p, e);
}

/* --- pushing --- */

static err_t not_pushed(const struct pending_reply *p) { return err_new(ERR_REFUSED, "push reply message to %sfail.", p->requester); }

static void on_pushed(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct pending_reply *p = ctx;
    if (e || reply->frame->code != RESPONSE_SUCCESS) {
        log_warn("reply.not_pushed requester=\"%s\" why=\"%s\"", p->requester, e ? err_text(e) : "its client refused it");
        p->e = not_pushed(p);
    }
    err_free(e);
    one_is_over(p);
}

static void push(struct pending_reply *p, const struct send_header *h, struct client *requester)
{
    struct broker *b = p->broker;
    struct buf text = BUF_EMPTY, now = BUF_EMPTY;
    char born[ADDR_TEXT_MAX], stored[ADDR_TEXT_MAX];
    buf_put_slice(&text, h->properties);
    buf_put_i64_text(&now, tasks_wall_ms(b->tasks));
    properties_put(&text, SLICE("PUSH_REPLY_TIME"), buf_slice(&now));
    struct push_reply_header out = {
        .born_host = slice_text(addr_format(rpc_conn_remote(p->call->conn), born)), .born_timestamp = h->born_timestamp,
        .default_topic = h->default_topic, .default_topic_queue_nums = h->default_topic_queue_nums, .flag = h->flag,
        .producer_group = h->producer_group, .properties = buf_slice(&text), .queue_id = h->queue_id, .reconsume_times = h->reconsume_times,
        .store_host = slice_text(addr_format(&b->advertised, stored)), .store_timestamp = tasks_wall_ms(b->tasks), .sys_flag = h->sys_flag,
        .topic = h->topic, .unit_mode = h->unit_mode,
    };
    header_set(&out, push_reply, reconsume_times);
    header_set(&out, push_reply, unit_mode);
    struct rpc_request r = {
        .code = REQUEST_PUSH_REPLY_MESSAGE_TO_CLIENT, .kind = &push_reply_kind, .header = &out, .body = p->call->body, .timeout_ms = PUSH_MS,
        .done = on_pushed, .ctx = p,
    };
    p->waits++;
    rpc_conn_request(requester->conn, &r);
    buf_done(&now);
    buf_done(&text);
}

static void push_if_there(struct pending_reply *p, const struct send_header *h)
{
    struct slice id = properties_get(h->properties, SLICE("REPLY_TO_CLIENT"));
    if (!id.n) {
        p->e = err_new(ERR_REFUSED, "reply message properties[REPLY_TO_CLIENT] is null");
        return;
    }
    struct client *requester = members_producer_by_id(&p->broker->members, id);
    p->requester = must_dup(id);
    if (requester) push(p, h, requester);
    else p->e = err_new(ERR_REFUSED, "push reply message fail, channel of <%s> not found.", p->requester);
}

/* --- the handlers --- */

static void send_reply(struct broker *b, struct call *call, const struct header_kind *kind)
{
    struct send_header h;
    const struct topic *topic;
    err_t e = header_decode(kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    e = intake_topic(b, call, &h, &topic);
    if (e) {
        call_reply_more(call, err_response(e), err_text(e), NULL, NULL, intake_trace_fields, b, (struct slice){NULL, 0});
        err_free(e);
        return;
    }
    struct pending_reply *p = must_zero(sizeof *p);
    p->broker = b;
    p->call = call;
    p->queue_id = h.queue_id;
    p->waits = 1;   /* this function */
    push_if_there(p, &h);
    keep(p, &h, topic);
    one_is_over(p);
}

void handle_send_reply(struct broker *b, struct call *call) { send_reply(b, call, &send_kind); }
void handle_send_reply_v2(struct broker *b, struct call *call) { send_reply(b, call, &send_v2_kind); }
