/* cluster_sim.c - the simulated cluster under trouble, for many seeds. What must hold: kit/history.h, H1 to H6.
 *   cluster_sim sync|async FIRST COUNT     one line for each seed that fails; status 1 when one did
 *   cluster_sim sync|async SEED            one seed, with the servers' logs
 *   cluster_sim repeat SEED                the same seed twice, and whether the runs were the same */
#include "sim/cluster.h"

#include "base/log.h"
#include "base/slice.h"
#include "kit/sim_client.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    PRODUCERS = 2, CONSUMERS = 3, CONSUMERS_MAX = 8,
    TROUBLE_MS = 25000, AFTER_TROUBLE_MS = 7000, SETTLE_MS = 120000, READ_MS = 120000, WATCH_MS = 700, QUIET_MS = 9000,
    ROUND_MS = 7000,   /* a heartbeat, and a rebalance after it */
};

struct run {
    struct sim *sim;
    struct history *history;
    struct cluster *cluster;
    struct sim_producer *producers[PRODUCERS];
    struct sim_consumer *consumers[CONSUMERS_MAX];
    bool present[CONSUMERS_MAX];   /* has joined, and not gone again */
    int joined;
    struct sim_watcher *watcher;
    int64_t trouble_ends_ms;
    char client_ips[PRODUCERS + CONSUMERS_MAX + 1][24];
    int clients;
};

static struct sim_client_options client_options(struct run *r, int number)
{
    char *ip = r->client_ips[r->clients];
    snprintf(ip, sizeof r->client_ips[0], "10.0.1.%d", ++r->clients);
    return (struct sim_client_options){
        .sim = r->sim, .history = r->history, .ip = ip, .namesrv = CLUSTER_NAMESRV, .topic = CLUSTER_TOPIC, .group = "workers",
        .brokers = cluster_broker_names, .broker_count = CLUSTER_BROKERS, .number = number,
    };
}

static void join(struct run *r)
{
    if (r->joined == CONSUMERS_MAX) return;
    struct sim_client_options o = client_options(r, r->joined);
    r->present[r->joined] = true;
    r->consumers[r->joined++] = sim_consumer_new(&o);
}

/* --- trouble --- */

static uint32_t draw(struct run *r, uint32_t least, uint32_t most) { return least + random_below(sim_random(r->sim), most - least + 1); }

static void one_consumer_goes(struct run *r)
{
    int present = 0;
    for (int i = 0; i < r->joined; i++) present += r->present[i];
    int i = (int)draw(r, 0, (uint32_t)r->joined - 1);
    if (present < 2 || !r->present[i]) return;
    r->present[i] = false;
    if (draw(r, 0, 1)) sim_consumer_kill(r->consumers[i]);
    else sim_consumer_leave(r->consumers[i]);
}

static void cut_off(struct run *r)
{
    const char *client = r->client_ips[draw(r, 0, (uint32_t)r->clients - 1)];
    const char *server = draw(r, 0, 3) ? cluster_broker_ips[draw(r, 0, CLUSTER_BROKERS - 1)] : CLUSTER_NAMESRV_IP;
    sim_partition(r->sim, client, server, draw(r, 300, 5000));
}

static void trouble(void *ctx)
{
    struct run *r = ctx;
    if (sim_now_ms(r->sim) > r->trouble_ends_ms) return;
    uint32_t what = draw(r, 0, 99);
    if (what < 35) sim_cut_one(r->sim);
    else if (what < 55) sim_hang_one(r->sim, draw(r, 100, 6000));
    else if (what < 65) cut_off(r);
    else if (what < 80) cluster_restart_broker(r->cluster, (int)draw(r, 0, CLUSTER_BROKERS - 1), draw(r, 50, 3000));
    else if (what < 85) cluster_restart_namesrv(r->cluster, draw(r, 50, 3000));
    else if (what < 92) join(r);
    else one_consumer_goes(r);
    sim_after(r->sim, draw(r, 50, 1500), trouble, r);
}

/* --- one seed --- */

static bool is_settled(void *ctx)
{
    struct run *r = ctx;
    if (history_fault(r->history)) return true;
    for (int i = 0; i < PRODUCERS; i++)
        if (!sim_producer_idle(r->producers[i])) return false;
    for (int i = 0; i < r->joined; i++)   /* who came while the name server had forgotten a broker learns of it with its next registration */
        if (r->present[i] && !sim_consumer_knows_all(r->consumers[i])) return false;
    return cluster_is_up(r->cluster) && !history_unsettled(r->history);
}

static bool has_read(void *ctx)
{
    struct run *r = ctx;
    return history_fault(r->history) || sim_watcher_has_read(r->watcher);
}

