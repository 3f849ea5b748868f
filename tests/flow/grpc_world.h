/* grpc_world.h - a name server, brokers and a proxy, each a process of its own on the simulated network, and gRPC clients of it: the
 * set-up of the grpc_…_flow scenarios.
 * Threads  owner; functions that wait run the world meanwhile
 * Owns     answers lie in the world's arena, until grpc_world_stop() */
#ifndef SKYLARK_TESTS_FLOW_GRPC_WORLD_H
#define SKYLARK_TESTS_FLOW_GRPC_WORLD_H

#include "base/arena.h"
#include "base/config.h"
#include "base/metrics.h"
#include "broker/broker.h"
#include "codec/message.h"
#include "codec/proto/rocketmq_v2.h"
#include "codec/requests.h"
#include "grpc/grpc.h"
#include "kit/caller.h"
#include "kit/grpc_client.h"
#include "kit/sim_fs.h"
#include "kit/test.h"
#include "proxy/proxy.h"

enum { WORLD_BROKERS_MAX = 3, WORLD_WAIT_MS = 60000, WORLD_GRPC_PORT = 8081 };

struct world_broker {
    struct sim_process *process;
    struct loop *loop;
    struct sim_fs *disk;
    struct config config;
    struct broker *broker;
    struct caller *caller;          /* for requests of tools */
    struct turn_hook evicts;
    uint64_t turns;
};

struct grpc_world {
    struct sim *sim;
    struct config names_config, proxy_config;
    struct sim_fs *names_disk;
    struct sim_process *names_process;
    struct loop *names_loop, *proxy_loop, *client_loop;
    struct namesrv *namesrv;
    struct rpc_listener *names_port;
    struct world_broker brokers[WORLD_BROKERS_MAX];
    int broker_count;
    struct proxy *proxy;
    struct grpc_server *server;
    const struct grpc_service *service;
    struct metrics metrics;         /* of the proxy's loop */
    struct grpc_client *client;     /* one connection, shared by all clients of the test */
    struct arena arena;
};

struct world_options {
    uint64_t seed;
    int brokers;                    /* broker-a, broker-b … */
    const char *const *proxy;       /* KEY=VALUE, NULL at the end; may be NULL */
    const char *const *broker;
};

struct grpc_world *grpc_world_start(const struct world_options *o);
/* One broker and the usual configuration. */
struct grpc_world *grpc_world_simple(void);
void grpc_world_stop(struct grpc_world *w);
/* Another proxy is in its place, which has heard of nothing. */
void world_restart_proxy(struct grpc_world *w);

/* On every broker, and the name server knows. attributes: "+message.type=FIFO", or "" */
void world_topic(struct grpc_world *w, const char *topic, int32_t queues, const char *attributes);
/* With queues on one broker alone. */
void world_topic_at(struct grpc_world *w, int broker, const char *topic, int32_t queues, const char *attributes);
/* On every broker, as JSON. */
void world_group(struct grpc_world *w, const char *json);

/* --- calls --- */

/* Headers as an SDK sends them; client_id NULL: none. Valid until the next call. */
const char *const *world_headers(const char *client_id, const char *timeout);
/* Encoded; the caller's to buf_done. */
struct buf world_encode(const struct pb_message *kind, const void *message);
void *world_decode(struct grpc_world *w, const struct pb_message *kind, struct slice bytes);
/* A unary call that must end with OK; its answer. */
void *world_call(struct grpc_world *w, const char *client_id, const char *rpc, const struct pb_message *asked, const void *request,
                 const struct pb_message *answered);
/* Begins a call with one message, half-closed. */
struct grpc_client_call *world_begin(struct grpc_world *w, const char *client_id, const char *rpc, const char *timeout,
                                     const struct pb_message *asked, const void *request);

#define WORLD_CALL(w, client_id, Rpc, name, request) \
    ((struct v2_##name##_response *)world_call(w, client_id, Rpc, &v2_##name##_request_pb, request, &v2_##name##_response_pb))

/* --- telemetry --- */
/* Opens the stream of a client and tells its settings; the stream stays open. */
struct grpc_client_call *world_settings(struct grpc_world *w, const char *client_id, const struct v2_settings *settings);
/* The next command on the stream; NULL: none in time. */
struct v2_telemetry_command *world_command(struct grpc_world *w, struct grpc_client_call *stream, int64_t limit_ms);
/* A producer of one topic, or a simple consumer of one group, with its settings told and answered. */
struct grpc_client_call *world_producer(struct grpc_world *w, const char *client_id, const char *topic);
struct grpc_client_call *world_consumer(struct grpc_world *w, const char *client_id, const char *group, const char *topic);

/* --- messages --- */
struct v2_resource *world_name(struct grpc_world *w, const char *name);
/* A message of the topic with an id of its own; system_properties may be filled further. */
struct v2_message *world_message(struct grpc_world *w, const char *topic, const char *body);
/* Sends it as client "p". */
struct v2_send_message_response *world_send(struct grpc_world *w, struct v2_message *m);
/* The record at an offset of a queue, pulled by remoting from broker i; properties borrow from the arena. False: there is none. */
bool world_pull(struct grpc_world *w, int broker, const char *topic, int32_t queue_id, int64_t offset, struct message *out);

/* --- receiving --- */
struct world_received {
    int32_t code;                   /* of the status */
    struct slice text;
    struct v2_message *messages[32];
    size_t count;
    bool ended_in_order;            /* status, messages, delivery_timestamp, OK */
};
struct v2_receive_message_request world_receive_request(struct grpc_world *w, const char *group, const char *topic);
/* Waits for the end of the receive. */
struct world_received world_received(struct grpc_world *w, struct grpc_client_call *k, int64_t limit_ms);
struct world_received world_receive(struct grpc_world *w, const char *client_id, const struct v2_receive_message_request *q);
/* The code of the one entry. */
int32_t world_ack(struct grpc_world *w, const char *client_id, const char *group, const struct v2_message *m);

#endif
