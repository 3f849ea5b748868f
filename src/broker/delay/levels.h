/* levels.h - delivers the messages that wait on a delay level, when they are due.
 * Shape    a level is a queue of SCHEDULE_TOPIC_XXXX: everything before `next` is delivered or on its way, everything before its offset in
 *          b->delay_offsets is stored in its topic. Its entries say when they are due, and of one level they are due in their order
 * Facts    docs/protocol/semantics.md 3
 * Threads  loop
 * Files    config/delayOffset.json, by meta/delay_offsets.h */
#ifndef SKYLARK_BROKER_LEVELS_H
#define SKYLARK_BROKER_LEVELS_H

#include "broker/state.h"

struct levels;

/* Begins in the next turn. Store and offsets are open. */
struct levels *levels_new(struct broker *b);
/* Nothing more is delivered; what is on its way is still answered. */
void levels_stop(struct levels *l);
/* The store is closed; `synced`: and all that it stored is on disk. NULL is fine. */
void levels_free(struct levels *l, bool synced);

/* Messages came to a queue of SCHEDULE_TOPIC_XXXX. */
void levels_arrived(struct levels *l, int32_t queue_id);

#endif
