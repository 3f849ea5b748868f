#include "broker/metrics/collect.h"

#include "base/clamped.h"
#include "codec/record.h"
#include "meta/names.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

static const struct slice on_disk[] = {{(const uint8_t *)"local", 5}, {(const uint8_t *)"disk", 4}};

/* --- names --- */

void collect_put_names(struct collector *c, struct slice first, struct slice second)
{
    buf_put_be16(&c->names, (uint16_t)first.n);
    buf_put_be16(&c->names, (uint16_t)second.n);
    buf_put_slice(&c->names, first);
    buf_put_slice(&c->names, second);
}

bool collect_next_names(const struct collector *c, size_t *at, struct slice *first, struct slice *second)
{
    if (*at == c->names.n) return false;
    const uint8_t *p = c->names.p + *at;
    size_t n = get_be16(p), m = get_be16(p + 2);
    *first = slice_of(p + 4, n);
    *second = slice_of(p + 4 + n, m);
    *at += 4 + n + m;
    return true;
}

bool collect_names_again(struct collector *c, size_t moves)
{
    if (c->moves == moves) return false;
    c->moves = moves;
    c->at = 0;
    buf_clear(&c->names);
    return true;
}

/* --- steps --- */

static enum step_result put_totals(struct collector *c)
{
    struct broker *b = c->broker;
    broker_look(b);
    metric_page_put_totals(&c->scrape->page, &b->metrics, false);
    return STEP_OVER;
}

void collect_put(struct collector *c, enum metric which, const struct slice *labels, int64_t value)
{
    metric_page_put_for(&c->scrape->page, &c->broker->metrics, which, labels, value);
}

static void put_store(struct collector *c)
{
    struct broker *b = c->broker;
    struct store_counts counts = store_counts(b->store);
    const char *why;
    if (counts.disk_used_percent >= 0) collect_put(c, METRIC_DISK_USED, NULL, counts.disk_used_percent);
    if (counts.disk_used_bytes > 0) collect_put(c, METRIC_STORAGE_SIZE, on_disk, counts.disk_used_bytes);
    collect_put(c, METRIC_WRITABLE, NULL, store_is_writable(b->store, &why));
    collect_put(c, METRIC_FLUSH_BEHIND, on_disk, store_log_max(b->store) - store_log_flushed(b->store));
    collect_put(c, METRIC_DISPATCH_BEHIND, on_disk, 0);   /* queue entries are written in the turn of their messages */
}

static void put_syncs(struct collector *c)
{
    int64_t buckets[METRIC_BUCKETS_MAX], sum_us;
    struct buf labels = BUF_EMPTY;
    if (!store_sync_times(c->broker->store, buckets, &sum_us)) return;
    metric_labels(&c->broker->metrics, METRIC_SYNC_TIME, NULL, &labels);
    metric_page_put_histogram(&c->scrape->page, METRIC_SYNC_TIME, buf_slice(&labels), buckets, sum_us);
    buf_done(&labels);
}

static enum step_result put_gauges(struct collector *c)
{
    struct broker *b = c->broker;
    collect_put(c, METRIC_BROKER_PERMISSION, NULL, b->cfg->broker.permission);
    collect_put(c, METRIC_UPTIME, NULL, (tasks_wall_ms(b->tasks) - b->start_ms) / 1000);
    put_store(c);
    put_syncs(c);
    return STEP_OVER;
}

bool collect_age(struct collector *c, struct slice topic, int32_t queue_id, int64_t queue_offset, int64_t *out)
{
    struct broker *b = c->broker;
    int64_t ms = store_time_of(b->store, topic, queue_id, queue_offset), age_ms = clamped_minus(tasks_wall_ms(b->tasks), ms);
    if (ms > 0) *out = age_ms > 0 ? age_ms : 0;
    return ms > 0 || !store_is_cold(b->store);
}

static enum step_result put_revive(struct collector *c)
{
    struct slice topic;
    char id[16];
    for (int64_t lag; (lag = broker_revive_lag(c->broker, (int32_t)c->at)) >= 0; c->at++) {
        int64_t age_ms = lag ? -1 : 0, first = broker_revive_first(c->broker, (int32_t)c->at, &topic);
        if (lag && !collect_age(c, topic, (int32_t)c->at, first, &age_ms)) return STEP_COLD;
        snprintf(id, sizeof id, "%zu", c->at);
        collect_put(c, METRIC_POP_REVIVE_LAGS, LABELS(slice_text(id)), lag);
        if (age_ms >= 0) collect_put(c, METRIC_POP_REVIVE_LATENCY, LABELS(slice_text(id)), age_ms);
    }
    return STEP_OVER;
}

