/* gRPC calls on the simulated network: one message each way, many, statuses, time limits, cancelling. */
#include "grpc/grpc_fixture.h"

#include <stdlib.h>

static int echo(struct grpc_fixture *f, struct slice request)
{
    struct buf reply = BUF_EMPTY;
    int status = grpc_client_unary(f->client, "/test.Things/Echo", NULL, request, &reply);
    EXPECT(slice_eq(buf_slice(&reply), request));
    buf_done(&reply);
    return status;
}

TEST(grpc, a_message_is_answered_by_one_and_a_status)
{
    struct grpc_fixture *f = grpc_fixture_start(1, NULL);
    EXPECT_EQ(echo(f, SLICE("hello")), GRPC_OK);
    EXPECT_EQ(echo(f, SLICE("")), GRPC_OK);
    EXPECT_EQ(f->begun, 2);
    EXPECT_EQ(f->half_closed, 2);
    EXPECT_EQ(f->gone, 0);
    EXPECT_EQ(grpc_server_calls(f->server), 0);
    grpc_fixture_stop(f);
}

TEST(grpc, messages_larger_than_windows_and_frames_arrive_whole)
{
    struct grpc_fixture *f = grpc_fixture_start(2, NULL);
    char *big = must_zero(5000001);
    for (int i = 0; i < 5000000; i++) big[i] = (char)('a' + i % 23);
    EXPECT_EQ(echo(f, slice_text(big)), GRPC_OK);
    free(big);
    grpc_fixture_stop(f);
}

TEST(grpc, a_large_message_does_not_wait_once_for_each_window)
{
    struct grpc_fixture *f = grpc_fixture_start(12, NULL);
    struct sim_options *o = sim_tune(f->sim);
    struct buf reply = BUF_EMPTY;
    o->delay_min_us = o->delay_max_us = 50000;
    o->window_min_bytes = o->window_max_bytes = 64 << 20;
    struct grpc_client *far = grpc_fixture_client(f, NULL);
    char *big = must_zero(4000001);
    memset(big, 'b', 4000000);
    int64_t began = sim_now_ms(f->sim);
    EXPECT_EQ(grpc_client_unary(far, "/test.Things/Header", NULL, slice_text(big), &reply), GRPC_OK);
    EXPECT(sim_now_ms(f->sim) - began < 1500);   /* 61 windows of 64 KiB would take 6 s */
    EXPECT_EQ(f->message_bytes, 4000000);
    buf_done(&reply);
    free(big);
    grpc_client_close(far);
    grpc_fixture_stop(f);
}

TEST(grpc, many_messages_come_in_order_and_their_pins_are_released)
{
    struct grpc_fixture *f = grpc_fixture_start(3, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Count", NULL);
    struct slice item;
    grpc_client_send(k, SLICE("500"));
    grpc_client_half_close(k);
    for (int i = 0; i < 500; i++) {
        EXPECT(grpc_client_message(k, WAIT_MS, &item));
        EXPECT_EQ(item.n, ITEM_BYTES);
    }
    EXPECT(!grpc_client_message(k, WAIT_MS, &item));
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_OK);
    EXPECT_EQ(f->pins, 1000);
    grpc_fixture_stop(f);
}

TEST(grpc, messages_may_be_cut_and_joined_anywhere)
{
    struct grpc_fixture *f = grpc_fixture_start(4, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Echo", NULL);
    struct slice item;
    grpc_client_send_raw(k, SLICE("\0\0\0\0\3abc\0\0"));
    EXPECT(grpc_client_message(k, WAIT_MS, &item));
    EXPECT_TEXT(item, "abc");
    grpc_client_send_raw(k, SLICE("\0\0\2"));
    grpc_client_send_raw(k, SLICE("d"));
    EXPECT(!grpc_client_message(k, 1000, &item));
    grpc_client_send_raw(k, SLICE("e\0\0\0\0\0\0\0\0\0\1f"));
    EXPECT(grpc_client_message(k, WAIT_MS, &item));
    EXPECT_TEXT(item, "de");
    EXPECT(grpc_client_message(k, WAIT_MS, &item));
    EXPECT_EQ(item.n, 0);
    EXPECT(grpc_client_message(k, WAIT_MS, &item));
    EXPECT_TEXT(item, "f");
    grpc_client_half_close(k);
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_OK);
    grpc_fixture_stop(f);
}

