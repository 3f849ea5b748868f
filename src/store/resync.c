#include "store/state.h"

#include "base/log.h"
#include "store/log_walk.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* After a sync that failed, the kernel may count pages as written that never were, and a second sync would report success for them. So
 * what lies behind the last good sync is read back, written again (which makes its pages dirty anew), synced, and looked through: when
 * every record is there and whole, all of it is on disk, and writing goes on. A record that is not shows that the disk has lost what was
 * written; then only a start can tell what is left. A process that is killed before that leaves a file that tells the next one. */

enum { CHUNK_BYTES = 1 << 20, RESYNC_MS = 1000 };

/* --- thread: worker --- */

static void mark_path(const struct store *s, char out[static PATH_BYTES]) { snprintf(out, PATH_BYTES, "%s/sync-failed", s->options.root); }

void resync_mark(const struct store *s)
{
    char path[PATH_BYTES];
    struct file *f;
    mark_path(s, path);
    err_t e = fs_open(s->fs, path, FILE_CREATE, &f);
    if (!e) file_close(f);
    if (e) log_warn("store.not_marked text=\"%s\"", err_text(e));
    err_free(e);
}

bool resync_is_marked(const struct store *s)
{
    char path[PATH_BYTES];
    struct file_info info;
    mark_path(s, path);
    err_t e = fs_info(s->fs, path, &info);
    bool marked = err_code(e) != ERR_NOT_FOUND;   /* if it cannot be told, it may be */
    err_free(e);
    return marked;
}

void resync_unmark(const struct store *s)
{
    char path[PATH_BYTES];
    mark_path(s, path);
    err_t e = fs_remove(s->fs, path);
    if (err_code(e) == ERR_NOT_FOUND) err_free(e);
    else err_drop(e, "the next start writes once more what is there");
}

err_t resync_write_again(struct mapped_file *f, int64_t from, int64_t to)
{
    uint8_t *bytes = must_alloc(CHUNK_BYTES);
    err_t e = NULL;
    for (int64_t at = from; at < to && !e;) {
        size_t want = to - at < CHUNK_BYTES ? (size_t)(to - at) : CHUNK_BYTES, got = 0;
        e = file_read_at(f->file, at - f->start, bytes, want, &got);
        if (!e && got < want) e = err_new(ERR_CORRUPT, "the log file has become shorter");
        if (!e) e = file_write_at(f->file, at - f->start, bytes, got);
        at += (int64_t)got;
    }
    free(bytes);
    return e ? e : file_sync(f->file);
}

/* Every byte from one position to the other belongs to a whole record, or to the blank that ends the file. */
static err_t look_through(const struct resync *r, const struct mapped_file *f, int64_t from, int64_t to)
{
    char path[PATH_BYTES];
    struct log_walk walk = {.file = NULL};
    segment_path(path, r->folder, f->start);
    err_t e = log_walk_open(&walk, r->fs, path, f->start);
    if (!e) log_walk_go_to(&walk, from);
    for (int64_t at = from; at < to && !e;) {
        struct log_step step;
        e = log_walk_next(&walk, &step);
        if (e) break;
        bool good = step.kind == LOG_RECORD || (step.kind == LOG_BLANK && to == mapped_file_end(f));
        if (!good) e = err_new(ERR_CORRUPT, "the disk has lost the record at %" PRId64, at);
        at = step.kind == LOG_BLANK ? to : at + step.size;
    }
    log_walk_close(&walk);
    return e;
}

static struct mapped_file *file_in(const struct resync *r, size_t at)
{
    struct mapped_file *f;
    memcpy(&f, r->files.p + at, sizeof f);
    return f;
}

static void run(struct work *w)
{
    struct resync *r = LIST_OWNER(w, struct resync, work);
    err_t e = NULL;
    for (size_t at = 0; at < r->files.n && !e; at += sizeof(struct mapped_file *)) {
        struct mapped_file *f = file_in(r, at);
        int64_t from = r->from > f->start ? r->from : f->start, to = r->to < mapped_file_end(f) ? r->to : mapped_file_end(f);
        e = resync_write_again(f, from, to);
        if (!e) e = look_through(r, f, from, to);
    }
    if (!e) e = fs_sync_folder(r->fs, r->folder);
    if (!e) resync_unmark(LIST_OWNER(r, struct store, resync));
    r->e = e;
}

/* --- thread: loop --- */

static void release_files(struct resync *r)
{
    for (size_t at = 0; at < r->files.n; at += sizeof(struct mapped_file *)) mapped_file_unpin(file_in(r, at));
    buf_clear(&r->files);
}

void resync_begin(void *store)
{
    struct store *s = store;
    struct resync *r = &s->resync;
    if (r->running || s->log_sync.running || s->mode != STORE_BROKEN) return;
    for (size_t i = 0; i < s->log.files.count; i++) {
        struct mapped_file *f = s->log.files.all[i];
        if (mapped_file_end(f) <= s->synced || f->start >= s->log.written) continue;
        mapped_file_pin(f);
        buf_put(&r->files, &f, sizeof f);
    }
    r->folder = s->log.files.folder;
    r->from = s->synced;
    r->to = s->log.written;
    r->running = true;
    tasks_work(s->tasks, &r->work);
}

static void succeeded(struct store *s, int64_t upto)
{
    log_info("store.synced_again root=\"%s\" bytes=%" PRId64 " text=\"what was in doubt was written again and is on disk\"", s->options.root,
             upto - s->synced);
    s->synced = upto;
    s->synced_ms = s->written_ms;
    s->log.names_unsynced = false;
    s->mode = STORE_FULL;   /* perhaps it was that too */
    if (s->options.sync_flush) dispatch_upto(s, s->synced, s->synced_ms);
    store_try_writing(s);
}

static void done(struct work *w)
{
    struct store *s = LIST_OWNER(w, struct store, resync.work);
    struct resync *r = &s->resync;
    err_t e = r->e;
    r->e = NULL;
    r->running = false;
    release_files(r);
    if (s->closed) {
        err_free(e);
        store_job_ended(s);
    } else if (!e) {
        succeeded(s, r->to);
    } else if (err_code(e) == ERR_CORRUPT) {
        store_stop_writing(s, STORE_LOST, e);
    } else {
        log_warn("store.not_synced_again root=\"%s\" text=\"%s\"", s->options.root, err_text(e));
        err_free(e);
        timer_start(s->tasks, &r->timer, RESYNC_MS);
    }
}

void resync_init(struct store *s)
{
    s->resync = (struct resync){.work = {.run = run, .done = done}, .fs = s->fs};
    timer_init(&s->resync.timer, resync_begin, s);
}

void resync_done(struct store *s) { buf_done(&s->resync.files); }
