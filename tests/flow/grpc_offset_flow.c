/* PullMessage, QueryOffset, GetOffset, UpdateOffset. Facts: docs/protocol/grpc.md 9.7 */
#include "flow/grpc_world.h"

static struct v2_message_queue *queue(struct grpc_world *w, const char *topic, const char *broker, int32_t id)
{
    struct v2_message_queue *q = arena_take(&w->arena, sizeof *q);
    q->topic = world_name(w, topic);
    q->id = id;
    q->broker = arena_take(&w->arena, sizeof *q->broker);
    q->broker->name = arena_copy(&w->arena, slice_text(broker));
    return q;
}

static struct v2_query_offset_response *place(struct grpc_world *w, struct v2_message_queue *q, int32_t policy, int64_t seconds)
{
    struct v2_timestamp t = {.seconds = seconds};
    struct v2_query_offset_request request = {.message_queue = q, .query_offset_policy = policy, .timestamp = &t};
    return WORLD_CALL(w, "c", "QueryOffset", query_offset, &request);
}

static struct v2_get_offset_response *progress(struct grpc_world *w, struct v2_message_queue *q)
{
    struct v2_get_offset_request request = {.group = world_name(w, "g"), .message_queue = q};
    return WORLD_CALL(w, "c", "GetOffset", get_offset, &request);
}

static int32_t keep(struct grpc_world *w, struct v2_message_queue *q, int64_t offset)
{
    struct v2_update_offset_request request = {.group = world_name(w, "g"), .message_queue = q, .offset = offset};
    return WORLD_CALL(w, "c", "UpdateOffset", update_offset, &request)->status->code;
}

static struct grpc_world *start(void)
{
    struct grpc_world *w = grpc_world_simple();
    world_topic(w, "Plain", 1, "");
    world_group(w, "{\"groupName\":\"g\"}");
    for (int i = 0; i < 3; i++) world_send(w, world_message(w, "Plain", "body"));
    return w;
}

TEST(grpc_offset, places_in_a_queue_are_told)
{
    struct grpc_world *w = start();
    struct v2_message_queue *q = queue(w, "Plain", "broker-a", 0);
    int64_t now_s = tasks_wall_ms(rpc_tasks(w->client_loop)) / 1000;
    EXPECT_EQ(place(w, q, V2_QUERY_OFFSET_POLICY_BEGINNING, 0)->offset, 0);
    EXPECT_EQ(place(w, q, V2_QUERY_OFFSET_POLICY_END, 0)->offset, 3);
    EXPECT_EQ(place(w, q, V2_QUERY_OFFSET_POLICY_TIMESTAMP, now_s - 3600)->offset, 0);
    EXPECT_EQ(place(w, q, 99, 0)->status->code, V2_CODE_BAD_REQUEST);
    EXPECT_EQ(place(w, queue(w, "Plain", "nosuch", 0), V2_QUERY_OFFSET_POLICY_END, 0)->status->code, V2_CODE_BAD_REQUEST);
    EXPECT_EQ(place(w, queue(w, "NoSuchTopic", "broker-a", 0), V2_QUERY_OFFSET_POLICY_END, 0)->status->code, V2_CODE_TOPIC_NOT_FOUND);
    EXPECT_EQ(place(w, NULL, V2_QUERY_OFFSET_POLICY_END, 0)->status->code, V2_CODE_ILLEGAL_TOPIC);
    grpc_world_stop(w);
}

TEST(grpc_offset, what_is_kept_is_told)
{
    struct grpc_world *w = start();
    struct v2_message_queue *q = queue(w, "Plain", "broker-a", 0);
    EXPECT_EQ(keep(w, q, -1), V2_CODE_ILLEGAL_OFFSET);
    EXPECT_EQ(keep(w, q, 2), V2_CODE_OK);
    EXPECT_EQ(progress(w, q)->status->code, V2_CODE_OK);
    EXPECT_EQ(progress(w, q)->offset, 2);
    grpc_world_stop(w);
}

struct pulled {
    int32_t code;
    size_t count;
    int64_t next;
};

static struct pulled pull(struct grpc_world *w, struct v2_message_queue *q, int64_t offset, int64_t wait_s)
{
    struct v2_duration wait = {.seconds = wait_s};
    struct v2_pull_message_request request = {
        .group = world_name(w, "g"), .message_queue = q, .offset = offset, .batch_size = 32, .long_polling_timeout = &wait,
    };
    struct grpc_client_call *k = world_begin(w, "c", "PullMessage", "30S", &v2_pull_message_request_pb, &request);
    struct pulled got = {.next = -1};
    struct slice bytes;
    while (grpc_client_message(k, WORLD_WAIT_MS, &bytes)) {
        struct v2_pull_message_response *r = world_decode(w, &v2_pull_message_response_pb, bytes);
        if (r->content_case == V2_PULL_MESSAGE_RESPONSE_STATUS) got.code = r->status->code;
        else if (r->content_case == V2_PULL_MESSAGE_RESPONSE_MESSAGE) got.count++;
        else got.next = r->next_offset;
    }
    EXPECT_EQ(grpc_client_status(k, WORLD_WAIT_MS), GRPC_OK);
    return got;
}

TEST(grpc_offset, messages_are_pulled_from_an_offset_on)
{
    struct grpc_world *w = start();
    struct v2_message_queue *q = queue(w, "Plain", "broker-a", 0);
    struct pulled got = pull(w, q, 1, 0);
    EXPECT_EQ(got.code, V2_CODE_OK);
    EXPECT_EQ(got.count, 2);
    EXPECT_EQ(got.next, 3);
    int64_t began = sim_now_ms(w->sim);
    got = pull(w, q, 3, 2);
    EXPECT_EQ(got.code, V2_CODE_MESSAGE_NOT_FOUND);
    EXPECT(sim_now_ms(w->sim) - began >= 1900);
    got = pull(w, q, 500, 0);
    EXPECT_EQ(got.code, V2_CODE_ILLEGAL_OFFSET);
    EXPECT_EQ(got.next, 3);
    EXPECT_EQ(pull(w, q, -1, 0).code, V2_CODE_ILLEGAL_OFFSET);
    grpc_world_stop(w);
}
