/* relay.h - one connection in front of several servers: each request goes to the one that it is for, as it is; what they say goes to the
 * client.
 * Shape    a client's connection has one of its own to each server that it asks something, made when needed: a server knows it as it
 *          would know the client itself, in this process by the client's address
 * Threads  loop
 * Limits   who is slow holds back those who talk to him; frames are never cut */
#ifndef SKYLARK_RPC_RELAY_H
#define SKYLARK_RPC_RELAY_H

#include "base/buf.h"
#include "rpc/rpc.h"

enum { RELAY_SERVERS_MAX = 256, RELAY_REFUSAL_MAX = 160 };

struct rpc_relay;
struct stream;

/* Where a request goes. */
struct relay_choice {
    uint16_t servers[RELAY_SERVERS_MAX]; /* numbers of the owner; the first one's reply is the client's, the others are asked one-way */
    size_t count;                        /* 0: the request is answered with what follows */
    int32_t code;
    char remark[RELAY_REFUSAL_MAX];
    struct buf body;                     /* of that answer; the relay frees it */
    bool watch;                          /* `reply` sees the reply */
};

struct rpc_relay_options {
    /* *out is all zero before. f has no body: that stands behind it. Replies of a client go to the server that asked it last. */
    void (*choose)(void *ctx, const struct frame *f, struct slice body, struct relay_choice *out);
    /* Where a server is: a port of this process, or NULL and its "host:port", valid until the next call. */
    struct local_port *(*place)(void *ctx, size_t server, struct slice *out_address);
    /* A reply to a request that was to be watched; writes a frame to `out` to be sent instead, or nothing. NULL: none are watched. */
    void (*reply)(void *ctx, const struct frame *f, struct buf *out);
    void *ctx;
    int64_t idle_close_ms;               /* 0: never */
};

struct rpc_relay *rpc_relay_new(struct loop *loop, const struct rpc_relay_options *options);
/* Takes the stream of a client. */
void rpc_relay_take(struct rpc_relay *r, struct stream *s, const struct addr *remote);
/* Bytes that were said and not taken, all connections together. */
size_t rpc_relay_unsent(const struct rpc_relay *r);
/* Reads nothing more of its clients: what came in so far is answered. Nobody is given to it after that. */
void rpc_relay_quiesce(struct rpc_relay *r);
/* After it, again and again: clients that are owed nothing any more are told that nothing more comes (conn_finish); true: all have ended. */
bool rpc_relay_settle(struct rpc_relay *r);
/* Ends all connections. NULL is fine. */
void rpc_relay_free(struct rpc_relay *r);

#endif
