/* client.h - the client's side: unary calls to one server, one at a time, over a connection that lasts as long as the struct.
 * Facts    the gRPC wire format over HTTP/2 (PROTOCOL-HTTP2)
 * Threads  loop
 * Limits   an answer of GRPC_ANSWER_MAX bytes; the call ends with RESOURCE_EXHAUSTED above it
 * Owns     itself and its connection; requests are copied (packed)
 * Units    times in ms */
#ifndef SKYLARK_GRPC_CLIENT_H
#define SKYLARK_GRPC_CLIENT_H

#include "grpc/grpc.h"
#include "net/loop.h"

enum { GRPC_ANSWER_MAX = 1 << 20 };

struct unary_client_options {
    const char *host;               /* as it stands in the URL, IPv6 without brackets; copied */
    uint16_t port;
    const struct tls *tls;          /* of tls_client_new(); NULL: plaintext. Outlives the client */
    const char *const *headers;     /* of each call: name, value, name, …, NULL; lower-case names; NULL: none. Outlive the client */
    bool pack;                      /* requests with gzip */
};

struct unary_client;

/* What became of a call. Its texts are valid during the callback. */
struct grpc_answer {
    enum grpc_status status;        /* UNAVAILABLE without a connection, DEADLINE_EXCEEDED without an answer in time */
    struct slice text;              /* why, for people; may be empty when OK */
    struct slice message;           /* when OK */
};

/* Connects with the first call. */
struct unary_client *unary_client_new(struct loop *loop, const struct unary_client_options *options);
/* `done` runs once, in a later turn, unless the client is closed; it may begin the next call, or close the client. `path` is "/Service/Method".
 * Not while a call is under way. After a call that was not OK the connection is a new one. */
void unary_client_call(struct unary_client *c, const char *path, struct slice request, int64_t timeout_ms,
                       void (*done)(void *ctx, const struct grpc_answer *answer), void *ctx);
/* NULL is fine. */
void unary_client_close(struct unary_client *c);

#endif
