#include "tools/inline_tasks.h"
#include "tools/view.h"

#include "base/log.h"
#include "codec/record.h"
#include "store/redispatch.h"
#include "store/state.h"

#include <stdlib.h>

/* How queues and index are made anew:
 *   1. a store of their own is opened over the same log in root/rebuild-new: having no queues it makes all of them, as it does at
 *      every start that finds none, and its index follows                                     build()
 *   2. where the old queues count further than the log does (its records were too old), the new ones take over     keep_offsets()
 *   3. it is closed and all of it is synced                                                   build()
 *   4. old and new trade their names, one step for each folder; queues, index, then the checkpoint, which vouches for both     put_in_place()
 * What is below rebuild-new is removed whenever somebody finds it: by then it is what nobody needs. */

#define FRESH "rebuild-new"

enum { TIMERS_MAX = 100 };   /* a store at rest has none; one whose index finds no room tries again for ever */

struct rebuild {
    struct view v;
    struct file *lock;
    char fresh[PATH_BYTES];
    struct inline_tasks tasks;
    struct store *store;
    struct checkpoint checkpoint;
};

/* --- 2: what only the old queues know --- */

struct keeping {
    struct rebuild *r;
    struct consume_queue *q;     /* the new one; NULL: there is none yet */
    enum queue_kind kind;
    int64_t next;                /* where the new one ends */
    int64_t end;                 /* … and the old one */
    int64_t number;              /* of the old one's next entry; -1: the first one's */
    struct queue_entry last;     /* of the old one */
    struct buf entries;          /* struct queue_entry: those of the old one from `next` on */
    bool all_too_old;
};

/* An entry of batches says itself which offsets it stands for; what it says is known to be true while its record is in the log. */
static bool is_true(const struct keeping *k, const struct queue_entry *e)
{
    struct commit_log *log = &k->r->store->log;
    struct message m;
    struct slice record;
    if (k->kind == QUEUE_OF_SINGLES) return true;
    if (e->log_offset >= commit_log_first(log) && commit_log_read(log, e->log_offset, &m, &record))
        return m.queue_offset == e->queue_offset && redispatch_count(&m) == e->count;
    return k->end < 0 || e->queue_offset >= k->end;
}

static bool on_old_entry(void *ctx, const struct view_entry *e)
{
    struct keeping *k = ctx;
    int64_t log_end = k->r->store->log.written;
    bool good = queue_entry_is_written(e->entry) && (queue_entry_is_filler(e->entry) || e->entry.log_offset <= log_end - e->entry.size);
    if (!good || (k->number >= 0 && e->number != k->number)) return false;   /* only a prefix is (S6) */
    k->number = e->number + 1;
    if (!is_true(k, &e->entry)) return true;
    k->end = queue_entry_end(e->entry);
    k->last = e->entry;
    if (e->entry.queue_offset < k->next) return true;
    bool too_old = e->entry.log_offset < commit_log_first(&k->r->store->log) || queue_entry_is_filler(e->entry);
    k->all_too_old &= too_old;
    bool of_use = k->kind == QUEUE_OF_SINGLES || !too_old;   /* without their records entries of batches keep no other one's place */
    if (of_use && (!k->all_too_old || k->q)) buf_put(&k->entries, &e->entry, sizeof e->entry);
    return true;
}

static err_t take_over(struct keeping *k, const struct view_queue *old)
{
    struct store *s = k->r->store;
    err_t e = NULL;
    if (!k->q && !k->all_too_old) return NULL;   /* its records are in the log and are no good: nothing says what they were */
    if (!k->q) {
        k->q = queues_get(&s->queues, slice_text(old->topic), old->id, old->kind);
        if (k->q->kind == QUEUE_OF_SINGLES) e = consume_queue_begin_at(k->q, k->end);
        else consume_queue_put(k->q, &k->last);
    }
    for (size_t at = 0; at < k->entries.n && !e; at += sizeof(struct queue_entry)) {
        struct queue_entry entry;
        memcpy(&entry, k->entries.p + at, sizeof entry);
        consume_queue_put(k->q, &entry);
    }
    if (!e) e = consume_queue_write(k->q);
    k->q->next = consume_queue_max(k->q);
    consume_queue_rest(k->q);
    return e;
}

/* Offsets that were given away once must not be given away again: consumers have committed them. */
static err_t keep_offset(struct rebuild *r, const struct view_queue *old)
{
    struct keeping k = {.r = r, .kind = old->kind, .end = -1, .number = -1, .all_too_old = true};
    if (!queue_topic_is_legal(slice_text(old->topic))) return NULL;
    const struct queue_topic *t = map_get(&r->store->queues.topics, slice_text(old->topic));
    if (t && t->kind != old->kind) {
        if (old->kind == QUEUE_OF_SINGLES) return NULL;   /* the log proves that the topic keeps batches */
        store_replace_queues(r->store, slice_text(old->topic), old->id, old->kind);
    }
    k.q = queues_find(&r->store->queues, slice_text(old->topic), old->id);
    k.next = k.q ? consume_queue_max(k.q) : 0;
    err_t e = NULL;
    for (size_t i = 0; i < old->count && !e; i++) e = view_queue_file(&r->v, old, &old->files[i], on_old_entry, &k);
    if (!e && k.end > k.next) e = take_over(&k, old);
    buf_done(&k.entries);
    return e;
}

