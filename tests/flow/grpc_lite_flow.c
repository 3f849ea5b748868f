/* Lite topics of gRPC clients. Facts: docs/protocol/lite.md */
#include "flow/grpc_world.h"

#include "codec/body_lite.h"

#include <stdio.h>

static const char *const light[] = {"enableLmq=true", "enableMultiDispatch=true", NULL};

static struct grpc_world *start_with(int brokers, const char *const *proxy)
{
    struct grpc_world *w = grpc_world_start(&(struct world_options){.brokers = brokers, .broker = light, .proxy = proxy});
    world_topic(w, "P", 4, "+message.type=LITE");
    world_group(w, "{\"groupName\":\"g\",\"attributes\":{\"+lite.bind.topic\":\"P\",\"+lite.sub.client.quota\":\"5\"}}");
    return w;
}

static struct grpc_world *start(void) { return start_with(1, NULL); }

/* Tells the settings of a lite consumer. */
static struct grpc_client_call *listen_as(struct grpc_world *w, const char *client, const char *group, const char *topic, int32_t type)
{
    struct v2_subscription_entry entry = {.topic = world_name(w, topic)};
    struct v2_subscription subscription = {.group = world_name(w, group), .subscriptions = {&entry, 1}};
    struct v2_settings s = {
        .has_client_type = true, .client_type = type, .pub_sub_case = V2_SETTINGS_SUBSCRIPTION, .subscription = &subscription,
    };
    return world_settings(w, client, &s);
}

static struct grpc_client_call *consumer(struct grpc_world *w, const char *client)
{
    struct grpc_client_call *k = listen_as(w, client, "g", "P", V2_CLIENT_TYPE_LITE_PUSH_CONSUMER);
    struct v2_telemetry_command *c = world_command(w, k, 5000);
    EXPECT(c && c->command_case == V2_TELEMETRY_COMMAND_SETTINGS);
    return k;
}

static struct v2_sync_lite_subscription_request sync_request(struct grpc_world *w, int32_t action, const char *lites)
{
    struct v2_sync_lite_subscription_request q = {.action = action, .topic = world_name(w, "P"), .group = world_name(w, "g")};
    struct slice rest = slice_text(lites), lite;
    while (rest.n && slice_split(&rest, ',', &lite)) {
        struct slice *item = arena_list_add(&w->arena, (void **)&q.lite_topic_set.items, &q.lite_topic_set.count, sizeof *item);
        *item = arena_copy(&w->arena, lite);
    }
    return q;
}

static int32_t sync_as(struct grpc_world *w, const char *client, int32_t action, const char *lites)
{
    struct v2_sync_lite_subscription_request q = sync_request(w, action, lites);
    return WORLD_CALL(w, client, "SyncLiteSubscription", sync_lite_subscription, &q)->status->code;
}

static void add(struct grpc_world *w, const char *client, const char *lites)
{
    EXPECT_EQ(sync_as(w, client, V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD, lites), V2_CODE_OK);
}

static void send(struct grpc_world *w, const char *lite, const char *body)
{
    struct v2_message *m = world_message(w, "P", body);
    m->system_properties->lite_topic = arena_copy(&w->arena, slice_text(lite));
    m->system_properties->message_type = V2_MESSAGE_TYPE_LITE;
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
}

static struct grpc_client_call *receive_begin(struct grpc_world *w, const char *client, const char *broker, bool renew)
{
    struct v2_receive_message_request q = world_receive_request(w, "g", "P");
    struct v2_broker *from = arena_take(&w->arena, sizeof *from);
    *from = (struct v2_broker){.name = slice_text(broker)};
    if (*broker) q.message_queue->broker = from;
    q.auto_renew = renew;
    return world_begin(w, client, "ReceiveMessage", "30S", &v2_receive_message_request_pb, &q);
}

static struct world_received receive(struct grpc_world *w, const char *client) { return world_received(w, receive_begin(w, client, "", false), 10000); }

static int32_t ack(struct grpc_world *w, const char *client, const struct v2_message *m)
{
    struct v2_ack_message_entry entry = {
        .message_id = m->system_properties->message_id, .receipt_handle = m->system_properties->receipt_handle,
        .lite_topic = m->system_properties->lite_topic,
    };
    struct v2_ack_message_request q = {.group = world_name(w, "g"), .topic = m->topic, .entries = {&entry, 1}};
    return WORLD_CALL(w, client, "AckMessage", ack_message, &q)->entries.items[0].status->code;
}

/* --- delivery --- */

