/* What a pop brought: which messages they are, their handles, and their way to the client. */
#include "proxy/poll.h"

#include "base/log.h"
#include "codec/lmq.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "codec/requests.h"
#include "proxy/checks.h"
#include "proxy/message_in.h"
#include "proxy/message_out.h"

#include <stdlib.h>

enum { COPY_MAX = 16384 };   /* longer messages are handed over */

/* --- handles --- */

/* "0 3 100" for that kind and queue; -1: it is not told. */
static int64_t start_of(struct slice info, enum pop_kind kind, int32_t queue_id)
{
    struct pop_info_item item;
    bool broken;
    int64_t offset;
    while (pop_info_next(&info, &item, &broken))
        if (item.kind == kind && item.queue_id == queue_id && slice_to_i64(item.value, &offset)) return offset;
    return -1;
}

/* Of an ordered message, which has no record of its own for it. */
static int32_t count_of(struct slice info, const struct message *m, enum pop_kind kind)
{
    struct pop_info_item item;
    bool broken;
    int32_t count;
    while (pop_info_next(&info, &item, &broken))
        if (item.kind == kind && item.queue_id == m->queue_id && item.offset == m->queue_offset && slice_to_i32(item.value, &count)) return count;
    return m->reconsume_times;
}

/* A message that comes again brings the first eight fields along; those of others are made of the reply. */
static bool make_handle(const struct pop_reply_header *h, struct broker_peer *from, const struct message *m, enum pop_kind kind, struct receipt_handle *out)
{
    struct slice text;
    if (properties_find(m->properties, PROPERTY_POP_HANDLE, &text) && receipt_handle_parse(text, out)) {
        out->log_offset = m->log_offset;
        return true;
    }
    *out = (struct receipt_handle){
        .start_offset = start_of(h->start_offset_info, kind, m->queue_id), .pop_ms = h->pop_time, .invisible_ms = h->invisible_time,
        .revive_queue = h->revive_qid, .kind = kind, .broker = slice_text(from->name), .queue_id = m->queue_id, .offset = m->queue_offset,
        .log_offset = m->log_offset,
    };
    return out->start_offset >= 0;
}

/* A message of a lite topic tells its offset there itself: there is one queue of it. */
static bool make_lite_handle(const struct pop_reply_header *h, struct broker_peer *from, const struct message *m, struct receipt_handle *out)
{
    *out = (struct receipt_handle){
        .pop_ms = h->pop_time, .invisible_ms = h->invisible_time, .revive_queue = h->revive_qid, .broker = slice_text(from->name),
        .log_offset = m->log_offset,
    };
    return slice_to_i64(properties_get(m->properties, LMQ_OFFSETS), &out->offset) && out->offset >= 0;
}

/* "0;1;0", or items of ordered pops, one for each message in the order of the body. */
static int32_t lite_count(struct slice info, size_t at)
{
    struct slice item, part, last = {NULL, 0};
    int32_t count = 0;
    for (size_t i = 0; slice_split(&info, ';', &item); i++) {
        if (i < at) continue;
        while (slice_split(&item, ' ', &part)) last = part;
        return slice_to_i32(last, &count) ? count : 0;
    }
    return 0;
}

/* --- which of them the client gets --- */

static bool add(struct delivery *d, const struct message *m, const struct held_message *held, int32_t reconsume_times)
{
    struct popped place = {d->question->topic, held->text, reconsume_times};
    struct v2_message *message = message_out(&d->request->arena, m, &place, now_ms(d->request->proxy));
    if (!message) return false;
    d->messages[d->count] = message;
    d->handles[d->count] = *held;
    d->reconsume_times[d->count++] = reconsume_times;
    return true;
}

/* The place of m is what clients are told of it. */
static bool take(struct delivery *d, const struct pop_reply_header *h, struct broker_peer *from, struct message *m, size_t at)
{
    struct request *r = d->request;
    const struct poll_question *q = d->question;
    enum pop_kind kind = q->lite || slice_eq(m->topic, q->topic) ? POP_NORMAL : pop_kind_of(m->topic);
    struct held_message held = {.group = q->group, .topic = q->topic};
    struct buf text = BUF_EMPTY;
    if (q->lite) held.lite_topic = properties_get(m->properties, SLICE("__LITE_TOPIC"));
    if (!(q->lite ? make_lite_handle(h, from, m, &held.handle) : make_handle(h, from, m, kind, &held.handle))) {
        log_warn("pop.no_handle broker=\"%s\" topic=\"%.*s\" queue=%d offset=%lld", from->name, SLICE_ARG(m->topic), m->queue_id,
                 (long long)m->queue_offset);
        return true;   /* it comes again */
    }
    receipt_handle_write(&held.handle, &text);
    held.text = arena_copy(&r->arena, buf_slice(&text));
    held.handle.broker = slice_text(from->name);
    buf_done(&text);
    if (q->lite) m->queue_offset = held.handle.offset;
    int32_t times = q->lite ? lite_count(h->order_count_info, at) : count_of(h->order_count_info, m, kind);
    if (!expression_matches(&q->filter, m)) consumption_ack(from, &held, NULL, NULL);
    else if (times >= q->attempts_max) consumption_bury(from, &held, message_id_of(&r->arena, m), NULL, NULL);
    else return add(d, m, &held, times);
    return true;
}

