/* QueryRoute and QueryAssignment. Facts: docs/protocol/grpc.md 7 */
#include "flow/grpc_world.h"

static struct v2_endpoints *endpoints(void)
{
    static struct v2_address address;
    static struct v2_endpoints e;
    address = (struct v2_address){SLICE("proxy.example"), 1234};
    e = (struct v2_endpoints){V2_ADDRESS_SCHEME_DOMAIN_NAME, {&address, 1}};
    return &e;
}

static struct v2_query_route_response *route(struct grpc_world *w, const char *topic)
{
    struct v2_query_route_request q = {world_name(w, topic), endpoints()};
    return WORLD_CALL(w, "c", "QueryRoute", query_route, &q);
}

TEST(grpc_route, names_every_queue_at_this_proxy)
{
    struct world_options o = {.seed = 1, .brokers = 2};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Orders", 3, "+message.type=FIFO");
    struct v2_query_route_response *r = route(w, "Orders");
    EXPECT_EQ(r->status->code, V2_CODE_OK);
    EXPECT_EQ(r->message_queues.count, 6);
    for (size_t i = 0; i < 6; i++) {
        const struct v2_message_queue *q = &r->message_queues.items[i];
        EXPECT_TEXT(q->topic->name, "Orders");
        EXPECT_EQ(q->id, i % 3);
        EXPECT_EQ(q->permission, V2_PERMISSION_READ_WRITE);
        EXPECT_EQ(q->accept_message_types.count, 1);
        EXPECT_EQ(q->accept_message_types.items[0], V2_MESSAGE_TYPE_FIFO);
        EXPECT_EQ(q->broker->endpoints->scheme, V2_ADDRESS_SCHEME_DOMAIN_NAME);
        EXPECT_TEXT(q->broker->endpoints->addresses.items[0].host, "proxy.example");
        EXPECT_EQ(q->broker->endpoints->addresses.items[0].port, WORLD_GRPC_PORT);
    }
    EXPECT(!slice_eq(r->message_queues.items[0].broker->name, r->message_queues.items[3].broker->name));
    grpc_world_stop(w);
}

TEST(grpc_route, refuses_what_is_no_topic)
{
    struct grpc_world *w = grpc_world_simple();
    EXPECT_EQ(route(w, "")->status->code, V2_CODE_ILLEGAL_TOPIC);
    EXPECT_EQ(route(w, "bad topic!")->status->code, V2_CODE_ILLEGAL_TOPIC);
    EXPECT_EQ(route(w, "TBW102")->status->code, V2_CODE_ILLEGAL_TOPIC);
    EXPECT_EQ(route(w, "rmq_sys_any")->status->code, V2_CODE_ILLEGAL_TOPIC);
    EXPECT_EQ(route(w, "NoSuchTopic")->status->code, V2_CODE_TOPIC_NOT_FOUND);
    grpc_world_stop(w);
}

TEST(grpc_route, a_topic_made_after_it_was_asked_for_is_there_at_once)
{
    struct grpc_world *w = grpc_world_simple();
    EXPECT_EQ(route(w, "Late")->status->code, V2_CODE_TOPIC_NOT_FOUND);
    world_topic(w, "Late", 2, "");
    struct v2_query_route_response *r = route(w, "Late");
    EXPECT_EQ(r->status->code, V2_CODE_OK);
    EXPECT_EQ(r->message_queues.count, 2);
    EXPECT_EQ(r->message_queues.items[0].accept_message_types.items[0], V2_MESSAGE_TYPE_NORMAL);
    grpc_world_stop(w);
}

TEST(grpc_route, tells_a_change_within_the_refresh_time)
{
    static const char *const settings[] = {"topicRouteServiceCacheRefreshSeconds=5", NULL};
    struct world_options o = {.seed = 1, .brokers = 1, .proxy = settings};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Grows", 2, "");
    EXPECT_EQ(route(w, "Grows")->message_queues.count, 2);
    world_topic(w, "Grows", 5, "");
    sim_run_for(w->sim, 6000);
    route(w, "Grows");               /* is answered with what is known, and has it looked up */
    sim_run_for(w->sim, 1000);
    EXPECT_EQ(route(w, "Grows")->message_queues.count, 5);
    grpc_world_stop(w);
}

