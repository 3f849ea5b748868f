/* agreement.h - whether the members of a group ask for the same: topics, expressions, message model, consume type.
 * Why      queues are shared among all members of a group and offsets are the group's: what one of them does not ask for is skipped
 *          for the others, too, or waits in a queue that nobody reads
 * Threads  loop */
#ifndef SKYLARK_BROKER_AGREEMENT_H
#define SKYLARK_BROKER_AGREEMENT_H

#include "broker/members/members.h"

/* The same messages: tags in any order, a missing type for TAG. */
bool asks_for_the_same(const struct subscription *a, const struct subscription *b);

/* Compares what c says of itself with the view, which must show the others alone, and with their kinds. Each difference is named in the
 * log with both clients (the first LINES_MAX of them) and counted in *count. Retry topics do not count, and who subscribes to nothing has
 * said nothing yet. Returns the first difference; NULL: there is none. REFUSED. */
err_t members_compare(struct member_group *g, const struct client *c, const struct heartbeat_consumer *h, int64_t *count) MUST_CHECK;

#endif
