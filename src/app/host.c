#include "app/app.h"

#include "app/edge.h"
#include "app/ops.h"
#include "base/log.h"
#include "broker/broker.h"
#include "namesrv/namesrv.h"
#include "net/loop.h"
#include "os/network.h"
#include "os/process.h"
#include "os/random.h"
#include "rpc/rpc.h"

#include <assert.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { FILES_LEAST = 1024, PATH_TEXT = 4096, PLACE_TEXT = 320 };

/* The name server lives on the process's first loop, broker and gRPC clients on loops and threads of their own, or together on one
 * (edgeThreadFromCpus); a process without a name server has the first loop for signals. */
struct host {
    struct config *broker_config;    /* NULL: no broker here */
    struct config *namesrv_config;   /* NULL: no name server here */
    struct config *proxy_config;     /* NULL: no gRPC clients here */
    struct loop *loop;
    struct namesrv *namesrv;
    struct rpc_listener *names_port;
    struct rpc_listener *names_local;   /* for the edge */
    struct edge *edge;
    struct ops *ops;
    char broker_at[PLACE_TEXT];      /* as the broker is known to the name servers */
    char names_at[PLACE_TEXT];
    struct mail ops_drained;
    struct mail edge_stopped;
    struct loop *broker_loop;
    struct broker *broker;
    pthread_t broker_thread;
    bool broker_runs;
    struct mail stop_broker;     /* to the broker's loop */
    struct mail broker_stopped;  /* and back */
    bool stopping, hurried;
    bool failed;                 /* the start did, after some threads ran */
    int64_t began_ms;
};

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* --- what is left open in the configuration --- */

static err_t set_text(struct config *c, const char *key, const char *fmt, const char *value)
{
    char text[PATH_TEXT];
    snprintf(text, sizeof text, fmt, value);
    return config_set(c, slice_text(key), slice_text(text));
}

static err_t fill_in(struct host *h)
{
    struct config *b = h->broker_config;
    char text[HOST_NAME_MAX_TEXT];
    err_t e = NULL;
    if (!b->broker.name) e = set_text(b, "brokerName", "%s", network_host_name(text));
    if (!e && !b->store.root) e = set_text(b, "storePathRootDir", "%s/store", b->skylark.data_folder);
    if (e || !h->namesrv || b->broker.namesrv_addr) return e;
    return set_text(b, "namesrvAddr", "%s", h->names_at);
}

static err_t begin_log(const struct config *c)
{
    if (log_set_level_named(c->skylark.log_level)) return log_open(c->skylark.log_file);
    return err_new(ERR_CONFIG, "logLevel must be debug, info, warn or error, not \"%s\"", c->skylark.log_level);
}

/* --- the parts --- */

/* The port that all of them share; 0: each has its own. */
static uint16_t one_port(const struct host *h) { return h->proxy_config ? (uint16_t)h->proxy_config->edge.one_port : 0; }

/* Behind one port, each has a port that is seen on this machine alone. */
static const struct addr hidden = {.ip = {127, 0, 0, 1}};

static err_t listen_address(const struct config *c, int32_t port, struct addr *out)
{
    return err_in(network_resolve(slice_text(c->netty.bind_address), (uint16_t)port, out), "bindAddress");
}

/* What the user can do about it, behind the error's own words. Takes e. */
static err_t advise(err_t e, const char *port_key)
{
    char hint[160];
    switch (err_code(e)) {
    case ERR_NETWORK: snprintf(hint, sizeof hint, "end the process that has it, or take another port: --set %s=PORT", port_key); break;
    case ERR_LOCKED: snprintf(hint, sizeof hint, "end the server that uses this folder, or take another folder: --data DIR"); break;
    case ERR_DISK_FULL: snprintf(hint, sizeof hint, "make room, or take a folder on another disk: --data DIR"); break;
    case ERR_IO: case ERR_NOT_FOUND: snprintf(hint, sizeof hint, "may this user write there? Another folder: --data DIR"); break;
    default: return e;
    }
    err_t advised = err_new(err_code(e), "%s (%s)", err_text(e), hint);
    err_free(e);
    return advised;
}

static bool is_literal(const char *host)
{
    struct addr a;
    char text[HOST_NAME_MAX_TEXT + 16];
    snprintf(text, sizeof text, strchr(host, ':') && host[0] != '[' ? "[%s]:1" : "%s:1", host);
    err_t e = addr_parse(slice_text(text), &a);
    err_free(e);
    return !e;
}

/* As it stands in routes. */
static void tell_place(struct host *h, const struct broker_options *o)
{
    struct addr at = o->advertised;
    char text[ADDR_TEXT_MAX];
    if (!at.port) at.port = broker_address(h->broker).port;
    if (o->advertised_host) snprintf(h->broker_at, sizeof h->broker_at, "%.300s:%u", o->advertised_host, (unsigned)at.port);
    else snprintf(h->broker_at, sizeof h->broker_at, "%s", addr_format(&at, text));
}

