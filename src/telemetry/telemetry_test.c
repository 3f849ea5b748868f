/* Pages are sent to a collector on the simulated network, which reads them by itself. */
#include "kit/sim_loop.h"
#include "kit/test.h"

#include "base/log.h"
#include "base/metric_text.h"
#include "grpc/fields.h"
#include "grpc/grpc.h"
#include "os/file.h"
#include "telemetry/log_values.h"
#include "telemetry/otlp.h"
#include "telemetry/pusher.h"

#include <stdio.h>
#include <stdlib.h>

enum { PORT = 4317, WAIT_MS = 60000 };

/* --- the collector: each data point is a line of text, "name|unit|kind|temporality|start|attributes|value" --- */

struct world {
    struct sim *sim;
    struct loop *loop, *there;
    struct grpc_server *server;
    struct grpc_service service;
    const struct grpc_service *services[1];
    enum grpc_status answers;        /* with this status */
    int64_t rejects;                 /* points, it says */
    struct buf lines;
    int requests;
    size_t most_points;              /* of a request */
    char key[64];                    /* the header x-key */
    struct pusher_options options;
    struct pusher *pusher;
    struct metrics metrics;
    struct metric_page page;
    int done;
};

static uint64_t fixed64(struct slice s)
{
    uint64_t v = 0;
    EXPECT_EQ(s.n, 8);
    for (int i = 7; i >= 0; i--) v = v << 8 | s.p[i];
    return v;
}

/* field_next() skips the bytes of fixed numbers: they end where the rest begins. */
static bool next(struct slice *rest, struct field_read *f, uint64_t *fixed)
{
    if (!field_next(rest, f)) return false;
    if (!f->bytes.p) *fixed = fixed64(slice_of(rest->p - 8, 8));
    return true;
}

static void read_pair(struct slice pair, struct buf *out)
{
    struct field_read f, v;
    while (field_next(&pair, &f)) {
        if (f.number == 1) buf_printf(out, "%.*s=", SLICE_ARG(f.bytes));
        if (f.number != 2 || !field_next(&f.bytes, &v)) continue;
        if (v.number == 1) buf_printf(out, "%.*s,", SLICE_ARG(v.bytes));
        else if (v.number == 2) buf_put_text(out, v.value ? "TRUE," : "FALSE,");
        else buf_printf(out, "#%lld,", (long long)v.value);
    }
}

static void read_numbers(struct slice packed, struct buf *out)
{
    for (; packed.n; packed = slice_skip(packed, 8)) buf_printf(out, "%lld ", (long long)fixed64(slice_of(packed.p, 8)));
}

static void read_point(struct world *w, struct slice point, bool histogram, const char *front)
{
    struct buf attributes = BUF_EMPTY, value = BUF_EMPTY;
    struct field_read f;
    uint64_t n = 0, start = 0, time = 0;
    double sum;
    while (next(&point, &f, &n)) {
        if (f.number == 2) start = n / 1000000;
        if (f.number == 3) time = n / 1000000;
        if (f.number == (histogram ? 9 : 7)) read_pair(f.bytes, &attributes);
        if (!histogram && f.number == 6) buf_printf(&value, "%lld", (long long)n);
        if (histogram && f.number == 4) buf_printf(&value, "%lld of ", (long long)n);
        if (histogram && f.number == 5) memcpy(&sum, &n, 8), buf_printf(&value, "%g: ", sum);
        if (histogram && f.number == 6) read_numbers(f.bytes, &value);
    }
    EXPECT(!point.n && time && start <= time);
    buf_printf(&w->lines, "%s|%s|%.*s|%.*s\n", front, start ? "since" : "now", SLICE_ARG(buf_slice(&attributes)), SLICE_ARG(buf_slice(&value)));
    buf_done(&attributes);
    buf_done(&value);
}

