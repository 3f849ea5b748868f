#include "broker/handlers.h"
#include "broker/intake/dead_letter.h"
#include "broker/intake/delay.h"
#include "broker/intake/half.h"
#include "broker/intake/intake.h"
#include "broker/intake/traffic.h"

#include "base/log.h"
#include "codec/java_hash.h"
#include "codec/message_id.h"
#include "codec/properties.h"
#include "codec/recall_handle.h"
#include "codec/record.h"
#include "meta/names.h"

#include <stdlib.h>

enum { UNIQUE_KEY_MAX = 64, BATCH_MESSAGES_MAX = 65536 };

/* A message that waits to be as durable as asked. */
struct pending_send {
    struct broker *broker;
    struct call *call;
    int64_t begun_ms;                   /* mono_ms */
    int32_t queue_id;
    struct appended appended;
    struct buf batch_ids;               /* of a batch: all ids, with commas; else empty */
    struct buf recall_handle;           /* of a message that waits for a time; else empty */
    bool one_record;                    /* a batch that has one id */
    size_t unique_key_bytes;
    char unique_key[UNIQUE_KEY_MAX];
};

static void send_failed(struct broker *b, struct call *call, err_t e)
{
    metric_add(&b->metrics, METRIC_SENDS_REFUSED, 1);
    log_debug("send.failed conn=%llu error=%s text=\"%s\"", (unsigned long long)rpc_conn_id(call->conn), err_name(err_code(e)), err_text(e));
    call_reply_more(call, err_response(e), err_text(e), NULL, NULL, intake_trace_fields, b, (struct slice){NULL, 0});
    err_free(e);
}

/* For who asks why. */
static void note_refused(struct broker *b, const struct call *call, struct slice topic, err_t e)
{
    char client[ADDR_TEXT_MAX];
    refusals_add(&b->refusals, tasks_wall_ms(b->tasks), topic, addr_format(rpc_conn_remote(call->conn), client), err_response(e), err_text(e));
}

static void send_reply(struct pending_send *p, int32_t code, const char *remark)
{
    char id[MESSAGE_ID_TEXT];
    struct slice ids = buf_slice(&p->batch_ids);
    if (!ids.n) ids = slice_of(id, offset_id_format(&p->broker->advertised, p->appended.log_offset, id));
    struct slice unique_key = p->unique_key_bytes ? slice_of(p->unique_key, p->unique_key_bytes) : (struct slice){NULL, 0};
    struct send_reply_header reply = {
        .msg_id = ids, .queue_id = p->queue_id, .queue_offset = p->appended.queue_offset, .transaction_id = unique_key,
        .batch_uniq_id = p->one_record ? unique_key : (struct slice){NULL, 0}, .recall_handle = buf_slice(&p->recall_handle),
    };
    call_reply_more(p->call, code, remark, &send_reply_kind, &reply, intake_trace_fields, p->broker, (struct slice){NULL, 0});
}

static void pending_free(struct pending_send *p)
{
    if (!p) return;
    buf_done(&p->batch_ids);
    buf_done(&p->recall_handle);
    free(p);
}

/* The message is stored, or not. Stored but not known to be on disk in time counts as stored: the client gets the code that
 * says so, and the message's place. */
static void send_done(void *ctx, err_t e)
{
    struct pending_send *p = ctx;
    stats_put_took(&p->broker->stats, tasks_mono_ms(p->broker->tasks) - p->begun_ms);
    if (!e) send_reply(p, RESPONSE_SUCCESS, NULL);
    else if (err_code(e) == ERR_FLUSH_DISK_TIMEOUT) send_reply(p, RESPONSE_FLUSH_DISK_TIMEOUT, err_text(e)), err_free(e);
    else send_failed(p->broker, p->call, e);
    pending_free(p);
}

static struct pending_send *pending_new(struct broker *b, struct call *call, const struct send_header *h, struct slice unique_key)
{
    struct pending_send *p = must_alloc(sizeof *p);
    p->broker = b;
    p->call = call;
    p->begun_ms = tasks_mono_ms(b->tasks);
    p->queue_id = h->queue_id;
    p->batch_ids = p->recall_handle = BUF_EMPTY;
    p->one_record = false;
    p->unique_key_bytes = unique_key.n < UNIQUE_KEY_MAX ? unique_key.n : 0;
    if (p->unique_key_bytes) memcpy(p->unique_key, unique_key.p, p->unique_key_bytes);
    return p;
}

