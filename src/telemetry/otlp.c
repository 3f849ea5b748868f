#include "telemetry/otlp.h"

#include "grpc/fields.h"

/* Numbers of fields, as the .proto files of OTLP give them. */
enum { EXPORT_RESOURCE_METRICS = 1 };
enum { RESOURCE_METRICS_RESOURCE = 1, RESOURCE_METRICS_SCOPE_METRICS = 2 };
enum { SCOPE_METRICS_SCOPE = 1, SCOPE_METRICS_METRICS = 2, SCOPE_NAME = 1 };
enum { METRIC_NAME = 1, METRIC_DESCRIPTION = 2, METRIC_UNIT = 3, METRIC_GAUGE_DATA = 5, METRIC_SUM_DATA = 7, METRIC_HISTOGRAM_DATA = 9 };
enum { DATA_POINTS = 1, DATA_TEMPORALITY = 2, DATA_IS_MONOTONIC = 3 };
enum { TEMPORALITY_DELTA = 1, TEMPORALITY_CUMULATIVE = 2 };
enum { NUMBER_START = 2, NUMBER_TIME = 3, NUMBER_AS_INT = 6, NUMBER_ATTRIBUTES = 7 };
enum {
    HISTOGRAM_START = 2, HISTOGRAM_TIME = 3, HISTOGRAM_COUNT = 4, HISTOGRAM_SUM = 5, HISTOGRAM_BUCKETS = 6, HISTOGRAM_BOUNDS = 7,
    HISTOGRAM_ATTRIBUTES = 9,
};
enum { PAIR_KEY = 1, PAIR_VALUE = 2, VALUE_TEXT = 1, VALUE_BOOL = 2, VALUE_INT = 3 };
enum { ANSWER_PARTIAL = 1, PARTIAL_REJECTED = 1, PARTIAL_TEXT = 2 };

static const int64_t ns_of_ms = 1000000;

/* Buffers that are used again for each point. */
struct work {
    const struct otlp_times *times;
    const struct last_values *last;
    struct buf points, point, pair, value, text, packed;
};

static void work_done(struct work *w)
{
    struct buf *all[] = {&w->points, &w->point, &w->pair, &w->value, &w->text, &w->packed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) buf_done(all[i]);
}

/* --- attributes --- */

static void put_value(struct work *w, struct slice name, struct slice value)
{
    int64_t number;
    buf_clear(&w->value);
    if (slice_starts(name, SLICE("is_"))) field_put_varint(&w->value, VALUE_BOOL, slice_eq(value, SLICE("true")));
    else if (slice_eq(name, SLICE("queue_id")) && slice_to_i64(value, &number)) field_put_varint(&w->value, VALUE_INT, (uint64_t)number);
    else field_put_bytes(&w->value, VALUE_TEXT, value);
}

/* The scope stands beside the metrics, not among their attributes. */
static void put_attributes(struct work *w, uint32_t field, struct slice labels)
{
    struct slice name, value;
    while (metric_label_next(&labels, &w->text, &name, &value)) {
        if (slice_eq(name, SLICE("otel_scope_name"))) continue;
        put_value(w, name, value);
        buf_clear(&w->pair);
        field_put_bytes(&w->pair, PAIR_KEY, name);
        field_put_bytes(&w->pair, PAIR_VALUE, buf_slice(&w->value));
        field_put_bytes(&w->point, field, buf_slice(&w->pair));
    }
}

/* --- data points --- */

static void put_times(struct work *w, uint32_t start_field, uint32_t time_field, int64_t since_ms)
{
    if (since_ms) field_put_fixed64(&w->point, start_field, (uint64_t)(since_ms * ns_of_ms));
    field_put_fixed64(&w->point, time_field, (uint64_t)(w->times->now_ms * ns_of_ms));
}

static uint64_t bits_of(double d)
{
    uint64_t bits;
    memcpy(&bits, &d, sizeof bits);
    return bits;
}

static void put_packed(struct buf *out, uint64_t v)
{
    for (int i = 0; i < 8; i++) buf_put_u8(out, (uint8_t)(v >> 8 * i));
}

static void put_number(struct work *w, const struct metric_sample *s, int64_t value, int64_t since_ms)
{
    put_times(w, NUMBER_START, NUMBER_TIME, since_ms);
    field_put_fixed64(&w->point, NUMBER_AS_INT, (uint64_t)value);
    put_attributes(w, NUMBER_ATTRIBUTES, s->labels);
}

static void put_histogram(struct work *w, enum metric which, const struct metric_sample *s, int64_t sum, const int64_t *buckets, int64_t since_ms)
{
    size_t n = metric_bucket_count(which);
    uint64_t count = 0;
    double divisor = (double)metric_divisor(which);
    for (size_t i = 0; i < n; i++) count += (uint64_t)buckets[i];
    put_times(w, HISTOGRAM_START, HISTOGRAM_TIME, since_ms);
    field_put_fixed64(&w->point, HISTOGRAM_COUNT, count);
    field_put_fixed64(&w->point, HISTOGRAM_SUM, bits_of((double)sum / divisor));
    buf_clear(&w->packed);
    for (size_t i = 0; i < n; i++) put_packed(&w->packed, (uint64_t)buckets[i]);
    field_put_bytes(&w->point, HISTOGRAM_BUCKETS, buf_slice(&w->packed));
    buf_clear(&w->packed);
    for (size_t i = 0; i + 1 < n; i++) put_packed(&w->packed, bits_of((double)metric_rows[which].bounds[i] / divisor));
    field_put_bytes(&w->point, HISTOGRAM_BOUNDS, buf_slice(&w->packed));
    put_attributes(w, HISTOGRAM_ATTRIBUTES, s->labels);
}

