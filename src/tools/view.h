/* view.h - a store as it lies on disk, opened for reading alone. The room's own.
 * Owns     the lists; nothing on disk is changed
 * Threads  owner */
#ifndef SKYLARK_TOOLS_VIEW_H
#define SKYLARK_TOOLS_VIEW_H

#include "base/buf.h"
#include "codec/checkpoint.h"
#include "codec/queue_entry.h"
#include "store/consume_queue.h"
#include "store/index_file.h"
#include "store/log_walk.h"
#include "store/mapped_file.h"
#include "tools/tools.h"

struct view_file {
    int64_t start;               /* position of its first byte */
    int64_t size;
    int64_t disk_bytes;
};

struct view_queue {
    enum queue_kind kind;
    char *topic;
    int32_t id;
    struct view_file *files;     /* in order */
    size_t count;
};

struct view {
    const struct tools_options *options;
    struct fs *fs;
    char root[PATH_BYTES / 2];
    char log_folder[PATH_BYTES / 2];
    struct view_file *log;       /* in order */
    size_t log_count;
    int64_t log_bytes;           /* of one file; 0: there is none */
    struct view_queue *queues;   /* by topic and number */
    size_t queue_count;
    int64_t queue_entries[QUEUE_KINDS];   /* of one file */
    bool abort;                  /* a broker runs, or has not ended well */
};

/* Finds the store and what is in it. Errors: NOT_FOUND, IO. view_close() also after an error. */
err_t view_open(struct view *v, const struct tools_options *o) MUST_CHECK;
void view_close(struct view *v);

/* "commitlog/0000…", as messages name it. */
void view_log_name(const struct view *v, const struct view_file *f, char out[static PATH_BYTES]);
void view_queue_name(const struct view_queue *q, const struct view_file *f, char out[static PATH_BYTES]);
void view_path(const struct view *v, const char *name, char out[static PATH_BYTES]);
/* The log file that holds a position, or NULL. */
const struct view_file *view_log_at(const struct view *v, int64_t at);
static inline int64_t view_log_first(const struct view *v) { return v->log_count ? v->log[0].start : 0; }

/* Takes each step of the log, from a place on, until `step` says false or the files end. A file that cannot be read is told to
 * `unreadable` (which uses up e), and passed. */
struct view_walker {
    bool (*step)(void *ctx, const struct view_file *f, const struct log_step *step);
    void (*unreadable)(void *ctx, const struct view_file *f, int64_t at, err_t e);
    void *ctx;
    const char *what;            /* for the progress */
};
void view_walk(struct view *v, int64_t from, const struct view_walker *w);

/* What the queues of a topic hold, as far as their folder tells; singles when there is none. */
enum queue_kind view_kind(const struct view *v, struct slice topic);

/* Every written entry of a queue file, in order, and those that read as zeros before one that is written. */
struct view_entry {
    int64_t number;              /* in the queue; that of the message, but in a queue of batches */
    struct queue_entry entry;
};
err_t view_queue_file(const struct view *v, const struct view_queue *q, const struct view_file *f,
                      bool (*each)(void *ctx, const struct view_entry *e), void *ctx) MUST_CHECK;
/* The tag hash of an entry, also when it is in the extension file; false when that holds no unit there. */
bool view_tag_hash(const struct view *v, const struct view_queue *q, struct queue_entry e, int64_t *out);

/* One record by its place: LOG_RECORD, or what is there instead. Keeps its file open from call to call. */
struct view_reader {
    struct log_walk walk;
    int64_t start;
    err_t why;                 /* the last one could not be read; the reader's */
};
/* What cannot be read is no record. */
enum log_step_kind view_record(const struct view *v, struct view_reader *r, int64_t at, struct log_step *out);
static inline void view_reader_done(struct view_reader *r)
{
    log_walk_close(&r->walk);
    err_free(r->why);
}

/* 0, NOT_FOUND and others as of fs_read_file. */
err_t view_checkpoint(const struct view *v, struct buf *bytes, struct checkpoint *out) MUST_CHECK;
/* Names in index/, oldest first: char *, freed by view_names_done. */
err_t view_index_names(const struct view *v, struct buf *out) MUST_CHECK;
err_t view_names(const struct view *v, const char *folder, struct buf *out) MUST_CHECK;
static inline const char *view_name(const struct buf *names, size_t i)
{
    char *name;
    memcpy(&name, names->p + i * sizeof name, sizeof name);
    return name;
}
static inline size_t view_name_count(const struct buf *names) { return names->n / sizeof(char *); }
void view_names_done(struct buf *names);

#endif
