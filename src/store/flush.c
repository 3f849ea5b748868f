#include "store/state.h"

#include "base/log.h"

#include <assert.h>
#include <stdlib.h>

enum { PATHS_MAX = 500 };   /* synced one by one */

/* --- the log --- */

static struct mapped_file *file_of(const struct log_sync *l, size_t at)
{
    struct mapped_file *f;
    memcpy(&f, l->files.p + at, sizeof f);
    return f;
}

/* Thread: worker. */
static err_t sync_files(const struct log_sync *l)
{
    err_t e = NULL;
    for (size_t at = 0; at < l->files.n && !e; at += sizeof(struct mapped_file *)) e = file_sync(file_of(l, at)->file);
    return !e && l->folder ? fs_sync_folder(l->fs, l->folder) : e;
}

/* Thread: worker. */
static int64_t now_us(const struct log_sync *l) { return l->mono_us ? l->mono_us() : 0; }

/* Thread: worker. */
static void note_took(struct log_sync *l, int64_t began_us)
{
    if (!l->mono_us) return;
    int64_t us = l->mono_us() - began_us;
    atomic_fetch_add_explicit(&l->took[metric_bucket(METRIC_SYNC_TIME, us)], 1, memory_order_relaxed);
    atomic_fetch_add_explicit(&l->took_us, us, memory_order_relaxed);
}

bool store_sync_times(const struct store *s, int64_t buckets[static METRIC_BUCKETS_MAX], int64_t *sum_us)
{
    for (size_t i = 0; i < METRIC_BUCKETS_MAX; i++) buckets[i] = atomic_load_explicit(&s->log_sync.took[i], memory_order_relaxed);
    *sum_us = atomic_load_explicit(&s->log_sync.took_us, memory_order_relaxed);
    return s->log_sync.mono_us;
}

/* Thread: worker. The loop hears of it, once for several when it is busy. */
static void tell_reached(struct log_sync *l)
{
    atomic_store(&l->reached, l->target);
    atomic_store(&l->reached_ms, l->target_ms);
    atomic_fetch_add(&l->syncs, 1);
}

/* Thread: worker. False: nothing was written meanwhile, or in another file. */
static bool has_more(struct log_sync *l)
{
    int64_t ms = atomic_load(&l->written_ms), written = atomic_load(&l->written);
    if (written <= l->target || written > l->limit) return false;
    if (!atomic_exchange(&l->mailed, true)) tasks_post(l->tasks, &l->mail);
    l->target = written;
    l->target_ms = ms;
    return true;
}

/* Thread: worker. Files are listed newest first; the others and the folder are done with after the first sync. */
static void sync_log(struct work *w)
{
    struct log_sync *l = LIST_OWNER(w, struct log_sync, work);
    int64_t began_us = now_us(l);
    err_t e = sync_files(l);
    note_took(l, began_us);
    if (!e) tell_reached(l);
    while (!e && has_more(l)) {
        began_us = now_us(l);
        e = file_sync(file_of(l, 0)->file);
        note_took(l, began_us);
        if (!e) tell_reached(l);
    }
    if (e) resync_mark(l->store);
    l->e = e;
}

/* What the sync has to cover: all that is written and not yet synced. */
static void log_sync_begin(struct store *s, struct log_sync *l)
{
    buf_clear(&l->files);
    for (size_t i = s->log.files.count; i-- > 0;) {
        struct mapped_file *f = s->log.files.all[i];
        if (mapped_file_end(f) <= s->synced) break;
        if (f->start >= s->log.written) continue;
        mapped_file_pin(f);
        buf_put(&l->files, &f, sizeof f);
    }
    l->folder = s->log.names_unsynced ? s->log.files.folder : NULL;
    s->log.names_unsynced = false;
    l->target = s->log.written;
    l->target_ms = s->written_ms;
    l->limit = l->files.n ? mapped_file_end(file_of(l, 0)) : 0;
    atomic_store(&l->reached, s->synced);
    atomic_store(&l->reached_ms, s->synced_ms);
    atomic_store(&l->written, l->target);
    atomic_store(&l->written_ms, l->target_ms);
}

static void log_sync_end(struct log_sync *l)
{
    for (size_t at = 0; at < l->files.n; at += sizeof(struct mapped_file *)) {
        struct mapped_file *f;
        memcpy(&f, l->files.p + at, sizeof f);
        mapped_file_unpin(f);
    }
    buf_clear(&l->files);
}

