#include "flow/grpc_world.h"

#include "codec/record.h"
#include "namesrv/namesrv.h"
#include "rpc/rpc.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAMES_PORT = 9876, BROKER_PORT = 10911, ROUTES_MS = 3000 };
static const char *const names_ip = "10.0.0.1", *const proxy_ip = "10.0.0.6", *const client_ip = "10.0.0.9";
static const char *const broker_ips[WORLD_BROKERS_MAX] = {"10.0.0.2", "10.0.0.3", "10.0.0.4"};
static const char *const broker_names[WORLD_BROKERS_MAX] = {"broker-a", "broker-b", "broker-c"};

/* --- start --- */

/* As flow.c does it: with FLOW_EVICTS, now and then nothing is in memory any more. */
static void evict(void *ctx)
{
    enum { TURNS = 7 };
    struct world_broker *b = ctx;
    if (++b->turns % TURNS) return;
    sim_fs_evict(b->disk, "/store/commitlog");
    sim_fs_evict(b->disk, "/store/consumequeue");
}

static void evict_from_now_on(struct world_broker *b)
{
    if (!getenv("FLOW_EVICTS")) return;
    b->evicts = (struct turn_hook){.run = evict, .ctx = b};
    tasks_on_turn_end(rpc_tasks(b->loop), &b->evicts);
}

static void set(struct config *c, const char *pair)
{
    const char *mark = strchr(pair, '=');
    EXPECT_OK(config_set(c, slice_of(pair, (size_t)(mark - pair)), slice_text(mark + 1)));
}

static void set_all(struct config *c, const char *const *pairs)
{
    for (; pairs && *pairs; pairs++) set(c, *pairs);
}

static struct addr address(const char *ip, int port)
{
    char text[ADDR_TEXT_MAX];
    struct addr a;
    snprintf(text, sizeof text, "%s:%d", ip, port);
    EXPECT_OK(addr_parse(slice_text(text), &a));
    return a;
}

static void start_names(void *ctx)
{
    struct grpc_world *w = ctx;
    struct rpc_options options = rpc_options_default();
    struct addr at = {.port = NAMES_PORT};
    config_init(&w->names_config, CONFIG_NAMESRV);
    set(&w->names_config, "kvConfigPath=/names/kvConfig.json");
    EXPECT_OK(namesrv_new(&w->names_config, sim_fs_disk(w->names_disk), w->names_loop, &w->namesrv));
    struct rpc_service service = namesrv_service(w->namesrv);
    EXPECT_OK(rpc_listen(w->names_loop, &at, 0, &service, &options, &w->names_port));
}

struct starting {
    struct grpc_world *world;
    int index;
    const char *const *settings;
};

static void start_broker(void *ctx)
{
    static const char *const usual[] = {
        "namesrvAddr=10.0.0.1:9876", "storePathRootDir=/store", "mappedFileSizeCommitLog=16777216", "mappedFileSizeConsumeQueue=20000",
        "flushDiskType=ASYNC_FLUSH", "registerNameServerPeriod=10000", "recallMessageEnable=true", NULL,
    };
    struct starting *s = ctx;
    struct world_broker *b = &s->world->brokers[s->index];
    char name[40];
    config_init(&b->config, CONFIG_BROKER);
    snprintf(name, sizeof name, "brokerName=%s", broker_names[s->index]);
    set(&b->config, name);
    set_all(&b->config, usual);
    set_all(&b->config, s->settings);
    struct broker_options o = {
        .loop = b->loop, .fs = sim_fs_disk(b->disk), .config = &b->config, .seed = (uint64_t)s->index + 7,
        .listen = address(broker_ips[s->index], BROKER_PORT), .advertised = address(broker_ips[s->index], BROKER_PORT),
    };
    EXPECT_OK(broker_new(&o, &b->broker));
}

static void start_proxy(void *ctx)
{
    struct starting *s = ctx;
    struct grpc_world *w = s->world;
    config_init(&w->proxy_config, CONFIG_PROXY);
    set_all(&w->proxy_config, s->settings);
    struct proxy_options o = {
        .loop = w->proxy_loop, .config = &w->proxy_config, .namesrv_addr = "10.0.0.1:9876", .metrics = &w->metrics, .seed = 11,
        .port = WORLD_GRPC_PORT,
    };
    EXPECT_OK(proxy_new(&o, &w->proxy));
    w->service = proxy_service(w->proxy);
    struct grpc_options options = grpc_options_default();
    struct addr at = {.port = WORLD_GRPC_PORT};
    EXPECT_OK(grpc_listen(w->proxy_loop, &at, &w->service, 1, &options, &w->server));
}

