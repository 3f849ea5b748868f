/* Where is a message, and why did a group not get it? (90012; docs/protocol/why.md) */
#include "broker/handlers.h"
#include "base/clamped.h"
#include "broker/why/verdict.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "meta/names.h"
#include "rpc/reply.h"

#include <stdlib.h>
#include <time.h>

#define LEVELS_TOPIC SLICE("SCHEDULE_TOPIC_XXXX")
#define TIMER_TOPIC  SLICE("rmq_sys_wheel_timer")
#define HALF_TOPIC   SLICE("RMQ_SYS_TRANS_HALF_TOPIC")

/* Where copies of a message may lie, in the order in which they are made. */
enum place { IN_HALVES, ON_A_LEVEL, IN_THE_WHEEL, IN_ITS_TOPIC, TO_BE_TRIED, DEAD, PLACES };

/* One message that is looked for, place by place. */
struct quest {
    struct broker *broker;
    struct call *call;
    struct slice topic, key, group;   /* in `texts`; group p NULL: of no group */
    struct buf texts;
    struct buf retry, dead;           /* names of the group's topics */
    enum place place;
    bool found;
    int64_t newest;                   /* log_offset of the copy below */
    enum place where;
    struct buf record;                /* of the newest copy */
    struct answer_text answer;
};

static void look(struct quest *q);

static struct slice topic_of(const struct quest *q, enum place place)
{
    switch (place) {
    case IN_HALVES: return HALF_TOPIC;
    case ON_A_LEVEL: return LEVELS_TOPIC;
    case IN_THE_WHEEL: return TIMER_TOPIC;
    case IN_ITS_TOPIC: return q->topic;
    case TO_BE_TRIED: return buf_slice(&q->retry);
    case DEAD: return buf_slice(&q->dead);
    case PLACES: break;
    }
    return (struct slice){NULL, 0};
}

static const char *const place_names[] = {
    [IN_HALVES] = "prepared, not committed", [ON_A_LEVEL] = "waiting on a delay level", [IN_THE_WHEEL] = "waiting for its time",
    [IN_ITS_TOPIC] = "in its topic", [TO_BE_TRIED] = "to be tried again", [DEAD] = "dead letter",
};

/* --- one copy --- */

/* Messages of other topics wait in the same places. */
static bool belongs(const struct quest *q, enum place place, const struct message *m)
{
    if (place == IN_ITS_TOPIC || place == TO_BE_TRIED || place == DEAD) return true;
    struct slice real = properties_get(m->properties, SLICE("REAL_TOPIC"));
    return slice_eq(real, q->topic) || (q->group.p && slice_eq(real, buf_slice(&q->retry)));
}

static int64_t number_of(const struct message *m, struct slice name)
{
    int64_t n = 0;
    return slice_to_i64(properties_get(m->properties, name), &n) ? n : 0;
}

static int64_t due_of(const struct quest *q, enum place place, const struct message *m)
{
    if (place == ON_A_LEVEL) return clamped_plus(m->store_ms, delay_levels_ms(&q->broker->delay_levels, number_of(m, SLICE("DELAY"))));
    return place == IN_THE_WHEEL ? number_of(m, SLICE("TIMER_OUT_MS")) : 0;
}

static void add_copy(struct quest *q, struct slice record)
{
    struct message m;
    if (record_read(record, &m) != RECORD_WHOLE || !belongs(q, q->place, &m)) return;
    struct why *why = &q->answer.why;
    struct why_copy *c = arena_list_add(&q->answer.arena, (void **)&why->copies.items, &why->copies.count, sizeof *c);
    if (!c) return;
    *c = (struct why_copy){
        .place = slice_text(place_names[q->place]), .topic = arena_copy(&q->answer.arena, m.topic), .queue_id = m.queue_id, .queue_offset = m.queue_offset,
        .log_offset = m.log_offset, .store_ms = m.store_ms, .due_ms = due_of(q, q->place, &m), .reconsume_times = m.reconsume_times,
    };
    if (q->found && m.log_offset < q->newest) return;
    q->found = true;
    q->newest = m.log_offset;
    q->where = q->place;
    buf_clear(&q->record);
    buf_put_slice(&q->record, record);
}

/* --- what that means: the newest copy tells --- */

static const char *time_text(int64_t ms, char out[32])
{
    struct tm t;
    time_t seconds = (time_t)(ms / 1000);
    if (!localtime_r(&seconds, &t)) return "a time far away";
    strftime(out, 32, "%Y-%m-%d %H:%M:%S", &t);
    return out;
}

static void tell_waiting(struct quest *q, const struct message *m)
{
    char text[32];
    int64_t due_ms = due_of(q, q->where, m), left_ms = clamped_minus(due_ms, tasks_wall_ms(q->broker->tasks));
    answer_fact(&q->answer, "dueTimestamp", "%lld", (long long)due_ms);
    if (left_ms > 0)
        answer_say(&q->answer, "it waits until %s, %lld s from now, for topic %.*s", time_text(due_ms, text), (long long)left_ms / 1000,
                   SLICE_ARG(properties_get(m->properties, SLICE("REAL_TOPIC"))));
    else answer_say(&q->answer, "it was due at %s and is not there: it was recalled, it is being delivered, or what it became has left the log", time_text(due_ms, text));
}

