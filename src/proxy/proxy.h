/* proxy.h - the services of gRPC clients: producers and consumers of the 5.x SDKs, in front of brokers of either kind.
 * Facts    docs/protocol/grpc.md, docs/protocol/pop.md 9
 * Shape    a service for grpc_listen(); brokers and name servers are reached by rpc peers alone, so that it is all the same whether
 *          they are in this process
 * Threads  loop: one proxy belongs to one loop, with the connections of its clients
 * Owns     nothing of what it is given: config, loop, metrics outlive it */
#ifndef SKYLARK_PROXY_PROXY_H
#define SKYLARK_PROXY_PROXY_H

#include "base/config.h"
#include "grpc/grpc.h"
#include "rpc/rpc.h"

struct proxy;

struct proxy_options {
    struct loop *loop;
    struct config *config;            /* section proxy, changed by proxy_configure() alone; keys are looked up when they count */
    const char *namesrv_addr;         /* name servers, host:port separated by ; */
    uint16_t port;                    /* that clients are told; 0: grpcServerPort */
    struct metrics *metrics;          /* of the loop; NULL: nothing is counted */
    uint64_t seed;                    /* for choosing queues */
    /* How to reach a broker or name server by its address; NULL, or an answer of NULL: by a socket. The peer is the proxy's. */
    struct rpc_peer *(*connect)(void *ctx, struct slice address, const struct rpc_service *service, const struct rpc_options *options);
    void *connect_ctx;
};

err_t proxy_new(const struct proxy_options *options, struct proxy **out) MUST_CHECK;
/* For grpc_listen(); as long as the proxy. */
const struct grpc_service *proxy_service(struct proxy *p);
/* Keys that may change while running, as a properties text: all of them, or none. Errors: CONFIG, NO_PERMISSION. */
err_t proxy_configure(struct proxy *p, struct slice text) MUST_CHECK;
/* All keys with their values, as a properties text; appended. */
void proxy_configuration(const struct proxy *p, struct buf *out);
/* Nobody waits here any more: clients are asked to connect anew elsewhere, their streams and the receives that wait for messages end.
 * Before the server is drained. */
void proxy_leave(struct proxy *p);
/* After its server is closed. NULL is fine. */
void proxy_free(struct proxy *p);

/* --- clients of the remoting protocol, behind one port (docs/protocol/grpc.md 13) --- */

struct local_port;
struct proxy_remoting;
struct stream;

struct proxy_remoting_options {
    struct loop *loop;
    const char *namesrv_addr;         /* host:port separated by ; */
    const char *access;               /* host:port that routes name instead of brokers' */
    int64_t idle_close_ms;
    struct proxy *proxy;              /* whose configuration is asked for and changed here (25, 26); NULL: nobody's */
    /* The port of a broker or name server that is in this process; NULL, or an answer of NULL: by a socket. */
    struct local_port *(*local)(void *ctx, struct slice address);
    void *local_ctx;
};

/* Requests go to the broker that they name (bname), heartbeats to all; routes come from the name servers, with this port in them. What a
 * broker knows of its clients it knows of these too. Errors: CONFIG. */
err_t proxy_remoting_new(const struct proxy_remoting_options *options, struct proxy_remoting **out) MUST_CHECK;
/* Takes the stream of a client. */
void proxy_remoting_take(struct proxy_remoting *m, struct stream *s, const struct addr *remote);
/* NULL is fine. */
/* As rpc_relay_quiesce() and rpc_relay_settle(). */
void proxy_remoting_quiesce(struct proxy_remoting *m);
bool proxy_remoting_settle(struct proxy_remoting *m);
void proxy_remoting_free(struct proxy_remoting *m);

#endif
