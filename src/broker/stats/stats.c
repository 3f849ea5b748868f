#include "broker/stats/stats.h"

#include "base/buf.h"

#include <stdlib.h>

enum { TICKS_OF_MINUTE = 6, TICKS_OF_HOUR_SAMPLE = 60, TICKS_OF_DAY_SAMPLE = 360, TICKS_KEPT = 25 * 360 };

struct sample {
    int64_t value;
    int64_t times;
};

struct series {
    struct sample *samples;
    uint32_t count;
};

struct stats_counter {
    struct sample now;
    uint64_t changed;                    /* at which tick something was added last */
    struct series series[STATS_SPANS];
    struct sample samples[MINUTE_SAMPLES + HOUR_SAMPLES + DAY_SAMPLES];
    size_t key_bytes;
    uint8_t key[];
};

static const char *const kind_names[] = {
    [TOPIC_PUT_NUMS] = "TOPIC_PUT_NUMS", [TOPIC_PUT_SIZE] = "TOPIC_PUT_SIZE", [GROUP_GET_NUMS] = "GROUP_GET_NUMS",
    [GROUP_GET_SIZE] = "GROUP_GET_SIZE", [SNDBCK_PUT_NUMS] = "SNDBCK_PUT_NUMS", [BROKER_PUT_NUMS] = "BROKER_PUT_NUMS",
    [BROKER_GET_NUMS] = "BROKER_GET_NUMS",
};

static const struct {
    uint32_t samples;
    uint32_t ticks;                      /* from one sample to the next */
} spans[] = {
    [SPAN_MINUTE] = {MINUTE_SAMPLES, 1}, [SPAN_HOUR] = {HOUR_SAMPLES, TICKS_OF_HOUR_SAMPLE}, [SPAN_DAY] = {DAY_SAMPLES, TICKS_OF_DAY_SAMPLE},
};

void stats_init(struct stats *s) { *s = (struct stats){.ticks = 0}; }

void stats_done(struct stats *s)
{
    for (int k = 0; k < STATS_KINDS; k++) map_done_with(&s->counters[k], free);
}

bool stats_kind_named(struct slice name, enum stats_kind *out)
{
    for (int k = 0; k <= BROKER_GET_NUMS; k++) {
        if (!slice_eq(name, slice_text(kind_names[k]))) continue;
        *out = (enum stats_kind)k;
        return true;
    }
    return false;
}

/* --- adding --- */

static struct stats_counter *counter_new(struct slice key)
{
    struct stats_counter *c = must_zero(sizeof *c + key.n);
    struct sample *at = c->samples;
    for (int i = 0; i < STATS_SPANS; at += spans[i++].samples) c->series[i].samples = at;
    c->key_bytes = key.n;
    if (key.n) memcpy(c->key, key.p, key.n);
    return c;
}

static struct stats_counter *counter_of(struct stats *s, enum stats_kind kind, struct slice key)
{
    struct stats_counter *c = s->last[kind];
    if (c && slice_eq(slice_of(c->key, c->key_bytes), key)) return c;
    c = map_get(&s->counters[kind], key);
    if (!c) {
        c = counter_new(key);
        map_put(&s->counters[kind], key, c);
    }
    return s->last[kind] = c;
}

void stats_add(struct stats *s, enum stats_kind kind, struct slice key, int64_t value)
{
    struct stats_counter *c = counter_of(s, kind, key);
    c->now.value += value;
    c->now.times++;
    c->changed = s->ticks;
}

static struct buf group_key(struct slice topic, struct slice group)
{
    struct buf key = BUF_EMPTY;
    buf_put_slice(&key, topic);
    buf_put_u8(&key, '@');
    buf_put_slice(&key, group);
    return key;
}

void stats_add_for_group(struct stats *s, enum stats_kind kind, struct slice topic, struct slice group, int64_t value)
{
    struct buf key = group_key(topic, group);
    stats_add(s, kind, buf_slice(&key), value);
    buf_done(&key);
}

/* --- sampling --- */

static void push_time(struct stats_times *t, uint32_t most, int64_t at_ms)
{
    if (t->count == most) memmove(t->at_ms, t->at_ms + 1, --t->count * sizeof *t->at_ms);
    t->at_ms[t->count++] = at_ms;
}

static void push_sample(struct series *r, uint32_t most, struct sample value)
{
    if (r->count == most) memmove(r->samples, r->samples + 1, --r->count * sizeof *r->samples);
    r->samples[r->count++] = value;
}

static void sample_span(struct stats *s, enum stats_span span, int64_t now_ms)
{
    struct stats_times *t = &s->times[span];
    if (!t->count) push_time(t, spans[span].samples, now_ms - (int64_t)spans[span].ticks * STATS_PERIOD_MS);
    push_time(t, spans[span].samples, now_ms);
}

