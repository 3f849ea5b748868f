#include "store/state.h"

#include "codec/lmq.h"
#include "codec/record.h"
#include "store/compaction.h"

#include <assert.h>

enum { ENTRIES_AT_ONCE = 64 };

/* A sync of queues failed: entries may read as zeros that are there again after the next start. */
static bool in_doubt(const struct store *s) { return s->queues_in_doubt || s->queues_lost; }

static int64_t min_of(struct store *s, struct consume_queue *q)
{
    int64_t log_first = commit_log_first(&s->log);
    if (in_doubt(s) && q->min_log_first != log_first) return q->first > 0 ? q->first : 0;   /* not to be told from what is too old */
    return consume_queue_min(q, log_first);
}

int64_t store_min_offset(struct store *s, struct slice topic, int32_t queue_id)
{
    struct consume_queue *q = queues_find(&s->queues, topic, queue_id);
    int64_t kept = s->compaction ? compaction_first(s->compaction, topic, queue_id) : -1;
    return !q ? 0 : kept >= 0 ? kept : min_of(s, q);
}

int64_t store_max_offset(struct store *s, struct slice topic, int32_t queue_id)
{
    struct consume_queue *q = queues_find(&s->queues, topic, queue_id);
    return q ? consume_queue_max(q) : 0;
}

/* --- reading a run of messages --- */

struct reading {
    struct store *s;
    struct consume_queue *q;
    const struct read_request *r;
    struct read_result *out;
    int32_t scanned;
    bool gone;          /* an entry's record was not there */
    bool matched_none;  /* an entry did not match */
    bool withheld;      /* an entry was lost after a sync that failed: it is there again after the next start */
};

static enum read_status check_range(const struct read_request *r, struct read_result *out)
{
    if (out->max_offset == 0) {
        out->next_offset = 0;
        return READ_QUEUE_EMPTY;
    }
    if (r->offset < out->min_offset) {
        out->next_offset = out->min_offset;
        return READ_OFFSET_TOO_SMALL;
    }
    if (r->offset == out->max_offset) return READ_OFFSET_AT_END;
    if (r->offset > out->max_offset) {
        out->next_offset = out->max_offset;
        return READ_OFFSET_PAST_END;
    }
    return READ_FOUND;
}

static bool is_full(const struct reading *g, const struct queue_entry *e)
{
    size_t more = e->size > 0 ? (size_t)e->size : 0;
    if (g->out->messages == 0) return false;
    return g->out->messages + e->count > g->r->max_messages || g->out->bytes + more > (size_t)g->r->max_bytes;
}

/* Adds a record; false when there is no slice left for it. */
static bool add_record(struct reading *g, int64_t at, int32_t messages, struct slice record)
{
    struct read_result *out = g->out;
    struct pinned *last = out->slices ? &out->slice[out->slices - 1] : NULL;
    if (last && last->bytes.p + last->bytes.n == record.p) {   /* of one file, since a blank lies between two (S4) */
        last->bytes.n += record.n;
    } else {
        if (out->slices == READ_SLICES_MAX) return false;
        out->slice[out->slices++] = commit_log_pin(&g->s->log, at, record);
    }
    out->messages += messages;
    out->bytes += record.n;
    out->behind_bytes = g->s->visible - at - (int64_t)record.n;
    out->far_behind = out->behind_bytes > g->s->recent_bytes;
    return true;
}

/* S9. Of a light queue the record states the offset elsewhere. */
static bool is_hole(struct reading *g, int64_t offset, struct queue_entry e, struct slice record)
{
    bool own = !name_is_lmq(g->q->topic->name);
    if (commit_log_wrote(&g->s->log, e.log_offset) || (own && record_queue_offset(record.p) == offset)) return false;
    if (g->q->kind == QUEUE_OF_BATCHES) return false;   /* its holes are gaps */
    struct queue_entry next;
    return consume_queue_get(g->q, offset + 1, &next) && next.log_offset == e.log_offset && next.size == e.size;
}

/* True to go on with the next entry. */
static bool read_entry(struct reading *g, int64_t offset, struct queue_entry e)
{
    const struct read_filter *f = g->r->filter;
    struct slice record;
    g->withheld = in_doubt(g->s) && !queue_entry_is_written(e);
    if (g->withheld) return false;
    if (is_full(g, &e) || (f && f->enough && *f->enough)) return false;
    if (f && f->entry && !f->entry(f->ctx, consume_queue_tag_hash(g->q, e))) {
        g->matched_none = true;
        return true;
    }
    bool found = commit_log_find(&g->s->log, e.log_offset, e.size, &record) && !is_hole(g, offset, e, record);
    if (store_is_cold(g->s)) return false;
    if (!found) {
        g->gone = true;
        return true;
    }
    if (f && f->record && !f->record(f->ctx, record)) {
        g->matched_none = true;
        return true;
    }
    return add_record(g, e.log_offset, e.count > 0 ? e.count : 1, record);
}

