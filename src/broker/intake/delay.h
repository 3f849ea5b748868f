/* delay.h - messages that are due later, and where they wait until then.
 * Facts    docs/protocol/semantics.md 3
 * Threads  loop */
#ifndef SKYLARK_BROKER_DELAY_H
#define SKYLARK_BROKER_DELAY_H

#include "broker/intake/known_properties.h"
#include "broker/state.h"

#define TIMER_TOPIC "rmq_sys_wheel_timer"

/* If m is due later, makes it the message that waits: in a topic of the broker's, with its own topic and queue kept in its properties,
 * which then lie in `text` (empty, the caller's). Others stay as they are. Errors:
 * FIELD (a level that is no number), MESSAGE_ILLEGAL (a time that cannot be, or is too far ahead), REFUSED (times are switched off, or
 * too many messages are due then). */
err_t intake_delay(struct broker *b, struct message *m, const struct known_properties *p, struct buf *text) MUST_CHECK;

#endif