static err_t start_broker(struct host *h)
{
    struct config *c = h->broker_config;
    struct broker_options o = {.fs = fs_real(), .config = c, .seed = random_seed(), .mono_us = process_mono_us};
    uint16_t shared = one_port(h);
    err_t e = listen_address(c, c->broker.listen_port, &o.listen);
    if (shared) o.listen = hidden;
    if (!e && c->broker.ip1) {
        e = err_in(network_resolve(slice_text(c->broker.ip1), shared ? shared : o.listen.port, &o.advertised), "brokerIP1");
        if (!is_literal(c->broker.ip1)) o.advertised_host = c->broker.ip1;
    } else if (!e) {
        o.advertised = network_local_address(shared ? shared : o.listen.port);
    }
    if (!e) e = real_loop_new(&h->broker_loop);
    o.loop = h->broker_loop;
    if (!e) e = broker_new(&o, &h->broker);
    if (!e) tell_place(h, &o);
    return advise(e, h->namesrv ? "broker.listenPort" : "listenPort");
}

static err_t start_namesrv(struct host *h)
{
    struct config *c = h->namesrv_config;
    struct addr at;
    err_t e = listen_address(c, c->namesrv.listen_port, &at);
    if (one_port(h)) at = hidden;
    if (!e) e = namesrv_new(c, fs_real(), h->loop, &h->namesrv);
    if (e) return advise(e, "listenPort");
    struct rpc_service service = namesrv_service(h->namesrv);
    struct rpc_options options = rpc_options_default();
    options.idle_close_ms = (int64_t)c->netty.idle_seconds * 1000;
    options.metrics = namesrv_metrics(h->namesrv);
    e = rpc_listen(h->loop, &at, 0, &service, &options, &h->names_port);
    if (e) return advise(e, h->broker_config ? "namesrv.listenPort" : "listenPort");
    snprintf(h->names_at, sizeof h->names_at, "127.0.0.1:%u", (unsigned)rpc_listener_addr(h->names_port).port);
    if (h->proxy_config) h->names_local = rpc_listen_local(h->loop, 0, &service, &options);
    return NULL;
}

/* The proxy in front of a broker takes what the broker takes, unless it is told otherwise (proxy.maxMessageSize). */
static err_t follow_broker(struct config *proxy, const struct config *broker)
{
    struct config usual;
    config_init(&usual, CONFIG_PROXY);
    if (proxy->proxy.max_message_bytes == usual.proxy.max_message_bytes) proxy->proxy.max_message_bytes = broker->store.max_message_bytes;
    config_done(&usual);
    return set_text(proxy, "rocketMQClusterName", "%s", broker->broker.cluster);
}

/* In front of what is in this process, else of the name servers that are configured. */
static err_t start_edge(struct host *h)
{
    struct edge_options o = {.config = h->proxy_config};
    o.namesrv_addr = h->proxy_config->edge.namesrv_addr;
    if (!o.namesrv_addr && h->broker_config) o.namesrv_addr = h->broker_config->broker.namesrv_addr;
    if (h->broker_config) {
        err_t e = follow_broker(h->proxy_config, h->broker_config);
        if (e) return e;
    }
    if (!o.namesrv_addr) return err_new(ERR_CONFIG, "name servers are needed: -n HOST:9876, the key namesrvAddr, or the variable NAMESRV_ADDR");
    if (h->namesrv) {
        o.namesrv = rpc_listener_port(h->names_local);
        o.namesrv_at = h->names_at;
    }
    if (h->broker) {
        o.broker = broker_local_port(h->broker);
        o.broker_at = h->broker_at;
        if (process_cpus() < h->proxy_config->edge.thread_from_cpus) o.loop = h->broker_loop;
    }
    const char *port_key;
    err_t e = edge_new(&o, &port_key, &h->edge);
    return advise(e, port_key);
}

/* --- for operators --- */

static void scrape_broker(void *ctx, struct scrape *s) { broker_scrape(ctx, s); }
static void scrape_namesrv(void *ctx, struct scrape *s) { namesrv_scrape(ctx, s); }
static void scrape_edge(void *ctx, struct scrape *s) { edge_scrape(ctx, s); }
static void broker_is_well(void *ctx, struct health *out) { broker_health(ctx, out); }
static void namesrv_is_well(void *ctx, struct health *out) { namesrv_health(ctx, out); }
static void edge_is_well(void *ctx, struct health *out) { edge_health(ctx, out); }

