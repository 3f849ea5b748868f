#include "broker/order/order_file.h"

#include "codec/pop_info.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 256, UNUSED_MS = 24 * 3600 * 1000 };

/* --- the table --- */

static bool queue_key(struct slice topic, struct slice group, int32_t queue_id, char key[static 2 * NAME_MAX_BYTES + 2 + sizeof(int32_t)],
                      struct slice *out)
{
    size_t n = 0;
    if (topic.n > NAME_MAX_BYTES || group.n > NAME_MAX_BYTES) return false;
    memcpy(key, topic.p, topic.n);
    n += topic.n;
    key[n++] = '@';
    memcpy(key + n, group.p, group.n);
    n += group.n;
    key[n++] = '@';
    memcpy(key + n, &queue_id, sizeof queue_id);
    *out = slice_of(key, n + sizeof queue_id);
    return true;
}

struct order_queue *order_find(const struct order *o, struct slice topic, struct slice group, int32_t queue_id)
{
    char key[2 * NAME_MAX_BYTES + 2 + sizeof queue_id];
    struct slice k;
    return o->queues.count && queue_key(topic, group, queue_id, key, &k) ? map_get(&o->queues, k) : NULL;
}

struct order_queue *order_make_queue(struct order *o, struct slice topic, struct slice group, int32_t queue_id)
{
    char key[2 * NAME_MAX_BYTES + 2 + sizeof queue_id];
    struct slice k;
    if (!queue_key(topic, group, queue_id, key, &k)) return NULL;
    struct order_queue *q = map_get(&o->queues, k);
    if (q) return q;
    q = must_zero(sizeof *q + topic.n + group.n);
    uint8_t *texts = (uint8_t *)(q + 1);
    memcpy(texts, topic.p, topic.n);
    memcpy(texts + topic.n, group.p, group.n);
    q->topic = slice_of(texts, topic.n);
    q->group = slice_of(texts + topic.n, group.n);
    q->queue_id = queue_id;
    q->unlock_ms = -1;
    map_put(&o->queues, k, q);
    return q;
}

static void queue_free(void *queue)
{
    struct order_queue *q = queue;
    free(q->attempt_id);
    free(q->messages);
    free(q);
}

static void remove_queue(struct order *o, struct order_queue *q)
{
    char key[2 * NAME_MAX_BYTES + 2 + sizeof q->queue_id];
    struct slice k;
    if (queue_key(q->topic, q->group, q->queue_id, key, &k)) map_remove(&o->queues, k);
    queue_free(q);
}

/* --- what changes is written --- */

static void on_flush(void *ctx)
{
    struct order *o = ctx;
    order_tidy(o);
    saver_mark(&o->saver);
}

static void changed(struct order *o)
{
    if (o->in_memory) return;
    if (o->syncs) o->saver.dirty = true;
    if (!o->flush.armed) timer_start(o->broker->tasks, &o->flush, o->broker->cfg->broker.flush_offsets_ms);
}

void order_when_saved(struct order *o, struct saver_waiter *w)
{
    list_node_init(&w->node);
    if (o->syncs) saver_wait(&o->saver, w);
    else w->done(w, NULL);
}

/* --- messages --- */

