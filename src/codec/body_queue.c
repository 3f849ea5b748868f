#include "codec/body_queue.h"

#define ROW(kind, member, wire, type, more) {wire, offsetof(struct kind, member), &bean_##type, more, false}

static const struct bean_field queue_rows[] = {
    ROW(message_queue, broker, "brokerName", text, NULL),
    ROW(message_queue, queue_id, "queueId", i32, NULL),
    ROW(message_queue, topic, "topic", text, NULL),
};
const struct bean message_queue_bean = BEAN(struct message_queue, queue_rows, NULL);

static const struct bean_field lock_rows[] = {
    ROW(lock_request, client_id, "clientId", text, NULL),
    ROW(lock_request, group, "consumerGroup", text, NULL),
    ROW(lock_request, queues, "mqSet", list, &message_queue_bean),
    ROW(lock_request, only_this_broker, "onlyThisBroker", bool, NULL),
};
const struct bean lock_request_bean = BEAN(struct lock_request, lock_rows, NULL);

static const struct bean_field lock_reply_rows[] = {
    ROW(lock_reply, queues, "lockOKMQSet", list, &message_queue_bean),
};
const struct bean lock_reply_bean = BEAN(struct lock_reply, lock_reply_rows, NULL);

static const struct bean_field list_rows[] = {
    ROW(consumer_list, client_ids, "consumerIdList", texts, NULL),
};
const struct bean consumer_list_bean = BEAN(struct consumer_list, list_rows, NULL);

bool message_queue_eq(const struct message_queue *a, const struct message_queue *b)
{
    return a->queue_id == b->queue_id && slice_eq(a->topic, b->topic) && slice_eq(a->broker, b->broker);
}

err_t lock_request_decode(struct slice body, struct arena *arena, struct lock_request *out)
{
    return bean_decode(&lock_request_bean, body, arena, "lock request", out);
}

void lock_reply_encode(const struct lock_reply *reply, struct buf *out)
{
    bean_encode(&lock_reply_bean, reply, JSON_RAW, out);
}

void consumer_list_encode(const struct consumer_list *list, struct buf *out)
{
    bean_encode(&consumer_list_bean, list, JSON_RAW, out);
}
