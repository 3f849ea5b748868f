/* config/consumerOrderInfo.json. Facts: docs/protocol/store.md 8 */
#include "broker/order/order_file.h"

#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

enum { ORIGINAL_MESSAGES_MAX = 32, GROUP_NUMBERS = 7 };

/* --- writing --- */

static void put_number(struct json_out *w, const char *key, int64_t v)
{
    json_put_key(w, slice_text(key));
    json_put_i64(w, v);
}

static size_t shown(const struct order_queue *q) { return q->count < ORIGINAL_MESSAGES_MAX ? q->count : ORIGINAL_MESSAGES_MAX; }

static int64_t acked_bits(const struct order_queue *q)
{
    int64_t bits = 0;
    for (size_t i = 0; i < shown(q); i++) bits |= (int64_t)q->messages[i].acked << i;
    return bits;
}

static void put_offsets(struct json_out *w, const struct order_queue *q)
{
    json_put_key(w, SLICE("o"));
    json_put_array(w);
    for (size_t i = 0; i < shown(q); i++) json_put_i64(w, i ? q->messages[i].offset - q->messages[0].offset : q->messages[0].offset);
    json_put_array_end(w);
}

static void put_counts(struct json_out *w, const struct order_queue *q)
{
    json_put_key(w, SLICE("oc"));
    json_put_object(w);
    for (size_t i = 0; i < shown(q); i++) {
        if (!q->messages[i].count) continue;
        json_put_key_i64(w, q->messages[i].offset);
        json_put_i64(w, q->messages[i].count);
    }
    json_put_object_end(w);
}

static void put_times(struct json_out *w, const struct order_queue *q)
{
    json_put_key(w, SLICE("ot"));
    json_put_object(w);
    for (size_t i = 0; i < shown(q); i++) {
        if (q->messages[i].visible_ms == q->pop_ms + q->invisible_ms) continue;
        json_put_key_i64(w, q->messages[i].offset);
        json_put_i64(w, q->messages[i].visible_ms);
    }
    json_put_object_end(w);
}

/* Ours: all messages, and where the group is. */
static void put_groups(struct json_out *w, const struct order_queue *q)
{
    json_put_key(w, SLICE("g"));
    json_put_array(w);
    json_put_i64(w, q->base);
    for (size_t i = 0; i < q->count; i++) {
        const struct order_message *m = &q->messages[i];
        const int64_t numbers[GROUP_NUMBERS] = {m->offset, m->from, (int64_t)m->group, m->pop_ms, m->visible_ms, m->count, m->acked};
        for (size_t k = 0; k < GROUP_NUMBERS; k++) json_put_i64(w, numbers[k]);
    }
    json_put_array_end(w);
}

static void put_queue(struct json_out *w, const struct order_queue *q)
{
    json_put_key_i64(w, q->queue_id);
    json_put_object(w);
    if (q->attempt_id) {
        json_put_key(w, SLICE("a"));
        json_put_text(w, slice_text(q->attempt_id));
    }
    put_number(w, "cm", acked_bits(q));
    if (q->by_groups) put_groups(w, q);
    put_number(w, "i", q->invisible_ms);
    put_number(w, "l", q->used_ms);
    put_offsets(w, q);
    put_counts(w, q);
    put_times(w, q);
    put_number(w, "popTime", q->pop_ms);
    json_put_object_end(w);
}

static bool is_of(const struct order_queue *q, const struct order_queue *first)
{
    return slice_eq(q->topic, first->topic) && slice_eq(q->group, first->group);
}

/* All queues of a topic and group, under the first of them. */
static void put_names(struct json_out *w, const struct order *o, const struct order_queue *first)
{
    struct buf name = BUF_EMPTY;
    struct map_entry *e;
    buf_put_slice(&name, first->topic);
    buf_put_u8(&name, '@');
    buf_put_slice(&name, first->group);
    json_put_key(w, buf_slice(&name));
    json_put_object(w);
    for (size_t at = 0; (e = map_next(&o->queues, &at));)
        if (is_of(e->value, first)) put_queue(w, e->value);
    json_put_object_end(w);
    buf_done(&name);
}

static bool is_first(const struct order *o, const struct order_queue *q)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&o->queues, &at));)
        if (is_of(e->value, q)) return e->value == q;
    return false;
}

void order_file_encode(void *ctx, struct buf *out)
{
    const struct order *o = ctx;
    struct map_entry *e;
    struct json_out w;
    size_t names = 0;
    for (size_t at = 0; (e = map_next(&o->queues, &at));) names += is_first(o, e->value);
    json_out_init(&w, out, JSON_PRETTY);
    json_put_object(&w);
    put_number(&w, "orderInfoCount", (int64_t)names);
    json_put_key(&w, SLICE("orderedConsumptionLevel"));
    json_put_text(&w, SLICE("QUEUE"));
    json_put_key(&w, SLICE("table"));
    json_put_object(&w);
    for (size_t at = 0; (e = map_next(&o->queues, &at));)
        if (is_first(o, e->value)) put_names(&w, o, e->value);
    json_put_object_end(&w);
    json_put_object_end(&w);
}

/* --- reading --- */

/* One queue as the file tells it: in any order. */
struct read_queue {
    struct buf offsets, groups, counts, times;   /* int64_t; the last two in pairs */
    int64_t bits, invisible_ms, used_ms, pop_ms;
    struct slice attempt_id;
};

static void read_numbers(struct json *j, struct buf *out)
{
    if (!json_array(j)) return;
    while (json_next(j)) {
        int64_t n = json_i64(j);
        buf_put(out, &n, sizeof n);
    }
}

static void read_pairs(struct json *j, struct buf *out)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        int64_t pair[2];
        if (!slice_to_i64(json_key(j), &pair[0])) {
            json_fail(j, "no offset");
            return;
        }
        pair[1] = json_i64(j);
        buf_put(out, pair, sizeof pair);
    }
}

