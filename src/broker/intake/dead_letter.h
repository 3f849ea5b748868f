/* dead_letter.h - what a group could not consume, and when it is given up.
 * Facts    docs/protocol/semantics.md 4, remoting.md A5, A6
 * Threads  loop */
#ifndef SKYLARK_BROKER_DEAD_LETTER_H
#define SKYLARK_BROKER_DEAD_LETTER_H

#include "broker/state.h"

/* Why a message became a dead letter; kept with it as the property DLQ_REASON. */
enum dead_letter_reason { DEAD_NOT, DEAD_TRIED_OFTEN, DEAD_AS_ASKED, DEAD_IN_ORDER };
struct slice dead_letter_reason_text(enum dead_letter_reason why);

/* How often the group tries a message again: what the client says, if it is one that may say it, else the group's setting. */
int32_t intake_max_retries(const struct call *call, const struct group *group, const int32_t *said);

/* The group's topic for dead letters, made when it is not there. NULL: it cannot be made. */
const struct topic *intake_dead_letter_topic(struct broker *b, struct slice group);
/* Tells the operator, and counts it. `topic`: that of the message before it failed. */
void intake_tell_dead_letter(struct broker *b, struct slice group, struct slice topic, struct slice unique_key, enum dead_letter_reason why);

/* A message that a client sends to a group's retry topic: what it could not send back, and what it consumes in order. When it has been
 * tried often enough it becomes a dead letter: *h and *topic change, and its properties lie in `text`. */
err_t intake_retried(struct broker *b, const struct call *call, struct send_header *h, const struct topic **topic, struct buf *text) MUST_CHECK;

#endif
