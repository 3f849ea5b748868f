/* session.h - asking, with one deadline; and which brokers there are to ask. The room's own.
 * Threads  loop */
#ifndef SKYLARK_ADMIN_SESSION_H
#define SKYLARK_ADMIN_SESSION_H

#include "admin/admin.h"

#include "codec/body_route.h"

/* --- admin.c --- */

struct request {
    int32_t code;
    const struct header_kind *kind;
    const void *header;
    struct slice body;                      /* p NULL: none */
    const struct header_kind *heard_kind;   /* NULL: the answer's header is of no interest */
    struct heard *heard;                    /* stays until `done`; NULL likewise */
};

/* What an answer says besides its body, also one that is not SUCCESS; filled before `done` runs. */
struct heard {
    int32_t code;                           /* -1: no answer */
    void *header;                           /* of heard_kind, in the admin's arena; NULL: there is none that can be read */
    struct slice body;                      /* of an answer that is not SUCCESS */
};

/* body: of an answer SUCCESS, in the admin's arena. e: REFUSED or another of the answer's code, or silence; the receiver's. */
typedef void answered(void *ctx, err_t e, struct slice body);

/* For answers: has a limit. */
struct arena *admin_arena(struct admin *a);
/* For what an operation remembers: zeroed, never NULL, good until admin_free. */
void *admin_take(struct admin *a, size_t n);
const struct admin_options *admin_options(const struct admin *a);

/* Begins an operation: its deadline counts from here. */
void admin_begin(struct admin *a, admin_done *done, void *ctx);
/* Ends it. Takes e. */
void admin_end(struct admin *a, err_t e);
/* done runs exactly once unless the admin is freed, maybe before this returns. Between begin and end. */
void admin_ask(struct admin *a, struct slice address, const struct request *r, answered *done, void *ctx);

/* --- cluster.c --- */

/* A master, and how many queues of the topic it has (0 when no topic was named). */
struct master {
    struct admin_broker broker;
    int32_t queues;
};

struct masters {
    BEAN_LIST(struct master) list;
};

/* e NULL: there is at least one. Takes e. */
typedef void masters_found(void *ctx, err_t e, const struct masters *m);

/* Of a topic, or all (p NULL); the one broker of the options, if it is given there. Errors: TOPIC_NOT_FOUND, NOT_FOUND (no master). */
void find_masters(struct admin *a, struct slice topic, masters_found *found, void *ctx);

/* --- all of them asked at once --- */

struct sweep;
/* One broker's answer SUCCESS; an error makes it a failure. May call sweep_ask_again. */
typedef err_t sweep_answer(void *ctx, struct sweep *s, const struct master *m, struct slice body);

/* `end` runs once, when the last one has answered or failed: e NULL when one answered well, else of one of them, rather an answer than
 * silence. Takes e. `failures` gets all that failed. m stays until then. */
void sweep_begin(struct admin *a, const struct masters *m, const struct request *r, struct admin_failures *failures, sweep_answer *one,
                 void (*end)(void *ctx, err_t e), void *ctx);
/* Inside of sweep_answer: another request to the same broker. */
void sweep_ask_again(struct sweep *s, const struct master *m, const struct request *r);

#endif
