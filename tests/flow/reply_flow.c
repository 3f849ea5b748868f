/* Request and reply: the answer to a message is pushed to the client that sent it. */
#include "flow/flow.h"

#include "codec/properties.h"

#include <stdio.h>

#define REPLY_TOPIC "DefaultCluster_REPLY_TOPIC"

static void produce_as(struct caller *c, const char *client_id)
{
    char body[200];
    snprintf(body, sizeof body, "{\"clientID\":\"%s\",\"consumerDataSet\":[],\"producerDataSet\":[{\"groupName\":\"P\"}]}", client_id);
    answer_free(caller_call(c, REQUEST_HEART_BEAT, NULL, NULL, slice_text(body)));
}

static int32_t begin_reply(struct flow *f, const char *properties, int32_t code)
{
    struct send_header h = flow_send_fields(REPLY_TOPIC, 0);
    h.properties = flow_properties(properties);
    h.sys_flag = 1;
    h.flag = 9;
    return caller_request(f->caller, code, code == REQUEST_SEND_REPLY_MESSAGE ? &send_kind : &send_v2_kind, &h, SLICE("pong"));
}

struct told {
    int32_t code;
    char remark[300];
    char msg_id[80];
    int64_t queue_offset;
};

static struct told told(struct flow *f, int32_t opaque, int64_t limit_ms)
{
    struct told t = {.code = -1};
    struct send_reply_header h;
    struct answer *a = caller_reply(f->caller, opaque, limit_ms);
    if (!a) return t;
    t.code = a->frame.code;
    snprintf(t.remark, sizeof t.remark, "%.*s", SLICE_ARG(a->frame.remark));
    EXPECT_TEXT(frame_get(&a->frame, SLICE("MSG_REGION")), "DefaultRegion");
    if (frame_get(&a->frame, SLICE("msgId")).n) {
        EXPECT_OK(header_decode(&send_reply_kind, &a->frame, &h));
        snprintf(t.msg_id, sizeof t.msg_id, "%.*s", SLICE_ARG(h.msg_id));
        t.queue_offset = h.queue_offset;
    }
    answer_free(a);
    return t;
}

static struct answer *next_push(struct caller *c) { return caller_asked(c, REQUEST_PUSH_REPLY_MESSAGE_TO_CLIENT, 2000); }

TEST(reply, it_is_pushed_to_the_client_that_asked_and_its_sender_is_told_when_that_has_it)
{
    struct flow *f = flow_start(NULL);
    struct caller *requester = flow_caller(f);
    struct push_reply_header h;
    produce_as(requester, "r1");
    int32_t codes[] = {REQUEST_SEND_REPLY_MESSAGE, REQUEST_SEND_REPLY_MESSAGE_V2};
    for (int i = 0; i < 2; i++) {
        int32_t opaque = begin_reply(f, "REPLY_TO_CLIENT=r1;CORRELATION_ID=c7", codes[i]);
        struct answer *push = next_push(requester);
        EXPECT(push);
        EXPECT(!(push->frame.flag & FRAME_FLAG_ONEWAY));
        EXPECT_OK(header_decode(&push_reply_kind, &push->frame, &h));
        EXPECT_TEXT(h.topic, REPLY_TOPIC);
        EXPECT_EQ(h.flag, 9);
        EXPECT_EQ(h.sys_flag, 1);
        EXPECT_TEXT(h.store_host, "127.0.0.2:10911");
        EXPECT(slice_starts(h.born_host, SLICE("10.0.0.9:")));
        EXPECT_TEXT(properties_get(h.properties, SLICE("CORRELATION_ID")), "c7");
        EXPECT(properties_get(h.properties, SLICE("PUSH_REPLY_TIME")).n);
        EXPECT_TEXT(push->frame.body, "pong");
        EXPECT_EQ(told(f, opaque, 500).code, -1);   /* not before */
        caller_answer(requester, push, RESPONSE_SUCCESS, (struct slice){NULL, 0}, SLICE(""));
        struct told t = told(f, opaque, 1000);
        EXPECT_EQ(t.code, RESPONSE_SUCCESS);
        EXPECT_EQ(strlen(t.msg_id), 32);
        EXPECT_EQ(t.queue_offset, i);
        answer_free(push);
    }
    struct pulled kept = flow_pull(f, REPLY_TOPIC, 0, 0, "*");
    EXPECT_EQ(kept.count, 2);
    EXPECT_TEXT(kept.messages[0].body, "pong");
    EXPECT_TEXT(properties_get(kept.messages[0].properties, SLICE("CORRELATION_ID")), "c7");
    caller_close(requester);
    flow_stop(f);
}

