/* sim_base.h - what the simulated clients have in common: a process with a loop, peers, and the route of their topic.
 * Inside of tests/kit only. Threads: loop */
#ifndef SKYLARK_TESTS_KIT_SIM_BASE_H
#define SKYLARK_TESTS_KIT_SIM_BASE_H

#include "kit/sim_client.h"

#include "codec/message.h"
#include "rpc/rpc.h"

struct sim_base {
    struct sim_client_options o;
    struct sim_process *process;
    struct loop *loop;
    struct tasks *tasks;
    struct rpc_service service;
    struct rpc_peer *namesrv;
    struct rpc_peer *broker[HISTORY_BROKERS];   /* NULL: not in the route yet */
    int32_t queues[HISTORY_BROKERS];
    struct timer refresh;
    char id[64];
    bool gone;                                  /* callbacks that still come do nothing */
};

/* service may be NULL. Asks for the route at once, and again every few seconds. */
void sim_base_init(struct sim_base *b, const struct sim_client_options *o, const struct rpc_service *service);
void sim_base_done(struct sim_base *b);
/* A random broker of the route that has queues; -1: none yet. */
int sim_base_any_broker(struct sim_base *b);
int64_t sim_base_now_ms(const struct sim_base *b);
/* Each record of a pull's reply, in order. */
void sim_each_record(struct sim_base *b, int broker, struct slice body, void (*each)(void *ctx, struct place at, struct slice body), void *ctx);

#endif
