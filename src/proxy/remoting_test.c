/* Clients of the remoting protocol behind the proxy, on the simulated network: one name server, two brokers, one of them away at times. */
#include "kit/caller.h"
#include "kit/test.h"

#include "codec/requests.h"
#include "net/loop.h"
#include "proxy/proxy.h"

#include <stdlib.h>

enum { PORT = 8080, NAMES_PORT = 9876, BROKER_PORT = 10911, BROKERS = 2, WHO = REQUEST_GET_MAX_OFFSET };

struct place {
    struct sim_process *process;
    struct rpc_listener *listener;
    int calls, heartbeats, oneway;
    int32_t last;
};

struct scene {
    struct sim *sim;
    struct place names, brokers[BROKERS];
    struct loop *edge, *client_loop;
    struct proxy_remoting *remoting;
    struct config config;
    struct proxy *proxy;
    struct listener *listener;
    struct caller *c;
};

static const char raw_route[] = "{\"brokerDatas\":[{\"brokerAddrs\":{0:\"10.0.1.0:10911\",1:\"10.0.1.9:10911\"},\"brokerName\":\"b0\",\"cluster\":\"C\"}],"
                                "\"filterServerTable\":{},\"queueDatas\":[{\"brokerName\":\"b0\",\"perm\":6,\"readQueueNums\":4,\"topicSysFlag\":0,"
                                "\"writeQueueNums\":4}]}";
static const char strict_route[] = "{\"brokerDatas\":[{\"brokerAddrs\":{\"0\":\"10.0.1.0:10911\"},\"brokerName\":\"b0\",\"cluster\":\"C\"}],"
                                   "\"filterServerTable\":{},\"queueDatas\":[]}";
static const char cluster[] = "{\"brokerAddrTable\":{\"b0\":{\"brokerAddrs\":{0:\"10.0.1.0:10911\"},\"brokerName\":\"b0\",\"cluster\":\"C\"},"
                              "\"b1\":{\"brokerAddrs\":{0:\"10.0.1.1:10911\"},\"brokerName\":\"b1\",\"cluster\":\"C\"}},\"clusterAddrTable\":{\"C\":[\"b0\",\"b1\"]}}";

static void handle_names(void *ctx, struct call *call)
{
    struct place *p = ctx;
    p->calls++;
    struct slice topic = frame_get(call->frame, SLICE("topic"));
    const char *body = call->code == REQUEST_GET_BROKER_CLUSTER_INFO ? cluster : slice_eq(topic, SLICE("Strict")) ? strict_route : raw_route;
    if (slice_eq(topic, SLICE("None"))) call_fail(call, err_new(ERR_TOPIC_NOT_FOUND, "none"));
    else call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, slice_text(body));
}

static void handle_broker(void *ctx, struct call *call)
{
    struct place *p = ctx;
    p->calls++;
    p->last = call->code;
    p->heartbeats += call->code == REQUEST_HEART_BEAT;
    p->oneway += call->oneway;
    call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, (struct slice){NULL, 0});
}

static void open_place(struct scene *s, struct place *p, const char *ip, uint16_t port, void (*handle)(void *, struct call *))
{
    struct addr any = {.port = port};
    struct rpc_service service = {.handle = handle, .ctx = p};
    p->process = sim_process_new(s->sim, ip);
    EXPECT_OK(rpc_listen(sim_loop_new(p->process), &any, 0, &service, NULL, &p->listener));
}

static void accepted(void *ctx, struct stream *stream, const struct addr *remote) { proxy_remoting_take(((struct scene *)ctx)->remoting, stream, remote); }

