/* redispatch.h - the queue entry of a record, found from the record alone. Threads: any.
 * Facts    docs/protocol/store.md 2.1, 2.3, 3 (LMQ, BatchConsumeQueue) */
#ifndef SKYLARK_STORE_REDISPATCH_H
#define SKYLARK_STORE_REDISPATCH_H

#include "codec/delay_levels.h"
#include "codec/message.h"
#include "codec/queue_entry.h"

/* What the entry says about the tags; for the topic of delay levels, when the message is due. */
int64_t redispatch_tag_hash(const struct message *m, const struct delay_levels *levels);
/* False for half messages and rollbacks, and for a batch that does not say how many messages it holds. */
bool redispatch_has_entry(const struct message *m);
/* The kind of queue it belongs to, as far as the record tells: a single message may be one of a topic of batches. */
enum queue_kind redispatch_kind(const struct message *m);
/* Messages in a record: INNER_NUM of a batch, 0 when that says none that can be; else 1. */
int32_t redispatch_count(const struct message *m);
/* Light queues of a message, and its offsets there. */
struct lmq_walk {
    struct slice names, offsets;
};
enum { LMQ_QUEUE_ID = 0 };
/* Whether a message that names light queues has entries there: not in a batch, not while it waits for its time or its commit, and not as what
 * one group alone is to try again, or could not consume. */
bool redispatch_has_lmq(const struct message *m);
/* Each light queue of a stored message, from `w` = redispatch_lmq(m) on; false when there is none left. */
struct lmq_walk redispatch_lmq(const struct message *m);
bool redispatch_next_lmq(struct lmq_walk *w, struct slice *topic, int64_t *queue_offset);

#endif
