/* intake.h - the steps before a message is stored: may it be, where does it go, what does the broker add.
 * Facts    docs/protocol/remoting.md A5, semantics.md 1, 2
 * Threads  loop */
#ifndef SKYLARK_BROKER_INTAKE_H
#define SKYLARK_BROKER_INTAKE_H

#include "broker/intake/known_properties.h"
#include "broker/state.h"

/* Finds the topic that h names, making it where that is allowed, and settles h->queue_id. *out is valid within the turn.
 * Errors: INVALID, NO_PERMISSION, TOPIC_NOT_FOUND, GROUP_NOT_FOUND, with the wording clients know. */
err_t intake_topic(struct broker *b, const struct call *call, struct send_header *h, const struct topic **out) MUST_CHECK;

/* What nobody can store: messages without a body, those that claim to be a batch or to be committed. */
err_t intake_check(const struct send_header *h, const struct known_properties *p, struct slice body) MUST_CHECK;

/* Messages of a batch, and the batch itself, are not delayed. MESSAGE_ILLEGAL. */
err_t intake_check_in_batch(const struct known_properties *p) MUST_CHECK;

/* A message of a compacted topic has a key: otherwise nobody would ever get it. MESSAGE_ILLEGAL. */
err_t intake_check_key(const struct topic *topic, const struct known_properties *p) MUST_CHECK;

/* The queue of a message of release 5.5 with a priority: the one of that number, or the topic's last. Without one, or when it is one of a
 * transaction, delayed or in order as well, `queue_id`. */
int32_t intake_priority_queue(const struct known_properties *p, const struct topic *topic, int32_t queue_id);

/* One message of a single send, with the broker's own properties added. Its properties lie in b->scratch; `unique_key` is
 * the client's, or the one made here. */
void intake_message(struct broker *b, const struct call *call, const struct send_header *h, const struct topic *topic,
                    const struct known_properties *p, struct message *out, struct slice *unique_key);

/* A batch that stays one record, of `count` messages. Its properties lie in b->scratch. */
void intake_batch(struct broker *b, const struct call *call, const struct send_header *h, const struct topic *topic,
                  const struct known_properties *p, size_t count, struct message *out);

/* What all messages of one request have in common; body, properties and tag_hash are the caller's to set. */
void intake_common(const struct call *call, const struct send_header *h, const struct topic *topic, struct message *out);

/* What is known of its properties, told to the store. */
void intake_keys(const struct known_properties *p, struct message *out);

/* For call_reply_more(), ctx is the broker: what every answer to a send tells. */
void intake_trace_fields(void *ctx, struct frame_writer *w);

/* The message waits for the disk unless the client said WAIT=false. */
bool intake_waits(const struct known_properties *p);

#endif
