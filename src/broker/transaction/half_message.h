/* half_message.h - what a half message says of itself, and the messages that are made of it.
 * Facts    docs/protocol/semantics.md 5, store.md 11, remoting.md A12
 * Threads  any
 * Owns     nothing: texts borrow from the message */
#ifndef SKYLARK_BROKER_HALF_MESSAGE_H
#define SKYLARK_BROKER_HALF_MESSAGE_H

#include "base/buf.h"
#include "codec/message.h"

struct half_facts {
    struct slice topic;         /* where it belongs when it is committed */
    int32_t queue_id;
    struct slice group;         /* of its producer */
    struct slice unique_key;
    int64_t first_offset;       /* of its first copy in the half queue: its own, if it was never put back */
    struct slice immunity;      /* as its producer wrote it; p NULL: nothing */
    int32_t checks;
};

/* False: no half message. */
bool half_facts_read(const struct message *m, struct half_facts *out);
/* How long its producer is left alone; -1: no longer than the others. Seconds that are no number count as none. */
int64_t half_immunity_ms(const struct half_facts *facts);
/* A producer that asked for immunity and ends later than that has to wait until it is asked. */
bool half_is_late(const struct half_facts *facts, int64_t age_ms, int64_t timeout_ms);

/* The message as consumers get it: that of the half message without REAL_TOPIC and REAL_QID. Its properties lie in `text`. */
void half_commit(const struct message *half, const struct half_facts *facts, int64_t prepared_offset, struct buf *text, struct message *out);
/* A newer copy of the half message, for the end of its queue; first_offset -1: it begins anew. Its properties lie in `text`. */
void half_put_back(const struct message *half, int64_t first_offset, int32_t checks, struct buf *text, struct message *out);
/* The half message in the topic of those that nobody decided on. */
void half_give_up(const struct message *half, struct message *out);
/* The record that a producer is shown when it is asked: topic and queue are those of the message, offsets those of the newest copy. */
void half_ask(const struct message *half, const struct half_facts *facts, struct buf *record);

#endif
