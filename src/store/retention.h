/* retention.h - topics whose messages are kept for a time of their own, whatever holds for the others.
 * Longer   a log file that holds young enough messages of such a topic is not expired. That its room is needed counts more
 * Shorter  messages that are too old are not shown any more, though they are in the log as long as their neighbours
 * How      a worker searches the files of the queues: their entries are in the order of the log, hence of time
 * Units    reserved_ms: since a message was stored
 * Threads  loop; what says worker runs on one, on what it was handed, and reads files that the loop may be writing to
 * Errors   IO */
#ifndef SKYLARK_STORE_RETENTION_H
#define SKYLARK_STORE_RETENTION_H

#include "store/queues.h"

struct retention {
    struct map rules;            /* topic -> struct retention_rule: the loop's */
    struct buf snapshot;         /* struct retention_rule: for the worker */
    struct buf found;            /* of the worker, for the loop */
    const struct queue_files *files;
};

/* What the worker is told of the log. */
struct retention_log {
    const char *folder;
    int64_t file_bytes;
    int64_t first;               /* what begins before it is gone */
    int64_t now_ms;
};

void retention_init(struct retention *r, const struct queues *queues);
void retention_done(struct retention *r);
/* reserved_ms < 0: as for the others. */
void retention_set(struct retention *r, struct slice topic, int64_t reserved_ms);
static inline bool retention_is_empty(const struct retention *r) { return r->rules.count == 0; }

/* Before the worker begins. */
void retention_prepare(struct retention *r);
/* Whether a file of the log that was last changed then holds messages that are to be kept longer than `usual_ms`, and still are young
 * enough. Thread: worker. */
err_t retention_keeps(struct retention *r, const struct retention_log *log, int64_t start, int64_t modified_ms, int64_t usual_ms,
                      bool *out) MUST_CHECK;
/* Finds the messages that are too old. Thread: worker. */
err_t retention_search(struct retention *r, const struct retention_log *log) MUST_CHECK;
/* When the worker is done: tells the queues. */
void retention_apply(struct retention *r, struct queues *queues);

#endif
