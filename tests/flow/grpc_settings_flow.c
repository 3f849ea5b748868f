/* Telemetry, Heartbeat, NotifyClientTermination. Facts: docs/protocol/grpc.md 5, 6 */
#include "flow/grpc_world.h"

#include <stdio.h>

static struct v2_settings *settings_of(struct grpc_world *w, struct grpc_client_call *stream)
{
    struct v2_telemetry_command *c = world_command(w, stream, WORLD_WAIT_MS);
    EXPECT(c);
    EXPECT_EQ(c->command_case, V2_TELEMETRY_COMMAND_SETTINGS);
    EXPECT_EQ(c->status->code, V2_CODE_OK);
    return c->settings;
}

static struct v2_settings consumer_settings(struct grpc_world *w, const char *group, int32_t type)
{
    static struct v2_subscription subscription;
    subscription = (struct v2_subscription){.group = world_name(w, group)};
    return (struct v2_settings){
        .has_client_type = true, .client_type = type, .pub_sub_case = V2_SETTINGS_SUBSCRIPTION, .subscription = &subscription,
    };
}

static struct v2_settings producer_settings(struct grpc_world *w, const char *topic)
{
    static struct v2_publishing publishing;
    publishing = (struct v2_publishing){.topics = {world_name(w, topic), 1}};
    return (struct v2_settings){
        .has_client_type = true, .client_type = V2_CLIENT_TYPE_PRODUCER, .pub_sub_case = V2_SETTINGS_PUBLISHING, .publishing = &publishing,
    };
}

TEST(grpc_settings, of_a_producer_are_merged)
{
    struct grpc_world *w = grpc_world_simple();
    struct v2_settings s = producer_settings(w, "Orders"), *told;
    struct v2_address address = {SLICE("proxy"), 8081};
    struct v2_endpoints access = {V2_ADDRESS_SCHEME_DOMAIN_NAME, {&address, 1}};
    struct v2_ua agent = {.language = V2_LANGUAGE_GOLANG, .version = SLICE("9.9")};
    s.access_point = &access;
    s.user_agent = &agent;
    told = settings_of(w, world_settings(w, "p", &s));
    EXPECT_EQ(told->client_type, V2_CLIENT_TYPE_PRODUCER);
    EXPECT_EQ(told->backoff_policy->max_attempts, 3);
    EXPECT_EQ(told->backoff_policy->exponential_backoff->initial->nanos, 10000000);
    EXPECT_EQ(told->backoff_policy->exponential_backoff->max->seconds, 1);
    EXPECT(told->backoff_policy->exponential_backoff->multiplier == 2);
    EXPECT_EQ(told->publishing->max_body_size, 4194304);
    EXPECT(told->publishing->validate_message_type);
    EXPECT_TEXT(told->publishing->topics.items[0].name, "Orders");
    EXPECT_TEXT(told->access_point->addresses.items[0].host, "proxy");
    EXPECT_TEXT(told->user_agent->version, "9.9");
    EXPECT(told->metric && !told->metric->on);
    grpc_world_stop(w);
}

TEST(grpc_settings, of_a_consumer_without_a_group_are_the_usual_ones)
{
    struct grpc_world *w = grpc_world_simple();
    struct v2_settings s = consumer_settings(w, "nobody", V2_CLIENT_TYPE_PUSH_CONSUMER);
    struct v2_settings *told = settings_of(w, world_settings(w, "c", &s));
    EXPECT_EQ(told->backoff_policy->max_attempts, 17);
    EXPECT_EQ(told->backoff_policy->customized_backoff->next.count, 18);
    EXPECT_EQ(told->backoff_policy->customized_backoff->next.items[17].seconds, 7200);
    EXPECT(told->subscription->has_fifo && !told->subscription->fifo);
    EXPECT_EQ(told->subscription->receive_batch_size, 32);
    EXPECT_EQ(told->subscription->long_polling_timeout->seconds, 20);
    EXPECT_EQ(told->subscription->lite_subscription_quota, 2000);
    EXPECT_EQ(told->subscription->max_lite_topic_size, 64);
    grpc_world_stop(w);
}

TEST(grpc_settings, of_a_consumer_are_those_of_its_group)
{
    struct grpc_world *w = grpc_world_simple();
    world_group(w, "{\"groupName\":\"g\",\"consumeMessageOrderly\":true,\"retryMaxTimes\":4,\"groupRetryPolicy\":{\"type\":\"EXPONENTIAL\","
                   "\"exponentialRetryPolicy\":{\"initial\":2000,\"max\":60000,\"multiplier\":3}}}");
    struct v2_settings s = consumer_settings(w, "g", V2_CLIENT_TYPE_SIMPLE_CONSUMER);
    s.subscription->long_polling_timeout = &(struct v2_duration){.seconds = 3};
    struct v2_settings *told = settings_of(w, world_settings(w, "c", &s));
    EXPECT_EQ(told->backoff_policy->max_attempts, 5);
    EXPECT_EQ(told->backoff_policy->exponential_backoff->initial->seconds, 2);
    EXPECT_EQ(told->backoff_policy->exponential_backoff->max->seconds, 60);
    EXPECT(told->backoff_policy->exponential_backoff->multiplier == 3);
    EXPECT(told->subscription->fifo);
    EXPECT_EQ(told->subscription->long_polling_timeout->seconds, 20);
    grpc_world_stop(w);
}

