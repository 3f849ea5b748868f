/* cold.h - what a reader needs and is not in memory: noticed before it is touched, and fetched by a worker.
 * Why      the loop must not wait for a disk: neither in a read call, nor in a page fault while it looks at a map
 * Shape    a reading function of the store that meets such bytes gives up, and `met` says where it stood; whoever asked lets them be
 *          fetched and asks again. What was met first is what counts.
 * Ahead    a reader that goes on where the last fetch ended gets twice as much the next time, up to AHEAD_MAX; while the loop is busy, what such
 *          readers get is bounded (past_share.h)
 * Threads  loop; a job runs on a worker and touches nothing but itself
 * Owns     the pin of the file in which bytes were met */
#ifndef SKYLARK_STORE_COLD_H
#define SKYLARK_STORE_COLD_H

#include "base/list.h"
#include "store/mapped_file.h"
#include "store/past_share.h"
#include "store/store.h"

enum { STREAMS_MAX = 16 };

/* Where a reader stood: in a mapped file (of the log, of a compaction log), or else in a file of a queue. */
struct cold_place {
    struct mapped_file *file;       /* mapped, pinned; NULL: `path` */
    struct damage *damage;          /* of the mapped file: where bytes are noted that the disk does not give */
    char path[PATH_BYTES];
    int64_t at;                     /* as the file's positions count; of `path`: its byte */
    size_t bytes;
};

/* One who reads on and on. */
struct cold_stream {
    const struct mapped_file *file;
    int64_t end;                    /* position up to which it was asked for */
    size_t ahead;
};

struct cold {
    struct tasks *tasks;
    struct fs *fs;
    bool waits;                     /* the disk is waited for: while the store is opened */
    bool queue_waits;               /* … while a queue is read that could not be fetched */
    bool met;
    struct cold_place place;
    const struct mapped_file *warm_file;   /* a part of it is known to be in memory, until the turn ends */
    int64_t warm_from, warm_to;
    struct past_share share;
    struct timer timer;             /* the next look, while somebody waits for his share */
    struct list waiting;            /* jobs that are still to be given away */
    struct list running;
    size_t running_count;
    struct cold_stream stream[STREAMS_MAX];
    size_t next_stream;
    void (*ended)(void *ctx);       /* a job is over */
    void *ctx;
};

void cold_init(struct cold *c, struct fs *fs, struct tasks *tasks, void (*ended)(void *ctx), void *ctx);
/* Whether the bytes of a mapped file can be looked at; if not they are what was met. `end`: of what may be asked for. Should the disk not
 * give them, `damage` has their place then; ask it first. */
bool cold_is_warm(struct cold *c, struct mapped_file *f, int64_t at, int64_t bytes, int64_t end, struct damage *damage);
/* A file of a queue has to be read from this byte on, or opened. */
void cold_meet_queue(struct cold *c, const char *path, int64_t at);
/* What was met does not matter. */
void cold_forget(struct cold *c);
/* The turn is over: what was in memory may no longer be. `written`: where the log ends. */
void cold_turn_ended(struct cold *c, int64_t written);

/* Lets what was met be fetched; then f->done. */
void cold_fetch(struct cold *c, struct store_fetch *f);
/* f->done will not run. */
void cold_cancel(struct store_fetch *f);
/* f->done runs now for all who wait; jobs may still be running. */
void cold_end(struct cold *c);
static inline bool cold_is_idle(const struct cold *c) { return !c->running_count; }

#endif
