#include "sim/cluster.h"

#include "base/config.h"
#include "broker/broker.h"
#include "codec/requests.h"
#include "kit/sim_fs.h"
#include "namesrv/namesrv.h"
#include "rpc/rpc.h"

#include <stdlib.h>

enum { NAMESRV_PORT = 9876, BROKER_PORT = 10911, FORGETS_MS = 8000, SETUP_MS = 30000 };

const char *const cluster_broker_names[CLUSTER_BROKERS] = {"broker-a", "broker-b"};
const char *const cluster_broker_ips[CLUSTER_BROKERS] = {"10.0.0.2", "10.0.0.3"};

/* One server; a restart gives it a new process, loop and configuration. */
struct server {
    struct cluster *cluster;
    int broker;                        /* -1: the name server */
    struct sim_process *process;
    struct loop *loop;
    struct sim_fs *disk;
    struct config config;
    struct broker *running_broker;
    struct namesrv *running_namesrv;
    struct rpc_listener *names_port;
    bool up;
};

struct cluster {
    struct sim *sim;
    struct history *history;
    uint64_t seed;
    bool sync_flush;
    struct server broker[CLUSTER_BROKERS];
    struct server namesrv;
    int made;                          /* replies to the creation of the topic */
};

/* --- start --- */

static void set(struct server *s, const char *key, const char *value)
{
    err_t e = config_set(&s->config, slice_text(key), slice_text(value));
    if (e) history_blame(s->cluster->history, "configuration: %s", err_text(e));
    err_free(e);
}

static struct addr address_of(const char *ip, uint16_t port)
{
    struct addr a = {.v6 = false};
    struct buf b = BUF_EMPTY;
    buf_printf(&b, "%s:%u", ip, port);
    err_drop(addr_parse(buf_slice(&b), &a), "addresses of the cluster are literal");
    buf_done(&b);
    return a;
}

static void configure_broker(struct server *s)
{
    config_init(&s->config, CONFIG_BROKER);
    set(s, "brokerName", cluster_broker_names[s->broker]);
    set(s, "brokerIP1", cluster_broker_ips[s->broker]);
    set(s, "namesrvAddr", CLUSTER_NAMESRV);
    set(s, "storePathRootDir", "/data/store");
    set(s, "flushDiskType", s->cluster->sync_flush ? "SYNC_FLUSH" : "ASYNC_FLUSH");
    set(s, "mappedFileSizeCommitLog", "131072");
    set(s, "mappedFileSizeConsumeQueue", "2000");
    set(s, "registerNameServerPeriod", "10000");
}

static err_t start_broker(struct server *s)
{
    configure_broker(s);
    struct broker_options o = {.loop = s->loop, .fs = sim_fs_disk(s->disk), .config = &s->config, .seed = random_u64(sim_random(s->cluster->sim)),
                               .listen = {.port = BROKER_PORT}, .advertised = address_of(cluster_broker_ips[s->broker], BROKER_PORT)};
    return broker_new(&o, &s->running_broker);
}

static err_t start_namesrv(struct server *s)
{
    config_init(&s->config, CONFIG_NAMESRV);
    set(s, "kvConfigPath", "/data/namesrv/kvConfig.json");
    err_t e = namesrv_new(&s->config, sim_fs_disk(s->disk), s->loop, &s->running_namesrv);
    if (e) return e;
    struct rpc_service service = namesrv_service(s->running_namesrv);
    struct rpc_options options = rpc_options_default();
    struct addr any = {.port = NAMESRV_PORT};
    return rpc_listen(s->loop, &any, 0, &service, &options, &s->names_port);
}

static void start(void *ctx)
{
    struct server *s = ctx;
    s->process = sim_process_new(s->cluster->sim, s->broker < 0 ? CLUSTER_NAMESRV_IP : cluster_broker_ips[s->broker]);
    s->loop = sim_loop_new(s->process);
    sim_fs_restart(s->disk);
    err_t e = s->broker < 0 ? start_namesrv(s) : start_broker(s);
    if (e) history_blame(s->cluster->history, "server %d does not start: %s", s->broker, err_text(e));
    err_free(e);
    s->up = true;
}