struct grpc_world *grpc_world_start(const struct world_options *o)
{
    struct grpc_world *w = must_zero(sizeof *w);
    struct sim_options sim = sim_options_default(o->seed);
    if (getenv("FLOW_EVICTS")) sim.window_min_bytes = sim.window_max_bytes;   /* an answer that waits for its client is not fetched again */
    w->sim = sim_new(&sim);
    w->arena = ARENA_EMPTY;
    w->arena.limit = (size_t)1 << 30;
    w->names_disk = sim_fs_new(o->seed);
    w->names_process = sim_process_new(w->sim, names_ip);
    w->names_loop = sim_loop_new(w->names_process);
    w->proxy_loop = sim_loop_new(sim_process_new(w->sim, proxy_ip));
    w->client_loop = sim_loop_new(sim_process_new(w->sim, client_ip));
    sim_call(w->names_loop, start_names, w);
    w->broker_count = o->brokers;
    for (int i = 0; i < o->brokers; i++) {
        struct world_broker *b = &w->brokers[i];
        struct starting s = {w, i, o->broker};
        b->process = sim_process_new(w->sim, broker_ips[i]);
        b->loop = sim_loop_new(b->process);
        b->disk = sim_fs_new(o->seed + (uint64_t)i + 1);
        sim_call(b->loop, start_broker, &s);
        evict_from_now_on(b);
        b->caller = caller_open(w->sim, w->client_loop, broker_ips[i], BROKER_PORT);
    }
    struct starting s = {.world = w, .settings = o->proxy};
    sim_call(w->proxy_loop, start_proxy, &s);
    w->client = grpc_client_open(w->sim, w->client_loop, proxy_ip, WORLD_GRPC_PORT, NULL);
    return w;
}

struct grpc_world *grpc_world_simple(void)
{
    struct world_options o = {.seed = 1, .brokers = 1};
    return grpc_world_start(&o);
}

static void stop_proxy(void *ctx)
{
    struct grpc_world *w = ctx;
    grpc_server_close(w->server);
    proxy_free(w->proxy);
}

void world_restart_proxy(struct grpc_world *w)
{
    struct starting s = {.world = w};
    grpc_client_close(w->client);
    sim_call(w->proxy_loop, stop_proxy, w);
    config_done(&w->proxy_config);
    sim_call(w->proxy_loop, start_proxy, &s);
    w->client = grpc_client_open(w->sim, w->client_loop, proxy_ip, WORLD_GRPC_PORT, NULL);
}

static void stop_broker(void *ctx)
{
    struct world_broker *b = ctx;
    EXPECT_OK(broker_free(b->broker));
}

static void stop_names(void *ctx)
{
    struct grpc_world *w = ctx;
    rpc_listener_close(w->names_port);
    EXPECT_OK(namesrv_free(w->namesrv));
}

void grpc_world_stop(struct grpc_world *w)
{
    enum { WORK_ENDS_MS = 50 };
    grpc_client_close(w->client);
    sim_call(w->proxy_loop, stop_proxy, w);
    for (int i = 0; i < w->broker_count; i++) {
        caller_close(w->brokers[i].caller);
        sim_call(w->brokers[i].loop, stop_broker, &w->brokers[i]);
    }
    sim_call(w->names_loop, stop_names, w);
    sim_run_for(w->sim, WORK_ENDS_MS);
    for (int i = 0; i < w->broker_count; i++) config_done(&w->brokers[i].config);
    config_done(&w->names_config);
    config_done(&w->proxy_config);
    sim_free(w->sim);
    for (int i = 0; i < w->broker_count; i++) sim_fs_free(w->brokers[i].disk);
    sim_fs_free(w->names_disk);
    arena_done(&w->arena);
    free(w);
}

/* --- what tools do --- */

