/* local.h - streams between two loops of one process: what one end writes goes to the other by mail, one letter for each direction
 * and turn. The rooms above use them as they use sockets.
 * Shape    one loop has a port, others connect to it; each connection has an end at either loop
 * Limits   an end holds up to LOCAL_WINDOW bytes that its owner has not read: then writes are WRITE_LATER
 * Threads  a port: local_port_new/close: loop (of the port); ref, unref, local_connect: any, with a loop of the calling thread
 * Owns     a stream belongs to who got it, until stream_close(). A loop may be freed when the ends and ports on it have been closed */
#ifndef SKYLARK_NET_LOCAL_H
#define SKYLARK_NET_LOCAL_H

#include "net/loop.h"

enum { LOCAL_WINDOW = 512 * 1024 };

struct local_port;

/* Connections are given to `accepted`. The caller holds one reference. */
struct local_port *local_port_new(struct loop *loop, const struct listener_events *events);
/* No connection is accepted after it; streams stay. Drops the caller's reference. NULL is fine. */
void local_port_close(struct local_port *p);
struct local_port *local_port_ref(struct local_port *p);
void local_port_unref(struct local_port *p);

/* A stream to whoever has the port, usable at once. remote is told to the other end: who is connected on behalf of somebody; NULL:
 * 127.0.0.1:0. Errors: CLOSED. */
err_t local_connect(struct loop *loop, struct local_port *p, const struct addr *remote, struct stream **out) MUST_CHECK;

#endif
