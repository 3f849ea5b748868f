/* state.h - what the files of this room share: the proxy, and one RPC under way.
 * Threads  loop
 * Owns     a request is its handler's, which ends it exactly once: request_answer(), request_refuse(), request_fail() */
#ifndef SKYLARK_PROXY_STATE_H
#define SKYLARK_PROXY_STATE_H

#include "base/map.h"
#include "base/metrics.h"
#include "codec/proto/rocketmq_v2.h"
#include "os/random.h"
#include "proxy/brokers.h"
#include "proxy/clients.h"
#include "proxy/facts.h"
#include "proxy/handles.h"
#include "proxy/proxy.h"
#include "proxy/questions.h"
#include "proxy/transactions.h"

struct request;

/* What the data of a grpc_call is: each begins with this. */
enum call_data {
    CALL_ROW,        /* struct rpc_row: the call's message has not come */
    CALL_REQUEST,    /* struct request */
    CALL_STREAM,     /* struct stream_of_client: telemetry */
};

struct rpc_row {
    enum call_data data;
    struct slice name;
    const struct pb_message *request;
    const struct pb_message *response;
    void (*handle)(struct request *r);
};

struct proxy {
    struct proxy_options options;
    const struct config_proxy *cfg;
    struct loop *loop;
    struct tasks *tasks;
    struct random random;
    struct grpc_service service;
    struct brokers brokers;
    struct facts facts;
    struct clients clients;
    struct handles handles;
    struct transactions transactions;
    struct questions questions;    /* of tools, to consumers */
    struct list requests;          /* under way */
    struct map polls;              /* -> struct watch: what receives wait for (poll.c) */
    size_t poll_count;             /* of receives under way */
    struct timer scan;             /* of clients, handles, transactions, brokers */
    uint64_t scans;
    struct pb_out out;             /* of the answer that is being written */
    int64_t lite_syncs;            /* additions of lite topics, less those that time has taken off (lite_subscription.c) */
    int64_t lite_syncs_ms;         /* mono: as of then */
    bool leaving;                  /* nobody waits any more */
    bool ending;                   /* in proxy_free() */
};

/* One RPC. */
struct request {
    enum call_data data;
    struct list_node node;         /* of the proxy's */
    struct proxy *proxy;
    struct grpc_call *call;        /* NULL: the client does not wait any more */
    const struct rpc_row *rpc;
    struct arena arena;            /* of the decoded request, and what is made for the answer */
    uint8_t *bytes;                /* of the request, which borrows from them */
    const void *in;                /* the decoded request */
    struct slice client_id;
    struct client *client;         /* with that id; NULL: it has not told its settings. As of the beginning of the handler */
    struct wanted wanted;          /* what request_want() brought */
    void *state;                   /* the handler's */
    void (*gone)(struct request *r);   /* NULL, or: the client has gone; the request is still to be ended */
    void (*hurry)(struct request *r);  /* NULL, or: it must not wait for messages any more */
};

/* --- beginning, request.c --- */
/* call NULL: nobody waits for an answer. rpc NULL: there is none. */
struct request *request_new(struct proxy *p, struct grpc_call *call, const struct rpc_row *rpc, struct slice client_id);
/* Keeps a copy of the bytes, and decodes it. */
err_t request_keep(struct request *r, struct slice bytes, const struct pb_message *kind, void *out) MUST_CHECK;

/* --- ending --- */
/* response: a struct of the table rpc->response. */
void request_answer(struct request *r, const void *response);
/* An answer with a status and nothing else. */
void request_refuse(struct request *r, int32_t code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The same, and nothing behind it, also of a receive. */
void request_refuse_bare(struct request *r, int32_t code, struct slice text);
/* The same, from an error of this process. Takes e. */
void request_fail(struct request *r, err_t e);
/* The same, from a broker's reply that is no success. */
void request_fail_reply(struct request *r, const struct frame *f);
/* OK and nothing else. */
void request_ok(struct request *r);
/* Frees it, when there is nothing to be said: the client is gone. */
void request_free(struct request *r);

/* --- parts of answers, in the request's arena --- */
void *request_take(struct request *r, size_t n);
struct slice request_printf(struct request *r, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct v2_status *status_new(struct request *r, int32_t code, struct slice text);
struct v2_status *status_ok(struct request *r);

/* Brings the facts `what` (WANT_…) of a topic and a group into r->wanted, then runs next: at once when they are known. */
void request_want(struct request *r, unsigned what, struct slice topic, struct slice group, void (*next)(struct request *r));
/* A topic's route is not to be had: ends the request, and says why. False then. */
bool request_has_route(struct request *r);
/* The broker of a handle or of a route, by name; NULL: nobody knows it. */
struct broker_peer *request_broker(struct request *r, struct slice name);

static inline int64_t now_ms(struct proxy *p) { return tasks_wall_ms(p->tasks); }
static inline void proxy_count(struct proxy *p, enum metric which, int64_t n)
{
    if (p->options.metrics) metric_add(p->options.metrics, which, n);
}

/* --- the handlers of rpcs.def --- */
#define RPC(name, handler, asked, answered) void serve_##handler(struct request *r);
#include "proxy/rpcs.def"
#undef RPC

/* --- streams --- */
void telemetry_begin(struct proxy *p, struct grpc_call *call);
void telemetry_message(struct proxy *p, struct grpc_call *call, struct slice bytes);
void telemetry_half_closed(struct proxy *p, struct grpc_call *call);
void telemetry_gone(struct proxy *p, struct grpc_call *call);
/* Ends all of them. */
void telemetry_leave(struct proxy *p);
/* Sends a command to a client that listens. */
void telemetry_send(struct proxy *p, struct client *c, const struct v2_telemetry_command *command);
/* The same, and the request is still to be freed. */
void receive_tell(struct request *r, int32_t code, struct slice text);
/* Ends a receive with a status, in place of request_refuse(). */
void receive_refuse(struct request *r, int32_t code, struct slice text);

#endif