void world_topic_at(struct grpc_world *w, int broker, const char *topic, int32_t queues, const char *attributes)
{
    struct create_topic_header h = {
        .topic = slice_text(topic), .default_topic = SLICE("TBW102"), .read_queue_nums = queues, .write_queue_nums = queues, .perm = 6,
        .topic_filter_type = SLICE("SINGLE_TAG"), .attributes = slice_text(attributes),
    };
    struct answer *a = caller_call(w->brokers[broker].caller, REQUEST_UPDATE_AND_CREATE_TOPIC, &create_topic_kind, &h, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    sim_run_for(w->sim, ROUTES_MS);
}

void world_topic(struct grpc_world *w, const char *topic, int32_t queues, const char *attributes)
{
    for (int i = 0; i < w->broker_count; i++) world_topic_at(w, i, topic, queues, attributes);
}

void world_group(struct grpc_world *w, const char *json)
{
    for (int i = 0; i < w->broker_count; i++) {
        struct answer *a = caller_call(w->brokers[i].caller, REQUEST_UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, NULL, NULL, slice_text(json));
        EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
        answer_free(a);
    }
}

/* --- calls --- */

const char *const *world_headers(const char *client_id, const char *timeout)
{
    static const char *headers[16];
    size_t n = 0;
    if (client_id) headers[n++] = "x-mq-client-id", headers[n++] = client_id;
    headers[n++] = "x-mq-language", headers[n++] = "JAVA";
    headers[n++] = "x-mq-client-version", headers[n++] = "5.0.7";
    if (timeout) headers[n++] = "grpc-timeout", headers[n++] = timeout;
    headers[n] = NULL;
    return headers;
}

struct buf world_encode(const struct pb_message *kind, const void *message)
{
    struct pb_out out = PB_OUT_EMPTY;
    struct buf bytes = BUF_EMPTY;
    pb_encode(kind, message, &out);
    pb_out_copy(&out, &bytes);
    pb_out_done(&out);
    return bytes;
}

void *world_decode(struct grpc_world *w, const struct pb_message *kind, struct slice bytes)
{
    void *out = arena_take(&w->arena, kind->size);
    EXPECT_OK(pb_decode(kind, arena_copy(&w->arena, bytes), &w->arena, out));
    return out;
}

static const char *path_of(const char *rpc)
{
    static char path[120];
    snprintf(path, sizeof path, "/apache.rocketmq.v2.MessagingService/%s", rpc);
    return path;
}

void *world_call(struct grpc_world *w, const char *client_id, const char *rpc, const struct pb_message *asked, const void *request,
                 const struct pb_message *answered)
{
    struct buf bytes = world_encode(asked, request), answer = BUF_EMPTY;
    int status = grpc_client_unary(w->client, path_of(rpc), world_headers(client_id, "20S"), buf_slice(&bytes), &answer);
    EXPECT_EQ(status, GRPC_OK);
    void *out = world_decode(w, answered, buf_slice(&answer));
    buf_done(&bytes);
    buf_done(&answer);
    return out;
}

struct grpc_client_call *world_begin(struct grpc_world *w, const char *client_id, const char *rpc, const char *timeout,
                                     const struct pb_message *asked, const void *request)
{
    struct buf bytes = world_encode(asked, request);
    struct grpc_client_call *k = grpc_client_call(w->client, path_of(rpc), world_headers(client_id, timeout));
    grpc_client_send(k, buf_slice(&bytes));
    grpc_client_half_close(k);
    buf_done(&bytes);
    return k;
}

/* --- telemetry --- */

struct grpc_client_call *world_settings(struct grpc_world *w, const char *client_id, const struct v2_settings *settings)
{
    struct v2_settings copy = *settings;
    struct v2_telemetry_command c = {.command_case = V2_TELEMETRY_COMMAND_SETTINGS, .settings = &copy};
    struct buf bytes = world_encode(&v2_telemetry_command_pb, &c);
    struct grpc_client_call *k = grpc_client_call(w->client, path_of("Telemetry"), world_headers(client_id, NULL));
    grpc_client_send(k, buf_slice(&bytes));
    buf_done(&bytes);
    return k;
}

struct v2_telemetry_command *world_command(struct grpc_world *w, struct grpc_client_call *stream, int64_t limit_ms)
{
    struct slice bytes;
    return grpc_client_message(stream, limit_ms, &bytes) ? world_decode(w, &v2_telemetry_command_pb, bytes) : NULL;
}

static struct grpc_client_call *tell(struct grpc_world *w, const char *client_id, const struct v2_settings *s)
{
    struct grpc_client_call *k = world_settings(w, client_id, s);
    struct v2_telemetry_command *c = world_command(w, k, WORLD_WAIT_MS);
    EXPECT(c && c->command_case == V2_TELEMETRY_COMMAND_SETTINGS);
    return k;
}

struct grpc_client_call *world_producer(struct grpc_world *w, const char *client_id, const char *topic)
{
    struct v2_publishing publishing = {.topics = {world_name(w, topic), 1}};
    struct v2_settings s = {
        .has_client_type = true, .client_type = V2_CLIENT_TYPE_PRODUCER, .pub_sub_case = V2_SETTINGS_PUBLISHING, .publishing = &publishing,
    };
    return tell(w, client_id, &s);
}

struct grpc_client_call *world_consumer(struct grpc_world *w, const char *client_id, const char *group, const char *topic)
{
    struct v2_subscription_entry entry = {.topic = world_name(w, topic)};
    struct v2_subscription subscription = {.group = world_name(w, group), .subscriptions = {&entry, 1}};
    struct v2_settings s = {
        .has_client_type = true, .client_type = V2_CLIENT_TYPE_SIMPLE_CONSUMER, .pub_sub_case = V2_SETTINGS_SUBSCRIPTION,
        .subscription = &subscription,
    };
    return tell(w, client_id, &s);
}

/* --- messages --- */

static void *take(struct grpc_world *w, size_t n) { return arena_take(&w->arena, n); }

struct v2_resource *world_name(struct grpc_world *w, const char *name)
{
    struct v2_resource *r = take(w, sizeof *r);
    r->name = arena_copy(&w->arena, slice_text(name));
    return r;
}

struct v2_message *world_message(struct grpc_world *w, const char *topic, const char *body)
{
    static unsigned number;
    char id[40];
    struct v2_message *m = take(w, sizeof *m);
    snprintf(id, sizeof id, "01AABBCCDDEEFF0001%016X", number++);
    m->topic = world_name(w, topic);
    m->body = arena_copy(&w->arena, slice_text(body));
    m->system_properties = take(w, sizeof *m->system_properties);
    m->system_properties->message_id = arena_copy(&w->arena, slice_text(id));
    m->system_properties->born_timestamp = take(w, sizeof(struct v2_timestamp));
    m->system_properties->born_timestamp->seconds = 1789999999;
    m->system_properties->born_timestamp->nanos = 5000000;
    m->system_properties->born_host = SLICE("client-host");
    return m;
}

struct v2_send_message_response *world_send(struct grpc_world *w, struct v2_message *m)
{
    struct v2_send_message_request q = {.messages = {m, 1}};
    return WORLD_CALL(w, "p", "SendMessage", send_message, &q);
}

bool world_pull(struct grpc_world *w, int broker, const char *topic, int32_t queue_id, int64_t offset, struct message *out)
{
    struct pull_header h = {
        .consumer_group = SLICE("pullers"), .topic = slice_text(topic), .queue_id = queue_id, .queue_offset = offset, .max_msg_nums = 1,
        .sys_flag = 4, .subscription = SLICE("*"), .expression_type = SLICE("TAG"),
    };
    struct answer *a = caller_call(w->brokers[broker].caller, REQUEST_PULL_MESSAGE, &pull_kind, &h, (struct slice){NULL, 0});
    bool found = a->frame.code == RESPONSE_SUCCESS;
    if (found) EXPECT_EQ(record_read(arena_copy(&w->arena, a->frame.body), out), RECORD_WHOLE);
    answer_free(a);
    return found;
}

/* --- receiving --- */

struct v2_receive_message_request world_receive_request(struct grpc_world *w, const char *group, const char *topic)
{
    struct v2_receive_message_request q = {.group = world_name(w, group), .batch_size = 32};
    struct v2_message_queue *queue = take(w, sizeof *queue);
    queue->topic = world_name(w, topic);
    q.message_queue = queue;
    q.invisible_duration = take(w, sizeof(struct v2_duration));
    q.invisible_duration->seconds = 30;
    q.long_polling_timeout = take(w, sizeof(struct v2_duration));
    q.long_polling_timeout->seconds = 5;
    return q;
}

struct world_received world_received(struct grpc_world *w, struct grpc_client_call *k, int64_t limit_ms)
{
    struct world_received got = {.code = -1};
    struct slice bytes;
    bool status = false, ended = false, fine = true;
    while (grpc_client_message(k, limit_ms, &bytes)) {
        struct v2_receive_message_response *r = world_decode(w, &v2_receive_message_response_pb, bytes);
        switch (r->content_case) {
        case V2_RECEIVE_MESSAGE_RESPONSE_STATUS:
            fine = fine && !status;
            status = true;
            got.code = r->status->code;
            got.text = r->status->message;
            break;
        case V2_RECEIVE_MESSAGE_RESPONSE_MESSAGE:
            fine = fine && status && !ended;
            EXPECT(got.count < 32);
            got.messages[got.count++] = r->message;
            break;
        default: ended = true; break;
        }
    }
    got.ended_in_order = fine && status && ended && grpc_client_status(k, limit_ms) == GRPC_OK;
    return got;
}

struct world_received world_receive(struct grpc_world *w, const char *client_id, const struct v2_receive_message_request *q)
{
    struct grpc_client_call *k = world_begin(w, client_id, "ReceiveMessage", "30S", &v2_receive_message_request_pb, q);
    return world_received(w, k, WORLD_WAIT_MS);
}

int32_t world_ack(struct grpc_world *w, const char *client_id, const char *group, const struct v2_message *m)
{
    struct v2_ack_message_entry entry = {.message_id = m->system_properties->message_id, .receipt_handle = m->system_properties->receipt_handle};
    struct v2_ack_message_request q = {.group = world_name(w, group), .topic = m->topic, .entries = {&entry, 1}};
    struct v2_ack_message_response *r = WORLD_CALL(w, client_id, "AckMessage", ack_message, &q);
    EXPECT_EQ(r->entries.count, 1);
    return r->entries.items[0].status->code;
}
