/* delay.h - messages that are due later, and where they wait until then.
 * Facts    docs/protocol/semantics.md 3
 * Threads  loop */
#ifndef SKYLARK_BROKER_DELAY_H
#define SKYLARK_BROKER_DELAY_H

#include "broker/intake/known_properties.h"
#include "broker/state.h"

/* If m is due later, makes it the message that waits: in a topic of the broker's, with its own topic and queue kept in its properties,
 * which then lie in `text` (empty, the caller's). Others stay as they are. Errors: MESSAGE_ILLEGAL. */
err_t intake_delay(struct broker *b, struct message *m, const struct known_properties *p, struct buf *text) MUST_CHECK;

#endif
