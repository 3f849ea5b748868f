/* reflection.h - grpc.reflection.v1 and v1alpha: which services a server has and what their messages look like, for tools like grpcurl.
 * Facts    the gRPC server reflection protocol
 * Threads  loop */
#ifndef SKYLARK_GRPC_REFLECTION_H
#define SKYLARK_GRPC_REFLECTION_H

#include "grpc/grpc.h"

struct reflection;

/* The descriptor of grpc.health.v1. */
extern const struct slice health_descriptor;

struct reflection *reflection_new(void);
/* A file of messages and services: the bytes of its FileDescriptorProto, borrowed. Its services are told. */
void reflection_add(struct reflection *r, struct slice descriptor);
/* Both versions of the protocol. */
enum { REFLECTION_SERVICES = 2 };
const struct grpc_service *reflection_service(struct reflection *r, int version);
/* After its server has been closed. NULL is fine. */
void reflection_free(struct reflection *r);

#endif
