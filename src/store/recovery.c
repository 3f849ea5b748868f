#include "store/state.h"

#include "base/log.h"
#include "codec/record.h"
#include "store/redispatch.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

/* How a store becomes whole again (facts: docs/protocol/store.md 6; where we differ it says so):
 *   1. find a place in the log before which everything is surely on disk         start_of_scan()
 *   2. read on from there to the end of the records; damaged ones are passed     scan()
 *   3. cut the log there                                                         cut_log()
 *   4. keep of each queue the entries that are surely right                      load_queues()
 *   5. write the entries of all records behind them                              redispatch()
 *   6. clear what lies behind the last entry of each queue                       trim
 * After a good stop step 2 begins at the end, and nothing is left to do for the others. */

enum {
    MARGIN_MS = 3000,                /* the original's: times in the checkpoint are not exact */
    SECTOR_BYTES = 512,
    TRY_HEAD_BYTES = 4096,
    TRY_BYTES = 64 << 10,
    LENGTH_BYTES = 4,
    SEARCH_BYTES = 16 << 20,         /* where the next good record is looked for: four times the largest message */
    PENDING_BYTES = 64 << 10,        /* of one queue, before they are written */
    INNER_SMALLEST = 22,             /* bytes of the smallest message in a batch */
    PROGRESS_BYTES = 16 << 20,       /* from one word about it to the next */
};

struct recovery {
    struct store *s;
    struct commit_log *log;
    bool abnormal;
    int64_t from;                    /* what begins before it is surely on disk */
    int64_t end;                     /* of the records */
    int64_t dispatched;              /* end of the last record that has an entry; -1: none has */
    int64_t spoiled;                 /* a queue's end is damaged: records from here on are looked at again; INT64_MAX: none is */
    int64_t told;                    /* the progress, as far as it was told */
};

/* --- the disk, before it is looked at by maps --- */

static bool is_all_zero(const uint8_t *p, size_t n)
{
    return n == 0 || (*p == 0 && memcmp(p, p + 1, n - 1) == 0);
}

/* One part of a file, which the disk must give. *end: there is nothing in it. */
static err_t try_read(const struct mapped_file *f, int64_t position, int64_t bytes, uint8_t *room, bool *end)
{
    size_t got;
    err_t e = file_read_at(f->file, position - f->start, room, (size_t)bytes, &got);
    *end = !e && is_all_zero(room, got);
    return err_in(e, "read the log at %" PRId64, position);
}

/* A part of the disk that fails is an error here, and would be a signal later. The beginnings of all files, and what is read on from. */
static err_t check_beginnings(const struct recovery *r)
{
    uint8_t room[TRY_HEAD_BYTES];
    err_t e = NULL;
    bool end;
    for (size_t i = 0; i < r->log->files.count && !e; i++) {
        const struct mapped_file *f = r->log->files.all[i];
        e = try_read(f, f->start, f->size < TRY_HEAD_BYTES ? f->size : TRY_HEAD_BYTES, room, &end);
    }
    return e;
}

static err_t check_rest(const struct recovery *r)
{
    uint8_t *room = must_alloc(TRY_BYTES);
    const struct mapped_file *f;
    err_t e = NULL;
    bool end = false;
    for (int64_t at = r->from; !e && !end && (f = mapped_files_at(&r->log->files, at));) {
        int64_t n = mapped_file_end(f) - at < TRY_BYTES ? mapped_file_end(f) - at : TRY_BYTES;
        e = try_read(f, at, n, room, &end);
        at += n;
    }
    free(room);
    return e;
}

/* --- 1: where to begin --- */

/* The first record of a file, if it is whole. */
static bool first_record(const struct mapped_file *f, struct message *m)
{
    return record_read(mapped_file_from(f, f->start), m) == RECORD_WHOLE && m->log_offset == f->start && m->store_ms != 0;
}

static int64_t sure_ms(const struct checkpoint *c)
{
    int64_t ms = c->log_ms < c->queues_ms ? c->log_ms : c->queues_ms;
    return ms > MARGIN_MS ? ms - MARGIN_MS : 0;
}

/* The newest file that the checkpoint's times vouch for, as the original finds it. */
static int64_t start_by_time(const struct recovery *r)
{
    const struct mapped_files *files = &r->log->files;
    for (size_t i = files->count; i-- > 0;) {
        struct message m;
        if (!first_record(files->all[i], &m)) continue;
        if (!r->abnormal || m.store_ms <= sure_ms(&r->s->checkpoint)) return files->all[i]->start;
    }
    return commit_log_first(r->log);
}