static void tell_half(struct quest *q, const struct message *m)
{
    bool open = broker_has_open_half(q->broker, m);
    answer_fact(&q->answer, "open", "%s", open ? "true" : "false");
    answer_fact(&q->answer, "checkTimes", "%lld", (long long)number_of(m, SLICE("TRANSACTION_CHECK_TIMES")));
    if (open)
        answer_say(&q->answer, "its producer, group %.*s, has prepared it and neither committed nor rolled back; it was asked %lld times",
                   SLICE_ARG(properties_get(m->properties, SLICE("PGROUP"))), (long long)number_of(m, SLICE("TRANSACTION_CHECK_TIMES")));
    else answer_say(&q->answer, "it was prepared and then rolled back, or given up: nobody gets it");
}

static void tell_dead(struct quest *q, const struct message *m)
{
    char text[32];
    struct slice why = properties_get(m->properties, SLICE("DLQ_REASON"));
    answer_say(&q->answer, "it is a dead letter of group %.*s since %s, after %d tries: %.*s", SLICE_ARG(q->group), time_text(m->store_ms, text),
               m->reconsume_times, why.n ? (int)why.n : 14, why.n ? (const char *)why.p : "nobody said why");
}

/* How far the group is in the queue the message lies in. */
static void tell_progress(struct quest *q, const struct message *m)
{
    struct broker *b = q->broker;
    struct slice topic = topic_of(q, q->where);
    int64_t committed = offsets_query(b->offsets, topic, q->group, m->queue_id);
    answer_fact(&q->answer, "committedOffset", "%lld", (long long)committed);
    verdict_tell(b, q->group, topic, m, &q->answer);
    if (committed > m->queue_offset)
        answer_say(&q->answer, "the group got it: it lies at offset %lld of queue %d of %.*s, and the group has committed %lld", (long long)m->queue_offset,
                   m->queue_id, SLICE_ARG(topic), (long long)committed);
    const struct queue_offsets *o = offsets_of_queue(b->offsets, topic, q->group, m->queue_id);
    if (o && o->pulled > m->queue_offset)
        answer_say(&q->answer, "it was given to a consumer and is not committed: it lies at offset %lld of queue %d of %.*s, and the group has committed %lld",
                   (long long)m->queue_offset, m->queue_id, SLICE_ARG(topic), (long long)committed);
    answer_say(&q->answer, "the group has not come to it: it lies at offset %lld of queue %d of %.*s, %lld behind", (long long)m->queue_offset, m->queue_id,
               SLICE_ARG(topic), (long long)(m->queue_offset - (committed < 0 ? 0 : committed)));
}

static void conclude(struct quest *q)
{
    struct message m;
    if (!q->found || record_read(buf_slice(&q->record), &m) != RECORD_WHOLE) {
        answer_say(&q->answer, "no message of topic %.*s with that key is known here: it was never stored on this broker, or is older than what is kept",
                   SLICE_ARG(q->topic));
        return;
    }
    switch (q->where) {
    case ON_A_LEVEL: case IN_THE_WHEEL: tell_waiting(q, &m); break;
    case IN_HALVES: tell_half(q, &m); break;
    case DEAD: tell_dead(q, &m); break;
    case IN_ITS_TOPIC: case TO_BE_TRIED: case PLACES:
        if (q->group.p) tell_progress(q, &m);
        answer_say(&q->answer, "it lies at offset %lld of queue %d of %.*s", (long long)m.queue_offset, m.queue_id, SLICE_ARG(topic_of(q, q->where)));
    }
}

/* --- looking --- */

static void quest_free(struct quest *q)
{
    buf_done(&q->texts);
    buf_done(&q->retry);
    buf_done(&q->dead);
    buf_done(&q->record);
    answer_done(&q->answer);
    free(q);
}

static void on_found(void *ctx, struct store_found *found)
{
    struct quest *q = ctx;
    for (size_t i = 0; i < found->count; i++) {
        add_copy(q, found->record[i].bytes);
        pin_release(&found->record[i]);
    }
    q->place++;
    look(q);
}

static void look(struct quest *q)
{
    enum place end = q->group.p ? PLACES : TO_BE_TRIED;
    if (q->place < end && rpc_conn_open(q->call->conn)) {
        struct store_find f = {.topic = topic_of(q, q->place), .key = q->key, .begin_ms = 0, .end_ms = INT64_MAX, .max = FIND_MAX};
        store_find(q->broker->store, &f, on_found, q);
        return;
    }
    conclude(q);
    reply_bean(q->call, NULL, NULL, &why_bean, &q->answer.why);
    quest_free(q);
}

void handle_why_message(struct broker *b, struct call *call)
{
    struct why_message_header h;
    err_t e = header_decode(&why_message_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct quest *q = must_zero(sizeof *q);
    q->broker = b;
    q->call = call;
    q->answer = ANSWER_EMPTY;
    buf_put_slice(&q->texts, h.topic);
    buf_put_slice(&q->texts, h.unique_key);
    if (h.consumer_group.n) buf_put_slice(&q->texts, h.consumer_group);
    q->topic = slice_of(q->texts.p, h.topic.n);
    q->key = slice_of(q->texts.p + h.topic.n, h.unique_key.n);
    if (h.consumer_group.n) {
        q->group = slice_of(q->key.p + q->key.n, h.consumer_group.n);
        retry_topic_name(q->group, &q->retry);
        dead_letter_topic_name(q->group, &q->dead);
    }
    look(q);
}