TEST(grpc_lite, a_subscribed_lite_topic_is_delivered_and_another_is_not)
{
    struct grpc_world *w = start();
    consumer(w, "c");
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_COMPLETE_ADD, "mine"), V2_CODE_OK);
    send(w, "other", "x");
    send(w, "mine", "1");
    send(w, "mine", "2");
    struct world_received got = receive(w, "c");
    EXPECT_EQ(got.count, 2);
    EXPECT(got.ended_in_order);
    EXPECT_TEXT(got.messages[0]->topic->name, "P");
    EXPECT_TEXT(got.messages[0]->body, "1");
    EXPECT_TEXT(got.messages[0]->system_properties->lite_topic, "mine");
    EXPECT_EQ(got.messages[0]->system_properties->message_type, V2_MESSAGE_TYPE_LITE);
    EXPECT_EQ(got.messages[0]->system_properties->delivery_attempt, 1);
    EXPECT_EQ(got.messages[1]->system_properties->queue_offset, 1);
    EXPECT_EQ(ack(w, "c", got.messages[0]), V2_CODE_OK);
    EXPECT_EQ(ack(w, "c", got.messages[1]), V2_CODE_OK);
    EXPECT_EQ(receive(w, "c").code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}

TEST(grpc_lite, a_receive_that_waits_is_woken_at_each_of_several_brokers)
{
    struct grpc_world *w = start_with(2, NULL);
    char lites[200] = "";
    consumer(w, "c");
    for (int i = 0; i < 8; i++) snprintf(lites + strlen(lites), sizeof lites - strlen(lites), "%sL%d", i ? "," : "", i);
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_COMPLETE_ADD, lites), V2_CODE_OK);
    struct grpc_client_call *a = receive_begin(w, "c", "broker-a", false), *b = receive_begin(w, "c", "broker-b", false);
    for (int i = 0; i < 8; i++) {   /* each goes to the broker that its name says */
        char name[8];
        snprintf(name, sizeof name, "L%d", i);
        send(w, name, "x");
    }
    struct world_received from_a = world_received(w, a, 1000), from_b = world_received(w, b, 1000);
    EXPECT(from_a.count >= 1 && from_b.count >= 1);
    size_t count = from_a.count + from_b.count;
    while (count < 8) {   /* names no broker */
        struct world_received more = receive(w, "c");
        EXPECT(more.count);
        count += more.count;
    }
    EXPECT_EQ(count, 8);
    struct grpc_client_call *any = receive_begin(w, "c", "virtual-broker", false);
    sim_run_for(w->sim, 700);
    send(w, "new", "not subscribed");
    add(w, "c", "new2");
    send(w, "new2", "y");
    EXPECT_EQ(world_received(w, any, 1500).count, 1);
    grpc_world_stop(w);
}

TEST(grpc_lite, a_message_that_is_given_back_comes_again_and_is_a_dead_letter_after_its_attempts)
{
    struct grpc_world *w = start();
    world_group(w, "{\"groupName\":\"g\",\"retryMaxTimes\":1}");
    consumer(w, "c");
    add(w, "c", "a");
    send(w, "a", "x");
    struct world_received got = receive(w, "c");
    EXPECT_EQ(got.count, 1);
    struct v2_duration soon = {.seconds = 1};
    struct v2_change_invisible_duration_request change = {
        .group = world_name(w, "g"), .topic = world_name(w, "P"), .receipt_handle = got.messages[0]->system_properties->receipt_handle,
        .invisible_duration = &soon, .message_id = got.messages[0]->system_properties->message_id, .lite_topic = SLICE("a"),
    };
    EXPECT_EQ(WORLD_CALL(w, "c", "ChangeInvisibleDuration", change_invisible_duration, &change)->status->code, V2_CODE_OK);
    got = receive(w, "c");
    EXPECT_EQ(got.count, 1);
    EXPECT_EQ(got.messages[0]->system_properties->delivery_attempt, 2);
    struct v2_forward_message_to_dead_letter_queue_request bury = {
        .group = world_name(w, "g"), .topic = world_name(w, "P"), .receipt_handle = got.messages[0]->system_properties->receipt_handle,
        .message_id = got.messages[0]->system_properties->message_id, .lite_topic = SLICE("a"), .delivery_attempt = 2, .max_delivery_attempts = 2,
    };
    EXPECT_EQ(WORLD_CALL(w, "c", "ForwardMessageToDeadLetterQueue", forward_message_to_dead_letter_queue, &bury)->status->code, V2_CODE_OK);
    sim_run_for(w->sim, 100);
    struct message dead;
    EXPECT(world_pull(w, 0, "%DLQ%g", 0, 0, &dead));
    EXPECT_TEXT(dead.body, "x");
    send(w, "a", "next");
    got = receive(w, "c");
    EXPECT_EQ(got.count, 1);
    EXPECT_TEXT(got.messages[0]->body, "next");
    grpc_world_stop(w);
}

