/* half.h - half messages: prepared, and seen by nobody until they are committed.
 * Facts    docs/protocol/semantics.md 5, store.md 11
 * Threads  loop */
#ifndef SKYLARK_BROKER_HALF_H
#define SKYLARK_BROKER_HALF_H

#include "broker/intake/known_properties.h"
#include "broker/state.h"

#define HALF_TOPIC     SLICE("RMQ_SYS_TRANS_HALF_TOPIC")
#define OP_TOPIC       SLICE("RMQ_SYS_TRANS_OP_HALF_TOPIC")          /* which of them have ended */
#define GIVEN_UP_TOPIC SLICE("TRANS_CHECK_MAX_TIME_TOPIC")

/* What a half message knows of the message that it may become; names as in its properties. */
#define HALF_TRANSACTION_ID   SLICE("__transactionId__")
#define HALF_REAL_TOPIC       SLICE("REAL_TOPIC")
#define HALF_REAL_QUEUE       SLICE("REAL_QID")
#define HALF_PRODUCER_GROUP   SLICE("PGROUP")
#define HALF_CHECKS           SLICE("TRANSACTION_CHECK_TIMES")
#define HALF_FIRST_OFFSET     SLICE("TRAN_PREPARED_QUEUE_OFFSET")
#define HALF_IMMUNITY         SLICE("CHECK_IMMUNITY_TIME_IN_SECONDS")

/* Whether the sender means to commit or roll back later. One that is sent back by an old client with a delay is a message like others. */
bool intake_is_half(const struct send_header *h, const struct known_properties *p);
/* Makes m the half message of itself; its properties then lie in `text` (empty, the caller's). Errors: NO_PERMISSION, MESSAGE_ILLEGAL. */
err_t intake_half(struct broker *b, const struct send_header *h, const struct known_properties *p, struct message *m, struct buf *text) MUST_CHECK;

#endif
