/* history.h - what clients of a simulated cluster did and saw, and what must be true of it.
 * Invariants
 *   H1  an acknowledged message is read back from the place that was acknowledged
 *   H2  a place (broker, queue, offset) holds one message for ever
 *   H3  the offsets of a queue are dense: 0 … max-1
 *   H4  every acknowledged message reaches the consumer group
 *   H5  once all is quiet, every queue has exactly one owner
 *   H6  a committed offset goes back only where two clients committed for the queue, or a broker lost its last few seconds
 * Threads  owner */
#ifndef SKYLARK_TESTS_KIT_HISTORY_H
#define SKYLARK_TESTS_KIT_HISTORY_H

#include "base/slice.h"

enum { HISTORY_BROKERS = 4, HISTORY_QUEUES = 8, HISTORY_CLIENTS = 16 };

struct history;

struct place {
    int broker;
    int32_t queue;
    int64_t offset;
};

struct history *history_new(int brokers, int32_t queues);
void history_free(struct history *h);
/* The first thing that was wrong, or NULL. */
const char *history_fault(const struct history *h);
/* Notes a fault; only the first one counts. */
void history_blame(struct history *h, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* --- messages: an id is a number, its body is derived from it --- */
uint32_t history_new_id(struct history *h);
/* Valid until the next call. */
struct slice history_body(struct history *h, uint32_t id);
void history_acked(struct history *h, uint32_t id, struct place at);
/* A record that a consumer of the group was given. */
void history_delivered(struct history *h, struct place at, struct slice body);
/* A record that the last, complete reading found; queues are read from 0 upwards. */
void history_read_back(struct history *h, struct place at, struct slice body);

/* --- owners and offsets --- */
void history_owns(struct history *h, int client, int broker, int32_t queue, bool owns);
/* A client that is no more owns nothing. */
void history_client_gone(struct history *h, int client);
void history_commit_sent(struct history *h, int client, struct place at, int64_t now_ms);
/* How often the broker was lost so far: who asks it notes this before, and compares after. */
int history_incarnation(const struct history *h, int broker);
void history_commit_seen(struct history *h, struct place at, int64_t now_ms);
/* The broker restarts: what it had committed in the last forgets_ms may be lost. */
void history_broker_lost(struct history *h, int broker, int64_t now_ms, int64_t forgets_ms);

/* --- the end --- */
/* What is still missing before all is quiet, or NULL. */
const char *history_unsettled(struct history *h);
/* After the last reading: looks at H1 and H3. */
void history_check_read_back(struct history *h);
uint32_t history_acked_count(const struct history *h);

#endif