/* With it the message can be taken back until it is due. */
static void put_recall_handle(struct broker *b, const struct message *m, struct slice topic, struct slice unique_key, struct buf *out)
{
    struct buf time = BUF_EMPTY;
    int64_t slot_ms;
    bool waits = slice_eq(m->topic, SLICE(TIMER_TOPIC)) && slice_to_i64(properties_get(m->properties, SLICE("TIMER_OUT_MS")), &slot_ms);
    if (!waits || topic_name_is_retry(topic)) return;
    buf_put_i64_text(&time, slot_ms + 1);   /* it is in the tick that comes after it */
    struct recall_handle handle = {topic, slice_text(b->cfg->broker.name), buf_slice(&time), unique_key};
    recall_handle_encode(&handle, out);
    buf_done(&time);
}

/* What the topic took, for tools. */
static void count_put(struct broker *b, struct slice topic, const struct known_properties *known, int64_t messages, int64_t bytes)
{
    traffic_in(b, topic, traffic_type(known), messages, bytes);
    stats_add(&b->stats, TOPIC_PUT_NUMS, topic, messages);
    stats_add(&b->stats, TOPIC_PUT_SIZE, topic, bytes);
    stats_add(&b->stats, BROKER_PUT_NUMS, b->cluster, messages);
}

static err_t send_one(struct broker *b, struct call *call, const struct send_header *h, const struct topic *topic)
{
    struct known_properties known;
    struct message m;
    struct slice unique_key;
    struct buf text = BUF_EMPTY;   /* of properties that say more than the client said */
    struct send_header moved;
    known_properties_read(h->properties, &known);
    if (known.priority.n) {
        moved = *h;
        moved.queue_id = intake_priority_queue(&known, topic, h->queue_id);
        h = &moved;
    }
    err_t e = intake_check(h, &known, call->body);
    if (!e) e = intake_check_key(topic, &known);
    if (!e) e = quota_take(b, call, h->topic, 1, call->body.n);
    if (e) return e;
    intake_message(b, call, h, topic, &known, &m, &unique_key);
    e = intake_is_half(h, &known) ? intake_half(b, h, &known, &m, &text) : intake_delay(b, &m, &known, &text);
    struct pending_send *p = e ? NULL : pending_new(b, call, h, unique_key);
    if (!e) put_recall_handle(b, &m, h->topic, unique_key, &p->recall_handle);
    if (!e) e = store_append(b->store, &m, 1, intake_waits(&known), send_done, p, &p->appended);
    if (e) pending_free(p);   /* refused: send_done will not run */
    else count_put(b, topic->config.name, &known, 1, p->appended.size);
    buf_done(&text);
    return e;
}

/* --- batches --- */

/* The messages of a batch body, each with its own flag, body and properties. */
static err_t read_batch(struct call *call, const struct send_header *h, const struct topic *topic, struct buf *messages)
{
    struct slice rest = call->body;
    struct message common, one;
    bool broken;
    intake_common(call, h, topic, &common);
    while (batch_next(&rest, &one, &broken)) {
        struct known_properties known;
        known_properties_read(one.properties, &known);
        err_t e = intake_check(h, &known, one.body);
        if (!e) e = intake_check_in_batch(&known);
        if (!e) e = intake_check_key(topic, &known);
        if (!e && intake_is_half(h, &known)) e = err_new(ERR_MESSAGE_ILLEGAL, "a batch cannot hold prepared messages");
        if (e) return e;
        struct message m = common;
        m.flag = one.flag;
        m.body = one.body;
        m.properties = one.properties;
        intake_keys(&known, &m);
        m.further_queues = (struct slice){NULL, 0};   /* as with the original: single messages alone go there */
        if (messages->n / sizeof m == BATCH_MESSAGES_MAX)
            return err_new(ERR_MESSAGE_ILLEGAL, "a batch of more than %d messages", BATCH_MESSAGES_MAX);
        buf_put(messages, &m, sizeof m);
    }
    if (broken) return err_new(ERR_MESSAGE_ILLEGAL, "the batch's body ends in the middle of a message");
    return messages->n ? NULL : err_new(ERR_MESSAGE_ILLEGAL, "a batch without messages");
}

