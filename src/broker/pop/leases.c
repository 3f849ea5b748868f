#include "broker/pop/leases.h"

#include <assert.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 256, HEAP_FIRST = 64 };

/* --- queues --- */

static struct slice queue_key(char *key, struct slice topic, struct slice group, int32_t queue_id)
{
    size_t n = 0;
    memcpy(key, topic.p, topic.n);
    n += topic.n;
    key[n++] = 0;
    memcpy(key + n, group.p, group.n);
    n += group.n;
    key[n++] = 0;
    memcpy(key + n, &queue_id, sizeof queue_id);
    return slice_of(key, n + sizeof queue_id);
}

struct lease_queue *leases_queue(struct leases *l, struct slice topic, struct slice group, int32_t queue_id, bool make)
{
    char key[2 * NAME_MAX_BYTES + 2 + sizeof queue_id];
    if (topic.n > NAME_MAX_BYTES || group.n > NAME_MAX_BYTES) return NULL;
    struct slice k = queue_key(key, topic, group, queue_id);
    struct lease_queue *q = map_get(&l->queues, k);
    if (q || !make) return q;
    q = must_zero(sizeof *q + topic.n + group.n);
    uint8_t *texts = (uint8_t *)(q + 1);
    if (topic.n) memcpy(texts, topic.p, topic.n);
    if (group.n) memcpy(texts + topic.n, group.p, group.n);
    q->topic = slice_of(texts, topic.n);
    q->group = slice_of(texts + topic.n, group.n);
    q->queue_id = queue_id;
    q->next = -1;
    list_init(&q->points);
    map_put(&l->queues, k, q);
    return q;
}

void leases_remove_queue(struct leases *l, struct lease_queue *q)
{
    char key[2 * NAME_MAX_BYTES + 2 + sizeof q->queue_id];
    assert(list_empty(&q->points));
    map_remove(&l->queues, queue_key(key, q->topic, q->group, q->queue_id));
    free(q);
}

/* --- the heap --- */

static bool is_before(const struct check_point *a, const struct check_point *b) { return leases_due_ms(a) < leases_due_ms(b); }

static void place(struct leases *l, size_t at, struct check_point *p)
{
    l->heap[at] = p;
    p->heap_at = at;
}

static void sift_up(struct leases *l, size_t at)
{
    struct check_point *p = l->heap[at];
    for (; at > 1 && is_before(p, l->heap[at / 2]); at /= 2) place(l, at, l->heap[at / 2]);
    place(l, at, p);
}

static void sift_down(struct leases *l, size_t at)
{
    struct check_point *p = l->heap[at];
    for (size_t child; (child = 2 * at) <= l->heap_count; at = child) {
        if (child < l->heap_count && is_before(l->heap[child + 1], l->heap[child])) child++;
        if (!is_before(l->heap[child], p)) break;
        place(l, at, l->heap[child]);
    }
    place(l, at, p);
}

static void heap_add(struct leases *l, struct check_point *p)
{
    if (p->heap_at) return;
    if (l->heap_count + 1 >= l->heap_cap) {
        l->heap_cap = l->heap_cap ? 2 * l->heap_cap : HEAP_FIRST;
        struct check_point **grown = must_alloc(l->heap_cap * sizeof(struct check_point *));
        if (l->heap_count) memcpy(grown, l->heap, (l->heap_count + 1) * sizeof(struct check_point *));
        free(l->heap);
        l->heap = grown;
    }
    place(l, ++l->heap_count, p);
    sift_up(l, l->heap_count);
}

static void heap_remove(struct leases *l, struct check_point *p)
{
    size_t at = p->heap_at;
    if (!at) return;
    p->heap_at = 0;
    struct check_point *last = l->heap[l->heap_count--];
    if (last == p) return;
    place(l, at, last);
    sift_up(l, at);
    sift_down(l, last->heap_at);
}

struct check_point *leases_take_due(struct leases *l, int64_t now_ms)
{
    if (!l->heap_count || leases_due_ms(l->heap[1]) > now_ms) return NULL;
    struct check_point *p = l->heap[1];
    heap_remove(l, p);
    return p;
}

