/* scrub.h - looks through what an earlier run left in the log, once after each start, slowly: what does not agree with its checksum
 * is reported and isolated before anybody asks for it, and what does need not be verified each time it is read.
 * Order    the newest file first: it is read most
 * Threads  loop; the jobs run on workers, one at a time, and read the files from the disk
 * Errors   none: a file that cannot be read is reported, and its records are verified when they are read */
#ifndef SKYLARK_STORE_SCRUB_H
#define SKYLARK_STORE_SCRUB_H

#include "os/tasks.h"
#include "store/commit_log.h"
#include "store/log_walk.h"

struct scrub {
    struct work work;
    struct timer timer;
    struct tasks *tasks;
    struct commit_log *log;
    struct fs *fs;
    struct log_walk walk;        /* of the running job, else of the loop */
    char path[PATH_BYTES];
    int64_t start;               /* of the file it is at */
    int64_t end;                 /* of what there is to look at in it */
    int64_t period_ms;           /* from one job to the next */
    int64_t left;                /* bytes */
    struct buf found;            /* struct scrub_found: of the running job */
    bool file_done;              /* set by the job */
    err_t e;                     /* the same */
    bool running;
    bool closed;
    void (*ended)(void *ctx);    /* the last job of one that was stopped is over */
    void *ctx;
};

/* 0 bytes each second: never. The log must have been started. */
void scrub_begin(struct scrub *c, struct tasks *tasks, struct commit_log *log, int64_t bytes_per_second, void (*ended)(void *ctx), void *ctx);
/* Nothing more begins; a job that is running ends by itself. */
void scrub_stop(struct scrub *c);
/* Only when it is idle. */
void scrub_done(struct scrub *c);
static inline bool scrub_is_idle(const struct scrub *c) { return !c->running; }

#endif
