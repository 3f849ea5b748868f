#include "namesrv/namesrv.h"
#include "base/log.h"
#include "codec/requests.h"
#include "namesrv/state.h"
#include "os/network.h"

#include <stdio.h>
#include <stdlib.h>

enum { SERIES_MAX = 2000 };

static void handle(void *ctx, struct call *call)
{
    struct namesrv *ns = ctx;
    switch (call->code) {
#define CASE_broker(name, handler)
#define CASE_namesrv(name, handler) case REQUEST_##name: handle_##handler(ns, call); return;
#define REQUEST(room, name, code, handler, rights, port) CASE_##room(name, handler)
#define CALL(name, code)
#include "catalog/requests.def"
#undef REQUEST
#undef CALL
    }
    call_fail(call, err_new(ERR_NOT_SUPPORTED, " request type %d not supported", call->code));
}

static void closed(void *ctx, struct rpc_conn *conn)
{
    struct namesrv *ns = ctx;
    route_table_conn_closed(ns->routes, rpc_conn_id(conn));
}

static void answered(void *ctx, const struct call *call, int32_t code) { rpc_watch_answered(&((struct namesrv *)ctx)->watch, call, code); }

struct rpc_service namesrv_service(struct namesrv *ns) { return (struct rpc_service){handle, closed, ns, answered}; }

/* --- how it is doing --- */

struct metrics *namesrv_metrics(struct namesrv *ns) { return &ns->metrics; }

static void break_down(struct namesrv *ns)
{
    char host[HOST_NAME_MAX_TEXT];
    struct metric_names n = {
        .node_type = "nameserver", .node_id = network_host_name(host), .in_delta = ns->config->metrics.in_delta, .labels = ns->config->metrics.labels,
    };
    metrics_break_down_as(&ns->metrics, &n, SERIES_MAX);
}

static void put_series(struct namesrv *ns, struct metric_page *page, enum metric which)
{
    size_t at = 0;
    metric_page_put_series(page, &ns->metrics, which, &at, SERIES_MAX);
}

/* What it counts is little: one turn does. */
void namesrv_scrape(struct namesrv *ns, struct scrape *s)
{
    metric_page_put_for(&s->page, &ns->metrics, METRIC_CONNECTIONS, NULL, metric_get(&ns->metrics, METRIC_CONNECTIONS));
    metric_page_put_for(&s->page, &ns->metrics, METRIC_FRAMES_REFUSED, NULL, metric_get(&ns->metrics, METRIC_FRAMES_REFUSED));
    metric_page_put_for(&s->page, &ns->metrics, METRIC_BROKERS, NULL, (int64_t)route_table_brokers(ns->routes));
    metric_page_put_for(&s->page, &ns->metrics, METRIC_UPTIME, NULL, (tasks_mono_ms(ns->tasks) - ns->started_ms) / 1000);
    put_series(ns, &s->page, METRIC_RPC_LATENCY);
    scrape_done(s);
}

void namesrv_health(struct namesrv *ns, struct health *out)
{
    const struct config_namesrv *c = &ns->config->namesrv;
    int64_t left_ms = ns->started_ms + (int64_t)c->wait_seconds * 1000 - tasks_mono_ms(ns->tasks);
    out->ready = !c->wait_for_service || left_ms <= 0;
    if (!out->ready) snprintf(out->why, sizeof out->why, "the name server waits %lld s more for brokers", (long long)(left_ms + 999) / 1000);
}

static void scan_fire(void *ctx)
{
    struct namesrv *ns = ctx;
    route_table_expire(ns->routes, tasks_mono_ms(ns->tasks));
    timer_start(ns->tasks, &ns->scan, ns->config->namesrv.scan_ms);
}

static void encode_kv(void *ctx, struct buf *out) { kv_encode(&((struct namesrv *)ctx)->kv, out); }
static err_t decode_kv(void *ctx, struct slice text) { return kv_decode(&((struct namesrv *)ctx)->kv, text); }
static void encode_config(void *ctx, struct buf *out) { config_write(((struct namesrv *)ctx)->config, CONFIG_NAMESRV, out); }

/* The folder of a file is made when it is not there. */
static err_t make_folder_of(struct fs *fs, const char *path)
{
    char folder[4096];
    if (snprintf(folder, sizeof folder, "%s", path) >= (int)sizeof folder) return err_new(ERR_IO, "path too long: %s", path);
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder) return NULL;
    *slash = 0;
    return fs_make_durable_folder(fs, folder);
}

static err_t open_kv(struct namesrv *ns, struct fs *fs)
{
    char path[4096];
    bool found;
    if (ns->config->namesrv.kv_path) snprintf(path, sizeof path, "%s", ns->config->namesrv.kv_path);
    else snprintf(path, sizeof path, "%s/namesrv/kvConfig.json", ns->config->skylark.data_folder);
    err_t e = make_folder_of(fs, path);
    if (!e) e = saver_load(fs, path, decode_kv, ns, &found);
    if (e) return e;
    saver_init(&ns->kv_saver, fs, ns->tasks, path, encode_kv, ns);
    return NULL;
}

err_t namesrv_new(struct config *config, struct fs *fs, struct loop *loop, struct namesrv **out)
{
    struct namesrv *ns = must_zero(sizeof *ns);
    ns->config = config;
    ns->loop = loop;
    ns->tasks = rpc_tasks(loop);
    err_t e = open_kv(ns, fs);
    if (e) {
        kv_done(&ns->kv);
        free(ns);
        return err_in(e, "start the name server");
    }
    if (config->namesrv.config_path) saver_init(&ns->config_saver, fs, ns->tasks, config->namesrv.config_path, encode_config, ns);
    ns->routes = route_table_new(notify_min_changed, ns);
    ns->watch = (struct rpc_watch){.tasks = ns->tasks, .metrics = &ns->metrics, .config = config};
    if (config->metrics.exporter != METRICS_DISABLE) break_down(ns);
    ns->started_ms = tasks_mono_ms(ns->tasks);
    timer_init(&ns->scan, scan_fire, ns);
    timer_start(ns->tasks, &ns->scan, config->namesrv.scan_ms);
    *out = ns;
    return NULL;
}

err_t namesrv_free(struct namesrv *ns)
{
    if (!ns) return NULL;
    timer_stop(ns->tasks, &ns->scan);
    notify_done(ns);
    err_t e = saver_done(&ns->kv_saver);
    err_t second = saver_done(&ns->config_saver);
    if (e) err_drop(second, "the first failure is told");
    else e = second;
    route_table_free(ns->routes);
    metrics_done(&ns->metrics);
    kv_done(&ns->kv);
    free(ns);
    return e;
}
