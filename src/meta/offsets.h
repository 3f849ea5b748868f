/* offsets.h - how far each group has consumed each queue.
 * Files    <folder>/consumerOffset.json in the original's format, written by a worker every flush interval when something
 *          changed; with enableLmq lmqConsumerOffset.json, which holds those of light groups (%LMQ%…) as well: one offset of each topic,
 *          as the original keeps it, whatever the queue. Each is read in the other's place when it is the only one
 * Facts    docs/protocol/remoting.md A8, 4.3 (222), semantics.md 6, store.md 8
 * Units    queue_offset: entries of one queue; -1 none
 * Threads  loop, but offsets_open and offsets_close, which block
 * Hot path a commit or query of a known group and topic takes one hash lookup and no memory */
#ifndef SKYLARK_META_OFFSETS_H
#define SKYLARK_META_OFFSETS_H

#include "base/json.h"
#include "codec/body_topic_config.h"
#include "os/saver.h"

struct offsets;

/* What became of a pull; for who asks why a queue does not move. Kept in memory alone. */
struct pull_note {
    int64_t at_ms;          /* mono_ms; 0: there was none since the start */
    int64_t from;           /* the offset it asked for */
    int32_t code;           /* of its answer; PULL_WAITS: it has none yet */
    int32_t messages;
    uint64_t conn;          /* id of its connection */
};

enum { PULL_WAITS = -1 };

struct queue_offsets {
    int32_t queue_id;
    int64_t committed;      /* -1: none, also below */
    int64_t pulled;         /* where the last pull ended; for lag only */
    int64_t reset;          /* to be told to the next pull */
    struct pull_note last;
};

struct group_offsets {
    struct slice topic;
    struct slice group;
    struct queue_offsets *queues;   /* ascending queue_id */
    size_t count;
};

struct offsets_options {
    const char *folder;
    int64_t flush_interval_ms;      /* flushConsumerOffsetInterval */
    int64_t version_step;           /* consumerOffsetUpdateVersionStep: commits from one data version to the next */
    bool lmq;                       /* enableLmq */
};

/* Errors: IO, BODY. */
err_t offsets_open(const struct offsets_options *options, struct fs *fs, struct tasks *tasks, struct offsets **out) MUST_CHECK;
err_t offsets_close(struct offsets *o) MUST_CHECK;

/* A pending reset wins over what was committed; -1 when there is neither. */
int64_t offsets_query(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id);
/* As the original, a commit may go backwards; that is logged with the client's address. Names over 255 bytes are ignored. */
void offsets_commit(struct offsets *o, struct slice client, struct slice topic, struct slice group, int32_t queue_id,
                    int64_t queue_offset);
/* The last pull of a queue, and where it ended; < 0: nowhere yet. */
void offsets_note_pull(struct offsets *o, struct slice topic, struct slice group, int32_t queue_id, int64_t queue_offset, const struct pull_note *note);
/* NULL when there is none. Valid within the turn. */
const struct queue_offsets *offsets_of_queue(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id);
/* -1 when there is none. */
int64_t offsets_query_pulled(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id);

/* An administrator resets: committed at once, and pending until the next pull takes it. */
void offsets_reset(struct offsets *o, struct slice topic, struct slice group, int32_t queue_id, int64_t queue_offset);
bool offsets_reset_pending(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id);
/* The pending offset, which is pending no longer; -1 when there is none. */
int64_t offsets_take_reset(struct offsets *o, struct slice topic, struct slice group, int32_t queue_id);

void offsets_remove_group(struct offsets *o, struct slice group);
void offsets_remove_topic(struct offsets *o, struct slice topic);
void offsets_remove(struct offsets *o, struct slice topic, struct slice group);
/* What `from` committed (on one topic, or on all when topic.p is NULL) is committed for `to`. */
void offsets_clone(struct offsets *o, struct slice from, struct slice to, struct slice topic);

/* NULL when the group never committed on the topic. Valid within the turn. */
const struct group_offsets *offsets_find(const struct offsets *o, struct slice topic, struct slice group);
/* Walks: `for (size_t at = 0; (g = offsets_next(o, &at));)`; nothing may be added meanwhile. */
const struct group_offsets *offsets_next(const struct offsets *o, size_t *at);
/* A walk may go on in a later turn as long as this number stays the same. */
size_t offsets_moves(const struct offsets *o);
/* False for a group that has only pulled. */
bool offsets_has_committed(const struct group_offsets *g);
struct data_version offsets_version(const struct offsets *o);
/* The table as text: for the file with pulled offsets, for code 43 without (Java slaves cannot read them). */
void offsets_encode(const struct offsets *o, enum json_style style, bool with_pulled, struct buf *out);

void offsets_set_flush_interval(struct offsets *o, int64_t ms);
/* Writes what changed now, not at the end of the interval. */
void offsets_flush(struct offsets *o);

#endif
