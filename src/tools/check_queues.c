#include "tools/check.h"

#include "codec/record.h"
#include "store/redispatch.h"

/* One queue, entry by entry. */
struct queue_check {
    struct check *c;
    const struct view_queue *q;
    struct seen_queue *seen;       /* NULL: the log has no record of it */
    struct view_reader reader;
    char file[PATH_BYTES];
    int64_t number;                /* of the next entry */
    int64_t next;                  /* expected offset */
    int64_t log_offset;            /* of the entry before */
    bool real;                     /* there was an entry that is no filler */
};

static const char not_served[] = "serves nothing for it, and goes on with the next";

static int64_t position(const struct queue_check *qc, int64_t number)
{
    return number % qc->c->v.queue_entries[qc->q->kind] * queue_kind_entry_bytes(qc->q->kind);
}

#define BAD(qc, number, broker, ...) report_add(&(qc)->c->r, DAMAGE, (qc)->file, position(qc, number), broker, __VA_ARGS__)

/* The offset that a record has in this queue, its own or as one of further queues (LMQ); -1: it does not belong here. */
static int64_t offset_here(const struct view_queue *q, const struct message *m)
{
    struct slice topic;
    int64_t offset;
    if (slice_eq(m->topic, slice_text(q->topic)) && m->queue_id == q->id) return m->queue_offset;
    struct lmq_walk light = redispatch_lmq(m);
    while (redispatch_next_lmq(&light, &topic, &offset))
        if (q->id == LMQ_QUEUE_ID && slice_eq(topic, slice_text(q->topic))) return offset;
    return -1;
}

/* Of delayed messages the entry tells when they are due, and how long the levels are is configured. */
static bool tag_agrees(const struct message *m, int64_t tag_hash)
{
    int64_t want = redispatch_tag_hash(m, &delay_levels_default);
    bool delayed = slice_eq(m->topic, SLICE("SCHEDULE_TOPIC_XXXX")) && tag_hash > m->store_ms && want > m->store_ms;
    return delayed || tag_hash == want;
}

static void check_record(struct queue_check *qc, const struct view_entry *e, const struct log_step *step)
{
    const struct message *m = &step->message;
    int64_t here = offset_here(qc->q, m), tag_hash;
    if (here >= 0 && redispatch_kind(m) == QUEUE_OF_BATCHES && qc->q->kind == QUEUE_OF_SINGLES) {
        BAD(qc, e->number, "serves that record for it", "entry %lld points to %lld, a batch in one record", (long long)e->number, (long long)step->at);
    } else if (here < 0) {
        BAD(qc, e->number, "serves that record for it", "entry %lld points to %lld, a record of topic \"%.*s\" queue %d", (long long)e->number,
            (long long)step->at, SLICE_ARG(m->topic), m->queue_id);
    } else if (step->size != e->entry.size) {
        BAD(qc, e->number, not_served, "entry %lld says %d bytes, the record at %lld has %lld", (long long)e->number, e->entry.size, (long long)step->at,
            (long long)step->size);
    } else if (here != e->entry.queue_offset) {
        bool hole = qc->q->kind == QUEUE_OF_SINGLES && here > e->number;
        BAD(qc, e->number, hole ? "passes it when the entry behind it is the same" : "serves that record for it",
            "entry %lld is for offset %lld and points to %lld, the record of offset %lld", (long long)e->number, (long long)e->entry.queue_offset,
            (long long)step->at, (long long)here);
    } else if (qc->q->kind == QUEUE_OF_BATCHES && (redispatch_count(m) != e->entry.count || m->store_ms != e->entry.store_ms)) {
        BAD(qc, e->number, "serves that record for it", "entry %lld says %d messages of %lld, the record at %lld has %d of %lld", (long long)e->number,
            e->entry.count, (long long)e->entry.store_ms, (long long)step->at, redispatch_count(m), (long long)m->store_ms);
    } else if (step->kind == LOG_RECORD) {
        bool there = view_tag_hash(&qc->c->v, qc->q, e->entry, &tag_hash);
        if (!there) BAD(qc, e->number, "gives the message to no consumer that asks for tags", "entry %lld: its extension is not there", (long long)e->number);
        else if (!tag_agrees(m, tag_hash))
            BAD(qc, e->number, "may not give the message to a consumer that asks for its tag", "entry %lld has tag hash %lld, the record's tag has %lld",
                (long long)e->number, (long long)tag_hash, (long long)redispatch_tag_hash(m, &delay_levels_default));
    }
}

static void check_place(struct queue_check *qc, const struct view_entry *e)
{
    struct check *c = qc->c;
    struct queue_entry q = e->entry;
    struct log_step step;
    if (q.log_offset < view_log_first(&c->v)) return;   /* its record was too old */
    if (q.log_offset >= c->end || q.size > c->end - q.log_offset) {
        report_add(&c->r, c->v.abort ? NOTE : DAMAGE, qc->file, position(qc, e->number), c->v.abort ? "drops it at its start" : not_served,
                   "entry %lld points to %lld, behind the last record", (long long)e->number, (long long)q.log_offset);
        return;
    }
    enum log_step_kind kind = check_record_at(c, &qc->reader, q.log_offset, &step);
    if (kind == LOG_RECORD || kind == LOG_BAD_CHECKSUM) check_record(qc, e, &step);
    else BAD(qc, e->number, not_served, "entry %lld points to %lld, where no record begins", (long long)e->number, (long long)q.log_offset);
}