static size_t find_place(const struct order_queue *q, int64_t offset)
{
    size_t low = 0, high = q->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (q->messages[middle].offset < offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

static struct order_message *find_message(const struct order_queue *q, int64_t offset)
{
    size_t at = find_place(q, offset);
    return at < q->count && q->messages[at].offset == offset ? &q->messages[at] : NULL;
}

struct order_message *order_add_message(struct order_queue *q, int64_t offset)
{
    size_t at = find_place(q, offset);
    if (q->count == q->cap) {
        q->cap = q->cap ? 2 * q->cap : 32;
        struct order_message *grown = must_alloc(q->cap * sizeof *grown);
        if (q->count) memcpy(grown, q->messages, q->count * sizeof *grown);
        free(q->messages);
        q->messages = grown;
    }
    memmove(q->messages + at + 1, q->messages + at, (q->count - at) * sizeof *q->messages);
    q->count++;
    q->messages[at] = (struct order_message){.offset = offset, .from = offset};
    return &q->messages[at];
}

static bool is_out(const struct order_message *m, int64_t now_ms) { return !m->acked && m->visible_ms > now_ms; }

static bool is_same_attempt(const struct order_queue *q, struct slice attempt_id)
{
    return q->attempt_id && attempt_id.p && slice_eq(attempt_id, slice_text(q->attempt_id));
}

bool order_is_blocked(const struct order_queue *q, struct slice attempt_id, int64_t invisible_ms, int64_t now_ms)
{
    (void)invisible_ms;
    if (is_same_attempt(q, attempt_id)) return false;
    for (size_t i = 0; i < q->count; i++)
        if (is_out(&q->messages[i], now_ms)) return true;
    return false;
}

bool order_is_done(const struct order_queue *q, int64_t offset)
{
    const struct order_message *m = q && q->by_groups ? find_message(q, offset) : NULL;
    return m && m->acked;
}

/* Whatever is out of the group is out in order: the others of it wait. */
enum order_turn order_turn_of(const struct order_queue *q, int64_t offset, uint64_t group, struct slice attempt_id, int64_t now_ms)
{
    (void)offset;
    if (!q) return ORDER_TAKE;
    bool same = is_same_attempt(q, attempt_id);
    for (size_t i = 0; i < q->count; i++) {
        const struct order_message *m = &q->messages[i];
        if (!is_out(m, now_ms) || (q->by_groups && m->group != group)) continue;
        if (!same || m->pop_ms != q->pop_ms) return ORDER_SKIP;
    }
    return ORDER_TAKE;
}

/* --- when somebody has to be told --- */

int64_t order_unlock_ms(const struct order_queue *q, int64_t now_ms)
{
    int64_t ms = -1;
    for (size_t i = 0; q && i < q->count; i++) {
        const struct order_message *m = &q->messages[i];
        if (!is_out(m, now_ms)) continue;
        if (ms < 0 || (q->by_groups ? m->visible_ms < ms : m->visible_ms > ms)) ms = m->visible_ms;
    }
    return ms;
}

int64_t order_unlocked(struct order *o, int64_t now_ms, void (*each)(void *ctx, struct slice topic, struct slice group, int32_t queue_id), void *ctx)
{
    struct map_entry *e;
    int64_t next = -1;
    for (size_t at = 0; (e = map_next(&o->queues, &at));) {
        struct order_queue *q = e->value;
        bool due = q->unlock_ms >= 0 && q->unlock_ms <= now_ms;
        if (due) q->unlock_ms = order_unlock_ms(q, now_ms);
        if (due && (q->by_groups || q->unlock_ms < 0)) each(ctx, q->topic, q->group, q->queue_id);
        if (q->unlock_ms >= 0 && (next < 0 || q->unlock_ms < next)) next = q->unlock_ms;
    }
    return next;
}

/* --- pops --- */

static void set_attempt(struct order_queue *q, struct slice attempt_id)
{
    free(q->attempt_id);
    q->attempt_id = attempt_id.p ? must_dup(attempt_id) : NULL;
}

static void put_counts(const struct order_queue *q, const struct order_pop *pop, struct buf *out)
{
    int32_t least = INT32_MAX;
    enum pop_kind kind = pop_kind_of(q->topic);
    for (size_t i = 0; i < pop->count; i++) {
        const struct order_message *m = find_message(q, pop->offsets[i]);
        if (m->count) pop_info_put_count(out, kind, q->queue_id, m->offset, m->count);
        if (m->count < least) least = m->count;
    }
    pop_info_put_least(out, kind, q->queue_id, least == INT32_MAX ? 0 : least);
}

static void hand_out(struct order_message *m, const struct order_pop *pop, bool before, bool same)
{
    if (before && !same) m->count++;
    m->pop_ms = pop->pop_ms;
    m->visible_ms = pop->pop_ms + pop->invisible_ms;
    m->acked = false;
}

/* All that is out of the queue is what this pop took. */
static void pop_queue_whole(struct order_queue *q, const struct order_pop *pop, bool same)
{
    struct order_queue old = *q;
    q->messages = NULL;
    q->count = q->cap = 0;
    for (size_t i = 0; i < pop->count; i++) {
        const struct order_message *before = find_message(&old, pop->offsets[i]);
        struct order_message *m = order_add_message(q, pop->offsets[i]);
        if (before) m->count = before->count;
        hand_out(m, pop, before, same);
    }
    q->by_groups = false;
    free(old.messages);
}

static void pop_by_groups(struct order_queue *q, const struct order_pop *pop, bool same)
{
    if (!q->by_groups) q->base = pop->froms[0];
    q->by_groups = true;
    for (size_t i = 0; i < pop->count; i++) {
        struct order_message *m = find_message(q, pop->offsets[i]);
        bool before = m;
        if (!m) m = order_add_message(q, pop->offsets[i]);
        if (!before) m->from = pop->froms[i];
        m->group = pop->groups[i];
        hand_out(m, pop, before, same);
    }
}

void order_popped(struct order *o, const struct order_pop *pop, struct buf *count_info)
{
    struct order_queue *q = order_make_queue(o, pop->topic, pop->group, pop->queue_id);
    if (!q) return;
    bool same = is_same_attempt(q, pop->attempt_id);
    if (pop->groups) pop_by_groups(q, pop, same);
    else pop_queue_whole(q, pop, same);
    set_attempt(q, pop->attempt_id);
    q->suspended = false;
    q->pop_ms = pop->pop_ms;
    q->invisible_ms = pop->invisible_ms;
    q->used_ms = pop->pop_ms;
    q->unlock_ms = order_unlock_ms(q, pop->pop_ms);
    put_counts(q, pop, count_info);
    changed(o);
}

/* --- acknowledgements --- */

static int64_t next_of_whole(const struct order_queue *q)
{
    for (size_t i = 0; i < q->count; i++)
        if (!q->messages[i].acked) return q->messages[i].offset;
    return q->messages[q->count - 1].offset + 1;
}

/* Over all that is acknowledged, without a gap. */
static int64_t advance(struct order_queue *q)
{
    size_t n = 0;
    while (n < q->count && q->messages[n].acked && q->messages[n].from <= q->base) q->base = q->messages[n++].offset + 1;
    memmove(q->messages, q->messages + n, (q->count - n) * sizeof *q->messages);
    q->count -= n;
    return q->base;
}

enum order_result order_ack(struct order *o, struct slice topic, struct slice group, int32_t queue_id, int64_t offset, int64_t pop_ms,
                            int64_t *out_next)
{
    struct order_queue *q = order_find(o, topic, group, queue_id);
    if (!q) {
        *out_next = offset + 1;   /* as the original: it was forgotten, or never known */
        return ORDER_OK;
    }
    struct order_message *m = find_message(q, offset);
    if (!q->count) return q->by_groups ? ORDER_IGNORED : ORDER_ILLEGAL;
    if (!q->by_groups && pop_ms != q->pop_ms) return ORDER_IGNORED;
    if (!m) return ORDER_ILLEGAL;
    if (q->by_groups && (m->pop_ms != pop_ms || m->acked)) return ORDER_IGNORED;
    m->acked = true;
    *out_next = q->by_groups ? advance(q) : next_of_whole(q);
    changed(o);
    return ORDER_OK;
}

bool order_change(struct order *o, struct slice topic, struct slice group, int32_t queue_id, int64_t offset, int64_t pop_ms, int64_t visible_ms)
{
    struct order_queue *q = order_find(o, topic, group, queue_id);
    struct order_message *m = q ? find_message(q, offset) : NULL;
    if (!m || m->pop_ms != pop_ms) return false;
    m->visible_ms = visible_ms;
    q->unlock_ms = order_unlock_ms(q, tasks_wall_ms(o->broker->tasks));
    changed(o);
    return true;
}

bool order_suspend(struct order *o, struct slice topic, struct slice group, int32_t queue_id, int64_t pop_ms, int64_t visible_ms)
{
    struct order_queue *q = order_find(o, topic, group, queue_id);
    if (!q || q->pop_ms != pop_ms) return false;
    for (size_t i = 0; i < q->count; i++) {
        struct order_message *m = &q->messages[i];
        if (!q->suspended) m->count--;   /* the next pop adds one */
        m->visible_ms = visible_ms;
    }
    q->suspended = true;
    q->invisible_ms = visible_ms - pop_ms;
    q->unlock_ms = order_unlock_ms(q, tasks_wall_ms(o->broker->tasks));
    changed(o);
    return true;
}

void order_clear(struct order *o, struct slice topic, struct slice group, int32_t queue_id)
{
    struct order_queue *q = order_find(o, topic, group, queue_id);
    if (!q) return;
    remove_queue(o, q);
    changed(o);
}

void order_forget(struct order *o, struct slice topic, struct slice group)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&o->queues, &at));) {
        struct order_queue *q = e->value;
        if (!(topic.p ? slice_eq(q->topic, topic) : slice_eq(q->group, group))) continue;
        remove_queue(o, q);
        changed(o);
    }
}

