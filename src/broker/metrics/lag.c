/* How far groups are, by topic: of each that has committed an offset. Facts: docs/protocol/semantics.md 13 */
#include "broker/metrics/collect.h"

#include "base/clamped.h"
#include "broker/intake/traffic.h"
#include "codec/pop_info.h"
#include "meta/names.h"

#include <stdlib.h>

enum { QUEUES_LOOKED_AT = 64 };

/* Of one topic and group, or of the topic that holds its retries. */
struct lag_sum {
    bool any;                   /* a queue of which something is known */
    bool given;                 /* and what it was given */
    bool age_unknown;
    int64_t lag, inflight, ready;
    int64_t unconsumed_ms;      /* store time of the oldest; 0: there is none */
    int64_t ungiven_ms;
};

/* The retries of a group that pops lie in topics of their own, by either name. */
enum { LAG_OWN, LAG_RETRY_V1, LAG_RETRY_V2, LAG_PARTS };

struct lag {
    struct slice topic, group;  /* in the collector's names */
    bool pops;
    int part;
    int32_t after;              /* the queue that was looked at last; -1: none */
    struct buf name;            /* of the topic in hand, if it is one of retries */
    struct lag_sum own, retry;
};

void collect_lag_free(struct collector *c)
{
    if (c->lag) buf_done(&c->lag->name);
    free(c->lag);
    c->lag = NULL;
}

/* --- one queue --- */

/* False: it is not in memory. */
static bool take_age(struct collector *c, struct slice topic, int32_t queue_id, int64_t offset, int64_t *oldest, bool *unknown)
{
    struct store *s = c->broker->store;
    int64_t min = store_min_offset(s, topic, queue_id);
    int64_t ms = store_is_cold(s) ? -1 : store_time_of(s, topic, queue_id, offset < min ? min : offset);
    if (store_is_cold(s)) return false;
    if (ms <= 0) *unknown = true;
    else if (!*oldest || ms < *oldest) *oldest = ms;
    return true;
}

static bool add_queue(struct collector *c, struct slice topic, const struct queue_offsets *q, struct lag_sum *sum)
{
    struct lag *l = c->lag;
    struct lag_sum now = *sum;
    int64_t max = store_max_offset(c->broker->store, topic, q->queue_id);
    int64_t out = l->pops ? (int64_t)broker_pop_in_flight(c->broker, topic, l->group, q->queue_id) : 0;
    int64_t given = l->pops ? q->committed : q->pulled, first = q->committed - out;
    if (q->committed < 0) return true;
    if (given >= 0 && given < q->committed) given = q->committed;
    if (max > q->committed) now.lag += max - q->committed;
    now.lag += out;
    now.any = true;
    if (max > first && !take_age(c, topic, q->queue_id, first < 0 ? 0 : first, &now.unconsumed_ms, &now.age_unknown)) return false;
    if (given >= 0) {
        now.given = true;
        now.inflight += l->pops ? out : given - q->committed;
        if (max > given) now.ready += max - given;
        if (max > given && !take_age(c, topic, q->queue_id, given, &now.ungiven_ms, &now.age_unknown)) return false;
    }
    *sum = now;
    return true;
}

static const struct queue_offsets *queue_after(const struct group_offsets *g, int32_t queue_id)
{
    for (size_t i = 0; g && i < g->count; i++)
        if (g->queues[i].queue_id > queue_id) return &g->queues[i];
    return NULL;
}

static enum step_result add_topic(struct collector *c, struct slice topic, struct lag_sum *sum)
{
    struct lag *l = c->lag;
    const struct queue_offsets *q;
    while ((q = queue_after(offsets_find(c->broker->offsets, topic, l->group), l->after))) {
        if (c->budget-- <= 0) return STEP_AGAIN;
        if (sum->age_unknown) {   /* nothing is asked of the disk any more */
            l->after = q->queue_id;
            int64_t max = store_max_offset(c->broker->store, topic, q->queue_id);
            if (q->committed >= 0 && max > q->committed) sum->lag += max - q->committed;
            continue;
        }
        if (!add_queue(c, topic, q, sum)) {
            if (c->reads) return STEP_COLD;
            store_forget_cold(c->broker->store);
            sum->age_unknown = true;   /* out of patience with the disk: the queue counts, its age is not known */
            continue;
        }
        l->after = q->queue_id;
    }
    return STEP_OVER;
}