TEST(grpc_route, a_call_without_client_id_is_refused)
{
    struct grpc_world *w = grpc_world_simple();
    struct v2_query_route_request q = {world_name(w, "Any"), endpoints()};
    struct v2_query_route_response *r = WORLD_CALL(w, NULL, "QueryRoute", query_route, &q);
    EXPECT_EQ(r->status->code, V2_CODE_CLIENT_ID_REQUIRED);
    r = WORLD_CALL(w, "", "QueryRoute", query_route, &q);
    EXPECT_EQ(r->status->code, V2_CODE_CLIENT_ID_REQUIRED);
    grpc_world_stop(w);
}

TEST(grpc_route, what_cannot_be_decoded_ends_unknown)
{
    struct grpc_world *w = grpc_world_simple();
    struct buf answer = BUF_EMPTY;
    int status = grpc_client_unary(w->client, "/apache.rocketmq.v2.MessagingService/QueryRoute", world_headers("c", "5S"), SLICE("\x0a\xff"), &answer);
    EXPECT_EQ(status, GRPC_UNKNOWN);
    buf_done(&answer);
    status = grpc_client_unary(w->client, "/apache.rocketmq.v2.MessagingService/NoSuchRpc", world_headers("c", "5S"), SLICE(""), &answer);
    EXPECT_EQ(status, GRPC_UNIMPLEMENTED);
    buf_done(&answer);
    grpc_world_stop(w);
}

static struct v2_query_assignment_response *assignment(struct grpc_world *w, const char *topic, const char *group)
{
    struct v2_query_assignment_request q = {world_name(w, topic), world_name(w, group), endpoints()};
    return WORLD_CALL(w, "c", "QueryAssignment", query_assignment, &q);
}

TEST(grpc_assignment, is_a_broker_at_a_time)
{
    struct world_options o = {.seed = 1, .brokers = 2};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Orders", 4, "");
    struct v2_query_assignment_response *r = assignment(w, "Orders", "g");
    EXPECT_EQ(r->status->code, V2_CODE_OK);
    EXPECT_EQ(r->assignments.count, 2);
    EXPECT_EQ(r->assignments.items[0].message_queue->id, -1);
    EXPECT_EQ(r->assignments.items[0].message_queue->permission, V2_PERMISSION_READ_WRITE);
    grpc_world_stop(w);
}

TEST(grpc_assignment, of_an_ordered_group_is_a_queue_at_a_time)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Orders", 4, "+message.type=FIFO");
    world_group(w, "{\"groupName\":\"ordered\",\"consumeMessageOrderly\":true}");
    struct v2_query_assignment_response *r = assignment(w, "Orders", "ordered");
    EXPECT_EQ(r->assignments.count, 4);
    for (size_t i = 0; i < 4; i++) EXPECT_EQ(r->assignments.items[i].message_queue->id, i);
    grpc_world_stop(w);
}

TEST(grpc_assignment, a_group_is_found_where_the_cluster_has_no_topic_of_its_name)
{
    static const char *const without[] = {"clusterTopicEnable=false", NULL};
    struct world_options o = {.seed = 1, .brokers = 2, .broker = without};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Orders", 2, "");
    world_group(w, "{\"groupName\":\"ordered\",\"consumeMessageOrderly\":true}");
    route(w, "Orders");
    EXPECT_EQ(assignment(w, "Orders", "ordered")->assignments.count, 4);
    EXPECT_EQ(assignment(w, "Orders", "nobody")->assignments.count, 2);
    grpc_world_stop(w);
}

TEST(grpc_assignment, refuses_bad_names_and_unknown_topics)
{
    struct grpc_world *w = grpc_world_simple();
    EXPECT_EQ(assignment(w, "", "g")->status->code, V2_CODE_ILLEGAL_TOPIC);
    EXPECT_EQ(assignment(w, "Orders", "")->status->code, V2_CODE_ILLEGAL_CONSUMER_GROUP);
    EXPECT_EQ(assignment(w, "Orders", "CID_RMQ_SYS_x")->status->code, V2_CODE_ILLEGAL_CONSUMER_GROUP);
    EXPECT_EQ(assignment(w, "NoSuchTopic", "g")->status->code, V2_CODE_TOPIC_NOT_FOUND);
    grpc_world_stop(w);
}
