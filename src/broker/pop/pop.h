/* pop.h - consumption without owned queues: a pop takes messages of a group, they are out for a while, and come again unless they are
 * acknowledged in time.
 * Facts    docs/protocol/pop.md
 * Files    check points and acknowledgements in the commit log (record.h); config/popLeases: what was out at a place of the log (rebuild.c);
 *          config/consumerOrderInfo.json, in the original's format (order.h)
 * Threads  loop, but pop_new and pop_free, which may block */
#ifndef SKYLARK_BROKER_POP_H
#define SKYLARK_BROKER_POP_H

#include "broker/state.h"

struct pop;

/* Reads what an earlier run left; pops that come before that is known wait. The store is open. Errors: IO. */
err_t pop_new(struct broker *b, struct pop **out) MUST_CHECK;
/* Before the store is closed: nothing is handed out or put back any more. NULL is fine. */
void pop_stop(struct pop *p);
/* After it. `clean`: everything is on disk. */
err_t pop_free(struct pop *p, bool clean) MUST_CHECK;

/* Messages came to a queue of the revive topic. */
void pop_revive_arrived(struct pop *p, int32_t queue_id);
bool pop_is_revive_topic(const struct pop *p, struct slice topic);

/* An administrator moved the group's offset: it goes on there, and what was out is out no more. */
void pop_offset_reset(struct pop *p, struct slice topic, struct slice group, int32_t queue_id, int64_t offset);
/* Deleted: nothing of it is out, or comes back. */
void pop_topic_gone(struct pop *p, struct slice topic);
void pop_group_gone(struct pop *p, struct slice group);

/* Sets the gauges. */
void pop_show(const struct pop *p);
/* Messages of a queue of the revive topic that are not passed yet; -1: there is no such queue. */
int64_t pop_revive_lag(const struct pop *p, int32_t queue_id);
int64_t pop_revive_first(const struct pop *p, int32_t queue_id, struct slice *out_topic);
/* Messages of the queue that the group has out. */
size_t pop_in_flight(const struct pop *p, struct slice topic, struct slice group, int32_t queue_id);

#endif
