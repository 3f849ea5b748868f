#include "broker/intake/intake.h"

#include "codec/java_hash.h"
#include "codec/lmq.h"
#include "codec/message_id.h"
#include "codec/properties.h"
#include "meta/names.h"
#include "os/process.h"

#include <stdio.h>
#include <time.h>

static err_t topic_missing(struct slice name)
{
    return err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist, apply first please!" SEE_FAQ, SLICE_ARG(name));
}

static err_t create_topic(struct broker *b, const struct send_header *h, const struct topic **out)
{
    err_t e = topic_name_check(h->topic);
    if (e) return e;
    if (!topic_name_is_retry(h->topic))
        return topics_create_on_send(b->topics, h->topic, h->default_topic, h->default_topic_queue_nums, 0, out);
    *out = topics_ensure(b->topics, h->topic, 1, PERM_READ | PERM_WRITE, false, h->unit_mode ? TOPIC_SYS_UNIT_SUB : 0);
    return *out ? NULL : topic_missing(h->topic);
}

static err_t check_queue(const struct call *call, const struct send_header *h, const struct topic_config *t)
{
    int32_t queues = t->read_queues > t->write_queues ? t->read_queues : t->write_queues;
    if (h->queue_id < queues) return NULL;
    char remote[ADDR_TEXT_MAX];
    struct buf topic = BUF_EMPTY;
    topic_config_describe(t, &topic);
    err_t e = err_new(ERR_INVALID, "request queueId[%d] is illegal, %.*s Producer: %s", h->queue_id, (int)topic.n, (const char *)topic.p,
                      addr_format(rpc_conn_remote(call->conn), remote));
    buf_done(&topic);
    return e;
}

static err_t check_retry_group(struct broker *b, struct slice topic)
{
    struct slice group = topic_name_group(topic);
    if (groups_find_or_create(b->groups, group)) return NULL;
    return err_new(ERR_GROUP_NOT_FOUND, "subscription group not exist, %.*s" SEE_FAQ, SLICE_ARG(group));
}

static err_t check_begun(struct broker *b)
{
    int64_t begins_ms = b->cfg->broker.start_accept_send_ms;
    if (begins_ms <= tasks_wall_ms(b->tasks)) return NULL;
    char text[32];
    struct tm t;
    time_t seconds = (time_t)(begins_ms / 1000);
    if (!localtime_r(&seconds, &t)) return err_new(ERR_REFUSED, "broker unable to service");   /* no such year */
    strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &t);
    return err_new(ERR_REFUSED, "broker unable to service, until %s,%03d", text, (int)(begins_ms % 1000));
}

err_t intake_topic(struct broker *b, const struct call *call, struct send_header *h, const struct topic **out)
{
    err_t e = check_begun(b);
    if (e) return e;
    const struct topic *t = topics_find(b->topics, h->topic);
    if ((t && t->closed) || (!t && topic_name_is_closed(h->topic)))
        return err_new(ERR_NO_PERMISSION, "Sending message to topic[%.*s] is forbidden.", SLICE_ARG(h->topic));
    if (!t) e = create_topic(b, h, &t);
    if (e) return e;
    if (t->config.order && !(b->cfg->broker.permission & PERM_WRITE)) {
        char text[ADDR_TEXT_MAX];
        return err_new(ERR_NO_PERMISSION, "the broker[%s] sending message is forbidden", addr_format_ip(&b->advertised, text));
    }
    e = check_queue(call, h, &t->config);
    if (!e && topic_name_is_retry(h->topic)) e = check_retry_group(b, h->topic);
    if (e) return e;
    if (h->queue_id < 0) h->queue_id = (int32_t)random_below(&b->random, t->config.write_queues > 0 ? (uint32_t)t->config.write_queues : 1);
    *out = t;
    return NULL;
}

err_t intake_check(const struct send_header *h, const struct known_properties *p, struct slice body)
{
    if (!body.n) return err_new(ERR_BODY, "the message body is empty");
    if (h->sys_flag & SYS_FLAG_INNER_BATCH || p->inner_count.n)
        return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: whether it is a batch in one record is not for its sender to say");
    if (h->sys_flag & SYS_FLAG_TRANSACTION_COMMIT)   /* a bit of both outcomes */
        return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: whether it is committed is not for a send to say");
    return NULL;
}

err_t intake_check_in_batch(const struct known_properties *p)
{
    if (p->further_offsets.n)
        return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: its offsets in light message queues are not for its sender to say");
    if ((!p->delay_level.n || slice_eq(p->delay_level, SLICE("0"))) && !known_has_timer(p)) return NULL;
    return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: a batch cannot hold delayed messages");
}

err_t intake_check_key(const struct topic *topic, const struct known_properties *p)
{
    if (slice_trim(p->key_words).n || !topic_is_compacted(topic)) return NULL;
    return err_new(ERR_MESSAGE_ILLEGAL, "Required message key is missing");
}

void intake_trace_fields(void *ctx, struct frame_writer *w)
{
    const struct broker *b = ctx;
    frame_put(w, SLICE("MSG_REGION"), b->region);
    frame_put(w, SLICE("TRACE_ON"), b->trace_on);
}

bool intake_waits(const struct known_properties *p) { return !slice_eq(p->wait, SLICE("false")); }

void intake_common(const struct call *call, const struct send_header *h, const struct topic *topic, struct message *out)
{
    *out = (struct message){
        .topic = topic->config.name, .queue_id = h->queue_id, .flag = h->flag, .born_ms = h->born_timestamp,
        .born_host = *rpc_conn_remote(call->conn), .reconsume_times = h->reconsume_times,
        .sys_flag = h->sys_flag | (topic->config.filter == TOPIC_FILTER_MULTI_TAG ? SYS_FLAG_MULTI_TAGS : 0),
        .batch_topic = topic->batches,
    };
}

