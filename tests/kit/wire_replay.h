/* wire_replay.h - plays recorded traffic (tests/fixtures/wire) against our server and compares what it says.
 * Compared  code, flag, serialization, remark, header fields and body of every reply; that what the server asks or tells by
 *           itself comes too; that a connection the original closed is closed. Rules: wire_compare.h
 * Requests  of ours are answered with what the recorded client answered
 * Threads   owner */
#ifndef SKYLARK_TESTS_KIT_WIRE_REPLAY_H
#define SKYLARK_TESTS_KIT_WIRE_REPLAY_H

#include "kit/sim_loop.h"

#include <stddef.h>

/* Lists are texts, separated by blanks; NULL: none. */
struct wire_replay {
    const char *file;             /* "route": of tests/fixtures/wire/route.jsonl; several are one conversation: what one leaves open
                                   * the next goes on with */
    const char *role;             /* "namesrv", "broker" or "broker-fast": whose part is compared; others are left out */
    struct sim *sim;
    struct loop *loop;            /* of the client */
    const char *host;             /* where our server is */
    uint16_t port;
    const char *volatile_names;   /* header fields, JSON keys and message properties that may differ */
    const char *skip_requests;    /* names or numbers of requests that are not sent */
    const char *skip_lines;       /* "send_raw:7": a single line that is left out, with the reply when it is a request */
    const char *unsupported;      /* names of requests that must be answered "not supported", whatever the original said; "?": without a name */
    bool any_body;                /* only whether there is a body is compared, when it is no JSON */
    bool records;                 /* bodies of pulls are compared message by message */
    bool sets;                    /* JSON lists may have another order: most come from hash sets */
    int64_t reply_limit_ms;       /* 0: 40 s of virtual time */
};

/* How many replies were compared. Fails the test at the first one that differs, with what differs. */
size_t wire_replay(const struct wire_replay *r);

#endif
