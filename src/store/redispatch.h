/* redispatch.h - the queue entry of a record, found from the record alone. Threads: any.
 * Facts    docs/protocol/store.md 2.3, 3 (LMQ) */
#ifndef SKYLARK_STORE_REDISPATCH_H
#define SKYLARK_STORE_REDISPATCH_H

#include "codec/message.h"

/* What the entry says about the tags; for the topic of delay levels, when the message is due. */
int64_t redispatch_tag_hash(const struct message *m);
/* False for half messages, rollbacks, and batches stored as one record (they have queues of their own). */
bool redispatch_has_entry(const struct message *m);
/* Further queues of the message, each with its offset there. `at` starts at 0; false when there is none left. */
bool redispatch_next_lmq(const struct message *m, size_t *at, struct slice *topic, int64_t *queue_offset);

#endif
