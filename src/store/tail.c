#include "store/log_walk.h"
#include "store/state.h"

#include <assert.h>
#include <stdlib.h>

/* It touches nothing of the store, which may be closed meanwhile. */
struct tail_job {
    struct work work;
    struct store_tail *tail;
    struct fs *fs;
    char *folder;
    struct buf starts;           /* int64_t: of the files to be read */
    int64_t from, to;
    err_t e;
};

/* Thread: worker. False: that is all. */
static bool walk_file(struct tail_job *j, int64_t start)
{
    char path[PATH_BYTES];
    struct log_walk w;
    struct log_step step = {.kind = LOG_RECORD};
    bool more = true;
    segment_path(path, j->folder, start);
    j->e = log_walk_open(&w, j->fs, path, start);
    if (err_code(j->e) == ERR_NOT_FOUND) {
        err_free(j->e);   /* old enough to go meanwhile */
        j->e = NULL;
        return true;
    }
    if (j->e) return false;
    if (j->from > start) log_walk_go_to(&w, j->from);
    while (!j->e && more && w.at < j->to && step.kind != LOG_FILE_END) {
        j->e = log_walk_next(&w, &step);
        if (!j->e && step.kind == LOG_RECORD && step.at < j->to) more = j->tail->take(j->tail, &step.message);
    }
    log_walk_close(&w);
    return more && !j->e;
}

static void run(struct work *w)
{
    struct tail_job *j = LIST_OWNER(w, struct tail_job, work);
    bool more = true;
    for (size_t at = 0; more && at < j->starts.n; at += sizeof(int64_t)) {
        int64_t start;
        memcpy(&start, j->starts.p + at, sizeof start);
        more = walk_file(j, start);
    }
}

static void done(struct work *w)
{
    struct tail_job *j = LIST_OWNER(w, struct tail_job, work);
    j->tail->done(j->tail, err_in(j->e, "read the log from %lld on", (long long)j->from));
    buf_done(&j->starts);
    free(j->folder);
    free(j);
}

void store_tail(struct store *s, int64_t from, struct store_tail *t)
{
    assert_on_loop(s->tasks);
    struct tail_job *j = must_zero(sizeof *j);
    const struct mapped_files *files = &s->log.files;
    j->work = (struct work){.run = run, .done = done};
    j->tail = t;
    j->fs = s->fs;
    j->folder = must_strdup(files->folder);
    j->from = from;
    j->to = s->log.written;
    for (size_t i = 0; i < files->count; i++) {
        const struct mapped_file *f = files->all[i];
        if (mapped_file_end(f) > from && f->start < j->to) buf_put(&j->starts, &f->start, sizeof f->start);
    }
    tasks_work(s->tasks, &j->work);
}