static err_t keep_offsets(struct rebuild *r)
{
    for (size_t i = 0; i < r->v.queue_count; i++) {
        err_t e = keep_offset(r, &r->v.queues[i]);
        if (e) return e;
    }
    return NULL;
}

/* --- 1 and 3: the new ones --- */

static void on_progress(void *ctx, int64_t done, int64_t total)
{
    const struct tools_options *o = ((struct rebuild *)ctx)->v.options;
    if (o->progress) o->progress(o->progress_ctx, "commit log", done, total);
}

static err_t copy_abort(struct rebuild *r)
{
    char path[PATH_BYTES];
    struct file *f;
    if (!r->v.abort) return NULL;
    snprintf(path, sizeof path, "%.*s/abort", PATH_BYTES - 8, r->fresh);
    err_t e = fs_open(r->v.fs, path, FILE_CREATE, &f);
    if (!e) file_close(f);
    return e;
}

/* What the log does not say. */
static err_t copy_deleted_topics(struct rebuild *r)
{
    enum { LIMIT_BYTES = 256 << 20 };
    char from[PATH_BYTES], to[PATH_BYTES];
    struct buf text = BUF_EMPTY;
    view_path(&r->v, DELETED_TOPICS, from);
    snprintf(to, sizeof to, "%.*s/" DELETED_TOPICS, PATH_BYTES - 32, r->fresh);
    err_t e = fs_read_file(r->v.fs, from, LIMIT_BYTES, &text);
    bool none = err_code(e) == ERR_NOT_FOUND;
    if (!e) e = fs_replace_file(r->v.fs, to, buf_slice(&text));
    buf_done(&text);
    if (!none) return e;
    err_free(e);
    return NULL;
}

static err_t open_over_log(struct rebuild *r)
{
    const struct tools_options *o = r->v.options;
    struct store_options s = {
        .root = r->fresh, .log_folder = r->v.log_folder, .log_file_bytes = r->v.log_bytes, .queue_file_entries = r->v.queue_entries[QUEUE_OF_SINGLES],
        .batch_file_entries = r->v.queue_entries[QUEUE_OF_BATCHES],
        .sync_timeout_ms = 5000, .flush_interval_ms = 500, .queue_flush_interval_ms = 1000, .max_message_bytes = 4 << 20, .recent_percent = 40,
        .index = true, .index_slots = o->index_slots, .index_entries = o->index_entries, .progress = on_progress, .progress_ctx = r,
    };
    return store_open(&s, r->v.fs, &r->tasks.tasks, &r->store);
}

static err_t wait_for_index(struct rebuild *r)
{
    int timers = 0;
    do inline_tasks_work(&r->tasks);
    while (!index_state(r->store->index).failed && timers++ < TIMERS_MAX && inline_tasks_fire(&r->tasks));
    if (!index_state(r->store->index).failed) return NULL;
    return err_new(ERR_IO, "the new index could not be written: the lines before this one say why");
}

/* Of the last record: what the checkpoint vouches for. */
static bool on_last(void *ctx, const struct view_file *f, const struct log_step *s)
{
    struct rebuild *r = ctx;
    (void)f;
    if (s->at >= r->store->log.written) return false;
    if (s->kind == LOG_RECORD && s->message.store_ms > r->checkpoint.log_ms) r->checkpoint.log_ms = s->message.store_ms;
    return true;
}

static void note_checkpoint(struct rebuild *r)
{
    struct checkpoint old = {.resume_offset = -1};
    struct buf bytes = BUF_EMPTY;
    int64_t end = r->store->log.written;
    const struct mapped_file *last = mapped_files_at(&r->store->log.files, end > 0 ? end - 1 : 0);
    err_drop(view_checkpoint(&r->v, &bytes, &old), "then it says nothing of replicas");
    buf_done(&bytes);
    r->checkpoint = (struct checkpoint){.master_flushed = old.master_flushed, .confirmed = end, .queues_offset = end, .resume_offset = end};
    if (last) view_walk(&r->v, last->start, &(struct view_walker){.step = on_last, .ctx = r, .what = "commit log"});
    r->checkpoint.queues_ms = r->checkpoint.log_ms;
    r->checkpoint.index_ms = index_state(r->store->index).newest_ms;
}

static err_t build(struct rebuild *r)
{
    err_t e = fs_make_folder(r->v.fs, r->fresh);
    if (!e) e = copy_abort(r);
    if (!e) e = copy_deleted_topics(r);
    if (!e) e = open_over_log(r);
    if (e) return e;
    e = keep_offsets(r);
    if (!e) e = wait_for_index(r);
    if (!e) note_checkpoint(r);
    err_t closing = store_close(r->store);
    inline_tasks_work(&r->tasks);
    if (e) err_drop(closing, "the first error tells more");
    else e = closing;
    return e ? e : fs_sync_all(r->v.fs, r->fresh);
}