/* A loop of their own, if somebody wants to hear: by HTTP, or the service manager. */
static err_t start_ops(struct host *h, const struct config *any)
{
    struct ops_source sources[OPS_SOURCES_MAX];
    struct ops_options o = {.config = any, .serve = any->metrics.exporter == METRICS_PROM, .sources = sources};
    if (any->metrics.exporter == METRICS_DISABLE && !getenv("NOTIFY_SOCKET")) return NULL;
    if (h->namesrv) sources[o.count++] = (struct ops_source){"name server", rpc_tasks(h->loop), scrape_namesrv, namesrv_is_well, h->namesrv};
    if (h->broker) sources[o.count++] = (struct ops_source){"broker", rpc_tasks(h->broker_loop), scrape_broker, broker_is_well, h->broker};
    if (h->edge) sources[o.count++] = (struct ops_source){"proxy", edge_tasks(h->edge), scrape_edge, edge_is_well, h->edge};
    return advise(ops_new(&o, &h->ops), "metricsPromExporterPort");
}

static void *run_broker(void *arg)
{
    struct host *h = arg;
    real_loop_run(h->broker_loop);
    return NULL;
}

/* --- stopping: gRPC clients first, while what is behind them still answers; the broker while the name server still listens to its
 * farewell --- */

static void end_first_loop(struct mail *m)
{
    struct host *h = (struct host *)((char *)m - offsetof(struct host, broker_stopped));
    real_loop_stop(h->loop);
}

static void broker_has_stopped(void *ctx)
{
    struct host *h = ctx;
    h->broker_stopped.deliver = end_first_loop;
    tasks_post(rpc_tasks(h->loop), &h->broker_stopped);
    real_loop_stop(h->broker_loop);
}

static void begin_stop(struct mail *m)
{
    struct host *h = (struct host *)((char *)m - offsetof(struct host, stop_broker));
    broker_stop(h->broker, broker_has_stopped, h);
}

static void stop_what_is_behind(struct host *h)
{
    if (!h->broker) {
        real_loop_stop(h->loop);
        return;
    }
    h->stop_broker.deliver = begin_stop;
    tasks_post(rpc_tasks(h->broker_loop), &h->stop_broker);
}

static void edge_has_stopped(struct mail *m)
{
    struct host *h = (struct host *)((char *)m - offsetof(struct host, edge_stopped));
    edge_free(h->edge);
    h->edge = NULL;
    stop_what_is_behind(h);
}

/* A second signal: gRPC calls that are waited for end now. */
static void hurry(struct host *h)
{
    if (h->hurried || !h->edge) return;
    h->hurried = true;
    edge_hurry(h->edge);
}

static void stop_edge(struct host *h)
{
    if (!h->edge) {
        stop_what_is_behind(h);
        return;
    }
    h->edge_stopped.deliver = edge_has_stopped;
    edge_stop(h->edge, rpc_tasks(h->loop), &h->edge_stopped);
}

/* Nobody is asked any more how he is. */
static void ops_have_drained(struct mail *m) { stop_edge((struct host *)((char *)m - offsetof(struct host, ops_drained))); }

static void on_signal(void *ctx, int number)
{
    struct host *h = ctx;
    if (number == SIGHUP) {
        err_t e = log_reopen();
        if (e) log_error("log.reopen_failed why=\"%s\"", err_text(e));
        err_free(e);
        return;
    }
    if (h->stopping) {
        hurry(h);
        return;
    }
    h->stopping = true;
    log_info("process.stopping signal=%s", number == SIGTERM ? "TERM" : "INT");
    if (!h->ops) {
        stop_edge(h);
        return;
    }
    h->ops_drained.deliver = ops_have_drained;
    ops_drain(h->ops, rpc_tasks(h->loop), &h->ops_drained);
}

/* --- all of it --- */

static void say_names(const struct host *h)
{
    char text[ADDR_TEXT_MAX];
    struct addr at = rpc_listener_addr(h->names_port);
    printf("  name server  %s\n", one_port(h) ? "there too" : addr_format(&at, text));
}

static void say_broker(const struct host *h)
{
    const struct config *c = h->broker_config;
    char text[ADDR_TEXT_MAX];
    struct addr at = broker_address(h->broker);
    printf("  broker       %s, \"%s\" in \"%s\"; clients are told %s\n", one_port(h) ? "there too" : addr_format(&at, text), c->broker.name,
           c->broker.cluster, c->broker.ip1 ? c->broker.ip1 : "the address of this machine (brokerIP1 changes it)");
    printf("  data         %s, %s\n", c->store.root, c->store.flush_disk_type == SYNC_FLUSH
           ? "messages are on disk before they are answered" : "messages are answered before they are on disk (ASYNC_FLUSH)");
}