void intake_keys(const struct known_properties *p, struct message *out)
{
    out->tag_hash = p->tags.n ? tags_hash(p->tags) : 0;
    out->keys_known = true;
    out->unique_key = p->unique_key;
    out->key_words = p->key_words;
    out->tags = p->tags;
    out->further_queues = p->further_queues;
}

/* For clients that send no unique key of their own. */
static void put_unique_key(struct broker *b, struct buf *properties)
{
    int64_t now = tasks_wall_ms(b->tasks);
    struct unique_id id = {
        .client = b->advertised, .process = (uint16_t)process_id(), .loader = (uint32_t)(b->options.seed),
        .month_ms = (uint32_t)(now - month_start_ms(now)), .counter = b->unique_counter++,
    };
    char text[MESSAGE_ID_TEXT];
    size_t n = unique_id_format(&id, text);
    properties_put(properties, SLICE("UNIQ_KEY"), slice_of(text, n));
}

static void put_own_properties(struct broker *b, struct buf *text)
{
    properties_put(text, SLICE("MSG_REGION"), b->region);
    properties_put(text, SLICE("TRACE_ON"), b->trace_on);
    properties_put(text, SLICE("CLUSTER"), b->cluster);
}

/* False: it has none that can be. */
static bool has_priority(const struct known_properties *p, int32_t *out)
{
    int32_t n;
    if (!p->priority.n || !slice_to_i32(p->priority, &n) || n < 0) return false;
    *out = n;
    return true;
}

/* A message is of one kind: one of a transaction, delayed, or in order has no priority. */
static bool is_of_other_kind(const struct known_properties *p)
{
    bool transaction = p->transaction.n == 4 && strncasecmp((const char *)p->transaction.p, "true", 4) == 0;
    return transaction || p->delay_level.n || known_has_timer(p) || p->sharding_key.n;
}

int32_t intake_priority_queue(const struct known_properties *p, const struct topic *topic, int32_t queue_id)
{
    int32_t n, last = topic->config.write_queues > 0 ? topic->config.write_queues - 1 : 0;
    if (!has_priority(p, &n) || is_of_other_kind(p)) return queue_id;
    return n < last ? n : last;
}

static bool loses_priority(const struct known_properties *p)
{
    int32_t n;
    return has_priority(p, &n) && is_of_other_kind(p);
}

/* What only the broker says of a message. */
static bool is_reserved(struct slice name)
{
    return slice_eq(name, SLICE("POP_CK")) || slice_eq(name, SLICE("INNER_NUM")) || slice_eq(name, SLICE("INNER_BASE")) ||
           slice_eq(name, LMQ_OFFSETS);
}

static void put_unreserved(struct slice properties, const struct known_properties *p, struct buf *text)
{
    struct slice name, value;
    bool without_priority = loses_priority(p);
    while (properties_next(&properties, &name, &value)) {
        if (is_reserved(name) || (without_priority && slice_eq(name, SLICE("_SYS_MSG_PRIORITY_")))) continue;
        if (!p->lite_topic.n || !slice_eq(name, LMQ_NAMES)) properties_put(text, name, value);
    }
}

/* A message for a lite topic is in the light queue of that name, and in no other one. */
static void put_lite_queue(struct slice topic, struct slice lite_topic, struct buf *text)
{
    struct buf queue = BUF_EMPTY;
    buf_printf(&queue, "%%LMQ%%$%.*s$%.*s", SLICE_ARG(topic), SLICE_ARG(lite_topic));
    properties_put(text, LMQ_NAMES, buf_slice(&queue));
    buf_done(&queue);
}

void intake_batch(struct broker *b, const struct call *call, const struct send_header *h, const struct topic *topic,
                  const struct known_properties *p, size_t count, struct message *out)
{
    struct buf *text = &b->scratch;
    char number[24];
    buf_clear(text);
    snprintf(number, sizeof number, "%zu", count);
    properties_put(text, SLICE("INNER_NUM"), slice_text(number));   /* the store puts INNER_BASE before it: the original's order */
    put_unreserved(h->properties, p, text);
    put_own_properties(b, text);
    intake_common(call, h, topic, out);
    out->sys_flag |= SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP;
    out->inner_count = count <= INT32_MAX ? (int32_t)count : 0;
    out->body = call->body;
    out->properties = buf_slice(text);
    intake_keys(p, out);
}

void intake_message(struct broker *b, const struct call *call, const struct send_header *h, const struct topic *topic,
                    const struct known_properties *p, struct message *out, struct slice *unique_key)
{
    struct buf *text = &b->scratch;
    buf_clear(text);
    if (p->pop_check_point.n || p->further_offsets.n || p->lite_topic.n || loses_priority(p)) put_unreserved(h->properties, p, text);
    else buf_put_slice(text, h->properties);
    size_t made_at = text->n;
    if (p->lite_topic.n) put_lite_queue(topic->config.name, p->lite_topic, text);
    if (!p->unique_key.n) put_unique_key(b, text);
    put_own_properties(b, text);
    intake_common(call, h, topic, out);
    out->body = call->body;
    out->properties = buf_slice(text);
    intake_keys(p, out);
    if (p->lite_topic.n) out->further_queues = properties_get(slice_skip(out->properties, made_at), LMQ_NAMES);
    if (!p->unique_key.n) out->unique_key = properties_get(slice_skip(out->properties, made_at), SLICE("UNIQ_KEY"));
    *unique_key = out->unique_key;
}
