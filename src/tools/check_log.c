#include "tools/check.h"

#include "codec/record.h"
#include "store/queues.h"
#include "store/redispatch.h"

enum {
    KEY_BYTES = TOPIC_BYTES_MAX + 4,
    INNER_SMALLEST = 22,      /* bytes of the smallest message in a batch */
};

struct seen_queue *check_seen(struct check *c, struct slice topic, int32_t queue_id, bool make)
{
    uint8_t key[KEY_BYTES];
    if (topic.n > TOPIC_BYTES_MAX) return NULL;
    memcpy(key, topic.p, topic.n);
    put_be32(key + topic.n, (uint32_t)queue_id);
    struct seen_queue *q = map_get(&c->seen, slice_of(key, topic.n + 4));
    if (q || !make) return q;
    q = must_zero(sizeof *q);
    q->next = -1;
    q->kind = view_kind(&c->v, topic);
    map_put(&c->seen, slice_of(key, topic.n + 4), q);
    return q;
}

/* --- the files --- */

static void check_files(struct check *c)
{
    static const char refuses[] = "refuses to start";
    char name[PATH_BYTES];
    for (size_t i = 0; i < c->v.log_count; i++) {
        const struct view_file *f = &c->v.log[i], *before = i ? f - 1 : NULL;
        bool last = i + 1 == c->v.log_count;
        view_log_name(&c->v, f, name);
        if (f->size == 0)
            report_add(&c->r, last ? NOTE : DAMAGE, name, -1, last ? "removes it" : "takes it for a file of zeros", "it is empty");
        else if (c->v.abort && last && f->size < c->v.log_bytes)
            report_add(&c->r, NOTE, name, -1, "makes it as long as the others", "it has %lld bytes: a start was killed while it cut the log", (long long)f->size);
        else if (f->size != c->v.log_bytes)
            report_add(&c->r, DAMAGE, name, -1, refuses, "it has %lld bytes, the others have %lld", (long long)f->size, (long long)c->v.log_bytes);
        if (before && before->size && f->start != before->start + c->v.log_bytes)
            report_add(&c->r, DAMAGE, name, -1, refuses, "the file before it is missing: the one there ends at %lld",
                       (long long)(before->start + before->size));
    }
}

/* --- queue offsets --- */

/* Every offset that is passed over was a record of its own, or part of one, and these must find room in the log. */
static bool is_likely(const struct seen_queue *q, int64_t offset, int64_t log_offset)
{
    int64_t smallest = q->kind == QUEUE_OF_BATCHES ? INNER_SMALLEST : RECORD_SMALLEST;
    return offset > q->next && offset - q->next <= (log_offset - q->log_offset) / smallest;
}

static void note_offset(struct check *c, const char *file, struct slice topic, int32_t queue_id, int64_t offset, const struct message *m)
{
    struct seen_queue *q = check_seen(c, topic, queue_id, true);
    if (!q || (q->records && q->log_offset == m->log_offset)) return;   /* a light queue that is named twice */
    if (redispatch_kind(m) == QUEUE_OF_BATCHES) q->kind = QUEUE_OF_BATCHES;   /* it proves what its topic keeps */
    if (offset == 0 && q->next > 0) q->began_again = true;
    bool first = q->next < 0 || offset == 0;
    if (!first && offset != q->next) {
        bool likely = is_likely(q, offset, m->log_offset);
        report_add(&c->r, DAMAGE, file, m->log_offset, likely ? "passes the offsets that have no record" : "makes no queue entry for it",
                   "the record states offset %lld of topic \"%.*s\" queue %d, the next one is %lld", (long long)offset, SLICE_ARG(topic), queue_id,
                   (long long)q->next);
        if (!likely) return;
    }
    q->next = offset + redispatch_count(m);
    q->log_offset = m->log_offset;
    q->records++;
}

static void note_offsets(struct check *c, const char *file, const struct message *m)
{
    struct slice topic;
    int64_t offset;
    if (!redispatch_has_entry(m)) return;
    note_offset(c, file, m->topic, m->queue_id, m->queue_offset, m);
    struct lmq_walk light = redispatch_lmq(m);
    while (redispatch_next_lmq(&light, &topic, &offset))
        if (queue_topic_is_legal(topic) && offset >= 0) note_offset(c, file, topic, LMQ_QUEUE_ID, offset, m);
}

/* A damaged record keeps its place in its queue when what it says of itself fits. */
static void note_damaged(struct check *c, const struct message *m)
{
    struct seen_queue *q = check_seen(c, m->topic, m->queue_id, false);
    if (!q || q->next != m->queue_offset || !redispatch_has_entry(m)) return;
    q->next += redispatch_count(m);
    q->log_offset = m->log_offset;
}