static void server_init(struct cluster *c, struct server *s, int broker)
{
    *s = (struct server){.cluster = c, .broker = broker, .disk = sim_fs_new(c->seed * 4 + (uint64_t)(broker + 1))};
    start(s);
}

struct cluster *cluster_new(struct sim *sim, struct history *h, uint64_t seed, bool sync_flush)
{
    struct cluster *c = must_zero(sizeof *c);
    c->sim = sim;
    c->history = h;
    c->seed = seed;
    c->sync_flush = sync_flush;
    server_init(c, &c->namesrv, -1);
    for (int i = 0; i < CLUSTER_BROKERS; i++) server_init(c, &c->broker[i], i);
    return c;
}

/* --- end --- */

/* Memory of the process; on a dead loop and a dead disk this has no effect that anybody sees. */
static void release(struct server *s)
{
    err_drop(broker_free(s->running_broker), "the disk is gone, or the test is over");
    s->running_broker = NULL;
    rpc_listener_close(s->names_port);
    s->names_port = NULL;
    err_drop(namesrv_free(s->running_namesrv), "the disk is gone, or the test is over");
    s->running_namesrv = NULL;
    config_done(&s->config);
    s->up = false;
}

static void kill_server(struct server *s, int64_t down_ms)
{
    if (!s->up) return;
    sim_process_kill(s->process);
    if (s->broker >= 0) history_broker_lost(s->cluster->history, s->broker, sim_now_ms(s->cluster->sim), FORGETS_MS);
    if (s->cluster->sync_flush) sim_fs_cut_power(s->disk);
    else sim_fs_stop(s->disk);
    release(s);
    sim_after(s->cluster->sim, down_ms, start, s);
}

void cluster_restart_broker(struct cluster *c, int broker, int64_t down_ms) { kill_server(&c->broker[broker], down_ms); }
void cluster_restart_namesrv(struct cluster *c, int64_t down_ms) { kill_server(&c->namesrv, down_ms); }

bool cluster_is_up(const struct cluster *c) { return c->namesrv.up && c->broker[0].up && c->broker[1].up; }

void cluster_free(struct cluster *c)
{
    for (int i = 0; i < CLUSTER_BROKERS; i++) {
        release(&c->broker[i]);
        sim_fs_free(c->broker[i].disk);
    }
    release(&c->namesrv);
    sim_fs_free(c->namesrv.disk);
    free(c);
}

/* --- the topic --- */

static void on_made(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct cluster *c = ctx;
    if (e || reply->frame->code != RESPONSE_SUCCESS) history_blame(c->history, "the topic cannot be made: %s", e ? err_text(e) : "refused");
    err_free(e);
    c->made++;
}

static bool all_made(void *ctx) { return ((struct cluster *)ctx)->made == CLUSTER_BROKERS; }

bool cluster_make_topic(struct cluster *c)
{
    struct loop *l = sim_loop_new(sim_process_new(c->sim, "10.0.2.1"));
    struct rpc_options options = rpc_options_default();
    struct rpc_peer *peers[CLUSTER_BROKERS];
    struct create_topic_header h = {.topic = SLICE(CLUSTER_TOPIC), .default_topic = SLICE("TBW102"), .read_queue_nums = CLUSTER_QUEUES,
                                    .write_queue_nums = CLUSTER_QUEUES, .perm = 6, .topic_filter_type = SLICE("SINGLE_TAG")};
    struct rpc_request r = {.code = REQUEST_UPDATE_AND_CREATE_TOPIC, .kind = &create_topic_kind, .header = &h, .timeout_ms = SETUP_MS,
                            .done = on_made, .ctx = c};
    for (int i = 0; i < CLUSTER_BROKERS; i++) {
        struct buf address = BUF_EMPTY;
        buf_printf(&address, "%s:%d", cluster_broker_ips[i], BROKER_PORT);
        peers[i] = rpc_peer_new(l, buf_slice(&address), NULL, &options);
        rpc_peer_request(peers[i], &r);
        buf_done(&address);
    }
    bool made = sim_run_until(c->sim, all_made, c, SETUP_MS);
    sim_run_for(c->sim, 2000);   /* onto the disks */
    for (int i = 0; i < CLUSTER_BROKERS; i++) rpc_peer_free(peers[i]);
    return made;
}
