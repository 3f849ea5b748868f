/* wire_replay.h - plays recorded traffic (tests/fixtures/wire) against our server and compares the replies.
 * Compared  code, flag, remark, header fields and body of every reply; that a connection the original closed is closed
 * Bodies    equal bytes, or equal JSON but for the named keys; keys that are bare numbers are read too
 * Threads   owner */
#ifndef SKYLARK_TESTS_KIT_WIRE_REPLAY_H
#define SKYLARK_TESTS_KIT_WIRE_REPLAY_H

#include "kit/sim_loop.h"

#include <stddef.h>

struct wire_replay {
    const char *file;             /* "route": of tests/fixtures/wire/route.jsonl */
    const char *role;             /* "namesrv", "broker" or "broker-fast": whose part is compared; others are left out */
    struct sim *sim;
    struct loop *loop;            /* of the client */
    const char *host;             /* where our server is */
    uint16_t port;
    const char *volatile_names;   /* header fields and JSON keys that may differ, separated by spaces; NULL: none */
    const char *skip_requests;    /* names or numbers of requests that are not sent, separated by spaces; NULL: none */
    bool any_body;                /* only whether there is a body is compared, when it is no JSON */
    int64_t reply_limit_ms;       /* 0: 40 s of virtual time */
};

/* How many replies were compared. Fails the test at the first one that differs, with what differs. */
size_t wire_replay(const struct wire_replay *r);

#endif