static size_t read_data(struct world *w, struct slice data, bool histogram, const char *name, const char *kind)
{
    char front[200];
    struct slice rest = data;
    struct field_read f;
    uint64_t temporality = 0, monotonic = 0;
    size_t points = 0;
    while (field_next(&rest, &f)) {
        if (f.number == 2) temporality = f.value;
        if (f.number == 3) monotonic = f.value;
    }
    snprintf(front, sizeof front, "%s|%s%s|%s", name, kind, monotonic ? "+" : "", temporality == 1 ? "delta" : temporality == 2 ? "cumulative" : "-");
    while (field_next(&data, &f))
        if (f.number == 1) read_point(w, f.bytes, histogram, front), points++;
    return points;
}

static size_t read_metric(struct world *w, struct slice metric)
{
    char name[120] = "", unit[40] = "";
    struct field_read f;
    size_t points = 0;
    while (field_next(&metric, &f)) {
        if (f.number == 1) snprintf(name, sizeof name, "%.*s", SLICE_ARG(f.bytes));
        if (f.number == 3) snprintf(unit, sizeof unit, "%.*s", SLICE_ARG(f.bytes));
        if (f.number == 5) points += read_data(w, f.bytes, false, name, "gauge");
        if (f.number == 7) points += read_data(w, f.bytes, false, name, "sum");
        if (f.number == 9) points += read_data(w, f.bytes, true, name, "histogram");
    }
    EXPECT(!metric.n && *name && points);
    return points;
}

static void read_request(struct world *w, struct slice request)
{
    struct field_read resource, scoped, f;
    size_t points = 0;
    EXPECT(field_next(&request, &resource) && !request.n);
    EXPECT(field_next(&resource.bytes, &f) && f.number == 1 && !f.bytes.n);   /* the resource is empty */
    EXPECT(field_next(&resource.bytes, &scoped) && scoped.number == 2 && !resource.bytes.n);
    EXPECT(field_next(&scoped.bytes, &f) && f.number == 1 && slice_eq(f.bytes, SLICE("\x0a\x0c" "broker-meter")));
    while (field_next(&scoped.bytes, &f)) points += read_metric(w, f.bytes);
    EXPECT(!scoped.bytes.n);
    if (points > w->most_points) w->most_points = points;
    w->requests++;
}

static bool begin_call(void *ctx, struct grpc_call *c, struct slice method)
{
    struct world *w = ctx;
    snprintf(w->key, sizeof w->key, "%.*s", SLICE_ARG(grpc_call_header(c, "x-key")));
    return slice_eq(method, SLICE("Export"));
}

static void message(void *ctx, struct grpc_call *c, struct slice bytes)
{
    struct world *w = ctx;
    struct buf partial = BUF_EMPTY, answer = BUF_EMPTY;
    if (w->answers != GRPC_OK) {
        grpc_finish(c, w->answers, SLICE("full"));
        return;
    }
    read_request(w, bytes);
    if (w->rejects) {
        field_put_varint(&partial, 1, (uint64_t)w->rejects);
        field_put_bytes(&partial, 2, SLICE("too old"));
        field_put_bytes(&answer, 1, buf_slice(&partial));
    }
    grpc_send_copy(c, buf_slice(&answer));
    grpc_finish(c, GRPC_OK, SLICE(""));
    buf_done(&partial);
    buf_done(&answer);
}

static void half_closed(void *ctx, struct grpc_call *c) { (void)ctx, (void)c; }
static void gone(void *ctx, struct grpc_call *c) { (void)ctx, (void)c; }

static void open_collector(void *ctx)
{
    struct world *w = ctx;
    struct grpc_options o = grpc_options_default();
    struct addr at = {.port = PORT};
    w->services[0] = &w->service;
    EXPECT_OK(grpc_listen(w->there, &at, w->services, 1, &o, &w->server));
}

static void close_collector(void *ctx)
{
    struct world *w = ctx;
    grpc_server_close(w->server);
    w->server = NULL;
}

/* --- the world --- */

static void open_pusher(void *ctx)
{
    struct world *w = ctx;
    EXPECT_OK(pusher_new(&w->options, &w->pusher));
}

static void close_pusher(void *ctx) { pusher_free(((struct world *)ctx)->pusher); }

