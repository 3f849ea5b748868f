/* The whole name server on a simulated network: recorded traffic of the original, and what it does not show. */
#include "kit/caller.h"
#include "kit/sim_fs.h"
#include "kit/test.h"
#include "kit/wire_replay.h"

#include "codec/requests.h"
#include "namesrv/namesrv.h"
#include "namesrv/route_table.h"

#include <stdio.h>
#include <stdlib.h>

enum { PORT = 9876 };

struct fixture {
    struct sim *sim;
    struct sim_fs *disk;
    struct loop *loop, *client;
    struct config config;
    struct namesrv *ns;
    struct rpc_service service;
    struct rpc_listener *listener;
};

static void open_server(struct fixture *f)
{
    struct rpc_options options = rpc_options_default();
    struct addr any = {.port = PORT};
    EXPECT_OK(namesrv_new(&f->config, sim_fs_disk(f->disk), f->loop, &f->ns));
    f->service = namesrv_service(f->ns);
    EXPECT_OK(rpc_listen(f->loop, &any, 1, &f->service, &options, &f->listener));
}

static void close_server(struct fixture *f)
{
    rpc_listener_close(f->listener);
    sim_run_for(f->sim, 100);
    EXPECT_OK(namesrv_free(f->ns));
    sim_run_for(f->sim, 100);
}

static struct fixture *start(uint64_t seed)
{
    struct fixture *f = must_zero(sizeof *f);
    struct sim_options options = sim_options_default(seed);
    f->sim = sim_new(&options);
    f->disk = sim_fs_new(seed);
    f->loop = sim_loop_new(sim_process_new(f->sim, "10.0.0.1"));
    f->client = sim_loop_new(sim_process_new(f->sim, "10.0.0.2"));
    config_init(&f->config, CONFIG_NAMESRV);
    EXPECT_OK(config_set(&f->config, SLICE("dataFolder"), SLICE("/data")));
    open_server(f);
    return f;
}

static void stop(struct fixture *f)
{
    close_server(f);
    config_done(&f->config);
    sim_free(f->sim);
    sim_fs_free(f->disk);
    free(f);
}

static struct caller *open_caller(struct fixture *f) { return caller_open(f->sim, f->client, "10.0.0.1", PORT); }

/* A broker of ours registers so many topics; the connection stays. */
struct broker {
    const char *name, *address;
    int topics;
    int64_t id;
    bool compressed, wrong_crc;
};

static struct answer *register_by(struct caller *c, struct broker b)
{
    struct arena arena = ARENA_EMPTY;
    struct data_version version = {0, 1, 2};
    struct register_body body = {.table = {.version = &version, .mapping_version = &version}};
    struct buf text = BUF_EMPTY;
    for (int i = 0; i < b.topics; i++) {
        struct topic_config *t = arena_list_add(&arena, (void **)&body.table.topics.items, &body.table.topics.count, sizeof *t);
        char name[16];
        snprintf(name, sizeof name, i ? "T%d" : "WireTopic", i);
        *t = (struct topic_config){.name = arena_copy(&arena, slice_text(name)), .read_queues = 2, .write_queues = 2, .perm = 6};
    }
    register_body_encode(&body, b.compressed, &text);
    struct register_broker_header h = {.broker_name = slice_text(b.name), .broker_addr = slice_text(b.address), .broker_id = b.id,
                                       .cluster_name = SLICE("DefaultCluster"), .ha_server_addr = SLICE("127.0.0.2:10912"),
                                       .compressed = b.compressed, .body_crc32 = (int32_t)register_crc(buf_slice(&text))};
    if (b.wrong_crc) h.body_crc32 ^= 1;
    header_set(&h, register_broker, compressed);
    header_set(&h, register_broker, body_crc32);
    struct answer *a = caller_call(c, REQUEST_REGISTER_BROKER, &register_broker_kind, &h, buf_slice(&text));
    buf_done(&text);
    arena_done(&arena);
    return a;
}

static void expect_code(struct answer *a, int code)
{
    if (a->frame.code != code) print_error("remark: %.*s\n", SLICE_ARG(a->frame.remark));
    EXPECT_EQ(a->frame.code, code);
    answer_free(a);
}