/* Our own checkpoints name the place itself. It may be older than what the original wrote since. */
static int64_t start_of_scan(const struct recovery *r)
{
    int64_t start = start_by_time(r);
    int64_t resume = r->s->checkpoint.resume_offset;
    const struct mapped_file *f = resume > start ? mapped_files_at(&r->log->files, resume) : NULL;
    if (!f) return start;
    struct message m;
    enum record_kind kind = record_read(mapped_file_from(f, resume), &m);
    bool boundary = kind == RECORD_WHOLE ? m.log_offset == resume : kind != RECORD_DAMAGED;
    return boundary ? resume : start;
}

/* --- 2: the end of the records --- */

static bool is_good(const struct recovery *r, int64_t at, enum record_kind kind, const struct message *m)
{
    return kind == RECORD_WHOLE && m->log_offset == at && record_body_intact(m) && (!r->abnormal || record_looks_written(m));
}

/* The next good record of a file. */
static int64_t next_in_file(const struct recovery *r, const struct mapped_file *f, int64_t at)
{
    struct slice rest = mapped_file_from(f, at);
    size_t limit = rest.n < SEARCH_BYTES ? rest.n : SEARCH_BYTES;
    for (size_t i = 0; (i = record_search(slice_of(rest.p, limit), i + 1, at)) < limit;) {
        struct message m;
        if (is_good(r, at + (int64_t)i, record_read(slice_skip(rest, i), &m), &m)) return at + (int64_t)i;
    }
    return -1;
}

/* Where records go on behind a place that holds none; -1 when they do not. */
static int64_t next_good(const struct recovery *r, const struct mapped_file *f, int64_t at)
{
    int64_t next = next_in_file(r, f, at);
    if (next >= 0) return next;
    const struct mapped_file *following = mapped_files_at(&r->log->files, mapped_file_end(f));
    struct message m;
    return following && first_record(following, &m) && record_body_intact(&m) ? following->start : -1;
}

static bool is_zero(const uint8_t *p, int64_t n)
{
    static const uint8_t zeros[SECTOR_BYTES];
    return memcmp(p, zeros, (size_t)n) == 0;
}

/* A sector that never reached the disk reads as it was before: zeros, behind what an earlier write put there. With SYNC_FLUSH
 * nothing behind one has been answered: the sync that would have let it had to bring this one along. A record begins with its
 * size, which is no zero within LENGTH_BYTES. */
static bool never_synced(const struct recovery *r, const struct mapped_file *f, int64_t at, int64_t next)
{
    if (!r->abnormal || !r->s->options.sync_flush) return false;
    int64_t end = (next < mapped_file_end(f) ? next : mapped_file_end(f)) - f->start;
    int64_t first = at - f->start, sector = (first + SECTOR_BYTES - 1) / SECTOR_BYTES * SECTOR_BYTES;
    int64_t rest = (sector < end ? sector : end) - first;   /* of the sector that `at` lies in */
    if (rest >= LENGTH_BYTES && is_zero(mapped_file_from(f, at).p, rest)) return true;
    for (int64_t s = sector; s + SECTOR_BYTES <= end; s += SECTOR_BYTES)
        if (is_zero(mapped_file_from(f, f->start + s).p, SECTOR_BYTES)) return true;
    return false;
}

/* One step of the scan: the position behind what begins at `at`, or -1 at the end of the records. */
static int64_t step(const struct recovery *r, const struct mapped_file *f, int64_t at)
{
    struct message m;
    enum record_kind kind = record_read(mapped_file_from(f, at), &m);
    if (is_good(r, at, kind, &m)) return at + (int64_t)record_read_size(&m);
    if (kind == RECORD_BLANK) return mapped_file_end(f);
    if (kind == RECORD_END && !r->abnormal) return -1;   /* after a good stop zeros are the end */
    int64_t next = next_good(r, f, at);
    if (next >= 0 && never_synced(r, f, at, next)) return -1;
    if (next >= 0) damage_add_record(&r->log->damage, at, "a damaged record; those behind it are kept");
    return next;
}

static void tell_progress(struct recovery *r, int64_t at)
{
    const struct store_options *o = &r->s->options;
    if (!o->progress || (at >= r->told && at - r->told < PROGRESS_BYTES)) return;
    r->told = at;
    o->progress(o->progress_ctx, at - commit_log_first(r->log), mapped_file_end(mapped_files_last(&r->log->files)) - commit_log_first(r->log));
}

