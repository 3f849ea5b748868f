/* message_out.h - a stored message as gRPC clients see it.
 * Facts    docs/protocol/grpc.md 10.4
 * Threads  loop */
#ifndef SKYLARK_PROXY_MESSAGE_OUT_H
#define SKYLARK_PROXY_MESSAGE_OUT_H

#include "codec/message.h"
#include "proxy/state.h"

/* Where a message was popped: what its record does not say. */
struct popped {
    struct slice topic;              /* that the client asked for, also when the record lies in a retry topic */
    struct slice handle;             /* p NULL: none */
    int32_t reconsume_times;
};

/* In the arena; texts and body borrow from m. NULL: no memory. */
struct v2_message *message_out(struct arena *arena, const struct message *m, const struct popped *popped, int64_t now_ms);
/* UNIQ_KEY, or the offset id, which is formatted into the arena. */
struct slice message_id_of(struct arena *arena, const struct message *m);

#endif
