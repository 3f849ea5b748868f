/* Requests of gRPC clients, of any RPC, to a proxy in front of one server that answers as a name server and a broker; what it answers a
 * pop with is foreign too. Whatever comes, each call ends once, with an answer that can be decoded. */
#include "fuzz/fuzz.h"

#include "base/log.h"
#include "codec/requests.h"
#include "kit/sim_loop.h"
#include "proxy/proxy.h"
#include "codec/proto/rocketmq_v2.h"

enum { LONG_MS = 40000 };

/* --- the transport: calls are structs here --- */

struct grpc_call {
    void *data;
    bool finished, stream;
    struct addr address;
};

void grpc_call_set_data(struct grpc_call *c, void *data) { c->data = data; }
void *grpc_call_data(const struct grpc_call *c) { return c->data; }
struct slice grpc_call_header(const struct grpc_call *c, const char *name)
{
    (void)c;
    if (!strcmp(name, "x-mq-client-id")) return SLICE("fuzz");
    return (struct slice){NULL, 0};
}
void grpc_call_forget_headers(struct grpc_call *c) { (void)c; }
int64_t grpc_call_deadline_ms(const struct grpc_call *c) { return (void)c, INT64_MAX; }
const struct addr *grpc_call_remote(const struct grpc_call *c) { return &c->address; }

static void check_answer(struct grpc_call *c, struct slice bytes)
{
    struct arena arena = ARENA_EMPTY;
    FUZZ_EXPECT(!c->finished);
    if (c->stream) {
        struct v2_telemetry_command command = {0};
        err_t e = pb_decode(&v2_telemetry_command_pb, bytes, &arena, &command);
        FUZZ_EXPECT(!e);
    } else {
        struct v2_status status = {0};
        struct v2_query_offset_response any = {.status = &status};   /* all begin with their status; receives hold one of their parts */
        err_free(pb_decode(&v2_query_offset_response_pb, bytes, &arena, &any));
    }
    arena_done(&arena);
}

void grpc_send_copy(struct grpc_call *c, struct slice bytes) { check_answer(c, bytes); }

void grpc_send(struct grpc_call *c, struct pinned *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        check_answer(c, parts[i].bytes);
        pin_release(&parts[i]);
    }
}

void grpc_finish(struct grpc_call *c, enum grpc_status status, struct slice text)
{
    (void)status, (void)text;
    FUZZ_EXPECT(!c->finished);
    c->finished = true;
}

/* --- the server behind it --- */

static const char route[] =
    "{\"brokerDatas\":[{\"brokerAddrs\":{\"0\":\"10.0.0.1:9876\"},\"brokerName\":\"b\",\"cluster\":\"DefaultCluster\"}],"
    "\"queueDatas\":[{\"brokerName\":\"b\",\"perm\":6,\"readQueueNums\":4,\"topicSysFlag\":0,\"writeQueueNums\":4}]}";

static void handle(void *ctx, struct call *call)
{
    const struct slice *popped = ctx;
    struct pop_reply_header pop = {.pop_time = 1790000000000, .invisible_time = 60000, .start_offset_info = SLICE("0 0 0;1 0 0"), .msg_offset_info = SLICE("0 0 0")};
    struct send_reply_header sent = {.msg_id = SLICE("0A00000100002A9F0000000000000000"), .queue_offset = 1};
    struct change_invisible_reply_header changed = {.pop_time = 1790000000000, .invisible_time = 60000};
    switch (call->code) {
    case REQUEST_GET_ROUTEINFO_BY_TOPIC: call_reply(call, 0, NULL, NULL, NULL, slice_text(route)); break;
    case REQUEST_GET_TOPIC_CONFIG: call_reply(call, 0, NULL, NULL, NULL, SLICE("{\"topicName\":\"t\",\"attributes\":{\"message.type\":\"MIXED\"}}")); break;
    case REQUEST_GET_SUBSCRIPTIONGROUP_CONFIG: call_reply(call, 0, NULL, NULL, NULL, SLICE("{\"groupName\":\"g\"}")); break;
    case REQUEST_SEND_MESSAGE_V2: case REQUEST_SEND_BATCH_MESSAGE: call_reply(call, 0, NULL, &send_reply_kind, &sent, (struct slice){NULL, 0}); break;
    case REQUEST_CHANGE_MESSAGE_INVISIBLETIME: call_reply(call, 0, NULL, &change_invisible_reply_kind, &changed, (struct slice){NULL, 0}); break;
    case REQUEST_POP_MESSAGE: call_reply(call, popped->n ? RESPONSE_SUCCESS : RESPONSE_PULL_NOT_FOUND, NULL, &pop_reply_kind, &pop, *popped); break;
    case REQUEST_NOTIFICATION: call_reply(call, RESPONSE_TOPIC_NOT_EXIST, NULL, NULL, NULL, (struct slice){NULL, 0}); break;
    default: call_reply(call, 0, NULL, NULL, NULL, (struct slice){NULL, 0}); break;
    }
}

