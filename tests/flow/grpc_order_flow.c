/* Ordered groups: attempts, blocking, what a new group starts with. Facts: docs/protocol/grpc.md 12, docs/protocol/pop.md 5 */
#include "flow/grpc_world.h"

#include <stdio.h>

static void send(struct grpc_world *w, const char *group, const char *body)
{
    struct v2_message *m = world_message(w, "Ordered", body);
    m->system_properties->message_group = arena_copy(&w->arena, slice_text(group));
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
}

static struct v2_receive_message_request request(struct grpc_world *w, const char *attempt)
{
    struct v2_receive_message_request q = world_receive_request(w, "ordered", "Ordered");
    q.attempt_id = arena_copy(&w->arena, slice_text(attempt));
    return q;
}

static struct grpc_world *start(const char *const *proxy)
{
    struct world_options o = {.seed = 1, .brokers = 1, .proxy = proxy};
    struct grpc_world *w = grpc_world_start(&o);
    world_topic(w, "Ordered", 1, "+message.type=FIFO");
    world_group(w, "{\"groupName\":\"ordered\",\"consumeMessageOrderly\":true}");
    world_consumer(w, "c", "ordered", "Ordered");
    struct v2_receive_message_request q = request(w, "first");
    world_receive(w, "c", &q);
    return w;
}

TEST(grpc_order, the_same_attempt_gets_the_same_messages_at_once_and_another_waits)
{
    static const char *const by_queue[] = {"popGroupOrder=false", NULL};
    struct grpc_world *w = start(by_queue);
    send(w, "g", "1");
    send(w, "g", "2");
    struct v2_receive_message_request a = request(w, "A"), b = request(w, "B");
    struct world_received first = world_receive(w, "c", &a);
    EXPECT_EQ(first.count, 2);
    int64_t began = sim_now_ms(w->sim);
    struct world_received again = world_receive(w, "c", &a);
    EXPECT_EQ(again.count, 2);
    EXPECT(sim_now_ms(w->sim) - began < 1000);
    EXPECT_EQ(world_receive(w, "c", &b).code, V2_CODE_MESSAGE_NOT_FOUND);
    for (int i = 0; i < 2; i++) EXPECT_EQ(world_ack(w, "c", "ordered", again.messages[i]), V2_CODE_OK);
    grpc_world_stop(w);
}

TEST(grpc_order, an_acknowledgement_wakes_who_waits)
{
    struct grpc_world *w = start(NULL);
    struct v2_receive_message_request a = request(w, "A"), b = request(w, "B");
    a.batch_size = b.batch_size = 1;
    send(w, "g", "1");
    send(w, "g", "2");
    struct world_received first = world_receive(w, "c", &a);
    EXPECT_EQ(first.count, 1);
    EXPECT_TEXT(first.messages[0]->body, "1");
    struct grpc_client_call *k = world_begin(w, "c", "ReceiveMessage", "30S", &v2_receive_message_request_pb, &b);
    sim_run_for(w->sim, 2000);
    EXPECT_EQ(metric_get(&w->metrics, METRIC_POLLS_WAITING), 1);   /* the second is behind the first */
    int64_t began = sim_now_ms(w->sim);
    EXPECT_EQ(world_ack(w, "c", "ordered", first.messages[0]), V2_CODE_OK);
    struct world_received second = world_received(w, k, WORLD_WAIT_MS);
    EXPECT_EQ(second.code, V2_CODE_OK);
    EXPECT_TEXT(second.messages[0]->body, "2");
    EXPECT(sim_now_ms(w->sim) - began < 1000);
    grpc_world_stop(w);
}

TEST(grpc_order, message_groups_of_one_queue_do_not_hold_each_other_back)
{
    struct grpc_world *w = start(NULL);
    struct v2_receive_message_request a = request(w, "A"), b = request(w, "B");
    a.batch_size = 1;
    send(w, "g1", "1");
    send(w, "g2", "2");
    struct world_received first = world_receive(w, "c", &a), second = world_receive(w, "c", &b);
    EXPECT_EQ(first.count, 1);
    EXPECT_EQ(second.code, V2_CODE_OK);
    EXPECT_EQ(second.count, 1);
    EXPECT(!slice_eq(first.messages[0]->body, second.messages[0]->body));
    grpc_world_stop(w);
}

TEST(grpc_order, a_message_not_acknowledged_comes_again_in_its_place)
{
    struct grpc_world *w = start(NULL);
    struct v2_receive_message_request a = request(w, "A"), b = request(w, "B");
    a.invisible_duration->seconds = 10;
    b.long_polling_timeout->seconds = 20;
    send(w, "g", "1");
    send(w, "g", "2");
    EXPECT_EQ(world_receive(w, "c", &a).count, 2);
    struct world_received again = world_receive(w, "c", &b);
    EXPECT_EQ(again.count, 2);
    EXPECT_TEXT(again.messages[0]->body, "1");
    EXPECT_EQ(again.messages[0]->system_properties->delivery_attempt, 2);
    EXPECT_TEXT(again.messages[1]->body, "2");
    EXPECT_TEXT(again.messages[0]->system_properties->message_group, "g");
    grpc_world_stop(w);
}
