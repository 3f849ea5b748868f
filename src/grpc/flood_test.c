/* Clients that cost more than they bring: what they can make the server do and keep is bounded by counts. */
#include "grpc/grpc_fixture.h"

#include <stdlib.h>

enum { MANY = 5000 };

static void put_frame(struct buf *b, uint8_t type, uint8_t flags, uint32_t id, struct slice payload)
{
    buf_put_u8(b, (uint8_t)(payload.n >> 16));
    buf_put_be16(b, (uint16_t)payload.n);
    buf_put_u8(b, type);
    buf_put_u8(b, flags);
    buf_put_be32(b, id);
    buf_put_slice(b, payload);
}

enum { DATA = 0, HEADERS = 1, PRIORITY = 2, RST_STREAM = 3, SETTINGS = 4, PING = 6, CONTINUATION = 9 };
enum { NO_FLAGS = 0, END_HEADERS = 4, PROTOCOL_ERROR = 1 };

/* The headers of a call of Keep, without indexing. */
static void put_call(struct buf *b, uint32_t id)
{
    put_frame(b, HEADERS, END_HEADERS, id, SLICE("\x83\x86\x01\x01x\x04\x11/test.Things/Keep\x0f\x10\x10" "application/grpc"));
}

/* The same frame again and again. */
static void flood(struct grpc_client *c, uint8_t type, uint32_t id, struct slice payload, int count)
{
    struct buf b = BUF_EMPTY;
    for (int i = 0; i < count; i++) put_frame(&b, type, NO_FLAGS, id, payload);
    grpc_client_raw(c, buf_slice(&b));
    buf_done(&b);
}

static void expect_others_are_served(struct grpc_fixture *f)
{
    struct buf reply = BUF_EMPTY;
    struct grpc_client *other = grpc_fixture_client(f, NULL);
    EXPECT_EQ(grpc_client_unary(other, "/test.Things/Echo", NULL, SLICE("served"), &reply), GRPC_OK);
    grpc_client_close(other);
    buf_done(&reply);
}

static void expect_thrown_out(struct grpc_fixture *f, struct grpc_client *c)
{
    EXPECT(grpc_client_ended(c, WAIT_MS));
    EXPECT_EQ(metric_get(&f->metrics, METRIC_FRAMES_REFUSED), 1);
    EXPECT_EQ(grpc_server_calls(f->server), 0);
    expect_others_are_served(f);
}

TEST(grpc, a_connection_that_only_costs_is_ended)
{
    struct { uint8_t type; uint32_t id; struct slice payload; } kinds[] = {
        {PING, 0, SLICE("12345678")}, {SETTINGS, 0, SLICE("")}, {PRIORITY, 1, SLICE("\0\0\0\0\1")}, {DATA, 1, SLICE("")},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        struct grpc_fixture *f = grpc_fixture_start(100 + i, NULL);
        grpc_client_call(f->client, "/test.Things/Keep", NULL);
        sim_run_for(f->sim, 1000);
        EXPECT_EQ(f->begun, 1);
        flood(f->client, kinds[i].type, kinds[i].id, kinds[i].payload, MANY);
        expect_thrown_out(f, f->client);
        EXPECT_EQ(f->gone, 1);
        grpc_fixture_stop(f);
    }
}

TEST(grpc, pings_of_a_client_with_good_manners_are_answered)
{
    struct grpc_fixture *f = grpc_fixture_start(110, NULL);
    grpc_client_call(f->client, "/test.Things/Keep", NULL);
    for (int i = 0; i < 3000; i++) {
        grpc_client_ping(f->client);
        sim_run_for(f->sim, 20);
    }
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(grpc_client_pongs(f->client), 3000);
    grpc_fixture_stop(f);
}

TEST(grpc, a_client_that_measures_the_way_with_each_of_many_calls_is_served)
{
    struct grpc_fixture *f = grpc_fixture_start(112, NULL);
    struct buf reply = BUF_EMPTY;
    for (int i = 0; i < 2000; i++) {
        grpc_client_ping(f->client);
        buf_clear(&reply);
        EXPECT_EQ(grpc_client_unary(f->client, "/test.Things/Echo", NULL, SLICE("x"), &reply), GRPC_OK);
    }
    buf_done(&reply);
    grpc_fixture_stop(f);
}

