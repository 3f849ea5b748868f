/* body_running.h - what a consumer tells of itself when a tool asks it (307): properties, subscriptions, queues, rates.
 * Facts    docs/protocol/remoting.md 4.2 (307). Read only: brokers pass it on as it is
 * Owns     nothing: texts borrow from the body, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_RUNNING_H
#define SKYLARK_CODEC_BODY_RUNNING_H

#include "codec/body_queue.h"
#include "codec/body_subscription.h"

struct client_queue_state {
    int64_t commit_offset;
    int32_t cached;                     /* messages that it has, and has not consumed */
    int64_t last_pull_ms, last_consume_ms, last_lock_ms;
    int64_t try_unlock_times;
    bool locked, dropped;
};

struct client_queue {
    struct message_queue queue;         /* all empty where the client wrote a reference to another object */
    struct client_queue_state state;
};

struct client_rates {
    struct slice topic;
    double pull_rt_ms, pull_tps, consume_rt_ms, ok_tps, failed_tps;
    int64_t failed;                     /* within the hour */
};

struct client_running {
    BEAN_LIST(struct pair) properties;
    BEAN_LIST(struct subscription) subscriptions;
    BEAN_LIST(struct client_queue) queues;
    BEAN_LIST(struct client_rates) rates;
    struct slice stacks;                /* jstack; p NULL: not asked for */
};

extern const struct bean client_running_bean;

#endif
