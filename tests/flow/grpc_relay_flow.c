/* What tools ask of gRPC consumers through their broker. Facts: docs/protocol/proxy.md */
#include "flow/grpc_world.h"

#include "codec/body_connection.h"
#include "codec/body_guests.h"
#include "codec/message_id.h"

static struct caller *tool(struct grpc_world *w) { return w->brokers[0].caller; }

/* A consumer whose broker has heard of it. */
static struct grpc_client_call *consumer(struct grpc_world *w)
{
    world_topic(w, "T", 1, "");
    struct grpc_client_call *k = world_consumer(w, "c", "g", "T");
    struct v2_receive_message_request q = world_receive_request(w, "g", "T");
    world_receive(w, "c", &q);   /* so that the proxy knows the broker */
    sim_run_for(w->sim, 1000);
    return k;
}

static int32_t ask_stack(struct grpc_world *w, const char *client, bool stack)
{
    struct running_info_header h = {.consumer_group = SLICE("g"), .client_id = slice_text(client), .jstack_enable = stack};
    header_set(&h, running_info, jstack_enable);
    return caller_request(tool(w), REQUEST_GET_CONSUMER_RUNNING_INFO, &running_info_kind, &h, SLICE(""));
}

static void answer(struct grpc_client_call *k, struct v2_telemetry_command *c, int32_t code)
{
    struct v2_status status = {code, SLICE("")};
    c->status = &status;
    struct buf bytes = world_encode(&v2_telemetry_command_pb, c);
    grpc_client_send(k, buf_slice(&bytes));
    buf_done(&bytes);
}

static struct slice take_nonce(struct grpc_world *w, struct grpc_client_call *k, int32_t kind)
{
    struct v2_telemetry_command *c = world_command(w, k, 5000);
    EXPECT(c);
    EXPECT_EQ(c->command_case, kind);
    return kind == V2_TELEMETRY_COMMAND_VERIFY_MESSAGE_COMMAND ? c->verify_message_command->nonce : c->print_thread_stack_trace_command->nonce;
}

static void answer_stack(struct grpc_client_call *k, struct slice nonce, int32_t code)
{
    struct v2_thread_stack_trace trace = {nonce, SLICE("main: waits\n")};
    struct v2_telemetry_command c = {.command_case = V2_TELEMETRY_COMMAND_THREAD_STACK_TRACE, .thread_stack_trace = &trace};
    answer(k, &c, code);
}

TEST(grpc_relay, the_threads_of_a_consumer_are_shown_to_a_tool)
{
    struct grpc_world *w = grpc_world_simple();
    struct grpc_client_call *k = consumer(w);
    struct running_info info;
    int32_t asked = ask_stack(w, "c", true);
    struct slice nonce = take_nonce(w, k, V2_TELEMETRY_COMMAND_PRINT_THREAD_STACK_TRACE_COMMAND);
    answer_stack(k, SLICE("another"), V2_CODE_OK);   /* of nobody's question */
    answer_stack(k, nonce, V2_CODE_OK);
    struct answer *a = caller_reply(tool(w), asked, 5000);
    EXPECT(a);
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_OK(bean_decode(&running_info_bean, a->frame.body, &w->arena, "running", &info));
    EXPECT_TEXT(info.stack, "main: waits\n");
    answer_free(a);
    a = caller_reply(tool(w), ask_stack(w, "c", false), 1000);   /* there is nothing else that it tells */
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    answer_free(a);
    asked = ask_stack(w, "c", true);
    answer_stack(k, take_nonce(w, k, V2_TELEMETRY_COMMAND_PRINT_THREAD_STACK_TRACE_COMMAND), V2_CODE_INTERNAL_ERROR);
    a = caller_reply(tool(w), asked, 5000);
    EXPECT_EQ(a->frame.code, RESPONSE_SYSTEM_ERROR);
    EXPECT_TEXT(a->frame.remark, "verify message failed");
    answer_free(a);
    grpc_world_stop(w);
}

