/* lmq.h - names of light message queues (LMQ): queues of their own, "%LMQ%" and any name, that hold messages of other topics too.
 * Facts    docs/protocol/store.md 3
 * Threads  any */
#ifndef SKYLARK_CODEC_LMQ_H
#define SKYLARK_CODEC_LMQ_H

#include "base/slice.h"

/* Of topics, and of groups that need not be made. */
static inline bool name_is_lmq(struct slice name) { return slice_starts(name, SLICE("%LMQ%")); }

/* Properties of a message: the light queues that hold it too, "a,b", and its offset in each, "x,y". */
#define LMQ_NAMES   SLICE("INNER_MULTI_DISPATCH")
#define LMQ_OFFSETS SLICE("INNER_MULTI_QUEUE_OFFSET")

#endif