static void read_entries(struct reading *g)
{
    struct queue_entry entries[ENTRIES_AT_ONCE];
    int64_t at = g->r->offset;
    while (at < g->q->end && g->scanned < g->r->max_scan) {
        int64_t want = g->r->max_scan - g->scanned;
        size_t n = consume_queue_read(g->q, at, want < ENTRIES_AT_ONCE ? (size_t)want : ENTRIES_AT_ONCE, entries);
        for (size_t i = 0; i < n; i++, at++, g->scanned++) {
            g->out->next_offset = at;
            if (!read_entry(g, at, entries[i])) return;
        }
        if (store_is_cold(g->s)) return;
        if (!n) {   /* a file of the queue is missing: go on behind it */
            int64_t step = consume_queue_file_entries(g->q);
            at += step - at % step;
            if (at > g->q->end) at = g->q->end;
            g->gone = true;
        }
        g->out->next_offset = at;
    }
}

/* Where to read on behind an entry of batches: behind its messages. Where those of a later one begin before that, one of the two is
 * damaged; the offset that comes first passes over nothing. */
static int64_t offset_behind(struct reading *g, int64_t offset, const struct queue_entry *e, int64_t number)
{
    struct queue_entry next[2];
    int64_t end = g->out->max_offset;
    if (queue_entry_is_written(*e) && queue_entry_end(*e) > offset && queue_entry_end(*e) < end) end = queue_entry_end(*e);
    for (size_t i = 0, n = consume_queue_read(g->q, number + 1, 2, next); i < n; i++)
        if (next[i].queue_offset > offset && next[i].queue_offset < end) end = next[i].queue_offset;
    return end;
}

/* A record with the message asked for is given whole: whoever reads it unwraps it. */
static void read_batches(struct reading *g)
{
    struct queue_entry entries[ENTRIES_AT_ONCE];
    int64_t number = consume_queue_seek(g->q, g->r->offset);
    if (store_is_cold(g->s)) return;
    while (number < g->q->end && g->out->next_offset - g->r->offset < g->r->max_scan) {
        size_t n = consume_queue_read(g->q, number, ENTRIES_AT_ONCE, entries);
        for (size_t i = 0; i < n && g->out->next_offset - g->r->offset < g->r->max_scan; i++, number++) {
            if (!read_entry(g, entries[i].queue_offset, entries[i])) return;
            int64_t behind = offset_behind(g, g->out->next_offset, &entries[i], number);
            if (store_is_cold(g->s) && !queue_entry_is_written(entries[i])) return;   /* where it ends the next entry knows */
            g->out->next_offset = behind;
        }
        if (store_is_cold(g->s)) return;
        if (n) continue;
        int64_t step = consume_queue_file_entries(g->q);   /* a file of the queue is missing: go on behind it */
        number += step - number % step;
        g->gone = true;
    }
    if (number >= g->q->end) g->out->next_offset = g->out->max_offset;
}

/* What goes out, or was judged, is settled: what was not in memory behind it is the next read's. */
static void settle(struct store *s, const struct read_request *r, const struct read_result *out)
{
    bool judged = r->filter && r->filter->record && out->next_offset > r->offset;
    if (out->messages || judged) cold_forget(&s->cold);
    s->counts.read_messages += (uint64_t)out->messages;
}

void store_read(struct store *s, const struct read_request *r, struct read_result *out)
{
    assert_on_loop(s->tasks);
    memset(out, 0, offsetof(struct read_result, slice));
    out->status = READ_NO_QUEUE;
    struct consume_queue *q = queues_find(&s->queues, r->topic, r->queue_id);
    s->counts.reads++;
    if (!q) return;
    out->next_offset = r->offset;
    out->min_offset = min_of(s, q);
    if (store_is_cold(s)) return;
    out->max_offset = consume_queue_max(q);
    struct read_request rest = *r;
    if (s->compaction && compaction_read(s->compaction, q, &rest, out)) {
        settle(s, &rest, out);
        return;
    }
    r = &rest;
    out->status = check_range(r, out);
    if (out->status != READ_FOUND) return;
    struct reading g = {.s = s, .q = q, .r = r, .out = out};
    if (q->kind == QUEUE_OF_BATCHES) read_batches(&g);
    else read_entries(&g);
    settle(s, r, out);
    if (!out->messages && g.withheld) out->status = READ_OFFSET_AT_END;   /* who waits there loses nothing; who went on would */
    else if (!out->messages) out->status = g.gone && !g.matched_none ? READ_MESSAGE_GONE : READ_NO_MATCH;
}

void read_result_release(struct read_result *r)
{
    for (size_t i = 0; i < r->slices; i++) pin_release(&r->slice[i]);
    r->slices = 0;
}

