/* pusher.h - sends pages of metrics to a collector by OTLP over gRPC, in requests of a bounded size, one after the other.
 * Shape    idle → a page is taken → its requests → idle. While the collector is away, fewer and fewer pages are wanted, PUSHER_REST_MS apart at most
 * Delta    what was not taken is told with the next page: nothing is lost while the process lives
 * Log      one line when it stops to work, one when it works again
 * Threads  loop
 * Owns     its connection; a page is borrowed until its `done` */
#ifndef SKYLARK_TELEMETRY_PUSHER_H
#define SKYLARK_TELEMETRY_PUSHER_H

#include "base/metric_page.h"
#include "grpc/client.h"

enum { PUSHER_REST_MS = 300000 };

struct pusher;

struct pusher_options {
    struct loop *loop;
    const char *target;             /* metricsGrpcExporterTarget: [http://|https://]host[:port][/…]; without a scheme https */
    const char *headers;            /* name:value,name:value; NULL: none */
    int64_t interval_ms, timeout_ms;/* from page to page; of a request */
    size_t batch_points;            /* data points of a request */
    bool delta;
    struct slice trusted;           /* PEM; p NULL: whom the system trusts */
};

/* Errors: CONFIG. */
err_t pusher_new(const struct pusher_options *options, struct pusher **out) MUST_CHECK;
/* A page is wanted now. */
bool pusher_wants(const struct pusher *p);
/* Takes a page when it has none; `done` runs once, in a later turn, when the page is not needed any more. */
void pusher_send(struct pusher *p, const struct metric_page *page, void (*done)(void *ctx), void *ctx);
bool pusher_is_busy(const struct pusher *p);
/* `done` of a page that is being sent does not run any more. NULL is fine. */
void pusher_free(struct pusher *p);

/* --- for tests: pure --- */
struct pusher_target {
    char host[256];
    uint16_t port;
    bool tls;
};
/* Errors: CONFIG. */
err_t pusher_target_read(const char *text, struct pusher_target *out) MUST_CHECK;

#endif
