#include "os/saver.h"
#include "base/log.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { RETRY_MS = 5000, FILE_LIMIT_BYTES = 256 << 20 };

/* One writing of the file. The lock keeps a saver that is closing from writing at the same time; nothing else is called
 * under it but the file system. */
struct saver_job {
    struct work work;
    pthread_mutex_t lock;
    bool cancelled;             /* guarded by lock */
    struct saver *saver;        /* loop only; NULL: it has closed */
    struct fs *fs;
    char *path;
    bool secret;
    struct buf text;
    err_t e;
    struct list waiters;
};

static void job_start(struct saver *s);

static err_t write_file(struct fs *fs, const char *path, bool secret, struct slice text)
{
    return secret ? fs_replace_secret_file(fs, path, text) : fs_replace_file(fs, path, text);
}

static void job_free(struct saver_job *job)
{
    pthread_mutex_destroy(&job->lock);
    buf_done(&job->text);
    free(job->path);
    free(job);
}

static void move_all(struct list *from, struct list *to)
{
    LIST_EACH(from, n)
    {
        list_remove(n);
        list_add(to, n);
    }
}

static void tell_all(struct list *waiters, err_t e)
{
    LIST_EACH(waiters, n)
    {
        struct saver_waiter *w = LIST_OWNER(n, struct saver_waiter, node);
        list_remove(n);
        w->done(w, e ? err_new(err_code(e), "%s", err_text(e)) : NULL);
    }
    err_free(e);
}

static void job_run(struct work *work)
{
    struct saver_job *job = LIST_OWNER(work, struct saver_job, work);
    pthread_mutex_lock(&job->lock);
    if (!job->cancelled) job->e = write_file(job->fs, job->path, job->secret, buf_slice(&job->text));
    pthread_mutex_unlock(&job->lock);
}

static void job_done(struct work *work)
{
    struct saver_job *job = LIST_OWNER(work, struct saver_job, work);
    struct saver *s = job->saver;
    err_t e = job->e;
    if (!s) {
        err_drop(e, "the file was written again when its owner closed");
        job_free(job);
        return;
    }
    s->job = NULL;
    if (e) {
        log_error("config.not_saved path=%s error=\"%s\"", s->path, err_text(e));
        s->dirty = true;
        timer_start(s->tasks, &s->retry, RETRY_MS);
    } else if (s->dirty) {
        job_start(s);
    }
    tell_all(&job->waiters, e);
    job_free(job);
}

static void job_start(struct saver *s)
{
    struct saver_job *job = must_zero(sizeof *job);
    job->work = (struct work){.run = job_run, .done = job_done};
    pthread_mutex_init(&job->lock, NULL);
    job->saver = s;
    job->fs = s->fs;
    job->path = must_strdup(s->path);
    job->secret = s->secret;
    s->encode(s->ctx, &job->text);
    list_init(&job->waiters);
    move_all(&s->waiters, &job->waiters);
    s->job = job;
    s->dirty = false;
    timer_stop(s->tasks, &s->retry);
    tasks_work(s->tasks, &job->work);
}

static void retry_fire(void *ctx)
{
    struct saver *s = ctx;
    if (s->dirty && !s->job) job_start(s);
}

void saver_init(struct saver *s, struct fs *fs, struct tasks *tasks, const char *path,
                void (*encode)(void *ctx, struct buf *out), void *ctx)
{
    *s = (struct saver){.fs = fs, .tasks = tasks, .path = must_strdup(path), .encode = encode, .ctx = ctx};
    list_init(&s->waiters);
    timer_init(&s->retry, retry_fire, s);
}

static err_t write_now(struct saver *s)
{
    struct buf text = BUF_EMPTY;
    s->encode(s->ctx, &text);
    err_t e = write_file(s->fs, s->path, s->secret, buf_slice(&text));
    buf_done(&text);
    return e;
}

err_t saver_done(struct saver *s)
{
    struct saver_job *job = s->job;
    err_t e = NULL;
    if (!s->path) return NULL;
    if (job) {
        pthread_mutex_lock(&job->lock);   /* waits for a writing that has begun */
        job->cancelled = true;
        pthread_mutex_unlock(&job->lock);
        move_all(&job->waiters, &s->waiters);
        job->saver = NULL;
    }
    if (job || s->dirty) e = write_now(s);
    tell_all(&s->waiters, e ? err_new(err_code(e), "%s", err_text(e)) : NULL);
    timer_stop(s->tasks, &s->retry);
    free(s->path);
    s->path = NULL;
    return e;
}

void saver_mark(struct saver *s)
{
    s->dirty = true;
    if (!s->job && !s->retry.armed) job_start(s);
}

void saver_wait(struct saver *s, struct saver_waiter *w)
{
    if (saver_is_clean(s)) {
        list_node_init(&w->node);
        w->done(w, NULL);
        return;
    }
    list_add(s->dirty ? &s->waiters : &s->job->waiters, &w->node);
    if (s->dirty && !s->job) job_start(s);   /* somebody waits: do not sit out the pause after a failure */
}

/* NOT_FOUND also for a file without anything in it. */
static err_t load_one(struct fs *fs, const char *path, err_t (*decode)(void *ctx, struct slice text), void *ctx, bool *out_found)
{
    struct buf text = BUF_EMPTY;
    err_t e = fs_read_file(fs, path, FILE_LIMIT_BYTES, &text);
    if (!e && slice_trim(buf_slice(&text)).n == 0) e = err_new(ERR_NOT_FOUND, "%s is empty", path);
    if (!e) {
        e = decode(ctx, buf_slice(&text));
        if (e) e = err_in(e, "%s", path);
        else *out_found = true;
    }
    buf_done(&text);
    return e;
}

err_t saver_load(struct fs *fs, const char *path, err_t (*decode)(void *ctx, struct slice text), void *ctx, bool *out_found)
{
    *out_found = false;
    err_t e = load_one(fs, path, decode, ctx, out_found);
    if (!e) return NULL;
    char backup[4096];
    snprintf(backup, sizeof backup, "%s.bak", path);
    err_t again = load_one(fs, backup, decode, ctx, out_found);
    if (!again) {
        log_warn("config.from_backup path=%s error=\"%s\"", backup, err_text(e));
        err_free(e);
        return NULL;
    }
    bool absent = err_code(e) == ERR_NOT_FOUND && err_code(again) == ERR_NOT_FOUND;
    if (absent || err_code(again) == ERR_NOT_FOUND) {
        err_free(again);
    } else {
        err_free(e);
        e = again;
    }
    if (!absent) return e;
    err_free(e);
    return NULL;
}
