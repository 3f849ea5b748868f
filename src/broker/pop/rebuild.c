/* What was out when an earlier run ended: a snapshot of the table as of a place of the log, and the records behind that place.
 * File     config/popLeases: "SKPL", version u32, place of the log i64, the table (leases_encode), CRC-32 of all before it; big-endian. It is
 *          written when the log is on disk that far: now and then, at a stop, and soon after what the log alone does not tell. Without it, or
 *          with one that is damaged, the last part of the log is read: what is out from before that comes back by the revive topic
 * Threads  the log is read by a worker, into a table of its own */
#include "broker/pop/pop_state.h"

#include "broker/intake/delay.h"

#include "base/log.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "meta/names.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { VERSION = 1, HEAD_BYTES = 16, CRC_BYTES = 4, SAVE_MS = 5000, SOON_MS = 100, IDLE_MS = 600000 };

/* The log grows so much from one snapshot to the next; and so much of it is read when there is none. */
#define LOG_BYTES (64ll << 20)
#define WITHOUT_BYTES (256ll << 20)

static const uint8_t magic[4] = {'S', 'K', 'P', 'L'};

struct rebuild {
    struct store_tail tail;
    struct pop *pop;
    struct leases leases;            /* the worker's while it reads */
    struct buf retries;              /* uint64_t: what makes each retry message known again */
    struct arena arena;
    struct buf scratch;
    char *revive_topic;
    char *own_broker;
    atomic_bool gone;
};

struct retry_set {
    uint64_t *hashes;                /* ascending */
    bool *taken;
    size_t count;
};

/* --- retry messages --- */

static uint64_t hash_of(const struct message *m, struct buf *scratch)
{
    const int64_t numbers[] = {m->reconsume_times, m->body_crc, m->born_ms, (int64_t)m->body.n};
    buf_clear(scratch);
    buf_put(scratch, numbers, sizeof numbers);
    buf_put_slice(scratch, m->topic);
    buf_put_u8(scratch, 0);
    buf_put_slice(scratch, properties_get(m->properties, SLICE("UNIQ_KEY")));
    buf_put_u8(scratch, 0);
    buf_put_slice(scratch, properties_get(m->properties, SLICE("1ST_POP_TIME")));
    return map_hash(buf_slice(scratch));
}

static int compare(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return x < y ? -1 : x > y;
}

static struct retry_set *retry_set_new(struct buf *hashes)
{
    if (!hashes->n) return NULL;
    struct retry_set *s = must_zero(sizeof *s);
    s->count = hashes->n / sizeof *s->hashes;
    s->hashes = (uint64_t *)(void *)hashes->p;
    *hashes = BUF_EMPTY;
    qsort(s->hashes, s->count, sizeof *s->hashes, compare);
    s->taken = must_zero(s->count);
    return s;
}

static void retry_set_free(struct retry_set *s)
{
    if (!s) return;
    free(s->hashes);
    free(s->taken);
    free(s);
}

bool rebuild_came(struct pop *p, const struct message *m)
{
    struct retry_set *s = p->came;
    struct buf scratch = BUF_EMPTY;
    if (!s) return false;
    uint64_t hash = hash_of(m, &scratch);
    size_t low = 0, high = s->count;
    buf_done(&scratch);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (s->hashes[middle] < hash) low = middle + 1;
        else high = middle;
    }
    while (low < s->count && s->hashes[low] == hash && s->taken[low]) low++;
    if (low == s->count || s->hashes[low] != hash) return false;
    s->taken[low] = true;
    return true;
}

void rebuild_forget_recent(struct pop *p)
{
    if (--p->recent) return;
    retry_set_free(p->came);
    p->came = NULL;
}

/* --- reading the log. Thread: worker --- */

