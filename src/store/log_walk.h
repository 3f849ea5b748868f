/* log_walk.h - from record to record through one file of the commit log. The file is read, not mapped: a disk that fails is an
 * error here and not a signal, and a file that is removed meanwhile needs no pin.
 * Shape    every byte of the file belongs to one step: record, record, …, blank or zeros
 * Facts    docs/protocol/store.md 2
 * Units    positions (`at`) are those of the log, sizes are bytes
 * Threads  any, one at a time
 * Owns     the open file, and a window of its bytes that what a step borrows lies in: valid until the next step
 * Errors   IO, NOT_FOUND */
#ifndef SKYLARK_STORE_LOG_WALK_H
#define SKYLARK_STORE_LOG_WALK_H

#include "base/buf.h"
#include "codec/message.h"
#include "os/file.h"

enum log_step_kind {
    LOG_RECORD,        /* whole, states this position, agrees with its checksum */
    LOG_BAD_CHECKSUM,  /* the same but for the checksum */
    LOG_NO_RECORD,     /* neither a record nor a blank; reaches to the next good record, or to the end of the file */
    LOG_ZEROS,         /* nothing but zeros up to the end of the file */
    LOG_BLANK,         /* the file ends here, records go on in the next one */
    LOG_FILE_END,
};

struct log_step {
    enum log_step_kind kind;
    int64_t at;
    int64_t size;              /* up to the next step */
    struct slice bytes;        /* LOG_RECORD, LOG_BAD_CHECKSUM: the record; LOG_NO_RECORD, LOG_BLANK: how it begins; borrowed */
    struct message message;    /* LOG_RECORD, LOG_BAD_CHECKSUM; borrows */
};

struct log_walk {
    struct file *file;
    int64_t start;             /* position of the file's first byte */
    int64_t end;               /* behind its last one */
    int64_t at;                /* where the next step begins */
    struct buf window;
    int64_t window_at;
    int64_t at_once;           /* bytes to read: more for a walk than for a record somewhere */
};

/* The file at `path`, whose first byte is that position of the log; begins there. Opened for reading only. */
err_t log_walk_open(struct log_walk *w, struct fs *fs, const char *path, int64_t start) MUST_CHECK;
/* Also of one that was never opened, or zero. */
void log_walk_close(struct log_walk *w);
static inline bool log_walk_is_open(const struct log_walk *w) { return w->file; }
err_t log_walk_next(struct log_walk *w, struct log_step *out) MUST_CHECK;
/* The record that begins at a position, whatever the walk is at: LOG_RECORD, LOG_BAD_CHECKSUM, or LOG_NO_RECORD (of no size). */
err_t log_walk_read(struct log_walk *w, int64_t at, struct log_step *out) MUST_CHECK;
/* What begins at a position of the file, which is where the walk goes on. */
static inline void log_walk_go_to(struct log_walk *w, int64_t at) { w->at = at; }

#endif
