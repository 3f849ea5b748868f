/* relay.h - one connection in front of several servers of this process: each request goes to the one that its code belongs to, as it is;
 * what they say goes to the client.
 * Shape    a client's connection has one of its own to each server that it asks something, made when needed: a server knows it as it
 *          would know the client itself, by its address
 * Threads  loop
 * Limits   who is slow holds back those who talk to him; frames are never cut */
#ifndef SKYLARK_RPC_RELAY_H
#define SKYLARK_RPC_RELAY_H

#include "rpc/rpc.h"

enum { RELAY_SERVERS_MAX = 2 };

struct rpc_relay;
struct stream;

struct rpc_relay_options {
    struct local_port *servers[RELAY_SERVERS_MAX];
    /* Which of them has the requests with this code. Replies of a client go to the last one that asked it something. */
    size_t (*choose)(int32_t code);
    int64_t idle_close_ms;            /* 0: never */
};

struct rpc_relay *rpc_relay_new(struct loop *loop, const struct rpc_relay_options *options);
/* Takes the stream of a client. */
void rpc_relay_take(struct rpc_relay *r, struct stream *s, const struct addr *remote);
/* Bytes that were said and not taken, all connections together. */
size_t rpc_relay_unsent(const struct rpc_relay *r);
/* Ends all connections. NULL is fine. */
void rpc_relay_free(struct rpc_relay *r);

#endif