static void scan(struct recovery *r)
{
    int64_t at = r->from;
    const struct mapped_file *f;
    while ((f = mapped_files_at(&r->log->files, at))) {
        int64_t next = step(r, f, at);
        if (next < 0) break;
        at = next;
        tell_progress(r, at);
    }
    r->end = at;
}

/* --- 3: the log ends there --- */

static bool is_clear(const struct mapped_files *files, int64_t at)
{
    const struct mapped_file *f = mapped_files_at(files, at);
    return !f || mapped_file_end(f) - at < RECORD_BLANK_BYTES || get_be64(mapped_file_from(f, at).p) == 0;
}

static err_t cut_log(struct recovery *r)
{
    struct mapped_files *files = &r->log->files;
    while (files->count > 1 && mapped_files_last(files)->start > r->end) {   /* made ahead, perhaps written, never reached */
        if (!r->abnormal && is_clear(files, mapped_files_last(files)->start)) break;
        err_t e = mapped_files_remove_last(files);
        if (e) return e;
        r->log->names_unsynced = true;
    }
    if (!r->abnormal && is_clear(files, r->end)) return NULL;
    if (!is_clear(files, r->end)) log_warn("store.torn_tail log_offset=%" PRId64 " text=\"the log is cut here\"", r->end);
    return mapped_files_cut(files, r->end);
}

/* --- 4: the queues as they are --- */

/* Where a queue of batches ends is what its last entry says, so that has to agree with its record. */
static bool last_disagrees(const struct recovery *r, struct consume_queue *q)
{
    struct queue_entry last;
    struct message m;
    if (q->kind != QUEUE_OF_BATCHES || !consume_queue_last(q, &last)) return false;
    const struct mapped_file *f = mapped_files_at(&r->log->files, last.log_offset);
    if (!f || record_read(mapped_file_from(f, last.log_offset), &m) != RECORD_WHOLE || m.log_offset != last.log_offset) return false;
    return m.queue_offset != last.queue_offset || redispatch_count(&m) != last.count;
}

static err_t load_queue(void *ctx, struct consume_queue *q)
{
    struct recovery *r = ctx;
    err_t e = consume_queue_load(q, r->abnormal ? r->from : r->end);
    if (e) return e;
    q->new_files = r->abnormal;   /* whoever was killed may not have got to making their names durable */
    struct queue_entry last = queue_entry_filler();
    bool disagrees = last_disagrees(r, q);
    if (disagrees) consume_queue_cut(q, q->end - 1);
    bool spoiled = disagrees || consume_queue_is_spoiled(q, r->abnormal ? r->from : r->end, r->end);
    if (q->end > 0 && consume_queue_get(q, q->end - 1, &last) && !queue_entry_is_filler(last)) {
        int64_t behind = last.log_offset + last.size;
        if (behind > r->dispatched) r->dispatched = behind;
    }
    if (spoiled && last.log_offset < r->spoiled) r->spoiled = last.log_offset;
    consume_queue_rest(q);
    return NULL;
}

/* --- 5: entries for all that follows --- */

/* S9: a hole is filled with the entry that follows it; it keeps the offsets right and is never served. */
static void fill_hole(struct consume_queue *q, int64_t queue_offset, const struct message *m, int64_t tag_hash)
{
    log_warn("store.queue_hole topic=\"%.*s\" queue=%d first=%" PRId64 " end=%" PRId64, SLICE_ARG(q->topic->name), q->queue_id,
             consume_queue_pending_end(q), queue_offset);
    struct queue_entry e = {.log_offset = m->log_offset, .size = (int32_t)record_read_size(m), .tag_hash = tag_hash};
    while (consume_queue_pending_end(q) < queue_offset) consume_queue_put(q, &e);
}

/* No checksum covers the queue offset that a record states. Every message that is missing before it was a record of its own, or part
 * of one, and all of these must find room in the log between the queue's last record and this one. */
static bool fits(struct consume_queue *q, int64_t queue_offset, const struct message *m)
{
    struct queue_entry last = queue_entry_filler();
    int64_t smallest = q->kind == QUEUE_OF_BATCHES ? INNER_SMALLEST : RECORD_SMALLEST;
    consume_queue_last(q, &last);
    if (queue_offset - consume_queue_pending_end(q) <= (m->log_offset - last.log_offset) / smallest) return true;
    log_error("store.damaged_offset topic=\"%.*s\" queue=%d log_offset=%" PRId64 " states=%" PRId64 " expected=%" PRId64, SLICE_ARG(q->topic->name),
              q->queue_id, m->log_offset, queue_offset, consume_queue_pending_end(q));
    return false;
}

