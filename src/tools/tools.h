/* tools.h - looks into a store from outside, whoever wrote it: check, dump, stats; and rebuild, which makes its queues and index anew.
 * Units    positions are those of the log, times ms since 1970
 * Threads  owner; every call blocks
 * Files    check, dump and stats write nothing and take no lock: the broker may be running. rebuild takes the lock
 * Errors   NOT_FOUND (there is no store), LOCKED, IO, DISK_FULL, CONFIG: each with what is there and what to do. Damage is no error:
 *          it is what check is for */
#ifndef SKYLARK_TOOLS_TOOLS_H
#define SKYLARK_TOOLS_TOOLS_H

#include "os/file.h"

#include <stdio.h>

struct tools_options {
    struct fs *fs;
    const char *folder;             /* the store (commitlog/ is in it), or a data folder with store/ in it */
    const char *log_folder;         /* storePathCommitLog; NULL: commitlog in the store */
    int64_t queue_file_entries;     /* of a store that has no queue file yet */
    int64_t batch_file_entries;     /* the same of queues of batches; 0: as many */
    int32_t index_slots, index_entries;
    int64_t now_ms;                 /* new index files are named after it */
    bool json;
    FILE *out;
    /* Called now and then by what takes long; NULL is fine. total 0: not known. */
    void (*progress)(void *ctx, const char *what, int64_t done, int64_t total);
    void *progress_ctx;
};

/* Every finding a line: file, position, what is wrong, what the broker does about it. *whole: nothing is damaged. */
err_t tools_check(const struct tools_options *o, size_t most_lines, bool *whole) MUST_CHECK;

enum dump_what { DUMP_LOG, DUMP_QUEUE, DUMP_INDEX, DUMP_CHECKPOINT };

struct dump_options {
    enum dump_what what;
    int64_t from, to;               /* LOG: positions; QUEUE: queue offsets; INDEX: numbers of entries. `to` is not included */
    const char *topic;              /* NULL: all */
    int32_t queue_id;               /* -1: all */
    const char *key;                /* a unique key, or a word of KEYS; NULL: all */
    bool body;
    int64_t limit;                  /* lines */
};
err_t tools_dump(const struct tools_options *o, const struct dump_options *d) MUST_CHECK;

err_t tools_stats(const struct tools_options *o) MUST_CHECK;

/* Consume queues and index of the commit log, as the store itself writes them; the old ones go when the new ones are in place.
 * Ends at any moment with either the old or the new of each. */
err_t tools_rebuild(const struct tools_options *o) MUST_CHECK;

#endif
