/* edge.h - an edge loop: the gRPC port, in front of brokers and name servers of this process or elsewhere. The room's own.
 * Threads  edge_new: the thread that starts the process, before it runs loops; edge_stop: any; edge_free: that thread again
 * Owns     nothing of what it is given: config and ports outlive it */
#ifndef SKYLARK_APP_EDGE_H
#define SKYLARK_APP_EDGE_H

#include "base/addr.h"
#include "base/config.h"
#include "os/tasks.h"

struct edge;
struct health;
struct scrape;
struct local_port;

struct edge_options {
    struct config *config;
    const char *namesrv_addr;         /* host:port separated by ; */
    struct local_port *namesrv;       /* of the name server in this process, reached as namesrv_at; NULL: there is none */
    const char *namesrv_at;
    struct local_port *broker;        /* of the broker in this process, known to the name server as broker_at; NULL: there is none */
    const char *broker_at;
    struct loop *loop;                /* to live on, with who has it; it runs until edge_free() was called. NULL: a loop and a thread of its own */
};

/* Listens. Errors: one clear line each; *out_key is the key of the port that it is about, perhaps. */
err_t edge_new(const struct edge_options *options, const char **out_key, struct edge **out) MUST_CHECK;
/* Starts the thread, if it has one. Errors: IO. */
err_t edge_run(struct edge *e) MUST_CHECK;
struct addr edge_grpc_addr(const struct edge *e);
/* False: there is no port for remoting clients of its own. */
bool edge_remoting_addr(const struct edge *e, struct addr *out);
/* Where the certificate is; NULL without TLS. */
const char *edge_certificate(const struct edge *e);
/* Metrics and health. Thread: its loop, whose services edge_tasks() gives */
struct tasks *edge_tasks(struct edge *e);
void edge_scrape(struct edge *e, struct scrape *s);
void edge_health(struct edge *e, struct health *out);
/* Takes no new calls, gives those under way grpcShutdownTimeSeconds, ends; then `stopped` is posted to `tasks`. */
void edge_stop(struct edge *e, struct tasks *tasks, struct mail *stopped);
/* After edge_stop(): calls under way are given no more time. Once. Thread: as edge_stop. */
void edge_hurry(struct edge *e);
/* After `stopped`, or without it when nobody told it to stop. NULL is fine. */
void edge_free(struct edge *e);

#endif
