/* Why does a queue not move? (90011; docs/protocol/why.md) */
#include "broker/handlers.h"
#include "base/clamped.h"
#include "broker/why/verdict.h"
#include "codec/record.h"
#include "rpc/reply.h"

enum { SECOND_MS = 1000, QUIET_MS = 60000 };

struct question {
    struct broker *b;
    const struct why_queue_header *h;
    const struct group *group;
    const struct topic *topic;
    struct member_group *members;
    const struct queue_offsets *offsets;
    int64_t committed, min, max;
};

static const char *result_text(const struct pull_note *n)
{
    switch (n->code) {
    case PULL_WAITS: return "it waits for messages";
    case RESPONSE_SUCCESS: return "it got messages";
    case RESPONSE_PULL_NOT_FOUND: return "there was nothing new";
    case RESPONSE_PULL_RETRY_IMMEDIATELY: return "none of what it looked at matches the subscription";
    case RESPONSE_PULL_OFFSET_MOVED: return "it was sent to another offset";
    default: return "it was refused";
    }
}

static long long seconds_since(struct broker *b, int64_t mono_ms) { return (tasks_mono_ms(b->tasks) - mono_ms) / SECOND_MS; }

static const char *client_name(struct broker *b, uint64_t conn)
{
    const struct client *c = members_client_of(&b->members, conn);
    return c && c->id ? c->id : "a client that is gone";
}

/* --- one reason after the other; the first that holds is the sentence --- */

static void may_it_be_read(const struct question *q, struct answer_text *a)
{
    const struct why_queue_header *h = q->h;
    if (!(q->b->cfg->broker.permission & PERM_READ)) answer_say(a, "this broker may not be read: brokerPermission=%d", q->b->cfg->broker.permission);
    if (!q->topic) answer_say(a, "topic %.*s is not known to this broker", SLICE_ARG(h->topic));
    else if (!(q->topic->config.perm & PERM_READ)) answer_say(a, "topic %.*s may not be read: its permission is %d", SLICE_ARG(h->topic), q->topic->config.perm);
    else if (h->queue_id < 0 || h->queue_id >= q->topic->config.read_queues)
        answer_say(a, "topic %.*s has %d queues to read, and none with number %d", SLICE_ARG(h->topic), q->topic->config.read_queues, h->queue_id);
    if (!q->group) answer_say(a, "group %.*s is not known to this broker: nobody has consumed with it", SLICE_ARG(h->consumer_group));
    else if (!q->group->config.consume_enable) answer_say(a, "group %.*s may not consume: consumeEnable=false", SLICE_ARG(h->consumer_group));
    if (groups_is_read_forbidden(q->b->groups, h->consumer_group, h->topic))
        answer_say(a, "group %.*s is forbidden to read topic %.*s", SLICE_ARG(h->consumer_group), SLICE_ARG(h->topic));
}

static size_t subscribers(const struct question *q)
{
    size_t count = 0;
    MEMBERS_EACH(q->members, node) {
        const struct member *one = MEMBER_OF(node);
        for (size_t i = 0; i < one->count; i++) count += slice_eq(one->interests[i].subscription.topic, q->h->topic);
    }
    return count;
}

static void is_anybody_there(const struct question *q, struct answer_text *a)
{
    if (!q->members) {
        answer_say(a, "no consumer of group %.*s is connected to this broker", SLICE_ARG(q->h->consumer_group));
        return;
    }
    answer_fact(a, "members", "%zu", q->members->count);
    size_t n = subscribers(q);
    answer_fact(a, "subscribers", "%zu", n);
    if (!n) answer_say(a, "none of the %zu consumers of group %.*s subscribes to topic %.*s", q->members->count, SLICE_ARG(q->h->consumer_group),
                       SLICE_ARG(q->h->topic));
    if (q->members->model == MODEL_BROADCASTING)
        answer_say(a, "the group broadcasts: each of its consumers keeps for itself how far it is");
}

/* The lock counts for consumers in order alone; whoever holds it is the one to look at. */
static void who_holds_it(const struct question *q, struct answer_text *a)
{
    int64_t silent_ms;
    struct message_queue queue = {.topic = q->h->topic, .broker = slice_text(q->b->cfg->broker.name), .queue_id = q->h->queue_id};
    const char *holder = locks_holder(&q->b->locks, q->h->consumer_group, &queue, &silent_ms);
    if (!holder) return;
    answer_fact(a, "lockHolder", "%s", holder);
    answer_fact(a, "lockSilentMs", "%lld", (long long)silent_ms);
    const struct pull_note *last = q->offsets ? &q->offsets->last : NULL;
    bool pulls = last && last->at_ms && tasks_mono_ms(q->b->tasks) - last->at_ms < QUIET_MS;
    if (!pulls) answer_say(a, "%s holds the lock of the queue and does not pull it: consumers in order wait for it to let go", holder);
}