/* A topic that was deleted and made again counts from 0 again; its old records are still in the log. */
static bool began_again(struct consume_queue *q, const struct message *m)
{
    struct queue_entry first;
    if (consume_queue_pending_end(q) == 0) return false;
    if (q->end == 0) return true;   /* the old entries are pending */
    return consume_queue_get(q, 0, &first) && first.log_offset < m->log_offset;
}

/* What lies between the end of a queue of singles and an entry that is to come behind it. */
static err_t fill_up_to(struct consume_queue *q, int64_t queue_offset, const struct message *m, int64_t tag_hash)
{
    int64_t end = consume_queue_pending_end(q);
    if (queue_offset > end && end == (q->first > 0 ? q->first : 0)) {
        err_t e = consume_queue_begin_at(q, queue_offset);
        if (e) return e;
    }
    if (queue_offset > consume_queue_pending_end(q)) fill_hole(q, queue_offset, m, tag_hash);
    return NULL;
}

/* The queue that takes the entry of a record. A batch proves what its topic keeps; a single message does not. */
static struct consume_queue *queue_of(struct store *s, struct slice topic, int32_t queue_id, int64_t queue_offset, const struct message *m)
{
    enum queue_kind kind = redispatch_kind(m);
    struct consume_queue *q = queues_get(&s->queues, topic, queue_id, kind);
    if (queue_offset == 0 && began_again(q, m)) consume_queue_cut(q, 0);
    return kind == QUEUE_OF_BATCHES && q->kind != kind ? store_replace_queues(s, topic, queue_id, kind) : q;
}

static err_t add_entry(struct store *s, struct slice topic, int32_t queue_id, int64_t queue_offset, const struct message *m)
{
    if (!queue_topic_is_legal(topic) || queue_id < 0 || queue_offset < 0) return NULL;
    if (deleted_topics_have(&s->deleted_topics, topic, m->log_offset)) return NULL;
    struct consume_queue *q = queue_of(s, topic, queue_id, queue_offset, m);
    if (queue_offset < consume_queue_pending_end(q) || !fits(q, queue_offset, m)) return NULL;
    struct queue_entry entry = {
        .log_offset = m->log_offset, .size = (int32_t)record_read_size(m), .count = redispatch_count(m), .tag_hash = redispatch_tag_hash(m, &s->options.delay_levels),
        .queue_offset = queue_offset, .store_ms = m->store_ms,
    };
    err_t e = q->kind == QUEUE_OF_SINGLES ? fill_up_to(q, queue_offset, m, entry.tag_hash) : NULL;
    if (e) return e;
    consume_queue_put(q, &entry);
    return q->pending.n < PENDING_BYTES ? NULL : consume_queue_write(q);
}

static err_t add_entries(struct store *s, const struct message *m)
{
    if (!redispatch_has_entry(m)) return NULL;
    err_t e = add_entry(s, m->topic, m->queue_id, m->queue_offset, m);
    struct slice topic;
    int64_t queue_offset;
    struct lmq_walk light = redispatch_lmq(m);
    while (!e && redispatch_next_lmq(&light, &topic, &queue_offset)) e = add_entry(s, topic, LMQ_QUEUE_ID, queue_offset, m);
    return e;
}

/* A record whose body is damaged keeps its place in its queue, if what it says of itself fits. */
static err_t add_damaged(struct store *s, const struct message *m)
{
    struct consume_queue *q = queues_find(&s->queues, m->topic, m->queue_id);
    if (!redispatch_has_entry(m) || !q || (redispatch_kind(m) == QUEUE_OF_BATCHES && q->kind != QUEUE_OF_BATCHES)) return NULL;
    return consume_queue_pending_end(q) == m->queue_offset ? add_entry(s, m->topic, m->queue_id, m->queue_offset, m) : NULL;
}

static err_t redispatch(struct recovery *r, int64_t from)
{
    for (int64_t at = from; at < r->end;) {
        const struct mapped_file *f = mapped_files_at(&r->log->files, at);
        struct message m;
        enum record_kind kind = record_read(mapped_file_from(f, at), &m);
        bool whole = kind == RECORD_WHOLE && m.log_offset == at;
        err_t e = is_good(r, at, kind, &m) ? add_entries(r->s, &m) : whole ? add_damaged(r->s, &m) : NULL;
        if (e) return e;
        int64_t next = step(r, f, at);
        at = next < 0 ? r->end : next;
        tell_progress(r, at);
    }
    return NULL;
}