/* S7: after a sync that failed nothing more is confirmed until resync.c is done. */
static void log_sync_failed(struct store *s, err_t e)
{
    store_stop_writing(s, STORE_BROKEN, err_new(err_code(e), "the disk failed to sync the commit log: %s", err_text(e)));
    dispatch_fail_waiting(s, e);
    resync_begin(s);
}

/* Takes over how far the job has come. */
static void take_reached(struct store *s)
{
    struct log_sync *l = &s->log_sync;
    int64_t ms = atomic_load(&l->reached_ms), reached = atomic_load(&l->reached);
    s->counts.syncs += atomic_exchange(&l->syncs, 0);
    if (reached <= s->synced) return;
    s->synced = reached;
    s->synced_ms = ms;
    mapped_files_seal(&s->log.files, s->synced);
    if (s->options.sync_flush && s->mode < STORE_BROKEN) dispatch_upto(s, s->synced, s->synced_ms);
}

/* Not before the job has ended: then what it is at began later than what is asked for. */
static void log_progressed(struct mail *m)
{
    struct store *s = LIST_OWNER(m, struct store, log_sync.mail);
    atomic_store(&s->log_sync.mailed, false);
    if (s->closed) {
        store_job_ended(s);
        return;
    }
    if (s->log_sync.running) take_reached(s);
    flush_arm(s);
}

static void log_synced(struct work *w)
{
    struct store *s = LIST_OWNER(w, struct store, log_sync.work);
    err_t e = s->log_sync.e;
    s->log_sync.e = NULL;
    log_sync_end(&s->log_sync);
    if (s->closed) {
        s->log_sync.running = false;
        err_drop(e, "the store is closed and has synced by itself");
        store_job_ended(s);
        return;
    }
    take_reached(s);
    s->log_sync.running = false;
    if (e) {
        log_sync_failed(s, e);
        return;
    }
    if (s->options.sync_flush) flush_log(s);
    flush_arm(s);
}

void flush_log(struct store *s)
{
    struct log_sync *l = &s->log_sync;
    if (s->synced == s->log.written || s->mode >= STORE_BROKEN || s->closed) return;
    if (l->running) {
        atomic_store(&l->written, s->log.written);
        atomic_store(&l->written_ms, s->written_ms);
        return;
    }
    log_sync_begin(s, l);
    l->running = true;
    tasks_work(s->tasks, &l->work);
}

static void log_timer_fired(void *store) { flush_log(store); }

/* --- the queues, and the checkpoint --- */

/* Entries that a sync which failed had to write: the kernel may have dropped them, and a second sync would not tell. */
static err_t write_entries_again(struct file *f, const char *path, const struct path_head *h)
{
    size_t n = (size_t)(h->to - h->from), got = 0;
    uint8_t *bytes = must_alloc(n + 1);
    err_t e = file_read_at(f, h->from, bytes, n, &got);
    size_t one = (size_t)queue_kind_entry_bytes(h->kind);
    for (size_t i = 0; !e && i + one <= n; i += one)
        if (got < n || !queue_entry_is_written(h->kind == QUEUE_OF_BATCHES ? batch_entry_get(bytes + i) : queue_entry_get(bytes + i, 0)))
            e = err_new(ERR_CORRUPT, "the disk has lost entries of %s that were written", path);
    if (!e) e = file_write_at(f, h->from, bytes, n);
    free(bytes);
    return e;
}

static err_t sync_path(struct fs *fs, const struct path_head *h, const char *path, bool again)
{
    struct file *f;
    if (h->folder) return fs_sync_folder(fs, path);
    err_t e = fs_open(fs, path, FILE_WRITE, &f);
    if (e) return e;
    if (again) e = write_entries_again(f, path, h);
    if (!e) e = file_sync(f);
    file_close(f);
    return e;
}

static err_t write_checkpoint(struct fs *fs, const char *path, const struct checkpoint *c)
{
    uint8_t page[CHECKPOINT_BYTES];
    struct file *f;
    checkpoint_encode(c, page);
    err_t e = fs_open(fs, path, FILE_CREATE, &f);
    if (e) return e;
    e = file_write_at(f, 0, page, sizeof page);
    if (!e) e = file_sync(f);
    file_close(f);
    return err_in(e, "write the checkpoint");
}

