#include "store/scrub.h"

#include "base/log.h"

#include <assert.h>
#include <inttypes.h>

enum {
    JOB_BYTES = 1 << 20,
    BEGIN_MS = 5000,      /* a start has better things to do */
};

struct scrub_found {
    int64_t at;
    const char *what;
};

/* --- a job; thread: worker --- */

static void note(struct scrub *c, const struct log_step *step)
{
    static const char *const what[] = {
        [LOG_BAD_CHECKSUM] = "the record does not agree with its checksum",
        [LOG_NO_RECORD] = "no record begins here; those behind it are kept",
        [LOG_ZEROS] = "zeros where there should be records, up to the end of the file",
    };
    struct scrub_found f = {step->at, step->kind < sizeof what / sizeof *what ? what[step->kind] : NULL};
    if (f.what) buf_put(&c->found, &f, sizeof f);
}

static err_t look(struct scrub *c)
{
    err_t e = log_walk_is_open(&c->walk) ? NULL : log_walk_open(&c->walk, c->fs, c->path, c->start);
    int64_t limit = c->walk.at + JOB_BYTES;
    while (!e && !c->file_done && c->walk.at < limit) {
        struct log_step step;
        c->file_done = c->walk.at >= c->end;
        if (c->file_done) break;
        e = log_walk_next(&c->walk, &step);
        if (e) break;
        note(c, &step);
        c->file_done = step.kind >= LOG_ZEROS;   /* also the blank */
    }
    return e;
}

static void run(struct work *w)
{
    struct scrub *c = LIST_OWNER(w, struct scrub, work);
    c->e = look(c);
}

/* --- from job to job; thread: loop --- */

static void take_found(struct scrub *c)
{
    for (size_t at = 0; at < c->found.n; at += sizeof(struct scrub_found)) {
        struct scrub_found f;
        memcpy(&f, c->found.p + at, sizeof f);
        damage_add_record(&c->log->damage, f.at, f.what);
    }
    buf_clear(&c->found);
}

/* The file that holds the last of the bytes that are left; false: there is none. */
static bool choose_file(struct scrub *c, int64_t end)
{
    const struct mapped_file *f = mapped_files_at(&c->log->files, end - 1);
    if (!f) return false;   /* also when the files before it are gone by now: they were too old */
    segment_path(c->path, c->log->files.folder, f->start);
    c->start = f->start;
    c->end = end;
    c->file_done = false;
    return true;
}

static void go_on(struct scrub *c, bool more)
{
    if (more) {
        timer_start(c->tasks, &c->timer, c->period_ms);
        return;
    }
    c->left = 0;
    buf_done(&c->found);
    log_info("store.scrubbed damaged=%zu", damage_count(&c->log->damage));
}

static void end_file(struct scrub *c)
{
    struct mapped_file *f = mapped_files_at(&c->log->files, c->start);
    if (f && c->file_done) f->scrubbed = true;
    log_walk_close(&c->walk);
}

static void done(struct work *w)
{
    struct scrub *c = LIST_OWNER(w, struct scrub, work);
    err_t e = c->e;
    c->e = NULL;
    c->running = false;
    if (c->closed) {
        err_drop(e, "the store is closed");
        c->ended(c->ctx);
        return;
    }
    take_found(c);
    bool gone = err_code(e) == ERR_NOT_FOUND;   /* too old: it was removed meanwhile */
    if (e && !gone) log_error("store.unreadable path=\"%s\" log_offset=%" PRId64 " text=\"%s\"", c->path, c->walk.at, err_text(e));
    bool more_of_it = !e && !c->file_done;
    err_free(e);
    c->left = c->start - commit_log_first(c->log) + (more_of_it ? c->end - c->walk.at : 0);
    if (!more_of_it) end_file(c);
    go_on(c, more_of_it || choose_file(c, c->start));
}

static void begin_job(void *scrub)
{
    struct scrub *c = scrub;
    c->running = true;
    tasks_work(c->tasks, &c->work);
}

void scrub_begin(struct scrub *c, struct tasks *tasks, struct commit_log *log, int64_t bytes_per_second, void (*ended)(void *ctx), void *ctx)
{
    *c = (struct scrub){.work = {.run = run, .done = done}, .tasks = tasks, .log = log, .fs = log->files.fs, .ended = ended, .ctx = ctx};
    timer_init(&c->timer, begin_job, c);
    int64_t end = log->checked_below;
    if (bytes_per_second <= 0 || end <= commit_log_first(log) || !choose_file(c, end)) return;
    c->left = end - commit_log_first(log);
    c->period_ms = (int64_t)JOB_BYTES * 1000 / bytes_per_second;
    timer_start(tasks, &c->timer, BEGIN_MS);
}

void scrub_stop(struct scrub *c)
{
    if (!c->tasks) return;   /* never begun */
    c->closed = true;
    timer_stop(c->tasks, &c->timer);
}

void scrub_done(struct scrub *c)
{
    assert(!c->running);
    log_walk_close(&c->walk);
    buf_done(&c->found);
}