/* --- 4: into place --- */

static bool is_there(struct fs *fs, const char *path)
{
    struct file_info info;
    err_t e = fs_info(fs, path, &info);
    err_free(e);
    return !e;
}

/* Where the disk cannot trade names there is a moment without the folder: a store that starts then makes it from the log, too. */
static err_t trade(struct rebuild *r, const char *name)
{
    char old[PATH_BYTES], fresh[PATH_BYTES], aside[PATH_BYTES];
    view_path(&r->v, name, old);
    snprintf(fresh, sizeof fresh, "%.*s/%s", PATH_BYTES - 64, r->fresh, name);
    snprintf(aside, sizeof aside, "%.*s/old-%s", PATH_BYTES - 64, r->fresh, name);
    if (!is_there(r->v.fs, fresh)) return is_there(r->v.fs, old) ? fs_rename(r->v.fs, old, aside) : NULL;   /* no record has a key */
    if (!is_there(r->v.fs, old)) return fs_rename(r->v.fs, fresh, old);
    err_t e = fs_exchange(r->v.fs, fresh, old);
    if (err_code(e) != ERR_NOT_SUPPORTED) return e;
    err_free(e);
    e = fs_rename(r->v.fs, old, aside);
    return e ? e : fs_rename(r->v.fs, fresh, old);
}

static err_t put_checkpoint(struct rebuild *r)
{
    char old[PATH_BYTES], fresh[PATH_BYTES];
    uint8_t page[CHECKPOINT_BYTES];
    struct file *f;
    view_path(&r->v, "checkpoint", old);
    snprintf(fresh, sizeof fresh, "%.*s/checkpoint", PATH_BYTES - 16, r->fresh);
    checkpoint_encode(&r->checkpoint, page);
    err_t e = fs_open(r->v.fs, fresh, FILE_CREATE, &f);
    if (e) return e;
    e = file_write_at(f, 0, page, sizeof page);
    if (!e) e = file_sync(f);
    file_close(f);
    return e ? e : fs_rename(r->v.fs, fresh, old);
}

static err_t put_in_place(struct rebuild *r)
{
    err_t e = trade(r, "consumequeue");
    if (!e) e = trade(r, "batchconsumequeue");
    if (!e) e = trade(r, "index");
    if (!e) e = fs_sync_folder(r->v.fs, r->v.root);
    if (!e) e = put_checkpoint(r);
    if (!e) e = fs_sync_folder(r->v.fs, r->v.root);
    return e;
}

/* --- all of it --- */

static err_t take_lock(struct rebuild *r)
{
    char path[PATH_BYTES];
    view_path(&r->v, "lock", path);
    err_t e = fs_open(r->v.fs, path, FILE_CREATE, &r->lock);
    if (!e) e = file_lock(r->lock);
    if (err_code(e) != ERR_LOCKED) return e;
    err_free(e);
    return err_new(ERR_LOCKED, "a broker uses %s: stop it, then rebuild", r->v.root);
}

static err_t expect_log(const struct rebuild *r)
{
    if (r->v.log_bytes >= RECORD_SMALLEST) return NULL;
    return err_new(ERR_NOT_FOUND, "there is no log file in %s: nothing says what queues and index should hold", r->v.log_folder);
}

static err_t rebuild(struct rebuild *r)
{
    err_t e = expect_log(r);
    if (!e) e = take_lock(r);
    if (e) return e;
    view_path(&r->v, FRESH, r->fresh);
    e = fs_remove_tree(r->v.fs, r->fresh);   /* of one that was interrupted */
    if (!e) e = build(r);
    if (!e) e = put_in_place(r);
    if (!e) return fs_remove_tree(r->v.fs, r->fresh);
    err_drop(fs_remove_tree(r->v.fs, r->fresh), "the next start removes it");
    return e;
}

static void tell(const struct rebuild *r)
{
    struct view now;
    FILE *out = r->v.options->out;
    err_t e = view_open(&now, r->v.options);
    long long first = view_log_first(&now), end = r->checkpoint.resume_offset;
    if (r->v.options->json) fprintf(out, "{\"queues\":%zu,\"logFirst\":%lld,\"logEnd\":%lld}\n", now.queue_count, first, end);
    else fprintf(out, "rebuilt: %zu queues and the index, from the log between %lld and %lld\n", now.queue_count, first, end);
    err_drop(e, "it is only for the line");
    view_close(&now);
}

err_t tools_rebuild(const struct tools_options *o)
{
    struct rebuild r = {.lock = NULL};
    inline_tasks_init(&r.tasks, o->now_ms);
    err_t e = view_open(&r.v, o);
    if (!e) e = rebuild(&r);
    if (!e) tell(&r);
    file_close(r.lock);
    inline_tasks_done(&r.tasks);
    view_close(&r.v);
    return e;
}