static void read_member(struct json *j, struct slice key, struct read_queue *r)
{
    if (slice_eq(key, SLICE("a"))) r->attempt_id = json_text(j);
    else if (slice_eq(key, SLICE("cm"))) r->bits = json_i64(j);
    else if (slice_eq(key, SLICE("i"))) r->invisible_ms = json_i64(j);
    else if (slice_eq(key, SLICE("l"))) r->used_ms = json_i64(j);
    else if (slice_eq(key, SLICE("popTime"))) r->pop_ms = json_i64(j);
    else if (slice_eq(key, SLICE("o"))) read_numbers(j, &r->offsets);
    else if (slice_eq(key, SLICE("g"))) read_numbers(j, &r->groups);
    else if (slice_eq(key, SLICE("oc"))) read_pairs(j, &r->counts);
    else if (slice_eq(key, SLICE("ot"))) read_pairs(j, &r->times);
    else json_skip(j);
}

static int64_t number(const struct buf *b, size_t i)
{
    int64_t n;
    memcpy(&n, b->p + i * sizeof n, sizeof n);
    return n;
}

static size_t count(const struct buf *b) { return b->n / sizeof(int64_t); }

static int64_t paired(const struct buf *b, int64_t key, int64_t otherwise)
{
    for (size_t i = 0; i + 1 < count(b); i += 2)
        if (number(b, i) == key) return number(b, i + 1);
    return otherwise;
}

static void take_whole(struct order_queue *q, const struct read_queue *r)
{
    for (size_t i = 0; i < count(&r->offsets) && i < 64; i++) {
        int64_t offset = number(&r->offsets, i), end_ms;
        if (i && __builtin_add_overflow(offset, number(&r->offsets, 0), &offset)) return;
        if (__builtin_add_overflow(r->pop_ms, r->invisible_ms, &end_ms)) return;
        struct order_message *m = order_add_message(q, offset);
        m->pop_ms = r->pop_ms;
        m->acked = r->bits >> i & 1;
        m->count = (int32_t)paired(&r->counts, offset, 0);
        m->visible_ms = paired(&r->times, offset, end_ms);
    }
}

static void take_groups(struct order_queue *q, const struct read_queue *r)
{
    q->by_groups = true;
    q->base = number(&r->groups, 0);
    for (size_t i = 1; i + GROUP_NUMBERS <= count(&r->groups); i += GROUP_NUMBERS) {
        struct order_message *m = order_add_message(q, number(&r->groups, i));
        m->from = number(&r->groups, i + 1);
        m->group = (uint64_t)number(&r->groups, i + 2);
        m->pop_ms = number(&r->groups, i + 3);
        m->visible_ms = number(&r->groups, i + 4);
        m->count = (int32_t)number(&r->groups, i + 5);
        m->acked = number(&r->groups, i + 6);
    }
}

/* The original, which forgets "g", may have popped since: then its list rules. */
static bool groups_rule(const struct read_queue *r) { return count(&r->groups) > 0; }

static void read_queue(struct json *j, struct order *o, struct slice topic, struct slice group, int32_t queue_id)
{
    struct read_queue r = {.bits = 0};
    if (!json_object(j)) return;
    while (json_next(j)) read_member(j, json_key(j), &r);
    struct order_queue *q = json_ok(j) ? order_make_queue(o, topic, group, queue_id) : NULL;
    if (q) {
        q->pop_ms = r.pop_ms;
        q->invisible_ms = r.invisible_ms;
        q->used_ms = r.used_ms;
        free(q->attempt_id);   /* a file may name a queue twice */
        q->attempt_id = r.attempt_id.p ? must_dup(r.attempt_id) : NULL;
        if (groups_rule(&r)) take_groups(q, &r);
        else take_whole(q, &r);
    }
    buf_done(&r.offsets);
    buf_done(&r.groups);
    buf_done(&r.counts);
    buf_done(&r.times);
}

static void read_names(struct json *j, struct order *o)
{
    while (json_next(j)) {
        struct slice group = json_key(j), topic;
        bool good = slice_split(&group, '@', &topic) && topic.n && group.n;
        if (!json_object(j)) continue;
        while (json_next(j)) {
            int32_t queue_id;
            bool known = slice_to_i32(json_key(j), &queue_id) && good;
            if (known) read_queue(j, o, topic, group, queue_id);
            else json_skip(j);
        }
    }
}

err_t order_file_decode(void *ctx, struct slice text)
{
    struct order *o = ctx;
    struct arena arena = ARENA_EMPTY;
    struct json j;
    order_empty(o);
    json_begin(&j, text, &arena);
    if (json_object(&j)) {
        while (json_next(&j)) {
            bool table = slice_eq(json_key(&j), SLICE("table"));
            if (!table) json_skip(&j);
            else if (json_object(&j)) read_names(&j, o);
        }
    }
    err_t e = json_end(&j, "consumerOrderInfo.json");
    arena_done(&arena);
    if (e) order_empty(o);
    return e;
}

err_t order_open(struct order *o, struct broker *b)
{
    char *path;
    bool found;
    if (asprintf(&path, "%s/config/consumerOrderInfo.json", b->cfg->store.root) < 0) return err_new(ERR_OUT_OF_MEMORY, NULL);
    order_init(o, b);
    saver_init(&o->saver, b->options.fs, b->tasks, path, order_file_encode, o);
    err_t e = saver_load(b->options.fs, path, order_file_decode, o, &found);
    free(path);
    order_begin(o);
    return e;
}

err_t order_close(struct order *o)
{
    err_t e = o->saver.path ? order_end(o) : NULL;
    order_empty(o);
    return e;
}
