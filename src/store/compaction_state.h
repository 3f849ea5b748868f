/* compaction_state.h - the parts of compaction, seen by its own files only (compaction.c, and the feed, the positions, the reads).
 * Threads  loop; a job runs on a worker and touches nothing but what it was handed */
#ifndef SKYLARK_STORE_COMPACTION_STATE_H
#define SKYLARK_STORE_COMPACTION_STATE_H

#include "store/compaction.h"
#include "store/compaction_round.h"
#include "store/state.h"

enum { COMPACTION_KEY_BYTES = TOPIC_BYTES_MAX + 16 };

/* Messages on their way from the commit log to one compaction log. */
struct compaction_feed {
    struct work work;
    struct compaction_log *log;     /* NULL: no job. The worker uses its names, folders and sizes only */
    struct buf items;               /* struct feed_item */
    struct buf pins;                /* struct mapped_file *: log files that they lie in */
    struct compaction_writer writer;
    int64_t next;                   /* what log->next becomes */
    int64_t bytes;                  /* of the messages */
    uint64_t skipped;               /* messages without key, damaged records */
    err_t e;
};

enum compaction_job { COMPACTION_SLICE, COMPACTION_POSITIONS, COMPACTION_FREE };

/* The round under way, and what goes with it. */
struct compaction_rounds {
    struct work work;
    struct compaction_round round;
    enum compaction_job job;
    struct buf text;                /* the positions, to be written */
    struct buf freed;               /* struct mapped_file *: the running job's */
    err_t e;
    bool active;                    /* `round` is under way */
    bool waits;                     /* … and is tried again later */
    bool running;
    bool due;                       /* all queues that are ripe have their round */
};

struct compaction_topic {
    struct slice name;              /* owned */
    bool on;
    bool doomed;                    /* deleted while a job is at it: its files go when that ends */
};

struct compaction {
    struct store *s;
    char *folder;
    char *positions_path;
    struct map topics;              /* struct compaction_topic */
    struct map logs;                /* struct compaction_log, by compaction_key_of() */
    struct map positions;           /* int64_t *, the same keys: as they are to be written */
    struct timer feed_timer;        /* looks for what has to be copied */
    struct timer round_timer;       /* the next rounds */
    struct compaction_feed feed;
    struct compaction_rounds rounds;
    struct buf unused;              /* struct mapped_file *, to be freed by a worker */
    struct store_fetch fetch;       /* of a queue's entries that are not in memory */
    bool fed_last;                  /* the last job was a feed: a round has its turn */
    bool closed;
};

/* "TOPIC_ID", as the original names a queue in its file of positions. */
struct slice compaction_key_of(struct slice topic, int32_t queue_id, char key[static COMPACTION_KEY_BYTES]);
/* NULL: the topic is not compacted, or the queue never had a message. */
struct compaction_log *compaction_log_of(const struct compaction *c, struct slice topic, int32_t queue_id);
/* Opens it when it is not open, and compares it with its queue. */
err_t compaction_log_get_or_open(struct compaction *c, struct slice topic, struct consume_queue *q, struct compaction_log **out) MUST_CHECK;

/* Whether what was just read of a queue means nothing, because it is not in memory: a worker fetches it, and then the feed goes on. */
bool compaction_met_cold(struct compaction *c);

/* --- compaction_feed.c --- */
void compaction_feed_init(struct compaction_feed *f, void (*done)(struct work *w));
void compaction_feed_done(struct compaction_feed *f);
/* Prepares the job for the next queue that is behind; false: there is none. *behind: some will be, as soon as the log is synced or they
 * have waited long enough. */
bool compaction_feed_find(struct compaction *c, bool *behind);
/* What the job has done is done: the error it ended with. */
err_t compaction_feed_end(struct compaction *c) MUST_CHECK;

/* --- compaction_positions.c --- */
err_t compaction_positions_load(struct compaction *c) MUST_CHECK;
void compaction_positions_encode(const struct compaction *c, struct buf *out);
/* -1: there is none. */
int64_t compaction_position(const struct compaction *c, struct slice topic, int32_t queue_id);
void compaction_position_set(struct compaction *c, struct slice topic, int32_t queue_id, int64_t position);
void compaction_positions_forget(struct compaction *c, struct slice topic);
void compaction_positions_done(struct compaction *c);

#endif
