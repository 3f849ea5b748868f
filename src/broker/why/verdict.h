/* verdict.h - what a group's subscription says of one message. The folder's own.
 * Threads  loop */
#ifndef SKYLARK_BROKER_WHY_VERDICT_H
#define SKYLARK_BROKER_WHY_VERDICT_H

#include "broker/state.h"
#include "broker/why/answer.h"

/* Tells what the group subscribes to, what that and each clause of it says of the message, and which one is the first that does not match. Without
 * consumers of the topic it tells nothing. */
void verdict_tell(struct broker *b, struct slice group, struct slice topic, const struct message *m, struct answer_text *a);

#endif
