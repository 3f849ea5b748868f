/* A broker and its name servers, which here are played by the test. */
#include "flow/flow.h"

#include "codec/body_register.h"
#include "rpc/rpc.h"

#include <stdio.h>

/* A name server that remembers what it was told last. */
struct names {
    struct sim_process *process;
    struct rpc_listener *listener;
    const char *answer;             /* body of its replies to registrations; NULL: it does not answer */
    int registrations, goodbyes;
    char ha_address[80];
    size_t topics;                  /* of the last registration */
    int64_t counter;                /* of its data version */
    int32_t perm;                   /* of the topic T */
};

static void remember(struct names *n, const struct call *call)
{
    struct arena arena = ARENA_EMPTY;
    struct register_body body;
    struct register_broker_header h;
    EXPECT_OK(header_decode(&register_broker_kind, call->frame, &h));
    EXPECT_OK(register_body_decode(call->body, h.compressed, call->version, &arena, &body));
    snprintf(n->ha_address, sizeof n->ha_address, "%.*s", SLICE_ARG(h.ha_server_addr));
    n->registrations++;
    n->topics = body.table.topics.count;
    n->counter = body.table.version->counter;
    for (size_t i = 0; i < n->topics; i++)
        if (slice_eq(body.table.topics.items[i].name, SLICE("T"))) n->perm = body.table.topics.items[i].perm;
    arena_done(&arena);
}

static void handle(void *ctx, struct call *call)
{
    struct names *n = ctx;
    if (call->code == REQUEST_REGISTER_BROKER) remember(n, call);
    n->goodbyes += call->code == REQUEST_UNREGISTER_BROKER;
    if (n->answer) call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, slice_text(n->answer));
    else call_drop(call);
}

static void names_start(struct flow *f, struct names *n, const char *ip, const char *answer)
{
    struct rpc_service service = {.handle = handle, .ctx = n};
    struct rpc_options options = rpc_options_default();
    struct addr at = {.port = 9876};
    *n = (struct names){.process = sim_process_new(f->sim, ip), .answer = answer};
    EXPECT_OK(rpc_listen(sim_loop_new(n->process), &at, 0, &service, &options, &n->listener));
}

static struct flow *start_with_one(struct names *n, const char *answer)
{
    static const char *const settings[] = {"namesrvAddr=10.0.0.3:9876", "brokerIP2=10.9.9.9", NULL};
    struct flow *f = flow_start(settings);
    names_start(f, n, "10.0.0.3", answer);
    sim_run_for(f->sim, 35000);
    EXPECT(n->registrations >= 1);
    return f;
}

static void set_key(struct flow *f, const char *pair)
{
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, pair, NULL), RESPONSE_SUCCESS);
    sim_run_for(f->sim, 1000);
}

TEST(registration, topics_have_no_permission_that_the_broker_has_not)
{
    struct names n;
    struct flow *f = start_with_one(&n, "");
    assert_string_equal(n.ha_address, "10.9.9.9:10912");
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(n.perm, 6);
    int64_t counter = n.counter;
    set_key(f, "brokerPermission=4");
    EXPECT_EQ(n.perm, 4);
    EXPECT(n.topics > 10 && n.counter > counter);   /* all of them, and under another version, or nobody would look */
    counter = n.counter;
    set_key(f, "brokerPermission=6");
    EXPECT_EQ(n.perm, 6);
    EXPECT(n.topics > 10 && n.counter > counter);
    rpc_listener_close(n.listener);
    flow_stop(f);
}

TEST(registration, name_servers_that_are_named_later_are_told_and_those_no_longer_named_are_not)
{
    struct names first, second;
    struct flow *f = start_with_one(&first, "");
    names_start(f, &second, "10.0.0.4", "");
    set_key(f, "namesrvAddr=10.0.0.4:9876;10.0.0.3:9876;10.0.0.4:9876");
    EXPECT_EQ(second.registrations, 1);
    set_key(f, "namesrvAddr=10.0.0.4:9876");
    int before = first.registrations;
    flow_make_topic(f, "T", 1);
    sim_run_for(f->sim, 61000);
    EXPECT_EQ(first.registrations, before);
    EXPECT(second.registrations > 3);
    set_key(f, "namesrvAddr=");
    before = second.registrations;
    sim_run_for(f->sim, 61000);
    EXPECT_EQ(second.registrations, before);
    flow_make_topic(f, "U", 1);
    rpc_listener_close(first.listener);
    rpc_listener_close(second.listener);
    flow_stop(f);
}

TEST(registration, a_name_server_may_make_topics_ordered)
{
    struct names n;
    struct flow *f = start_with_one(&n, "{\"table\":{\"T\":\"broker-a:1\",\"TBW102\":\"broker-a:1\",\"None\":\"x\"}}");
    struct get_topic_config_header h = {.topic = SLICE("T")};
    flow_make_topic(f, "T", 1);
    sim_run_for(f->sim, 61000);
    struct answer *a = caller_call(f->caller, REQUEST_GET_TOPIC_CONFIG, &get_topic_config_kind, &h, (struct slice){NULL, 0});
    EXPECT(memmem(a->frame.body.p, a->frame.body.n, "\"order\":true", 12));
    answer_free(a);
    rpc_listener_close(n.listener);
    flow_stop(f);
}