static struct world *world_new(bool delta)
{
    struct sim_options options = sim_options_default(1);
    struct world *w = must_zero(sizeof *w);
    struct metric_names names = {.cluster = "C", .node_type = "broker", .node_id = "b", .in_delta = delta};
    w->sim = sim_new(&options);
    w->loop = sim_loop_new(sim_process_new(w->sim, "10.0.0.1"));
    w->there = sim_loop_new(sim_process_new(w->sim, "10.0.0.2"));
    w->service = (struct grpc_service){"opentelemetry.proto.collector.metrics.v1.MetricsService", begin_call, message, half_closed, gone, w};
    w->options = (struct pusher_options){.loop = w->loop, .target = "http://10.0.0.2:4317", .headers = "X-Key:k1,broken,a:b:c", .interval_ms = 1000,
                                         .timeout_ms = 3000, .batch_points = 7, .delta = delta};
    w->page = METRIC_PAGE_EMPTY;
    metrics_break_down_as(&w->metrics, &names, 1000);
    sim_call(w->there, open_collector, w);
    sim_call(w->loop, open_pusher, w);
    return w;
}

static void world_free(struct world *w)
{
    sim_call(w->loop, close_pusher, w);
    sim_call(w->there, close_collector, w);
    metrics_done(&w->metrics);
    metric_page_done(&w->page);
    buf_done(&w->lines);
    sim_free(w->sim);
    free(w);
}

static void on_done(void *ctx) { ((struct world *)ctx)->done++; }
static bool is_done(void *ctx) { return ((struct world *)ctx)->done; }

static void push(void *ctx)
{
    struct world *w = ctx;
    pusher_send(w->pusher, &w->page, on_done, w);
}

static void make_page(struct world *w)
{
    metric_page_done(&w->page);
    for (size_t i = 0; i < METRICS_COUNT; i++)
        for (size_t at = 0; metric_page_put_series(&w->page, &w->metrics, (enum metric)i, &at, 100);) {}
    metric_page_put_for(&w->page, &w->metrics, METRIC_POP_REVIVE_LAGS, LABELS(SLICE("3")), 12);
}

/* A page as things are now goes to the collector, whose lines then are those of this page. */
static const char *send(struct world *w)
{
    make_page(w);
    buf_clear(&w->lines);
    w->done = 0;
    sim_call(w->loop, push, w);
    EXPECT(sim_run_until(w->sim, is_done, w, WAIT_MS));
    buf_put_u8(&w->lines, 0);
    return (const char *)w->lines.p;
}

static void expect_line(const char *lines, const char *line)
{
    if (!strstr(lines, line)) print_error("not there: %s\n%s\n", line, lines);
    EXPECT(strstr(lines, line));
}

static int count_lines(const char *lines)
{
    int n = 0;
    for (; *lines; lines++) n += *lines == '\n';
    return n;
}

static void count_some(struct world *w, int64_t n)
{
    metric_count(&w->metrics, METRIC_MESSAGES_IN, n, LABELS(SLICE("T"), SLICE("normal"), SLICE("false")));
    metric_observe(&w->metrics, METRIC_MESSAGE_SIZE, 2000, LABELS(SLICE("T"), SLICE("normal"), SLICE("false")));
}

#define OF "node_id=b,node_type=broker,"

TEST(otlp, kinds_units_and_labels_are_told_as_the_original_tells_them)
{
    struct world *w = world_new(false);
    count_some(w, 5);
    count_some(w, 2);
    metric_observe(&w->metrics, METRIC_RPC_LATENCY, 4, LABELS(SLICE("remoting"), SLICE("x"), SLICE("y"), SLICE("true"), SLICE("success")));
    metric_observe(&w->metrics, METRIC_GRPC_LATENCY, 250000, LABELS(SLICE("M"), SLICE("ok")));
    const char *lines = send(w);
    expect_line(lines, "rocketmq_messages_in_total|sum+|cumulative|since|cluster=C,is_system=FALSE,message_type=normal," OF "topic=T,|7\n");
    expect_line(lines, "rocketmq_message_size|histogram|cumulative|since|cluster=C,is_system=FALSE,message_type=normal," OF "topic=T,|2 of 4000: 0 2 0 0 0 0 0 \n");
    expect_line(lines, "rocketmq_pop_revive_lag|gauge|-|now|cluster=C," OF "queue_id=#3,|12\n");
    expect_line(lines, "is_long_polling=TRUE,");
    expect_line(lines, "skylark_proxy_rpc_latency|histogram|cumulative|since|");
    expect_line(lines, "|1 of 0.25: ");   /* counted in microseconds, told in seconds */
    assert_string_equal(w->key, "k1");
    count_some(w, 1);
    expect_line(send(w), "topic=T,|8\n");
    world_free(w);
}

