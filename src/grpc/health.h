/* health.h - grpc.health.v1.Health: whether a server is there and takes calls, for load balancers and supervisors.
 * Facts    the gRPC health checking protocol: Check, Watch; the service "" is the whole server
 * Threads  loop */
#ifndef SKYLARK_GRPC_HEALTH_H
#define SKYLARK_GRPC_HEALTH_H

#include "grpc/grpc.h"

struct health;

struct health *health_new(void);
const struct grpc_service *health_service(struct health *h);
/* A service that is there; the name is borrowed. */
void health_add(struct health *h, const char *name);
/* From now on NOT_SERVING, for who asks and who watches; those who watch are let go. */
void health_leave(struct health *h);
/* After its server has been closed. NULL is fine. */
void health_free(struct health *h);

#endif