static struct answer *ask_route(struct caller *c, const char *topic)
{
    struct route_header h = {.topic = slice_text(topic)};
    return caller_call(c, REQUEST_GET_ROUTEINFO_BY_TOPIC, &route_kind, &h, slice_of(NULL, 0));
}

static struct caller *join(struct fixture *f, int topics)
{
    struct caller *c = open_caller(f);
    expect_code(register_by(c, (struct broker){.name = "broker-a", .address = "127.0.0.2:10911", .topics = topics}), 0);
    return c;
}

static size_t replay(struct fixture *f, const char *file, const char *volatile_names, const char *skipped)
{
    struct wire_replay r = {.file = file, .role = "namesrv", .sim = f->sim, .loop = f->client, .host = "10.0.0.1", .port = PORT,
                            .volatile_names = volatile_names, .skip_requests = skipped};
    return wire_replay(&r);
}

TEST(namesrv, routes_are_answered_as_by_the_original)
{
    struct fixture *f = start(1);
    struct caller *c = join(f, 3);
    EXPECT(replay(f, "route", NULL, NULL) >= 4);
    caller_close(c);
    stop(f);
}

TEST(namesrv, a_java_broker_registers_and_asks_as_it_starts)
{
    struct fixture *f = start(2);
    EXPECT(replay(f, "broker_start", NULL, NULL) >= 4);
    EXPECT(replay(f, "slave_sync", NULL, "106 105") >= 2);
    stop(f);
}

TEST(namesrv, administrators_are_answered_as_by_the_original)
{
    struct fixture *f = start(3);
    struct caller *c = join(f, 36);
    /* 206 and 224 name the topics of that day, 319 the keys of Java; 901 has a remark that only says nothing was said. */
    EXPECT(replay(f, "admin_cluster", "remark counter timestamp", "206 224 319") >= 10);
    EXPECT(replay(f, "unknown_code", NULL, "105 106 103") >= 1);
    caller_close(c);
    stop(f);
}

TEST(namesrv, both_forms_of_registration_are_read_and_checksums_count)
{
    struct fixture *f = start(4);
    struct caller *c = open_caller(f);
    expect_code(register_by(c, (struct broker){.name = "b", .address = "h:1", .topics = 5, .compressed = true}), RESPONSE_SUCCESS);
    expect_code(ask_route(c, "T4"), RESPONSE_SUCCESS);
    expect_code(ask_route(c, "T5"), RESPONSE_TOPIC_NOT_EXIST);
    struct answer *a = register_by(c, (struct broker){.name = "b", .address = "h:1", .topics = 9, .wrong_crc = true});
    EXPECT_TEXT(a->frame.remark, "crc32 not match");
    expect_code(a, RESPONSE_SYSTEM_ERROR);
    a = register_by(c, (struct broker){.name = "new", .address = "n:1", .topics = 1});
    EXPECT_TEXT(a->frame.remark, "register broker failed");
    expect_code(a, RESPONSE_SYSTEM_ERROR);
    caller_close(c);
    stop(f);
}

TEST(namesrv, a_slave_is_told_its_master)
{
    struct fixture *f = start(5);
    struct caller *c = open_caller(f);
    answer_free(register_by(c, (struct broker){.name = "b", .address = "m:1", .topics = 2}));
    struct answer *a = register_by(c, (struct broker){.name = "b", .address = "s:1", .topics = 2, .id = 1});
    EXPECT_TEXT(frame_get(&a->frame, SLICE("masterAddr")), "m:1");
    EXPECT_TEXT(frame_get(&a->frame, SLICE("haServerAddr")), "127.0.0.2:10912");
    answer_free(a);
    caller_close(c);
    stop(f);
}

