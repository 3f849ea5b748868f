/* grpc_client.h - a gRPC client on the simulated network (libnghttp2's client session), for tests of what answers gRPC calls.
 * Threads  owner; functions that wait run the world meanwhile, so they are not for inside of a turn
 * Owns     grpc_client_close closes the connection and frees all calls of it */
#ifndef SKYLARK_TESTS_KIT_GRPC_CLIENT_H
#define SKYLARK_TESTS_KIT_GRPC_CLIENT_H

#include "base/buf.h"
#include "kit/sim_loop.h"

struct grpc_client;
struct grpc_client_call;

/* --- a connection --- */

struct grpc_client_options {
    uint32_t window;          /* of each call, in bytes; 0: 64 KiB */
    bool keeps_windows;       /* what is read is not given back to the windows: the server gets stuck */
};

/* Connects and waits for it; fails the test when that cannot be. options may be NULL. */
struct grpc_client *grpc_client_open(struct sim *s, struct loop *l, const char *host, uint16_t port, const struct grpc_client_options *options);
void grpc_client_close(struct grpc_client *c);
/* Bytes that the session knows nothing of: right ones and broken ones. */
void grpc_client_raw(struct grpc_client *c, struct slice bytes);
/* Reads nothing more, or goes on. */
void grpc_client_pause(struct grpc_client *c, bool paused);
/* Whether the server ends the connection in time; the error code of its GOAWAY, -1 without one. */
bool grpc_client_ended(struct grpc_client *c, int64_t limit_ms);
int64_t grpc_client_goaway(const struct grpc_client *c);
/* PINGs of ours that were answered. */
void grpc_client_ping(struct grpc_client *c);
size_t grpc_client_pongs(const struct grpc_client *c);

/* --- a call --- */

/* Begins a call; path is "/package.Service/Method". headers: names and values in turn, NULL at the end; may be NULL. A name that
 * begins with ':' or is "content-type" replaces the usual one. */
struct grpc_client_call *grpc_client_call(struct grpc_client *c, const char *path, const char *const *headers);
/* One message. */
void grpc_client_send(struct grpc_client_call *k, struct slice message);
/* Bytes as they are, without a prefix. */
void grpc_client_send_raw(struct grpc_client_call *k, struct slice bytes);
void grpc_client_half_close(struct grpc_client_call *k);
void grpc_client_cancel(struct grpc_client_call *k);

/* The next message that came; waits for it. False: none came in time, or the call ended first. The bytes are valid until the
 * next call of this for the same call. */
bool grpc_client_message(struct grpc_client_call *k, int64_t limit_ms, struct slice *out);
/* The status the call ended with; waits for it. -1: none came in time; -2: the stream was reset without one. */
int grpc_client_status(struct grpc_client_call *k, int64_t limit_ms);
/* grpc-message, decoded; "" without one. */
const char *grpc_client_status_text(struct grpc_client_call *k);
/* A header or trailer of the answer; empty when there is none. */
struct slice grpc_client_header(struct grpc_client_call *k, const char *name);
/* The error code of the RST_STREAM that ended the call; -1: none did. */
int64_t grpc_client_reset_code(const struct grpc_client_call *k);

/* One message there, one back, a status: returns the status; *out is the caller's to buf_done. Fails the test after 30 s. */
int grpc_client_unary(struct grpc_client *c, const char *path, const char *const *headers, struct slice request, struct buf *out);

#endif
