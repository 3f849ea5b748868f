/* SendMessage: one message, or several that travel and are stored together. Facts: docs/protocol/grpc.md 10 */
#include "proxy/checks.h"
#include "codec/jump_hash.h"
#include "proxy/message_in.h"

#include "codec/java_hash.h"
#include "codec/message.h"
#include "codec/message_id.h"
#include "codec/properties.h"
#include "codec/requests.h"
#include "meta/names.h"

enum { SEND_MS = 2000, BATCH_HEAD_BYTES = 20, DEFAULT_QUEUES = 4 };

struct sending {
    struct request *request;
    const struct v2_send_message_request *asked;
    struct slice topic;
    struct slice *properties;        /* of each message */
    const struct route_part *part;
};

static struct slice message_group(const struct v2_message *m) { return m->system_properties ? m->system_properties->message_group : (struct slice){NULL, 0}; }
static struct slice lite_topic(const struct v2_message *m) { return m->system_properties ? m->system_properties->lite_topic : (struct slice){NULL, 0}; }
static struct slice unique_key(const struct v2_message *m) { return m->system_properties->message_id; }

/* --- which queue --- */

/* NULL: there is none that can be written. */
static const struct write_queue *choose_queue(struct sending *s)
{
    struct route *route = s->request->wanted.route;
    const struct v2_message *first = &s->asked->messages.items[0];
    struct slice name = is_blank(message_group(first)) ? lite_topic(first) : message_group(first);
    if (!route->writable_count) return NULL;
    if (s->asked->messages.count > 1 || !name.n) return &route->writable[route->next_write++ % route->writable_count];
    return &route->writable[jump_hash(java_hash(name), route->writable_count)];
}

/* --- what comes back --- */

static struct v2_send_result_entry *entries_new(struct sending *s, struct v2_send_message_response *out, size_t count)
{
    out->entries.items = request_take(s->request, (count + 1) * sizeof *out->entries.items);
    out->entries.count = count;
    return out->entries.items;
}

/* Kept by the broker, though not as it should be. */
static void answer_half(struct sending *s, int32_t code, const char *status)
{
    struct v2_send_message_response *out = request_take(s->request, sizeof *out);
    struct v2_send_result_entry *e = entries_new(s, out, s->asked->messages.count);
    for (size_t i = 0; i < out->entries.count; i++)
        e[i].status = status_new(s->request, code, request_printf(s->request, "send message failed, sendStatus=%s", status));
    out->status = status_new(s->request, code, (struct slice){NULL, 0});
    request_answer(s->request, out);
}

/* Its end will be asked for by the place of the prepared message. */
static void note_transaction(struct sending *s, const struct send_reply_header *h, struct slice id)
{
    struct addr host;
    int64_t log_offset;
    err_t e = offset_id_parse(h->msg_id, &host, &log_offset);
    if (e) {
        err_drop(e, "the transaction can be ended after its check");
        return;
    }
    struct transaction_end end = {s->part->broker, h->queue_offset, log_offset};
    transactions_add(&s->request->proxy->transactions, s->topic, id, &end);
    transactions_watch(&s->request->proxy->transactions, s->topic);
}

static void answer_stored(struct sending *s, const struct send_reply_header *h)
{
    struct request *r = s->request;
    struct v2_send_message_response *out = request_take(r, sizeof *out);
    struct v2_send_result_entry *e = entries_new(s, out, s->asked->messages.count);
    for (size_t i = 0; i < out->entries.count; i++) {
        const struct v2_message *m = &s->asked->messages.items[i];
        e[i] = (struct v2_send_result_entry){status_ok(r), unique_key(m), unique_key(m), h->queue_offset + (int64_t)i, {NULL, 0}};
        if (message_sys_flag(&s->asked->messages.items[0]) & SYS_FLAG_TRANSACTION_PREPARED) note_transaction(s, h, unique_key(m));
    }
    if (h->recall_handle.n && utf8_valid(h->recall_handle)) e[0].recall_handle = arena_copy(&r->arena, h->recall_handle);
    out->status = status_ok(r);
    request_answer(r, out);
}

static void on_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct sending *s = ctx;
    struct send_reply_header h;
    if (e) {
        facts_doubt(&s->request->proxy->facts, s->topic);
        request_fail(s->request, e);
        return;
    }
    switch (reply->frame->code) {
    case RESPONSE_SUCCESS:
        e = header_decode(&send_reply_kind, reply->frame, &h);
        if (e) request_fail(s->request, e);
        else answer_stored(s, &h);
        break;
    case RESPONSE_FLUSH_DISK_TIMEOUT: answer_half(s, V2_CODE_MASTER_PERSISTENCE_TIMEOUT, "FLUSH_DISK_TIMEOUT"); break;
    case RESPONSE_FLUSH_SLAVE_TIMEOUT: answer_half(s, V2_CODE_SLAVE_PERSISTENCE_TIMEOUT, "FLUSH_SLAVE_TIMEOUT"); break;
    case RESPONSE_SLAVE_NOT_AVAILABLE: answer_half(s, V2_CODE_HA_NOT_AVAILABLE, "SLAVE_NOT_AVAILABLE"); break;
    default:
        if (reply->frame->code == RESPONSE_TOPIC_NOT_EXIST) facts_doubt(&s->request->proxy->facts, s->topic);
        request_fail_reply(s->request, reply->frame);
        break;
    }
}

