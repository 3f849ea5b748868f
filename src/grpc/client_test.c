/* The client's side against our own server. */
#include "grpc/grpc_fixture.h"

#include "grpc/client.h"
#include "net/tls.h"

#include <stdlib.h>

struct asker {
    struct grpc_fixture *f;
    struct unary_client_options options;
    struct unary_client *client;
    const char *path;
    struct slice request;
    int64_t timeout_ms;
    int answers;
    enum grpc_status status;
    char *text;
    struct buf message;
    bool closes;                 /* inside of done */
};

static void on_answer(void *ctx, const struct grpc_answer *a)
{
    struct asker *k = ctx;
    k->answers++;
    k->status = a->status;
    free(k->text);
    k->text = must_dup(a->text);
    buf_clear(&k->message);
    buf_put_slice(&k->message, a->message);
    if (k->closes) unary_client_close(k->client), k->client = NULL;
}

static void begin(void *ctx)
{
    struct asker *k = ctx;
    if (!k->client) k->client = unary_client_new(k->f->client_loop, &k->options);
    unary_client_call(k->client, k->path, k->request, k->timeout_ms, on_answer, k);
}

static void end(void *ctx)
{
    struct asker *k = ctx;
    unary_client_close(k->client);
    k->client = NULL;
}

static void asker_init(struct asker *k, struct grpc_fixture *f)
{
    *k = (struct asker){.f = f, .options = {.host = "10.0.0.1", .port = PORT}, .path = "/test.Things/Echo", .request = SLICE("hello"), .timeout_ms = 3000};
}

static void asker_done(struct asker *k)
{
    sim_call(k->f->client_loop, end, k);
    buf_done(&k->message);
    free(k->text);
}

static bool is_answered(void *ctx) { return ((struct asker *)ctx)->answers; }

static enum grpc_status ask(struct asker *k)
{
    k->answers = 0;
    sim_call(k->f->client_loop, begin, k);
    EXPECT(sim_run_until(k->f->sim, is_answered, k, WAIT_MS));
    sim_run_for(k->f->sim, 100);
    EXPECT_EQ(k->answers, 1);
    return k->status;
}

TEST(unary, calls_follow_each_other_on_one_connection)
{
    struct grpc_fixture *f = grpc_fixture_start(1, NULL);
    struct asker k;
    asker_init(&k, f);
    EXPECT_EQ(ask(&k), GRPC_OK);
    int64_t connections = metric_get(&f->metrics, METRIC_CONNECTIONS);
    for (int i = 0; i < 4; i++) {
        EXPECT_EQ(ask(&k), GRPC_OK);
        EXPECT_TEXT(buf_slice(&k.message), "hello");
    }
    EXPECT_EQ(metric_get(&f->metrics, METRIC_CONNECTIONS), connections);
    EXPECT_EQ(f->begun, 5);
    asker_done(&k);
    grpc_fixture_stop(f);
}

TEST(unary, a_large_request_is_packed_and_comes_whole)
{
    struct grpc_fixture *f = grpc_fixture_start(2, NULL);
    struct asker k;
    static uint8_t bytes[600000];
    for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (uint8_t)(i * i >> 7);
    asker_init(&k, f);
    k.request = slice_of(bytes, sizeof bytes);
    EXPECT_EQ(ask(&k), GRPC_OK);
    EXPECT(slice_eq(buf_slice(&k.message), k.request));
    asker_done(&k);
    asker_init(&k, f);
    k.request = slice_of(bytes, sizeof bytes);
    k.options.pack = true;
    EXPECT_EQ(ask(&k), GRPC_OK);
    EXPECT(slice_eq(buf_slice(&k.message), k.request));
    asker_done(&k);
    grpc_fixture_stop(f);
}

TEST(unary, headers_and_the_time_limit_come_with_the_call)
{
    static const char *const headers[] = {"x-key", "secret", NULL};
    struct grpc_fixture *f = grpc_fixture_start(3, NULL);
    struct asker k;
    asker_init(&k, f);
    k.options.headers = headers;
    k.path = "/test.Things/Header";
    k.request = SLICE("x-key");
    EXPECT_EQ(ask(&k), GRPC_OK);
    EXPECT(slice_starts(buf_slice(&k.message), SLICE("secret|2")));   /* of 3,000 ms */
    asker_done(&k);
    grpc_fixture_stop(f);
}

