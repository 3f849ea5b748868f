/* compaction.h - topics of which the newest message of each key is kept, however old it is.
 * Shape    a feed copies what became visible, and is synced in the log, to the compaction log of its queue: a log file goes only when
 *          nothing in it waits for that. Now and then a round takes what newer messages have replaced out of a compaction log
 * Files    root/compaction/: compactionLog/, compactionCq/ (compaction_log.h), position-checkpoint
 * Facts    docs/protocol/compaction.md
 * Threads  loop; one job at a time runs on a worker. compaction_set() blocks when there are files of that topic, so at the start only
 * Errors   none stops the store: what cannot be copied or compacted is logged once and tried again; the log keeps its files meanwhile */
#ifndef SKYLARK_STORE_COMPACTION_H
#define SKYLARK_STORE_COMPACTION_H

#include "store/queues.h"
#include "store/store.h"

struct compaction;

/* Reads the positions. Errors: IO. */
err_t compaction_open(struct store *s, struct compaction **out) MUST_CHECK;
/* Copies what is behind, so that another server finds every message; when a job is running its end does. Blocks. No timer is left. */
void compaction_stop(struct compaction *c);
bool compaction_is_idle(const struct compaction *c);
/* Only when it is idle. NULL is fine. */
void compaction_free(struct compaction *c);

/* As store_set_compacted(). */
err_t compaction_set(struct compaction *c, struct slice topic, bool on, bool made) MUST_CHECK;
/* The topic is deleted, its files too. */
void compaction_delete(struct compaction *c, struct slice topic);
/* A message that no file of the compaction log holds may not be stored: MESSAGE_ILLEGAL. */
err_t compaction_check_size(const struct compaction *c, struct slice topic, int32_t queue_id, size_t bytes) MUST_CHECK;
/* Messages became visible. */
void compaction_note(struct compaction *c);
/* What the compaction log has of the queue from r->offset on. False: nothing; r->offset is where the commit log goes on.
 * Sets out->min_offset in any case, when there is something at all. */
bool compaction_read(struct compaction *c, const struct consume_queue *q, struct read_request *r, struct read_result *out);
/* The first offset that the compaction log has; -1: it has none of this queue. */
int64_t compaction_first(struct compaction *c, struct slice topic, int32_t queue_id);
/* Records that were found damaged when somebody read them. */
size_t compaction_damaged(const struct compaction *c);
/* Where the commit log may begin at most: what lies behind has not been copied. INT64_MAX: all has. */
int64_t compaction_log_limit(struct compaction *c);

#endif
