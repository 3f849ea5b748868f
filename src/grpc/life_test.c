/* How connections end, and packed messages. */
#include "grpc/grpc_fixture.h"

#include "grpc/gzip.h"

#include <stdlib.h>

/* --- idle, dead, drained --- */

TEST(grpc, a_connection_without_calls_is_closed_in_time)
{
    struct grpc_fixture *f = grpc_fixture_start(200, NULL);
    struct grpc_client *busy = grpc_fixture_client(f, NULL);
    grpc_client_call(busy, "/test.Things/Keep", NULL);
    EXPECT(!grpc_client_ended(f->client, 115000));
    EXPECT(grpc_client_ended(f->client, 15000));
    EXPECT_EQ(grpc_client_goaway(f->client), 0);
    EXPECT(!grpc_client_ended(busy, 300000));   /* it answers PINGs */
    grpc_client_close(busy);
    grpc_fixture_stop(f);
}

TEST(grpc, a_client_that_is_gone_without_a_word_is_found)
{
    struct grpc_fixture *f = grpc_fixture_start(201, NULL);
    grpc_client_call(f->client, "/test.Things/Keep", NULL);
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(f->begun, 1);
    sim_partition(f->sim, "10.0.0.1", "10.0.0.2", 1000000);
    sim_run_for(f->sim, 118000);
    EXPECT_EQ(f->gone, 0);
    sim_run_for(f->sim, 40000);
    EXPECT_EQ(f->gone, 1);
    EXPECT_EQ(metric_get(&f->metrics, METRIC_CONNECTIONS), 0);
    grpc_fixture_stop(f);
}

TEST(grpc, how_long_calls_take_is_told_by_method_and_status)
{
    struct grpc_fixture *f = grpc_fixture_start(208, NULL);
    struct metric_names names = {.node_type = "proxy"};
    size_t at = 0;
    metrics_break_down_as(&f->metrics, &names, 100);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Keep", NULL);
    sim_run_for(f->sim, 500);
    EXPECT(grpc_call_header(f->kept, "content-type").n);
    grpc_call_forget_headers(f->kept);
    EXPECT(!grpc_call_header(f->kept, "content-type").n && slice_eq(grpc_call_header(f->kept, ":path"), SLICE("/test.Things/Keep")));
    grpc_fixture_finish_kept(f);
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_OK);
    k = grpc_client_call(f->client, "/test.Nothing/There", NULL);
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_UNIMPLEMENTED);
    const struct series_row *row = metric_series_next(&f->metrics, METRIC_GRPC_LATENCY, &at);
    assert_string_equal(row->labels, "code=\"0\",method=\"Keep\",node_type=\"proxy\",otel_scope_name=\"broker-meter\"");
    EXPECT(row->value > 400000 && row->value < 1000000);   /* microseconds */
    EXPECT(!metric_series_next(&f->metrics, METRIC_GRPC_LATENCY, &at));   /* what no service has makes no series */
    grpc_fixture_stop(f);
}

static void drain(void *ctx) { grpc_server_drain(ctx); }
static void note(void *ctx) { ++*(int *)ctx; }

TEST(grpc, a_server_that_drains_lets_calls_end)
{
    struct grpc_fixture *f = grpc_fixture_start(202, NULL);
    int drained = 0;
    struct grpc_client *idle = grpc_fixture_client(f, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Keep", NULL);
    sim_run_for(f->sim, 1000);
    grpc_server_on_drained(f->server, note, &drained);
    sim_call(f->loop, drain, f->server);
    EXPECT(grpc_client_ended(idle, 1000));
    EXPECT(!grpc_client_ended(f->client, 5000));
    EXPECT_EQ(grpc_client_goaway(f->client), 0);
    EXPECT_EQ(drained, 0);
    grpc_fixture_finish_kept(f);
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_OK);
    EXPECT(grpc_client_ended(f->client, 5000));
    EXPECT_EQ(drained, 1);
    EXPECT_EQ(f->gone, 0);
    grpc_client_close(idle);
    grpc_fixture_stop(f);
}

TEST(grpc, a_server_that_closes_takes_back_every_call)
{
    struct grpc_fixture *f = grpc_fixture_start(203, NULL);
    for (int i = 0; i < 5; i++) grpc_client_call(f->client, "/test.Things/Keep", NULL);
    sim_run_for(f->sim, 1000);
    grpc_client_close(f->client);
    f->client = grpc_fixture_client(f, NULL);
    sim_run_for(f->sim, 1000);
    for (int i = 0; i < 3; i++) grpc_client_call(f->client, "/test.Things/Keep", (const char *[]){"grpc-timeout", "1H", NULL});
    sim_run_for(f->sim, 1000);
    EXPECT_EQ(f->gone, 5);
    struct grpc_client *client = f->client;
    f->client = NULL;
    grpc_fixture_stop_server(f);
    EXPECT_EQ(f->gone, 8);
    EXPECT(grpc_client_ended(client, 1000));
    grpc_client_close(client);
    grpc_fixture_stop(f);
}

