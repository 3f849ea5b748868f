/* index.h - finds records by key: index files that a worker builds behind the log, and that it is asked by.
 * Shape    one job at a time: it adds the keys of the records that became visible, then answers the queries that wait. Keys come
 *          from the messages as they are appended; of what an earlier run left, from the log
 * Facts    docs/protocol/store.md 4: keys of a record are UNIQ_KEY, each word of KEYS, and TAGS behind "T#" (seen in the files of
 *          release 5.5.0, not on that page), under the record's topic
 * Files    <folder>/yyyyMMddHHmmssSSS (local time of their making); all of it can be built again from the log
 * Threads  loop; the jobs run on workers. The files belong to the running job, else to the loop
 * Errors   none stops the store: what cannot be written is logged, and tried again every RETRY_MS */
#ifndef SKYLARK_STORE_INDEX_H
#define SKYLARK_STORE_INDEX_H

#include "base/pin.h"
#include "codec/message.h"
#include "os/tasks.h"
#include "store/index_file.h"

struct index;

struct index_options {
    struct fs *fs;
    struct tasks *tasks;
    const char *folder;
    struct index_shape shape;
    int64_t sure_ms;             /* checkpoint.index_ms: a file whose end is newer is looked through before it is trusted */
    /* What is visible of one log file from `from` on, pinned; false when there is nothing. */
    bool (*read)(void *ctx, int64_t from, struct pinned *out);
    void (*ended)(void *ctx);    /* a job is over, and index_is_idle() */
    void *ctx;
};

/* Opens what is there. Files that cannot be index files are removed, with a word in the log. */
struct index *index_new(const struct index_options *options, int64_t log_first, int64_t log_end);
/* Adds what is behind and syncs, so that another server that opens the folder finds every key; when so much is behind that it would
 * take long, the next start does it. Blocks. While a job is running it does nothing. */
void index_catch_up(struct index *ix);
/* When a job is running it is left behind, and catches up and frees the index at its end. NULL is fine. */
void index_free(struct index *ix);
bool index_is_idle(const struct index *ix);

/* A message is appended there; called in the order of the log. */
void index_note(struct index *ix, const struct message *m, int64_t log_offset, int64_t store_ms);
/* What was noted from there on was not written after all. */
void index_forget(struct index *ix, int64_t from);
/* Records below `end` are visible. What lies before the first of them that is still in the log is passed over. */
void index_advance(struct index *ix, int64_t end);
/* The log begins at log_first now. Files that hold nothing newer are let go (never the newest), and their paths, each with a zero byte,
 * added to `paths`. While a job is running it does nothing. */
void index_begin_at(struct index *ix, int64_t log_first, struct buf *paths);
/* As of the last job that ended. */
struct index_state {
    int64_t sure_ms;             /* store time up to which the index is surely on disk; for the checkpoint */
    int64_t newest_ms;           /* of the newest record that has its keys here; 0: there is none */
    int64_t newest_offset;
    bool failed;                 /* the last job: its keys are tried again later */
};
struct index_state index_state(const struct index *ix);

enum { INDEX_FOUND_MAX = 64 };

/* Embedded in its owner, who keeps it until `done` has run. */
struct index_query {
    struct list_node node;
    uint32_t hash;
    int64_t begin_ms, end_ms;
    size_t max;                              /* at most INDEX_FOUND_MAX */
    int64_t need;                            /* the index's own */
    int64_t found[INDEX_FOUND_MAX];          /* places in the log, newest first; hashes agree, keys may not */
    size_t count;
    void (*done)(struct index_query *q);     /* Thread: loop */
};
void index_find(struct index *ix, struct index_query *q);

#endif
