/* lite_subscription.h - lite topics between clients and brokers: who may have them, who has lost one, who is gone.
 * Facts    docs/protocol/lite.md
 * Threads  loop */
#ifndef SKYLARK_PROXY_LITE_SUBSCRIPTION_H
#define SKYLARK_PROXY_LITE_SUBSCRIPTION_H

#include "proxy/state.h"

/* Whether the group, of r->wanted, is bound to the topic. False: the request was refused. */
bool lite_check_bound(struct request *r, struct slice group, struct slice topic) MUST_CHECK;
/* All brokers of its lite topics are told that the client wants none any more. */
void lite_client_gone(struct proxy *p, const struct client *c);
/* NOTIFY_UNSUBSCRIBE_LITE of a broker: the client is told. Takes the call. */
void lite_lost(struct broker_peer *from, struct call *call);
/* How a client of that type may not use the group (r->wanted, NULL: unknown) and the topic it subscribes to first: a sentence in the
 * request's arena and its code; p NULL: it may. */
struct slice lite_misuse(struct request *r, int32_t type, struct slice group, struct slice topic, int32_t *code);

#endif
