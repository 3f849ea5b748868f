/* front.h - a port for clients of all kinds: what a connection speaks is told by its first bytes. The room's own. Threads: loop */
#ifndef SKYLARK_APP_FRONT_H
#define SKYLARK_APP_FRONT_H

#include "base/addr.h"
#include "base/config.h"

struct front;
struct grpc_server;
struct local_port;
struct loop;
struct rpc_relay;
struct stream;
struct tls;

struct front_options {
    struct loop *loop;
    struct addr at;
    struct grpc_server *grpc;         /* borrowed; gets what speaks HTTP */
    /* Gets the streams of clients that speak the remoting protocol. */
    void (*take)(void *ctx, struct stream *s, const struct addr *remote);
    void *take_ctx;
    const struct tls *tls;            /* NULL: plaintext alone */
    enum tls_mode tls_mode;
};

err_t front_new(const struct front_options *options, struct front **out) MUST_CHECK;
struct addr front_addr(const struct front *f);
/* Takes nobody any more; connections that were handed over stay. NULL is fine. */
void front_free(struct front *f);

/* In front of a name server and a broker of this process: whom a request is for is told by its code. The struct outlives it. */
struct both_servers {
    struct local_port *namesrv, *broker;
};
struct rpc_relay *front_relay_new(struct loop *loop, const struct both_servers *servers, int64_t idle_close_ms);

#endif
