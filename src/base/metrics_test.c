#include "kit/test.h"

#include "base/metric_text.h"

#include <stdio.h>

static struct slice written(const struct metric_page *p, struct buf *out)
{
    metric_page_write(p, out);
    return buf_slice(out);
}

static void break_down(struct metrics *m, const char *labels, size_t limit)
{
    struct metric_names names = {.cluster = "C", .node_type = "broker", .node_id = "b\"1", .labels = labels};
    metrics_break_down_as(m, &names, limit);
}

static void expect_line(const struct metrics *m, enum metric which, const char *line)
{
    struct metric_page p = METRIC_PAGE_EMPTY;
    struct buf text = BUF_EMPTY;
    size_t at = 0;
    EXPECT(!metric_page_put_series(&p, m, which, &at, SIZE_MAX));
    struct slice s = written(&p, &text);
    if (!memmem(s.p, s.n, line, strlen(line))) print_error("%.*s\n", SLICE_ARG(s));
    EXPECT(memmem(s.p, s.n, line, strlen(line)));
    metric_page_done(&p);
    buf_done(&text);
}

TEST(metrics, a_counter_is_told_by_its_labels_sorted_among_those_of_the_process)
{
    struct metrics m = {.limit = 0};
    break_down(&m, "dc:d1,zone:z", 10);
    for (int i = 0; i < 3; i++) metric_count(&m, METRIC_MESSAGES_IN, 2, LABELS(SLICE("T"), SLICE("normal"), SLICE("false")));
    metric_count(&m, METRIC_MESSAGES_IN, 1, LABELS(SLICE("T"), SLICE("fifo"), SLICE("false")));
    EXPECT_EQ(metric_get(&m, METRIC_MESSAGES_IN), 7);
    expect_line(&m, METRIC_MESSAGES_IN, "# TYPE rocketmq_messages_in_total counter\nrocketmq_messages_in_total{cluster=\"C\",dc=\"d1\",is_system=\"false\","
                "message_type=\"normal\",node_id=\"b\\\"1\",node_type=\"broker\",otel_scope_name=\"broker-meter\",topic=\"T\",zone=\"z\"} 6\n");
    expect_line(&m, METRIC_MESSAGES_IN, "message_type=\"fifo\",node_id=\"b\\\"1\",node_type=\"broker\",otel_scope_name=\"broker-meter\",topic=\"T\",zone=\"z\"} 1\n");
    metrics_done(&m);
}

TEST(metrics, a_label_without_a_value_is_left_out_and_is_another_series)
{
    struct metrics m = {.limit = 0};
    break_down(&m, NULL, 10);
    metric_count(&m, METRIC_MESSAGES_OUT, 1, LABELS(SLICE("T"), SLICE("G"), SLICE("false"), (struct slice){NULL, 0}));
    metric_count(&m, METRIC_MESSAGES_OUT, 5, LABELS(SLICE("T"), SLICE("G"), SLICE("false"), SLICE("")));
    expect_line(&m, METRIC_MESSAGES_OUT, "is_system=\"false\",node_id");
    expect_line(&m, METRIC_MESSAGES_OUT, "is_retry=\"\",is_system");
    metrics_done(&m);
}

TEST(metrics, a_histogram_is_cumulative_and_its_bounds_are_included)
{
    struct metrics m = {.limit = 0};
    break_down(&m, NULL, 10);
    const struct slice labels[] = {SLICE("T"), SLICE("normal"), SLICE("false")};
    const int64_t values[] = {1024, 1025, 5000000, 0};
    for (int i = 0; i < 4; i++) metric_observe(&m, METRIC_MESSAGE_SIZE, values[i], labels);
    expect_line(&m, METRIC_MESSAGE_SIZE, "topic=\"T\",le=\"1024.0\"} 2\n");
    expect_line(&m, METRIC_MESSAGE_SIZE, "topic=\"T\",le=\"4096.0\"} 3\n");
    expect_line(&m, METRIC_MESSAGE_SIZE, "topic=\"T\",le=\"4194304.0\"} 3\n");
    expect_line(&m, METRIC_MESSAGE_SIZE, "topic=\"T\",le=\"+Inf\"} 4\n");
    expect_line(&m, METRIC_MESSAGE_SIZE, "topic=\"T\"} 4\n");
    expect_line(&m, METRIC_MESSAGE_SIZE, "topic=\"T\"} 5002049\n");
    metrics_done(&m);
}

