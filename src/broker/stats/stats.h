/* stats.h - how much each topic took and each group got, in the last minute, hour and day.
 * Facts    docs/protocol/remoting.md 4.2 (315)
 * Shape    a counter for each kind and key; stats_sample() remembers what they were every ten seconds, ten minutes, and hour, so that
 *          a minute, an hour and a day can be told. A counter that nothing was added to for longer than a day is forgotten.
 *          What a day brought is kept from midnight to midnight, local time.
 * Units    value counts messages or bytes, times the calls that brought them; ms are of the wall clock
 * Threads  loop */
#ifndef SKYLARK_BROKER_STATS_H
#define SKYLARK_BROKER_STATS_H

#include "base/map.h"

#include <stdbool.h>
#include <stdint.h>

/* Names as on the wire. The key is a topic, a topic and a group as "topic@group", or the cluster. */
enum stats_kind {
    TOPIC_PUT_NUMS, TOPIC_PUT_SIZE, GROUP_GET_NUMS, GROUP_GET_SIZE, SNDBCK_PUT_NUMS, BROKER_PUT_NUMS, BROKER_GET_NUMS,
    STATS_GET_MISSES, STATS_TIMERS_IN, STATS_TIMERS_OUT,   /* of the cluster's name; without a name on the wire */
    STATS_KINDS
};

/* How long sends take, in classes: up to 0 ms, below 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10000, and above. */
enum { PUT_TIMES = 13 };

enum { STATS_PERIOD_MS = 10000, MINUTE_SAMPLES = 7, HOUR_SAMPLES = 7, DAY_SAMPLES = 25 };
enum stats_span { SPAN_MINUTE, SPAN_HOUR, SPAN_DAY, STATS_SPANS };

struct stats_counter;

/* When the samples of one span were taken; the newest last. The same for all counters. */
struct stats_times {
    int64_t at_ms[DAY_SAMPLES];
    uint32_t count;
};

/* What there was in all at the last two midnights; 0 before the first one after the start. */
struct stats_days {
    int64_t yesterday, today;
};

struct stats {
    struct map counters[STATS_KINDS];        /* key -> struct stats_counter */
    struct stats_times times[STATS_SPANS];
    uint64_t ticks;                          /* calls of stats_sample() */
    int64_t put_times[PUT_TIMES];            /* since the last full minute */
    int64_t last_put_times[PUT_TIMES];       /* of the minute before */
    int64_t put_longest_ms;                  /* since the start */
    struct stats_days puts, gets;
    struct stats_counter *last[STATS_KINDS]; /* found last: the next one is likely the same */
};

/* What was added in a span. */
struct stats_sum {
    int64_t value;
    int64_t times;
    double per_second;
};

void stats_init(struct stats *s);
void stats_done(struct stats *s);

void stats_add(struct stats *s, enum stats_kind kind, struct slice key, int64_t value);
void stats_add_for_group(struct stats *s, enum stats_kind kind, struct slice topic, struct slice group, int64_t value);
/* A send was answered so long after it came in. */
void stats_put_took(struct stats *s, int64_t ms);
/* Midnight has passed: as many messages were put and got so far. */
void stats_day_ends(struct stats *s, int64_t puts, int64_t gets);
/* Every STATS_PERIOD_MS. */
void stats_sample(struct stats *s, int64_t now_ms);
/* False: nothing was ever added under this key. */
bool stats_of(const struct stats *s, enum stats_kind kind, struct slice key, enum stats_span span, struct stats_sum *out);
/* False: there is no such kind. */
bool stats_kind_named(struct slice name, enum stats_kind *out);
/* Added in a second: in the time between the last two samples of the span, or in all of it. 0 before there are two. */
double stats_rate_of(const struct stats *s, enum stats_kind kind, struct slice key, enum stats_span span, bool all, bool times);
/* What a group got of a topic in the last minute, messages in a second. */
double stats_group_rate(const struct stats *s, struct slice topic, struct slice group);
/* The topic, or the group, is gone. */
void stats_forget_topic(struct stats *s, struct slice topic);
void stats_forget_group(struct stats *s, struct slice group);

#endif
