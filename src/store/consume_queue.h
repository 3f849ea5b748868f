/* consume_queue.h - where the messages of one queue lie in the commit log.
 * Shape    entry i = log_offset i64 | size i32 | tag_hash i64, in files of `file_entries` entries, zeros behind the last one
 *          |<- on disk, readable ->|<- pending: to be written ->|
 *          first                  end
 * Facts    docs/protocol/store.md 3
 * Units    queue_offset counts entries; so do first, end, next
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
    char *folder;               /* root/consumequeue */
    char *ext_folder;           /* root/consumequeue_ext */
    int64_t file_entries;
    bool mend;                  /* the last stop was a bad one: a file that is too short was being cleared behind its end */
    struct cold *cold;          /* NULL: the disk is waited for */
    struct list open;           /* queues with an open file, the one used longest ago first */
    size_t open_count;
    struct list dirty;          /* queues with entries that were not synced */
};

struct queue_topic {
    struct slice name;          /* owned */
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
    int64_t next;               /* queue_offset of the next message */
    int64_t min;                /* first entry whose record is still in the log … */
    int64_t min_log_first;      /* … when that began here; -1: not known */
    int64_t expired_below;      /* entries before it are older than their topic wants them; retention.h */
    int64_t dirty_from;         /* first entry that was not synced */
    struct buf pending;
    int32_t queue_id;
    bool touched;               /* on the list of queues that this dispatch changes */
    bool new_files;             /* names in its folder are not durable yet */
    bool deleted;
};

void queue_files_init(struct queue_files *f, struct fs *fs, const char *root, int64_t file_entries);
void queue_files_done(struct queue_files *f);

struct consume_queue *consume_queue_new(struct queue_files *files, struct queue_topic *topic, int32_t queue_id);
void consume_queue_free(struct consume_queue *q);
/* "…/consumequeue/TOPIC/ID" */
void consume_queue_folder(const struct consume_queue *q, char out[static 1024]);

/* Finds the files on disk, and how many entries from the start on point below log_limit; end and next stand behind them. */
err_t consume_queue_load(struct consume_queue *q, int64_t log_limit) MUST_CHECK;
/* Something is behind `end` that is no entry for a record between `from` and `log_end`: it was one, and is damaged. */
bool consume_queue_is_spoiled(struct consume_queue *q, int64_t from, int64_t log_end);
/* Makes everything behind `end` read as zeros, and removes the files there. */
err_t consume_queue_trim(struct consume_queue *q) MUST_CHECK;

/* Adds an entry at `end` + pending. */
static inline void consume_queue_put(struct consume_queue *q, int64_t log_offset, int32_t size, int64_t tag_hash)
{
    queue_entry_put(buf_take(&q->pending, QUEUE_ENTRY_BYTES), log_offset, size, tag_hash);
}
static inline int64_t consume_queue_pending_end(const struct consume_queue *q)
{
    return q->end + (int64_t)(q->pending.n / QUEUE_ENTRY_BYTES);
}
/* Writes what is pending: one write, or one for each file it reaches into. What fails stays pending. */
err_t consume_queue_write(struct consume_queue *q) MUST_CHECK;
/* A queue without entries begins at this offset: its first file is filled up to there. Older files go. */
err_t consume_queue_begin_at(struct consume_queue *q, int64_t queue_offset) MUST_CHECK;

/* Reads up to n entries from `from` on; returns how many. Fewer at the end of the queue, or of a file. */
size_t consume_queue_read(struct consume_queue *q, int64_t from, size_t n, struct queue_entry *out);
static inline bool consume_queue_get(struct consume_queue *q, int64_t at, struct queue_entry *out)
{
    return consume_queue_read(q, at, 1, out) == 1;
}
/* The tag hash, also when the entry only tells where in the extension file it is. */
int64_t consume_queue_tag_hash(struct consume_queue *q, struct queue_entry e);
/* First entry whose record is still there, and not too old; `end` when none is. */
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
