#include "app/edge.h"

#include "app/certificate.h"
#include "app/front.h"
#include "base/log.h"
#include "base/metrics.h"
#include "codec/proto/descriptors.h"
#include "grpc/grpc.h"
#include "grpc/health.h"
#include "grpc/reflection.h"
#include "net/loop.h"
#include "os/network.h"
#include "os/random.h"
#include "os/scrape.h"
#include "proxy/proxy.h"
#include "rpc/relay.h"
#include "rpc/rpc.h"

#include <assert.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SERVICES_MAX = 8, MS_OF_S = 1000, SERIES_MAX = 2000, SETTLE_MS = 1000, SETTLE_LOOK_MS = 5 };

struct edge {
    struct edge_options options;
    const struct config *config;
    char *namesrv_addr;               /* a copy: a broker may change its own while it runs */
    struct loop *loop;
    pthread_t thread;
    bool runs;                        /* the thread */
    struct metrics metrics;
    struct certificate *certificate;
    struct health *health;
    struct reflection *reflection;
    struct proxy *proxy;
    const struct grpc_service *services[SERVICES_MAX];
    size_t service_count;
    struct grpc_server *grpc;
    struct front *front;              /* the one port, or that of remoting clients; NULL: there is none */
    struct both_servers both;
    struct rpc_relay *relay;          /* behind the one port */
    struct proxy_remoting *remoting;  /* behind the port of remoting clients */
    struct mail stop, hurry;
    struct timer grace;
    struct timer settle;              /* while remoting clients are let go */
    int64_t settle_until_ms;
    bool settled, drained;            /* remoting clients, gRPC clients have gone */
    bool told;                        /* to stop */
    bool closed;
    struct tasks *stopped_at;         /* whom to tell */
    struct mail *stopped;
};

struct addr edge_grpc_addr(const struct edge *e) { return e->relay ? front_addr(e->front) : grpc_server_addr(e->grpc); }

bool edge_remoting_addr(const struct edge *e, struct addr *out)
{
    if (!e->remoting) return false;
    *out = front_addr(e->front);
    return true;
}

const char *edge_certificate(const struct edge *e) { return e->certificate ? certificate_path(e->certificate) : NULL; }

/* --- start --- */

static err_t start_tls(struct edge *e)
{
    if (e->config->edge.tls == TLS_DISABLED) return NULL;
    err_t error = certificate_new(e->options.config, &e->loop->tasks, &e->certificate);
    if (!error) certificate_watch(e->certificate);
    return err_in(error, "TLS");
}

/* --- ports for clients of all kinds --- */

static struct local_port *local_port_of(void *ctx, struct slice address)
{
    struct edge *e = ctx;
    const struct edge_options *o = &e->options;
    if (o->namesrv && slice_eq(address, slice_text(o->namesrv_at))) return o->namesrv;
    if (o->broker && slice_eq(address, slice_text(o->broker_at))) return o->broker;
    return NULL;
}

static int64_t idle_ms(const struct edge *e) { return (int64_t)e->config->netty.idle_seconds * MS_OF_S; }

static err_t open_front(struct edge *e, int32_t port, void (*take)(void *ctx, struct stream *s, const struct addr *remote), void *ctx)
{
    struct front_options o = {.loop = e->loop, .grpc = e->grpc, .take = take, .take_ctx = ctx, .tls_mode = (enum tls_mode)e->config->edge.tls};
    o.tls = e->certificate ? certificate_tls(e->certificate) : NULL;
    err_t error = network_resolve(slice_text(e->config->netty.bind_address), (uint16_t)port, &o.at);
    return error ? err_in(error, "bindAddress") : front_new(&o, &e->front);
}

static void take_for_both(void *ctx, struct stream *s, const struct addr *remote) { rpc_relay_take(ctx, s, remote); }
static void take_for_proxy(void *ctx, struct stream *s, const struct addr *remote) { proxy_remoting_take(ctx, s, remote); }

static err_t start_one_port(struct edge *e, const struct grpc_options *grpc)
{
    if (!e->options.namesrv || !e->options.broker)
        return err_new(ERR_CONFIG, "onePort is for a name server and a broker in one process: skylark server");
    e->both = (struct both_servers){e->options.namesrv, e->options.broker};
    e->grpc = grpc_server_new(e->loop, e->services, e->service_count, grpc);
    e->relay = front_relay_new(e->loop, &e->both, idle_ms(e));
    return open_front(e, e->config->edge.one_port, take_for_both, e->relay);
}

/* Clients of the remoting protocol are told the address that is configured, else that of this machine. */
static err_t start_remoting(struct edge *e)
{
    char access[HOST_NAME_MAX_TEXT + 16], ip[ADDR_TEXT_MAX];
    struct addr here = network_local_address(0);
    int32_t port = e->config->edge.remoting_port;
    if (!port || e->relay) return NULL;
    const char *host = e->config->edge.remoting_host ? e->config->edge.remoting_host : addr_format_ip(&here, ip);
    snprintf(access, sizeof access, "%.255s:%d", host, port);
    struct proxy_remoting_options o = {.loop = e->loop, .namesrv_addr = e->namesrv_addr, .access = access, .idle_close_ms = idle_ms(e),
                                       .proxy = e->proxy, .local = local_port_of, .local_ctx = e};
    err_t error = proxy_remoting_new(&o, &e->remoting);
    return error ? error : open_front(e, port, take_for_proxy, e->remoting);
}