TEST(grpc_settings, may_be_told_again_on_the_same_stream)
{
    struct grpc_world *w = grpc_world_simple();
    struct v2_settings s = producer_settings(w, "Orders");
    struct v2_telemetry_command c = {.command_case = V2_TELEMETRY_COMMAND_SETTINGS, .settings = &s};
    struct grpc_client_call *k = world_settings(w, "p", &s);
    settings_of(w, k);
    struct buf bytes = world_encode(&v2_telemetry_command_pb, &c);
    for (int i = 0; i < 3; i++) {
        grpc_client_send(k, buf_slice(&bytes));
        settings_of(w, k);
    }
    EXPECT_EQ(metric_get(&w->metrics, METRIC_PROXY_CLIENTS), 1);
    grpc_client_half_close(k);
    EXPECT_EQ(grpc_client_status(k, WORLD_WAIT_MS), GRPC_OK);
    buf_done(&bytes);
    grpc_world_stop(w);
}

static void expect_end(struct grpc_world *w, const struct v2_settings *s, int status)
{
    struct grpc_client_call *k = world_settings(w, "x", s);
    EXPECT(!world_command(w, k, 5000));
    EXPECT_EQ(grpc_client_status(k, 5000), status);
}

TEST(grpc_settings, that_cannot_be_end_the_stream)
{
    struct grpc_world *w = grpc_world_simple();
    struct v2_settings none = {.has_client_type = true, .client_type = V2_CLIENT_TYPE_PRODUCER};
    struct v2_settings s;
    expect_end(w, &none, GRPC_INVALID_ARGUMENT);
    s = producer_settings(w, "bad topic!");
    expect_end(w, &s, GRPC_INVALID_ARGUMENT);
    s = consumer_settings(w, "bad group!", V2_CLIENT_TYPE_PUSH_CONSUMER);
    expect_end(w, &s, GRPC_INVALID_ARGUMENT);
    s = consumer_settings(w, "g", V2_CLIENT_TYPE_PULL_CONSUMER);
    expect_end(w, &s, GRPC_INTERNAL);
    s = consumer_settings(w, "g", V2_CLIENT_TYPE_LITE_SIMPLE_CONSUMER);
    expect_end(w, &s, GRPC_INTERNAL);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_PROXY_CLIENTS), 0);
    grpc_world_stop(w);
}

TEST(grpc_settings, without_client_id_end_the_stream_with_a_status)
{
    struct grpc_world *w = grpc_world_simple();
    struct v2_settings s = producer_settings(w, "Orders");
    struct grpc_client_call *k = world_settings(w, NULL, &s);
    struct v2_telemetry_command *c = world_command(w, k, 5000);
    EXPECT(c);
    EXPECT_EQ(c->status->code, V2_CODE_CLIENT_ID_REQUIRED);
    EXPECT_EQ(grpc_client_status(k, 5000), GRPC_OK);
    grpc_world_stop(w);
}

static int32_t heartbeat(struct grpc_world *w, const char *client_id, const char *group)
{
    struct v2_heartbeat_request q = {.group = group ? world_name(w, group) : NULL};
    return WORLD_CALL(w, client_id, "Heartbeat", heartbeat, &q)->status->code;
}

static int32_t terminate(struct grpc_world *w, const char *client_id, const char *group)
{
    struct v2_notify_client_termination_request q = {.group = group ? world_name(w, group) : NULL};
    return WORLD_CALL(w, client_id, "NotifyClientTermination", notify_client_termination, &q)->status->code;
}

TEST(grpc_heartbeat, knows_clients_by_their_settings)
{
    struct grpc_world *w = grpc_world_simple();
    EXPECT_EQ(heartbeat(w, "p", NULL), V2_CODE_UNRECOGNIZED_CLIENT_TYPE);
    world_producer(w, "p", "Orders");
    world_consumer(w, "c", "g", "Orders");
    EXPECT_EQ(heartbeat(w, "p", NULL), V2_CODE_OK);
    EXPECT_EQ(heartbeat(w, "c", "g"), V2_CODE_OK);
    EXPECT_EQ(heartbeat(w, "c", NULL), V2_CODE_ILLEGAL_CONSUMER_GROUP);
    EXPECT_EQ(heartbeat(w, "c", "bad group!"), V2_CODE_ILLEGAL_CONSUMER_GROUP);
    grpc_world_stop(w);
}