TEST(metrics, a_histogram_in_seconds_is_counted_in_microseconds)
{
    struct metrics m = {.limit = 0};
    break_down(&m, NULL, 10);
    const struct slice labels[] = {SLICE("m"), SLICE("OK")};
    metric_observe(&m, METRIC_GRPC_LATENCY, 3000, labels);
    metric_observe(&m, METRIC_GRPC_LATENCY, 2500000, labels);
    expect_line(&m, METRIC_GRPC_LATENCY, "le=\"0.001\"} 0\n");
    expect_line(&m, METRIC_GRPC_LATENCY, "le=\"0.003\"} 1\n");
    expect_line(&m, METRIC_GRPC_LATENCY, "le=\"3.0\"} 2\n");
    expect_line(&m, METRIC_GRPC_LATENCY, "} 2.503000\n");
    metrics_done(&m);
}

TEST(metrics, more_series_than_the_limit_are_counted_in_one_more)
{
    struct metrics m = {.limit = 0};
    char name[16];
    break_down(&m, NULL, 3);
    for (int i = 0; i < 10; i++) {
        snprintf(name, sizeof name, "T%d", i);
        metric_count(&m, METRIC_COMMITS, 1, LABELS(slice_text(name)));
    }
    EXPECT_EQ(metric_get(&m, METRIC_COMMITS), 10);
    expect_line(&m, METRIC_COMMITS, "topic=\"T2\"} 1\n");
    expect_line(&m, METRIC_COMMITS, "otel_metric_overflow=\"true\",otel_scope_name=\"broker-meter\"} 7\n");
    metrics_done(&m);
}

TEST(metrics, labels_that_are_none_are_left_out_and_none_takes_the_place_of_another)
{
    struct metrics m = {.limit = 0};
    break_down(&m, "a:b:c,1x:y,cluster:other,topic:mine,le:1,ok:yes", 3);
    metric_count(&m, METRIC_COMMITS, 1, LABELS(SLICE("T\xff\n")));
    expect_line(&m, METRIC_COMMITS, "{cluster=\"C\",node_id=\"b\\\"1\",node_type=\"broker\",ok=\"yes\",otel_scope_name=\"broker-meter\",topic=\"T?\\n\"} 1\n");
    metrics_done(&m);
}

TEST(metrics, a_walk_goes_on_where_it_was_though_series_are_added_meanwhile)
{
    struct metrics m = {.limit = 0};
    struct metric_page p = METRIC_PAGE_EMPTY;
    size_t at = 0;
    int samples = 0;
    struct metric_sample sample;
    struct metric_walk walk = METRIC_WALK_BEGIN;
    char name[16];
    break_down(&m, NULL, 1000);
    for (int i = 0; i < 100; i++) {
        snprintf(name, sizeof name, "T%d", i);
        metric_count(&m, METRIC_COMMITS, 1, LABELS(slice_text(name)));
        if (i % 10 == 9) metric_page_put_series(&p, &m, METRIC_COMMITS, &at, 7);
    }
    while (metric_page_put_series(&p, &m, METRIC_COMMITS, &at, 7)) {}
    while (metric_page_next(&p, METRIC_COMMITS, &walk, &sample)) samples++;
    EXPECT_EQ(samples, 100);
    metric_page_done(&p);
    metrics_done(&m);
}

TEST(metrics, totals_of_the_proxy_and_of_others_are_told_apart)
{
    struct metrics m = {.limit = 0};
    struct metric_page p = METRIC_PAGE_EMPTY;
    struct buf text = BUF_EMPTY;
    metric_page_put_totals(&p, &m, true);
    struct slice s = written(&p, &text);
    EXPECT(memmem(s.p, s.n, "skylark_proxy_clients 0\n", 24) && memmem(s.p, s.n, "skylark_connections 0\n", 22));
    EXPECT(!memmem(s.p, s.n, "skylark_held_pulls", 18) && !memmem(s.p, s.n, "rocketmq_messages_in_total", 26));
    metric_page_done(&p);
    buf_done(&text);
}

