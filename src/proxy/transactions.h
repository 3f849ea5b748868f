/* transactions.h - prepared messages of gRPC producers that are neither committed nor rolled back, and the questions of brokers.
 * Facts    docs/protocol/grpc.md 9.4
 * Shape    where a prepared message lies is remembered under its topic and transaction id, for transactionDataExpireMillis; brokers
 *          ask who produces for a topic, so heartbeats tell them of this proxy on behalf of its producers
 * Threads  loop */
#ifndef SKYLARK_PROXY_TRANSACTIONS_H
#define SKYLARK_PROXY_TRANSACTIONS_H

#include "base/list.h"
#include "base/map.h"
#include "base/slice.h"

struct broker_peer;
struct call;
struct proxy;

/* How a broker finds the prepared message. */
struct transaction_end {
    struct broker_peer *broker;
    int64_t queue_offset;            /* in the half topic */
    int64_t log_offset;
};

struct transactions {
    struct proxy *proxy;
    struct map ends;                 /* "topic@id" -> struct open_ends */
    struct map watched;              /* topic -> struct watched_topic: transactional, and somebody produces for it */
    int64_t heartbeat_ms;            /* mono, of the next one */
};

void transactions_init(struct transactions *t, struct proxy *p);
void transactions_done(struct transactions *t);
void transactions_add(struct transactions *t, struct slice topic, struct slice id, const struct transaction_end *end);
/* The newest one is taken out; false: there is none, or it is too old. */
bool transactions_take(struct transactions *t, struct slice topic, struct slice id, struct transaction_end *out);
/* If the topic takes transactions, its brokers hear that there is somebody to ask. */
void transactions_watch(struct transactions *t, struct slice topic);
/* A broker asks (CHECK_TRANSACTION_STATE). Takes the call. */
void transactions_check(struct broker_peer *from, struct call *call);
void transactions_scan(struct transactions *t);

#endif
