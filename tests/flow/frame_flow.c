#include "flow/flow.h"

static const uint8_t broken[][16] = {
    {0, 0, 0, 3, 0, 0, 0, 0},                                  /* shorter than its own header length */
    {0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0},                      /* negative */
    {0xE2, 0x7F, 0, 0, 0, 0, 0, 0},                            /* 3.8 GB */
    {0, 0, 0, 8, 0, 0, 0, 200, '{', '}', 0, 0},                /* header longer than the frame */
    {0, 0, 0, 6, 2, 0, 0, 2, '{', '}'},                        /* unknown form */
    {0, 0, 0, 5, 0, 0, 0, 1, '{'},                             /* JSON that ends too early */
    {0, 0, 0, 12, 1, 0, 0, 8, 0, 105, 0, 1, 0, 0, 0, 1},       /* binary header that ends too early */
    {'G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P', '/', '1', '.', '1', '\r', '\n'},
};
enum { BROKEN = sizeof broken / sizeof *broken };

TEST(frame, a_broken_frame_closes_its_connection_and_no_other)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    for (size_t i = 0; i < BROKEN; i++) {
        struct caller *bad = flow_caller(f);
        caller_send(bad, slice_of(broken[i], sizeof broken[i]));
        EXPECT(caller_ended(bad, 2000));
        caller_close(bad);
    }
    EXPECT_EQ(flow_send(f, "T", 0, "", "still fine").code, RESPONSE_SUCCESS);
    flow_stop(f);
}

TEST(frame, a_frame_in_pieces_waits_and_half_of_one_harms_nobody)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    struct caller *half = flow_caller(f);
    const uint8_t begun[] = {0, 0, 0, 127, 0, 0, 0, 123, '{', '"', 'c'};
    for (size_t i = 0; i < sizeof begun; i++) caller_send(half, slice_of(begun + i, 1));
    EXPECT(!caller_ended(half, 5000));
    EXPECT_EQ(flow_send(f, "T", 0, "", "still fine").code, RESPONSE_SUCCESS);
    caller_close(half);
    flow_stop(f);
}

TEST(frame, a_response_that_nobody_asked_for_is_ignored)
{
    struct flow *f = flow_start(NULL);
    const char *text = "{\"code\":0,\"flag\":1,\"language\":\"JAVA\",\"opaque\":77}";
    struct buf frame = BUF_EMPTY;
    buf_put_be32(&frame, (uint32_t)strlen(text) + 4);
    buf_put_be32(&frame, (uint32_t)strlen(text));
    buf_put_text(&frame, text);
    caller_send(f->caller, buf_slice(&frame));
    flow_make_topic(f, "T", 1);   /* the connection still works */
    buf_done(&frame);
    flow_stop(f);
}

TEST(frame, an_idle_connection_is_closed_after_its_time)
{
    struct flow *f = flow_start(NULL);
    struct caller *idle = flow_caller(f);
    sim_run_for(f->sim, 100000);
    EXPECT(!caller_ended(idle, 1));
    EXPECT(caller_ended(idle, 40000));
    caller_close(idle);
    caller_close(f->caller);
    f->caller = flow_caller(f);
    flow_stop(f);
}

/* Codes over 32767 do not fit into binary headers, and arrive cut: 200050 as 3442. */
TEST(frame, pop_requests_whose_code_was_cut_are_refused_and_not_taken_for_others)
{
    static const int32_t codes[] = {3442, 3443, 3444, 3543};
    struct flow *f = flow_start(NULL);
    caller_use(f->caller, FRAME_BINARY);
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        EXPECT_EQ(flow_code(f, codes[i], NULL, NULL, NULL, NULL), RESPONSE_REQUEST_CODE_NOT_SUPPORTED);
    flow_stop(f);
}

TEST(metrics, tell_what_was_done)
{
    struct flow *f = flow_start(NULL);
    flow_make_topic(f, "T", 1);
    int64_t topics = flow_metric(f, "rocketmq_topic_number");
    flow_make_topic(f, "T2", 1);
    for (int i = 0; i < 3; i++) flow_send(f, "T", 0, "", "x");
    EXPECT_EQ(flow_send(f, "T", 7, "", "x").code, RESPONSE_INVALID_PARAMETER);
    flow_pull(f, "T", 0, 1, "*");
    struct caller *bad = flow_caller(f);
    EXPECT_EQ(flow_metric(f, "skylark_connections"), 2);
    caller_send(bad, slice_of(broken[0], sizeof broken[0]));
    EXPECT(caller_ended(bad, 2000));
    caller_close(bad);
    EXPECT_EQ(flow_metric(f, "skylark_connections"), 1);
    EXPECT_EQ(flow_metric(f, "skylark_frames_refused_total"), 1);
    EXPECT_EQ(flow_metric(f, "rocketmq_messages_in_total"), 3);
    EXPECT_EQ(flow_metric(f, "rocketmq_messages_out_total"), 2);
    EXPECT_EQ(flow_metric(f, "rocketmq_throughput_out_total") * 3, flow_metric(f, "rocketmq_throughput_in_total") * 2);
    EXPECT_EQ(flow_metric(f, "skylark_sends_refused_total"), 1);
    EXPECT_EQ(flow_metric(f, "rocketmq_topic_number"), topics + 1);
    EXPECT_EQ(flow_metric(f, "commitLogMaxOffset"), flow_metric(f, "rocketmq_throughput_in_total"));
    flow_stop(f);
}