/* Each record lies in the log twice when it waited in the wheel: the first one counts. */
static bool is_first(const struct rebuild *r, const struct message *m, int32_t *queue_id)
{
    struct slice revive = slice_text(r->revive_topic);
    *queue_id = m->queue_id;
    if (slice_eq(m->topic, revive)) return !properties_get(m->properties, SLICE("TIMER_OUT_MS")).n;
    if (!slice_eq(m->topic, SLICE(TIMER_TOPIC)) || !slice_eq(properties_get(m->properties, SLICE("REAL_TOPIC")), revive)) return false;
    return !properties_get(m->properties, SLICE("TIMER_ROLL_TIMES")).n && slice_to_i32(properties_get(m->properties, SLICE("REAL_QID")), queue_id);
}

static void take_record(struct rebuild *r, const struct message *m, int32_t queue_id)
{
    struct pop_record record;
    enum pop_record_kind kind = pop_record_kind_of(properties_get(m->properties, SLICE("TAGS")));
    if (kind != POP_NO_RECORD && pop_record_read(kind, m->body, &r->arena, &record)) {
        record.revive_queue = queue_id;
        leases_apply(&r->leases, &record, slice_text(r->own_broker));
    }
    arena_done(&r->arena);
    r->arena = ARENA_EMPTY;
}

static bool take(struct store_tail *t, const struct message *m)
{
    struct rebuild *r = LIST_OWNER(t, struct rebuild, tail);
    int32_t queue_id;
    if (is_first(r, m, &queue_id)) {
        take_record(r, m, queue_id);
    } else if (topic_name_is_retry(m->topic) && properties_get(m->properties, SLICE("ORIGIN_GROUP")).n) {
        uint64_t hash = hash_of(m, &r->scratch);
        buf_put(&r->retries, &hash, sizeof hash);
    }
    return !atomic_load(&r->gone);
}

/* --- taking it over --- */

static void rebuild_release(struct rebuild *r)
{
    leases_done(&r->leases);
    buf_done(&r->retries);
    buf_done(&r->scratch);
    free(r->revive_topic);
    free(r->own_broker);
    free(r);
}

static void settle_offset(struct pop *p, struct lease_queue *q)
{
    struct broker *b = p->broker;
    int64_t committed = offsets_query(b->offsets, q->topic, q->group, q->queue_id), max = store_max_offset(b->store, q->topic, q->queue_id);
    int64_t ordered = order_next(order_find(&p->order, q->topic, q->group, q->queue_id));   /* a reset made it forget what was before */
    int64_t known = q->moved ? ordered : committed;
    if (known > q->next) q->next = known;
    q->moved = false;
    if (q->next > max) q->next = max;   /* it lost its end */
    order_skip(&p->order, q->topic, q->group, q->queue_id, q->next);   /* whoever acknowledged that was not told yet */
    q->used_ms = tasks_mono_ms(b->tasks);
    bool pending = offsets_reset_pending(b->offsets, q->topic, q->group, q->queue_id);
    if (q->next >= 0 && q->next != committed && !pending)
        offsets_commit(b->offsets, SLICE("broker"), q->topic, q->group, q->queue_id, q->next);
}

/* A message that had two handles has one; and what was due may have been put back already. */
static void settle_points(struct pop *p, struct lease_queue *q)
{
    int64_t now_ms = tasks_wall_ms(p->broker->tasks);
    LIST_EACH(&q->points, node) {
        struct check_point *point = LIST_OWNER(node, struct check_point, in_queue);
        if (point->untold) pop_store_ack(p, point, point->untold);
        point->untold = 0;
        point->recent = p->came && leases_due_ms(point) <= now_ms;
        p->recent += point->recent;
        pop_settle(p, point);
    }
}

static void take_over(struct pop *p, struct rebuild *r)
{
    struct map_entry *e;
    leases_done(&p->leases);
    p->leases = r->leases;
    r->leases = LEASES_EMPTY;
    p->came = retry_set_new(&r->retries);
    p->recent = 1;   /* for as long as this goes on */
    for (size_t at = 0; (e = map_next(&p->leases.queues, &at));) {
        struct lease_queue *q = e->value;
        if (topics_find(p->broker->topics, q->topic)) settle_offset(p, q);
        settle_points(p, q);
    }
    rebuild_forget_recent(p);
    if (p->leases.out) log_info("pop.out messages=%zu text=\"of an earlier run\"", p->leases.out);
}