TEST(metrics, a_page_is_told_in_pieces_of_whole_lines)
{
    struct metrics m = {.limit = 0};
    struct metric_page p = METRIC_PAGE_EMPTY;
    struct metric_text t;
    struct buf whole = BUF_EMPTY, pieces = BUF_EMPTY;
    char name[16];
    size_t at = 0, count = 0, before;
    bool more = true;
    break_down(&m, NULL, 1000);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "T%d", i);
        metric_count(&m, METRIC_COMMITS, 1, LABELS(slice_text(name)));
        metric_observe(&m, METRIC_FINISH_LATENCY, i, LABELS(slice_text(name)));
    }
    metric_page_put_series(&p, &m, METRIC_COMMITS, &at, SIZE_MAX);
    metric_page_put_series(&p, &m, METRIC_FINISH_LATENCY, &(size_t){0}, SIZE_MAX);
    metric_page_write(&p, &whole);
    for (metric_text_begin(&t, &p); more; count++) {
        before = pieces.n;
        more = metric_text_next(&t, 1, &pieces);   /* as few as there can be: a head, the lines of a sample */
        EXPECT(pieces.n == before || pieces.p[pieces.n - 1] == '\n');
        EXPECT(pieces.n - before < 4000);
    }
    EXPECT(count > 100);
    EXPECT(slice_eq(buf_slice(&whole), buf_slice(&pieces)));
    metric_text_done(&t);
    metric_page_done(&p);
    buf_done(&whole);
    buf_done(&pieces);
    metrics_done(&m);
}

TEST(metrics, a_page_takes_what_another_has)
{
    struct metrics m = {.limit = 0};
    struct metric_page p = METRIC_PAGE_EMPTY, q = METRIC_PAGE_EMPTY;
    struct metric_sample sample;
    struct metric_walk walk = METRIC_WALK_BEGIN, other = METRIC_WALK_BEGIN;
    metric_page_put_for(&p, &m, METRIC_UPTIME, NULL, 1);
    metric_page_put_for(&q, &m, METRIC_UPTIME, NULL, 2);
    metric_page_put_for(&q, &m, METRIC_BROKERS, NULL, 3);
    metric_page_take(&p, &q);
    EXPECT(metric_page_next(&p, METRIC_UPTIME, &walk, &sample) && sample.value == 1);
    EXPECT(metric_page_next(&p, METRIC_UPTIME, &walk, &sample) && sample.value == 2);
    EXPECT(!metric_page_next(&p, METRIC_UPTIME, &walk, &sample));
    EXPECT(metric_page_next(&p, METRIC_BROKERS, &other, &sample) && sample.value == 3);
    EXPECT(!q.samples[METRIC_UPTIME].first);
    metric_page_done(&p);
    metric_page_done(&q);
}

TEST(metrics, labels_of_a_sample_are_read_again_without_their_escapes)
{
    struct metrics m = {.limit = 0};
    struct buf labels = BUF_EMPTY, text = BUF_EMPTY;
    break_down(&m, NULL, 3);
    metric_labels(&m, METRIC_COMMITS, LABELS(SLICE("a\n\"=,\\")), &labels);
    struct slice rest = buf_slice(&labels), name, value;
    const char *const names[] = {"cluster", "node_id", "node_type", "otel_scope_name", "topic"}, *const values[] = {"C", "b\"1", "broker", "broker-meter", "a\n\"=,\\"};
    for (int i = 0; i < 5; i++) {
        EXPECT(metric_label_next(&rest, &text, &name, &value));
        EXPECT(slice_eq(name, slice_text(names[i])) && slice_eq(value, slice_text(values[i])));
    }
    EXPECT(!metric_label_next(&rest, &text, &name, &value));
    buf_done(&labels);
    buf_done(&text);
    metrics_done(&m);
}

TEST(metrics, every_row_has_a_name_of_its_own_and_labels_that_are_names)
{
    for (size_t i = 0; i < METRICS_COUNT; i++) {
        const struct metric_row *row = &metric_rows[i];
        bool counter = row->kind == METRIC_COUNTER;
        size_t n = strlen(row->name);
        EXPECT(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == n);
        EXPECT(strspn(row->labels, "abcdefghijklmnopqrstuvwxyz_,") == strlen(row->labels));
        EXPECT(!counter || metric_is_proxys((enum metric)i) || strcmp(row->name + n - 6, "_total") == 0);
        for (size_t k = 0; k < i; k++) EXPECT(strcmp(row->name, metric_rows[k].name) != 0);
    }
}
