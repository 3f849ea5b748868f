/* traffic.h - messages that came and went, counted by topic and group for whoever scrapes. The room's own. Threads: loop.
 * Facts    docs/protocol/semantics.md 13 (labels) */
#ifndef SKYLARK_BROKER_TRAFFIC_H
#define SKYLARK_BROKER_TRAFFIC_H

#include "broker/intake/known_properties.h"
#include "broker/state.h"

/* "normal", "fifo", "delay" or "transaction". */
struct slice traffic_type(const struct known_properties *known);
/* Messages of one send were stored, `bytes` in all. */
void traffic_in(struct broker *b, struct slice topic, struct slice type, int64_t messages, int64_t bytes);

enum traffic_way { TRAFFIC_PULLED, TRAFFIC_POPPED, TRAFFIC_POPPED_RETRY };
/* A group got messages of a topic. */
void traffic_out(struct broker *b, struct slice topic, struct slice group, int64_t messages, int64_t bytes, enum traffic_way way);

/* Whether a topic or a group of that name is the broker's own. */
bool traffic_is_system(struct slice topic, struct slice group);

#endif
