/* cluster.h - a simulated cluster: one name server and two brokers, each a process on a machine and a disk of its own, that can be
 * killed and started again. Runs the very code of the real ones.
 * Threads  owner
 * Owns     everything of the servers; what a killed process was in the middle of is left behind */
#ifndef SKYLARK_TESTS_SIM_CLUSTER_H
#define SKYLARK_TESTS_SIM_CLUSTER_H

#include "kit/history.h"
#include "kit/sim_loop.h"

enum { CLUSTER_BROKERS = 2, CLUSTER_QUEUES = 4 };
#define CLUSTER_TOPIC "Orders"
#define CLUSTER_NAMESRV_IP "10.0.0.1"
#define CLUSTER_NAMESRV CLUSTER_NAMESRV_IP ":9876"

extern const char *const cluster_broker_names[CLUSTER_BROKERS];
extern const char *const cluster_broker_ips[CLUSTER_BROKERS];

struct cluster;

/* sync_flush: SYNC_FLUSH, and kills cut the power; else ASYNC_FLUSH, and kills are those of a process. Starts all servers. */
struct cluster *cluster_new(struct sim *s, struct history *h, uint64_t seed, bool sync_flush);
void cluster_free(struct cluster *c);
/* Both brokers have the topic on disk, and the name server knows it. False: not within the limit. */
bool cluster_make_topic(struct cluster *c);

/* Kills the broker and starts it again after a while; nothing when it is down already. */
void cluster_restart_broker(struct cluster *c, int broker, int64_t down_ms);
void cluster_restart_namesrv(struct cluster *c, int64_t down_ms);
bool cluster_is_up(const struct cluster *c);

#endif