/* --- one run --- */

static const char *const methods[] = {
    "SendMessage", "ReceiveMessage", "AckMessage", "Telemetry", "QueryRoute", "QueryAssignment", "ChangeInvisibleDuration", "EndTransaction",
    "ForwardMessageToDeadLetterQueue", "Heartbeat", "NotifyClientTermination", "RecallMessage", "SyncLiteSubscription",
};
enum { METHODS = sizeof methods / sizeof *methods };

struct run {
    struct sim *sim;
    struct loop *loop;
    struct config config;
    struct rpc_listener *listener;
    struct slice popped;
    struct proxy *proxy;
    struct grpc_call telemetry, call;
    struct slice settings, request;
    const char *method;
};

static void start(void *ctx)
{
    struct run *r = ctx;
    struct rpc_service service = {.handle = handle, .ctx = &r->popped};
    struct rpc_options options = rpc_options_default();
    struct addr at = {.port = 9876};
    config_init(&r->config, CONFIG_PROXY);
    struct proxy_options o = {.loop = r->loop, .config = &r->config, .namesrv_addr = "10.0.0.1:9876", .seed = 1};
    FUZZ_EXPECT(!rpc_listen(r->loop, &at, 0, &service, &options, &r->listener));
    FUZZ_EXPECT(!proxy_new(&o, &r->proxy));
}

static void call(struct run *r, struct grpc_call *c, const char *method, struct slice bytes)
{
    const struct grpc_service *s = proxy_service(r->proxy);
    c->stream = !strcmp(method, "Telemetry");
    FUZZ_EXPECT(s->begin(s->ctx, c, slice_text(method)));
    s->message(s->ctx, c, bytes);
}

static void tell(void *ctx) { call(ctx, &((struct run *)ctx)->telemetry, "Telemetry", ((struct run *)ctx)->settings); }
static void ask(void *ctx) { call(ctx, &((struct run *)ctx)->call, ((struct run *)ctx)->method, ((struct run *)ctx)->request); }

static void stop(void *ctx)
{
    struct run *r = ctx;
    const struct grpc_service *s = proxy_service(r->proxy);
    FUZZ_EXPECT(r->call.finished || r->call.stream);
    if (!r->telemetry.finished) s->gone(s->ctx, &r->telemetry);
    if (!r->call.finished) s->gone(s->ctx, &r->call);
    proxy_free(r->proxy);
    rpc_listener_close(r->listener);
    config_done(&r->config);
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    /* a simple consumer of group g */
    static const uint8_t settings[] = {0x12, 0x09, 0x08, 0x03, 0x32, 0x05, 0x0a, 0x03, 0x12, 0x01, 'g'};
    if (n < 1) return 0;
    log_set_level(LOG_SILENT);
    uint8_t *copy = fuzz_copy(p + 1, n - 1);
    struct slice rest = slice_of(copy, n - 1);
    struct sim_options o = sim_options_default(1);
    struct run r = {.sim = sim_new(&o), .settings = slice_of(settings, sizeof settings), .method = methods[p[0] % METHODS]};
    r.request = fuzz_take(&rest);
    r.popped = rest;
    r.loop = sim_loop_new(sim_process_new(r.sim, "10.0.0.1"));
    sim_call(r.loop, start, &r);
    sim_call(r.loop, tell, &r);
    sim_run_for(r.sim, 100);
    sim_call(r.loop, ask, &r);
    sim_run_for(r.sim, LONG_MS);
    sim_call(r.loop, stop, &r);
    sim_free(r.sim);
    free(copy);
    return 0;
}
