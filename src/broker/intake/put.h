/* put.h - storing a message that the broker makes of another one: it is tried again, has come due, was committed.
 * Facts    docs/protocol/semantics.md 3, 4, 5
 * Threads  loop */
#ifndef SKYLARK_BROKER_PUT_H
#define SKYLARK_BROKER_PUT_H

#include "broker/state.h"

/* Stores m, whose topic, queue and properties are complete, once it is due: until then it waits where delayed messages do. Of tags and
 * keys nothing needs to be known. Done when it is as durable as the store makes messages, whatever its property WAIT says: what it was made
 * of may be forgotten then. Has copied what m points to when it returns; b->scratch is free to use for m.
 * Refused (done will not run): as store_append(). */
err_t intake_put(struct broker *b, const struct message *m, append_done *done, void *ctx, struct appended *out) MUST_CHECK;

#endif
