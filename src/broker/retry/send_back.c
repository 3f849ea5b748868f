#include "broker/handlers.h"
#include "broker/intake/dead_letter.h"
#include "broker/intake/put.h"

#include "codec/message_id.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "meta/names.h"

#include <stdio.h>
#include <stdlib.h>

enum { FIRST_LEVEL = 3 };

/* A message that waits to be stored again. */
struct sent_back {
    struct call *call;
    struct appended appended;
};

static void send_back_done(void *ctx, err_t e)
{
    struct sent_back *s = ctx;
    if (e) call_fail(s->call, e);
    else call_reply_ok(s->call);
    free(s);
}

static err_t retry_topic(struct broker *b, const struct send_back_header *h, const struct group *group, const struct topic **out)
{
    char text[ADDR_TEXT_MAX];
    if (!(b->cfg->broker.permission & PERM_WRITE))
        return err_new(ERR_NO_PERMISSION, "the broker[%s] sending message is forbidden", addr_format_ip(&b->advertised, text));
    struct buf name = BUF_EMPTY;
    retry_topic_name(h->group, &name);
    err_t e = NULL;
    *out = topics_ensure(b->topics, buf_slice(&name), group->config.retry_queues, PERM_READ | PERM_WRITE, false,
                         h->unit_mode ? TOPIC_SYS_UNIT_SUB : 0);
    if (!*out) e = err_new(ERR_REFUSED, "topic[%.*s] not exist", (int)name.n, (const char *)name.p);
    else if (!((*out)->config.perm & PERM_WRITE))
        e = err_new(ERR_NO_PERMISSION, "the topic[%.*s] sending message is forbidden", (int)name.n, (const char *)name.p);
    buf_done(&name);
    return e;
}

static enum dead_letter_reason why_dead(const struct call *call, const struct send_back_header *h, const struct group *group,
                                        const struct message *m)
{
    if (h->delay_level < 0) return DEAD_AS_ASKED;
    int32_t max = intake_max_retries(call, group, header_has(h, send_back, max_reconsume_times) ? &h->max_reconsume_times : NULL);
    return m->reconsume_times >= max ? DEAD_TRIED_OFTEN : DEAD_NOT;
}

/* The topic it was sent to, before it was tried for the first time. */
static struct slice first_topic(const struct message *m)
{
    struct slice topic = properties_get(m->properties, SLICE("RETRY_TOPIC"));
    return topic.n ? topic : m->topic;
}

/* Later and later; the highest level is the one that repeats. */
static int32_t usual_level(const struct message *m)
{
    return m->reconsume_times > INT32_MAX - FIRST_LEVEL ? INT32_MAX : FIRST_LEVEL + m->reconsume_times;
}

/* A property that is set anew for each try. */
static bool is_of_one_try(struct slice name)
{
    return slice_eq(name, SLICE("DELAY")) || slice_eq(name, SLICE("WAIT")) || slice_eq(name, SLICE("DLQ_REASON"));
}

/* What the message was at first stays known: its topic, and the id of the record that was sent back first. */
static void put_properties(const struct message *m, int32_t level, enum dead_letter_reason why, struct buf *out)
{
    char id[MESSAGE_ID_TEXT], number[16];
    struct slice rest = m->properties, name, value;
    while (properties_next(&rest, &name, &value))
        if (!is_of_one_try(name)) properties_put(out, name, value);
    if (!properties_get(m->properties, SLICE("RETRY_TOPIC")).n) properties_put(out, SLICE("RETRY_TOPIC"), first_topic(m));
    if (!slice_trim(properties_get(m->properties, SLICE("ORIGIN_MESSAGE_ID"))).n)
        properties_put(out, SLICE("ORIGIN_MESSAGE_ID"), slice_of(id, offset_id_format(&m->store_host, m->log_offset, id)));
    snprintf(number, sizeof number, "%d", level);
    properties_put(out, SLICE("DELAY"), slice_text(number));
    properties_put(out, SLICE("WAIT"), SLICE("false"));
    properties_put(out, SLICE("DLQ_REASON"), dead_letter_reason_text(why));
}

/* --- a message out of a batch that is one record --- */

static struct slice unique_key(const struct message *m) { return properties_get(m->properties, SLICE("UNIQ_KEY")); }

/* What the record says of the batch alone, and what it says of each message in it, which says so itself. */
static bool is_of_the_batch(struct slice name, const struct message *one)
{
    return slice_eq(name, SLICE("INNER_BASE")) || slice_eq(name, SLICE("INNER_NUM")) || slice_eq(name, SLICE("UNIQ_KEY")) ||
           properties_get(one->properties, name).p;
}