/* --- a topic and a group --- */

static int64_t age_of(const struct collector *c, int64_t ms) { return ms ? clamped_minus(tasks_wall_ms(c->broker->tasks), ms) : 0; }

/* All five have the same labels. */
static void put_lines(struct collector *c, const struct lag_sum *sum, struct slice labels)
{
    struct metric_page *page = &c->scrape->page;
    metric_page_put(page, METRIC_LAG_MESSAGES, labels, sum->lag);
    if (!sum->age_unknown) metric_page_put(page, METRIC_LAG_LATENCY, labels, age_of(c, sum->unconsumed_ms));
    if (!sum->given) return;
    metric_page_put(page, METRIC_INFLIGHT_MESSAGES, labels, sum->inflight);
    metric_page_put(page, METRIC_READY_MESSAGES, labels, sum->ready);
    if (!sum->age_unknown) metric_page_put(page, METRIC_QUEUEING_LATENCY, labels, age_of(c, sum->ungiven_ms));
}

static void put_sum(struct collector *c, const struct lag_sum *sum, bool retry)
{
    const struct lag *l = c->lag;
    struct buf text = BUF_EMPTY;
    if (!sum->any) return;
    metric_labels(&c->broker->metrics, METRIC_LAG_MESSAGES,
                  LABELS(l->group, l->topic, metric_bool(retry), metric_bool(traffic_is_system(l->topic, l->group))), &text);
    put_lines(c, sum, buf_slice(&text));
    buf_done(&text);
}

/* As its members say; a group of which nobody is there, by what it has out. */
static bool pops(struct collector *c, struct slice topic, struct slice group)
{
    const struct member_group *g = members_consumers(&c->broker->members, group);
    const struct group_offsets *offsets = g ? NULL : offsets_find(c->broker->offsets, topic, group);
    for (size_t i = 0; offsets && i < offsets->count && i < QUEUES_LOOKED_AT; i++)
        if (broker_pop_in_flight(c->broker, topic, group, offsets->queues[i].queue_id)) return true;
    return g && g->type == CONSUME_POP;
}

static void begin(struct collector *c, struct slice topic, struct slice group)
{
    c->lag = must_zero(sizeof *c->lag);
    c->lag->topic = topic;
    c->lag->group = group;
    c->lag->after = -1;
    c->lag->pops = pops(c, topic, group);
}

static void next_part(struct lag *l)
{
    l->part++;
    l->after = -1;
    buf_clear(&l->name);
    pop_topic_name(l->part == LAG_RETRY_V1 ? POP_RETRY_V1 : POP_RETRY_V2, l->group, l->topic, &l->name);
}

static enum step_result look(struct collector *c)
{
    struct lag *l = c->lag;
    while (l->part < (l->pops ? LAG_PARTS : LAG_RETRY_V1)) {
        bool own = l->part == LAG_OWN;
        enum step_result r = add_topic(c, own ? l->topic : buf_slice(&l->name), own ? &l->own : &l->retry);
        if (r != STEP_OVER) return r;
        next_part(l);
    }
    put_sum(c, &l->own, false);
    put_sum(c, &l->retry, true);
    collect_lag_free(c);
    return STEP_OVER;
}

bool collect_lag_names(struct collector *c)
{
    const struct group_offsets *g;
    collect_names_again(c, offsets_moves(c->broker->offsets));
    for (int n = 0; n < COLLECT_NAMES_AT_ONCE; n++) {
        g = offsets_next(c->broker->offsets, &c->at);
        if (!g) return true;
        if (offsets_has_committed(g) && !topic_name_is_retry(g->topic)) collect_put_names(c, g->topic, g->group);
    }
    return false;
}

enum step_result collect_lag(struct collector *c)
{
    struct slice topic, group;
    if (!c->which) {
        if (!collect_lag_names(c)) return STEP_AGAIN;
        c->which = 1;
        c->at = 0;
    }
    while (c->lag || collect_next_names(c, &c->at, &topic, &group)) {
        if (!c->lag) begin(c, topic, group);
        enum step_result r = look(c);
        if (r != STEP_OVER) return r;
    }
    return STEP_OVER;
}
