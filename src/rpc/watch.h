/* watch.h - what a server says of the requests it answered: how long they took (rocketmq_rpc_latency), those that took too long, and each
 * one where an access log is wanted.
 * Facts    docs/protocol/semantics.md 13; names of codes: catalog/requests.def, responses.def, in lower case
 * Threads  loop
 * Owns     nothing */
#ifndef SKYLARK_RPC_WATCH_H
#define SKYLARK_RPC_WATCH_H

#include "base/config.h"
#include "base/log.h"
#include "base/metrics.h"
#include "rpc/rpc.h"

struct rpc_watch {
    struct tasks *tasks;
    struct metrics *metrics;
    const struct config *config;    /* skylark.slow_request_ms, skylark.access_log: may change */
    struct log_limit slow;
};

/* For rpc_service.answered. */
void rpc_watch_answered(struct rpc_watch *w, const struct call *call, int32_t code);
/* "send_message_v2"; the number of one that is not known. */
const char *request_name(int32_t code, char text[static 16]);
const char *response_name(int32_t code, char text[static 16]);

#endif
