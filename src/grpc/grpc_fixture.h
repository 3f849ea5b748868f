/* grpc_fixture.h - a gRPC server with one service on the simulated network, and a client of it. */
#ifndef SKYLARK_GRPC_GRPC_FIXTURE_H
#define SKYLARK_GRPC_GRPC_FIXTURE_H

#include "kit/test.h"

#include "base/metrics.h"
#include "grpc/grpc.h"
#include "kit/grpc_client.h"

enum { PORT = 8081, WAIT_MS = 30000 };

/* Methods: Echo answers each message with itself and ends OK when the client sends no more; Count answers the number in its message
 * of messages, each of ITEM_BYTES; Keep does nothing; Fail ends with NOT_FOUND; Header answers the value of the header that its message
 * names, and the time left. */
enum { ITEM_BYTES = 2000 };

struct grpc_fixture {
    struct sim *sim;
    struct sim_process *process;
    struct loop *loop;           /* of the server */
    struct loop *client_loop;
    struct grpc_server *server;
    struct grpc_service service;
    const struct grpc_service *services[3];   /* the first is ours, others may be added */
    struct grpc_options options;
    struct metrics metrics;
    struct grpc_client *client;
    struct grpc_call *kept;      /* of Keep, the newest */
    int begun, messages, half_closed, gone;
    size_t message_bytes;
    int pins, released;
};

/* change may be NULL: sets options before the server listens. */
struct grpc_fixture *grpc_fixture_start(uint64_t seed, void (*change)(struct grpc_options *o));
void grpc_fixture_stop(struct grpc_fixture *f);
/* The server alone. */
void grpc_fixture_stop_server(struct grpc_fixture *f);
/* Another client. */
struct grpc_client *grpc_fixture_client(struct grpc_fixture *f, const struct grpc_client_options *options);
/* Ends the kept call as a turn of the server. */
void grpc_fixture_finish_kept(struct grpc_fixture *f);

#endif
