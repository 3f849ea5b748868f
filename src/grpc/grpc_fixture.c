#include "grpc/grpc_fixture.h"

#include <stdio.h>
#include <stdlib.h>

enum method { ECHO = 1, COUNT, KEEP, FAIL, HEADER };

static enum method method_of(struct slice name)
{
    static const char *const names[] = {[ECHO] = "Echo", [COUNT] = "Count", [KEEP] = "Keep", [FAIL] = "Fail", [HEADER] = "Header"};
    for (size_t i = 1; i < sizeof names / sizeof *names; i++)
        if (slice_eq(name, slice_text(names[i]))) return (enum method)i;
    return 0;
}

static enum method method(struct grpc_call *c) { return (enum method)(uintptr_t)grpc_call_data(c); }

static bool begin(void *ctx, struct grpc_call *c, struct slice name)
{
    struct grpc_fixture *f = ctx;
    enum method m = method_of(name);
    f->begun++;
    grpc_call_set_data(c, (void *)(uintptr_t)m);
    if (m == KEEP) f->kept = c;
    if (m == FAIL) grpc_finish(c, GRPC_NOT_FOUND, SLICE("no such thing: 100%\n"));
    return m;
}

static void release(void *owner)
{
    ((struct grpc_fixture *)owner)->released++;
}

static void count(struct grpc_fixture *f, struct grpc_call *c, int n)
{
    static const uint8_t item[ITEM_BYTES] = {1};
    for (int i = 0; i < n; i++) {
        struct pinned parts[2] = {{.bytes = slice_of(item, 10), .release = release, .owner = f},
                                  {.bytes = slice_of(item, ITEM_BYTES - 10), .release = release, .owner = f}};
        f->pins += 2;
        grpc_send(c, parts, 2);
    }
}

static void answer_header(struct grpc_fixture *f, struct grpc_call *c, struct slice name)
{
    char text[200], *key = must_dup(name), remote[ADDR_TEXT_MAX];
    int64_t deadline = grpc_call_deadline_ms(c);
    int64_t left = deadline == INT64_MAX ? -1 : deadline - tasks_mono_ms(&f->loop->tasks);
    struct slice value = grpc_call_header(c, key);
    snprintf(text, sizeof text, "%.*s|%lld|%s", SLICE_ARG(value), (long long)left, addr_format_ip(grpc_call_remote(c), remote));
    free(key);
    grpc_send_copy(c, slice_text(text));
}

static void message(void *ctx, struct grpc_call *c, struct slice bytes)
{
    struct grpc_fixture *f = ctx;
    f->messages++;
    f->message_bytes += bytes.n;
    if (method(c) == ECHO) grpc_send_copy(c, bytes);
    if (method(c) == HEADER) answer_header(f, c, bytes);
    if (method(c) == COUNT) {
        char *number = must_dup(bytes);
        count(f, c, atoi(number));
        free(number);
    }
}

static void half_closed(void *ctx, struct grpc_call *c)
{
    ((struct grpc_fixture *)ctx)->half_closed++;
    if (method(c) != KEEP) grpc_finish(c, GRPC_OK, SLICE(""));
}

static void gone(void *ctx, struct grpc_call *c)
{
    struct grpc_fixture *f = ctx;
    f->gone++;
    if (f->kept == c) f->kept = NULL;
}

struct grpc_client *grpc_fixture_client(struct grpc_fixture *f, const struct grpc_client_options *options)
{
    return grpc_client_open(f->sim, f->client_loop, "10.0.0.1", PORT, options);
}

struct grpc_fixture *grpc_fixture_start(uint64_t seed, void (*change)(struct grpc_options *o))
{
    struct grpc_fixture *f = must_zero(sizeof *f);
    struct sim_options options = sim_options_default(seed);
    struct addr any = {.port = PORT};
    f->sim = sim_new(&options);
    f->process = sim_process_new(f->sim, "10.0.0.1");
    f->loop = sim_loop_new(f->process);
    f->client_loop = sim_loop_new(sim_process_new(f->sim, "10.0.0.2"));
    f->service = (struct grpc_service){"test.Things", begin, message, half_closed, gone, f};
    f->services[0] = f->services[1] = f->services[2] = &f->service;
    f->options = grpc_options_default();
    f->options.metrics = &f->metrics;
    if (change) change(&f->options);
    EXPECT_OK(grpc_listen(f->loop, &any, f->services, 3, &f->options, &f->server));
    f->client = grpc_fixture_client(f, NULL);
    return f;
}

static void close_server(void *ctx) { grpc_server_close(ctx); }

void grpc_fixture_stop_server(struct grpc_fixture *f)
{
    sim_call(f->loop, close_server, f->server);
    f->server = NULL;
}

void grpc_fixture_stop(struct grpc_fixture *f)
{
    grpc_client_close(f->client);
    grpc_fixture_stop_server(f);
    EXPECT_EQ(f->pins, f->released);
    EXPECT_EQ(metric_get(&f->metrics, METRIC_CONNECTIONS), 0);
    metrics_done(&f->metrics);
    sim_free(f->sim);
    free(f);
}

static void finish_kept(void *ctx)
{
    struct grpc_fixture *f = ctx;
    grpc_finish(f->kept, GRPC_OK, SLICE("kept"));
    f->kept = NULL;
}

void grpc_fixture_finish_kept(struct grpc_fixture *f) { sim_call(f->loop, finish_kept, f); }