static int32_t beat_as(struct grpc_world *w, int32_t type, const char *client_id, const char *group)
{
    struct v2_heartbeat_request q = {.group = world_name(w, group), .client_type = type};
    return WORLD_CALL(w, client_id, "Heartbeat", heartbeat, &q)->status->code;
}

/* Some SDKs tell their settings again only minutes after a restart. */
TEST(grpc_heartbeat, a_consumer_that_a_new_proxy_does_not_know_receives_after_it_and_is_asked_for_its_settings)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Orders", 4, "");
    struct v2_receive_message_request q = world_receive_request(w, "g", "Orders");
    world_producer(w, "p", "Orders");
    world_consumer(w, "c", "g", "Orders");
    world_restart_proxy(w);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_INTERNAL_SERVER_ERROR);
    EXPECT_EQ(beat_as(w, V2_CLIENT_TYPE_PRODUCER, "c", "g"), V2_CODE_UNRECOGNIZED_CLIENT_TYPE);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_INTERNAL_SERVER_ERROR);
    for (int i = 0; i < 2; i++) EXPECT_EQ(beat_as(w, V2_CLIENT_TYPE_SIMPLE_CONSUMER, "c", "g"), V2_CODE_UNRECOGNIZED_CLIENT_TYPE);
    EXPECT_EQ(world_send(w, world_message(w, "Orders", "x"))->status->code, V2_CODE_OK);
    struct world_received r = world_receive(w, "c", &q);
    EXPECT_EQ(r.code, V2_CODE_OK);
    EXPECT_EQ(r.count, 1);
    EXPECT_EQ(world_ack(w, "c", "g", r.messages[0]), V2_CODE_OK);
    world_consumer(w, "c", "g", "Orders");
    EXPECT_EQ(heartbeat(w, "c", "g"), V2_CODE_OK);
    grpc_world_stop(w);
}

TEST(grpc_heartbeat, a_silent_client_is_forgotten)
{
    struct grpc_world *w = grpc_world_simple();
    world_consumer(w, "c", "g", "Orders");
    sim_run_for(w->sim, 100000);
    EXPECT_EQ(heartbeat(w, "c", "g"), V2_CODE_OK);
    sim_run_for(w->sim, 119000);
    EXPECT_EQ(heartbeat(w, "c", "g"), V2_CODE_OK);
    sim_run_for(w->sim, 131000);
    EXPECT_EQ(heartbeat(w, "c", "g"), V2_CODE_UNRECOGNIZED_CLIENT_TYPE);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_PROXY_CLIENTS), 0);
    grpc_world_stop(w);
}

TEST(grpc_termination, makes_the_client_unknown)
{
    struct grpc_world *w = grpc_world_simple();
    world_producer(w, "p", "Orders");
    world_consumer(w, "c", "g", "Orders");
    EXPECT_EQ(terminate(w, "p", NULL), V2_CODE_OK);
    EXPECT_EQ(terminate(w, "c", "g"), V2_CODE_OK);
    EXPECT_EQ(terminate(w, "c", "g"), V2_CODE_UNRECOGNIZED_CLIENT_TYPE);
    EXPECT_EQ(heartbeat(w, "p", NULL), V2_CODE_UNRECOGNIZED_CLIENT_TYPE);
    grpc_world_stop(w);
}

TEST(grpc_settings, clients_are_asked_to_connect_anew_before_a_stop)
{
    struct grpc_world *w = grpc_world_simple();
    struct grpc_client_call *k = world_producer(w, "p", "Orders");
    sim_call(w->proxy_loop, (void (*)(void *))proxy_leave, w->proxy);
    struct v2_telemetry_command *c = world_command(w, k, 5000);
    EXPECT(c);
    EXPECT_EQ(c->command_case, V2_TELEMETRY_COMMAND_RECONNECT_ENDPOINTS_COMMAND);
    EXPECT_EQ(grpc_client_status(k, 5000), GRPC_OK);
    struct v2_settings s = producer_settings(w, "Orders");
    EXPECT_EQ(grpc_client_status(world_settings(w, "p", &s), 5000), GRPC_OK);   /* nobody stays any more */
    grpc_world_stop(w);
}

TEST(grpc_settings, thousands_of_streams_live_without_a_timer_each)
{
    enum { STREAMS = 900 };
    struct grpc_world *w = grpc_world_simple();
    char id[20];
    for (int i = 0; i < STREAMS; i++) {
        snprintf(id, sizeof id, "client-%d", i);
        world_producer(w, id, "Orders");
    }
    EXPECT_EQ(metric_get(&w->metrics, METRIC_PROXY_CLIENTS), STREAMS);
    sim_run_for(w->sim, 140000);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_PROXY_CLIENTS), 0);
    grpc_world_stop(w);
}