TEST(namesrv, a_broker_that_disconnects_or_falls_silent_leaves_the_routes)
{
    struct fixture *f = start(6);
    struct caller *broker = join(f, 2), *client = open_caller(f);
    expect_code(ask_route(client, "WireTopic"), RESPONSE_SUCCESS);
    caller_close(broker);
    sim_run_for(f->sim, 1000);
    expect_code(ask_route(client, "WireTopic"), RESPONSE_TOPIC_NOT_EXIST);
    broker = join(f, 2);
    for (int i = 0; i < 11; i++) {   /* the connections live, but nothing comes that would be a sign of the broker's life */
        sim_run_for(f->sim, 10000);
        expect_code(ask_route(broker, "nothing"), RESPONSE_TOPIC_NOT_EXIST);
        expect_code(ask_route(client, "WireTopic"), RESPONSE_SUCCESS);
    }
    sim_run_for(f->sim, 20000);
    expect_code(ask_route(client, "WireTopic"), RESPONSE_TOPIC_NOT_EXIST);
    caller_close(broker);
    caller_close(client);
    stop(f);
}

TEST(namesrv, key_value_configuration_survives_a_power_cut_once_answered)
{
    struct fixture *f = start(7);
    struct caller *c = open_caller(f);
    struct put_kv_header put = {.namespace = SLICE("N"), .key = SLICE("K"), .value = SLICE("V")};
    expect_code(caller_call(c, REQUEST_PUT_KV_CONFIG, &put_kv_kind, &put, slice_of(NULL, 0)), RESPONSE_SUCCESS);
    caller_close(c);
    sim_fs_cut_power(f->disk);
    rpc_listener_close(f->listener);
    err_free(namesrv_free(f->ns));
    sim_run_for(f->sim, 100);
    sim_fs_restart(f->disk);
    open_server(f);
    c = open_caller(f);
    struct get_kv_header get = {.namespace = SLICE("N"), .key = SLICE("K")};
    struct answer *a = caller_call(c, REQUEST_GET_KV_CONFIG, &get_kv_kind, &get, slice_of(NULL, 0));
    EXPECT_TEXT(frame_get(&a->frame, SLICE("value")), "V");
    expect_code(a, RESPONSE_SUCCESS);
    get.key = SLICE("X");
    a = caller_call(c, REQUEST_GET_KV_CONFIG, &get_kv_kind, &get, slice_of(NULL, 0));
    EXPECT_TEXT(a->frame.remark, "No config item, Namespace: N Key: X");
    expect_code(a, RESPONSE_QUERY_NOT_FOUND);
    caller_close(c);
    stop(f);
}

static void set_config(struct fixture *f, struct caller *c, const char *text)
{
    (void)f;
    expect_code(caller_call(c, REQUEST_UPDATE_NAMESRV_CONFIG, NULL, NULL, slice_text(text)), RESPONSE_SUCCESS);
}

TEST(namesrv, order_configuration_goes_into_routes_when_it_is_on)
{
    struct fixture *f = start(8);
    struct caller *broker = join(f, 2);
    struct put_kv_header put = {.namespace = SLICE("ORDER_TOPIC_CONFIG"), .key = SLICE("WireTopic"), .value = SLICE("broker-a:2")};
    answer_free(caller_call(broker, REQUEST_PUT_KV_CONFIG, &put_kv_kind, &put, slice_of(NULL, 0)));
    struct answer *a = ask_route(broker, "WireTopic");
    EXPECT(!memmem(a->frame.body.p, a->frame.body.n, "orderTopicConf", 14));
    answer_free(a);
    set_config(f, broker, "orderMessageEnable=true\n");
    a = ask_route(broker, "WireTopic");
    EXPECT(memmem(a->frame.body.p, a->frame.body.n, "\"orderTopicConf\":\"broker-a:2\"", 29));
    answer_free(a);
    a = register_by(broker, (struct broker){.name = "broker-a", .address = "127.0.0.2:10911", .topics = 2});
    EXPECT_TEXT(a->frame.body, "{\"table\":{\"WireTopic\":\"broker-a:2\"}}");
    answer_free(a);
    set_config(f, broker, "enableAllTopicList=false\n");
    a = caller_call(broker, REQUEST_GET_ALL_TOPIC_LIST_FROM_NAMESERVER, NULL, NULL, slice_of(NULL, 0));
    EXPECT_TEXT(a->frame.remark, "disable");
    expect_code(a, RESPONSE_SYSTEM_ERROR);
    caller_close(broker);
    stop(f);
}