void order_tidy(struct order *o)
{
    struct map_entry *e;
    int64_t now_ms = tasks_wall_ms(o->broker->tasks);
    for (size_t at = 0; (e = map_next(&o->queues, &at));) {
        struct order_queue *q = e->value;
        const struct topic *topic = topics_find(o->broker->topics, q->topic);
        bool known = topic && q->queue_id < topic->config.read_queues && groups_find(o->broker->groups, q->group);
        if (!known || now_ms - q->used_ms > UNUSED_MS) remove_queue(o, q);
    }
}

size_t order_in_flight(const struct order *o, struct slice topic, struct slice group, int32_t queue_id)
{
    const struct order_queue *q = order_find(o, topic, group, queue_id);
    size_t n = 0;
    for (size_t i = 0; q && i < q->count; i++) n += !q->messages[i].acked;
    return n;
}

/* --- life --- */

void order_init(struct order *o, struct broker *b)
{
    *o = (struct order){.broker = b, .queues = MAP_EMPTY, .syncs = b->cfg->store.flush_disk_type == SYNC_FLUSH};
    timer_init(&o->flush, on_flush, o);
}

void order_begin(struct order *o)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&o->queues, &at));) {
        struct order_queue *q = e->value;
        q->unlock_ms = order_unlock_ms(q, tasks_wall_ms(o->broker->tasks));
    }
}

void order_open_in_memory(struct order *o, struct broker *b)
{
    order_init(o, b);
    o->syncs = false;
    o->in_memory = true;
}

err_t order_end(struct order *o)
{
    if (o->flush.armed || o->queues.count) o->saver.dirty = true;
    timer_stop(o->broker->tasks, &o->flush);
    return saver_done(&o->saver);
}

void order_empty(struct order *o) { map_done_with(&o->queues, queue_free); }