static void put_batch_ids(struct pending_send *p, const struct appended *appended, size_t count)
{
    char id[MESSAGE_ID_TEXT];
    for (size_t i = 0; i < count; i++) {
        if (i) buf_put_u8(&p->batch_ids, ',');
        buf_put(&p->batch_ids, id, offset_id_format(&p->broker->advertised, appended[i].log_offset, id));
    }
    p->appended = appended[0];
}

static err_t append_batch(struct broker *b, struct call *call, const struct send_header *h, const struct known_properties *known,
                          struct buf *messages)
{
    size_t count = messages->n / sizeof(struct message);
    struct appended *appended = must_alloc(count * sizeof *appended);
    struct pending_send *p = pending_new(b, call, h, known->unique_key);
    err_t e = store_append(b->store, (const struct message *)(const void *)messages->p, count, intake_waits(known), send_done, p, appended);
    int64_t bytes = 0;
    for (size_t i = 0; !e && i < count; i++) bytes += appended[i].size;
    if (e) pending_free(p);
    else put_batch_ids(p, appended, count), count_put(b, h->topic, known, (int64_t)count, bytes);
    free(appended);
    return e;
}

/* In a topic of batches the whole body is one record, and has one id. */
static err_t append_as_one(struct broker *b, struct call *call, const struct send_header *h, const struct topic *topic,
                           const struct known_properties *known, size_t count)
{
    struct message m;
    err_t e = intake_check(h, known, call->body);
    if (!e) e = intake_check_in_batch(known);
    if (e) return e;
    intake_batch(b, call, h, topic, known, count, &m);
    struct pending_send *p = pending_new(b, call, h, known->unique_key);
    p->one_record = true;
    e = store_append(b->store, &m, 1, intake_waits(known), send_done, p, &p->appended);
    if (e) pending_free(p);
    else count_put(b, topic->config.name, known, (int64_t)count, p->appended.size);
    return e;
}

static err_t send_batch(struct broker *b, struct call *call, const struct send_header *h, const struct topic *topic)
{
    if (h->topic.n > RECORD_TOPIC_MAX_V1)
        return err_new(ERR_MESSAGE_ILLEGAL, "message topic length too long %zu", h->topic.n);
    if (topic_name_is_retry(h->topic))
        return err_new(ERR_MESSAGE_ILLEGAL, "batch request does not support retry group %.*s", SLICE_ARG(h->topic));
    struct buf messages = BUF_EMPTY;
    struct known_properties known;
    known_properties_read(h->properties, &known);
    err_t e = intake_is_half(h, &known) ? err_new(ERR_MESSAGE_ILLEGAL, "a batch cannot be prepared") : read_batch(call, h, topic, &messages);
    if (!e) e = quota_take(b, call, h->topic, messages.n / sizeof(struct message), call->body.n);
    if (!e && topic->batches && known.unique_key.n) e = append_as_one(b, call, h, topic, &known, messages.n / sizeof(struct message));
    else if (!e) e = append_batch(b, call, h, &known, &messages);
    buf_done(&messages);
    return e;
}

/* --- the handlers --- */

/* Stores one message or a batch; the reply follows when it is as durable as asked. Facts: docs/protocol/remoting.md A5 */
static void send(struct broker *b, struct call *call, const struct header_kind *kind)
{
    struct send_header h;
    const struct topic *topic;
    struct buf retried = BUF_EMPTY;
    err_t e = header_decode(kind, call->frame, &h);
    if (!e) e = intake_topic(b, call, &h, &topic);
    bool is_batch = !e && (h.batch || call->code == REQUEST_SEND_BATCH_MESSAGE);
    if (!e && !is_batch && topic_name_is_retry(h.topic)) e = intake_retried(b, call, &h, &topic, &retried);
    if (!e && disk_unsaved(b, call, topic)) goto done;
    if (!e) e = is_batch ? send_batch(b, call, &h, topic) : send_one(b, call, &h, topic);
    if (err_code(e) == ERR_FIELD || err_code(e) == ERR_BODY) call_fail(call, e);   /* not looked at as a message: no trace fields */
    else if (e) note_refused(b, call, h.topic, e), send_failed(b, call, e);
done:
    buf_done(&retried);
}

void handle_send(struct broker *b, struct call *call) { send(b, call, &send_kind); }
void handle_send_v2(struct broker *b, struct call *call) { send(b, call, &send_v2_kind); }