static err_t sync_paths(struct fs *fs, struct slice paths, bool again)
{
    for (size_t n; paths.n; paths = slice_skip(paths, n)) {
        struct path_head head;
        const char *path = (const char *)paths.p + sizeof head;
        memcpy(&head, paths.p, sizeof head);
        n = sizeof head + strlen(path) + 1;
        err_t e = sync_path(fs, &head, path, again);
        if (e && err_code(e) != ERR_NOT_FOUND) return e;
        err_free(e);   /* not found: its topic was deleted meanwhile */
    }
    return NULL;
}

/* Each sync of a file costs half a millisecond or more, one of the whole disk as much as there is to write. Thread: worker.
 * The checkpoint comes last: it vouches for the rest (S10). */
static void sync_queues(struct work *w)
{
    struct queue_sync *q = LIST_OWNER(w, struct queue_sync, work);
    err_t e = q->count > PATHS_MAX && !q->again ? fs_sync_all(q->fs, q->folder) : sync_paths(q->fs, buf_slice(&q->paths), q->again);
    if (e && !q->again) {   /* at once, while what was written is most likely still in memory */
        log_warn("store.queues_not_synced text=\"%s\"", err_text(e));
        err_free(e);
        q->again = true;
        e = sync_paths(q->fs, buf_slice(&q->paths), true);
    }
    if (!e) e = write_checkpoint(q->fs, q->checkpoint_path, &q->checkpoint);
    q->e = e;
}

static void put_path(struct queue_sync *job, struct path_head head, const char *path)
{
    buf_put(&job->paths, &head, sizeof head);
    buf_put(&job->paths, path, strlen(path) + 1);
    job->count++;
}

static void put_queue(struct consume_queue *q, struct queue_sync *paths)
{
    char folder[PATH_BYTES], path[PATH_BYTES];
    int64_t step = consume_queue_file_entries(q);
    for (int64_t first = q->dirty_from - q->dirty_from % step; first < q->end; first += step) {
        int64_t from = q->dirty_from > first ? q->dirty_from : first, to = q->end < first + step ? q->end : first + step;
        int64_t one = queue_kind_entry_bytes(q->kind);
        if (to < from) to = from;
        consume_queue_path(q, first, path);
        put_path(paths, (struct path_head){.kind = q->kind, .from = (from - first) * one, .to = (to - first) * one}, path);
    }
    if (!q->new_files) return;
    consume_queue_folder(q, folder);
    put_path(paths, (struct path_head){.folder = true}, folder);
    *strrchr(folder, '/') = 0;     /* the topic's */
    put_path(paths, (struct path_head){.folder = true}, folder);
    q->new_files = false;
}

static void queue_sync_begin(struct store *s, struct queue_sync *q)
{
    bool names[QUEUE_KINDS];
    struct queue_files *files = &s->queues.files;
    q->folder = files->folder[QUEUE_OF_SINGLES];
    memcpy(names, files->names_gone, sizeof names);
    memset(files->names_gone, 0, sizeof files->names_gone);
    LIST_EACH(&files->dirty, node) {
        struct consume_queue *queue = LIST_OWNER(node, struct consume_queue, in_dirty);
        names[queue->kind] |= queue->new_files;
        put_queue(queue, q);
        list_remove(node);
    }
    for (int i = 0; i < QUEUE_KINDS; i++)
        if (names[i]) put_path(q, (struct path_head){.folder = true}, files->folder[i]);
    /* The root holds that folder only since there is such a topic. */
    if (names[QUEUE_OF_BATCHES]) put_path(q, (struct path_head){.folder = true}, s->options.root);
    int64_t sure = s->visible < s->synced ? s->visible : s->synced;
    q->checkpoint = s->checkpoint;
    q->checkpoint.log_ms = s->synced_ms;
    if (s->index) q->checkpoint.index_ms = index_state(s->index).sure_ms;
    q->checkpoint.queues_ms = sure == s->visible ? s->visible_ms : s->synced_ms;
    q->checkpoint.confirmed = q->checkpoint.queues_offset = q->checkpoint.resume_offset = sure;
}

static void forget_paths(struct queue_sync *q)
{
    buf_clear(&q->paths);
    q->count = 0;
    q->again = false;
}

/* Until it succeeds the checkpoint stays: the next start would write the entries again from there. What the disk has lost only that
 * one can bring back. */
