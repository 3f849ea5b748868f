/* state.h - the parts of a store, seen by the files of this room only.
 * Order    an append goes: turn buffer -> log (written) -> [sync] -> queue entries (visible) -> answer -> arrived
 * Threads  loop; the two jobs run on workers and touch nothing but themselves */
#ifndef SKYLARK_STORE_STATE_H
#define SKYLARK_STORE_STATE_H

#include "codec/checkpoint.h"
#include "store/commit_log.h"
#include "store/fifo.h"
#include "store/index.h"
#include "store/queues.h"
#include "store/scrub.h"
#include "store/store.h"

/* A record that has no queue entry yet. */
struct waiting_record {
    struct consume_queue *queue;
    int64_t log_offset;
    int64_t tag_hash;
    int32_t size;
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

/* One sync of the log's files. */
struct log_sync {
    struct work work;
    struct buf files;            /* struct mapped_file *, pinned */
    struct fs *fs;
    const char *folder;          /* to be synced too, or NULL */
    int64_t target;
    int64_t target_ms;
    err_t e;
    bool running;
};

/* One sync of changed queues, then the checkpoint. */
struct queue_sync {
    struct work work;
    struct buf paths;            /* 'f' file or 'd' folder, path, zero byte */
    size_t count;                /* of paths */
    struct fs *fs;
    const char *folder;          /* of all queues */
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
    struct buf unused;           /* struct mapped_file *, to be freed */
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
    STORE_BROKEN,                /* a sync failed: what is on disk is in doubt until the next start */
};

struct store {
    struct store_options options;   /* its texts are owned */
    struct fs *fs;
    struct tasks *tasks;
    struct file *lock;
    char *checkpoint_path;
    struct commit_log log;
    struct queues queues;
    struct index *index;         /* NULL: there is none */
    struct compaction *compaction;   /* NULL: topics are not compacted */
    struct checkpoint checkpoint;

    struct fifo records;         /* waiting_record, in the order of the log */
    struct fifo appends;         /* waiting_append: answered when visible */
    struct fifo early;           /* waiting_append: answered when written (wait_sync false) */
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
    struct scrub scrub;

    struct cleaning cleaning;
    enum store_mode mode;
    char *why;                   /* a sentence, when not writable */
    bool stuck;                  /* queue entries could not be written; they wait in their queues */
    bool queues_in_doubt;        /* a sync of queues failed: the checkpoint stays, and so does `abort` */
    bool closed;
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

/* --- clean.c: old files go, and writing stops before the disk is full --- */
void clean_init(struct store *s);
void clean_done(struct store *s);
void clean_start(struct store *s);
bool clean_is_idle(const struct store *s);

/* --- find.c: messages by key --- */
struct index *find_index_new(struct store *s);

/* --- store.c --- */
/* Writing is off from now on; STORE_BROKEN is final. Takes e. */
void store_stop_writing(struct store *s, enum store_mode mode, err_t e);
/* The folder is gone at once; a worker removes it. */
void store_discard_folder(struct store *s, const char *path);
/* A worker's job is over; the last one frees a closed store. */
void store_job_ended(void *store);

/* --- recovery.c --- */
/* What an earlier run left becomes a whole store: the log ends behind its last record, every record has its queue entry. */
err_t recovery_run(struct store *s, bool abnormal) MUST_CHECK;

#endif
