/* timed.h - messages that are due at any time asked for: from the timer topic into the wheel, and from there to their topics.
 * Shape    enqueue: the queue of TIMER_TOPIC is read in its order, each message gets a unit in the wheel, or is delivered when it is due
 *          already. dequeue: slots whose tick is over are taken in their order; messages that take others back come first, then the
 *          others, oldest first. A slot is cleared when all of its messages are stored where they belong
 * Facts    docs/protocol/semantics.md 3, store.md 9
 * Files    those of timer/timer.h; config/timermetrics, by meta/timer_metrics.h
 * Threads  loop */
#ifndef SKYLARK_BROKER_TIMED_H
#define SKYLARK_BROKER_TIMED_H

#include "broker/state.h"

struct timed;

/* Looks at the files; goes on by itself when that is done. The store is open. */
struct timed *timed_new(struct broker *b);
/* Nothing more is enqueued or delivered; what is on its way is still answered. */
void timed_stop(struct timed *t);
/* The store is closed; `synced`: and all that it stored is on disk. Blocks. NULL is fine. */
err_t timed_free(struct timed *t, bool synced) MUST_CHECK;

/* Whatever was due before that time of the wall clock is stored where it belongs. */
bool timed_has_delivered(const struct timed *t, int64_t ms);
/* Messages came to the timer topic. */
void timed_arrived(struct timed *t);

#endif