size_t store_entries(struct store *s, struct slice topic, int32_t queue_id, int64_t from, size_t n, struct store_entry *out)
{
    assert_on_loop(s->tasks);
    struct queue_entry entries[ENTRIES_AT_ONCE];
    struct consume_queue *q = queues_find(&s->queues, topic, queue_id);
    size_t count = 0;
    if (!q || q->kind != QUEUE_OF_SINGLES) return 0;
    for (int64_t at = from; at < q->end && !count;) {
        size_t got = consume_queue_read(q, at, n < ENTRIES_AT_ONCE ? n : ENTRIES_AT_ONCE, entries);
        for (size_t i = 0; i < got; i++) {
            if (!queue_entry_is_written(entries[i]) && in_doubt(s)) return count;
            if (!queue_entry_is_written(entries[i]) || queue_entry_is_filler(entries[i])) continue;
            out[count++] = (struct store_entry){at + (int64_t)i, entries[i].log_offset, entries[i].size, consume_queue_tag_hash(q, entries[i])};
        }
        if (store_is_cold(s)) return 0;
        int64_t step = consume_queue_file_entries(q);   /* nothing: a file of the queue is missing */
        at += got ? (int64_t)got : step - at % step;
    }
    return count;
}

err_t store_record_at(struct store *s, int64_t log_offset, struct pinned *out)
{
    assert_on_loop(s->tasks);
    struct message m;
    struct slice record;
    if (!commit_log_read(&s->log, log_offset, &m, &record))
        return err_new(store_is_cold(s) ? ERR_NOT_IN_MEMORY : ERR_NOT_FOUND, "no message begins at %lld of the log", (long long)log_offset);
    *out = commit_log_pin(&s->log, log_offset, record);
    return NULL;
}

bool store_is_recent(struct store *s, struct slice topic, int32_t queue_id, int64_t queue_offset)
{
    struct consume_queue *q = queues_find(&s->queues, topic, queue_id);
    struct queue_entry e;
    return q && consume_queue_get(q, consume_queue_seek(q, queue_offset), &e) && s->visible - e.log_offset <= s->recent_bytes;
}

/* --- by time --- */

/* Store time of an entry; -1 when its record is not there. */
static int64_t time_at(struct store *s, struct consume_queue *q, int64_t at)
{
    struct queue_entry e;
    struct slice record;
    if (!consume_queue_get(q, at, &e) || !commit_log_find(&s->log, e.log_offset, e.size, &record)) return -1;
    return record_store_ms(record.p);
}

/* The same, or that of the next entry below `end` that has one; INT64_MAX when there is none. */
static int64_t time_from(struct store *s, struct consume_queue *q, int64_t at, int64_t end)
{
    for (; at < end; at++) {
        int64_t ms = time_at(s, q, at);
        if (ms >= 0 || store_is_cold(s)) return ms;
    }
    return INT64_MAX;
}

int64_t store_time_of(struct store *s, struct slice topic, int32_t queue_id, int64_t queue_offset)
{
    struct consume_queue *q = queues_find(&s->queues, topic, queue_id);
    return q ? time_at(s, q, consume_queue_seek(q, queue_offset)) : -1;
}

/* First entry whose time is at least store_ms. */
static int64_t first_not_before(struct store *s, struct consume_queue *q, int64_t min, int64_t store_ms)
{
    int64_t low = min, high = q->end;
    while (low < high && !store_is_cold(s)) {
        int64_t middle = low + (high - low) / 2;
        if (time_from(s, q, middle, high) >= store_ms) high = middle;
        else low = middle + 1;
    }
    return low;
}

static int64_t entry_by_time(struct store *s, struct consume_queue *q, int64_t store_ms, enum time_boundary b)
{
    int64_t min = consume_queue_min_entry(q, commit_log_first(&s->log));
    if (b == BOUNDARY_LOWER) return first_not_before(s, q, min, store_ms);
    int64_t behind = store_ms == INT64_MAX ? q->end : first_not_before(s, q, min, store_ms + 1);
    return behind > min ? behind - 1 : min;
}

int64_t store_offset_by_time(struct store *s, struct slice topic, int32_t queue_id, int64_t store_ms, enum time_boundary b)
{
    assert_on_loop(s->tasks);
    struct consume_queue *q = queues_find(&s->queues, topic, queue_id);
    struct queue_entry e;
    if (!q || q->end == 0) return 0;
    int64_t number = entry_by_time(s, q, store_ms, b);
    if (q->kind != QUEUE_OF_BATCHES) return number;
    if (number == q->end && number > consume_queue_min_entry(q, commit_log_first(&s->log))) number--;   /* as the original */
    return consume_queue_get(q, number, &e) ? e.queue_offset : consume_queue_max(q);
}
