/* state.h - the client: connections, routes, members (producers), and what keeps them together. The room's own.
 * Threads  fields say who may touch them; "loop" is the client's thread
 * Owns     handles hold references (client_ref): the memory goes with the last one */
#ifndef SKYLARK_CLIENT_STATE_H
#define SKYLARK_CLIENT_STATE_H

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "client/client.h"
#include "client/names.h"
#include "client/route.h"
#include "codec/body_heartbeat.h"
#include "codec/message_id.h"
#include "net/loop.h"
#include "os/random.h"
#include "os/threads.h"
#include "rpc/rpc.h"

#include <stdatomic.h>

struct sky_client_options {
    char *name_servers;
    char *instance;              /* NULL: made up */
    char *address;               /* NULL: this machine's */
    int64_t request_timeout_ms;
    int64_t route_refresh_ms;
    int64_t heartbeat_ms;
    int32_t callback_threads;
    enum sky_log_level log_level;
    sky_log_fn *log;             /* NULL: nowhere */
    void *log_user;
};

/* What takes part in a group: a producer. Embedded in it. Thread: loop, but for `closing`. */
struct member {
    struct list_node node;       /* of the client's members; linked from its begin to its end */
    struct sky_client *client;
    const struct member_ops *ops;
    char *group;
    bool closing;                /* guarded by the client's gate: takes no more calls */
    bool leaving;                /* the loop knows it */
    bool left;                   /* servers were told */
    struct mail begin, end;
    struct event over;
    void (*over_done)(void *ctx);
    void *over_ctx;
    size_t goodbyes;             /* that are not answered */
};

struct member_ops {
    /* Its part of a heartbeat. */
    void (*describe)(const struct member *m, struct arena *arena, struct heartbeat *h);
    /* Whether all that was begun has ended; asked when it is leaving, again whenever it calls member_settle(). */
    bool (*is_idle)(const struct member *m);
    /* It is known to the loop; it begins its end. NULL: nothing to be done. */
    void (*join)(struct member *m);
    void (*leave)(struct member *m);
    /* The route of a topic is another one; a server says that others joined or left its group. NULL: it does not care. */
    void (*route_changed)(struct member *m, struct slice topic);
    void (*members_changed)(struct member *m);
    /* Field of the good-bye that its group belongs into. */
    bool produces;
};

struct sky_client {
    atomic_uint refs;
    struct sky_client_options options;
    char *id;
    struct loop *loop;
    struct tasks *tasks;
    struct thread *thread;       /* NULL when the loop is somebody else's */
    struct pool *callbacks;
    struct log_sink sink;
    struct lock gate;            /* around a question whether something is closing, and the letter that follows */
    bool closing;                /* guarded by the gate */
    struct mail begin, end, teardown;
    struct event over;
    void (*over_done)(void *ctx);
    void *over_ctx;

    /* Thread: loop */
    struct random random;
    struct unique_id next_id;    /* its time is set when it is used */
    int64_t month_ms;            /* start of the month that ids count from */
    struct names names;
    struct routes routes;
    struct list members;
    struct timer heartbeat;
    struct rpc_service service;  /* of requests that brokers make */
    bool leaving;                /* it ends when its members have */
    bool ending;                 /* nothing new is begun */
};

struct sky_client *client_ref(struct sky_client *c);
/* With the last one: joins the threads and frees. Thread: any but the client's own. */
void client_unref(struct sky_client *c);
/* A pool for callbacks of one member; on a loop of somebody else, its workers. Errors: INTERNAL. Thread: any. */
err_t client_pool(struct sky_client *c, const char *name, int threads, struct pool **out) MUST_CHECK;
/* The route of a topic is another one now. */
void client_route_changed(struct sky_client *c, struct slice topic);
/* Whether the caller is a callback thread of the client. Thread: any. */
bool client_is_callback(const struct sky_client *c);
/* Posts a letter unless the member (NULL: the client alone) is closing. Thread: any. */
bool client_post(struct sky_client *c, const struct member *m, struct mail *mail) MUST_CHECK;
/* The id of a message that is sent now, NUL-terminated; returns its length. Thread: loop. */
size_t client_message_id(struct sky_client *c, char out[static MESSAGE_ID_TEXT]);

/* A member is gone: the client may end now, if it waited for that. Thread: loop. */
void client_settle(struct sky_client *c);

/* --- members: member.c --- */

void member_init(struct member *m, struct sky_client *c, const struct member_ops *ops, const char *group);
/* The member is known to the loop from now on. Errors: CLOSED. Thread: any. */
err_t member_open(struct member *m) MUST_CHECK;
/* It takes no more calls, and begins its end. Thread: loop. */
void member_leave(struct member *m);
/* Memory of one that never began, or is over. */
void member_done(struct member *m);
/* Begins its end; `done` is told only when this is the first one. Thread: any. */
void member_close(struct member *m, void (*done)(void *ctx), void *ctx);
/* Something of it ended. Thread: loop. It may be over, and its event set, when this returns. */
void member_settle(struct member *m);
/* Blocking half of its shutdown. */
struct sky_error *member_shutdown(struct member *m) MUST_CHECK;

/* --- heartbeats: heartbeat.c --- */

/* To all brokers, soon. Thread: loop. */
void heartbeat_soon(struct sky_client *c);
void heartbeat_begin(struct sky_client *c);
/* The member's group leaves all brokers that know of it; `goodbyes` counts those that have not answered. */
void heartbeat_goodbye(struct member *m);

/* --- errors: error.c --- */
struct sky_error *error_new(enum sky_code code, int32_t response, const char *fmt, ...) PRINTF_LIKE(3, 4) MUST_CHECK;
/* Of an answer that is not SUCCESS. */
struct sky_error *error_of_reply(const struct frame *f) MUST_CHECK;

#endif
