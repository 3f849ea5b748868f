/* registration.h - the broker at its name servers: registers at start, regularly, and when topics change.
 * Facts    docs/protocol/remoting.md 5.1
 * Threads  loop
 * Shape    a round tells every name server and ends when each has answered or failed; a change is told with the topics that
 *          changed alone, the regular rounds tell all */
#ifndef SKYLARK_BROKER_REGISTRATION_H
#define SKYLARK_BROKER_REGISTRATION_H

#include "codec/body_topic_config.h"

struct broker;
struct registration;

/* Name servers from namesrvAddr; none is fine. The first round starts at once. */
struct registration *registration_new(struct broker *b);
/* `done` never runs after it. */
void registration_free(struct registration *r);

/* A topic was made or changed; NULL: deleted. Told with the others of this turn. */
void registration_topic_changed(struct registration *r, const struct topic_config *topic);
/* namesrvAddr or brokerPermission was set: tells everything to the name servers that are named now. */
void registration_configured(struct registration *r);
/* A name server to ask something: one that answered last, else any; NULL: there is none. Valid until namesrvAddr is set. */
struct rpc_peer *registration_names(const struct registration *r);
/* Tells what has changed now; `done` runs at the end of that round. */
void registration_now(struct registration *r, void (*done)(void *ctx), void *ctx);
enum { REGISTRATION_ADDRESS_MAX = 320 };
/* "host:port" as name servers and replicas are told. */
void registration_addresses(const struct broker *b, char address[static REGISTRATION_ADDRESS_MAX], char ha[static REGISTRATION_ADDRESS_MAX]);
/* A name server has the broker in its routes, or there is none to tell. */
bool registration_is_known(const struct registration *r);
/* The broker goes: tells it, and stops registering. `done` runs when each name server has answered, or did not in time. */
void registration_end(struct registration *r, void (*done)(void *ctx), void *ctx);

#endif