void leases_again(struct leases *l, struct check_point *p) { heap_add(l, p); }

void leases_expire(struct leases *l, struct check_point *p, int64_t at_ms)
{
    bool waits = p->heap_at;
    heap_remove(l, p);
    p->invisible_ms = at_ms - p->pop_ms;
    if (waits) heap_add(l, p);
}

int64_t leases_next_due_ms(const struct leases *l) { return l->heap_count ? leases_due_ms(l->heap[1]) : -1; }

/* --- check points --- */

struct point_key {
    const struct lease_queue *queue;
    int64_t start_offset, pop_ms;
};

static struct slice point_key(struct point_key *k, const struct lease_queue *q, int64_t start_offset, int64_t pop_ms)
{
    *k = (struct point_key){q, start_offset, pop_ms};
    return slice_of(k, sizeof *k);
}

struct check_point *leases_find(const struct leases *l, const struct lease_queue *q, int64_t start_offset, int64_t pop_ms)
{
    struct point_key k;
    return q ? map_get(&l->points, point_key(&k, q, start_offset, pop_ms)) : NULL;
}

struct check_point *leases_find_message(const struct lease_queue *q, int64_t offset, size_t *index)
{
    LIST_EACH(&q->points, node) {
        struct check_point *p = LIST_OWNER(node, struct check_point, in_queue);
        int i = leases_index(p, offset);
        if (i < 0 || !leases_is_out(p, (size_t)i)) continue;
        *index = (size_t)i;
        return p;
    }
    return NULL;
}

uint32_t leases_all(const struct check_point *p) { return p->count == POINT_MESSAGES_MAX ? UINT32_MAX : ((uint32_t)1 << p->count) - 1; }

static size_t count_out(const struct check_point *p) { return (size_t)__builtin_popcount(leases_all(p) & ~p->acked); }

struct check_point *leases_add(struct leases *l, struct lease_queue *q, const struct pop_record *r)
{
    struct point_key k;
    struct slice key = point_key(&k, q, r->start_offset, r->pop_ms);
    if (map_get(&l->points, key)) return NULL;
    struct check_point *p = must_zero(sizeof *p + r->count * sizeof *p->diffs);
    p->queue = q;
    p->start_offset = r->start_offset;
    p->pop_ms = r->pop_ms;
    p->invisible_ms = r->invisible_ms;
    p->suspend = r->suspend;
    p->revive_queue = r->revive_queue;
    p->count = (uint8_t)r->count;
    p->acked = r->acked & leases_all(p);
    memcpy(p->diffs, r->diffs, r->count * sizeof *p->diffs);
    p->next_offset = r->count ? leases_offset(p, r->count - 1) + 1 : r->start_offset;
    list_add(&q->points, &p->in_queue);
    map_put(&l->points, key, p);
    q->out += count_out(p);
    l->out += count_out(p);
    heap_add(l, p);
    return p;
}

void leases_remove(struct leases *l, struct check_point *p)
{
    struct point_key k;
    p->queue->out -= count_out(p);
    l->out -= count_out(p);
    heap_remove(l, p);
    list_remove(&p->in_queue);
    map_remove(&l->points, point_key(&k, p->queue, p->start_offset, p->pop_ms));
    free(p->broker);
    free(p);
}

int leases_index(const struct check_point *p, int64_t offset)
{
    for (size_t i = 0; i < p->count; i++)
        if (leases_offset(p, i) == offset) return (int)i;
    return -1;
}

void leases_ack(struct leases *l, struct check_point *p, size_t index)
{
    if (!leases_is_out(p, index)) return;
    p->acked |= (uint32_t)1 << index;
    p->queue->out--;
    l->out--;
}

void leases_unack(struct leases *l, struct check_point *p, size_t index)
{
    if (leases_is_out(p, index)) return;
    p->acked &= ~((uint32_t)1 << index);
    p->queue->out++;
    l->out++;
    if (!p->revival) heap_add(l, p);
}

static void remove_points(struct leases *l, struct lease_queue *q)
{
    while (!list_empty(&q->points)) leases_remove(l, LIST_OWNER(list_first(&q->points), struct check_point, in_queue));
}