TEST(unary, what_goes_wrong_has_its_status_and_text)
{
    struct grpc_fixture *f = grpc_fixture_start(4, NULL);
    struct asker k;
    asker_init(&k, f);
    k.path = "/test.Things/Fail";
    EXPECT_EQ(ask(&k), GRPC_NOT_FOUND);
    EXPECT(strstr(k.text, "no such thing: 100%?"));
    k.path = "/test.Things/Nothing";
    EXPECT_EQ(ask(&k), GRPC_UNIMPLEMENTED);
    k.path = "/test.Things/Keep";
    EXPECT_EQ(ask(&k), GRPC_DEADLINE_EXCEEDED);
    k.path = "/test.Things/Count";
    k.request = SLICE("1000");
    EXPECT_EQ(ask(&k), GRPC_RESOURCE_EXHAUSTED);
    k.request = SLICE("2");
    EXPECT_EQ(ask(&k), GRPC_INTERNAL);   /* not one message */
    k.path = "/test.Things/Echo";
    EXPECT_EQ(ask(&k), GRPC_OK);         /* and again */
    asker_done(&k);
    grpc_fixture_stop(f);
}

TEST(unary, nobody_there_is_told_and_so_is_a_server_that_goes)
{
    struct grpc_fixture *f = grpc_fixture_start(5, NULL);
    struct asker k;
    asker_init(&k, f);
    k.options.port = PORT + 1;
    EXPECT_EQ(ask(&k), GRPC_UNAVAILABLE);
    asker_done(&k);
    asker_init(&k, f);
    k.path = "/test.Things/Keep";
    sim_call(f->client_loop, begin, &k);
    sim_run_for(f->sim, 500);
    EXPECT_EQ(k.answers, 0);
    grpc_fixture_stop_server(f);
    sim_run_for(f->sim, 500);
    EXPECT_EQ(k.status, GRPC_UNAVAILABLE);
    asker_done(&k);
    grpc_fixture_stop(f);
}

TEST(unary, a_client_may_be_closed_in_its_answer_or_while_it_waits)
{
    struct grpc_fixture *f = grpc_fixture_start(6, NULL);
    struct asker k;
    asker_init(&k, f);
    k.closes = true;
    EXPECT_EQ(ask(&k), GRPC_OK);
    k.path = "/test.Things/Keep";
    k.answers = 0;
    sim_call(f->client_loop, begin, &k);
    sim_call(f->client_loop, end, &k);   /* connecting */
    sim_call(f->client_loop, begin, &k);
    sim_run_for(f->sim, 500);
    sim_call(f->client_loop, end, &k);   /* under way */
    sim_run_for(f->sim, WAIT_MS);
    EXPECT_EQ(k.answers, 0);
    asker_done(&k);
    grpc_fixture_stop(f);
}

/* --- TLS --- */

static struct buf certificate, key;

static void use_tls(struct grpc_options *o)
{
    struct tls *t;
    EXPECT_OK(tls_new(buf_slice(&certificate), buf_slice(&key), &t));
    o->tls = t;
    o->tls_only = false;   /* that of the fixture comes without it */
}

TEST(unary, over_tls_the_server_must_be_the_one_that_was_meant)
{
    struct tls *trusting, *doubting;
    struct asker k;
    EXPECT_OK(tls_make_certificate("collector", &certificate, &key));
    struct grpc_fixture *f = grpc_fixture_start(7, use_tls);
    sim_name(f->sim, "collector", "10.0.0.1");
    sim_name(f->sim, "other", "10.0.0.1");
    EXPECT_OK(tls_client_new(buf_slice(&certificate), &trusting));
    EXPECT_OK(tls_client_new((struct slice){NULL, 0}, &doubting));
    asker_init(&k, f);
    k.options.host = "collector";
    k.options.tls = trusting;
    EXPECT_EQ(ask(&k), GRPC_OK);
    EXPECT_TEXT(buf_slice(&k.message), "hello");
    asker_done(&k);
    asker_init(&k, f);
    k.options.host = "other";
    k.options.tls = trusting;
    EXPECT_EQ(ask(&k), GRPC_UNAVAILABLE);
    EXPECT(strstr(k.text, "certificate verify failed"));
    asker_done(&k);
    asker_init(&k, f);
    k.options.host = "collector";
    k.options.tls = doubting;
    EXPECT_EQ(ask(&k), GRPC_UNAVAILABLE);
    asker_done(&k);
    err_t e = tls_client_new(SLICE("nothing"), &doubting);
    EXPECT(e);
    err_free(e);
    const struct tls *servers = f->options.tls;
    grpc_fixture_stop(f);
    tls_free((struct tls *)servers);
    tls_free(trusting);
    tls_free(doubting);
    buf_done(&certificate);
    buf_done(&key);
}
