/* grpc.h - gRPC calls over HTTP/2: a server that knows nothing of what the calls mean.
 * Facts    docs/protocol/grpc.md 1; the gRPC wire format over HTTP/2 (PROTOCOL-HTTP2)
 * Shape    a call is one HTTP/2 stream: messages come in, messages go out, a status ends it
 * Threads  loop: everything here; each edge loop has servers of its own
 * Limits   grpc_options; a connection or call that breaks them is ended, and the reason logged
 * Owns     a struct grpc_call is valid from `begin` until `gone` or grpc_finish(), whichever comes first
 * Units    times in ms */
#ifndef SKYLARK_GRPC_GRPC_H
#define SKYLARK_GRPC_GRPC_H

#include "base/addr.h"
#include "base/err.h"
#include "base/pin.h"

#include <stdint.h>

struct grpc_call;
struct grpc_server;
struct loop;
struct metrics;
struct sniffed;
struct tls;

enum grpc_status {
    GRPC_OK, GRPC_CANCELLED, GRPC_UNKNOWN, GRPC_INVALID_ARGUMENT, GRPC_DEADLINE_EXCEEDED, GRPC_NOT_FOUND, GRPC_ALREADY_EXISTS,
    GRPC_PERMISSION_DENIED, GRPC_RESOURCE_EXHAUSTED, GRPC_FAILED_PRECONDITION, GRPC_ABORTED, GRPC_OUT_OF_RANGE, GRPC_UNIMPLEMENTED,
    GRPC_INTERNAL, GRPC_UNAVAILABLE, GRPC_DATA_LOSS, GRPC_UNAUTHENTICATED,
};

/* What calls of a service mean. One implementation per service; `ctx` is that of grpc_service. */
struct grpc_service {
    const char *name;                                    /* "apache.rocketmq.v2.MessagingService": the path before the method */
    /* The headers of a call are in. method is what follows the last '/'. False: UNIMPLEMENTED. */
    bool (*begin)(void *ctx, struct grpc_call *c, struct slice method);
    /* One whole message, unpacked; its bytes are gone when this returns. */
    void (*message)(void *ctx, struct grpc_call *c, struct slice bytes);
    /* The client sends no more. */
    void (*half_closed)(void *ctx, struct grpc_call *c);
    /* Cancelled, its deadline passed, or its connection is gone; the call ends with this. Not after grpc_finish(). */
    void (*gone)(void *ctx, struct grpc_call *c);
    void *ctx;
};

/* --- of a call --- */
void  grpc_call_set_data(struct grpc_call *c, void *data);   /* the service's own */
void *grpc_call_data(const struct grpc_call *c);
/* A request header by its lower-case name, of several the last; or what a proxy told with its PROXY header ("proxy_protocol_addr" and
 * others). Empty (p NULL) when there is none. Valid as long as the call. */
struct slice grpc_call_header(const struct grpc_call *c, const char *name);
/* Nobody asks for headers any more: their memory is given back, but for the path's. What was got of them is gone. */
void grpc_call_forget_headers(struct grpc_call *c);
/* mono_ms at which the client gives up; INT64_MAX without grpc-timeout. */
int64_t grpc_call_deadline_ms(const struct grpc_call *c);
/* Where the client is: the address in front of a proxy that sent one (PROXY protocol), else that of the connection. */
const struct addr *grpc_call_remote(const struct grpc_call *c);
const struct addr *grpc_call_local(const struct grpc_call *c);
uint64_t grpc_call_conn_id(const struct grpc_call *c);       /* unique in the process: which connection */
/* Sends one message, made of parts that follow each other; takes the pins. Goes out at the end of the turn. */
void grpc_send(struct grpc_call *c, struct pinned *parts, size_t count);
/* As above with one part that is copied. */
void grpc_send_copy(struct grpc_call *c, struct slice bytes);
/* Unsent bytes of the call: who streams a lot waits until they are few. */
size_t grpc_call_unsent(const struct grpc_call *c);
/* Ends the call with a status; text may be empty. The call is used up. */
void grpc_finish(struct grpc_call *c, enum grpc_status status, struct slice text);

/* --- the server --- */
struct grpc_options {
    size_t   max_message_bytes;       /* of one request message after unpacking: RESOURCE_EXHAUSTED above */
    size_t   max_header_bytes;        /* of the headers of one call */
    uint32_t max_streams;             /* at a time on one connection */
    size_t   max_unsent_bytes;        /* of one connection: above it nothing more is read from it */
    int64_t  idle_close_ms;           /* a connection without calls for so long is closed */
    const struct tls *tls;            /* NULL: plaintext alone */
    bool     tls_only;                /* plaintext is refused */
    struct metrics *metrics;          /* where calls and connections are counted; NULL: nowhere */
};
/* 130 MiB, 32 KiB, 1000, 64 MiB, 120 s */
struct grpc_options grpc_options_default(void);

/* Services must outlive the server, and have no turn hooks registered later that send. Port 0 takes a free one. */
err_t grpc_listen(struct loop *loop, const struct addr *at, const struct grpc_service *const *services, size_t count,
                  const struct grpc_options *options, struct grpc_server **out) MUST_CHECK;
/* The same without a port of its own: connections are given to it (net/sniff), and taken. What is not HTTP/2 is closed. */
struct grpc_server *grpc_server_new(struct loop *loop, const struct grpc_service *const *services, size_t count,
                                    const struct grpc_options *options);
void grpc_server_take(struct grpc_server *s, const struct sniffed *what);
struct addr grpc_server_addr(const struct grpc_server *s);
/* Tells the clients to go (GOAWAY) and takes no new call; calls under way go on. */
void grpc_server_drain(struct grpc_server *s);
bool grpc_server_is_draining(const struct grpc_server *s);
/* Before it: `drained` is called once when the last connection has closed, at the end of a turn. */
void grpc_server_on_drained(struct grpc_server *s, void (*drained)(void *ctx), void *ctx);
/* Calls that services have. */
size_t grpc_server_calls(const struct grpc_server *s);
/* Bytes of request messages that have not come whole, or that wait until replies are taken. */
size_t grpc_server_unfinished(const struct grpc_server *s);
/* Ends what is left: `gone` for each call. Not from inside of a service's function. */
void grpc_server_close(struct grpc_server *s);

#endif