TEST(otlp, a_page_goes_in_requests_of_so_many_points)
{
    struct world *w = world_new(false);
    char name[16];
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "T%d", i);
        metric_count(&w->metrics, METRIC_COMMITS, i + 1, LABELS(slice_text(name)));
        if (i % 2) metric_count(&w->metrics, METRIC_ROLLBACKS, i, LABELS(slice_text(name)));
    }
    const char *lines = send(w);
    EXPECT_EQ(count_lines(lines), 50 + 25 + 1);
    EXPECT_EQ(w->requests, 11);
    EXPECT_EQ(w->most_points, 7);
    for (int i = 0; i < 50; i++) {
        snprintf(name, sizeof name, "T%d,|%d\n", i, i + 1);
        expect_line(lines, name);
    }
    world_free(w);
}

TEST(otlp, in_delta_what_came_is_told_and_what_was_not_taken_comes_with_the_next_page)
{
    struct world *w = world_new(true);
    count_some(w, 5);
    const char *lines = send(w);
    expect_line(lines, "rocketmq_messages_in_total|sum+|delta|since|aggregation=delta,cluster=C,is_system=FALSE,message_type=normal," OF "topic=T,|5\n");
    expect_line(lines, "rocketmq_message_size|histogram|delta|since|");
    expect_line(lines, "|1 of 2000: 0 1 0 0 0 0 0 \n");
    expect_line(send(w), "topic=T,|0\n");
    count_some(w, 3);
    w->answers = GRPC_UNAVAILABLE;
    send(w);
    count_some(w, 4);
    w->answers = GRPC_OK;
    lines = send(w);
    expect_line(lines, "topic=T,|7\n");
    expect_line(lines, "|2 of 4000: 0 2 0 0 0 0 0 \n");
    world_free(w);
}

/* --- a collector that is away --- */

struct text {
    char *folder, path[512];
    struct buf text;
};

static void begin_text(struct text *t)
{
    *t = (struct text){.folder = test_folder(), .text = BUF_EMPTY};
    snprintf(t->path, sizeof t->path, "%s/log", t->folder);
    log_set_level(LOG_INFO);
    EXPECT_OK(log_open(t->path));
}

static int end_text(struct text *t, const char *word)
{
    int n = 0;
    log_close();
    EXPECT_OK(fs_read_file(fs_real(), t->path, 1 << 20, &t->text));
    buf_put_u8(&t->text, 0);
    for (const char *p = (const char *)t->text.p; (p = strstr(p, word)); p++) n++;
    return n;
}

static void text_done(struct text *t)
{
    buf_done(&t->text);
    test_folder_remove(t->folder);
}

static void count_wants(void *ctx)
{
    struct world *w = ctx;
    if (pusher_wants(w->pusher)) push(w);
}

TEST(otlp, a_collector_that_is_away_is_asked_less_and_less_often_and_told_of_once)
{
    struct world *w = world_new(false);
    struct text log;
    begin_text(&log);
    sim_call(w->there, close_collector, w);
    make_page(w);
    for (int i = 0; i < 600; i++) {   /* ten minutes, a page is offered each second */
        sim_call(w->loop, count_wants, w);
        sim_run_for(w->sim, 1000);
    }
    EXPECT(w->done >= 8 && w->done < 20);
    int away = w->done;
    sim_call(w->there, open_collector, w);
    for (int i = 0; i < 100 && !w->requests; i++) {
        sim_call(w->loop, count_wants, w);
        sim_run_for(w->sim, 1000);
    }
    EXPECT_EQ(w->done, away + 1);
    EXPECT(pusher_wants(w->pusher));
    w->rejects = 3;
    send(w);
    send(w);
    EXPECT_EQ(end_text(&log, "metrics.not_sent"), 1);
    EXPECT(strstr((const char *)log.text.p, "metrics.sent_again"));
    const char *rejected = strstr((const char *)log.text.p, "metrics.rejected target=\"http://10.0.0.2:4317\" points=3 why=\"too old\"");
    EXPECT(rejected && !strstr(rejected + 1, "metrics.rejected"));
    text_done(&log);
    world_free(w);
}