static void put_point(struct work *w, enum metric which, const struct metric_sample *s)
{
    struct metric_change change = {.since_ms = w->times->start_ms, .value = s->value};
    bool gauge = metric_rows[which].kind == METRIC_GAUGE;
    if (!gauge && w->last) last_values_change(w->last, which, s, w->times->start_ms, &change);
    buf_clear(&w->point);
    if (s->buckets) put_histogram(w, which, s, change.value, w->last ? change.buckets : s->buckets, change.since_ms);
    else put_number(w, s, change.value, gauge ? 0 : change.since_ms);
    field_put_bytes(&w->points, DATA_POINTS, buf_slice(&w->point));
}

/* --- metrics --- */

static void put_metric(struct work *w, enum metric which, struct buf *out)
{
    static const uint32_t data_fields[] = {
        [METRIC_COUNTER] = METRIC_SUM_DATA, [METRIC_GAUGE] = METRIC_GAUGE_DATA, [METRIC_HISTOGRAM] = METRIC_HISTOGRAM_DATA,
    };
    const struct metric_row *row = &metric_rows[which];
    if (row->kind != METRIC_GAUGE) field_put_varint(&w->points, DATA_TEMPORALITY, w->last ? TEMPORALITY_DELTA : TEMPORALITY_CUMULATIVE);
    if (row->kind == METRIC_COUNTER) field_put_varint(&w->points, DATA_IS_MONOTONIC, true);
    buf_clear(&w->point);
    field_put_bytes(&w->point, METRIC_NAME, slice_text(row->name));
    field_put_bytes(&w->point, METRIC_DESCRIPTION, slice_text(row->meaning));
    if (row->unit[0]) field_put_bytes(&w->point, METRIC_UNIT, slice_text(row->unit + 1));
    field_put_bytes(&w->point, data_fields[row->kind], buf_slice(&w->points));
    field_put_bytes(out, SCOPE_METRICS_METRICS, buf_slice(&w->point));
}

static size_t put_metrics(struct work *w, const struct metric_page *page, struct otlp_place *at, size_t most, struct buf *out)
{
    struct metric_sample s;
    size_t count = 0;
    while (at->which < METRICS_COUNT && count < most) {
        enum metric which = (enum metric)at->which;
        size_t before = count;
        bool more = true;
        buf_clear(&w->points);
        for (; count < most && (more = metric_page_next(page, which, &at->walk, &s)); count++) put_point(w, which, &s);
        if (count > before) put_metric(w, which, out);
        if (more) break;
        at->which++;
        at->walk = METRIC_WALK_BEGIN;
    }
    return count;
}

/* What stands around the metrics. */
static void put_request(struct slice metrics, struct buf *out)
{
    struct buf scope = BUF_EMPTY, scoped = BUF_EMPTY, resource = BUF_EMPTY;
    field_put_bytes(&scope, SCOPE_NAME, SLICE("broker-meter"));
    field_put_bytes(&scoped, SCOPE_METRICS_SCOPE, buf_slice(&scope));
    buf_put_slice(&scoped, metrics);
    field_put_bytes(&resource, RESOURCE_METRICS_RESOURCE, SLICE(""));
    field_put_bytes(&resource, RESOURCE_METRICS_SCOPE_METRICS, buf_slice(&scoped));
    field_put_bytes(out, EXPORT_RESOURCE_METRICS, buf_slice(&resource));
    buf_done(&scope);
    buf_done(&scoped);
    buf_done(&resource);
}

size_t otlp_encode(const struct metric_page *page, struct otlp_place *at, size_t most, const struct otlp_times *times, const struct last_values *last,
                   struct buf *out)
{
    struct work w = {.times = times, .last = last};
    struct buf metrics = BUF_EMPTY;
    size_t count = put_metrics(&w, page, at, most, &metrics);
    if (count) put_request(buf_slice(&metrics), out);
    buf_done(&metrics);
    work_done(&w);
    return count;
}

static bool is_same(const struct otlp_place *a, const struct otlp_place *b)
{
    return a->which == b->which && a->walk.block == b->walk.block && a->walk.at == b->walk.at;
}

void otlp_told(const struct metric_page *page, struct otlp_place from, const struct otlp_place *to, int64_t now_ms, struct last_values *last)
{
    struct metric_sample s;
    for (; from.which <= to->which && from.which < METRICS_COUNT; from.which++, from.walk = METRIC_WALK_BEGIN)
        while (!is_same(&from, to) && metric_page_next(page, (enum metric)from.which, &from.walk, &s))
            last_values_told(last, (enum metric)from.which, &s, now_ms);
}

/* --- answers --- */

err_t otlp_read_answer(struct slice answer, int64_t *out_rejected, struct slice *out_text)
{
    struct slice partial = {NULL, 0}, text = {NULL, 0};
    struct field_read f;
    int64_t rejected = 0;
    while (field_next(&answer, &f))
        if (f.number == ANSWER_PARTIAL && f.bytes.p) partial = f.bytes;
    while (field_next(&partial, &f)) {
        if (f.number == PARTIAL_REJECTED && !f.bytes.p) rejected = (int64_t)f.value;
        if (f.number == PARTIAL_TEXT && f.bytes.p) text = f.bytes;
    }
    if (answer.n || partial.n) return err_new(ERR_BODY, "the collector's answer cannot be read");
    *out_rejected = rejected;
    *out_text = text;
    return NULL;
}