TEST(grpc_lite, messages_are_renewed_for_a_client_and_there_is_a_limit_to_it)
{
    static const char *const few[] = {"maxLiteRenewNumPerChannel=1", NULL};
    struct grpc_world *w = start_with(1, few);
    consumer(w, "c");
    add(w, "c", "a,b,d");
    send(w, "a", "x");
    send(w, "b", "x");
    struct world_received got = world_received(w, receive_begin(w, "c", "", true), 10000);
    EXPECT_EQ(got.count, 2);   /* of the same offset in two lite topics */
    EXPECT_EQ(receive(w, "c").code, V2_CODE_FORBIDDEN);
    for (int i = 0; i < 20; i++) {   /* longer than defaultInvisibleTimeMills */
        struct v2_heartbeat_request beat = {.group = world_name(w, "g"), .client_type = V2_CLIENT_TYPE_LITE_PUSH_CONSUMER};
        EXPECT_EQ(WORLD_CALL(w, "c", "Heartbeat", heartbeat, &beat)->status->code, V2_CODE_OK);
        EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_COMPLETE_ADD, "a,b,d"), V2_CODE_OK);
        sim_run_for(w->sim, 10000);
    }
    EXPECT_EQ(ack(w, "c", got.messages[0]), V2_CODE_OK);
    EXPECT_EQ(receive(w, "c").code, V2_CODE_MESSAGE_NOT_FOUND);
    EXPECT_EQ(ack(w, "c", got.messages[1]), V2_CODE_OK);
    send(w, "b", "next");
    EXPECT_EQ(receive(w, "c").count, 1);
    grpc_world_stop(w);
}

/* --- subscriptions --- */

TEST(grpc_lite, changes_of_a_subscription_reach_the_brokers)
{
    struct grpc_world *w = start();
    consumer(w, "c");
    add(w, "c", "a");
    add(w, "c", "b");
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_REMOVE, "a"), V2_CODE_OK);
    send(w, "a", "a");
    send(w, "b", "b");
    struct world_received got = receive(w, "c");
    EXPECT_EQ(got.count, 1);
    EXPECT_TEXT(got.messages[0]->body, "b");
    struct v2_offset_option from_start = {.offset_type_case = V2_OFFSET_OPTION_POLICY, .policy = V2_OFFSET_OPTION_POLICY_MIN};
    struct v2_sync_lite_subscription_request q = sync_request(w, V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD, "b");
    q.offset_option = &from_start;
    EXPECT_EQ(ack(w, "c", got.messages[0]), V2_CODE_OK);
    EXPECT_EQ(WORLD_CALL(w, "c", "SyncLiteSubscription", sync_lite_subscription, &q)->status->code, V2_CODE_OK);
    EXPECT_EQ(receive(w, "c").count, 1);
    grpc_world_stop(w);
}

TEST(grpc_lite, subscriptions_that_cannot_be_have_the_codes_of_the_original)
{
    static const char *const slow[] = {"maxSyncLiteSubscriptionRate=3", NULL};
    struct grpc_world *w = start_with(1, slow);
    struct buf many = BUF_EMPTY;
    for (int i = 0; i < 306; i++) buf_printf(&many, "%sL%d", i ? "," : "", i);   /* quota 5, and 300 */
    buf_put_u8(&many, 0);
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD, (const char *)many.p), V2_CODE_LITE_SUBSCRIPTION_QUOTA_EXCEEDED);
    buf_done(&many);
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD, "a b"), V2_CODE_ILLEGAL_LITE_TOPIC);
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD, ""), V2_CODE_OK);
    struct v2_sync_lite_subscription_request q = sync_request(w, V2_LITE_SUBSCRIPTION_ACTION_COMPLETE_ADD, "a");
    q.topic = world_name(w, "Other");
    EXPECT_EQ(WORLD_CALL(w, "c", "SyncLiteSubscription", sync_lite_subscription, &q)->status->code, V2_CODE_ILLEGAL_TOPIC);
    q = sync_request(w, 7, "a");
    EXPECT_EQ(WORLD_CALL(w, "c", "SyncLiteSubscription", sync_lite_subscription, &q)->status->code, V2_CODE_INTERNAL_SERVER_ERROR);
    sim_run_for(w->sim, 2000);
    for (int i = 0; i < 3; i++) add(w, "c", "a");
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD, "a"), V2_CODE_TOO_MANY_REQUESTS);
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_COMPLETE_ADD, "a"), V2_CODE_OK);
    sim_run_for(w->sim, 1000);
    add(w, "c", "a");
    grpc_world_stop(w);
}

