/* grpc.health.v1.Health. */
#include "grpc/grpc_fixture.h"

#include "grpc/fields.h"
#include "grpc/health.h"

static struct grpc_fixture *start(uint64_t seed, struct health **h)
{
    struct grpc_fixture *f = grpc_fixture_start(seed, NULL);
    *h = health_new();
    health_add(*h, "test.Things");
    f->services[1] = health_service(*h);
    return f;
}

static void stop(struct grpc_fixture *f, struct health *h)
{
    grpc_fixture_stop(f);
    health_free(h);
}

static int ask(struct grpc_fixture *f, struct slice request, struct buf *reply)
{
    return grpc_client_unary(f->client, "/grpc.health.v1.Health/Check", NULL, request, reply);
}

TEST(health, a_check_tells_whether_a_service_is_there)
{
    struct health *h;
    struct grpc_fixture *f = start(1, &h);
    struct buf reply = BUF_EMPTY;
    EXPECT_EQ(ask(f, SLICE(""), &reply), GRPC_OK);
    EXPECT_TEXT(buf_slice(&reply), "\x08\x01");
    EXPECT_EQ(ask(f, SLICE("\x0a\x0btest.Things"), &reply), GRPC_OK);
    EXPECT_TEXT(buf_slice(&reply), "\x08\x01");
    EXPECT_EQ(ask(f, SLICE("\x0a\x03zzz"), &reply), GRPC_NOT_FOUND);
    EXPECT_EQ(ask(f, SLICE("\x0a\x7fzzz"), &reply), GRPC_INVALID_ARGUMENT);
    health_leave(h);
    EXPECT_EQ(ask(f, SLICE(""), &reply), GRPC_OK);
    EXPECT_TEXT(buf_slice(&reply), "\x08\x02");
    buf_done(&reply);
    stop(f, h);
}

static void leave(void *ctx) { health_leave(ctx); }

TEST(health, who_watches_is_told_when_the_server_leaves)
{
    struct health *h;
    struct grpc_fixture *f = start(2, &h);
    struct slice told;
    struct grpc_client_call *k = grpc_client_call(f->client, "/grpc.health.v1.Health/Watch", NULL);
    struct grpc_client_call *other = grpc_client_call(f->client, "/grpc.health.v1.Health/Watch", NULL);
    grpc_client_send(k, SLICE(""));
    grpc_client_half_close(k);
    grpc_client_send(other, SLICE("\x0a\x03zzz"));
    EXPECT(grpc_client_message(k, WAIT_MS, &told));
    EXPECT_TEXT(told, "\x08\x01");
    EXPECT(grpc_client_message(other, WAIT_MS, &told));
    EXPECT_TEXT(told, "\x08\x03");
    grpc_client_cancel(other);
    sim_run_for(f->sim, 1000);
    sim_call(f->loop, leave, h);
    EXPECT(grpc_client_message(k, WAIT_MS, &told));
    EXPECT_TEXT(told, "\x08\x02");
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_UNAVAILABLE);
    stop(f, h);
}

TEST(fields, are_read_one_by_one_and_broken_ones_end_it)
{
    struct field_read r;
    struct buf b = BUF_EMPTY;
    field_put_varint(&b, 1, 300);
    field_put_bytes(&b, 200, SLICE("abc"));
    struct slice rest = buf_slice(&b);
    EXPECT(field_next(&rest, &r));
    EXPECT_EQ(r.number, 1);
    EXPECT_EQ(r.value, 300);
    EXPECT(field_next(&rest, &r));
    EXPECT_EQ(r.number, 200);
    EXPECT_TEXT(r.bytes, "abc");
    EXPECT(!field_next(&rest, &r));
    EXPECT_EQ(rest.n, 0);
    const struct slice broken[] = {SLICE("\x00"), SLICE("\x0a\x05" "abc"), SLICE("\x08"), SLICE("\x0b"), SLICE("\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        rest = broken[i];
        EXPECT(!field_next(&rest, &r));
        EXPECT(rest.n);
    }
    buf_done(&b);
}