/* Everything that the queues on disk do not know. */
static int64_t start_of_redispatch(const struct recovery *r)
{
    const struct mapped_file *spoiled = mapped_files_at(&r->log->files, r->spoiled);
    if (spoiled) return spoiled->start;
    if (r->spoiled < r->end) return commit_log_first(r->log);
    if (r->dispatched < 0) return commit_log_first(r->log);   /* no queues at all, say their folder was removed */
    if (r->abnormal || r->dispatched >= r->from) return r->from;
    const struct mapped_file *f = mapped_files_at(&r->log->files, r->dispatched);
    return f ? f->start : commit_log_first(r->log);
}

/* --- 6: nothing behind the end --- */

static err_t finish_queue(void *ctx, struct consume_queue *q)
{
    struct recovery *r = ctx;
    int64_t before = q->end;
    err_t e = consume_queue_write(q);
    if (e) return e;
    if (r->abnormal || q->end != before || list_linked(&q->in_dirty)) e = consume_queue_trim(q);
    q->next = consume_queue_max(q);
    consume_queue_rest(q);
    return e;
}

/* If a sync of an earlier run failed, one more would say nothing about what that one had to write. */
static err_t sync_file(const struct recovery *r, struct mapped_file *f, bool failed_before)
{
    int64_t from = f->start > r->from ? f->start : r->from, to = mapped_file_end(f) < r->end ? mapped_file_end(f) : r->end;
    return failed_before && from < to ? resync_write_again(f, from, to) : file_sync(f->file);
}

/* What a killed process wrote may still be in the kernel's memory alone. From here on it counts as synced. */
static err_t sync_log(const struct recovery *r)
{
    const struct mapped_files *files = &r->log->files;
    bool failed_before = resync_is_marked(r->s);
    err_t e = NULL;
    for (size_t i = files->count; !e && i-- > 0 && mapped_file_end(files->all[i]) > r->from;) e = sync_file(r, files->all[i], failed_before);
    if (!e) e = fs_sync_folder(r->s->fs, files->folder);
    if (e) resync_mark(r->s);
    else resync_unmark(r->s);
    if (!e) r->log->names_unsynced = false;
    return e;
}

/* Without a log the queues point nowhere. */
static err_t start_empty(struct store *s)
{
    char *const *folder = s->queues.files.folder;
    err_t e = fs_remove_tree(s->fs, folder[QUEUE_OF_BATCHES]);
    if (!e) e = fs_remove_tree(s->fs, folder[QUEUE_OF_SINGLES]);
    if (!e) e = fs_make_folder(s->fs, folder[QUEUE_OF_SINGLES]);
    if (!e) e = fs_sync_folder(s->fs, s->options.root);   /* S10: what lies in a folder without a name is lost with it */
    queues_done(&s->queues);
    store_init_queues(s);
    if (!e) e = deleted_topics_fit(&s->deleted_topics, 0, 0);
    return e ? e : commit_log_start(&s->log, 0);
}

err_t recovery_run(struct store *s, bool abnormal)
{
    struct recovery r = {.s = s, .log = &s->log, .abnormal = abnormal, .dispatched = -1, .spoiled = INT64_MAX};
    if (!s->log.files.count) return start_empty(s);
    err_t e = check_beginnings(&r);
    if (e) return e;
    r.from = start_of_scan(&r);
    e = check_rest(&r);
    if (e) return e;
    scan(&r);
    e = cut_log(&r);
    if (!e) e = queues_each(&s->queues, load_queue, &r);
    if (!e) e = commit_log_start(&s->log, r.end);
    if (!e) e = deleted_topics_fit(&s->deleted_topics, commit_log_first(&s->log), r.end);
    if (!e) e = redispatch(&r, start_of_redispatch(&r));
    if (!e) e = queues_each(&s->queues, finish_queue, &r);
    if (!e && abnormal) e = sync_log(&r);
    if (!e) mapped_files_seal(&s->log.files, s->log.written);
    log_debug("store.open root=\"%s\" last_stop=%s log_end=%" PRId64 " scanned_from=%" PRId64, s->options.root,
              abnormal ? "abnormal" : "good", r.end, r.from);
    return e;
}