static void say_edge(const struct host *h)
{
    char text[ADDR_TEXT_MAX];
    struct addr at = edge_grpc_addr(h->edge);
    const char *certificate = edge_certificate(h->edge), *how = "plaintext only (tls.server.mode)";
    if (certificate) how = h->proxy_config->edge.tls == TLS_ENFORCING ? "TLS only with " : "plaintext, and TLS with ";
    printf("  %s     %s, %s%s%s\n", one_port(h) ? "one port" : "gRPC    ", addr_format(&at, text), how, certificate ? certificate : "",
           h->broker ? "" : ", in front of the brokers that the name servers know");
    if (edge_remoting_addr(h->edge, &at))
        printf("  remoting     %s, a name server and broker for clients that are to see this port alone; gRPC too\n", addr_format(&at, text));
}

static void say_ops(const struct host *h)
{
    char text[ADDR_TEXT_MAX];
    struct addr at;
    if (ops_addr(h->ops, &at)) printf("  metrics      http://%s/metrics for Prometheus; /healthz, /readyz\n", addr_format(&at, text));
}

static void say_ready(const struct host *h)
{
    printf("Skylark " SKYLARK_VERSION " is ready (%lld ms).\n", (long long)(now_ms() - h->began_ms));
    bool shared = one_port(h);
    if (shared) say_edge(h);
    if (h->namesrv) say_names(h);
    if (h->broker) say_broker(h);
    if (h->edge && !shared) say_edge(h);
    say_ops(h);
    if (h->namesrv && h->broker)
        printf("\nTry it: point any RocketMQ client at the name server 127.0.0.1:%u. Stop with ^C; 'skylark server --help' shows more.\n",
               shared ? (unsigned)one_port(h) : (unsigned)rpc_listener_addr(h->names_port).port);
    fflush(stdout);
}

static err_t start(struct host *h)
{
    const struct config *any = h->broker_config ? h->broker_config : h->namesrv_config ? h->namesrv_config : h->proxy_config;
    signal(SIGHUP, SIG_IGN);   /* until there is a log to open anew: a rotation of logs must not end a start */
    err_t e = begin_log(any);
    if (!e) e = process_allow_files(FILES_LEAST);
    if (!e) e = real_loop_new(&h->loop);
    const int signals[] = {SIGTERM, SIGINT, SIGHUP};   /* before anybody can see that we are there: handled once the loop runs */
    for (size_t i = 0; !e && i < sizeof signals / sizeof *signals; i++) e = real_loop_on_signal(h->loop, signals[i], on_signal, h);
    if (!e && h->namesrv_config && !h->namesrv_config->namesrv.kv_path)
        e = set_text(h->namesrv_config, "kvConfigPath", "%s/namesrv/kvConfig.json", any->skylark.data_folder);
    if (!e && h->namesrv_config) e = start_namesrv(h);
    if (!e && h->broker_config) e = fill_in(h);
    if (!e && h->broker_config) e = start_broker(h);
    if (!e && h->proxy_config) e = start_edge(h);
    if (!e) e = start_ops(h, any);
    if (e) return e;
    config_report_ignored(any);
    if (h->broker && pthread_create(&h->broker_thread, NULL, run_broker, h)) return err_new(ERR_IO, "cannot start a thread");
    h->broker_runs = h->broker;
    if (h->edge) e = edge_run(h->edge);
    if (!e && h->ops) e = ops_run(h->ops);
    return e;
}

static void join_broker(struct host *h)
{
    if (!h->broker_runs) return;
    if (h->failed) real_loop_stop(h->broker_loop);
    pthread_join(h->broker_thread, NULL);
    real_loop_adopt(h->broker_loop);
    h->broker_runs = false;
}

static err_t stop(struct host *h)
{
    h->stopping = true;   /* a signal that comes now, after a start that failed, changes nothing */
    if (h->failed) join_broker(h);   /* gRPC clients may be at home on its loop */
    edge_free(h->edge);
    join_broker(h);
    ops_free(h->ops);   /* nobody posts to it any more, nor it to them */
    err_t e = broker_free(h->broker);
    real_loop_free(h->broker_loop);
    rpc_listener_close(h->names_local);
    rpc_listener_close(h->names_port);
    err_t names = namesrv_free(h->namesrv);
    real_loop_free(h->loop);
    if (e) err_drop(names, "the first error is told");
    return e ? e : names;
}

int host_run(const char *name, struct config *broker, struct config *namesrv, struct config *proxy)
{
    struct host h = {.broker_config = broker, .namesrv_config = namesrv, .proxy_config = proxy, .began_ms = now_ms()};
    err_t e = start(&h);
    if (!e) {
        say_ready(&h);
        log_info("process.ready version=" SKYLARK_VERSION " pid=%lld", (long long)process_id());
        real_loop_run(h.loop);
    }
    h.failed = e;
    err_t end = stop(&h);
    if (!e) e = end;
    else err_drop(end, "the first error is told");
    int status = e ? command_failed(name, e) : EXIT_FINE;
    if (!status) log_info("process.stopped");
    log_close();
    return status;
}