TEST(namesrv, right_after_start_it_can_be_told_to_wait)
{
    struct fixture *f = start(9);
    close_server(f);
    EXPECT_OK(config_set(&f->config, SLICE("needWaitForService"), SLICE("true")));
    open_server(f);
    struct caller *broker = join(f, 2);
    struct answer *a = ask_route(broker, "WireTopic");
    EXPECT_TEXT(a->frame.remark, "name server not ready");
    expect_code(a, RESPONSE_SYSTEM_ERROR);
    sim_run_for(f->sim, 46000);
    expect_code(ask_route(broker, "WireTopic"), RESPONSE_SUCCESS);
    caller_close(broker);
    stop(f);
}

/* A broker's own port, where it is told of changes. */
struct told {
    int count;
    char offline[64], smallest[64];
};

static void on_told(void *ctx, struct call *call)
{
    struct told *told = ctx;
    struct min_broker_change_header h;
    EXPECT_EQ(call->code, 905);
    EXPECT(call->oneway);
    EXPECT_OK(header_decode(&min_broker_change_kind, call->frame, &h));
    told->count++;
    snprintf(told->offline, sizeof told->offline, "%.*s", SLICE_ARG(h.offline_broker_addr));
    snprintf(told->smallest, sizeof told->smallest, "%lld %.*s", (long long)h.min_broker_id, SLICE_ARG(h.min_broker_addr));
    call_reply_ok(call);
}

TEST(namesrv, the_brokers_of_a_group_are_told_when_its_smallest_id_changes)
{
    struct fixture *f = start(11);
    struct caller *c = open_caller(f);
    struct told told = {0};
    struct rpc_service service = {on_told, NULL, &told};
    struct rpc_options options = rpc_options_default();
    struct rpc_listener *slave;
    struct addr at = {.port = 10911};
    EXPECT_OK(rpc_listen(f->client, &at, 1, &service, &options, &slave));
    set_config(f, c, "notifyMinBrokerIdChanged=true\n");
    answer_free(register_by(c, (struct broker){.name = "b", .address = "10.0.0.2:10911", .topics = 2, .id = 1}));
    answer_free(register_by(c, (struct broker){.name = "b", .address = "10.0.0.3:10911", .topics = 2}));
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(told.count, 1);
    assert_string_equal(told.smallest, "0 10.0.0.3:10911");
    struct unregister_broker_header h = {.broker_name = SLICE("b"), .broker_addr = SLICE("10.0.0.3:10911"), .cluster_name = SLICE("DefaultCluster")};
    expect_code(caller_call(c, REQUEST_UNREGISTER_BROKER, &unregister_broker_kind, &h, slice_of(NULL, 0)), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(told.count, 2);
    assert_string_equal(told.smallest, "1 10.0.0.2:10911");
    assert_string_equal(told.offline, "10.0.0.3:10911");
    caller_close(c);
    rpc_listener_close(slave);
    stop(f);
}

TEST(namesrv, missing_fields_and_broken_bodies_are_answered_and_change_nothing)
{
    static const int codes[] = {100, 101, 102, 103, 104, 105, 205, 216, 217, 219, 224, 322, 327, 901, 904};
    struct fixture *f = start(10);
    struct caller *broker = join(f, 2), *c = open_caller(f);
    struct query_data_version_header h = {.broker_name = SLICE("b"), .broker_addr = SLICE("a"), .cluster_name = SLICE("c")};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct answer *a = caller_call(c, codes[i], &heartbeat_kind, &(struct heartbeat_header){.bname = SLICE("x"), .present = 1}, SLICE("{"));
        EXPECT(a->frame.code != RESPONSE_SUCCESS);
        answer_free(a);
    }
    expect_code(caller_call(c, REQUEST_QUERY_DATA_VERSION, &query_data_version_kind, &h, SLICE("{\"counter\":")), RESPONSE_SYSTEM_ERROR);
    expect_code(ask_route(c, "WireTopic"), RESPONSE_SUCCESS);
    caller_close(c);
    caller_close(broker);
    stop(f);
}
