/* metric_page.h - what the loops of a process counted, gathered for one look: samples, which base/metric_text.h and exporters put into words.
 * Shape    the samples of each metric together, one behind the other: labels, value and, of a histogram, the count of each bucket. What nobody
 *          knows has no sample. They lie in blocks that do not move while a page grows: no turn of a loop has to copy what others put there
 * Threads  its owner; a page goes from loop to loop with who fills it
 * Owns     its samples: nothing of it points to what was counted */
#ifndef SKYLARK_BASE_METRIC_PAGE_H
#define SKYLARK_BASE_METRIC_PAGE_H

#include "base/metrics.h"

struct metric_block;

struct metric_page {
    struct {
        struct metric_block *first, *last;
    } samples[METRICS_COUNT];   /* read by metric_page_next(); NULL: nothing is known */
};

#define METRIC_PAGE_EMPTY ((struct metric_page){.samples = {{NULL, NULL}}})

void metric_page_done(struct metric_page *p);

/* --- filling it --- */

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
/* Takes the samples of another page, which is empty after it. */
void metric_page_take(struct metric_page *p, struct metric_page *from);

/* --- reading it --- */

struct metric_sample {
    struct slice labels;        /* a="x",b="y", sorted by name */
    int64_t value;              /* of a histogram the sum */
    const int64_t *buckets;     /* of a histogram, not cumulative: metric_bucket_count() of them; else NULL */
};

/* Where a walk over samples is; zeroes: at the beginning. */
struct metric_walk {
    const struct metric_block *block;
    size_t at;
};
#define METRIC_WALK_BEGIN ((struct metric_walk){NULL, 0})

/* The next sample of a row; false: there are no more. Valid until the page is done. */
bool metric_page_next(const struct metric_page *p, enum metric which, struct metric_walk *walk, struct metric_sample *out);
/* By what its bounds and values are divided before they are told: 1000000 of a histogram in _seconds, else 1. */
int64_t metric_divisor(enum metric which);
/* The bounds of a histogram and one more for what lies above; 0 for other rows. */
size_t metric_bucket_count(enum metric which);
/* The pair at the beginning of a sample's labels, without the escapes of its value, which lies in `text`; *labels moves behind it. False: there is
 * none. */
bool metric_label_next(struct slice *labels, struct buf *text, struct slice *name, struct slice *value);

/* Its name begins with rocketmq_proxy_ or skylark_proxy_. */
bool metric_is_proxys(enum metric which);

#endif
