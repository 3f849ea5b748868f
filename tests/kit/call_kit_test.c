#include "kit/test.h"

#include "kit/caller.h"
#include "kit/wire_replay.h"
#include "rpc/rpc.h"

/* rpc itself on the simulated network, called by frames. */
struct server {
    struct sim *sim;
    struct loop *loop;
    struct loop *client;
    struct rpc_listener *listener;
    int calls, gone;
};

enum { ECHO = 7, ASK_BACK = 8, REFUSE = 9, PORT = 10911 };

static void handle(void *ctx, struct call *call)
{
    struct server *s = ctx;
    s->calls++;
    struct rpc_request question = {.code = 40, .body = SLICE("who")};
    switch (call->code) {
    case ECHO: call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, call->body); break;
    case ASK_BACK:
        rpc_conn_request(call->conn, &question);
        call_reply_ok(call);
        break;
    case REFUSE: call_fail(call, err_new(ERR_NO_PERMISSION, "not you")); break;
    default: call_fail(call, err_new(ERR_NOT_SUPPORTED, " request type %d not supported", call->code));
    }
}

static void closed(void *ctx, struct rpc_conn *c)
{
    (void)c;
    ((struct server *)ctx)->gone++;
}

static void server_start(struct server *s, uint64_t seed)
{
    struct sim_options options = sim_options_default(seed);
    *s = (struct server){.sim = sim_new(&options)};
    s->loop = sim_loop_new(sim_process_new(s->sim, "10.0.0.1"));
    s->client = sim_loop_new(sim_process_new(s->sim, "10.0.0.2"));
    struct rpc_service service = {handle, closed, s};
    struct rpc_options rpc = rpc_options_default();
    struct addr any = {.port = PORT};
    EXPECT_OK(rpc_listen(s->loop, &any, 1, &service, &rpc, &s->listener));
}

static void server_stop(struct server *s)
{
    rpc_listener_close(s->listener);
    sim_free(s->sim);
}

TEST(call_kit, requests_get_their_replies_in_both_forms)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct server s;
        server_start(&s, seed);
        struct caller *c = caller_open(s.sim, s.client, "10.0.0.1", PORT);
        for (int form = FRAME_JSON; form <= FRAME_BINARY; form++) {
            caller_use(c, (enum frame_form)form);
            int32_t first = caller_request(c, ECHO, NULL, NULL, SLICE("one")), second = caller_request(c, REFUSE, NULL, NULL, SLICE(""));
            struct answer *b = caller_reply(c, second, 1000), *a = caller_reply(c, first, 1000);
            EXPECT_TEXT(a->frame.body, "one");
            EXPECT_EQ(a->frame.form, form);
            EXPECT_EQ(b->frame.code, RESPONSE_NO_PERMISSION);
            EXPECT_TEXT(b->frame.remark, "not you");
            answer_free(a);
            answer_free(b);
        }
        EXPECT_EQ(caller_unread(c), 0);
        caller_close(c);
        sim_run_for(s.sim, 200);
        EXPECT_EQ(s.gone, 1);
        server_stop(&s);
    }
}

TEST(call_kit, a_question_of_the_server_is_seen)
{
    struct server s;
    server_start(&s, 3);
    struct caller *c = caller_open(s.sim, s.client, "10.0.0.1", PORT);
    answer_free(caller_call(c, ASK_BACK, NULL, NULL, SLICE("")));
    struct answer *asked = caller_asked(c, 40, 1000);
    EXPECT(asked);
    EXPECT_TEXT(asked->frame.body, "who");
    EXPECT(asked->frame.flag & FRAME_FLAG_ONEWAY);
    answer_free(asked);
    caller_close(c);
    server_stop(&s);
}

/* The recorded reactions of the original to input that is no frame: it closes, or waits for the rest. */
TEST(call_kit, broken_input_is_answered_as_recorded)
{
    static const char *const files[] = {
        "bad_header_longer_than_frame", "bad_json", "bad_negative_length", "bad_oversized_length", "bad_serialize_type",
        "bad_zero_length", "bad_16m_plus", "half_frame_then_idle", "http_get", "response_without_request",
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct server s;
        server_start(&s, 100 + i);
        struct wire_replay r = {.file = files[i], .role = "broker", .sim = s.sim, .loop = s.client, .host = "10.0.0.1", .port = PORT};
        EXPECT_EQ(wire_replay(&r), 0);
        EXPECT_EQ(s.calls, 0);
        server_stop(&s);
    }
}

TEST(call_kit, unknown_codes_are_refused_as_recorded)
{
    struct server s;
    server_start(&s, 5);
    struct wire_replay r = {.file = "unknown_code", .role = "broker", .sim = s.sim, .loop = s.client, .host = "10.0.0.1", .port = PORT,
                            .skip_requests = "0 -1 QUERY_BROKER_OFFSET SEND_MESSAGE HEART_BEAT"};
    EXPECT_EQ(wire_replay(&r), 1);
    server_stop(&s);
}
