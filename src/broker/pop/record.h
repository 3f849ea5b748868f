/* record.h - what pop writes into the revive topic: check points (messages of one queue that were handed out) and acknowledgements.
 * Shape    JSON bodies as the original's, told apart by their tag: "ck", "ack", "bAck"; timer messages, so that they come to the revive topic
 *          when the invisible time is over
 * Marks    check points of no message are our own, and nothing to the original: a queue's group goes on elsewhere (a reset), or, without
 *          group or topic, everything of that topic or group is forgotten
 * Facts    docs/protocol/pop.md 3.1
 * Owns     nothing: what is read borrows from the body or lies in the arena
 * Threads  any */
#ifndef SKYLARK_BROKER_POP_RECORD_H
#define SKYLARK_BROKER_POP_RECORD_H

#include "base/json.h"

enum { POINT_MESSAGES_MAX = 32 };

enum pop_record_kind { POP_POINT, POP_ACK, POP_BATCH_ACK, POP_NO_RECORD };

struct pop_record {
    enum pop_record_kind kind;
    struct slice topic;             /* the real one: a retry topic for retries */
    struct slice group;
    struct slice broker;            /* that handed the messages out */
    int32_t queue_id;
    int64_t start_offset;           /* these two name the check point in its queue */
    int64_t pop_ms;
    /* POP_POINT: */
    int64_t invisible_ms;
    uint32_t acked;                 /* bit i: messages[i] */
    bool suspend;                   /* when the time is over, its messages do not count as tried once more */
    size_t count;                   /* 0: a mark */
    int32_t diffs[POINT_MESSAGES_MAX];   /* message i is at start_offset + diffs[i] */
    /* POP_ACK, POP_BATCH_ACK: */
    int64_t *offsets;
    size_t offset_count;
    /* Not in the body: */
    int32_t revive_queue;
};

enum pop_record_kind pop_record_kind_of(struct slice tag);
struct slice pop_record_tag(enum pop_record_kind kind);
/* False: it is none. */
bool pop_record_read(enum pop_record_kind kind, struct slice body, struct arena *arena, struct pop_record *out);
/* Appends the body. */
void pop_record_write(const struct pop_record *r, struct buf *out);
/* Appends its UNIQ_KEY. */
void pop_record_put_key(const struct pop_record *r, struct buf *out);

#endif