static void what_did_it_ask_for(const struct question *q, struct answer_text *a)
{
    const struct pull_note *last = q->offsets ? &q->offsets->last : NULL;
    if (!last || !last->at_ms) {
        answer_say(a, "nobody has pulled the queue since the broker started: it may not be assigned to any of the group's consumers");
        return;
    }
    const char *who = client_name(q->b, last->conn);
    long long ago = seconds_since(q->b, last->at_ms);
    answer_fact(a, "lastPullBy", "%s", who);
    answer_fact(a, "lastPullSecondsAgo", "%lld", ago);
    answer_fact(a, "lastPullOffset", "%lld", (long long)last->from);
    answer_fact(a, "lastPullResult", "%s", result_text(last));
    answer_fact(a, "lastPullCode", "%d", last->code);
    answer_fact(a, "pulledOffset", "%lld", (long long)q->offsets->pulled);
    bool refused = last->code > 0 && last->code != RESPONSE_PULL_NOT_FOUND && last->code != RESPONSE_PULL_RETRY_IMMEDIATELY && last->code != RESPONSE_PULL_OFFSET_MOVED;
    if (refused) answer_say(a, "the last pull, by %s %lld s ago, was refused with code %d", who, ago, last->code);
    if (q->offsets->reset >= 0) answer_say(a, "an administrator moved the group to offset %lld; the next pull is told", (long long)q->offsets->reset);
    if (q->committed < q->max && q->offsets->pulled > q->committed && last->code != RESPONSE_PULL_RETRY_IMMEDIATELY)
        answer_say(a, "messages %lld to %lld were given to %s and are not committed: it is consuming them, or is stuck in one of them; its last pull was %lld s ago",
                   (long long)q->committed, (long long)q->offsets->pulled - 1, who, ago);
    if (q->committed < q->max && tasks_mono_ms(q->b->tasks) - last->at_ms > QUIET_MS)
        answer_say(a, "the last pull, by %s, was %lld s ago: the client does not ask for more", who, ago);
}

/* --- what comes next --- */

/* False: not in memory. */
static bool what_comes_next(const struct question *q, struct answer_text *a)
{
    struct store *store = q->b->store;
    struct store_entry entry;
    struct pinned record;
    struct message m;
    if (q->committed >= q->max || !store_entries(store, q->h->topic, q->h->queue_id, q->committed > q->min ? q->committed : q->min, 1, &entry))
        return !store_is_cold(store);
    err_t e = store_record_at(store, entry.log_offset, &record);
    if (e) {
        err_free(e);
        return !store_is_cold(store);
    }
    answer_fact(a, "lagMs", "%lld", (long long)(clamped_minus(tasks_wall_ms(q->b->tasks), record_store_ms(record.bytes.p))));
    if (record_read(record.bytes, &m) == RECORD_WHOLE) verdict_tell(q->b, q->h->consumer_group, q->h->topic, &m, a);
    pin_release(&record);
    return true;
}

static void is_there_anything(const struct question *q, struct answer_text *a)
{
    answer_fact(a, "minOffset", "%lld", (long long)q->min);
    answer_fact(a, "maxOffset", "%lld", (long long)q->max);
    answer_fact(a, "committedOffset", "%lld", (long long)q->committed);
    answer_fact(a, "lag", "%lld", (long long)(q->committed < 0 ? q->max - q->min : q->max - q->committed));
    if (q->max == q->min) answer_say(a, "the queue holds no messages");
    else if (q->committed >= q->max) answer_say(a, "everything is consumed: the group committed offset %lld, and the queue ends at %lld", (long long)q->committed, (long long)q->max);
}

static bool explain(const struct question *q, struct answer_text *a)
{
    may_it_be_read(q, a);
    if (!q->topic) return true;
    is_there_anything(q, a);
    is_anybody_there(q, a);
    who_holds_it(q, a);
    what_did_it_ask_for(q, a);
    if (!what_comes_next(q, a)) return false;
    answer_say(a, "the queue moves: the group is at offset %lld of %lld", (long long)q->committed, (long long)q->max);
    return true;
}

void handle_why_queue(struct broker *b, struct call *call)
{
    struct why_queue_header h;
    struct answer_text a = ANSWER_EMPTY;
    err_t e = header_decode(&why_queue_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct question q = {
        .b = b, .h = &h, .group = groups_find(b->groups, h.consumer_group), .topic = topics_find(b->topics, h.topic),
        .members = members_consumers(&b->members, h.consumer_group), .offsets = offsets_of_queue(b->offsets, h.topic, h.consumer_group, h.queue_id),
        .committed = offsets_query(b->offsets, h.topic, h.consumer_group, h.queue_id), .min = store_min_offset(b->store, h.topic, h.queue_id),
        .max = store_max_offset(b->store, h.topic, h.queue_id),
    };
    bool warm = explain(&q, &a) && !store_is_cold(b->store);
    if (warm || !disk_again(b, call)) reply_bean(call, NULL, NULL, &why_bean, &a.why);
    answer_done(&a);
}