TEST(grpc, a_message_without_bytes_may_be_cut_within_its_prefix)
{
    struct grpc_fixture *f = grpc_fixture_start(4, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Echo", NULL);
    struct slice item;
    grpc_client_send_raw(k, SLICE("\0\0"));
    sim_run_for(f->sim, 500);
    grpc_client_send_raw(k, SLICE("\0\0\0"));
    EXPECT(grpc_client_message(k, WAIT_MS, &item));
    EXPECT_EQ(item.n, 0);
    grpc_client_cancel(k);
    grpc_fixture_stop(f);
}

TEST(grpc, a_status_without_a_message_comes_with_its_text)
{
    struct grpc_fixture *f = grpc_fixture_start(5, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Fail", NULL);
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_NOT_FOUND);
    EXPECT_TEXT(slice_text(grpc_client_status_text(k)), "no such thing: 100%\n");
    EXPECT_TEXT(grpc_client_header(k, ":status"), "200");
    EXPECT_TEXT(grpc_client_header(k, "content-type"), "application/grpc");
    grpc_fixture_stop(f);
}

static int status_of(struct grpc_fixture *f, const char *path, const char *const *headers, const char **http_status)
{
    struct grpc_client_call *k = grpc_client_call(f->client, path, headers);
    grpc_client_half_close(k);
    int status = grpc_client_status(k, WAIT_MS);
    *http_status = (const char *)grpc_client_header(k, ":status").p;
    return status;
}

TEST(grpc, what_is_no_call_of_a_service_is_refused)
{
    struct grpc_fixture *f = grpc_fixture_start(6, NULL);
    const char *http;
    EXPECT_EQ(status_of(f, "/test.Things/Other", NULL, &http), GRPC_UNIMPLEMENTED);
    EXPECT_EQ(status_of(f, "/test.Others/Echo", NULL, &http), GRPC_UNIMPLEMENTED);
    EXPECT_EQ(status_of(f, "/nonsense", NULL, &http), GRPC_UNIMPLEMENTED);
    EXPECT_TEXT(slice_text(http), "200");
    EXPECT_EQ(status_of(f, "/test.Things/Echo", (const char *[]){"content-type", "application/json", NULL}, &http), GRPC_INTERNAL);
    EXPECT_TEXT(slice_text(http), "415");
    EXPECT_EQ(status_of(f, "/test.Things/Echo", (const char *[]){":method", "GET", NULL}, &http), GRPC_INTERNAL);
    EXPECT_TEXT(slice_text(http), "405");
    EXPECT_EQ(status_of(f, "/test.Things/Echo", (const char *[]){"grpc-timeout", "soon", NULL}, &http), GRPC_INTERNAL);
    EXPECT_EQ(status_of(f, "/test.Things/Echo", (const char *[]){"grpc-encoding", "snappy", NULL}, &http), GRPC_UNIMPLEMENTED);
    EXPECT_EQ(echo(f, SLICE("still here")), GRPC_OK);
    EXPECT_EQ(f->gone, 0);
    grpc_fixture_stop(f);
}

TEST(grpc, a_service_sees_headers_time_left_and_the_address)
{
    struct grpc_fixture *f = grpc_fixture_start(7, NULL);
    struct buf reply = BUF_EMPTY;
    const char *headers[] = {"x-mq-client-id", "me@1", "trace-bin", "AAE=", "x-mq-client-id", "me@2", NULL};
    EXPECT_EQ(grpc_client_unary(f->client, "/test.Things/Header", headers, SLICE("trace-bin"), &reply), GRPC_OK);
    EXPECT_TEXT(buf_slice(&reply), "AAE=|-1|10.0.0.2");
    EXPECT_EQ(grpc_client_unary(f->client, "/test.Things/Header", headers, SLICE("x-mq-client-id"), &reply), GRPC_OK);
    EXPECT_TEXT(buf_slice(&reply), "me@2|-1|10.0.0.2");
    EXPECT_EQ(grpc_client_unary(f->client, "/test.Things/Header", (const char *[]){"grpc-timeout", "10S", NULL}, SLICE("none"), &reply), GRPC_OK);
    EXPECT(slice_starts(buf_slice(&reply), SLICE("|")));
    EXPECT(atoi((char *)reply.p + 1) > 9000);
    buf_done(&reply);
    grpc_fixture_stop(f);
}

TEST(grpc, a_call_ends_at_its_deadline_and_the_service_is_told)
{
    struct grpc_fixture *f = grpc_fixture_start(8, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Keep", (const char *[]){"grpc-timeout", "500m", NULL});
    EXPECT_EQ(grpc_client_status(k, 400), -1);
    EXPECT_EQ(f->gone, 0);
    EXPECT_EQ(grpc_client_status(k, 1000), GRPC_DEADLINE_EXCEEDED);
    EXPECT_EQ(f->gone, 1);
    EXPECT_EQ(grpc_server_calls(f->server), 0);
    EXPECT_EQ(echo(f, SLICE("on the same connection")), GRPC_OK);
    grpc_fixture_stop(f);
}

TEST(grpc, a_service_is_told_once_of_a_call_that_is_cancelled_or_cut_off)
{
    struct grpc_fixture *f = grpc_fixture_start(9, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Keep", NULL);
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(f->begun, 1);
    grpc_client_cancel(k);
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(f->gone, 1);
    struct grpc_client *other = grpc_fixture_client(f, NULL);
    grpc_client_call(other, "/test.Things/Keep", (const char *[]){"grpc-timeout", "2S", NULL});
    sim_run_for(f->sim, 1000);
    grpc_client_close(other);
    sim_run_for(f->sim, 5000);
    EXPECT_EQ(f->begun, 2);
    EXPECT_EQ(f->gone, 2);
    EXPECT_EQ(echo(f, SLICE("still here")), GRPC_OK);
    grpc_fixture_stop(f);
}

TEST(grpc, a_client_that_still_sends_is_told_to_stop_when_the_status_is_out)
{
    struct grpc_fixture *f = grpc_fixture_start(10, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Keep", NULL);
    sim_run_for(f->sim, 1000);
    grpc_fixture_finish_kept(f);
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_OK);
    EXPECT_TEXT(slice_text(grpc_client_status_text(k)), "kept");
    sim_run_for(f->sim, 1000);
    grpc_client_send(k, SLICE("to nobody"));
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(f->messages, 0);
    EXPECT_EQ(echo(f, SLICE("still here")), GRPC_OK);
    grpc_fixture_stop(f);
}

TEST(grpc, a_message_that_does_not_come_whole_ends_the_call)
{
    struct grpc_fixture *f = grpc_fixture_start(11, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Echo", NULL);
    grpc_client_send_raw(k, SLICE("\0\0\0\0\3ab"));
    grpc_client_half_close(k);
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_INTERNAL);
    EXPECT_EQ(f->gone, 1);
    EXPECT_EQ(f->half_closed, 0);
    grpc_fixture_stop(f);
}
