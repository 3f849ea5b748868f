/* flow.h - one broker on the simulated loop and disk, and a raw client of it: the set-up of the scenarios in this folder.
 * Threads  owner; functions that wait run the world meanwhile */
#ifndef SKYLARK_TESTS_FLOW_FLOW_H
#define SKYLARK_TESTS_FLOW_FLOW_H

#include "base/config.h"
#include "broker/broker.h"
#include "codec/body_heartbeat.h"
#include "codec/message.h"
#include "codec/requests.h"
#include "kit/caller.h"
#include "kit/sim_fs.h"
#include "kit/test.h"
#include "rpc/rpc.h"

struct flow {
    struct sim *sim;
    struct sim_process *process;     /* the server's, with its loop */
    struct loop *loop;
    struct loop *client_loop;
    struct sim_fs *disk;
    const char *advertised;
    struct config config;
    struct broker *broker;
    struct caller *caller;           /* connected to the main port */
    struct arena arena;              /* of the answers taken apart */
    struct turn_hook evicts;
    uint64_t turns;
    bool stays_warm;                 /* for what is lost when it leaves memory */
};

/* A broker with the recorded one's name and address; `settings` are KEY=VALUE pairs, NULL at the end. */
struct flow *flow_start(const char *const *settings);
/* With another address in ids and records. */
struct flow *flow_start_at(const char *advertised, const char *const *settings);
void flow_stop(struct flow *f);
/* Clean stop, then start again on the same disk; the caller is connected anew. */
void flow_restart(struct flow *f);
/* As kill -9. */
void flow_crash(struct flow *f);
/* As flow_crash(), and what was not synced is lost. */
void flow_cut_power(struct flow *f);
/* No message is in memory any more. */
void flow_evict(struct flow *f);
/* A clean stop as the process does it, waiting for nothing; the broker is gone after it, and flow_stop still needed. */
void flow_free_broker(struct flow *f);
/* Another client. */
struct caller *flow_caller(struct flow *f);
extern const char *const flow_host;
enum { FLOW_PORT = 10911 };

/* Whether the disk has a file or folder of that name. */
bool flow_is_there(struct flow *f, const char *path);
void flow_make_topic(struct flow *f, const char *topic, int32_t queues);
/* With attributes, "+key=value". */
void flow_make_topic_with(struct flow *f, const char *topic, int32_t queues, const char *attributes);

/* Which seeds a model runs: from SEED on as many as SEEDS says, one when SEED stands alone; without both the first `usual` ones. */
struct seeds {
    uint64_t first, end;
};
struct seeds flow_seeds(uint64_t usual);

/* --- sending --- */
struct sent {
    int32_t code;
    int64_t queue_offset;
    int32_t queue_id;
    char msg_id[1024];
    char transaction_id[80];
    char batch_id[80];               /* batchUniqId */
    char recall_handle[300];
    char remark[512];
};
/* properties: "NAME=value;NAME=value" */
struct sent flow_send(struct flow *f, const char *topic, int32_t queue_id, const char *properties, const char *body);
struct sent flow_send_header(struct flow *f, int32_t code, const struct send_header *h, struct slice body);
/* A header with the fields every send has. */
struct send_header flow_send_fields(const char *topic, int32_t queue_id);
/* One message of a batch body, appended. */
void flow_batch_add(struct buf *batch, struct slice properties, const char *body);
/* The text of properties; valid until the next call. */
struct slice flow_properties(const char *pairs);

/* --- pulling --- */
enum { FLOW_MESSAGES_MAX = 64 };
struct pulled {
    int32_t code;
    int64_t next, min, max;
    char remark[512];
    size_t count;
    struct message messages[FLOW_MESSAGES_MAX];   /* borrow from the flow's arena */
};
/* Carries its own subscription, and does not wait. */
struct pulled flow_pull(struct flow *f, const char *topic, int32_t queue_id, int64_t offset, const char *tags);
struct pulled flow_pull_header(struct flow *f, const struct pull_header *h);
/* Begins a send. */
int32_t flow_send_begin(struct flow *f, struct caller *c, const char *topic, const char *body);
/* Begins a pull that waits; flow_pulled() takes its answer, code -1 when there is none in time. */
int32_t flow_pull_waiting(struct flow *f, const char *topic, int32_t queue_id, int64_t offset, const char *tags, int64_t wait_ms);
struct pulled flow_pulled(struct flow *f, int32_t opaque, int64_t limit_ms);

/* --- the rest --- */
/* A heartbeat of one consumer of one topic with one expression. */
void flow_subscribe(struct flow *f, struct caller *c, const char *client_id, const char *group, const char *topic, const char *tags, int64_t version);
/* Code of the reply to a request; takes its remark along when remark is not NULL. */
int32_t flow_code(struct flow *f, int32_t code, const struct header_kind *kind, const void *header, const char *body, char *remark);
/* A row of catalog/metrics.def by its name outside, or another value of request 28; fails the test when it is not there. */
int64_t flow_metric(struct flow *f, const char *name);
/* QUERY_CONSUMER_OFFSET; -1 when there is none. */
int64_t flow_offset(struct flow *f, const char *group, const char *topic, int32_t queue_id);

#endif
