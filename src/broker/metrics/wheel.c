/* Messages that wait for a time: how far the wheel is, and when they come. Facts: docs/protocol/semantics.md 13 */
#include "broker/metrics/collect.h"

#include <stdio.h>

enum { MS_OF_S = 1000, WINDOW_TICKS = 256, WINDOW_COSTS = 8 };

/* Seconds from now; each part reaches from the one before it. Facts: the original's TimerMetrics */
static const int32_t bounds_s[] = {5, 60, 300, 900, 3600, 14400, 28800, 86400};
enum { BOUNDS = sizeof bounds_s / sizeof *bounds_s };

static const struct slice local = {(const uint8_t *)"local", 5}, disk = {(const uint8_t *)"disk", 4};
static const struct slice timer_topic = {(const uint8_t *)"rmq_sys_wheel_timer", 19};

static int64_t tick_of(const struct broker *b, int64_t ms) { return ms - ms % b->cfg->store.timer_tick_ms; }

static void put_due(struct collector *c)
{
    struct broker *b = c->broker;
    int64_t now = tasks_wall_ms(b->tasks), due_ms = timers_next(b->timers, b->timer_check.read_ms, tick_of(b, now));
    collect_put(c, METRIC_TIMER_DEQUEUE_LAG, LABELS(local, disk), timers_count(b->timers));
    collect_put(c, METRIC_TIMER_DEQUEUE_LATENCY, LABELS(local, disk), due_ms >= 0 ? now - due_ms : 0);
}

enum step_result collect_timers(struct collector *c)
{
    struct broker *b = c->broker;
    if (!b->timers) return STEP_OVER;
    int64_t next = b->timer_check.queue_offset, max = store_max_offset(b->store, timer_topic, 0);
    int64_t lag = max > next ? max - next : 0, age_ms = lag ? -1 : 0;
    if (lag && !collect_age(c, timer_topic, 0, next, &age_ms)) return STEP_COLD;
    put_due(c);
    collect_put(c, METRIC_TIMER_ENQUEUE_LAG, LABELS(local, disk), lag);
    if (age_ms >= 0) collect_put(c, METRIC_TIMER_ENQUEUE_LATENCY, LABELS(local, disk), age_ms);
    return STEP_OVER;
}

/* Slots of the next ticks, WINDOW_TICKS at most; true: those of the part in hand are counted. c->at is in ticks from the beginning. */
static bool count_window(struct collector *c, int64_t end)
{
    struct broker *b = c->broker;
    int64_t tick_ms = b->cfg->store.timer_tick_ms, to = (int64_t)c->at + WINDOW_TICKS;
    if (to > end) to = end;
    int64_t from_ms = c->wheel.now_ms + (int64_t)c->at * tick_ms, to_ms = c->wheel.now_ms + to * tick_ms;
    for (int64_t ms; (ms = timers_next(b->timers, from_ms, to_ms)) >= 0; from_ms = ms + tick_ms) c->wheel.count += timers_count_at(b->timers, ms);
    c->at = (size_t)to;
    return to == end;
}

static void put_part(struct collector *c)
{
    char bound[16];
    snprintf(bound, sizeof bound, "%d", bounds_s[c->which]);
    collect_put(c, METRIC_TIMER_SNAPSHOT, LABELS(slice_text(bound), local, disk), c->wheel.count);
    c->wheel.count = 0;
}

enum step_result collect_wheel(struct collector *c)
{
    struct broker *b = c->broker;
    if (!b->timers) return STEP_OVER;
    if (!c->at) {
        c->wheel.now_ms = tick_of(b, tasks_wall_ms(b->tasks));
        c->wheel.count = 0;
    }
    while (c->which < BOUNDS) {
        if (c->budget <= 0) return STEP_AGAIN;
        c->budget -= WINDOW_COSTS;
        if (!count_window(c, (int64_t)bounds_s[c->which] * MS_OF_S / b->cfg->store.timer_tick_ms)) continue;
        put_part(c);
        c->which++;
    }
    return STEP_OVER;
}
