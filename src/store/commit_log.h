/* commit_log.h - all messages of a broker, one behind the other.
 * Shape    records (codec/record.h) in files of one size; what does not fit into the rest of a file begins the next one
 *          |<- on disk, readable ->|<- turn: encoded, to be written ->|
 *          first                written                            end
 * Threads  loop
 * Owns     its files; a record it hands out is pinned until pin_release()
 * Errors   IO, DISK_FULL; MESSAGE_ILLEGAL for what no file can hold */
#ifndef SKYLARK_STORE_COMMIT_LOG_H
#define SKYLARK_STORE_COMMIT_LOG_H

#include "codec/message.h"
#include "store/cold.h"
#include "store/damage.h"
#include "store/mapped_file.h"
#include "store/spare_file.h"

struct commit_log {
    struct mapped_files files;
    struct spare_file spare;
    struct buf turn;            /* bytes from `written` on; always of one file */
    int64_t written;
    int64_t checked_below;      /* what an earlier run left: its checksums are looked at when it is read */
    int64_t spoiled;            /* bytes behind `written` that a failed write may have left */
    bool names_unsynced;        /* a file was made whose name is not yet durable */
    uint64_t writes;
    struct damage damage;
    struct cold *cold;          /* NULL: the disk is waited for */
};

/* Opens the files; where the records end is for recovery to say. `mend`: the last stop was a bad one. `ended` is called when a worker's job is over. */
err_t commit_log_open(struct commit_log *l, struct fs *fs, struct tasks *tasks, const char *folder, int64_t file_bytes, bool mend,
                      void (*ended)(void *ctx), void *ctx) MUST_CHECK;
void commit_log_close(struct commit_log *l);
/* Records end here; the first file is made when there is none. */
err_t commit_log_start(struct commit_log *l, int64_t end) MUST_CHECK;

static inline int64_t commit_log_end(const struct commit_log *l) { return l->written + (int64_t)l->turn.n; }
/* Written by this process: the queue entry that points there was made with it. */
static inline bool commit_log_wrote(const struct commit_log *l, int64_t at) { return at >= l->checked_below; }
int64_t commit_log_first(const struct commit_log *l);

/* Makes sure that the next `bytes` lie in one file; may write the turn's records and begin the next file. */
err_t commit_log_make_room(struct commit_log *l, size_t bytes) MUST_CHECK;
/* Room for one record at commit_log_end(), valid until the next call. Only after commit_log_make_room(). */
static inline uint8_t *commit_log_take(struct commit_log *l, size_t bytes) { return buf_take(&l->turn, bytes); }
/* Writes what has been taken, in one piece. After a failure `written` stays where it was. */
err_t commit_log_write(struct commit_log *l) MUST_CHECK;
/* Forgets what has been taken since the last write that succeeded. */
void commit_log_forget(struct commit_log *l);
/* Overwrites with zeros what a failed write left. NULL: the log can be written again. */
err_t commit_log_repair(struct commit_log *l) MUST_CHECK;

/* The record that a queue entry points to; false when it is gone, damaged, or not in memory (then that is what `cold` met). Borrowed until
 * the loop's turn ends. What an earlier run left is compared with its checksum, unless the scrub has been there. */
bool commit_log_find(struct commit_log *l, int64_t at, int32_t size, struct slice *out);
/* The whole, valid record that begins there; false when none does, or when it is not in memory. */
bool commit_log_read(struct commit_log *l, int64_t at, struct message *m, struct slice *out);
/* Keeps the file of a record that was just found. */
struct pinned commit_log_pin(struct commit_log *l, int64_t at, struct slice record);
/* Where the index names a record, and commit_log_read() found none: reports it if a record states that it begins there. Not for
 * places that come from outside: whoever sends a message may put into it what looks like a damaged record. */
void commit_log_suspect(struct commit_log *l, int64_t at);

#endif