/* A new counter begins with nothing, one sample ago. */
static void sample_counter(struct stats_counter *c, enum stats_span span)
{
    struct series *r = &c->series[span];
    if (!r->count) push_sample(r, spans[span].samples, (struct sample){0, 0});
    push_sample(r, spans[span].samples, c->now);
}

static void forget(struct stats *s, enum stats_kind kind, struct stats_counter *c)
{
    if (s->last[kind] == c) s->last[kind] = NULL;
    map_remove(&s->counters[kind], slice_of(c->key, c->key_bytes));
    free(c);
}

void stats_put_took(struct stats *s, int64_t ms)
{
    static const int64_t below[PUT_TIMES - 1] = {1, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10000};
    int i = 0;
    while (i < PUT_TIMES - 1 && ms >= below[i]) i++;
    s->put_times[i]++;
    if (ms > s->put_longest_ms) s->put_longest_ms = ms;
}

void stats_day_ends(struct stats *s, int64_t puts, int64_t gets)
{
    s->puts = (struct stats_days){s->puts.today, puts};
    s->gets = (struct stats_days){s->gets.today, gets};
}

static void end_minute(struct stats *s)
{
    memcpy(s->last_put_times, s->put_times, sizeof s->put_times);
    memset(s->put_times, 0, sizeof s->put_times);
}

void stats_sample(struct stats *s, int64_t now_ms)
{
    if (s->ticks % TICKS_OF_MINUTE == 0) end_minute(s);
    for (int i = 0; i < STATS_SPANS; i++)
        if (s->ticks % spans[i].ticks == 0) sample_span(s, (enum stats_span)i, now_ms);
    for (int k = 0; k < STATS_KINDS; k++) {
        struct map_entry *e;
        for (size_t at = 0; (e = map_next(&s->counters[k], &at));) {
            struct stats_counter *c = e->value;
            for (int i = 0; i < STATS_SPANS; i++)
                if (s->ticks % spans[i].ticks == 0) sample_counter(c, (enum stats_span)i);
            if (s->ticks - c->changed > TICKS_KEPT) forget(s, (enum stats_kind)k, c);
        }
    }
    s->ticks++;
}

/* --- telling --- */

bool stats_of(const struct stats *s, enum stats_kind kind, struct slice key, enum stats_span span, struct stats_sum *out)
{
    const struct stats_counter *c = map_get(&s->counters[kind], key);
    *out = (struct stats_sum){0, 0, 0};
    if (!c) return false;
    const struct series *r = &c->series[span];
    const struct stats_times *t = &s->times[span];
    if (!r->count) return true;
    const struct sample *first = &r->samples[0], *last = &r->samples[r->count - 1];
    int64_t took_ms = t->at_ms[t->count - 1] - t->at_ms[t->count - r->count];
    *out = (struct stats_sum){.value = last->value - first->value, .times = last->times - first->times};
    if (took_ms > 0) out->per_second = (double)out->value * 1000 / (double)took_ms;
    return true;
}

double stats_rate_of(const struct stats *s, enum stats_kind kind, struct slice key, enum stats_span span, bool all, bool times)
{
    const struct stats_counter *c = map_get(&s->counters[kind], key);
    const struct stats_times *t = &s->times[span];
    uint32_t count = c ? c->series[span].count : 0;
    if (count < 2) return 0;
    const struct sample *last = &c->series[span].samples[count - 1], *first = all ? c->series[span].samples : last - 1;
    int64_t took_ms = t->at_ms[t->count - 1] - t->at_ms[t->count - (all ? count : 2)];
    int64_t added = times ? last->times - first->times : last->value - first->value;
    return took_ms > 0 ? (double)added * 1000 / (double)took_ms : 0;
}

double stats_group_rate(const struct stats *s, struct slice topic, struct slice group)
{
    struct buf key = group_key(topic, group);
    struct stats_sum sum;
    stats_of(s, GROUP_GET_NUMS, buf_slice(&key), SPAN_MINUTE, &sum);
    buf_done(&key);
    return sum.per_second;
}

/* --- forgetting --- */

static bool is_of_topic(struct slice key, struct slice topic) { return slice_starts(key, topic) && (key.n == topic.n || key.p[topic.n] == '@'); }

static bool is_of_group(struct slice key, struct slice group)
{
    return key.n > group.n && key.p[key.n - group.n - 1] == '@' && slice_eq(slice_of(key.p + key.n - group.n, group.n), group);
}

static void forget_all(struct stats *s, struct slice name, bool (*is_of)(struct slice key, struct slice name))
{
    for (int k = 0; k < BROKER_PUT_NUMS; k++) {
        struct map_entry *e;
        for (size_t at = 0; (e = map_next(&s->counters[k], &at));)
            if (is_of(e->key, name)) forget(s, (enum stats_kind)k, e->value);
    }
}

void stats_forget_topic(struct stats *s, struct slice topic) { forget_all(s, topic, is_of_topic); }
void stats_forget_group(struct stats *s, struct slice group) { forget_all(s, group, is_of_group); }
