#include "app/teller.h"

#include "base/log.h"
#include "telemetry/log_values.h"
#include "telemetry/pusher.h"

#include <stdlib.h>

struct teller {
    struct teller_options options;
    int64_t every_ms;
    struct timer timer;
    struct pusher *pusher;          /* NULL: into the log */
    bool in_delta;
    struct last_values last;        /* of the log, in delta */
};

static struct tasks *tasks_of(struct teller *t) { return &t->options.loop->tasks; }

static void on_time(void *ctx)
{
    struct teller *t = ctx;
    timer_start(tasks_of(t), &t->timer, t->every_ms);
    if (!t->pusher || pusher_wants(t->pusher)) t->options.look(t->options.ctx);
}

bool teller_is_busy(const struct teller *t) { return t && t->pusher && pusher_is_busy(t->pusher); }

bool teller_take(struct teller *t, const struct metric_page *page, void (*done)(void *ctx), void *ctx)
{
    if (teller_is_busy(t)) return false;
    if (t->pusher) {
        pusher_send(t->pusher, page, done, ctx);
        return true;
    }
    log_values(page, tasks_wall_ms(tasks_of(t)), t->in_delta ? &t->last : NULL);
    done(ctx);
    return true;
}

bool teller_ends(struct teller *t)
{
    if (!t) return false;
    timer_stop(tasks_of(t), &t->timer);
    return !t->pusher || pusher_is_busy(t->pusher) || pusher_wants(t->pusher);
}

static err_t start_pusher(struct teller *t, const struct config *c)
{
    struct pusher_options o = {
        .loop = t->options.loop, .target = c->metrics.grpc_target, .headers = c->metrics.grpc_headers, .interval_ms = c->metrics.grpc_interval_ms,
        .timeout_ms = c->metrics.grpc_timeout_ms, .batch_points = (size_t)c->metrics.batch_points, .delta = c->metrics.in_delta,
    };
    t->every_ms = c->metrics.grpc_interval_ms;
    return pusher_new(&o, &t->pusher);
}

static bool has_target(const struct config *c)
{
    if (c->metrics.exporter != METRICS_OTLP_GRPC || (c->metrics.grpc_target && *c->metrics.grpc_target)) return true;
    log_warn("metrics.not_sent text=\"metricsExporterType=OTLP_GRPC needs metricsGrpcExporterTarget\"");
    return false;
}

err_t teller_new(const struct teller_options *options, struct teller **out)
{
    const struct config *c = options->config;
    bool tells = c->metrics.exporter == METRICS_OTLP_GRPC || c->metrics.exporter == METRICS_LOG;
    *out = NULL;
    if (!tells || !has_target(c)) return NULL;
    struct teller *t = must_zero(sizeof *t);
    t->options = *options;
    t->in_delta = c->metrics.in_delta;
    t->every_ms = c->metrics.log_interval_ms;
    timer_init(&t->timer, on_time, t);
    err_t e = c->metrics.exporter == METRICS_OTLP_GRPC ? start_pusher(t, c) : NULL;
    if (e) {
        free(t);
        return e;
    }
    timer_start(tasks_of(t), &t->timer, t->every_ms);
    *out = t;
    return NULL;
}

void teller_free(struct teller *t)
{
    if (!t) return;
    timer_stop(tasks_of(t), &t->timer);
    pusher_free(t->pusher);
    last_values_done(&t->last);
    free(t);
}
