/* timer_metrics.h - how many timer messages of each topic wait.
 * Files    <folder>/timermetrics in the original's format, written by a worker when timer_metrics_save() was called
 * Facts    docs/protocol/store.md 8, remoting.md 5.3 (61)
 * Threads  loop, but timer_metrics_open and timer_metrics_close, which block */
#ifndef SKYLARK_META_TIMER_METRICS_H
#define SKYLARK_META_TIMER_METRICS_H

#include "base/json.h"
#include "os/saver.h"

struct timer_metrics;

/* Errors: IO, BODY. */
err_t timer_metrics_open(const char *folder, struct fs *fs, struct tasks *tasks, struct timer_metrics **out) MUST_CHECK;
/* Writes what is not written. Frees m in any case; NULL is fine. */
err_t timer_metrics_close(struct timer_metrics *m) MUST_CHECK;

void timer_metrics_add(struct timer_metrics *m, struct slice topic, int64_t change);
/* 0 for a topic that has none. */
int64_t timer_metrics_get(const struct timer_metrics *m, struct slice topic);
/* Walks the topics that have had some: `for (size_t at = 0; timer_metrics_next(m, &at, &topic, &count);)`. None is ever taken away, so that a walk may
 * go on in a later turn. */
bool timer_metrics_next(const struct timer_metrics *m, size_t *at, struct slice *topic, int64_t *count);
void timer_metrics_save(struct timer_metrics *m);
/* The file's text, as of now. */
void timer_metrics_encode(const struct timer_metrics *m, struct buf *out);

#endif