TEST(otlp, a_page_may_be_under_way_at_the_end)
{
    struct world *w = world_new(false);
    make_page(w);
    sim_call(w->loop, push, w);
    EXPECT(pusher_is_busy(w->pusher));
    world_free(w);
}

TEST(otlp, targets_are_read_as_the_original_reads_them)
{
    static const struct {
        const char *text, *host;
        uint16_t port;
        bool tls;
    } rows[] = {{"collector:4317", "collector", 4317, true}, {"http://10.0.0.1:1", "10.0.0.1", 1, false}, {"HTTP://h", "h", 80, false},
                {"https://h/v1", "h", 443, true}, {" http://[::1]:4317/ ", "::1", 4317, false}, {"[::1]", "::1", 443, true}};
    static const char *const wrong[] = {"", "http://", "http://:4317", "h:0", "h:65536", "h:x", "[::1", "[::1]4317", "h:1:2"};
    struct pusher_target t;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        EXPECT_OK(pusher_target_read(rows[i].text, &t));
        assert_string_equal(t.host, rows[i].host);
        EXPECT(t.port == rows[i].port && t.tls == rows[i].tls);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) EXPECT_ERR(pusher_target_read(wrong[i], &t), ERR_CONFIG);
}

TEST(otlp, an_answer_that_cannot_be_read_is_an_error)
{
    int64_t rejected = -1;
    struct slice text;
    EXPECT_OK(otlp_read_answer(SLICE(""), &rejected, &text));
    EXPECT_EQ(rejected, 0);
    EXPECT_ERR(otlp_read_answer(SLICE("\x0a\x7f"), &rejected, &text), ERR_BODY);
    EXPECT_ERR(otlp_read_answer(SLICE("\x0a\x01\x08"), &rejected, &text), ERR_BODY);
}

TEST(last_values, a_value_that_went_down_began_anew)
{
    struct last_values l = {.of = {{.count = 0}}};
    struct metric_change change;
    struct metric_sample s = {.labels = SLICE("a=\"b\""), .value = 10};
    last_values_change(&l, METRIC_COMMITS, &s, 5, &change);
    EXPECT(change.value == 10 && change.since_ms == 5);
    last_values_told(&l, METRIC_COMMITS, &s, 50);
    s.value = 13;
    last_values_change(&l, METRIC_COMMITS, &s, 5, &change);
    EXPECT(change.value == 3 && change.since_ms == 50);
    s.value = 4;
    last_values_change(&l, METRIC_COMMITS, &s, 5, &change);
    EXPECT_EQ(change.value, 4);
    last_values_done(&l);
}

TEST(log_values, a_page_is_lines_of_the_log)
{
    struct world *w = world_new(false);
    struct last_values last = {.of = {{.count = 0}}};
    struct text log;
    count_some(w, 5);
    metric_count(&w->metrics, METRIC_COMMITS, 1, LABELS(SLICE("a,\"b")));
    make_page(w);
    begin_text(&log);
    log_values(&w->page, 1, &last);
    count_some(w, 1);
    make_page(w);
    log_values(&w->page, 2, &last);
    EXPECT_EQ(end_text(&log, "metrics.value "), 8);
    const char *text = (const char *)log.text.p;
    expect_line(text, "name=rocketmq_messages_in_total value=5 cluster=\"C\" is_system=\"false\" message_type=\"normal\" node_id=\"b\" ");
    expect_line(text, "name=rocketmq_messages_in_total value=1 ");
    expect_line(text, "name=rocketmq_message_size count=1 sum=2000 buckets=0,1,0,0,0,0,0 ");
    expect_line(text, "name=rocketmq_pop_revive_lag_milliseconds value=12 ");
    expect_line(text, "topic=\"a,\\\"b\"");
    last_values_done(&last);
    text_done(&log);
    world_free(w);
}