static size_t count_records(struct slice body)
{
    struct message m;
    size_t count = 0;
    for (; record_read(body, &m) == RECORD_WHOLE; count++) body = slice_skip(body, record_read_size(&m));
    return count;
}

static err_t read_header(const struct poll_question *q, const struct frame *reply, struct pop_reply_header *out)
{
    struct pop_lite_reply_header h;
    if (!q->lite) return header_decode(&pop_reply_kind, reply, out);
    err_t e = header_decode(&pop_lite_reply_kind, reply, &h);
    *out = (struct pop_reply_header){
        .pop_time = h.pop_time, .invisible_time = h.invisible_time, .revive_qid = h.revive_qid, .order_count_info = h.order_count_info,
    };
    return e;
}

err_t delivery_read(struct request *r, const struct poll_question *q, struct broker_peer *from, const struct frame *reply, struct delivery *out)
{
    struct pop_reply_header h;
    struct message m;
    struct slice body = reply->body;
    err_t e = read_header(q, reply, &h);
    if (e) return e;
    size_t most = count_records(body) + 1;
    *out = (struct delivery){.request = r, .question = q};
    out->messages = request_take(r, most * sizeof *out->messages);
    out->handles = request_take(r, most * sizeof *out->handles);
    out->reconsume_times = request_take(r, most * sizeof *out->reconsume_times);
    for (size_t at = 0; record_read(body, &m) == RECORD_WHOLE; body = slice_skip(body, record_read_size(&m)))
        if (!take(out, &h, from, &m, at++)) return err_new(ERR_OUT_OF_MEMORY, NULL);
    return body.n ? err_new(ERR_BODY, "broker %s: what is popped is no message", from->name) : NULL;
}

/* --- to the client --- */

static void release(void *p) { free(p); }

static void send(struct request *r, const struct v2_receive_message_response *response)
{
    struct pb_out *out = &r->proxy->out;
    pb_out_clear(out);
    pb_encode(&v2_receive_message_response_pb, response, out);
    if (pb_out_size(out) <= COPY_MAX) {
        grpc_send_copy(r->call, pb_out_slice(out));
        return;
    }
    struct pinned part = {pb_out_slice(out), release, out->p};
    out->p = NULL;   /* the receiver's from here on */
    out->cap = out->at = 0;
    grpc_send(r->call, &part, 1);
}

static void send_end(struct request *r)
{
    struct v2_receive_message_response end = {.content_case = V2_RECEIVE_MESSAGE_RESPONSE_DELIVERY_TIMESTAMP};
    end.delivery_timestamp = timestamp_new(r, now_ms(r->proxy));
    send(r, &end);
    grpc_finish(r->call, GRPC_OK, (struct slice){NULL, 0});
    r->call = NULL;
}

static void send_status(struct request *r, struct v2_status *status)
{
    struct v2_receive_message_response response = {.content_case = V2_RECEIVE_MESSAGE_RESPONSE_STATUS, .status = status};
    send(r, &response);
}

void receive_tell(struct request *r, int32_t code, struct slice text)
{
    if (!r->call) return;
    send_status(r, status_new(r, code, text));
    send_end(r);
}

void receive_refuse(struct request *r, int32_t code, struct slice text)
{
    receive_tell(r, code, text);
    request_free(r);
}

void delivery_give_back(const struct delivery *d)
{
    for (size_t i = 0; i < d->count; i++) consumption_give_back(d->request->proxy, &d->handles[i], true);
}

void delivery_send(const struct delivery *d)
{
    struct request *r = d->request;
    struct client *c = clients_find(&r->proxy->clients, r->client_id);
    if (d->question->auto_renew && !c) {   /* nobody would renew them */
        delivery_give_back(d);
        send_status(r, status_new(r, V2_CODE_MESSAGE_NOT_FOUND, SLICE("the client is disconnected")));
        send_end(r);
        return;
    }
    send_status(r, status_ok(r));
    for (size_t i = 0; i < d->count; i++) {
        struct v2_receive_message_response response = {.content_case = V2_RECEIVE_MESSAGE_RESPONSE_MESSAGE, .message = d->messages[i]};
        send(r, &response);
        if (d->question->auto_renew) handles_add(&r->proxy->handles, c, &d->handles[i], d->reconsume_times[i]);
    }
    send_end(r);
}