static void begin(struct run *r, uint64_t seed, bool sync_flush)
{
    struct sim_options options = sim_options_default(seed);
    *r = (struct run){.sim = sim_new(&options), .history = history_new(CLUSTER_BROKERS, CLUSTER_QUEUES)};
    r->cluster = cluster_new(r->sim, r->history, seed, sync_flush);
    if (!cluster_make_topic(r->cluster)) history_blame(r->history, "the topic was not made");
    for (int i = 0; i < PRODUCERS; i++) {
        struct sim_client_options o = client_options(r, CONSUMERS_MAX + i);
        r->producers[i] = sim_producer_new(&o, 5, 60);
    }
    for (int i = 0; i < CONSUMERS; i++) join(r);
    struct sim_client_options o = client_options(r, HISTORY_CLIENTS - 1);
    r->watcher = sim_watcher_new(&o, CLUSTER_QUEUES, WATCH_MS);
    r->trouble_ends_ms = sim_now_ms(r->sim) + TROUBLE_MS;
    sim_after(r->sim, draw(r, 1000, 3000), trouble, r);
}

static void wait_settled(struct run *r)
{
    if (sim_run_until(r->sim, is_settled, r, SETTLE_MS)) return;
    const char *why = history_unsettled(r->history);
    history_blame(r->history, "not settled after %d s: %s", SETTLE_MS / 1000, why ? why : "a producer, consumer or server is not done");
}

static void settle(struct run *r)
{
    sim_run_for(r->sim, TROUBLE_MS + AFTER_TROUBLE_MS);
    for (int i = 0; i < PRODUCERS; i++) sim_producer_stop(r->producers[i]);
    wait_settled(r);
    sim_run_for(r->sim, ROUND_MS);   /* owners may be single by chance until every broker knows every member */
    wait_settled(r);
    sim_run_for(r->sim, QUIET_MS);   /* owners stay owners */
    const char *again = history_unsettled(r->history);
    if (again) history_blame(r->history, "settled, and then not: %s", again);
}

static void read_back(struct run *r)
{
    sim_watcher_read_back(r->watcher);
    if (!sim_run_until(r->sim, has_read, r, READ_MS)) history_blame(r->history, "reading everything back does not end");
    else history_check_read_back(r->history);
}

static void end(struct run *r)
{
    for (int i = 0; i < PRODUCERS; i++) sim_producer_free(r->producers[i]);
    for (int i = 0; i < r->joined; i++) sim_consumer_free(r->consumers[i]);
    sim_watcher_free(r->watcher);
    cluster_free(r->cluster);
    history_free(r->history);
    sim_free(r->sim);
}

struct outcome {
    char fault[400];
    uint64_t trace;
    uint32_t acked;
};

static struct outcome run_seed(uint64_t seed, bool sync_flush)
{
    struct run r;
    struct outcome o = {.trace = 0};
    begin(&r, seed, sync_flush);
    if (!history_fault(r.history)) settle(&r);
    if (!history_fault(r.history)) read_back(&r);
    if (!history_fault(r.history) && history_acked_count(r.history) < 100)
        history_blame(r.history, "only %u messages were acknowledged", history_acked_count(r.history));
    if (history_fault(r.history)) snprintf(o.fault, sizeof o.fault, "%s", history_fault(r.history));
    o.trace = sim_trace(r.sim);
    o.acked = history_acked_count(r.history);
    end(&r);
    return o;
}

/* --- the program --- */

static int run_many(uint64_t first, uint64_t count, bool sync_flush)
{
    int failed = 0;
    uint64_t acked = 0;
    for (uint64_t seed = first; seed < first + count; seed++) {
        struct outcome o = run_seed(seed, sync_flush);
        acked += o.acked;
        if (!o.fault[0]) continue;
        failed++;
        printf("seed %llu: %s\n", (unsigned long long)seed, o.fault);
        fflush(stdout);
    }
    printf("seeds %llu to %llu: %d failed, %llu messages acknowledged\n", (unsigned long long)first, (unsigned long long)(first + count - 1), failed,
           (unsigned long long)acked);
    return failed ? 1 : 0;
}

static int run_twice(uint64_t seed)
{
    struct outcome a = run_seed(seed, true), b = run_seed(seed, true);
    if (a.trace == b.trace) return 0;
    printf("seed %llu: two runs differ\n", (unsigned long long)seed);
    return 1;
}

int main(int argc, char **argv)
{
    int64_t first = 0, count = 1;
    if (argc < 3 || !slice_to_i64(slice_text(argv[2]), &first) || (argc > 3 && !slice_to_i64(slice_text(argv[3]), &count))) {
        fprintf(stderr, "usage: cluster_sim sync|async|repeat SEED [COUNT]\n");
        return 2;
    }
    log_set_level(argc > 3 ? LOG_SILENT : LOG_INFO);
    if (!strcmp(argv[1], "repeat")) {
        log_set_level(LOG_SILENT);
        return run_twice((uint64_t)first);
    }
    return run_many((uint64_t)first, (uint64_t)count, !strcmp(argv[1], "sync"));
}
