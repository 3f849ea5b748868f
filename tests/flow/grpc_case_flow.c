/* Cases that went wrong elsewhere: hashes that collide, sparse filters, resets, outdated handles. */
#include "flow/grpc_world.h"

#include "codec/record.h"

#include <stdio.h>

static void begin_group(struct grpc_world *w, const char *group, const char *topic)
{
    struct v2_receive_message_request q = world_receive_request(w, group, topic);
    world_consumer(w, "c", group, topic);
    world_receive(w, "c", &q);
}

static void send_tagged(struct grpc_world *w, const char *topic, const char *tag)
{
    struct v2_message *m = world_message(w, topic, tag);
    m->system_properties->tag = arena_copy(&w->arena, slice_text(tag));
    EXPECT_EQ(world_send(w, m)->status->code, V2_CODE_OK);
}

TEST(grpc_case, a_message_whose_tag_has_the_same_hash_is_never_delivered)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "g", "Plain");
    struct v2_filter_expression aa = {V2_FILTER_TYPE_TAG, SLICE("Aa")};
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    size_t found = 0;
    q.filter_expression = &aa;
    send_tagged(w, "Plain", "Aa");
    send_tagged(w, "Plain", "BB");
    send_tagged(w, "Plain", "Aa");
    send_tagged(w, "Plain", "BB");
    for (int i = 0; i < 4 && found < 2; i++) {
        struct world_received got = world_receive(w, "c", &q);
        for (size_t k = 0; k < got.count; k++, found++) {
            EXPECT_TEXT(got.messages[k]->body, "Aa");
            EXPECT_EQ(world_ack(w, "c", "g", got.messages[k]), V2_CODE_OK);
        }
    }
    EXPECT_EQ(found, 2);
    q.invisible_duration->seconds = 10;
    for (int i = 0; i < 4; i++) EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);   /* nor does one come back */
    grpc_world_stop(w);
}

TEST(grpc_case, one_message_behind_thousands_of_others_arrives_at_once)
{
    enum { OTHERS = 5000, AT_ONCE = 100 };
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "g", "Plain");
    struct v2_message several[AT_ONCE];
    for (int i = 0; i < OTHERS / AT_ONCE; i++) {
        for (int k = 0; k < AT_ONCE; k++) {
            several[k] = *world_message(w, "Plain", "b");
            several[k].system_properties->tag = SLICE("B");
        }
        struct v2_send_message_request q = {.messages = {several, AT_ONCE}};
        EXPECT_EQ(WORLD_CALL(w, "p", "SendMessage", send_message, &q)->status->code, V2_CODE_OK);
    }
    send_tagged(w, "Plain", "A");
    struct v2_filter_expression a = {V2_FILTER_TYPE_TAG, SLICE("A")};
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.filter_expression = &a;
    q.long_polling_timeout->seconds = 15;
    int64_t began = sim_now_ms(w->sim);
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT_TEXT(got.messages[0]->body, "A");
    EXPECT(sim_now_ms(w->sim) - began < 1500);
    grpc_world_stop(w);
}

TEST(grpc_case, an_outdated_handle_is_told_as_such)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "g", "Plain");
    for (int i = 0; i < 10; i++) world_send(w, world_message(w, "Plain", "x"));
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.count, 10);
    struct v2_message *fifth = got.messages[4];
    struct slice old = fifth->system_properties->receipt_handle;
    struct v2_duration d = {.seconds = 20};
    struct v2_change_invisible_duration_request change = {
        .group = world_name(w, "g"), .topic = fifth->topic, .receipt_handle = old, .invisible_duration = &d,
        .message_id = fifth->system_properties->message_id,
    };
    struct slice fresh = WORLD_CALL(w, "c", "ChangeInvisibleDuration", change_invisible_duration, &change)->receipt_handle;
    EXPECT_EQ(world_ack(w, "c", "g", fifth), V2_CODE_INVALID_RECEIPT_HANDLE);
    fifth->system_properties->receipt_handle = fresh;
    for (int i = 0; i < 10; i++) EXPECT_EQ(world_ack(w, "c", "g", got.messages[i]), V2_CODE_OK);
    sim_run_for(w->sim, 30000);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}

