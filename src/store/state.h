/* state.h - the parts of a store, seen by the files of this room only.
 * Order    an append goes: turn buffer -> log (written) -> [sync] -> queue entries (visible) -> answer -> arrived
 * Threads  loop; the two jobs run on workers and touch nothing but themselves */
#ifndef SKYLARK_STORE_STATE_H
#define SKYLARK_STORE_STATE_H

#include "codec/checkpoint.h"
#include "store/cold.h"
#include "store/commit_log.h"
#include "store/deleted_topics.h"
#include "store/fifo.h"
#include "store/index.h"
#include "store/queues.h"
#include "store/retention.h"
#include "store/scrub.h"
#include "store/store.h"

#include <stdatomic.h>

/* A record that has no queue entry yet. */
struct waiting_record {
    struct consume_queue *queue;
    int64_t log_offset;
    int64_t tag_hash;
    int64_t queue_offset;
    int64_t store_ms;
    int32_t size;
    int32_t count;               /* messages in it */
};

/* An append that has no answer yet. */
struct waiting_append {
    append_done *done;
    void *ctx;
    int64_t log_end;
    int64_t due_ms;
};

/* Entries that became visible: what `arrived` is told. */
struct arrival {
    struct consume_queue *queue;
    int64_t first;
    int64_t end;
};

/* Syncs of the log's files, by one job: as long as more was written meanwhile it goes on by itself, since its way back to the loop and out
 * again takes as long as a sync. What loop and worker tell each other is atomic; of each pair the time is read first and stored last, so
 * that it is never later than its place. */
struct log_sync {
    struct work work;
    struct mail mail;            /* a sync has ended, and the job goes on */
    const struct store *store;   /* its options alone */
    struct tasks *tasks;
    struct buf files;            /* struct mapped_file *, pinned */
    struct fs *fs;
    const char *folder;          /* to be synced too, or NULL */
    int64_t target;              /* of the running sync, the worker's */
    int64_t target_ms;
    int64_t limit;               /* end of the last file: what is written behind it is the next job's */
    _Atomic int64_t written, written_ms;   /* the loop's word: so much is in the files */
    _Atomic int64_t reached, reached_ms;   /* the worker's: so much is on disk */
    _Atomic uint64_t syncs;      /* not yet counted */
    int64_t (*mono_us)(void);    /* NULL: nobody wants to know how long they take */
    _Atomic int64_t took[METRIC_BUCKETS_MAX], took_us;   /* by buckets of METRIC_SYNC_TIME, and in all */
    atomic_bool mailed;          /* the letter is under way */
    err_t e;                     /* of the sync behind `reached` */
    bool running;
};

/* What a failed sync left in doubt, written once more. */
struct resync {
    struct work work;
    struct timer timer;
    struct buf files;            /* struct mapped_file *, pinned */
    struct fs *fs;
    const char *folder;
    int64_t from, to;            /* positions of the log */
    err_t e;                     /* CORRUPT: it is not what was written */
    bool running;
};

/* What is to be synced: a folder, or a file with what was written to it. */
struct path_head {
    bool folder;
    enum queue_kind kind;        /* of the file's entries */
    int64_t from, to;            /* bytes of the file */
};

/* One sync of changed queues, then the checkpoint. */
struct queue_sync {
    struct work work;
    struct buf paths;            /* struct path_head, path, zero byte; after a failure they wait for the next sync */
    size_t count;                /* of paths */
    bool again;                  /* the last one failed: what it had to write is written once more */
    struct fs *fs;
    const char *folder;          /* on the disk of all queues */
    const char *checkpoint_path;
    struct checkpoint checkpoint;
    err_t e;
    bool running;
};

enum { CLEAN_BATCH_MAX = 64 };

/* One round of cleaning: a job looks at the disk and removes files; then the loop forgets them. */
struct cleaning {
    struct work work;
    struct timer timer;
    struct fs *fs;
    struct clean_options rules;  /* as they were when the round began */
    const char *root, *log_folder;
    int64_t now_ms;
    bool right_hour;
    int64_t starts[CLEAN_BATCH_MAX];   /* log files that nothing needs any more, oldest first */
    size_t count;
    struct buf paths;            /* queue and index files to remove, each with a zero byte */
    struct retention retention;  /* topics with a time of their own */
    int64_t log_first;
    int64_t log_file_bytes;
    struct store_fetch fetch;    /* of entries that tell which files of a queue are old */
    struct buf unused;           /* struct mapped_file *, to be freed */
    int64_t used_bytes;          /* set by the job, of the root's disk; -1: unknown; 0: not looked at */
    int32_t used_percent;        /* set by the job: of the fuller of the two disks; -1: unknown */
    size_t removed;              /* set by the job: so many of `starts` are gone */
    err_t e;                     /* set by the job: the first thing that failed */
    bool asked;                  /* somebody wants old files to go at this hour too */
    bool crowded;                /* too full to write */
    bool running;
};

struct compaction;

enum store_mode {
    STORE_WRITABLE,
    STORE_FULL,                  /* a write failed; tried again every second */
    STORE_BROKEN,                /* a sync failed: what is on disk is in doubt until it was read back and written again (resync.c) */
    STORE_LOST,                  /* what was read back is not what was written: only the next start can tell what is left */
};

