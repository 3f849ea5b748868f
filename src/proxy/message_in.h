/* message_in.h - a message of a gRPC client as brokers take it.
 * Facts    docs/protocol/grpc.md 10.1, 10.3
 * Threads  loop */
#ifndef SKYLARK_PROXY_MESSAGE_IN_H
#define SKYLARK_PROXY_MESSAGE_IN_H

#include "proxy/state.h"

/* Checks the message and appends its properties. False: the request was refused. */
bool message_properties(struct request *r, const struct v2_message *m, struct buf *out) MUST_CHECK;
int32_t message_sys_flag(const struct v2_message *m);
/* By the properties, as brokers and consumers see it. */
enum topic_type message_type_of(struct slice properties);

/* Property names that more than one file needs. */
#define PROPERTY_UNIQUE_KEY  SLICE("UNIQ_KEY")
#define PROPERTY_GROUP       SLICE("PGROUP")
#define PROPERTY_SHARDING    SLICE("__SHARDINGKEY")
#define PROPERTY_BORN_MS     SLICE("BORN_TIMESTAMP")
#define PROPERTY_POP_HANDLE  SLICE("POP_CK")

#endif