static void done(struct store_tail *t, err_t e)
{
    struct rebuild *r = LIST_OWNER(t, struct rebuild, tail);
    struct pop *p = r->pop;
    if (atomic_load(&r->gone)) {
        err_drop(e, "nobody asks any more");
        rebuild_release(r);
        return;
    }
    if (e) log_error("pop.log_not_read error=\"%s\" text=\"messages that are out may be handed out again\"", err_text(e));
    p->complete &= !e;
    err_free(e);
    p->rebuild = NULL;
    take_over(p, r);
    rebuild_release(r);
    if (p->leases.queues.count) rebuild_changed(p);
    pop_is_ready(p);
}

/* --- the file --- */

static err_t decode(struct slice bytes, struct leases *l, int64_t *log_offset)
{
    size_t n = bytes.n;
    if (n < HEAD_BYTES + CRC_BYTES || memcmp(bytes.p, magic, sizeof magic) || get_be32(bytes.p + 4) != VERSION)
        return err_new(ERR_CORRUPT, "it is none");
    if (record_crc(slice_of(bytes.p, n - CRC_BYTES)) != get_be32(bytes.p + n - CRC_BYTES)) return err_new(ERR_CORRUPT, "its checksum is wrong");
    *log_offset = (int64_t)get_be64(bytes.p + 8);
    if (leases_decode(l, slice_of(bytes.p + HEAD_BYTES, n - HEAD_BYTES - CRC_BYTES))) return NULL;
    return err_new(ERR_CORRUPT, "it is damaged");
}

struct loading {
    struct leases *leases;
    int64_t log_offset;
};

static err_t decode_one(void *ctx, struct slice text)
{
    struct loading *l = ctx;
    return decode(text, l->leases, &l->log_offset);
}

static void encode_file(void *ctx, struct buf *out)
{
    const struct pop *p = ctx;
    buf_put_slice(out, buf_slice(&p->snapshot));
}

static void encode(struct pop *p, int64_t log_offset)
{
    struct buf *out = &p->snapshot;
    buf_clear(out);
    buf_put(out, magic, sizeof magic);
    buf_put_be32(out, VERSION);
    buf_put_be64(out, (uint64_t)log_offset);
    leases_encode(&p->leases, out);
    buf_put_be32(out, record_crc(buf_slice(out)));
}

static void forget_idle(struct pop *p)
{
    struct map_entry *e;
    int64_t now_ms = tasks_mono_ms(p->broker->tasks);
    for (size_t at = 0; (e = map_next(&p->leases.queues, &at));) {
        struct lease_queue *q = e->value;
        if (list_empty(&q->points) && now_ms - q->used_ms > IDLE_MS) leases_remove_queue(&p->leases, q);
    }
}

static bool is_due(const struct pop *p)
{
    bool any = p->leases.queues.count || p->written_log >= 0;
    return any && (p->changed || store_log_max(p->broker->store) - p->written_log > LOG_BYTES);
}

/* A power cut must not leave a file that knows more than the log. */
static void on_save(void *ctx)
{
    struct pop *p = ctx;
    struct broker *b = p->broker;
    if (p->snapshot_log < 0 && is_due(p)) {
        forget_idle(p);
        p->snapshot_log = store_log_max(b->store);
        p->changed = false;
        encode(p, p->snapshot_log);
    }
    if (p->snapshot_log >= 0 && store_log_flushed(b->store) >= p->snapshot_log) {
        saver_mark(&p->saver);
        p->written_log = p->snapshot_log;
        p->snapshot_log = -1;
    }
    bool soon = p->snapshot_log >= 0 || (p->changed && is_due(p));
    if (soon || p->leases.out || p->written_log < store_log_max(b->store) - LOG_BYTES) timer_start(b->tasks, &p->save, soon ? SOON_MS : SAVE_MS);
}