TEST(reply, whoever_replies_to_nobody_is_told_so_in_the_words_of_the_original)
{
    struct flow *f = flow_start(NULL);
    struct told t = told(f, begin_reply(f, "REPLY_TO_CLIENT=gone", REQUEST_SEND_REPLY_MESSAGE_V2), 1000);
    EXPECT_EQ(t.code, RESPONSE_SYSTEM_ERROR);
    assert_string_equal(t.remark, "push reply message fail, channel of <gone> not found.");
    EXPECT_EQ(strlen(t.msg_id), 32);   /* and it is kept */
    t = told(f, begin_reply(f, "a=b", REQUEST_SEND_REPLY_MESSAGE_V2), 1000);
    EXPECT_EQ(t.code, RESPONSE_SYSTEM_ERROR);
    assert_string_equal(t.remark, "reply message properties[REPLY_TO_CLIENT] is null");
    flow_stop(f);
}

TEST(reply, a_requester_that_refuses_says_nothing_or_goes_is_told_as_a_failure_once)
{
    struct flow *f = flow_start(NULL);
    struct caller *requester = flow_caller(f);
    produce_as(requester, "r1");
    int32_t opaque = begin_reply(f, "REPLY_TO_CLIENT=r1", REQUEST_SEND_REPLY_MESSAGE_V2);
    struct answer *push = next_push(requester);
    caller_answer(requester, push, RESPONSE_SYSTEM_ERROR, SLICE("no such request"), SLICE(""));
    struct told t = told(f, opaque, 1000);
    EXPECT_EQ(t.code, RESPONSE_SYSTEM_ERROR);
    assert_string_equal(t.remark, "push reply message to r1fail.");
    answer_free(push);
    opaque = begin_reply(f, "REPLY_TO_CLIENT=r1", REQUEST_SEND_REPLY_MESSAGE_V2);
    push = next_push(requester);
    EXPECT_EQ(told(f, opaque, 9000).code, -1);
    EXPECT_EQ(told(f, opaque, 2000).code, RESPONSE_SYSTEM_ERROR);
    caller_answer(requester, push, RESPONSE_SUCCESS, (struct slice){NULL, 0}, SLICE(""));   /* too late */
    answer_free(push);
    opaque = begin_reply(f, "REPLY_TO_CLIENT=r1", REQUEST_SEND_REPLY_MESSAGE_V2);
    answer_free(next_push(requester));
    caller_close(requester);
    EXPECT_EQ(told(f, opaque, 1000).code, RESPONSE_SYSTEM_ERROR);
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(caller_unread(f->caller), 0);
    flow_stop(f);
}

TEST(reply, a_replier_that_goes_leaves_nothing_behind_and_replies_need_not_be_kept)
{
    static const char *const settings[] = {"storeReplyMessageEnable=false", NULL};
    struct flow *f = flow_start(settings);
    struct caller *requester = flow_caller(f);
    produce_as(requester, "r1");
    int32_t opaque = begin_reply(f, "REPLY_TO_CLIENT=r1", REQUEST_SEND_REPLY_MESSAGE_V2);
    struct answer *push = next_push(requester);
    caller_answer(requester, push, RESPONSE_SUCCESS, (struct slice){NULL, 0}, SLICE(""));
    struct told t = told(f, opaque, 1000);
    EXPECT_EQ(t.code, RESPONSE_SUCCESS);
    assert_string_equal(t.msg_id, "0");
    answer_free(push);
    begin_reply(f, "REPLY_TO_CLIENT=r1", REQUEST_SEND_REPLY_MESSAGE_V2);
    push = next_push(requester);
    caller_close(f->caller);
    f->caller = flow_caller(f);
    caller_answer(requester, push, RESPONSE_SUCCESS, (struct slice){NULL, 0}, SLICE(""));
    answer_free(push);
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(flow_pull(f, REPLY_TOPIC, 0, 0, "*").max, 0);
    begin_reply(f, "REPLY_TO_CLIENT=r1", REQUEST_SEND_REPLY_MESSAGE_V2);   /* and one that a stop finds under way */
    answer_free(next_push(requester));
    flow_free_broker(f);
    caller_close(requester);
    flow_stop(f);
}

TEST(reply, of_two_connections_with_one_client_id_the_one_that_came_last_gets_it_and_then_the_other)
{
    struct flow *f = flow_start(NULL);
    struct caller *first = flow_caller(f), *second = flow_caller(f);
    produce_as(first, "r1");
    produce_as(second, "r1");
    begin_reply(f, "REPLY_TO_CLIENT=r1", REQUEST_SEND_REPLY_MESSAGE_V2);
    answer_free(next_push(second));
    caller_close(second);
    sim_run_for(f->sim, 100);
    produce_as(first, "r1");
    begin_reply(f, "REPLY_TO_CLIENT=r1", REQUEST_SEND_REPLY_MESSAGE_V2);
    struct answer *push = next_push(first);
    EXPECT(push);
    answer_free(push);
    caller_close(first);
    flow_stop(f);
}