/* --- sending --- */

static void write_batch(const struct sending *s, struct buf *out)
{
    for (size_t i = 0; i < s->asked->messages.count; i++) {
        struct slice body = s->asked->messages.items[i].body, properties = s->properties[i];
        buf_put_be32(out, (uint32_t)(BATCH_HEAD_BYTES + body.n + 2 + properties.n));
        buf_put_be32(out, 0);
        buf_put_be32(out, 0);
        buf_put_be32(out, 0);
        buf_put_be32(out, (uint32_t)body.n);
        buf_put_slice(out, body);
        buf_put_be16(out, (uint16_t)properties.n);
        buf_put_slice(out, properties);
    }
}

static int64_t born_ms(const struct sending *s)
{
    int64_t ms;
    return slice_to_i64(properties_get(s->properties[0], PROPERTY_BORN_MS), &ms) ? ms : now_ms(s->request->proxy);
}

static void send(struct sending *s, const struct write_queue *queue)
{
    const struct v2_message *first = &s->asked->messages.items[0];
    bool batch = s->asked->messages.count > 1;
    struct send_header h = {
        .producer_group = s->topic, .topic = s->topic, .default_topic = SLICE("TBW102"), .default_topic_queue_nums = DEFAULT_QUEUES,
        .queue_id = queue->queue_id, .sys_flag = message_sys_flag(first), .born_timestamp = born_ms(s), .properties = s->properties[0],
        .batch = batch, .bname = queue->part->queues->broker,
    };
    struct buf body = BUF_EMPTY;
    header_set(&h, send, reconsume_times);
    header_set(&h, send, unit_mode);
    header_set(&h, send, batch);
    if (batch) write_batch(s, &body);
    s->part = queue->part;
    struct rpc_request q = {
        .code = batch ? REQUEST_SEND_BATCH_MESSAGE : REQUEST_SEND_MESSAGE_V2, .kind = &send_v2_kind, .header = &h,
        .body = batch ? buf_slice(&body) : first->body, .timeout_ms = SEND_MS, .done = on_reply, .ctx = s,
    };
    broker_request(queue->part->broker, &q);
    buf_done(&body);
}

static void with_facts(struct request *r)
{
    struct sending *s = r->state;
    bool checked = r->proxy->cfg->type_check && !topic_name_is_retry(s->topic) && !topic_name_is_dead_letter(s->topic);
    if (checked && !check_type(r, r->wanted.type, message_type_of(s->properties[0]))) return;
    if (!request_has_route(r)) return;
    const struct write_queue *queue = choose_queue(s);
    if (queue) send(s, queue);
    else request_refuse(r, V2_CODE_FORBIDDEN, "no writable queue");
}

/* --- what was asked --- */

static bool same_resource(const struct v2_resource *a, const struct v2_resource *b)
{
    if (!a || !b) return !a && !b;
    return slice_eq(a->name, b->name) && slice_eq(a->resource_namespace, b->resource_namespace);
}

static bool check_message(struct sending *s, const struct v2_message *m, struct slice *properties)
{
    enum { BATCH_PROPERTIES_MAX = 65535 };
    struct request *r = s->request;
    struct buf text = BUF_EMPTY;
    if (!same_resource(m->topic, s->asked->messages.items[0].topic)) {
        request_refuse(r, V2_CODE_MESSAGE_CORRUPTED, "topic in message is not same");
        return false;
    }
    bool fine = check_body(r, m->body) && message_properties(r, m, &text);
    if (fine && text.n > BATCH_PROPERTIES_MAX) {
        request_refuse(r, V2_CODE_MESSAGE_PROPERTIES_TOO_LARGE, "the properties of the message are too large");
        fine = false;
    }
    if (fine) *properties = arena_copy(&r->arena, buf_slice(&text));
    buf_done(&text);
    return fine;
}

void serve_send_message(struct request *r)
{
    const struct v2_send_message_request *q = r->in;
    if (!q->messages.count) {
        request_refuse(r, V2_CODE_MESSAGE_CORRUPTED, "no message to send");
        return;
    }
    if (!check_topic(r, q->messages.items[0].topic)) return;
    struct sending *s = request_take(r, sizeof *s);
    *s = (struct sending){.request = r, .asked = q, .topic = q->messages.items[0].topic->name};
    s->properties = request_take(r, q->messages.count * sizeof *s->properties);
    for (size_t i = 0; i < q->messages.count; i++)
        if (!check_message(s, &q->messages.items[i], &s->properties[i])) return;
    r->state = s;
    request_want(r, WANT_ROUTE | WANT_TYPE, s->topic, (struct slice){NULL, 0}, with_facts);
}