/* As if the message with this id had been sent alone. The original refuses these; its clients then send the message themselves. */
static err_t unwrap(struct slice id, struct message *m, struct buf *text)
{
    struct slice rest = m->body, batch = m->properties, name, value;
    struct message one;
    bool broken;
    while (batch_next(&rest, &one, &broken)) {
        if (!id.n || !slice_eq(unique_key(&one), id)) continue;
        buf_put_slice(text, one.properties);
        if (one.properties.n && one.properties.p[one.properties.n - 1] != PROPERTY_END) buf_put_u8(text, PROPERTY_END);
        while (properties_next(&batch, &name, &value))
            if (!is_of_the_batch(name, &one)) properties_put(text, name, value);
        m->sys_flag &= ~(SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP);
        m->flag = one.flag;
        m->body = one.body;
        m->properties = buf_slice(text);
        return NULL;
    }
    return err_new(ERR_REFUSED, "the record at %lld is a batch, and none of its messages has the id [%.*s]", (long long)m->log_offset, SLICE_ARG(id));
}

/* Stores the message again: in the group's retry topic when the time has come, or as a dead letter. */
static err_t try_again(struct broker *b, struct call *call, const struct send_back_header *h, const struct group *group, const struct topic *topic,
                       const struct message *m)
{
    enum dead_letter_reason why = why_dead(call, h, group, m);
    if (why) topic = intake_dead_letter_topic(b, h->group);
    if (!topic) return err_new(ERR_REFUSED, "topic[%%DLQ%%%.*s] not exist", SLICE_ARG(h->group));
    if (disk_unsaved(b, call, topic)) return NULL;
    int32_t level = why ? 0 : h->delay_level ? h->delay_level : usual_level(m);
    struct message again = *m;
    again.topic = topic->config.name;
    again.queue_id = why ? 0 : (int32_t)random_below(&b->random, (uint32_t)group->config.retry_queues);
    again.reconsume_times = m->reconsume_times < INT32_MAX ? m->reconsume_times + 1 : INT32_MAX;
    again.prepared_offset = 0;
    again.batch_topic = false;
    struct buf text = BUF_EMPTY;
    put_properties(m, level, why, &text);
    again.properties = buf_slice(&text);
    struct sent_back *s = must_zero(sizeof *s);
    s->call = call;
    err_t e = intake_put(b, &again, send_back_done, s, &s->appended);
    buf_done(&text);
    if (e) free(s);
    else stats_add_for_group(&b->stats, SNDBCK_PUT_NUMS, first_topic(m), h->group, 1);
    if (!e && why) intake_tell_dead_letter(b, h->group, first_topic(m), properties_get(m->properties, SLICE("UNIQ_KEY")), why);
    return e;
}

/* A consumer could not consume a message and wants to see it again later. Facts: docs/protocol/remoting.md A6, semantics.md 4 */
void handle_send_back(struct broker *b, struct call *call)
{
    struct send_back_header h;
    const struct group *group = NULL;
    const struct topic *topic;
    struct pinned record = {.release = NULL};
    struct message m;
    struct buf text = BUF_EMPTY;

    err_t e = header_decode(&send_back_kind, call->frame, &h);
    if (!e) group = groups_find_or_create(b->groups, h.group);
    if (!e && !group) e = err_new(ERR_GROUP_NOT_FOUND, "subscription group not exist, %.*s " SEE_FAQ, SLICE_ARG(h.group));
    if (!e && group->config.retry_queues <= 0) {
        call_reply_ok(call);   /* the group wants nothing tried again */
        return;
    }
    if (!e) e = retry_topic(b, &h, group, &topic);
    if (e) goto fail;

    e = store_record_at(b->store, h.offset, &record);
    if (disk_again(b, call)) {
        err_free(e);
        return;
    }
    if (e || record_read(record.bytes, &m) != RECORD_WHOLE) {
        err_free(e);
        e = err_new(ERR_REFUSED, "look message by offset failed, %lld", (long long)h.offset);
        goto fail;
    }
    if (m.sys_flag & SYS_FLAG_INNER_BATCH) e = unwrap(h.origin_msg_id, &m, &text);
    if (!e) e = try_again(b, call, &h, group, topic, &m);
    if (e) goto fail;
    buf_done(&text);
    pin_release(&record);
    return;

fail:
    buf_done(&text);
    pin_release(&record);
    call_fail(call, e);
}