static enum step_result put_oldest(struct collector *c)
{
    struct broker *b = c->broker;
    struct pinned record = {.release = NULL};
    if (store_log_max(b->store) == store_log_min(b->store)) return STEP_OVER;
    err_t e = store_record_at(b->store, store_log_min(b->store), &record);
    if (!e) collect_put(c, METRIC_RESERVE_TIME, on_disk, clamped_minus(tasks_wall_ms(b->tasks), record_store_ms(record.bytes.p)));
    err_drop(e, "what is not known is left out");
    pin_release(&record);
    return store_is_cold(b->store) ? STEP_COLD : STEP_OVER;
}

static enum step_result put_series(struct collector *c)
{
    for (; c->which < METRICS_COUNT; c->which++, c->at = 0) {
        if (!c->broker->metrics.series[c->which]) continue;
        if (c->budget <= 0) return STEP_AGAIN;
        size_t before = c->at;
        bool more = metric_page_put_series(&c->scrape->page, &c->broker->metrics, (enum metric)c->which, &c->at, (size_t)c->budget);
        c->budget -= (int)(c->at - before);
        if (more) return STEP_AGAIN;
    }
    return STEP_OVER;
}

static enum step_result put_timing(struct collector *c)
{
    struct slice topic;
    int64_t count;
    while (c->budget-- > 0) {
        if (!timer_metrics_next(c->broker->timer_metrics, &c->at, &topic, &count)) return STEP_OVER;
        collect_put(c, METRIC_TIMING_MESSAGES, LABELS(topic, on_disk[0], on_disk[1]), count);
    }
    return STEP_AGAIN;
}

static enum step_result (*const steps[])(struct collector *c) = {
    put_totals, put_gauges, put_revive, put_oldest, put_series, collect_timers, collect_wheel, put_timing, collect_connections, collect_lag,
};
enum { STEPS = sizeof steps / sizeof *steps };

/* --- turn by turn --- */

static void done(struct collector *c)
{
    struct scrape *s = c->scrape;
    c->broker->collector = NULL;
    collector_free(c);
    scrape_done(s);
}

static void go_on(void *ctx);

static void on_read(struct disk_wait *w, bool stopping)
{
    struct collector *c = LIST_OWNER(w, struct collector, disk);
    c->waits = false;
    if (!stopping) go_on(c);
}

/* Bytes that are not in memory are waited for, as long as there is patience. */
static bool wait_for_disk(struct collector *c)
{
    if (!c->reads) {
        store_forget_cold(c->broker->store);
        return false;
    }
    c->reads--;
    c->waits = true;
    c->disk.go_on = on_read;
    disk_wait(c->broker, &c->disk);
    return true;
}

static void next_step(struct collector *c)
{
    c->step++;
    c->at = c->which = c->moves = 0;
    buf_clear(&c->names);
}

static void go_on(void *ctx)
{
    struct collector *c = ctx;
    c->budget = COLLECT_AT_ONCE;
    while (c->step < STEPS) {
        enum step_result r = steps[c->step](c);
        if (r == STEP_COLD && wait_for_disk(c)) return;
        if (r == STEP_AGAIN) {
            timer_start(c->broker->tasks, &c->next, 0);
            return;
        }
        next_step(c);
    }
    done(c);
}

void collector_begin(struct broker *b, struct scrape *s)
{
    assert(!b->collector);
    struct collector *c = b->collector = must_zero(sizeof *c);
    c->broker = b;
    c->scrape = s;
    c->reads = COLLECT_READS;
    timer_init(&c->next, go_on, c);
    go_on(c);
}

void collector_free(struct collector *c)
{
    if (!c) return;
    timer_stop(c->broker->tasks, &c->next);
    assert(!c->waits);   /* disk_end() has told it */
    collect_lag_free(c);
    c->seen.base = NULL;   /* borrowed */
    metrics_done(&c->seen);
    buf_done(&c->names);
    free(c);
}
