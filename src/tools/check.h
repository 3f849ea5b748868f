/* check.h - what the parts of a check share. The room's own.
 * Order    the log comes first: it says where the records end and what the queues should hold */
#ifndef SKYLARK_TOOLS_CHECK_H
#define SKYLARK_TOOLS_CHECK_H

#include "base/map.h"
#include "tools/report.h"
#include "tools/view.h"

/* What the log says of one queue. */
struct seen_queue {
    int64_t next;              /* offset of its next message */
    int64_t records;
    int64_t log_offset;        /* of its last record */
    enum queue_kind kind;
    bool began_again;          /* a topic that was deleted and made again counts from 0 again */
    bool has_folder;
};

struct check {
    struct view v;
    struct report r;
    struct map seen;           /* topic, then number in 4 bytes: struct seen_queue */
    int64_t end;               /* of the records */
    int64_t last_at;           /* where the last one begins */
    int64_t last_ms;           /* store time of the newest record */
    int64_t records, entries, keys;
    int64_t kept_queues, kept; /* queues that have a compaction log, and messages in these */
    int64_t gap_at;            /* the file went on without a record from there on; -1: no */
    int64_t gap_size;
    bool gap_is_zero;
};

/* view_record(); a record that cannot be read is a finding, whatever else the caller says of it. */
enum log_step_kind check_record_at(struct check *c, struct view_reader *r, int64_t at, struct log_step *out);
struct seen_queue *check_seen(struct check *c, struct slice topic, int32_t queue_id, bool make);

void check_log(struct check *c);
void check_queues(struct check *c);
void check_index(struct check *c);
void check_compaction(struct check *c);
void check_checkpoint(struct check *c);
void check_config(struct check *c);

#endif
