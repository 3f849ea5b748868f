/* saver.h - a configuration file that follows a state in memory.
 * Shape    saver_mark() says that the state changed; the file is written by a worker, once for all marks that came while the
 *          one before was being written
 * Files    path, and path.bak (the state before), as the original keeps them
 * Threads  loop; only the writing itself happens on a worker
 * Errors   a failed write is logged and tried again; those who wait are told */
#ifndef SKYLARK_OS_SAVER_H
#define SKYLARK_OS_SAVER_H

#include "base/buf.h"
#include "base/list.h"
#include "os/file.h"
#include "os/tasks.h"

struct saver_job;

/* Somebody who waits until the state of now is on disk. Embedded in its owner. */
struct saver_waiter {
    struct list_node node;
    void (*done)(struct saver_waiter *w, err_t e);   /* takes e */
};

struct saver {
    struct fs *fs;
    struct tasks *tasks;
    char *path;
    void (*encode)(void *ctx, struct buf *out);      /* the whole file's text */
    void *ctx;
    bool secret;                                     /* set after saver_init(): the file is for its owner alone */
    bool dirty;                                      /* changed since the text of the last job was made */
    struct saver_job *job;                           /* being written, or NULL */
    struct list waiters;                             /* for the next job */
    struct timer retry;
};

void saver_init(struct saver *s, struct fs *fs, struct tasks *tasks, const char *path,
                void (*encode)(void *ctx, struct buf *out), void *ctx);
/* Writes what is not written, blocking, and releases. Waiters are told. */
err_t saver_done(struct saver *s) MUST_CHECK;
void saver_mark(struct saver *s);
/* All that was marked so far is on disk. */
static inline bool saver_is_clean(const struct saver *s) { return !s->dirty && !s->job; }
/* `done` runs when all that was marked so far is on disk: at once when it already is. */
void saver_wait(struct saver *s, struct saver_waiter *w);

/* Reads the file, or its .bak when the file is missing, empty or cannot be read; `decode` is called with each candidate until
 * one is good. No file at all is no error: *out_found is false then. The text is valid during the call only. */
err_t saver_load(struct fs *fs, const char *path, err_t (*decode)(void *ctx, struct slice text), void *ctx,
                 bool *out_found) MUST_CHECK;

#endif
