#include "client/producer/prepare.h"

#include "codec/compress.h"
#include "codec/message.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "meta/names.h"

#include <stdlib.h>

/* Room for an id that only the loop can make; returns where it stands. */
static size_t leave_id(const struct sky_producer *p, struct buf *properties)
{
    char place[MESSAGE_ID_V6];
    size_t n = p->member.client->next_id.client.v6 ? MESSAGE_ID_V6 : MESSAGE_ID_V4;
    memset(place, '0', sizeof place);
    properties_put(properties, SLICE("UNIQ_KEY"), slice_of(place, n));
    return properties->n - n - 1;
}

/* A body that does not get smaller travels as it is. */
static err_t put_body(struct sending *s, const struct sky_message *m)
{
    const struct sky_producer_options *o = &s->producer->options;
    if (o->compress_from_bytes && (int64_t)m->body.n >= o->compress_from_bytes) {
        err_t e = compress_body((enum compression)o->compression, o->compression_level, buf_slice(&m->body), &s->body);
        if (e) return e;
        if (s->body.n < m->body.n) {
            s->sys_flag = SYS_FLAG_COMPRESSED | (int32_t)o->compression << SYS_FLAG_COMPRESSION_SHIFT;
            return NULL;
        }
        buf_clear(&s->body);
    }
    buf_put(&s->body, m->body.p, m->body.n);
    return NULL;
}

static struct sending *sending_new(struct sky_producer *p, const char *topic, const struct sky_send_options *o)
{
    struct sending *s = must_zero(sizeof *s);
    s->producer = p;
    s->topic_name = must_strdup(topic);
    s->mail.deliver = sending_begin;
    list_node_init(&s->route_wait.node);
    if (o) send_options_copy(o, &s->how);
    s->timeout_ms = s->how.timeout_ms ? s->how.timeout_ms : p->options.send_timeout_ms;
    return s;
}

struct sky_error *sending_of(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o, struct sending **out)
{
    err_t e = message_check(m, p->options.max_message_bytes);
    if (e) return sky_error_from(e);
    struct sending *s = sending_new(p, m->topic, o);
    e = put_body(s, m);
    if (e) {
        sending_free(s);
        return sky_error_from(e);
    }
    message_properties(m, &s->properties);
    if (s->how.order_key) properties_put(&s->properties, SLICE("__SHARDINGKEY"), slice_text(s->how.order_key));
    s->id_at = leave_id(p, &s->properties);
    s->flag = m->flag;
    s->bytes = (int64_t)m->body.n;
    if (s->how.selector) s->shown = message_copy(m);
    *out = s;
    return NULL;
}

/* --- batches --- */

static struct sky_error *check_batch(const struct sky_producer *p, const struct sky_message *const *messages, size_t count)
{
    if (!count) return error_new(SKY_INVALID, 0, "a batch needs messages");
    for (size_t i = 0; i < count; i++) {
        const struct sky_message *m = messages[i];
        err_t e = message_check(m, p->options.max_message_bytes);
        if (e) return sky_error_from(err_in(e, "message %zu of the batch", i));
        if (message_is_delayed(m)) return error_new(SKY_INVALID, 0, "message %zu of the batch is delayed: that goes alone only", i);
        if (topic_name_is_retry(slice_text(m->topic))) return error_new(SKY_INVALID, 0, "a topic for retries takes no batches");
        if (strcmp(m->topic, messages[0]->topic) != 0) return error_new(SKY_INVALID, 0, "messages of a batch have one topic");
        if (m->dont_wait != messages[0]->dont_wait) return error_new(SKY_INVALID, 0, "messages of a batch wait for the disk all or none");
    }
    return NULL;
}

/* Facts: docs/protocol/store.md 2.1 */
static void add_to_batch(struct sending *s, const struct sky_message *m, size_t number)
{
    struct buf properties = BUF_EMPTY;
    message_properties(m, &properties);
    size_t id_at = leave_id(s->producer, &properties);
    buf_put_be32(&s->body, (uint32_t)(4 + 4 + 4 + 4 + 4 + m->body.n + 2 + properties.n));
    buf_put_be32(&s->body, 0);
    buf_put_be32(&s->body, 0);
    buf_put_be32(&s->body, (uint32_t)m->flag);
    buf_put_be32(&s->body, (uint32_t)m->body.n);
    buf_put(&s->body, m->body.p, m->body.n);
    buf_put_be16(&s->body, (uint16_t)properties.n);
    s->id_places[number] = s->body.n + id_at;
    buf_put_slice(&s->body, buf_slice(&properties));
    buf_done(&properties);
}

struct sky_error *sending_of_batch(struct sky_producer *p, const struct sky_message *const *messages, size_t count,
                                   const struct sky_send_options *o, struct sending **out)
{
    struct sky_error *e = check_batch(p, messages, count);
    if (e) return e;
    struct sending *s = sending_new(p, messages[0]->topic, o);
    s->batch = count;
    s->id_places = must_zero(count * sizeof *s->id_places);
    for (size_t i = 0; i < count && (int64_t)s->body.n <= p->options.max_message_bytes; i++) add_to_batch(s, messages[i], i);
    if ((int64_t)s->body.n > p->options.max_message_bytes) {
        sending_free(s);
        return error_new(SKY_INVALID, 0, "the batch has more than %lld bytes", (long long)p->options.max_message_bytes);
    }
    properties_put(&s->properties, SLICE("WAIT"), messages[0]->dont_wait ? SLICE("false") : SLICE("true"));
    s->id_at = leave_id(p, &s->properties);
    s->bytes = (int64_t)s->body.n;
    if (s->how.selector) s->shown = message_copy(messages[0]);
    *out = s;
    return NULL;
}
