/* rpc.h - calls over connections: answering those of others (service), making our own (peer).
 * Facts    docs/protocol/remoting.md 1.4
 * Shape    one connection carries requests both ways; a reply finds its request by `opaque`
 * Threads  loop: everything here
 * Limits   rpc_options; a connection that breaks them is closed, and the reason logged
 * Owns     a struct call is its handler's until call_reply…() or call_fail(), which use it up. A connection is kept
 *          alive by references; replies to one that has closed are dropped. */
#ifndef SKYLARK_RPC_RPC_H
#define SKYLARK_RPC_RPC_H

#include "base/addr.h"
#include "base/list.h"
#include "base/pin.h"
#include "codec/frame.h"
#include "codec/header.h"
#include "os/tasks.h"

struct local_port;
struct loop;
struct metrics;
struct rpc_conn;
struct rpc_listener;
struct rpc_peer;

/* One request that somebody made of us. */
struct call {
    struct rpc_conn *conn;
    const struct frame *frame;    /* fields; not to be touched after the handler returned */
    struct slice body;            /* likewise */
    int32_t code;
    int32_t version;
    int32_t opaque;
    enum language language;
    enum frame_form form;
    bool oneway;                  /* the reply is made, and not sent */
    bool held;                    /* it waits, or waited, for messages; who lets it wait says so */
    int64_t begun_ms;             /* mono_ms when it came in */
};

struct rpc_service {
    /* A request came in; the call is the handler's now. */
    void (*handle)(void *ctx, struct call *call);
    /* A connection is gone; after it no call of it comes. NULL: nobody cares. */
    void (*closed)(void *ctx, struct rpc_conn *conn);
    void *ctx;
    /* A call is answered with that code now, by a connection that is open. NULL: nobody cares. See rpc/watch.h. */
    void (*answered)(void *ctx, const struct call *call, int32_t code);
};

struct rpc_options {
    int64_t idle_close_ms;        /* closed when nothing was read or written so long: 120 s; 0 never */
    size_t  max_reply_bytes;      /* unsent replies of one connection: over it reading stops, and starts again below half */
    int64_t stalled_close_ms;     /* a paused connection that takes nothing for so long is closed */
    struct metrics *metrics;      /* where connections are counted; NULL: nowhere */
    bool    within_process;       /* the other end is of this process: set by rpc_peer_new_local() */
};

/* 120 s, 64 MiB, 30 s */
struct rpc_options rpc_options_default(void);

/* Listens; port 0 takes a free one (rpc_listener_addr tells). The service must outlive the listener and its connections.
 * tag is the listener's, told by rpc_conn_tag(): which port a request came in by. */
err_t rpc_listen(struct loop *loop, const struct addr *at, int tag, const struct rpc_service *service,
                 const struct rpc_options *options, struct rpc_listener **out) MUST_CHECK;
struct addr rpc_listener_addr(const struct rpc_listener *l);
/* The same for calls from other loops of the process (net/local): by the port, instead of an address. Nothing is closed for idleness. */
struct rpc_listener *rpc_listen_local(struct loop *loop, int tag, const struct rpc_service *service, const struct rpc_options *options);
/* To be given to rpc_peer_new_local(), which holds a reference. Thread: any, while the listener is open. */
struct local_port *rpc_listener_port(const struct rpc_listener *l);
/* Takes no connection any more, and reads nothing of those it has: what came in so far is answered. Local ones are not concerned. */
void rpc_listener_quiesce(struct rpc_listener *l);
/* After it: connections that owe nothing any more are told that nothing more comes (conn_finish); true: all have ended. To be asked again and again:
 * others are answered later. */
bool rpc_listener_settle(struct rpc_listener *l);
/* Every call is answered, and every answer sent. */
bool rpc_listener_is_idle(const struct rpc_listener *l);
/* Stops taking connections, closes those it took (after their pending output was offered once), frees. */
void rpc_listener_close(struct rpc_listener *l);

/* --- connections --- */
const struct addr *rpc_conn_remote(const struct rpc_conn *c);
int rpc_conn_tag(const struct rpc_conn *c);
uint64_t rpc_conn_id(const struct rpc_conn *c);            /* unique in the process, for logs and tables */
bool rpc_conn_open(const struct rpc_conn *c);
struct rpc_conn *rpc_conn_ref(struct rpc_conn *c);
void rpc_conn_unref(struct rpc_conn *c);
/* Of the service: what waits on behalf of the connection, for `closed` to give up. Empty when it is opened, and must be at its end. */
struct list *rpc_conn_waiting(struct rpc_conn *c);
void rpc_conn_close(struct rpc_conn *c, const char *why);  /* `closed` runs in this turn or the next */

/* --- replies --- */
/* kind and header NULL: no fields. The body is copied. */
void call_reply(struct call *call, int32_t code, const char *remark, const struct header_kind *kind, const void *header, struct slice body);
/* As above, with the body in pinned parts that are sent without copying; releases them when sent. */
void call_reply_pinned(struct call *call, int32_t code, const char *remark, const struct header_kind *kind, const void *header,
                       struct pinned *parts, size_t count);
/* SUCCESS without fields and body. */
void call_reply_ok(struct call *call);
/* Code and remark from the error; takes both. */
void call_fail(struct call *call, err_t e);
/* Uses the call up without an answer: the client runs into its timeout, as with the original in the same case. */
void call_drop(struct call *call);
/* A reply with extra fields that belong to no typed header: `more` is called after the typed fields. */
void call_reply_more(struct call *call, int32_t code, const char *remark, const struct header_kind *kind, const void *header,
                     void (*more)(void *ctx, struct frame_writer *w), void *ctx, struct slice body);

/* --- requests of ours --- */
struct rpc_reply {
    const struct frame *frame;    /* valid during the callback; code, remark, fields, body */
};
/* e is set (and then the receiver's) when no reply came: TIMEOUT, CLOSED, NETWORK. Runs exactly once. */
typedef void rpc_done(void *ctx, err_t e, const struct rpc_reply *reply);

struct rpc_request {
    int32_t code;
    const struct header_kind *kind;   /* NULL: no fields */
    const void *header;
    struct slice body;                /* copied */
    int64_t timeout_ms;
    rpc_done *done;                   /* NULL: oneway */
    void *ctx;
};
/* To the other end of a connection that exists (broker to client). done runs with CLOSED if it closes. */
void rpc_conn_request(struct rpc_conn *c, const struct rpc_request *r);

/* A server we call by address ("host:port", a name is resolved by a worker): connects when needed, again after a failure,
 * closes when idle. What comes in by it goes to `service` (NULL: refused). */
struct rpc_peer *rpc_peer_new(struct loop *loop, struct slice address, const struct rpc_service *service,
                              const struct rpc_options *options);
/* A server on another loop of the process, or on this one. */
struct rpc_peer *rpc_peer_new_local(struct loop *loop, struct local_port *port, const struct rpc_service *service,
                                    const struct rpc_options *options);
void rpc_peer_request(struct rpc_peer *p, const struct rpc_request *r);
/* Pending requests end with CLOSED. */
void rpc_peer_free(struct rpc_peer *p);

/* Names of the process in the headers it writes: language OTHER and the version ordinal of the release it is compatible with. */
enum { RPC_VERSION = VERSION_5_5_0 };

/* The loop's time, timers and workers, for services. */
struct tasks *rpc_tasks(struct loop *loop);

#endif
