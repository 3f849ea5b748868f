/* teller.h - metrics that are told without being asked for: to a collector (metricsExporterType=OTLP_GRPC), into the log (LOG). The room's own.
 * Threads  loop, but teller_new and teller_free: the thread that starts and ends the process
 * Owns     a page is borrowed until its `done` */
#ifndef SKYLARK_APP_TELLER_H
#define SKYLARK_APP_TELLER_H

#include "base/config.h"
#include "base/metric_page.h"
#include "net/loop.h"

struct teller;

struct teller_options {
    struct loop *loop;
    const struct config *config;
    void (*look)(void *ctx);        /* a page is wanted: teller_take() follows, or the end */
    void *ctx;
};

/* *out NULL: nothing is to be told. Errors: CONFIG. */
err_t teller_new(const struct teller_options *options, struct teller **out) MUST_CHECK;
/* `done` runs once, now or later. False: it has a page already, and does not take this one. */
bool teller_take(struct teller *t, const struct metric_page *page, void (*done)(void *ctx), void *ctx);
bool teller_is_busy(const struct teller *t);
/* The process stops: no page is asked for any more. True: one that has everything is wanted yet. */
bool teller_ends(struct teller *t);
/* NULL is fine. */
void teller_free(struct teller *t);

#endif
