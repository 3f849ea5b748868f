/* body_queue.h - message queues by name, and the bodies made of them: locks (41, 42), members of a group (38).
 * Facts    docs/protocol/remoting.md 1.5, A9, A10
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_QUEUE_H
#define SKYLARK_CODEC_BODY_QUEUE_H

#include "codec/bean.h"

struct message_queue {
    struct slice topic;
    struct slice broker;
    int32_t queue_id;
};

/* Body of LOCK_BATCH_MQ and UNLOCK_BATCH_MQ. */
struct lock_request {
    struct slice client_id;
    struct slice group;
    BEAN_LIST(struct message_queue) queues;
    bool only_this_broker;
};

/* Reply of LOCK_BATCH_MQ: the queues that the client holds now. */
struct lock_reply {
    BEAN_LIST(struct message_queue) queues;
};

/* Reply of GET_CONSUMER_LIST_BY_GROUP. */
struct consumer_list {
    BEAN_LIST(struct slice) client_ids;
};

extern const struct bean message_queue_bean;
extern const struct bean lock_request_bean;
extern const struct bean lock_reply_bean;
extern const struct bean consumer_list_bean;

bool message_queue_eq(const struct message_queue *a, const struct message_queue *b);
err_t lock_request_decode(struct slice body, struct arena *arena, struct lock_request *out) MUST_CHECK;
void lock_reply_encode(const struct lock_reply *reply, struct buf *out);
void consumer_list_encode(const struct consumer_list *list, struct buf *out);

#endif