static struct scene *start(uint64_t seed)
{
    struct scene *s = must_zero(sizeof *s);
    struct sim_options options = sim_options_default(seed);
    s->sim = sim_new(&options);
    open_place(s, &s->names, "10.0.0.1", NAMES_PORT, handle_names);
    open_place(s, &s->brokers[0], "10.0.1.0", BROKER_PORT, handle_broker);
    open_place(s, &s->brokers[1], "10.0.1.1", BROKER_PORT, handle_broker);
    s->edge = sim_loop_new(sim_process_new(s->sim, "10.0.0.3"));
    s->client_loop = sim_loop_new(sim_process_new(s->sim, "10.0.0.4"));
    config_init(&s->config, CONFIG_PROXY);
    EXPECT_OK(proxy_new(&(struct proxy_options){.loop = s->edge, .config = &s->config, .namesrv_addr = "10.0.0.1:9876"}, &s->proxy));
    struct proxy_remoting_options o = {.loop = s->edge, .namesrv_addr = "10.0.0.1:9876", .access = "proxy.example.org:8080", .idle_close_ms = 120000,
                                       .proxy = s->proxy};
    EXPECT_OK(proxy_remoting_new(&o, &s->remoting));
    EXPECT_OK(loop_listen(s->edge, &(struct addr){.port = PORT}, &(struct listener_events){accepted, s}, &s->listener));
    sim_run_for(s->sim, 1000);
    s->c = caller_open(s->sim, s->client_loop, "10.0.0.3", PORT);
    return s;
}

static void stop(struct scene *s)
{
    caller_close(s->c);
    listener_close(s->listener);
    proxy_remoting_free(s->remoting);
    proxy_free(s->proxy);
    config_done(&s->config);
    rpc_listener_close(s->names.listener);
    for (int i = 0; i < BROKERS; i++) rpc_listener_close(s->brokers[i].listener);
    sim_run_for(s->sim, 1000);
    sim_free(s->sim);
    free(s);
}

/* A request with one field; NULL: none. */
static struct answer *ask(struct scene *s, int32_t code, const char *field, const char *value, struct slice body)
{
    static int32_t opaque = 1000;
    struct buf b = BUF_EMPTY;
    struct frame_head head = {.form = FRAME_JSON, .code = code, .language = LANGUAGE_JAVA, .version = VERSION_5_5_0, .opaque = ++opaque};
    struct frame_writer w;
    frame_begin(&w, &b, &head);
    if (field) frame_put(&w, slice_text(field), slice_text(value));
    frame_end(&w, body.n);
    buf_put_slice(&b, body);
    caller_send(s->c, buf_slice(&b));
    buf_done(&b);
    struct answer *a = caller_reply(s->c, opaque, 10000);
    EXPECT(a);
    return a;
}

static bool has(struct slice text, const char *what) { return memmem(text.p, text.n, what, strlen(what)); }