void leases_done(struct leases *l)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&l->queues, &at));) remove_points(l, e->value);
    map_done_with(&l->queues, free);
    map_done(&l->points);
    free(l->heap);
    *l = LEASES_EMPTY;
}

/* --- what the log says --- */

static void forget_names(struct leases *l, struct slice topic, struct slice group)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&l->queues, &at));) {
        struct lease_queue *q = e->value;
        bool wanted = (topic.n && slice_eq(q->topic, topic)) || (group.n && slice_eq(q->group, group));
        if (!wanted) continue;
        remove_points(l, q);
        q->next = -1;
        q->moved = false;
    }
}

static void apply_mark(struct leases *l, const struct pop_record *r)
{
    if (!r->group.n || !r->topic.n) {
        forget_names(l, r->topic, r->group);
        return;
    }
    struct lease_queue *q = leases_queue(l, r->topic, r->group, r->queue_id, true);
    if (!q) return;
    remove_points(l, q);
    q->next = r->start_offset;
    q->moved = true;
}

static void supersede_in(struct leases *l, struct check_point *old, const struct pop_record *r)
{
    for (size_t i = 0; i < r->count; i++) {
        int at = leases_index(old, r->start_offset + r->diffs[i]);
        if (at < 0 || !leases_is_out(old, (size_t)at)) continue;
        leases_ack(l, old, (size_t)at);
        old->untold |= (uint32_t)1 << at;
    }
}

/* A message has one lease: the newest. */
static void supersede(struct leases *l, struct lease_queue *q, const struct pop_record *r, const struct check_point *by)
{
    if (!q->out || (r->start_offset >= q->next && !by)) return;   /* nobody had them before */
    LIST_EACH(&q->points, node) {
        struct check_point *old = LIST_OWNER(node, struct check_point, in_queue);
        if (old != by) supersede_in(l, old, r);
    }
}

static void again(struct leases *l, struct check_point *p)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->untold >> i & 1) leases_unack(l, p, i);
    p->untold = 0;
}

static void apply_point(struct leases *l, const struct pop_record *r, struct slice own_broker)
{
    if (!r->count) {
        apply_mark(l, r);
        return;
    }
    struct lease_queue *q = leases_queue(l, r->topic, r->group, r->queue_id, true);
    struct check_point *p = leases_find(l, q, r->start_offset, r->pop_ms);
    if (!q) return;
    if (p) again(l, p);   /* the snapshot knew of it: what came before it is told once more */
    supersede(l, q, r, p);
    if (!p) p = leases_add(l, q, r);
    if (!p->broker && r->broker.n && !slice_eq(r->broker, own_broker)) p->broker = must_dup(r->broker);
    if (p->next_offset > q->next) q->next = p->next_offset;
}

void leases_apply(struct leases *l, const struct pop_record *r, struct slice own_broker)
{
    if (r->kind == POP_POINT) {
        apply_point(l, r, own_broker);
        return;
    }
    struct lease_queue *q = leases_queue(l, r->topic, r->group, r->queue_id, false);
    struct check_point *p = leases_find(l, q, r->start_offset, r->pop_ms);
    for (size_t i = 0; p && i < r->offset_count; i++) {
        int at = leases_index(p, r->offsets[i]);
        if (at < 0) continue;
        leases_ack(l, p, (size_t)at);
        p->untold &= ~((uint32_t)1 << at);
    }
    if (p && leases_is_over(p)) leases_remove(l, p);
}

/* --- bytes: names with their lengths, numbers big-endian --- */

static void put_name(struct buf *out, struct slice s)
{
    buf_put_be16(out, (uint16_t)s.n);
    buf_put_slice(out, s);
}

