#include "telemetry/last_values.h"

#include "base/buf.h"

#include <stdlib.h>

struct last {
    int64_t at_ms, value;
    int64_t buckets[];
};

void last_values_done(struct last_values *l)
{
    for (size_t i = 0; i < METRICS_COUNT; i++) map_done_with(&l->of[i], free);
}

/* Labels are never empty for the table: those of a series without any have one mark. */
static struct slice key_of(const struct metric_sample *s) { return s->labels.n ? s->labels : SLICE(","); }

void last_values_change(const struct last_values *l, enum metric which, const struct metric_sample *s, int64_t start_ms, struct metric_change *out)
{
    const struct last *last = map_get(&l->of[which], key_of(s));
    size_t buckets = metric_bucket_count(which);
    bool anew = !last || last->value > s->value;
    for (size_t i = 0; !anew && i < buckets; i++) anew = last->buckets[i] > s->buckets[i];
    out->since_ms = last ? last->at_ms : start_ms;
    out->value = s->value - (anew ? 0 : last->value);
    for (size_t i = 0; i < buckets; i++) out->buckets[i] = s->buckets[i] - (anew ? 0 : last->buckets[i]);
}

void last_values_told(struct last_values *l, enum metric which, const struct metric_sample *s, int64_t now_ms)
{
    if (metric_rows[which].kind == METRIC_GAUGE) return;
    size_t buckets = metric_bucket_count(which);
    struct last *last = map_get(&l->of[which], key_of(s));
    if (!last) {
        last = must_zero(sizeof *last + buckets * sizeof last->buckets[0]);
        map_put(&l->of[which], key_of(s), last);
    }
    last->at_ms = now_ms;
    last->value = s->value;
    if (buckets) memcpy(last->buckets, s->buckets, buckets * sizeof last->buckets[0]);
}