static void check_order(struct queue_check *qc, const struct view_entry *e)
{
    if (e->number != qc->number)
        BAD(qc, e->number, not_served, "entries %lld to %lld are missing", (long long)qc->number, (long long)e->number - 1);
    qc->number = e->number + 1;
    if (qc->q->kind == QUEUE_OF_BATCHES && !queue_entry_is_written(e->entry)) return;
    if (e->entry.queue_offset < qc->next)
        BAD(qc, e->number, "gives it to whoever asks for its messages", "entry %lld begins at offset %lld, the one before it ends at %lld", (long long)e->number,
            (long long)e->entry.queue_offset, (long long)qc->next);
    qc->next = queue_entry_end(e->entry);
}

static bool on_entry(void *ctx, const struct view_entry *e)
{
    struct queue_check *qc = ctx;
    struct queue_entry q = e->entry;
    qc->c->entries++;
    check_order(qc, e);
    if (queue_entry_is_filler(q)) {
        if (qc->real) BAD(qc, e->number, not_served, "entry %lld is a filler between others", (long long)e->number);
        return true;
    }
    qc->real = true;
    if (!queue_entry_is_written(q)) {
        BAD(qc, e->number, not_served, "entry %lld holds no place: %lld and %d bytes", (long long)e->number, (long long)q.log_offset, q.size);
        return true;
    }
    if (q.log_offset < qc->log_offset)
        BAD(qc, e->number, "serves what it points to", "entry %lld points to %lld, before the one before it", (long long)e->number, (long long)q.log_offset);
    qc->log_offset = q.log_offset;
    check_place(qc, e);
    return true;
}

static void check_file(struct queue_check *qc, const struct view_file *f, bool last)
{
    struct check *c = qc->c;
    int64_t want = c->v.queue_entries[qc->q->kind] * queue_kind_entry_bytes(qc->q->kind);
    view_queue_name(qc->q, f, qc->file);
    if (f->size == 0)
        report_add(&c->r, last ? NOTE : DAMAGE, qc->file, -1, last ? "removes it" : "takes it for a file of zeros", "it is empty");
    else if (c->v.abort && f->size < want)
        report_add(&c->r, NOTE, qc->file, -1, "makes it as long as the others", "it has %lld bytes: a start was killed while it cleared its end", (long long)f->size);
    else if (f->size != want)
        report_add(&c->r, DAMAGE, qc->file, -1, "refuses to start", "it has %lld bytes, other queue files have %lld", (long long)f->size, (long long)want);
    err_t e = view_queue_file(&c->v, qc->q, f, on_entry, qc);
    bool gone = c->v.abort && err_code(e) == ERR_NOT_FOUND;
    if (e && !gone) report_add(&c->r, DAMAGE, qc->file, -1, "serves nothing of it", "%s", err_text(e));
    err_free(e);
}

static void tell_behind(struct check *c, const char *file, const char *what, int64_t end, int64_t next)
{
    report_add(&c->r, c->v.abort ? NOTE : DAMAGE, file, -1,
               c->v.abort ? "writes them, or will at its start" : "does not see it after a good stop: 'skylark store rebuild' writes them",
               "%lld %s are missing at its end: it ends at %lld, the log at %lld", (long long)(next - end), what, (long long)end, (long long)next);
}

static void check_queue(struct check *c, const struct view_queue *q)
{
    struct queue_check qc = {.c = c, .q = q};
    qc.seen = check_seen(c, slice_text(q->topic), q->id, false);
    if (q->count) qc.number = q->files[0].start / queue_kind_entry_bytes(q->kind);
    if (q->kind == QUEUE_OF_SINGLES) qc.next = qc.number;
    for (size_t i = 0; i < q->count; i++) check_file(&qc, &q->files[i], i + 1 == q->count);
    if (qc.seen) qc.seen->has_folder = true;
    view_queue_name(q, NULL, qc.file);
    if (qc.seen && qc.next < qc.seen->next && !qc.seen->began_again)
        tell_behind(c, qc.file, q->kind == QUEUE_OF_BATCHES ? "messages" : "entries", qc.next, qc.seen->next);
    view_reader_done(&qc.reader);
}

/* A topic that was deleted has no queues, and its records are in the log until they are too old. */
static void tell_missing(struct check *c)
{
    struct map_entry *e;
    char file[PATH_BYTES];
    for (size_t at = 0; (e = map_next(&c->seen, &at));) {
        const struct seen_queue *q = e->value;
        struct slice topic = slice_of(e->key.p, e->key.n - 4);
        if (q->has_folder || !q->records) continue;
        snprintf(file, sizeof file, "%sconsumequeue/%.*s/%d", q->kind == QUEUE_OF_BATCHES ? "batch" : "", SLICE_ARG(topic),
                 (int32_t)get_be32(topic.p + topic.n));
        report_add(&c->r, NOTE, file, -1, "makes it only when no queue is there at all; 'skylark store rebuild' makes it",
                   "there is no such queue, and %lld records of it in the log: the topic was deleted, or the folder", (long long)q->records);
    }
}

void check_queues(struct check *c)
{
    for (size_t i = 0; i < c->v.queue_count; i++) {
        check_queue(c, &c->v.queues[i]);
        if (c->v.options->progress) c->v.options->progress(c->v.options->progress_ctx, "consume queues", (int64_t)i, (int64_t)c->v.queue_count);
    }
    tell_missing(c);
}
