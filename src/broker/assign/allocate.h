/* allocate.h - how queues are shared among the members of a group, by place in their sorted lists.
 * Facts    docs/protocol/semantics.md 6
 * Threads  any */
#ifndef SKYLARK_BROKER_ALLOCATE_H
#define SKYLARK_BROKER_ALLOCATE_H

#include "base/slice.h"

#include <stddef.h>

/* Which of `queues` the member at `member` of `members` has: calls take(ctx, place) for each. */
typedef void allocate_strategy(size_t members, size_t member, size_t queues, void (*take)(void *ctx, size_t place), void *ctx);

/* By its name on the wire: AVG, AVG_BY_CIRCLE; NULL: another one, which only clients know. */
allocate_strategy *allocate_named(struct slice name);

#endif