static void close_front(struct edge *e)
{
    front_free(e->front);
    rpc_relay_free(e->relay);
    proxy_remoting_free(e->remoting);
    e->front = NULL;
    e->relay = NULL;
    e->remoting = NULL;
}

static err_t start_grpc(struct edge *e)
{
    struct grpc_options o = grpc_options_default();
    struct addr at;
    o.max_message_bytes = (size_t)e->config->edge.max_message_bytes;
    o.idle_close_ms = e->config->edge.idle_close_ms;
    o.metrics = &e->metrics;
    o.tls = e->certificate ? certificate_tls(e->certificate) : NULL;
    o.tls_only = e->config->edge.tls == TLS_ENFORCING;
    if (e->config->edge.one_port) return start_one_port(e, &o);
    err_t error = network_resolve(slice_text(e->config->netty.bind_address), (uint16_t)e->config->edge.grpc_port, &at);
    if (error) return err_in(error, "bindAddress");
    return grpc_listen(e->loop, &at, e->services, e->service_count, &o, &e->grpc);
}

static void add_service(struct edge *e, const struct grpc_service *service)
{
    assert(e->service_count < SERVICES_MAX);
    e->services[e->service_count++] = service;
    health_add(e->health, service->name);
}

/* Health checks, and reflection for tools. */
static void add_standard_services(struct edge *e)
{
    e->health = health_new();
    e->reflection = reflection_new();
    reflection_add(e->reflection, rocketmq_v2_descriptor);
    reflection_add(e->reflection, health_descriptor);
    add_service(e, health_service(e->health));
    for (int i = 0; i < REFLECTION_SERVICES; i++) add_service(e, reflection_service(e->reflection, i));
}

/* What is in this process is reached without a socket. */
static struct rpc_peer *connect_to(void *ctx, struct slice address, const struct rpc_service *service, const struct rpc_options *options)
{
    struct edge *e = ctx;
    struct local_port *here = local_port_of(e, address);
    return here ? rpc_peer_new_local(e->loop, here, service, options) : NULL;
}

static err_t start_proxy(struct edge *e)
{
    struct proxy_options o = {
        .loop = e->loop, .config = e->options.config, .namesrv_addr = e->namesrv_addr, .metrics = &e->metrics, .seed = random_seed(),
        .connect = connect_to, .connect_ctx = e, .port = (uint16_t)e->config->edge.one_port,
    };
    err_t error = proxy_new(&o, &e->proxy);
    if (!error) add_service(e, proxy_service(e->proxy));
    return error;
}

static void *run(void *arg)
{
    struct edge *e = arg;
    real_loop_run(e->loop);
    return NULL;
}

static void break_down(struct edge *e)
{
    char host[HOST_NAME_MAX_TEXT];
    const struct config *c = e->config;
    struct metric_names n = {
        .cluster = c->proxy.proxy_cluster, .node_type = "proxy", .node_id = c->proxy.proxy_name ? c->proxy.proxy_name : network_host_name(host),
        .proxy_mode = e->options.broker ? "local" : "cluster", .in_delta = c->metrics.in_delta, .labels = c->metrics.labels,
    };
    metrics_break_down_as(&e->metrics, &n, SERIES_MAX);
}

static err_t start(struct edge *e)
{
    err_t error = NULL;
    if (e->options.loop) e->loop = e->options.loop;
    else error = real_loop_new(&e->loop);
    if (!error) error = start_tls(e);
    if (error) return error;
    if (e->config->metrics.exporter != METRICS_DISABLE) break_down(e);
    add_standard_services(e);
    error = start_proxy(e);
    if (!error) error = start_grpc(e);
    return error ? error : start_remoting(e);
}

err_t edge_run(struct edge *e)
{
    if (e->options.loop) return NULL;
    e->runs = !pthread_create(&e->thread, NULL, run, e);
    return e->runs ? NULL : err_new(ERR_IO, "cannot start a thread");
}

/* --- how it is doing --- */

struct tasks *edge_tasks(struct edge *e) { return &e->loop->tasks; }

/* What a proxy counts is little: one turn does. */
void edge_scrape(struct edge *e, struct scrape *s)
{
    metric_page_put_totals(&s->page, &e->metrics, true);
    metric_page_put_for(&s->page, &e->metrics, METRIC_PROXY_UP, NULL, 1);
    for (size_t at = 0; metric_page_put_series(&s->page, &e->metrics, METRIC_GRPC_LATENCY, &at, SERIES_MAX);) {}
    scrape_done(s);
}

void edge_health(struct edge *e, struct health *out)
{
    out->ready = !e->closed && !grpc_server_is_draining(e->grpc);
    if (!out->ready) snprintf(out->why, sizeof out->why, "the proxy is stopping");
}

/* --- stop: on the loop --- */

