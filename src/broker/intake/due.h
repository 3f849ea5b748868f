/* due.h - the message that a record of a waiting one becomes when it is due.
 * Facts    docs/protocol/semantics.md 3: topic and queue are restored, the properties stay as they are stored
 * Threads  loop */
#ifndef SKYLARK_BROKER_DUE_H
#define SKYLARK_BROKER_DUE_H

#include "broker/state.h"

enum { DUE_ANY_OFFSET = -1 };

/* `record` waited in that topic, at that offset of its queue. *out borrows from it and has its body_crc. NULL, or why there is nothing to deliver. */
const char *intake_due(struct broker *b, struct slice record, struct slice topic, int64_t queue_offset, struct message *out);

#endif
