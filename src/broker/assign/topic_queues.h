/* topic_queues.h - which queues a topic has to read, on all brokers: as a name server says.
 * Threads  loop
 * Owns     what it gives out is valid until the callback returns */
#ifndef SKYLARK_BROKER_TOPIC_QUEUES_H
#define SKYLARK_BROKER_TOPIC_QUEUES_H

#include "codec/body_queue.h"

struct broker;
struct topic_queues;

struct topic_queues *topic_queues_new(struct broker *b);
/* Who still waits is told that nothing is known. */
void topic_queues_free(struct topic_queues *q);

/* known false: no name server knows the topic, or none answers and none did before. Sorted by broker and number. */
typedef void topic_queues_done(void *ctx, bool known, const struct message_queue *queues, size_t count);
/* Tells, now or later. What is not older than loadBalancePollNameServerInterval is not asked for again. */
void topic_queues_get(struct topic_queues *q, struct slice topic, topic_queues_done *done, void *ctx);

#endif
