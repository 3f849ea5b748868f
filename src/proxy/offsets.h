/* offsets.h - requests that name a queue. Threads: loop. */
#ifndef SKYLARK_PROXY_OFFSETS_H
#define SKYLARK_PROXY_OFFSETS_H

#include "proxy/checks.h"

/* Its topic and id; false: the request was refused. */
bool check_queue(struct request *r, const struct v2_message_queue *queue) MUST_CHECK;
/* The queue's broker, when the topic's route is there; NULL: the request was refused. */
struct broker_peer *queue_broker(struct request *r, const struct v2_message_queue *queue);

#endif