TEST(grpc_relay, a_consumer_that_does_not_answer_or_is_gone_keeps_no_tool_waiting)
{
    struct grpc_world *w = grpc_world_simple();
    consumer(w);
    int32_t asked = ask_stack(w, "c", true);
    struct answer *a = caller_reply(tool(w), asked, 11000);
    EXPECT(a);
    EXPECT_EQ(a->frame.code, RESPONSE_SYSTEM_ERROR);
    EXPECT(a->frame.remark.n && memmem(a->frame.remark.p, a->frame.remark.n, "did not answer", 14));
    answer_free(a);
    a = caller_reply(tool(w), ask_stack(w, "nobody", true), 1000);
    EXPECT_TEXT(a->frame.remark, "The Consumer <g> <nobody> not online");
    answer_free(a);
    struct v2_notify_client_termination_request bye = {.group = world_name(w, "g")};
    EXPECT_EQ(WORLD_CALL(w, "c", "NotifyClientTermination", notify_client_termination, &bye)->status->code, V2_CODE_OK);
    sim_run_for(w->sim, 1000);
    a = caller_reply(tool(w), ask_stack(w, "c", true), 1000);
    EXPECT_TEXT(a->frame.remark, "The Consumer <g> <c> not online");
    answer_free(a);
    consumer(w);
    ask_stack(w, "c", true);   /* it waits while the proxy ends */
    sim_run_for(w->sim, 100);
    grpc_world_stop(w);
}

static const char *message_id(struct grpc_world *w)
{
    struct v2_message *m = world_message(w, "T", "look at me");
    struct v2_send_message_response *r = world_send(w, m);
    struct message stored;
    static char id[MESSAGE_ID_TEXT + 1];
    EXPECT_EQ(r->status->code, V2_CODE_OK);
    EXPECT(world_pull(w, 0, "T", 0, 0, &stored));
    id[offset_id_format(&stored.store_host, stored.log_offset, id)] = 0;
    return id;
}

TEST(grpc_relay, a_message_is_consumed_by_the_consumer_that_a_tool_names)
{
    static const struct {
        int32_t code, outcome;
    } rows[] = {{V2_CODE_OK, CONSUMED}, {V2_CODE_FAILED_TO_CONSUME_MESSAGE, CONSUME_LATER}, {V2_CODE_MESSAGE_CORRUPTED, CONSUME_NULL}};
    struct grpc_world *w = grpc_world_simple();
    struct grpc_client_call *k = consumer(w);
    const char *id = message_id(w);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct consume_directly_header h = {.consumer_group = SLICE("g"), .client_id = SLICE("c"), .msg_id = slice_text(id), .topic = SLICE("T")};
        int32_t asked = caller_request(tool(w), REQUEST_CONSUME_MESSAGE_DIRECTLY, &consume_directly_kind, &h, SLICE(""));
        struct v2_telemetry_command *c = world_command(w, k, 5000);
        EXPECT(c && c->command_case == V2_TELEMETRY_COMMAND_VERIFY_MESSAGE_COMMAND);
        EXPECT_TEXT(c->verify_message_command->message->body, "look at me");
        struct v2_verify_message_result told = {c->verify_message_command->nonce};
        struct v2_telemetry_command result = {.command_case = V2_TELEMETRY_COMMAND_VERIFY_MESSAGE_RESULT, .verify_message_result = &told};
        answer(k, &result, rows[i].code);
        struct answer *a = caller_reply(tool(w), asked, 5000);
        struct consume_result consumed;
        EXPECT(a);
        EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
        EXPECT_OK(bean_decode(&consume_result_bean, a->frame.body, &w->arena, "result", &consumed));
        EXPECT_EQ(consumed.outcome, rows[i].outcome);
        EXPECT_TEXT(consumed.remark, "from gRPC client");
        answer_free(a);
    }
    grpc_world_stop(w);
}

TEST(grpc_relay, tools_see_who_consumes_through_a_proxy)
{
    struct grpc_world *w = grpc_world_simple();
    struct consumer_connections_header h = {.consumer_group = SLICE("g")};
    struct consumer_connections all;
    consumer(w);
    struct answer *a = caller_call(tool(w), REQUEST_GET_CONSUMER_CONNECTION_LIST, &consumer_connections_kind, &h, SLICE(""));
    EXPECT_EQ(a->frame.code, RESPONSE_SUCCESS);
    EXPECT_OK(bean_decode(&consumer_connections_bean, a->frame.body, &w->arena, "connections", &all));
    EXPECT_EQ(all.connections.count, 1);
    EXPECT_TEXT(all.connections.items[0].client_id, "c");
    EXPECT_EQ(all.connections.items[0].version, 513);
    answer_free(a);
    world_restart_proxy(w);
    sim_run_for(w->sim, 1000);
    a = caller_call(tool(w), REQUEST_GET_CONSUMER_CONNECTION_LIST, &consumer_connections_kind, &h, SLICE(""));
    EXPECT_EQ(a->frame.code, RESPONSE_CONSUMER_NOT_ONLINE);
    answer_free(a);
    grpc_world_stop(w);
}
