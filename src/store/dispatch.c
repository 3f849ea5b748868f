#include "store/state.h"

#include "base/log.h"
#include "store/compaction.h"

#include <assert.h>
#include <stdlib.h>

enum { ROUNDS_MAX = 16 };   /* answers may lead to appends, these to answers … the loop gets its turn in between */

/* --- queue entries --- */

static void note_arrival(struct store *s, struct consume_queue *q, int64_t first)
{
    struct arrival a = {q, first, consume_queue_max(q)};
    if (a.end > first) buf_put(&s->arrivals, &a, sizeof a);
}

static err_t write_queue(struct store *s, struct consume_queue *q)
{
    int64_t first = consume_queue_max(q);
    err_t e = consume_queue_write(q);
    note_arrival(s, q, first);
    return e;
}

static void put_entry(struct consume_queue *q, const struct waiting_record *r)
{
    struct queue_entry e = {
        .log_offset = r->log_offset, .size = r->size, .count = r->count, .tag_hash = r->tag_hash, .queue_offset = r->queue_offset,
        .store_ms = r->store_ms,
    };
    consume_queue_put(q, &e);
}

static void collect_entries(struct store *s, int64_t upto)
{
    struct waiting_record *r;
    while ((r = fifo_front(&s->records)) && r->log_offset < upto) {
        struct consume_queue *q = r->queue;
        if (!q->deleted) {
            if (!q->touched) buf_put(&s->touched, &q, sizeof q);
            q->touched = true;
            put_entry(q, r);
        }
        fifo_pop(&s->records, sizeof *r);
    }
}

static void write_entries(struct store *s)
{
    for (size_t at = 0; at < s->touched.n; at += sizeof(struct consume_queue *)) {
        struct consume_queue *q;
        memcpy(&q, s->touched.p + at, sizeof q);
        q->touched = false;
        err_t e = write_queue(s, q);
        if (!e) continue;
        s->stuck = true;   /* the records are safe in the log; their entries follow as soon as there is room */
        store_stop_writing(s, STORE_FULL, err_in(e, "write queue entries"));
    }
    buf_clear(&s->touched);
}

static void tell_arrivals(struct store *s)
{
    for (size_t at = 0; at < s->arrivals.n; at += sizeof(struct arrival)) {
        struct arrival a;
        memcpy(&a, s->arrivals.p + at, sizeof a);
        if (s->options.arrived && !a.queue->deleted)
            s->options.arrived(s->options.arrived_ctx, a.queue->topic->name, a.queue->queue_id, a.first, a.end);
    }
    buf_clear(&s->arrivals);
}

/* --- answers --- */

static void answer_upto(struct fifo *waiting, int64_t upto)
{
    struct waiting_append *w;
    while ((w = fifo_front(waiting)) && w->log_end <= upto) {
        struct waiting_append now = *w;
        fifo_pop(waiting, sizeof *w);
        now.done(now.ctx, NULL);   /* may append */
    }
}

void dispatch_answer_overdue(void *store)
{
    struct store *s = store;
    int64_t now = tasks_mono_ms(s->tasks);
    struct waiting_append *w;
    while ((w = fifo_front(&s->appends)) && w->due_ms <= now) {
        struct waiting_append late = *w;
        fifo_pop(&s->appends, sizeof *w);
        late.done(late.ctx, err_new(ERR_FLUSH_DISK_TIMEOUT, "the disk did not confirm the message within %lld ms",
                                    (long long)s->options.sync_timeout_ms));
    }
    if (w) timer_start(s->tasks, &s->answer_timer, w->due_ms - now);
}

void dispatch_upto(struct store *s, int64_t upto, int64_t upto_ms)
{
    if (upto <= s->visible) return;
    assert(!s->options.sync_flush || upto <= s->synced);   /* S1 */
    collect_entries(s, upto);
    write_entries(s);
    s->visible = upto;
    s->visible_ms = upto_ms;
    if (s->index) index_advance(s->index, upto);
    if (s->compaction) compaction_note(s->compaction);
    answer_upto(&s->appends, upto);
    tell_arrivals(s);
    if (fifo_empty(&s->records)) queues_bury(&s->queues);
}

static err_t unstick_queue(void *ctx, struct consume_queue *q) { return q->pending.n ? write_queue(ctx, q) : NULL; }

err_t dispatch_unstick(struct store *s)
{
    if (!s->stuck) return NULL;
    err_t e = queues_each(&s->queues, unstick_queue, s);
    if (!e) s->stuck = false;
    tell_arrivals(s);
    return e;
}

/* --- failures --- */

static err_t copy_of(err_t e) { return err_new(err_code(e), "%s", err_text(e)); }

/* Moves those behind `from` over to *failed. */
static void take_behind(struct fifo *waiting, int64_t from, struct buf *failed)
{
    struct waiting_append *w;
    while ((w = fifo_back(waiting, sizeof *w)) && w->log_end > from) {
        buf_put(failed, w, sizeof *w);
        fifo_pop_back(waiting, sizeof *w);
    }
}

static void fail_all(struct buf *failed, err_t e)
{
    for (size_t at = failed->n; at > 0; at -= sizeof(struct waiting_append)) {   /* the last one taken came first */
        struct waiting_append w;
        memcpy(&w, failed->p + at - sizeof w, sizeof w);
        w.done(w.ctx, copy_of(e));
    }
    buf_done(failed);
    err_free(e);
}

/* S3: queue offsets are dense. Those of records that were not written are given to the next ones. */
static void forget_unwritten(struct store *s)
{
    struct waiting_record *r;
    while ((r = fifo_back(&s->records, sizeof *r)) && r->log_offset >= s->log.written) {
        r->queue->next -= r->count;
        fifo_pop_back(&s->records, sizeof *r);
    }
    if (s->index) index_forget(s->index, s->log.written);
    commit_log_forget(&s->log);
}

static void fail_turn(struct store *s, err_t e)
{
    struct buf failed = BUF_EMPTY;
    forget_unwritten(s);
    take_behind(&s->appends, s->log.written, &failed);
    take_behind(&s->early, s->log.written, &failed);
    store_stop_writing(s, STORE_FULL, copy_of(e));
    fail_all(&failed, e);
}

void dispatch_fail_waiting(struct store *s, err_t e)
{
    struct buf failed = BUF_EMPTY;
    take_behind(&s->appends, -1, &failed);
    fail_all(&failed, e);
}

/* --- the end of a turn --- */

static void write_turn(struct store *s)
{
    err_t e = commit_log_write(&s->log);
    if (e) fail_turn(s, e);
    else s->written_ms = s->last_ms;
    if (s->options.sync_flush) flush_log(s);
    else dispatch_upto(s, s->log.written, s->written_ms);
    answer_upto(&s->early, s->log.written);
}

static bool has_work(const struct store *s)
{
    const struct waiting_append *w = fifo_front(&s->early);
    if (s->log.turn.n || (w && w->log_end <= s->log.written)) return true;
    if (!s->options.sync_flush) return s->visible < s->log.written;
    return s->synced < s->log.written && !s->log_sync.running && s->mode < STORE_BROKEN && !s->closed;
}

void dispatch_turn_end(void *store)
{
    struct store *s = store;
    for (int round = 0; round < ROUNDS_MAX && has_work(s); round++) write_turn(s);
    if (has_work(s) && !s->closed) timer_start(s->tasks, &s->again_timer, 0);
    cold_turn_ended(&s->cold, s->log.written);
    flush_arm(s);
}
