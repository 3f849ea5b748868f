/* ops.h - a loop of its own for operators: metrics, /healthz and /readyz by HTTP, and what a service manager wants to hear (os/notify.h). It asks
 * the other loops by mail, and waits for none of them. The room's own.
 * Threads  ops_new, ops_run, ops_free: the thread that starts the process; ops_drain: any, once; the rest happens on its own loop
 * Owns     nothing of its sources: they outlive it, or it was drained first */
#ifndef SKYLARK_APP_OPS_H
#define SKYLARK_APP_OPS_H

#include "base/addr.h"
#include "base/config.h"
#include "os/scrape.h"

enum { OPS_SOURCES_MAX = 4, OPS_ASK_MS = 2000, OPS_SCRAPE_MS = 9000 };

struct ops;

/* Something that runs on a loop of the process. Both are called there. */
struct ops_source {
    const char *name;                                     /* "broker" */
    struct tasks *tasks;
    void (*scrape)(void *ctx, struct scrape *s);          /* fills in the page now or later, then scrape_done() */
    void (*health)(void *ctx, struct health *out);
    void *ctx;
};

struct ops_options {
    const struct config *config;
    bool serve;                                           /* by HTTP: metricsExporterType=PROM */
    const struct ops_source *sources;                     /* copied */
    size_t count;
};

/* Listens. Errors: NETWORK, ADDRESS. */
err_t ops_new(const struct ops_options *options, struct ops **out) MUST_CHECK;
/* Starts its thread, when the loops of its sources run: the process is ready. Errors: IO. */
err_t ops_run(struct ops *o) MUST_CHECK;
/* False: it serves no pages. */
bool ops_addr(const struct ops *o, struct addr *out);
/* The process stops: it is not ready any more, and its sources are not asked again; then `drained` is posted to `tasks`. */
void ops_drain(struct ops *o, struct tasks *tasks, struct mail *drained);
/* Ends the thread. NULL is fine. */
void ops_free(struct ops *o);

#endif