/* --- the same over connections that break at any moment, with bytes cut anywhere --- */

TEST(grpc, nothing_is_lost_or_told_twice_over_a_bad_network)
{
    for (uint64_t seed = 300; seed < 320; seed++) {
        struct grpc_fixture *f = grpc_fixture_start(seed, NULL);
        struct sim_options *o = sim_tune(f->sim);
        o->split_permille = 900;
        o->window_min_bytes = 300;
        o->window_max_bytes = 5000;
        struct grpc_client *c = grpc_fixture_client(f, NULL);
        for (int i = 0; i < 10; i++) {
            struct grpc_client_call *k = grpc_client_call(c, i % 2 ? "/test.Things/Count" : "/test.Things/Keep", NULL);
            grpc_client_send(k, SLICE("20"));
            if (i % 3) grpc_client_half_close(k);
        }
        sim_run_for(f->sim, (int64_t)(seed % 7) * 20);
        sim_cut_one(f->sim);
        sim_run_for(f->sim, 5000);
        grpc_client_close(c);
        sim_run_for(f->sim, 5000);
        EXPECT(f->gone <= f->begun);
        EXPECT_EQ(grpc_server_calls(f->server), 0);
        grpc_fixture_stop(f);
    }
}

/* --- packed messages --- */

static void put_packed(struct buf *out, struct slice bytes)
{
    struct buf packed = BUF_EMPTY;
    gzip_pack(bytes, &packed);
    buf_put_u8(out, 1);
    buf_put_be32(out, (uint32_t)packed.n);
    buf_put_slice(out, buf_slice(&packed));
    buf_done(&packed);
}

static const char *const gzipped[] = {"grpc-encoding", "gzip", "grpc-accept-encoding", "identity,deflate,gzip", NULL};

TEST(grpc, packed_messages_are_unpacked_and_large_answers_packed)
{
    struct grpc_fixture *f = grpc_fixture_start(204, NULL);
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Echo", gzipped);
    struct buf b = BUF_EMPTY, unpacked = BUF_EMPTY;
    struct slice reply;
    char *text = must_zero(50001);
    memset(text, 'y', 50000);
    put_packed(&b, slice_text(text));
    put_packed(&b, SLICE("small"));
    grpc_client_send_raw(k, buf_slice(&b));
    grpc_client_half_close(k);
    EXPECT(grpc_client_message(k, WAIT_MS, &reply));
    EXPECT(reply.n < 1000);
    EXPECT_EQ(gzip_unpack(reply, 50000, &unpacked), GZIP_FINE);
    EXPECT(slice_eq(buf_slice(&unpacked), slice_text(text)));
    EXPECT(grpc_client_message(k, WAIT_MS, &reply));
    EXPECT_TEXT(reply, "small");
    EXPECT_TEXT(grpc_client_header(k, "grpc-encoding"), "gzip");
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_OK);
    EXPECT_EQ(f->message_bytes, 50005);
    buf_done(&b);
    buf_done(&unpacked);
    free(text);
    grpc_fixture_stop(f);
}

static void small(struct grpc_options *o) { o->max_message_bytes = 10000; }

static int status_of_raw(struct grpc_fixture *f, const char *const *headers, struct slice bytes)
{
    struct grpc_client_call *k = grpc_client_call(f->client, "/test.Things/Echo", headers);
    grpc_client_send_raw(k, bytes);
    return grpc_client_status(k, WAIT_MS);
}

TEST(grpc, packed_messages_that_are_broken_or_too_large_end_their_call)
{
    struct grpc_fixture *f = grpc_fixture_start(205, small);
    struct buf b = BUF_EMPTY;
    char *bomb = must_zero(1000000);
    put_packed(&b, slice_of(bomb, 1000000));
    EXPECT(b.n < 10000);
    EXPECT_EQ(status_of_raw(f, gzipped, buf_slice(&b)), GRPC_RESOURCE_EXHAUSTED);
    EXPECT_EQ(status_of_raw(f, gzipped, SLICE("\1\0\0\0\4abcd")), GRPC_INTERNAL);
    EXPECT_EQ(status_of_raw(f, gzipped, SLICE("\2\0\0\0\4abcd")), GRPC_INTERNAL);
    EXPECT_EQ(status_of_raw(f, NULL, SLICE("\1\0\0\0\4abcd")), GRPC_INTERNAL);
    EXPECT_EQ(f->messages, 0);
    buf_done(&b);
    free(bomb);
    grpc_fixture_stop(f);
}