TEST(remoting, routes_name_the_proxy_and_keep_their_form)
{
    struct scene *s = start(1);
    struct answer *a = ask(s, REQUEST_GET_ROUTEINFO_BY_TOPIC, "topic", "Raw", (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT(has(a->frame.body, "{0:\"proxy.example.org:8080\",1:\"proxy.example.org:8080\"}"));
    EXPECT(has(a->frame.body, "\"readQueueNums\":4") && !has(a->frame.body, "10.0.1."));
    answer_free(a);
    a = ask(s, REQUEST_GET_ROUTEINFO_BY_TOPIC, "topic", "Strict", (struct slice){NULL, 0});
    EXPECT(has(a->frame.body, "{\"0\":\"proxy.example.org:8080\"}"));
    answer_free(a);
    a = ask(s, REQUEST_GET_ROUTEINFO_BY_TOPIC, "topic", "None", (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_TOPIC_NOT_EXIST);
    answer_free(a);
    stop(s);
}

static int32_t code_of(struct answer *a)
{
    int32_t code = a->frame.code;
    answer_free(a);
    return code;
}

TEST(remoting, requests_go_to_the_broker_that_they_name_and_heartbeats_to_all)
{
    struct scene *s = start(2);
    struct slice lock = SLICE("{\"clientId\":\"c\",\"consumerGroup\":\"g\",\"mqSet\":[{\"brokerName\":\"b1\",\"queueId\":0,\"topic\":\"T\"}]}");
    EXPECT_EQ(code_of(ask(s, WHO, "bname", "b1", (struct slice){NULL, 0})), RESPONSE_SUCCESS);
    EXPECT_EQ(s->brokers[1].calls, 1);
    EXPECT_EQ(code_of(ask(s, REQUEST_SEND_MESSAGE_V2, "n", "b0", SLICE("x"))), RESPONSE_SUCCESS);
    EXPECT_EQ(s->brokers[0].last, REQUEST_SEND_MESSAGE_V2);
    EXPECT_EQ(code_of(ask(s, REQUEST_LOCK_BATCH_MQ, NULL, NULL, lock)), RESPONSE_SUCCESS);
    EXPECT_EQ(s->brokers[1].last, REQUEST_LOCK_BATCH_MQ);
    EXPECT_EQ(code_of(ask(s, REQUEST_HEART_BEAT, NULL, NULL, SLICE("{}"))), RESPONSE_SUCCESS);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(s->brokers[0].heartbeats + s->brokers[1].heartbeats, 2);
    EXPECT_EQ(s->brokers[0].oneway + s->brokers[1].oneway, 1);   /* one answer for the client */
    EXPECT_EQ(caller_unread(s->c), 0);
    stop(s);
}

TEST(remoting, what_cannot_be_served_is_refused_with_the_reason)
{
    struct scene *s = start(3);
    struct answer *a = ask(s, WHO, "bname", "b9", (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SYSTEM_ERROR);
    EXPECT(has(a->frame.remark, "b9"));
    answer_free(a);
    a = ask(s, WHO, NULL, NULL, (struct slice){NULL, 0});
    EXPECT(has(a->frame.remark, "bname"));
    answer_free(a);
    EXPECT_EQ(code_of(ask(s, REQUEST_GET_BROKER_RUNTIME_INFO, NULL, NULL, (struct slice){NULL, 0})), RESPONSE_REQUEST_CODE_NOT_SUPPORTED);
    EXPECT_EQ(code_of(ask(s, REQUEST_LOCK_BATCH_MQ, NULL, NULL, SLICE("nonsense"))), RESPONSE_SYSTEM_ERROR);
    stop(s);
}

TEST(remoting, a_broker_that_is_away_harms_nobody_else_and_is_tried_again)
{
    struct scene *s = start(4);
    sim_process_kill(s->brokers[1].process);
    rpc_listener_close(s->brokers[1].listener);
    for (int i = 0; i < 2; i++) {
        struct answer *a = ask(s, WHO, "bname", "b1", (struct slice){NULL, 0});
        EXPECT(has(a->frame.remark, "cannot be reached"));
        answer_free(a);
        EXPECT_EQ(code_of(ask(s, WHO, "bname", "b0", (struct slice){NULL, 0})), RESPONSE_SUCCESS);
    }
    open_place(s, &s->brokers[1], "10.0.1.1", BROKER_PORT, handle_broker);
    EXPECT_EQ(code_of(ask(s, WHO, "bname", "b1", (struct slice){NULL, 0})), RESPONSE_SUCCESS);
    stop(s);
}

TEST(remoting, keys_of_the_proxy_are_shown_and_changed_while_it_runs)
{
    struct scene *s = start(1);
    struct answer *a = ask(s, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, SLICE("popWithNotifyThreshold=7\nmaxMessageSize=1000\n"));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    EXPECT_EQ(s->config.proxy.notify_threshold, 7);
    EXPECT_EQ(s->config.proxy.max_message_bytes, 1000);
    a = ask(s, REQUEST_GET_BROKER_CONFIG, NULL, NULL, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT(has(a->frame.body, "popWithNotifyThreshold=7\n") && has(a->frame.body, "grpcServerPort=8081\n"));
    answer_free(a);
    a = ask(s, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, SLICE("popWithNotifyThreshold=8\nmaxMessageSize=-1\n"));   /* all or none */
    EXPECT_EQ(a->frame.code, RESPONSE_INVALID_PARAMETER);
    EXPECT(has(a->frame.remark, "maxMessageSize"));
    answer_free(a);
    EXPECT_EQ(s->config.proxy.notify_threshold, 7);
    a = ask(s, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, SLICE("grpcServerPort=1\n"));
    EXPECT(a->frame.code != RESPONSE_SUCCESS);
    answer_free(a);
    stop(s);
}