struct store {
    struct store_options options;   /* its texts are owned */
    struct fs *fs;
    struct tasks *tasks;
    struct file *lock;
    char *checkpoint_path;
    struct commit_log log;
    struct queues queues;
    struct deleted_topics deleted_topics;
    struct cold cold;
    struct index *index;         /* NULL: there is none */
    struct compaction *compaction;   /* NULL: topics are not compacted */
    struct checkpoint checkpoint;

    struct fifo records;         /* waiting_record, in the order of the log */
    struct fifo appends;         /* waiting_append: answered when visible */
    struct fifo early;           /* waiting_append: answered when written (wait_sync false) */
    struct buf scratch;          /* the properties of a batch */
    struct buf touched;          /* struct consume_queue *: of the dispatch under way */
    struct buf arrivals;         /* struct arrival: of the dispatch under way */
    int64_t synced;              /* S1: visible <= synced in SYNC_FLUSH */
    int64_t visible;             /* log_offset up to which entries are visible */
    int64_t last_ms;             /* store time of the last record appended */
    int64_t written_ms, synced_ms, visible_ms;

    struct turn_hook turn_end;
    struct timer log_timer;      /* ASYNC_FLUSH: the next sync */
    struct timer queue_timer;    /* the next sync of queues */
    struct timer answer_timer;   /* looks for answers that are overdue */
    struct timer retry_timer;    /* STORE_FULL: tries to write again */
    struct timer again_timer;    /* a turn was too long, the rest comes in the next */
    struct log_sync log_sync;
    struct queue_sync queue_sync;
    struct resync resync;
    struct scrub scrub;

    struct cleaning cleaning;
    enum store_mode mode;
    char *why;                   /* a sentence, when not writable */
    bool stuck;                  /* queue entries could not be written; they wait in their queues */
    bool queues_in_doubt;        /* a sync of queues failed: the checkpoint stays until one succeeds; else `abort` stays */
    bool queues_lost;            /* entries are not on the disk, and only the next start can write them again */
    bool closed;
    bool ended_badly;            /* the run before this one */
    int64_t recent_bytes;
    uint64_t deletions;          /* topics deleted in this run */
    struct store_counts counts;
};

/* --- dispatch.c: from the log to the queues and to those who wait --- */
/* Writes the turn's records; then answers, or starts a sync. */
void dispatch_turn_end(void *store);
/* Makes everything below `upto` visible and answers for it. */
void dispatch_upto(struct store *s, int64_t upto, int64_t upto_ms);
/* Answers whoever waits with a copy of e. Takes e. */
void dispatch_fail_waiting(struct store *s, err_t e);
void dispatch_answer_overdue(void *store);
/* Tries to write the entries that are stuck. */
err_t dispatch_unstick(struct store *s) MUST_CHECK;

/* --- flush.c: from memory to the disk --- */
void flush_init(struct store *s);
/* Starts a sync of the log, unless one is running or there is nothing to sync. */
void flush_log(struct store *s);
/* Starts the timers that what happened calls for. */
void flush_arm(struct store *s);
/* Everything, at once. Blocks. */
err_t flush_all(struct store *s) MUST_CHECK;
bool flush_is_idle(const struct store *s);
void flush_done(struct store *s);

/* --- resync.c: after a sync that failed --- */
/* A sync of the log failed; should this process end, the next one shall know. Thread: worker. */
void resync_mark(const struct store *s);
bool resync_is_marked(const struct store *s);
void resync_unmark(const struct store *s);
/* What a file holds between two positions of the log is written once more, and synced. Thread: worker. */
err_t resync_write_again(struct mapped_file *f, int64_t from, int64_t to) MUST_CHECK;
void resync_init(struct store *s);
/* At once, while what was written is most likely still in memory; then each second. */
void resync_begin(void *store);
void resync_done(struct store *s);

/* --- clean.c: old files go, and writing stops before the disk is full --- */
void clean_init(struct store *s);
void clean_done(struct store *s);
void clean_start(struct store *s);
bool clean_is_idle(const struct store *s);

/* --- lmq.c: light message queues --- */
/* A message that may name further queues: its properties get its offsets in them, and lie in s->scratch then; further_queues is empty when
 * there are none for it. MESSAGE_ILLEGAL: they cannot be; LMQ_QUOTA: there would be too many queues. Changes nothing in the store. */
err_t lmq_prepare(struct store *s, struct message *m) MUST_CHECK;
/* The record that `own` stands for gets its entries in the further queues, too. */
void lmq_append(struct store *s, struct slice names, const struct waiting_record *own);

/* --- find.c: messages by key --- */
struct index *find_index_new(struct store *s);

/* --- store.c --- */
/* Writing is off from now on; STORE_LOST is final. Takes e. */
void store_stop_writing(struct store *s, enum store_mode mode, err_t e);
/* From STORE_FULL back to STORE_WRITABLE, if all that could not be written can be now; else it is tried again in a second. */
void store_try_writing(void *store);
/* Empty ones. */
void store_init_queues(struct store *s);
/* The queues of a topic become those of the other kind, with the entries that these can hold. Returns one of them. */
struct consume_queue *store_replace_queues(struct store *s, struct slice topic, int32_t queue_id, enum queue_kind kind);
/* The folder is gone at once; a worker removes it. */
void store_discard_folder(struct store *s, const char *path);
/* A worker's job is over; the last one frees a closed store. */
void store_job_ended(void *store);

/* --- recovery.c --- */
/* What an earlier run left becomes a whole store: the log ends behind its last record, every record has its queue entry. */
err_t recovery_run(struct store *s, bool abnormal) MUST_CHECK;

#endif
