/* endpoints.h - what clients are told about where brokers are: at this proxy, each of them. Threads: loop. */
#ifndef SKYLARK_PROXY_ENDPOINTS_H
#define SKYLARK_PROXY_ENDPOINTS_H

#include "proxy/state.h"

/* Those the client says it used, with the port of this proxy. */
struct v2_endpoints *endpoints_told(struct request *r, const struct v2_endpoints *asked);
struct v2_broker *broker_told(struct request *r, const struct route_broker *broker, int64_t id, struct v2_endpoints *endpoints);

#endif
