/* Offsets of groups as tools look at them, compare and copy them. Facts: docs/protocol/remoting.md 4.2, 4.3 */
#include "broker/handlers.h"
#include "rpc/reply.h"

#include "codec/body_progress.h"

#include <stdio.h>
#include <time.h>

/* --- the times of a topic's queues, and how long a group is behind (303) --- */

/* "yyyy-MM-dd#HH:mm:ss:SSS", in local time. */
static struct slice time_text(int64_t ms, struct arena *arena)
{
    char text[64];
    struct tm t;
    int64_t second = ms >= 0 ? ms / 1000 : (ms - 999) / 1000;
    time_t seconds = (time_t)second;
    if (!localtime_r(&seconds, &t)) return (struct slice){NULL, 0};   /* no such year */
    size_t n = strftime(text, sizeof text, "%Y-%m-%d#%H:%M:%S", &t);
    n += (size_t)snprintf(text + n, sizeof text - n, ":%03d", (int)(ms - second * 1000));
    return arena_copy(arena, slice_of(text, n));
}

static void put_span(struct broker *b, const struct time_span_header *h, int32_t queue_id, struct arena *arena, struct time_spans *spans)
{
    struct queue_time_span *row = arena_list_add(arena, (void **)&spans->queues.items, &spans->queues.count, sizeof *row);
    if (!row) return;
    int64_t max = store_max_offset(b->store, h->topic, queue_id), at = offsets_query(b->offsets, h->topic, h->group, queue_id);
    row->queue = (struct message_queue){.topic = h->topic, .broker = slice_text(b->cfg->broker.name), .queue_id = queue_id};
    row->min_ms = store_time_of(b->store, h->topic, queue_id, store_min_offset(b->store, h->topic, queue_id));
    row->max_ms = store_time_of(b->store, h->topic, queue_id, max - 1);
    row->consume_ms = at > 0 ? store_time_of(b->store, h->topic, queue_id, at - 1) : row->min_ms;
    if (at < max) {   /* one that never committed begins with the first message */
        int64_t next_ms = at >= 0 ? store_time_of(b->store, h->topic, queue_id, at) : row->min_ms;
        if (next_ms >= 0) row->delay_ms = tasks_wall_ms(b->tasks) - next_ms;
    }
    row->min_text = time_text(row->min_ms, arena);
    row->max_text = time_text(row->max_ms, arena);
    row->consume_text = time_text(row->consume_ms, arena);
}

void handle_consume_time_span(struct broker *b, struct call *call)
{
    struct time_span_header h;
    struct arena arena = ARENA_EMPTY;
    struct time_spans spans = {.queues = {NULL, 0}};
    err_t e = header_decode(&time_span_kind, call->frame, &h);
    const struct topic *t = e ? NULL : topics_find(b->topics, h.topic);
    if (!e && !t) e = err_new(ERR_TOPIC_NOT_FOUND, "topic[%.*s] not exist", SLICE_ARG(h.topic));
    if (e) {
        call_fail(call, e);
        return;
    }
    for (int32_t i = 0; i < t->config.write_queues; i++) put_span(b, &h, i, &arena, &spans);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &time_spans_bean, &spans);
    arena_done(&arena);
}

/* --- offsets to be corrected (308) --- */

static bool is_listed(struct slice names, struct slice name)
{
    struct slice one;
    while (names.n && slice_split(&names, ',', &one))
        if (slice_eq(one, name)) return true;
    return false;
}

static struct id_number *correction_of(int32_t queue_id, struct arena *arena, struct corrections *out)
{
    for (size_t i = 0; i < out->offsets.count; i++)
        if (out->offsets.items[i].id == queue_id) return &out->offsets.items[i];
    struct id_number *row = arena_list_add(arena, (void **)&out->offsets.items, &out->offsets.count, sizeof *row);
    if (row) *row = (struct id_number){queue_id, INT64_MAX};
    return row;
}

