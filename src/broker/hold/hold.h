/* hold.h - requests that wait for messages: "wake me when queue Q has an entry past offset N, or at time T"; and for anything else, until
 * they are woken or their time is over. Who has many requests to wake watches a topic instead, and is told of each arrival.
 * Threads  loop
 * Owns     nothing: a waiter is embedded in who waits, and is out of the table when `wake` runs
 * Units    offsets count entries of the queue */
#ifndef SKYLARK_BROKER_HOLD_H
#define SKYLARK_BROKER_HOLD_H

#include "base/map.h"
#include "base/slice.h"
#include "os/tasks.h"

enum wake_reason { WAKE_ARRIVED, WAKE_TIMEOUT, WAKE_DROPPED };

/* Nobody waits longer, whatever was asked for. */
enum { HOLD_MAX_MS = 600000 };

struct waiter {
    struct list_node node;
    struct list_node in_conn;    /* the owner's: among what waits for one connection */
    struct hold *hold;           /* NULL: not waiting */
    struct hold_queue *queue;    /* NULL: it waits for no queue */
    int64_t past;                /* first offset not seen yet */
    int64_t deadline_ms;         /* mono_ms */
    struct timer timer;
    void (*wake)(struct waiter *w, enum wake_reason reason);
};

/* One who is told what comes to a topic, whatever the queue; embedded in its owner. It may be watched before there is a topic. */
struct watch {
    struct list_node node;
    struct hold_topic *topic;    /* NULL: it does not watch */
    void (*arrived)(struct watch *w, int32_t queue_id, int64_t end);
    void (*gone)(struct watch *w);   /* the topic was deleted */
};

struct hold {
    struct tasks *tasks;
    struct map queues;           /* topic, 0, queue id as 4 bytes -> struct hold_queue */
    struct map topics;           /* -> struct hold_topic: what is watched */
    struct list parked;          /* waiters without a queue */
    size_t waiting;              /* … for a queue */
};

void hold_init(struct hold *h, struct tasks *tasks);
/* The time of all who wait is over: they wake with WAKE_TIMEOUT, soon. */
void hold_end_waits(struct hold *h);
/* Wakes all waiters with WAKE_DROPPED. */
void hold_done(struct hold *h);

/* Waits until the queue has an entry at offset `past` or beyond, at the longest until deadline_ms. Wakes later, never from
 * here; the caller has looked before that there is none. */
void hold_wait(struct hold *h, struct waiter *w, struct slice topic, int32_t queue_id, int64_t past, int64_t deadline_ms);
/* Waits for hold_wake(), at the longest until deadline_ms. */
void hold_park(struct hold *h, struct waiter *w, int64_t deadline_ms);
/* After it, w does not wake. Harmless when it does not wait. */
void hold_cancel(struct waiter *w);
/* w, which waits, wakes now. */
void hold_wake(struct waiter *w, enum wake_reason reason);
/* The queue has entries up to `end` now. */
void hold_arrived(struct hold *h, struct slice topic, int32_t queue_id, int64_t end);
/* Neither may be called from within arrived() for a watch of another owner. */
void hold_watch(struct hold *h, struct watch *w, struct slice topic);
/* Harmless when it does not watch. */
void hold_unwatch(struct hold *h, struct watch *w);
/* All waiters of the topic wake with WAKE_DROPPED, and who watches it is told: it is gone. */
void hold_drop_topic(struct hold *h, struct slice topic);

#endif
