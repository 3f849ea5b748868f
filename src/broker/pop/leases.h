/* leases.h - which messages of which queues are out, to which groups, until when. A table and nothing else: no I/O, no clock.
 * Shape    group, topic, queue -> what was never handed out begins at `next`; its check points, each with up to 32 messages. A bit tells
 *          which of them are out no more. What is due first stands on top of a heap
 * States   a message: never handed out -> out -> acknowledged, or -> due -> put into the retry topic. README.md has the table
 * Units    times in ms of the wall clock; offsets count entries of the queue
 * Threads  its owner: a worker builds one while it reads the log
 * Owns     all it names */
#ifndef SKYLARK_BROKER_POP_LEASES_H
#define SKYLARK_BROKER_POP_LEASES_H

#include "base/list.h"
#include "base/map.h"
#include "broker/pop/record.h"

struct revive_mark;
struct revival;

struct lease_queue {
    struct slice topic, group;
    int32_t queue_id;
    int64_t next;               /* -1: not known here, the group's committed offset tells */
    bool moved;                 /* a reset: `next` rules, also when more was committed */
    struct list points;         /* check_point in_queue, oldest first */
    size_t out;                 /* messages */
    uint32_t storing;           /* check points that are not stored yet */
    int64_t used_ms;            /* the owner's */
};

struct check_point {
    struct list_node in_queue;
    struct lease_queue *queue;
    size_t heap_at;             /* 0: not in it */
    int64_t start_offset;
    int64_t pop_ms;
    int64_t invisible_ms;
    int64_t next_offset;        /* the group's offset once it is stored */
    int32_t revive_queue;
    char *broker;               /* NULL: ours */
    bool suspend;
    bool storing;
    bool recent;                /* it was due before a start: its messages may be in the retry topic already */
    uint8_t count;
    uint32_t acked;             /* bits of messages that are out no more */
    uint32_t untold;            /* of these: the log does not say so yet */
    uint32_t busy;              /* acknowledgements that are not stored yet */
    struct revive_mark *mark;   /* the owner's, as is the next */
    struct revival *revival;
    int32_t diffs[];
};

struct leases {
    struct map queues;          /* topic, 0, group, 0, queue id -> struct lease_queue */
    struct map points;          /* queue, start_offset, pop_ms -> struct check_point */
    struct check_point **heap;  /* from 1 on, soonest first */
    size_t heap_count, heap_cap;
    size_t out;                 /* messages, of all queues */
};

#define LEASES_EMPTY ((struct leases){.queues = MAP_EMPTY, .points = MAP_EMPTY})

void leases_done(struct leases *l);

/* NULL when there is none and it is not to be made. */
struct lease_queue *leases_queue(struct leases *l, struct slice topic, struct slice group, int32_t queue_id, bool make);
/* Only one without check points. */
void leases_remove_queue(struct leases *l, struct lease_queue *q);

/* Messages of r go out; its `acked` are out no more. NULL: there is one of that name. */
struct check_point *leases_add(struct leases *l, struct lease_queue *q, const struct pop_record *r);
struct check_point *leases_find(const struct leases *l, const struct lease_queue *q, int64_t start_offset, int64_t pop_ms);
/* The check point by which a message is out, and its place there; NULL when it is not. Looks at all of the queue. */
struct check_point *leases_find_message(const struct lease_queue *q, int64_t offset, size_t *index);
void leases_remove(struct leases *l, struct check_point *p);

/* Its place in the check point; -1: it is none of its messages. */
int leases_index(const struct check_point *p, int64_t offset);
static inline int64_t leases_offset(const struct check_point *p, size_t index) { return p->start_offset + p->diffs[index]; }
static inline bool leases_is_out(const struct check_point *p, size_t index) { return !(p->acked >> index & 1); }
static inline int64_t leases_due_ms(const struct check_point *p) { return p->pop_ms + p->invisible_ms; }
uint32_t leases_all(const struct check_point *p);
/* Nothing of it is out, and nobody works on it. */
static inline bool leases_is_over(const struct check_point *p)
{
    return p->acked == leases_all(p) && !p->untold && !p->storing && !p->busy && !p->revival;
}

/* The message is out no more, or (it turned out that its acknowledgement was not stored) it still is. */
void leases_ack(struct leases *l, struct check_point *p, size_t index);
void leases_unack(struct leases *l, struct check_point *p, size_t index);

/* Of those that are due, the first; it is not due any more, for the table, until leases_again(). NULL: none is. */
struct check_point *leases_take_due(struct leases *l, int64_t now_ms);
void leases_again(struct leases *l, struct check_point *p);
/* It is due at that time, whatever was said. */
void leases_expire(struct leases *l, struct check_point *p, int64_t at_ms);
/* When the next one is due; -1: never. */
int64_t leases_next_due_ms(const struct leases *l);

/* --- what the log says --- */

/* Applies records in their order: what is out after all of them is what was out when the log ended. */
void leases_apply(struct leases *l, const struct pop_record *r, struct slice own_broker);

/* All of it, with where each queue goes on, as bytes; what is being stored counts as stored. */
void leases_encode(const struct leases *l, struct buf *out);
/* Into an empty table. False: these are none, and the table is empty. */
bool leases_decode(struct leases *l, struct slice bytes);

#endif
