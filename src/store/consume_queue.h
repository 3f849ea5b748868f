/* consume_queue.h - where the messages of one queue lie in the commit log.
 * Shape    entries (codec/queue_entry.h) in files of `file_entries` of them, zeros behind the last one. An entry stands for one message,
 *          and its number is the message's queue offset; or, in a queue of batches, for a record of one or more, and says which they are
 *          |<- on disk, readable ->|<- pending: to be written ->|
 *          first                  end
 * Facts    docs/protocol/store.md 3
 * Units    first, end, min and what is called an entry count entries; queue_offset, next and max count messages. Where an entry is a
 *          message the two are the same
 * Threads  loop
 * Owns     at most one open file; a queue at rest holds none, and no buffer: there may be 100,000 of them
 * Errors   IO, DISK_FULL. What cannot be read is answered as "no entry": the queue can be rebuilt from the log. So is what is not in
 *          memory, which `cold` has met then */
#ifndef SKYLARK_STORE_CONSUME_QUEUE_H
#define SKYLARK_STORE_CONSUME_QUEUE_H

#include "base/buf.h"
#include "base/list.h"
#include "codec/queue_entry.h"
#include "os/file.h"
#include "store/cold.h"

struct consume_queue;

/* What all queues of a store share. */
struct queue_files {
    struct fs *fs;
    char *folder[QUEUE_KINDS];  /* root/consumequeue, root/batchconsumequeue */
    char *ext_folder;           /* root/consumequeue_ext */
    int64_t file_entries[QUEUE_KINDS];
    bool names_gone[QUEUE_KINDS]; /* topics were deleted there, and that is not durable yet */
    bool mend;                  /* the last stop was a bad one: a file that is too short was being cleared behind its end */
    struct cold *cold;          /* NULL: the disk is waited for */
    struct list open;           /* queues with an open file, the one used longest ago first */
    size_t open_count;
    struct list dirty;          /* queues with entries that were not synced */
};

struct queue_topic {
    struct slice name;          /* owned */
    enum queue_kind kind;       /* of all its queues */
    struct list queues;
};

struct consume_queue {
    struct queue_files *files;
    struct queue_topic *topic;
    struct list_node in_topic;
    struct list_node in_open;
    struct list_node in_dirty;
    struct file *file;          /* the open one, or NULL */
    int64_t file_first;         /* its first entry */
    int64_t first;              /* entry where the first file begins; -1: there is no file */
    int64_t end;                /* S2: entries below it are written and visible */
    int64_t max;                /* of a queue of batches: queue_offset behind the last message of the entries below `end` */
    int64_t next;               /* queue_offset of the next message */
    int64_t min;                /* first entry whose record is still in the log … */
    int64_t min_offset;         /* … the queue_offset of its first message … */
    int64_t min_log_first;      /* … when that began here; -1: not known */
    int64_t expired_below;      /* entries before it are older than their topic wants them; retention.h */
    int64_t dirty_from;         /* first entry that was not synced */
    struct buf pending;
    enum queue_kind kind;
    int32_t queue_id;
    bool touched;               /* on the list of queues that this dispatch changes */
    bool new_files;             /* names in its folder are not durable yet */
    bool deleted;
};

void queue_files_init(struct queue_files *f, struct fs *fs, const char *root, const int64_t file_entries[static QUEUE_KINDS]);
void queue_files_done(struct queue_files *f);

struct consume_queue *consume_queue_new(struct queue_files *files, struct queue_topic *topic, int32_t queue_id);
void consume_queue_free(struct consume_queue *q);
static inline int64_t consume_queue_file_entries(const struct consume_queue *q) { return q->files->file_entries[q->kind]; }
/* The offset behind the last visible message. */
static inline int64_t consume_queue_max(const struct consume_queue *q) { return q->kind == QUEUE_OF_BATCHES ? q->max : q->end; }
/* "…/consumequeue/TOPIC/ID" */
void consume_queue_folder(const struct consume_queue *q, char out[static 1024]);

/* Finds the files on disk, and how many entries from the start on point below log_limit; end and next stand behind them. */
err_t consume_queue_load(struct consume_queue *q, int64_t log_limit) MUST_CHECK;
/* Something is behind `end` that is no entry for a record between `from` and `log_end`: it was one, and is damaged. */
bool consume_queue_is_spoiled(struct consume_queue *q, int64_t from, int64_t log_end);
/* Makes everything behind `end` read as zeros, and removes the files there. */
err_t consume_queue_trim(struct consume_queue *q) MUST_CHECK;

/* Forgets the entries from there on, and what is pending. What is on disk stays until it is overwritten or trimmed. */
void consume_queue_cut(struct consume_queue *q, int64_t end);

/* Adds an entry at `end` + pending. */
static inline void consume_queue_put(struct consume_queue *q, const struct queue_entry *e)
{
    if (q->kind == QUEUE_OF_BATCHES) batch_entry_put(buf_take(&q->pending, BATCH_ENTRY_BYTES), e);
    else queue_entry_put(buf_take(&q->pending, QUEUE_ENTRY_BYTES), e);
}
/* An entry, pending or not; false when there is none. */
bool consume_queue_any(struct consume_queue *q, int64_t entry, struct queue_entry *out);
/* The last entry, pending or not; false when there is none. */
bool consume_queue_last(struct consume_queue *q, struct queue_entry *out);
/* The offset behind the last message, pending or not. */
int64_t consume_queue_pending_end(const struct consume_queue *q);
/* Writes what is pending: one write, or one for each file it reaches into. What fails stays pending. */
err_t consume_queue_write(struct consume_queue *q) MUST_CHECK;
/* A queue of singles without entries begins at this offset: its first file is filled up to there. Older files go. */
err_t consume_queue_begin_at(struct consume_queue *q, int64_t queue_offset) MUST_CHECK;

/* Reads up to n entries from the entry `from` on; returns how many. Fewer at the end of the queue, or of a file. */
size_t consume_queue_read(struct consume_queue *q, int64_t from, size_t n, struct queue_entry *out);
/* The entry that holds a message; the next one, when that message has none. `end` when there is no such entry. */
int64_t consume_queue_seek(struct consume_queue *q, int64_t queue_offset);
static inline bool consume_queue_get(struct consume_queue *q, int64_t at, struct queue_entry *out)
{
    return consume_queue_read(q, at, 1, out) == 1;
}
/* The tag hash, also when the entry only tells where in the extension file it is. */
int64_t consume_queue_tag_hash(struct consume_queue *q, struct queue_entry e);
/* First entry whose record is still there, and not too old; `end` when none is. */
int64_t consume_queue_min_entry(struct consume_queue *q, int64_t log_first);
/* The offset of its first message; that behind the last one when none is. */
int64_t consume_queue_min(struct consume_queue *q, int64_t log_first);

/* How many files at its beginning hold nothing but entries of records before log_first; never the last file. */
size_t consume_queue_old_files(struct consume_queue *q, int64_t log_first);
/* The path of the file that holds an entry. */
void consume_queue_path(const struct consume_queue *q, int64_t entry, char out[static 1024]);
/* Files before the one that holds `entry` are being removed. */
void consume_queue_forget_before(struct consume_queue *q, int64_t entry);

/* Gives up the open file and the buffer. */
void consume_queue_rest(struct consume_queue *q);

#endif
