/* questions.h - what tools ask of gRPC consumers: brokers are told who can be asked, and their questions are passed on.
 * Facts    docs/protocol/grpc.md 5.4, docs/protocol/proxy.md
 * Threads  loop
 * Owns     calls of brokers that wait for a client's answer; each is answered once */
#ifndef SKYLARK_PROXY_QUESTIONS_H
#define SKYLARK_PROXY_QUESTIONS_H

#include "base/map.h"
#include "os/tasks.h"

struct broker_peer;
struct call;
struct client;
struct proxy;
struct v2_telemetry_command;

struct questions {
    struct proxy *proxy;
    struct map open;                 /* nonce -> struct question */
    uint64_t count;
    struct timer tell;               /* armed: brokers are to be told who can be asked */
    bool told_some;
};

void questions_init(struct questions *q, struct proxy *p);
/* Nobody is asked any more; who waits hears nothing. */
void questions_done(struct questions *q);
/* A consumer came or went, or a broker is new: the brokers are told soon. */
void questions_changed(struct questions *q);
/* Tells again what brokers may have forgotten. */
void questions_scan(struct questions *q);
/* 307 and 309 of a broker. Takes the call. */
void questions_ask_stack(struct broker_peer *from, struct call *call);
void questions_ask_verify(struct broker_peer *from, struct call *call);
/* A client's answer, with the status beside it (NULL: none). */
void questions_answer(struct questions *q, const struct client *c, const struct v2_telemetry_command *command);

#endif
