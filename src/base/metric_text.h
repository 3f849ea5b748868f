/* metric_text.h - a page of metrics in the format of Prometheus (0.0.4), in pieces, so that a large page is never in memory whole.
 * Shape    the lines of each metric together behind HELP and TYPE; metrics in the order of their names, as the original prints them
 * Facts    docs/protocol/semantics.md 13; https://prometheus.io/docs/instrumenting/exposition_formats/
 * Threads  its owner
 * Owns     a small buffer; the page is borrowed, and does not change meanwhile */
#ifndef SKYLARK_BASE_METRIC_TEXT_H
#define SKYLARK_BASE_METRIC_TEXT_H

#include "base/metric_page.h"

struct metric_text {
    const struct metric_page *page;
    enum metric order[METRICS_COUNT];
    size_t which;               /* in `order` */
    struct metric_walk walk;    /* over the samples of that metric */
    bool headed;                /* HELP and TYPE of that metric are told */
    struct buf front;           /* what the lines of a sample begin with */
};

void metric_text_begin(struct metric_text *t, const struct metric_page *page);
void metric_text_done(struct metric_text *t);
/* Appends whole lines, until there are about `most` bytes of them; false: that was the end. */
bool metric_text_next(struct metric_text *t, size_t most, struct buf *out);
/* All of it. */
void metric_page_write(const struct metric_page *p, struct buf *out);
/* In the order in which they stand on a page. */
void metric_order(enum metric order[static METRICS_COUNT]);

#endif