TEST(grpc, calls_that_are_begun_and_cancelled_at_once_do_not_go_on_for_ever)
{
    struct grpc_fixture *f = grpc_fixture_start(111, NULL);
    struct buf b = BUF_EMPTY;
    for (uint32_t i = 0; i < MANY; i++) {
        put_call(&b, 2 * i + 1);
        put_frame(&b, RST_STREAM, NO_FLAGS, 2 * i + 1, SLICE("\0\0\0\x08"));
    }
    sim_run_for(f->sim, 100);
    grpc_client_raw(f->client, buf_slice(&b));
    expect_thrown_out(f, f->client);
    EXPECT(f->begun >= 900 && f->begun < 1200);
    EXPECT_EQ(f->gone, f->begun - 1);   /* one more call: that of the other client */
    buf_done(&b);
    grpc_fixture_stop(f);
}

TEST(grpc, headers_that_do_not_end_are_not_kept)
{
    struct grpc_fixture *f = grpc_fixture_start(112, NULL);
    struct buf b = BUF_EMPTY;
    sim_run_for(f->sim, 100);
    put_frame(&b, HEADERS, NO_FLAGS, 1, SLICE("\x83"));
    for (int i = 0; i < MANY; i++) put_frame(&b, CONTINUATION, NO_FLAGS, 1, SLICE("\x00\x01x\x01y"));
    grpc_client_raw(f->client, buf_slice(&b));
    expect_thrown_out(f, f->client);
    buf_done(&b);
    grpc_fixture_stop(f);
}

TEST(grpc, headers_longer_than_allowed_end_the_call_alone)
{
    struct grpc_fixture *f = grpc_fixture_start(113, NULL);
    char *longer = must_zero(20001);
    memset(longer, 'x', 20000);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Echo", (const char *[]){"a", longer, "b", longer, NULL});
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_RESOURCE_EXHAUSTED);
    EXPECT_TEXT(grpc_client_header(k, ":status"), "431");
    EXPECT_EQ(f->begun, 0);
    expect_others_are_served(f);
    free(longer);
    grpc_fixture_stop(f);
}

static void few_streams(struct grpc_options *o) { o->max_streams = 10; }

TEST(grpc, no_more_calls_are_open_than_allowed)
{
    struct grpc_fixture *f = grpc_fixture_start(114, few_streams);
    for (int i = 0; i < 30; i++) grpc_client_call(f->client, "/test.Things/Keep", NULL);
    sim_run_for(f->sim, 2000);
    EXPECT_EQ(grpc_server_calls(f->server), 10);
    grpc_fixture_stop(f);
}

static void small(struct grpc_options *o)
{
    o->max_message_bytes = 100000;
    o->max_unsent_bytes = 50000;
}

TEST(grpc, a_message_larger_than_allowed_ends_the_call_before_it_has_come)
{
    struct grpc_fixture *f = grpc_fixture_start(115, small);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Echo", NULL);
    grpc_client_send_raw(k, SLICE("\0\0\1\x86\xa1x"));   /* 100001 bytes are promised */
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_RESOURCE_EXHAUSTED);
    EXPECT(strstr(grpc_client_status_text(k), "100000"));
    EXPECT_EQ(f->messages, 0);
    expect_others_are_served(f);
    grpc_fixture_stop(f);
}