/* --- the records --- */

static void tell_gap(struct check *c, enum level level, const char *broker, const char *what)
{
    char name[PATH_BYTES];
    const struct view_file *f = view_log_at(&c->v, c->gap_at);
    if (f) view_log_name(&c->v, f, name);
    report_add(&c->r, level, f ? name : "commitlog", c->gap_at, broker, "%s, %lld bytes", what, (long long)c->gap_size);
    c->gap_at = -1;
}

/* What seemed to be the end was none: records follow. */
static void end_gap(struct check *c)
{
    if (c->gap_at < 0) return;
    tell_gap(c, DAMAGE, "keeps the records behind it", c->gap_is_zero ? "zeros between records" : "no record begins here");
}

static void check_record(struct check *c, const char *file, const struct log_step *step)
{
    const struct message *m = &step->message;
    if (record_check_crc_property(step->bytes, m) == 0)
        report_add(&c->r, DAMAGE, file, step->at, "serves it, as the original does", "the record does not agree with the checksum over all of it (__CRC32#)");
    if (!record_looks_written(m))
        report_add(&c->r, DAMAGE, file, step->at, "cuts the log here when it is the last record after a bad stop; else serves it",
                   "zeros in the topic or the properties: a part was never written");
    if (!queue_topic_is_legal(m->topic) || m->queue_id < 0 || m->queue_offset < 0)
        report_add(&c->r, DAMAGE, file, step->at, "makes no queue entry for it", "the record states topic \"%.*s\" queue %d offset %lld, which cannot be",
                   SLICE_ARG(m->topic), m->queue_id, (long long)m->queue_offset);
    else note_offsets(c, file, m);
    if (m->store_ms > c->last_ms) c->last_ms = m->store_ms;
}

static bool on_step(void *ctx, const struct view_file *f, const struct log_step *step)
{
    struct check *c = ctx;
    char name[PATH_BYTES];
    bool is_record = step->kind == LOG_RECORD || step->kind == LOG_BAD_CHECKSUM, to_the_end = step->at + step->size == f->start + f->size;
    view_log_name(&c->v, f, name);
    if (is_record) {
        end_gap(c);
        c->end = step->at + step->size;
        c->last_at = step->at;
        c->records++;
    }
    switch (step->kind) {
    case LOG_RECORD:
        check_record(c, name, step);
        break;
    case LOG_BAD_CHECKSUM:
        report_add(&c->r, DAMAGE, name, step->at, "does not serve it; after a bad stop it cuts the log here when no good record follows",
                   "the record of topic \"%.*s\" queue %d offset %lld does not agree with its checksum", SLICE_ARG(step->message.topic),
                   step->message.queue_id, (long long)step->message.queue_offset);
        note_damaged(c, &step->message);
        break;
    case LOG_BLANK:
        if (get_be32(step->bytes.p) != step->size)
            report_add(&c->r, DAMAGE, name, step->at, "goes on in the next file all the same", "the blank that ends the file says %u bytes, there are %lld",
                       get_be32(step->bytes.p), (long long)step->size);
        break;
    default:
        if (c->gap_at >= 0 && step->kind == LOG_ZEROS) break;   /* a file made ahead */
        end_gap(c);
        c->gap_at = step->at;
        c->gap_size = step->size;
        c->gap_is_zero = step->kind == LOG_ZEROS;
        if (!to_the_end) end_gap(c);
    }
    return true;
}

static void unreadable(void *ctx, const struct view_file *f, int64_t at, err_t e)
{
    struct check *c = ctx;
    char name[PATH_BYTES];
    view_log_name(&c->v, f, name);
    if (c->v.abort && err_code(e) == ERR_NOT_FOUND)
        report_add(&c->r, NOTE, name, -1, "has removed it", "it is gone: a running broker removes what is too old");
    else report_add(&c->r, DAMAGE, name, at, "ends, or reports it, when it reads there", "%s", err_text(e));
    err_free(e);
}

void check_log(struct check *c)
{
    c->end = view_log_first(&c->v);
    check_files(c);
    view_walk(&c->v, 0, &(struct view_walker){.step = on_step, .unreadable = unreadable, .ctx = c, .what = "commit log"});
    if (c->gap_at < 0 || c->gap_is_zero) return;
    tell_gap(c, c->v.abort ? NOTE : DAMAGE, "cuts the log here", "the log ends with bytes that are no record");
}
