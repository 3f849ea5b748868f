/* order.h - ordered pops: which messages of a queue a group has out, in order; while one is, the queue is blocked, or (by message groups) its
 * message group is.
 * Files    config/consumerOrderInfo.json in the original's format. By message groups, `o` tells the first messages that are out, and `g`, our
 *          own, all of them: the original blocks the whole queue until it knows nothing of them any more
 * Facts    docs/protocol/pop.md 5, store.md 8
 * Units    times in ms of the wall clock
 * Threads  loop, but order_open and order_close, which block */
#ifndef SKYLARK_BROKER_ORDER_ORDER_H
#define SKYLARK_BROKER_ORDER_ORDER_H

#include "base/buf.h"
#include "base/map.h"
#include "os/saver.h"

struct broker;

struct order {
    struct broker *broker;
    struct map queues;          /* topic, '@', group, '@', queue id -> struct order_queue */
    struct saver saver;
    struct timer flush;         /* of what nobody waits for */
    bool syncs;                 /* what is told has to be on disk */
    bool in_memory;             /* it has no file: nothing of it outlives the broker */
};

/* One message that was handed out. */
struct order_message {
    int64_t offset;
    int64_t from;               /* what is between it and the message before matched nothing: it begins there */
    uint64_t group;             /* hash of its message group; 0: none */
    int64_t pop_ms;             /* the pop that handed it out last */
    int64_t visible_ms;         /* it is out until then */
    int32_t count;              /* times it was handed out before that one, less those that were given back */
    bool acked;
};

struct order_queue {
    struct slice topic, group;  /* behind it */
    int32_t queue_id;
    bool by_groups;
    bool suspended;             /* its client gave the last pop back */
    int64_t pop_ms;             /* of the last pop */
    int64_t invisible_ms;
    int64_t used_ms;            /* lastConsumeTimestamp */
    int64_t base;               /* by groups: where the group is */
    int64_t unlock_ms;          /* when somebody has to be told; -1: never */
    char *attempt_id;           /* NULL: none */
    struct order_message *messages;   /* ascending offsets; from the first that is not acknowledged on */
    size_t count, cap;
};

err_t order_open(struct order *o, struct broker *b) MUST_CHECK;
err_t order_close(struct order *o) MUST_CHECK;
/* One without a file. */
void order_open_in_memory(struct order *o, struct broker *b);

struct order_queue *order_find(const struct order *o, struct slice topic, struct slice group, int32_t queue_id);
/* The queue may not be popped now: messages are out, and not by the same attempt. */
bool order_is_blocked(const struct order_queue *q, struct slice attempt_id, int64_t invisible_ms, int64_t now_ms);
/* A pop handed out these messages of the queue: of a queue as a whole they are all that is out. Appends what it tells of them. */
struct order_pop {
    struct slice topic, group;
    int32_t queue_id;
    struct slice attempt_id;
    int64_t pop_ms, invisible_ms;
    const int64_t *offsets;
    const uint64_t *groups;     /* NULL: the queue as a whole */
    const int64_t *froms;       /* by groups: from there to the message, nothing matched */
    size_t count;
};
void order_popped(struct order *o, const struct order_pop *pop, struct buf *count_info);

enum order_result { ORDER_OK, ORDER_IGNORED, ORDER_ILLEGAL };
/* *out_next: where the group is, with ORDER_OK. */
enum order_result order_ack(struct order *o, struct slice topic, struct slice group, int32_t queue_id, int64_t offset, int64_t pop_ms,
                            int64_t *out_next);
/* False: nothing of that pop is out there. */
bool order_change(struct order *o, struct slice topic, struct slice group, int32_t queue_id, int64_t offset, int64_t pop_ms, int64_t visible_ms);
/* The client gives back all that it has of that pop, which does not count as a try: nothing of the queue is visible before then. */
bool order_suspend(struct order *o, struct slice topic, struct slice group, int32_t queue_id, int64_t pop_ms, int64_t visible_ms);
void order_clear(struct order *o, struct slice topic, struct slice group, int32_t queue_id);
/* Of a topic, or of a group; the other one's p is NULL. */
void order_forget(struct order *o, struct slice topic, struct slice group);
/* `done` runs when what changed so far is on disk; at once in a broker that does not sync what it acknowledges. */
void order_when_saved(struct order *o, struct saver_waiter *w);
/* Drops what is of no use any more. */
void order_tidy(struct order *o);
size_t order_in_flight(const struct order *o, struct slice topic, struct slice group, int32_t queue_id);

/* When a message of it is visible again; -1: none is out. */
int64_t order_unlock_ms(const struct order_queue *q, int64_t now_ms);
/* Tells of queues that wait for nothing any more; returns when the next one will, -1: never. */
int64_t order_unlocked(struct order *o, int64_t now_ms, void (*each)(void *ctx, struct slice topic, struct slice group, int32_t queue_id),
                       void *ctx);

/* By message groups: whether a message of that group may be handed out now, and what it is if it was handed out before. */
bool order_is_done(const struct order_queue *q, int64_t offset);
enum order_turn { ORDER_TAKE, ORDER_SKIP };
enum order_turn order_turn_of(const struct order_queue *q, int64_t offset, uint64_t group, struct slice attempt_id, int64_t now_ms);

#endif