TEST(grpc_case, a_delay_by_an_older_property_is_a_delay)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Later", 1, "");
    begin_group(w, "g", "Later");
    struct send_header h = {
        .producer_group = SLICE("p"), .topic = SLICE("Later"), .default_topic = SLICE("TBW102"), .default_topic_queue_nums = 4,
        .born_timestamp = 1, .properties = SLICE("TIMER_DELAY_MS\x01" "1000\x02"),
    };
    struct answer *a = caller_call(w->brokers[0].caller, REQUEST_SEND_MESSAGE_V2, &send_v2_kind, &h, SLICE("later"));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    struct v2_receive_message_request q = world_receive_request(w, "g", "Later");
    q.long_polling_timeout->seconds = 10;
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT_EQ(got.messages[0]->system_properties->message_type, V2_MESSAGE_TYPE_DELAY);
    grpc_world_stop(w);
}

TEST(grpc_case, after_a_reset_to_now_nothing_old_comes)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    begin_group(w, "g", "Plain");
    for (int i = 0; i < 40; i++) world_send(w, world_message(w, "Plain", "old"));
    struct v2_receive_message_request q = world_receive_request(w, "g", "Plain");
    q.batch_size = 5;
    q.invisible_duration->seconds = 10;
    struct world_received out = world_receive(w, "c", &q);
    EXPECT_EQ(out.count, 5);
    sim_run_for(w->sim, 1000);
    struct reset_offset_header h = {
        .topic = SLICE("Plain"), .group = SLICE("g"), .timestamp = tasks_wall_ms(rpc_tasks(w->client_loop)), .is_force = true, .queue_id = -1,
    };
    struct answer *a = caller_call(w->brokers[0].caller, REQUEST_INVOKE_BROKER_TO_RESET_OFFSET, &reset_offset_kind, &h, (struct slice){NULL, 0});
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    world_ack(w, "c", "g", out.messages[0]);                  /* a late one must not drag it back */
    for (int i = 0; i < 4; i++) EXPECT_EQ(world_receive(w, "c", &q).code, V2_CODE_MESSAGE_NOT_FOUND);
    world_send(w, world_message(w, "Plain", "new"));
    struct world_received got = world_receive(w, "c", &q);
    EXPECT_EQ(got.count, 1);
    EXPECT_TEXT(got.messages[0]->body, "new");
    grpc_world_stop(w);
}

/* Of the original's clients only those that pull take such a record apart: neither those that pop nor its proxy do. */
TEST(grpc_case, a_popped_batch_of_one_record_is_one_message_as_in_the_original)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Batches", 1, "+queue.type=BatchCQ");
    begin_group(w, "g", "Batches");
    struct v2_message several[2] = {*world_message(w, "Batches", "one"), *world_message(w, "Batches", "two")};
    struct v2_send_message_request q = {.messages = {several, 2}};
    EXPECT_EQ(WORLD_CALL(w, "p", "SendMessage", send_message, &q)->status->code, V2_CODE_OK);
    struct v2_receive_message_request receive = world_receive_request(w, "g", "Batches");
    struct world_received got = world_receive(w, "c", &receive);
    struct message inner;
    bool broken;
    EXPECT_EQ(got.count, 1);
    struct slice rest = got.messages[0]->body;
    for (int i = 0; i < 2; i++) {
        EXPECT(batch_next(&rest, &inner, &broken));
        EXPECT_TEXT(inner.body, i ? "two" : "one");
    }
    EXPECT_EQ(rest.n, 0);
    EXPECT_EQ(world_ack(w, "c", "g", got.messages[0]), V2_CODE_OK);
    EXPECT_EQ(world_receive(w, "c", &receive).code, V2_CODE_MESSAGE_NOT_FOUND);
    grpc_world_stop(w);
}