/* The smallest offset of each queue that any group has, below the queue's first message none counts. */
static void take_smallest(struct broker *b, const struct group_offsets *g, struct arena *arena, struct corrections *out)
{
    for (size_t i = 0; i < g->count; i++) {
        const struct queue_offsets *q = &g->queues[i];
        if (q->committed < 0 || q->committed < store_min_offset(b->store, g->topic, q->queue_id)) continue;
        struct id_number *row = correction_of(q->queue_id, arena, out);
        if (row && q->committed < row->number) row->number = q->committed;
    }
}

/* Where the group that is compared is behind that already, there is nothing to correct: the largest number says so. */
static void compare(const struct group_offsets *g, struct corrections *out)
{
    for (size_t i = 0; g && i < out->offsets.count; i++) {
        struct id_number *row = &out->offsets.items[i];
        for (size_t k = 0; k < g->count; k++)
            if (g->queues[k].queue_id == row->id && g->queues[k].committed >= 0 && row->number > g->queues[k].committed) row->number = INT64_MAX;
    }
}

void handle_correction_offset(struct broker *b, struct call *call)
{
    struct correction_offset_header h;
    struct arena arena = ARENA_EMPTY;
    struct corrections out = {.offsets = {NULL, 0}};
    const struct group_offsets *g;
    err_t e = header_decode(&correction_offset_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    for (size_t at = 0; (g = offsets_next(b->offsets, &at));)
        if (slice_eq(g->topic, h.topic) && !is_listed(h.filter_groups, g->group)) take_smallest(b, g, &arena, &out);
    compare(offsets_find(b->offsets, h.topic, h.compare_group), &out);
    if (!disk_again(b, call)) reply_bean(call, NULL, NULL, &corrections_bean, &out);
    arena_done(&arena);
}

/* --- one group begins where another one is (314) --- */

/* What live consumers do not subscribe to any more is left alone, unless the group is said to be offline. */
static bool is_cloned(struct broker *b, const struct clone_offset_header *h, struct slice topic)
{
    struct member_group *g = members_consumers(&b->members, h->src_group);
    return topics_find(b->topics, topic) && (h->offline || !g || members_subscription(g, topic));
}

static void add_topics(struct broker *b, const struct clone_offset_header *h, struct arena *arena, void **items, size_t *count)
{
    const struct group_offsets *g;
    for (size_t at = 0; (g = offsets_next(b->offsets, &at));) {
        bool wanted = slice_eq(g->group, h->src_group) && offsets_has_committed(g) && (!h->topic.n || slice_eq(g->topic, h->topic));
        struct slice *item = wanted && is_cloned(b, h, g->topic) ? arena_list_add(arena, items, count, sizeof *item) : NULL;
        if (item) *item = arena_copy(arena, g->topic);
    }
}

void handle_clone_offset(struct broker *b, struct call *call)
{
    struct clone_offset_header h;
    struct arena arena = ARENA_EMPTY;
    struct slice *topics = NULL;
    size_t count = 0;
    err_t e = header_decode(&clone_offset_kind, call->frame, &h);
    if (!e) add_topics(b, &h, &arena, (void **)&topics, &count);
    for (size_t i = 0; i < count; i++) offsets_clone(b->offsets, h.src_group, h.dest_group, topics[i]);
    reply_outcome(call, e);
    arena_done(&arena);
}

/* --- what a group subscribes to (345) --- */

void handle_subscription_of_group(struct broker *b, struct call *call)
{
    struct subscription_by_consumer_header h;
    err_t e = header_decode(&subscription_by_consumer_kind, call->frame, &h);
    if (e) {
        call_fail(call, e);
        return;
    }
    struct member_group *g = members_consumers(&b->members, h.group);
    struct group_subscription reply = {.group = h.group, .topic = h.topic, .subscription = g ? members_subscription(g, h.topic) : NULL};
    reply_bean(call, NULL, NULL, &group_subscription_bean, &reply);
}
