/* caller.h - a raw client of the remoting protocol on the simulated network, for tests that drive a server by frames, right
 * ones and broken ones.
 * Threads  owner; functions that wait run the world meanwhile, so they are not for inside of a turn
 * Owns     a caller is closed by caller_close; an answer is freed by answer_free */
#ifndef SKYLARK_TESTS_KIT_CALLER_H
#define SKYLARK_TESTS_KIT_CALLER_H

#include "codec/header.h"
#include "kit/sim_loop.h"

struct caller;

/* A frame that came from the server; frame borrows from bytes. */
struct answer {
    struct list_node node;
    struct buf bytes;
    struct frame frame;
};

/* Connects and waits for it; fails the test when that cannot be. */
struct caller *caller_open(struct sim *s, struct loop *l, const char *host, uint16_t port);
void caller_close(struct caller *c);
/* Form of the requests that follow; JSON at first. */
void caller_use(struct caller *c, enum frame_form form);

/* Any bytes. */
void caller_send(struct caller *c, struct slice bytes);
/* One request; returns its opaque. kind NULL: no fields. */
int32_t caller_request(struct caller *c, int32_t code, const struct header_kind *kind, const void *header, struct slice body);

/* The same, with no reply to come. */
void caller_oneway(struct caller *c, int32_t code, const struct header_kind *kind, const void *header, struct slice body);
/* The reply to a request that the server made. */
void caller_answer(struct caller *c, const struct answer *asked, int32_t code, struct slice remark, struct slice body);

/* Reads nothing more, or goes on. */
void caller_pause(struct caller *c, bool paused);

/* The reply to a request; waits for it. NULL: none came in time. */
struct answer *caller_reply(struct caller *c, int32_t opaque, int64_t limit_ms);
/* A request that the server made; code -1: any. NULL: none came in time. */
struct answer *caller_asked(struct caller *c, int32_t code, int64_t limit_ms);
/* Request and reply; fails the test when none comes within 30 s. */
struct answer *caller_call(struct caller *c, int32_t code, const struct header_kind *kind, const void *header, struct slice body);
/* Whether the server ends the connection in time. */
bool caller_ended(struct caller *c, int64_t limit_ms);
/* Frames that came and nobody took. */
size_t caller_unread(const struct caller *c);

void answer_free(struct answer *a);

#endif