TEST(grpc_lite, a_brokers_quota_is_told_with_its_code)
{
    static const char *const few[] = {"enableLmq=true", "enableMultiDispatch=true", "maxLiteSubscriptionCount=1", NULL};
    struct grpc_world *w = grpc_world_start(&(struct world_options){.brokers = 1, .broker = few});
    world_topic(w, "P", 4, "+message.type=LITE");
    world_group(w, "{\"groupName\":\"g\",\"attributes\":{\"+lite.bind.topic\":\"P\"}}");
    EXPECT_EQ(sync_as(w, "c", V2_LITE_SUBSCRIPTION_ACTION_PARTIAL_ADD, "a,b"), V2_CODE_LITE_SUBSCRIPTION_QUOTA_EXCEEDED);
    grpc_world_stop(w);
}

TEST(grpc_lite, who_loses_a_lite_topic_to_another_one_is_told)
{
    struct grpc_world *w = start();
    world_group(w, "{\"groupName\":\"g\",\"attributes\":{\"+lite.sub.model\":\"Exclusive\"}}");
    struct grpc_client_call *first = consumer(w, "c");
    consumer(w, "d");
    add(w, "c", "a,b");
    add(w, "d", "a");
    struct v2_telemetry_command *c = world_command(w, first, 5000);
    EXPECT(c && c->command_case == V2_TELEMETRY_COMMAND_NOTIFY_UNSUBSCRIBE_LITE_COMMAND);
    EXPECT_TEXT(c->notify_unsubscribe_lite_command->lite_topic, "a");
    send(w, "a", "x");
    EXPECT_EQ(receive(w, "d").count, 1);
    grpc_world_stop(w);
}

static int32_t subscriptions_at_broker(struct grpc_world *w)
{
    struct lite_overview o;
    struct answer *a = caller_call(w->brokers[0].caller, REQUEST_GET_BROKER_LITE_INFO, NULL, NULL, SLICE(""));
    EXPECT_OK(bean_decode(&lite_overview_bean, a->frame.body, &w->arena, "overview", &o));
    answer_free(a);
    return o.subscriptions;
}

TEST(grpc_lite, a_client_that_goes_takes_its_subscriptions_along)
{
    struct grpc_world *w = start();
    consumer(w, "c");
    consumer(w, "d");
    add(w, "c", "a,b");
    add(w, "d", "a");
    EXPECT_EQ(subscriptions_at_broker(w), 3);
    struct v2_notify_client_termination_request bye = {.group = world_name(w, "g")};
    EXPECT_EQ(WORLD_CALL(w, "c", "NotifyClientTermination", notify_client_termination, &bye)->status->code, V2_CODE_OK);
    sim_run_for(w->sim, 100);
    EXPECT_EQ(subscriptions_at_broker(w), 1);
    sim_run_for(w->sim, 100000);   /* it is silent */
    EXPECT_EQ(receive(w, "d").count, 0);
    grpc_world_stop(w);
}

TEST(grpc_lite, a_group_is_for_lite_consumers_or_for_others)
{
    struct grpc_world *w = start();
    world_group(w, "{\"groupName\":\"plain\"}");
    static const struct {
        const char *group, *topic;
        int32_t type;
    } rows[] = {{"plain", "P", V2_CLIENT_TYPE_LITE_PUSH_CONSUMER}, {"g", "P", V2_CLIENT_TYPE_PUSH_CONSUMER}, {"g", "Other", V2_CLIENT_TYPE_LITE_PUSH_CONSUMER}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct grpc_client_call *k = listen_as(w, "x", rows[i].group, rows[i].topic, rows[i].type);
        EXPECT(!world_command(w, k, 5000));
        EXPECT_EQ(grpc_client_status(k, 5000), GRPC_INVALID_ARGUMENT);
    }
    consumer(w, "c");
    struct v2_heartbeat_request beat = {.group = world_name(w, "plain"), .client_type = V2_CLIENT_TYPE_LITE_PUSH_CONSUMER};
    EXPECT_EQ(WORLD_CALL(w, "c", "Heartbeat", heartbeat, &beat)->status->code, V2_CODE_ILLEGAL_CONSUMER_GROUP);
    grpc_world_stop(w);
}

TEST(grpc_lite, what_waits_ends_with_its_client_and_with_the_proxy)
{
    struct grpc_world *w = start();
    consumer(w, "c");
    add(w, "c", "a");
    struct grpc_client_call *gone = receive_begin(w, "c", "", false), *waits = receive_begin(w, "c", "", false);
    sim_run_for(w->sim, 100);
    grpc_client_cancel(gone);
    sim_run_for(w->sim, 100);
    send(w, "a", "x");   /* the first one gets it, and gives it back */
    struct world_received got = world_received(w, waits, 10000);
    EXPECT_EQ(got.count, 1);
    EXPECT_EQ(got.messages[0]->system_properties->delivery_attempt, 1);
    receive_begin(w, "c", "", false);
    proxy_leave(w->proxy);
    grpc_world_stop(w);
}