void rebuild_arm(struct pop *p)
{
    p->changed |= p->written_log < 0;
    if (!p->save.armed && !p->stopped) timer_start(p->broker->tasks, &p->save, SAVE_MS);
}

void rebuild_changed(struct pop *p)
{
    p->changed = true;
    if (!p->stopped) timer_start(p->broker->tasks, &p->save, SOON_MS);
}

/* --- life --- */

/* No record was ever stored. */
static bool is_unused(const struct pop *p)
{
    struct store *s = p->broker->store;
    bool any = store_max_offset(s, SLICE(TIMER_TOPIC), 0);
    for (int32_t i = 0; !any && i < p->revive_queue_count; i++) any = store_max_offset(s, slice_text(p->revive_topic), i);
    return !any;
}

/* Where to read from; *out_all: nothing is older. */
static int64_t begin_of(const struct pop *p, bool found, int64_t log_offset, bool *out_all)
{
    struct store *s = p->broker->store;
    int64_t min = store_log_min(s), max = store_log_max(s), from = found ? log_offset : max - WITHOUT_BYTES;
    bool unused = !found && is_unused(p);
    *out_all = found || unused || from <= min;
    return unused ? max : from < min ? min : from;
}

static bool load(struct pop *p, struct leases *l, int64_t *log_offset)
{
    bool found = false;
    struct loading loading = {.leases = l};
    err_t e = saver_load(p->broker->options.fs, p->saver.path, decode_one, &loading, &found);
    if (e) log_warn("pop.snapshot_damaged error=\"%s\" text=\"the log is read instead\"", err_text(e));
    err_free(e);
    if (found && loading.log_offset > store_log_max(p->broker->store)) {
        log_warn("pop.snapshot_of_another_log text=\"the log is read instead\"");
        leases_done(l);
        found = false;
    }
    *log_offset = loading.log_offset;
    return found;
}

err_t rebuild_begin(struct pop *p)
{
    struct broker *b = p->broker;
    char *path;
    if (asprintf(&path, "%s/config/popLeases", b->cfg->store.root) < 0) return err_new(ERR_OUT_OF_MEMORY, NULL);
    saver_init(&p->saver, b->options.fs, b->tasks, path, encode_file, p);
    free(path);
    timer_init(&p->save, on_save, p);
    struct rebuild *r = must_zero(sizeof *r);
    r->leases = LEASES_EMPTY;
    r->arena = ARENA_EMPTY;
    int64_t log_offset = 0;
    bool found = load(p, &r->leases, &log_offset);
    int64_t from = begin_of(p, found, log_offset, &p->complete);
    if (found) p->written_log = log_offset;
    r->tail = (struct store_tail){.take = take, .done = done};
    r->pop = p;
    r->revive_topic = must_strdup(p->revive_topic);
    r->own_broker = must_dup(p->own_broker);
    p->rebuild = r;
    if (from < store_log_max(b->store)) store_tail(b->store, from, &r->tail);
    else done(&r->tail, NULL);
    return NULL;
}

void rebuild_end(struct pop *p)
{
    timer_stop(p->broker->tasks, &p->save);
    p->stop_log = store_log_max(p->broker->store);   /* what is stored while the store is closed is read again */
    if (p->rebuild) atomic_store(&p->rebuild->gone, true);   /* done() frees it */
}

err_t rebuild_free(struct pop *p, bool clean)
{
    bool known = !p->rebuild && p->saver.path && (p->leases.queues.count || p->written_log >= 0);
    if (clean && known && p->ready) {
        encode(p, p->stop_log);
        p->saver.dirty = true;
    }
    retry_set_free(p->came);
    err_t e = saver_done(&p->saver);
    buf_done(&p->snapshot);
    return e;
}
