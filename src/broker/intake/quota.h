/* quota.h - how much one topic, and one client, may send in a second.
 * Shape    who has sent nothing for a second may send a second's worth at once; after that as much as time passes. What is over is refused
 *          with "busy", and costs nothing of the quota. A client is a connection: official clients have one to each broker.
 * Threads  loop
 * Owns     copies of topic names */
#ifndef SKYLARK_BROKER_QUOTA_H
#define SKYLARK_BROKER_QUOTA_H

#include "base/err.h"
#include "base/map.h"

struct broker;
struct call;

struct quotas {
    struct map topics;    /* name -> struct quota_use */
    struct map clients;   /* connection id, 8 bytes -> struct quota_use */
};

#define QUOTAS_EMPTY ((struct quotas){MAP_EMPTY, MAP_EMPTY})
void quotas_done(struct quotas *q);
/* Forgets who has all of its quota again. */
void quotas_expire(struct quotas *q, int64_t mono_ms);

/* Whether the topic's next message would be refused. */
bool quota_topic_is_over(const struct broker *b, struct slice topic);

/* Takes what a request of so many messages and bytes uses. BUSY: the text says which limit, and of whom. */
err_t quota_take(struct broker *b, const struct call *call, struct slice topic, size_t messages, size_t bytes) MUST_CHECK;

#endif