static void encode_point(const struct check_point *p, struct buf *out)
{
    buf_put_be64(out, (uint64_t)p->start_offset);
    buf_put_be64(out, (uint64_t)p->pop_ms);
    buf_put_be64(out, (uint64_t)p->invisible_ms);
    buf_put_be32(out, (uint32_t)p->revive_queue);
    buf_put_be32(out, p->acked);
    buf_put_be32(out, p->untold);
    buf_put_u8(out, p->suspend);
    put_name(out, slice_text(p->broker ? p->broker : ""));
    buf_put_u8(out, p->count);
    for (size_t i = 0; i < p->count; i++) buf_put_be32(out, (uint32_t)p->diffs[i]);
}

static size_t count_points(const struct lease_queue *q)
{
    size_t n = 0;
    LIST_EACH(&q->points, node) n++;
    return n;
}

void leases_encode(const struct leases *l, struct buf *out)
{
    struct map_entry *e;
    buf_put_be32(out, (uint32_t)l->queues.count);
    for (size_t at = 0; (e = map_next(&l->queues, &at));) {
        const struct lease_queue *q = e->value;
        put_name(out, q->topic);
        put_name(out, q->group);
        buf_put_be32(out, (uint32_t)q->queue_id);
        buf_put_be64(out, (uint64_t)q->next);
        buf_put_u8(out, q->moved);
        buf_put_be32(out, (uint32_t)count_points(q));
        LIST_EACH(&q->points, node) encode_point(LIST_OWNER(node, struct check_point, in_queue), out);
    }
}

/* What cannot be taken leaves `rest` short for good. */
static struct slice take(struct slice *rest, size_t n)
{
    struct slice s = {rest->p, n};
    static const uint8_t zeros[8];
    if (rest->n < n) {
        *rest = (struct slice){NULL, 0};
        return slice_of(zeros, n <= sizeof zeros ? n : 0);
    }
    *rest = slice_of(rest->p + n, rest->n - n);
    return s;
}

static uint64_t take64(struct slice *rest) { return get_be64(take(rest, 8).p); }
static uint32_t take32(struct slice *rest) { return get_be32(take(rest, 4).p); }
static uint8_t take8(struct slice *rest) { return take(rest, 1).p[0]; }

static struct slice take_name(struct slice *rest)
{
    struct slice n = take(rest, 2);
    return take(rest, get_be16(n.p));
}

static bool decode_point(struct leases *l, struct lease_queue *q, struct slice *rest)
{
    struct pop_record r = {.kind = POP_POINT};
    int64_t end;
    r.start_offset = (int64_t)take64(rest);
    r.pop_ms = (int64_t)take64(rest);
    r.invisible_ms = (int64_t)take64(rest);
    r.revive_queue = (int32_t)take32(rest);
    r.acked = take32(rest);
    uint32_t untold = take32(rest);
    r.suspend = take8(rest);
    r.broker = take_name(rest);
    r.count = take8(rest);
    if (!r.count || r.count > POINT_MESSAGES_MAX || r.start_offset < 0 || __builtin_add_overflow(r.pop_ms, r.invisible_ms, &end)) return false;
    for (size_t i = 0; i < r.count; i++) r.diffs[i] = (int32_t)take32(rest);
    struct check_point *p = rest->p ? leases_add(l, q, &r) : NULL;
    if (!p) return false;
    p->untold = untold & p->acked;
    if (r.broker.n) p->broker = must_dup(r.broker);
    return true;
}

static bool decode_queue(struct leases *l, struct slice *rest)
{
    struct slice topic = take_name(rest), group = take_name(rest);
    int32_t queue_id = (int32_t)take32(rest);
    int64_t next = (int64_t)take64(rest);
    bool moved = take8(rest);
    uint32_t count = take32(rest);
    struct lease_queue *q = rest->p ? leases_queue(l, topic, group, queue_id, true) : NULL;
    bool good = q;
    for (uint32_t i = 0; good && i < count; i++) good = decode_point(l, q, rest);
    if (!good) return false;
    q->next = next;
    q->moved = moved;
    return true;
}

bool leases_decode(struct leases *l, struct slice bytes)
{
    struct slice rest = bytes;
    uint32_t count = take32(&rest);
    bool good = rest.p;
    for (uint32_t i = 0; good && i < count; i++) good = decode_queue(l, &rest);
    if (good && !rest.n) return true;
    leases_done(l);
    return false;
}
