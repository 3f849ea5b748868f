/* prepare.h - what a send needs before it goes to the loop: checked, copied, compressed. The room's own.
 * Threads  any
 * Errors   INVALID, naming what no server would take */
#ifndef SKYLARK_CLIENT_PREPARE_H
#define SKYLARK_CLIENT_PREPARE_H

#include "client/producer/producer.h"

struct sky_error *sending_of(struct sky_producer *p, const struct sky_message *m, const struct sky_send_options *o, struct sending **out) SKY_MUST_CHECK;
struct sky_error *sending_of_batch(struct sky_producer *p, const struct sky_message *const *messages, size_t count,
                                   const struct sky_send_options *o, struct sending **out) SKY_MUST_CHECK;

#endif
