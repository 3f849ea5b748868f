#include "proxy/checks.h"

#include "base/log.h"
#include "base/properties_file.h"

#include <assert.h>
#include <stdlib.h>

enum { SCAN_MS = 5000, CLIENTS_SCAN = 2 };   /* clients are looked through every second time */

static const struct rpc_row rows[] = {
#define RPC(name, handler, asked, answered) {CALL_ROW, {(const uint8_t *)#name, sizeof #name - 1}, &v2_##asked##_pb, &v2_##answered##_pb, serve_##handler},
#include "proxy/rpcs.def"
#undef RPC
};
static const struct rpc_row telemetry_row = {.data = CALL_ROW, .name = {(const uint8_t *)"Telemetry", 9}};

static const struct rpc_row *find_row(struct slice method)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (slice_eq(method, rows[i].name)) return &rows[i];
    return slice_eq(method, telemetry_row.name) ? &telemetry_row : NULL;
}

/* --- calls --- */

static bool begin(void *ctx, struct grpc_call *c, struct slice method)
{
    const struct rpc_row *row = find_row(method);
    if (!row) return false;
    if (row == &telemetry_row) telemetry_begin(ctx, c);
    else grpc_call_set_data(c, (void *)(uintptr_t)row);
    return true;
}

static void begin_request(struct proxy *p, struct grpc_call *c, const struct rpc_row *row, struct slice bytes)
{
    struct request *r = request_new(p, c, row, grpc_call_header(c, "x-mq-client-id"));
    void *in = request_take(r, row->request->size);
    err_t e = request_keep(r, bytes, row->request, in);
    grpc_call_set_data(c, r);
    r->in = in;
    if (e) {   /* ended as the original ends what it cannot decode */
        log_debug("rpc.broken rpc=%.*s why=\"%s\"", SLICE_ARG(row->name), err_text(e));
        err_free(e);
        request_free(r);
        grpc_finish(c, GRPC_UNKNOWN, SLICE("Application error processing RPC"));
    } else if (is_blank(r->client_id)) {
        request_refuse_bare(r, V2_CODE_CLIENT_ID_REQUIRED, SLICE("client id cannot be empty"));
    } else {
        row->handle(r);
    }
}

/* What is under way for it goes on, or ends. */
static void leave_request(struct request *r)
{
    r->call = NULL;
    if (r->gone) r->gone(r);
}

static void message(void *ctx, struct grpc_call *c, struct slice bytes)
{
    const enum call_data *data = grpc_call_data(c);
    switch (*data) {
    case CALL_STREAM: telemetry_message(ctx, c, bytes); break;
    case CALL_ROW: begin_request(ctx, c, (const struct rpc_row *)(const void *)data, bytes); break;
    case CALL_REQUEST:   /* there is one request to a call */
        leave_request(grpc_call_data(c));
        grpc_finish(c, GRPC_INTERNAL, SLICE("Too many requests"));
        break;
    }
}

static void half_closed(void *ctx, struct grpc_call *c)
{
    const enum call_data *data = grpc_call_data(c);
    if (*data == CALL_STREAM) telemetry_half_closed(ctx, c);
    else if (*data == CALL_ROW) grpc_finish(c, GRPC_INTERNAL, SLICE("Half-closed without a request"));
}

static void gone(void *ctx, struct grpc_call *c)
{
    const enum call_data *data = grpc_call_data(c);
    if (*data == CALL_STREAM) telemetry_gone(ctx, c);
    else if (*data == CALL_REQUEST) leave_request(grpc_call_data(c));
}

/* --- the proxy --- */

static void scan(void *ctx)
{
    struct proxy *p = ctx;
    p->scans++;
    handles_scan(&p->handles);
    transactions_scan(&p->transactions);
    questions_scan(&p->questions);
    if (p->scans % CLIENTS_SCAN == 0) clients_scan(&p->clients);
    facts_scan(&p->facts);
    brokers_scan(&p->brokers);
    timer_start(p->tasks, &p->scan, SCAN_MS);
}

err_t proxy_new(const struct proxy_options *o, struct proxy **out)
{
    if (!o->namesrv_addr || !*o->namesrv_addr) return err_new(ERR_CONFIG, "a proxy needs the address of a name server");
    struct proxy *p = must_zero(sizeof *p);
    p->options = *o;
    p->cfg = &o->config->proxy;
    p->loop = o->loop;
    p->tasks = rpc_tasks(o->loop);
    random_init(&p->random, o->seed);
    p->service = (struct grpc_service){"apache.rocketmq.v2.MessagingService", begin, message, half_closed, gone, p};
    p->polls = MAP_EMPTY;
    list_init(&p->requests);
    p->out = PB_OUT_EMPTY;
    brokers_init(&p->brokers, p);
    facts_init(&p->facts, p);
    clients_init(&p->clients, p);
    handles_init(&p->handles, p);
    transactions_init(&p->transactions, p);
    questions_init(&p->questions, p);
    timer_init(&p->scan, scan, p);
    timer_start(p->tasks, &p->scan, SCAN_MS);
    *out = p;
    return NULL;
}

const struct grpc_service *proxy_service(struct proxy *p) { return &p->service; }

static bool is_set(struct slice text, struct slice name)
{
    struct arena arena = ARENA_EMPTY;
    struct properties all;
    struct slice key, value;
    bool found = false;
    properties_file_begin(&all, text);
    while (!found && properties_file_next(&all, &arena, &key, &value)) found = slice_eq(key, name);
    arena_done(&arena);
    return found;
}

err_t proxy_configure(struct proxy *p, struct slice text)
{
    err_t e = config_update(p->options.config, text, CONFIG_PROXY);
    if (e) return e;
    log_info("config.changed keys=\"%.*s\"", SLICE_ARG(text));
    if (is_set(text, SLICE("logLevel"))) log_set_level_named(p->options.config->skylark.log_level);
    return NULL;
}

void proxy_configuration(const struct proxy *p, struct buf *out) { config_write(p->options.config, CONFIG_PROXY, out); }

void proxy_leave(struct proxy *p)
{
    p->leaving = true;
    telemetry_leave(p);
    LIST_EACH(&p->requests, node) {
        struct request *r = LIST_OWNER(node, struct request, node);
        if (r->hurry) r->hurry(r);
    }
}

/* Requests that wait for brokers hear that these are gone; those that wait for time are told to end. */
static void end_requests(struct proxy *p)
{
    facts_close(&p->facts);
    brokers_close(&p->brokers);
    while (!list_empty(&p->requests)) {
        struct request *r = LIST_OWNER(list_first(&p->requests), struct request, node);
        assert(r->gone && "nothing but polls waits for time");
        leave_request(r);
    }
}

void proxy_free(struct proxy *p)
{
    if (!p) return;
    p->ending = true;
    timer_stop(p->tasks, &p->scan);
    end_requests(p);
    assert(!p->polls.count);
    map_done(&p->polls);
    questions_done(&p->questions);
    clients_done(&p->clients);
    handles_done(&p->handles);
    transactions_done(&p->transactions);
    facts_done(&p->facts);
    brokers_done(&p->brokers);
    pb_out_done(&p->out);
    free(p);
}