TEST(grpc, unfinished_messages_of_one_connection_are_bounded_and_all_come_whole_in_the_end)
{
    enum { CALLS = 20, SIZE = 90000 };
    struct grpc_fixture *f = grpc_fixture_start(116, small);
    struct grpc_client_call *k[CALLS];
    uint8_t *bytes = must_zero(SIZE);
    sim_run_for(f->sim, 100);
    for (int i = 0; i < CALLS; i++) {
        k[i] = grpc_client_call(f->client, "/test.Things/Keep", NULL);
        grpc_client_send_raw(k[i], SLICE("\0\0\1\x5f\x90"));   /* 90000 */
        grpc_client_send_raw(k[i], slice_of(bytes, SIZE - 10));
    }
    sim_run_for(f->sim, 5000);
    EXPECT_EQ(f->messages, 0);
    /* The limit, one window of each call that waits, and the first call's message: not 20 messages. */
    EXPECT(grpc_server_unfinished(f->server) <= 100000 + CALLS * 65535 + SIZE);
    for (int i = 0; i < CALLS; i++) grpc_client_send_raw(k[i], slice_of(bytes, 10));
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(f->messages, CALLS);
    EXPECT_EQ(f->message_bytes, CALLS * SIZE);
    EXPECT_EQ(grpc_server_unfinished(f->server), 0);
    free(bytes);
    grpc_fixture_stop(f);
}

TEST(grpc, while_replies_are_not_taken_messages_wait_and_all_is_answered_when_they_are)
{
    enum { MESSAGES = 300 };
    struct grpc_fixture *f = grpc_fixture_start(117, small);
    struct grpc_client *slow = grpc_fixture_client(f, &(struct grpc_client_options){.window = 1000});
    struct grpc_client_call *k = grpc_client_call(slow, "/test.Things/Echo", NULL);
    uint8_t bytes[1000] = {7};
    struct slice reply;
    grpc_client_pause(slow, true);
    for (int i = 0; i < MESSAGES; i++) grpc_client_send(k, slice_of(bytes, sizeof bytes));
    grpc_client_half_close(k);
    sim_run_for(f->sim, 5000);
    EXPECT(f->messages >= 48 && f->messages < 60);
    EXPECT_EQ(f->half_closed, 0);
    expect_others_are_served(f);
    grpc_client_pause(slow, false);
    for (int i = 0; i < MESSAGES; i++) {
        EXPECT(grpc_client_message(k, WAIT_MS, &reply));
        EXPECT_EQ(reply.n, sizeof bytes);
    }
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_OK);
    grpc_client_close(slow);
    grpc_fixture_stop(f);
}

TEST(grpc, a_connection_that_takes_nothing_for_too_long_is_ended)
{
    struct grpc_fixture *f = grpc_fixture_start(118, small);
    struct grpc_client *stuck = grpc_fixture_client(f, &(struct grpc_client_options){.window = 1000, .keeps_windows = true});
    struct grpc_client_call *k = grpc_client_call(stuck, "/test.Things/Count", NULL);
    grpc_client_send(k, SLICE("100"));
    sim_run_for(f->sim, 20000);
    EXPECT_EQ(f->gone, 0);
    EXPECT(grpc_client_ended(stuck, 20000));
    EXPECT_EQ(f->gone, 1);
    grpc_client_close(stuck);
    expect_others_are_served(f);
    grpc_fixture_stop(f);
}

TEST(grpc, an_answer_that_is_not_taken_for_too_long_is_dropped)
{
    struct grpc_fixture *f = grpc_fixture_start(119, NULL);
    struct grpc_client *stuck = grpc_fixture_client(f, &(struct grpc_client_options){.window = 1000, .keeps_windows = true});
    struct grpc_client_call *k = grpc_client_call(stuck, "/test.Things/Count", NULL);
    grpc_client_send(k, SLICE("100"));
    grpc_client_half_close(k);
    sim_run_for(f->sim, 40000);
    EXPECT_EQ(f->half_closed, 1);
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), -2);
    EXPECT_EQ(f->released, f->pins);
    grpc_client_close(stuck);
    grpc_fixture_stop(f);
}

TEST(grpc, bytes_that_are_not_http2_end_the_connection)
{
    struct grpc_fixture *f = grpc_fixture_start(120, NULL);
    grpc_client_call(f->client, "/test.Things/Keep", NULL);
    sim_run_for(f->sim, 1000);
    flood(f->client, HEADERS, 0, SLICE("nonsense"), 1);
    EXPECT(grpc_client_ended(f->client, WAIT_MS));
    EXPECT_EQ(grpc_client_goaway(f->client), PROTOCOL_ERROR);
    EXPECT_EQ(f->gone, 1);
    expect_others_are_served(f);
    grpc_fixture_stop(f);
}
