/* Server reflection, with the descriptor of the health service. */
#include "grpc/grpc_fixture.h"

#include "grpc/fields.h"
#include "grpc/reflection.h"

static struct grpc_fixture *start(uint64_t seed, struct reflection **r)
{
    struct grpc_fixture *f = grpc_fixture_start(seed, NULL);
    *r = reflection_new();
    reflection_add(*r, health_descriptor);
    f->services[1] = reflection_service(*r, 0);
    f->services[2] = reflection_service(*r, 1);
    return f;
}

/* The field of the answer that tells: its number, and its bytes within `reply`. */
static struct field_read ask(struct grpc_client_call *k, uint32_t number, const char *what, struct slice *reply)
{
    struct buf b = BUF_EMPTY;
    struct field_read f = {.number = 0};
    field_put_bytes(&b, number, slice_text(what));
    grpc_client_send(k, buf_slice(&b));
    EXPECT(grpc_client_message(k, WAIT_MS, reply));
    struct slice rest = *reply;
    EXPECT(field_next(&rest, &f));
    EXPECT_EQ(f.number, 2);   /* the question, once more */
    EXPECT(slice_eq(f.bytes, buf_slice(&b)));
    EXPECT(field_next(&rest, &f));
    buf_done(&b);
    return f;
}

TEST(reflection, services_files_and_symbols_are_told_in_both_versions)
{
    const char *paths[] = {"/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"};
    for (int v = 0; v < REFLECTION_SERVICES; v++) {
        struct reflection *r;
        struct slice reply;
        struct grpc_fixture *f = start(1, &r);
        struct grpc_client_call *k = grpc_client_call(f->client, paths[v], NULL);
        EXPECT_TEXT(ask(k, 7, "", &reply).bytes, "\x0a\x17\x0a\x15grpc.health.v1.Health");
        const char *symbols[] = {"grpc.health.v1.Health", "grpc.health.v1.Health.Check", "grpc.health.v1.HealthCheckResponse.ServingStatus"};
        for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++) {
            struct field_read found = ask(k, 4, symbols[i], &reply);
            EXPECT_EQ(found.number, 4);
            EXPECT(slice_eq(slice_skip(found.bytes, found.bytes.n - health_descriptor.n), health_descriptor));
        }
        EXPECT_EQ(ask(k, 3, "health.proto", &reply).number, 4);
        const char *unknown[] = {"grpc.health.v1", "grpc.health.v1.Healthy", "grpc.health.v1.Health.Chec", "Health", "", "grpc.health.v1."};
        for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) EXPECT_EQ(ask(k, 4, unknown[i], &reply).number, 7);
        EXPECT_EQ(ask(k, 3, "other.proto", &reply).number, 7);
        EXPECT_EQ(ask(k, 6, "grpc.health.v1.HealthCheckRequest", &reply).number, 7);
        grpc_client_half_close(k);
        EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_OK);
        grpc_fixture_stop(f);
        reflection_free(r);
    }
}

TEST(reflection, a_question_that_cannot_be_read_ends_the_call)
{
    struct reflection *r;
    struct grpc_fixture *f = start(2, &r);
    struct grpc_client_call *k = grpc_client_call(f->client, "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo", NULL);
    grpc_client_send(k, SLICE("\x22\x7f" "abc"));
    EXPECT_EQ(grpc_client_status(k, WAIT_MS), GRPC_INVALID_ARGUMENT);
    grpc_fixture_stop(f);
    reflection_free(r);
}
