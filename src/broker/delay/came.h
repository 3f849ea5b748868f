/* came.h - which waiting messages an earlier run delivered though what it wrote down does not say so: their copies are in the log.
 * Shape    a broker that ends well writes down all it delivered; one that is killed does not, for some seconds. Each note of progress
 *          therefore names a place of the log that all copies it does not tell of lie behind. From there on the log is read at the
 *          start, by a worker, and each copy leaves a digest of what it shares with the message it was made of: topic, queue, times,
 *          reconsume times, body and properties. Messages that agree in all of that are the same to everybody: they are counted
 * Threads  loop
 * Memory   17 bytes a copy, until each has met its message */
#ifndef SKYLARK_BROKER_CAME_H
#define SKYLARK_BROKER_CAME_H

#include "broker/state.h"

struct came;

enum came_from { CAME_FROM_LEVELS, CAME_FROM_TIMER };

/* The log grows so much at the most until a note of progress names a place again, while something waits. */
#define CAME_LOG_BYTES (64ll << 20)

/* Looks for copies from a position of the log on; `ready` runs later. */
struct came *came_new(struct broker *b, enum came_from from, int64_t log_offset, void (*ready)(void *ctx), void *ctx);
/* At any time; `ready` does not run after it. NULL is fine. */
void came_free(struct came *c);
/* Whether the copy m is there already, that a waiting message would become now; each counts once. NULL: none is. */
bool came_take(struct came *c, const struct message *m);
/* No copy is left that somebody could ask for. */
bool came_is_empty(const struct came *c);

#endif