static void certificate_is_idle(void *ctx)
{
    struct edge *e = ctx;
    bool own_loop = !e->options.loop;
    tasks_post(e->stopped_at, e->stopped);
    if (own_loop) real_loop_stop(e->loop);
}

/* Everything that is at home on this loop ends on it: nobody posts to it after that. */
static void close_all(void *ctx)
{
    struct edge *e = ctx;
    if (e->closed) return;
    e->closed = true;
    timer_stop(&e->loop->tasks, &e->grace);
    timer_stop(&e->loop->tasks, &e->settle);
    close_front(e);
    grpc_server_close(e->grpc);
    e->grpc = NULL;
    proxy_free(e->proxy);
    e->proxy = NULL;
    if (e->certificate) certificate_stop(e->certificate, certificate_is_idle, e);
    else certificate_is_idle(e);
}

/* Not inside of a call that ends. */
static void close_if_all_have_gone(struct edge *e)
{
    if (e->drained && e->settled) timer_start(&e->loop->tasks, &e->grace, 0);
}

static void on_drained(void *ctx)
{
    struct edge *e = ctx;
    e->drained = true;
    close_if_all_have_gone(e);
}

/* What remoting clients have asked is answered; those that are owed nothing are not kept waiting for others. */
static void let_go(void *ctx)
{
    struct edge *e = ctx;
    bool over = (!e->relay || rpc_relay_settle(e->relay)) && (!e->remoting || proxy_remoting_settle(e->remoting));
    if (!over && tasks_mono_ms(&e->loop->tasks) < e->settle_until_ms) {
        timer_start(&e->loop->tasks, &e->settle, SETTLE_LOOK_MS);
        return;
    }
    e->settled = true;
    close_if_all_have_gone(e);
}

static void begin_stop(struct mail *m)
{
    struct edge *e = LIST_OWNER(m, struct edge, stop);
    timer_init(&e->grace, close_all, e);
    timer_start(&e->loop->tasks, &e->grace, e->config->edge.shutdown_s * MS_OF_S);
    health_leave(e->health);
    proxy_leave(e->proxy);
    front_free(e->front);
    e->front = NULL;
    if (e->relay) rpc_relay_quiesce(e->relay);
    if (e->remoting) proxy_remoting_quiesce(e->remoting);
    e->settle_until_ms = tasks_mono_ms(&e->loop->tasks) + SETTLE_MS;
    timer_init(&e->settle, let_go, e);
    timer_start(&e->loop->tasks, &e->settle, 0);
    size_t calls = grpc_server_calls(e->grpc);
    if (calls) log_info("grpc.draining calls=%zu seconds=%lld", calls, (long long)e->config->edge.shutdown_s);
    grpc_server_on_drained(e->grpc, on_drained, e);
    grpc_server_drain(e->grpc);
}

static void end_now(struct mail *m)
{
    struct edge *e = LIST_OWNER(m, struct edge, hurry);
    if (!e->closed) timer_start(&e->loop->tasks, &e->grace, 0);
}

void edge_hurry(struct edge *e)
{
    e->hurry.deliver = end_now;
    tasks_post(&e->loop->tasks, &e->hurry);
}

void edge_stop(struct edge *e, struct tasks *tasks, struct mail *stopped)
{
    e->stopped_at = tasks;
    e->stopped = stopped;
    e->stop.deliver = begin_stop;
    e->told = true;
    tasks_post(&e->loop->tasks, &e->stop);
}

/* --- life --- */

err_t edge_new(const struct edge_options *options, const char **out_key, struct edge **out)
{
    struct edge *e = must_zero(sizeof *e);
    e->options = *options;
    e->options.namesrv_addr = e->namesrv_addr = must_strdup(options->namesrv_addr);
    e->config = options->config;
    err_t error = start(e);
    *out_key = options->config->edge.one_port ? "onePort" : e->remoting ? "remotingListenPort" : "grpcServerPort";
    if (error) edge_free(e);
    else *out = e;
    return error;
}

static void nobody_waits(void *ctx) { (void)ctx; }

/* Also of one that was not told to stop, as the start of something else failed: the loop may live on. */
static void free_all(struct edge *e)
{
    if (e->certificate) certificate_stop(e->certificate, nobody_waits, NULL);
    close_front(e);
    grpc_server_close(e->grpc);
    proxy_free(e->proxy);
    if (!e->options.loop) real_loop_free(e->loop);
    health_free(e->health);
    reflection_free(e->reflection);
    certificate_free(e->certificate);
    metrics_done(&e->metrics);
    free(e->namesrv_addr);
    free(e);
}

static void free_on_loop(struct mail *m) { free_all(LIST_OWNER(m, struct edge, stop)); }

void edge_free(struct edge *e)
{
    if (!e) return;
    if (e->options.loop && e->told) {   /* behind every other letter to it */
        e->stop.deliver = free_on_loop;
        tasks_post(&e->loop->tasks, &e->stop);
        return;
    }
    if (e->runs) {
        if (!e->told) real_loop_stop(e->loop);   /* the start of something else failed */
        pthread_join(e->thread, NULL);
        real_loop_adopt(e->loop);
    }
    free_all(e);
}
