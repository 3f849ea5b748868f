/* sim_client.h - producers and consumers for the simulated cluster: as simple as they can be and still behave as official ones do.
 * They send, retry, look up routes, send heartbeats, balance queues among themselves, pull with long polling, and commit
 * offsets; what they do and see goes into a history.
 * Threads  loop (their own, made here)
 * Owns     a client is freed by its …_free; after its process was killed too */
#ifndef SKYLARK_TESTS_KIT_SIM_CLIENT_H
#define SKYLARK_TESTS_KIT_SIM_CLIENT_H

#include "kit/history.h"
#include "kit/sim_loop.h"

struct sim_client_options {
    struct sim *sim;
    struct history *history;
    const char *ip;                /* of the client's machine */
    const char *namesrv;           /* "10.0.0.1:9876" */
    const char *topic;
    const char *group;
    const char *const *brokers;    /* names; a broker's number in the history is its place here */
    int broker_count;
    int number;                    /* of the client in the history */
};

struct sim_producer;
struct sim_producer *sim_producer_new(const struct sim_client_options *o, uint32_t pause_min_ms, uint32_t pause_max_ms);
/* Sends nothing new; what is under way goes on. */
void sim_producer_stop(struct sim_producer *p);
/* Nothing is under way. */
bool sim_producer_idle(const struct sim_producer *p);
void sim_producer_free(struct sim_producer *p);

struct sim_consumer;
struct sim_consumer *sim_consumer_new(const struct sim_client_options *o);
/* Commits, says good-bye, and pulls no more. */
void sim_consumer_leave(struct sim_consumer *c);
/* Its process is gone from one moment to the next. */
void sim_consumer_kill(struct sim_consumer *c);
void sim_consumer_free(struct sim_consumer *c);
/* It has heard of every broker. */
bool sim_consumer_knows_all(const struct sim_consumer *c);

/* Asks each queue's committed offset again and again, and the history whether it went back. */
struct sim_watcher;
struct sim_watcher *sim_watcher_new(const struct sim_client_options *o, int32_t queues, int64_t period_ms);
/* Reads every queue from its beginning to its end into the history. */
void sim_watcher_read_back(struct sim_watcher *w);
bool sim_watcher_has_read(const struct sim_watcher *w);
void sim_watcher_free(struct sim_watcher *w);

#endif
