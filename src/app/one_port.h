/* one_port.h - a port that serves name server, broker and gRPC clients alike: what a connection speaks is told by its first bytes, whom a
 * remoting request is for by its code. The room's own. Threads: loop */
#ifndef SKYLARK_APP_ONE_PORT_H
#define SKYLARK_APP_ONE_PORT_H

#include "base/addr.h"
#include "base/config.h"

struct grpc_server;
struct local_port;
struct loop;
struct one_port;
struct tls;

struct one_port_options {
    struct loop *loop;
    struct addr at;
    struct local_port *namesrv, *broker;
    struct grpc_server *grpc;         /* borrowed */
    const struct tls *tls;            /* NULL: plaintext alone */
    enum tls_mode tls_mode;
    int64_t idle_close_ms;            /* of remoting connections */
};

err_t one_port_new(const struct one_port_options *options, struct one_port **out) MUST_CHECK;
struct addr one_port_addr(const struct one_port *o);
/* Takes nobody any more; connections stay. */
void one_port_leave(struct one_port *o);
/* Ends remoting connections. NULL is fine. */
void one_port_free(struct one_port *o);

#endif
