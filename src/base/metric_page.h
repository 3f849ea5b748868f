/* metric_page.h - what the loops of a process counted, gathered for one look, and its text in the format of Prometheus (0.0.4).
 * Shape    the lines of each metric together; metrics in the order of their names, as the original prints them. What nobody knows has no line
 * Threads  its owner; a page goes from loop to loop with who fills it
 * Owns     its lines */
#ifndef SKYLARK_BASE_METRIC_PAGE_H
#define SKYLARK_BASE_METRIC_PAGE_H

#include "base/metrics.h"

struct metric_page {
    struct buf lines[METRICS_COUNT];    /* HELP, TYPE and samples; empty: nothing is known */
};

#define METRIC_PAGE_EMPTY ((struct metric_page){.lines = {BUF_EMPTY}})

void metric_page_done(struct metric_page *p);

/* One value of a gauge or counter. `labels` is text, as metric_labels() makes it. */
void metric_page_put(struct metric_page *p, enum metric which, struct slice labels, int64_t value);
/* The same, with the values of labels. */
void metric_page_put_for(struct metric_page *p, const struct metrics *m, enum metric which, const struct slice *labels, int64_t value);
/* A histogram: how many values lie in each bucket, not cumulative, and their sum. */
void metric_page_put_histogram(struct metric_page *p, enum metric which, struct slice labels, const int64_t *buckets, int64_t sum);
/* The totals of rows without labels: those of the proxy (metric_is_proxys) or the others, as `of_proxy` says, and those of all. */
void metric_page_put_totals(struct metric_page *p, const struct metrics *m, bool of_proxy);
/* Up to `most` series of a row from *at on; false: there are no more. */
bool metric_page_put_series(struct metric_page *p, const struct metrics *m, enum metric which, size_t *at, size_t most);
/* Takes the lines of another page, which is empty after it. */
void metric_page_take(struct metric_page *p, struct metric_page *from);
/* In the order in which they stand on a page. */
void metric_order(enum metric order[static METRICS_COUNT]);
void metric_page_write(const struct metric_page *p, struct buf *out);

/* Its name begins with rocketmq_proxy_ or skylark_proxy_. */
bool metric_is_proxys(enum metric which);

#endif