static void queues_synced(struct work *w)
{
    struct store *s = LIST_OWNER(w, struct store, queue_sync.work);
    struct queue_sync *q = &s->queue_sync;
    err_t e = q->e;
    q->e = NULL;
    q->running = false;
    s->queues_in_doubt = e;
    if (err_code(e) == ERR_CORRUPT) s->queues_lost = true;
    if (e) {
        log_warn("store.queues_not_synced_again until=\"%s\" text=\"%s\"", s->queues_lost ? "the next start" : "a try succeeds", err_text(e));
        err_free(e);
    } else {
        forget_paths(q);
        s->checkpoint = q->checkpoint;
    }
    if (s->closed) store_job_ended(s);
    else flush_arm(s);
}

static bool checkpoint_is_behind(const struct store *s)
{
    return !s->queues_lost && !s->stuck && s->mode < STORE_BROKEN && s->checkpoint.resume_offset != s->visible;
}

static void queue_timer_fired(void *store)
{
    struct store *s = store;
    if (s->queue_sync.running || !checkpoint_is_behind(s)) return;
    queue_sync_begin(s, &s->queue_sync);
    s->queue_sync.running = true;
    tasks_work(s->tasks, &s->queue_sync.work);
}

/* --- both --- */

void flush_init(struct store *s)
{
    s->log_sync = (struct log_sync){
        .work = {.run = sync_log, .done = log_synced}, .mail = {.deliver = log_progressed}, .store = s, .tasks = s->tasks, .fs = s->fs,
        .mono_us = s->options.mono_us};
    s->queue_sync = (struct queue_sync){
        .work = {.run = sync_queues, .done = queues_synced}, .fs = s->fs, .checkpoint_path = s->checkpoint_path};
    timer_init(&s->log_timer, log_timer_fired, s);
    timer_init(&s->queue_timer, queue_timer_fired, s);
}

void flush_done(struct store *s)
{
    buf_done(&s->log_sync.files);
    buf_done(&s->queue_sync.paths);
}

bool flush_is_idle(const struct store *s)
{
    bool log_is_idle = !s->log_sync.running && !atomic_load(&s->log_sync.mailed) && !s->log.spare.running;
    return log_is_idle && !s->queue_sync.running && !s->resync.running;
}

static void arm(struct store *s, struct timer *t, bool needed, int64_t delay_ms)
{
    if (needed && !t->armed) timer_start(s->tasks, t, delay_ms);
}

/* S8: a store at rest has no timer. */
void flush_arm(struct store *s)
{
    if (s->closed) return;
    bool sync_flush = s->options.sync_flush;
    bool log_is_behind = s->synced < s->log.written && s->mode < STORE_BROKEN;
    arm(s, &s->log_timer, !sync_flush && log_is_behind && !s->log_sync.running, s->options.flush_interval_ms);
    arm(s, &s->queue_timer, checkpoint_is_behind(s) && !s->queue_sync.running, s->options.queue_flush_interval_ms);
    arm(s, &s->answer_timer, sync_flush && !fifo_empty(&s->appends), s->options.sync_timeout_ms);
}

static err_t flush_log_now(struct store *s)
{
    if ((s->synced == s->log.written && !s->log.names_unsynced) || s->mode >= STORE_BROKEN) return NULL;
    struct log_sync now = {.store = s, .fs = s->fs};   /* a worker may be busy with the other one */
    log_sync_begin(s, &now);
    sync_log(&now.work);
    log_sync_end(&now);
    buf_done(&now.files);
    if (now.e) return now.e;
    s->synced = now.target;
    s->synced_ms = now.target_ms;
    return NULL;
}

static err_t flush_queues_now(struct store *s)
{
    if (s->queues_lost) return NULL;
    struct queue_sync now = {.fs = s->fs, .checkpoint_path = s->checkpoint_path, .again = s->queues_in_doubt};
    buf_put_slice(&now.paths, buf_slice(&s->queue_sync.paths));   /* of one that failed, or is not known to have succeeded */
    now.count = s->queue_sync.count;
    queue_sync_begin(s, &now);
    sync_queues(&now.work);
    buf_done(&now.paths);
    s->queues_in_doubt = now.e;
    if (!now.e) s->checkpoint = now.checkpoint;
    return now.e;
}

err_t flush_all(struct store *s)
{
    err_t e = commit_log_repair(&s->log);
    if (!e) e = flush_log_now(s);
    if (e) return e;
    dispatch_upto(s, s->synced, s->last_ms);
    e = dispatch_unstick(s);
    if (e) return e;
    if (s->index) index_catch_up(s->index);   /* before the checkpoint, which tells how far it is synced */
    return flush_queues_now(s);
}