TEST(registration, a_name_server_that_never_answers_holds_nobody_up_for_long)
{
    struct names n;
    struct flow *f = start_with_one(&n, NULL);
    int64_t begun = sim_now_ms(f->sim);
    flow_make_topic(f, "T", 1);
    EXPECT(sim_now_ms(f->sim) - begun <= 4000);
    char name[16];
    for (int i = 0; i < 200; i++) {   /* made by sending: nobody waits for the name server */
        snprintf(name, sizeof name, "New%d", i);
        EXPECT_EQ(flow_send(f, name, 0, "", "x").code, RESPONSE_SUCCESS);
    }
    sim_run_for(f->sim, 1000);   /* what is on its way arrives */
    int before = n.registrations;
    sim_run_for(f->sim, 30000);
    EXPECT(n.registrations - before < 5);
    rpc_listener_close(n.listener);
    flow_stop(f);
}

static void stopped(void *ctx) { *(bool *)ctx = true; }

struct stopping {
    struct flow *flow;
    bool done;
};

static void stop(void *ctx)
{
    struct stopping *s = ctx;
    broker_stop(s->flow->broker, stopped, &s->done);
}

TEST(registration, a_broker_that_said_goodbye_does_not_come_back)
{
    struct names n;
    struct flow *f = start_with_one(&n, "");
    n.answer = NULL;   /* so that the stop takes its second */
    struct stopping s = {.flow = f};
    sim_call(f->loop, stop, &s);
    sim_run_for(f->sim, 100);
    EXPECT_EQ(n.goodbyes, 1);
    EXPECT(!s.done);
    int before = n.registrations;
    flow_make_topic(f, "T", 1);
    EXPECT_EQ(flow_send(f, "New", 0, "", "x").code, RESPONSE_SUCCESS);
    set_key(f, "brokerPermission=4");
    sim_run_for(f->sim, 1500);
    EXPECT(s.done);
    EXPECT_EQ(n.registrations, before);
    rpc_listener_close(n.listener);
    flow_stop(f);
}

/* --- settings --- */

TEST(settings, changes_by_request_are_kept_in_the_file_that_was_named)
{
    static const char *const settings[] = {"brokerConfigPath=/conf/broker.conf", NULL};
    struct flow *f = flow_start(settings);
    struct buf text = BUF_EMPTY;
    err_t e = fs_make_durable_folder(sim_fs_disk(f->disk), "/conf");
    EXPECT_OK(e);
    EXPECT_EQ(flow_code(f, REQUEST_UPDATE_BROKER_CONFIG, NULL, NULL, "traceOn=false\nmaxTransferCountOnMessageInMemory=7", NULL), RESPONSE_SUCCESS);
    EXPECT_OK(fs_read_file(sim_fs_disk(f->disk), "/conf/broker.conf", 1 << 20, &text));
    EXPECT(memmem(text.p, text.n, "\ntraceOn=false\n", 15));
    EXPECT(memmem(text.p, text.n, "\nmaxTransferCountOnMessageInMemory=7\n", 37));
    struct config again;
    config_init(&again, CONFIG_BROKER);
    EXPECT_OK(config_load(&again, buf_slice(&text), "broker.conf"));
    EXPECT_EQ(again.store.transfer_memory_count, 7);
    config_done(&again);
    buf_done(&text);
    flow_stop(f);
}

TEST(settings, sends_before_their_time_are_refused)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    char pair[64];
    int64_t begins_ms = sim_tune(f->sim)->start_wall_ms + sim_now_ms(f->sim) + 60000;
    snprintf(pair, sizeof pair, "startAcceptSendRequestTimeStamp=%lld", (long long)begins_ms);
    set_key(f, pair);
    struct sent s = flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(s.code, RESPONSE_SYSTEM_ERROR);
    EXPECT(strstr(s.remark, "broker unable to service, until 20"));
    sim_run_for(f->sim, 61000);
    EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SUCCESS);
    set_key(f, "startAcceptSendRequestTimeStamp=9223372036854775807");
    EXPECT_EQ(flow_send(f, "T", 0, "", "x").code, RESPONSE_SYSTEM_ERROR);
    flow_stop(f);
}

TEST(settings, a_slave_that_would_not_follow_its_master_does_not_start)
{
    struct flow *f = flow_start(NULL);
    struct broker_options o = {.config = &f->config};
    struct broker *slave;
    EXPECT_OK(config_set(&f->config, SLICE("brokerRole"), SLICE("SLAVE")));
    EXPECT_ERR(broker_new(&o, &slave), ERR_CONFIG);
    flow_stop(f);
}

TEST(settings, a_broker_that_would_not_check_what_users_may_do_does_not_start)
{
    struct flow *f = flow_start(NULL);
    struct broker_options o = {.config = &f->config};
    struct broker *open;
    EXPECT_OK(config_set(&f->config, SLICE("authorizationEnabled"), SLICE("true")));
    EXPECT_ERR(broker_new(&o, &open), ERR_CONFIG);
    flow_stop(f);
}
