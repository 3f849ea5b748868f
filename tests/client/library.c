/* The library as its users have it, with real threads, against a real server at $NAMESRV. Run by tests/client/run. */
#include <skylark/skylark.h>

#include "kit/test.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static void okay(struct sky_error *e, int line)
{
    if (e) fail_msg("line %d: %s: %s", line, sky_code_name(sky_error_code(e)), sky_error_text(e));
}
#define OKAY(call) okay((call), __LINE__)

static enum sky_code code(struct sky_error *e)
{
    enum sky_code c = sky_error_code(e);
    sky_error_free(e);
    return c;
}

static struct sky_client *open_client(const char *servers, int32_t threads)
{
    struct sky_client_options *o = sky_client_options_new();
    struct sky_client *c;
    OKAY(sky_client_options_set_name_servers(o, servers));
    OKAY(sky_client_options_set_callback_threads(o, threads));
    OKAY(sky_client_open(o, &c));
    sky_client_options_free(o);
    return c;
}

static struct sky_producer *open_producer(struct sky_client *c, int64_t pending)
{
    struct sky_producer_options *o = sky_producer_options_new("library_test");
    struct sky_producer *p;
    OKAY(sky_producer_options_set_max_pending(o, pending, 1 << 20));
    OKAY(sky_producer_open(c, o, &p));
    sky_producer_options_free(o);
    return p;
}

/* --- many threads --- */

enum { SENDERS = 4, EACH = 100 };

static void *send_each(void *ctx)
{
    struct sky_message *m = sky_message_new("Library", "hello", 5);
    for (int i = 0; i < EACH; i++) {
        struct sky_receipt *r;
        OKAY(sky_producer_send(ctx, m, NULL, &r));
        assert_int_equal(sky_receipt_stored(r), SKY_STORED);
        sky_receipt_free(r);
    }
    sky_message_free(m);
    return NULL;
}

TEST(library, several_threads_send_and_wait_with_room_for_two)
{
    struct sky_client *c = open_client(getenv("NAMESRV"), 1);
    struct sky_producer *p = open_producer(c, 2);
    pthread_t senders[SENDERS];
    for (int i = 0; i < SENDERS; i++) pthread_create(&senders[i], NULL, send_each, p);
    for (int i = 0; i < SENDERS; i++) pthread_join(senders[i], NULL);
    struct sky_producer_statistics s = {.size = sizeof s};
    OKAY(sky_producer_get_statistics(p, &s));
    EXPECT_EQ(s.sent, SENDERS * EACH);
    EXPECT_EQ(s.pending_messages, 0);
    s.size = 1;
    EXPECT_EQ(code(sky_producer_get_statistics(p, &s)), SKY_INVALID);
    sky_producer_free(p);
    sky_client_free(c);
}

/* --- callbacks --- */

struct world {
    struct sky_client *client;
    struct sky_producer *producer;
    atomic_int calls, refusals, nested;
};

static void nested_sent(void *user, const struct sky_error *e, const struct sky_receipt *r)
{
    struct world *w = user;
    EXPECT(!e && r);
    atomic_fetch_add(&w->nested, 1);
}

/* What a callback may do and what it may not. */
static void sent(void *user, const struct sky_error *e, const struct sky_receipt *r)
{
    struct world *w = user;
    struct sky_message *m = sky_message_new("Library", "more", 4);
    EXPECT(!e && r);
    OKAY(sky_producer_send(w->producer, m, NULL, NULL));
    OKAY(sky_producer_send_async(w->producer, m, NULL, nested_sent, w));
    sky_message_free(m);
    if (code(sky_producer_shutdown(w->producer)) == SKY_STATE) atomic_fetch_add(&w->refusals, 1);
    if (code(sky_client_shutdown(w->client)) == SKY_STATE) atomic_fetch_add(&w->refusals, 1);
    atomic_fetch_add(&w->calls, 1);
}

TEST(library, a_callback_may_send_and_wait_but_not_wait_for_its_own_end)
{
    struct world w = {.client = open_client(getenv("NAMESRV"), 1)};
    w.producer = open_producer(w.client, 1000);
    struct sky_message *m = sky_message_new("Library", "hello", 5);
    for (int i = 0; i < 10; i++) OKAY(sky_producer_send_async(w.producer, m, NULL, sent, &w));
    sky_message_free(m);
    while (atomic_load(&w.calls) < 10) sched_yield();
    sky_producer_free(w.producer);
    EXPECT_EQ(w.refusals, 20);
    EXPECT_EQ(w.nested, 10);
    sky_client_free(w.client);
}

static void count_call(void *user, const struct sky_error *e, const struct sky_receipt *r)
{
    EXPECT(!e != !r);
    atomic_fetch_add((atomic_int *)user, 1);
}

static void *shut_down(void *ctx)
{
    OKAY(sky_client_shutdown(ctx));
    return NULL;
}

TEST(library, shutdowns_from_several_threads_return_when_every_callback_has_run)
{
    for (int round = 0; round < 20; round++) {
        struct sky_client *c = open_client(getenv("NAMESRV"), 3);
        struct sky_producer *p = open_producer(c, 1000);
        struct sky_message *m = sky_message_new("Library", "hello", 5);
        atomic_int calls = 0;
        int taken = 0;
        pthread_t others[2];
        for (int i = 0; i < 50; i++) taken += code(sky_producer_send_async(p, m, NULL, count_call, &calls)) == SKY_OK;
        for (int i = 0; i < 2; i++) pthread_create(&others[i], NULL, shut_down, c);
        for (int i = 0; i < 50; i++) taken += code(sky_producer_send_async(p, m, NULL, count_call, &calls)) == SKY_OK;
        OKAY(sky_client_shutdown(c));
        EXPECT_EQ(calls, taken);
        EXPECT(taken >= 50);
        EXPECT_EQ(code(sky_producer_send(p, m, NULL, NULL)), SKY_CLOSED);
        for (int i = 0; i < 2; i++) pthread_join(others[i], NULL);
        if (round % 2) sky_client_free(c);
        sky_producer_free(p);   /* before or after its client */
        if (!(round % 2)) sky_client_free(c);
        sky_message_free(m);
    }
}

/* --- consumers --- */

enum { CONSUMED = 500 };

struct taker {
    struct sky_push_consumer *consumer;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int fine, late, states, most, inside;
};

/* Fails each message once; tries what a callback may not. */
static enum sky_consumed take(void *user, struct sky_consume_context *x, const struct sky_message *const *messages, size_t count)
{
    struct taker *t = user;
    bool again = sky_message_reconsume_times(messages[0]) > 0;
    EXPECT_EQ(count, 1);
    sky_consume_context_set_delay_level(x, 1);
    pthread_mutex_lock(&t->lock);
    if (++t->inside > t->most) t->most = t->inside;
    *(again ? &t->fine : &t->late) += 1;
    pthread_cond_broadcast(&t->changed);
    while (t->most < 3) pthread_cond_wait(&t->changed, &t->lock);   /* several threads are at it */
    t->inside--;
    pthread_mutex_unlock(&t->lock);
    if (!again && code(sky_push_consumer_shutdown(t->consumer)) == SKY_STATE) __atomic_fetch_add(&t->states, 1, __ATOMIC_RELAXED);
    return again ? SKY_CONSUMED : SKY_CONSUME_LATER;
}

TEST(library, a_consumer_gets_what_failed_again_on_several_threads)
{
    struct sky_client *c = open_client(getenv("NAMESRV"), 1);
    struct sky_producer *p = open_producer(c, 1000);
    struct taker t = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct sky_push_consumer_options *o = sky_push_consumer_options_new("library_takers");
    struct sky_message *m = sky_message_new("LibraryConsumed", "hello", 5);
    for (int i = 0; i < CONSUMED; i++) OKAY(sky_producer_send_async(p, m, NULL, NULL, NULL));
    sky_message_free(m);
    sky_producer_free(p);
    OKAY(sky_push_consumer_options_set_start(o, SKY_START_FIRST, 0));
    OKAY(sky_push_consumer_options_set_threads(o, 3));
    pthread_mutex_lock(&t.lock);                      /* until the callback knows its consumer */
    OKAY(sky_push_consumer_open(c, o, take, &t, &t.consumer));
    sky_push_consumer_options_free(o);
    OKAY(sky_push_consumer_subscribe(t.consumer, "LibraryConsumed", NULL));
    while (t.fine < CONSUMED) pthread_cond_wait(&t.changed, &t.lock);
    pthread_mutex_unlock(&t.lock);
    OKAY(sky_push_consumer_shutdown(t.consumer));
    struct sky_push_consumer_statistics s = {.size = sizeof s};
    OKAY(sky_push_consumer_get_statistics(t.consumer, &s));
    EXPECT_EQ(t.late, CONSUMED);
    EXPECT_EQ(t.states, CONSUMED);
    EXPECT_EQ(t.most, 3);
    EXPECT_EQ(s.consumed, CONSUMED);
    EXPECT_EQ(s.failed, CONSUMED);
    EXPECT_EQ(s.queues, 0);
    sky_push_consumer_free(t.consumer);
    sky_client_free(c);
}

/* --- the process it lives in --- */

TEST(library, signals_of_the_process_stay_as_they_were)
{
    struct sigaction before, after;
    sigaction(SIGPIPE, NULL, &before);
    struct sky_client *c = open_client(getenv("NAMESRV"), 1);
    sigaction(SIGPIPE, NULL, &after);
    EXPECT(before.sa_handler == after.sa_handler && after.sa_handler == SIG_DFL);
    sky_client_free(c);
}

struct lines {
    pthread_mutex_t lock;
    int count;
    bool started, ended;
};

static void take_line(void *user, enum sky_log_level level, const char *line)
{
    struct lines *l = user;
    pthread_mutex_lock(&l->lock);
    EXPECT_EQ(level, SKY_LOG_INFO);
    EXPECT(!strchr(line, '\n'));
    l->count++;
    l->started |= strstr(line, "client.started id=") == line;
    l->ended |= strstr(line, "client.ended id=") == line;
    pthread_mutex_unlock(&l->lock);
}

TEST(library, lines_go_to_the_log_of_their_client_and_to_no_other)
{
    struct lines with = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct sky_client *quiet = open_client(getenv("NAMESRV"), 1), *c;
    struct sky_client_options *o = sky_client_options_new();
    OKAY(sky_client_options_set_name_servers(o, getenv("NAMESRV")));
    sky_client_options_set_log(o, SKY_LOG_INFO, take_line, &with);
    OKAY(sky_client_open(o, &c));
    sky_client_options_free(o);
    struct sky_producer *p = open_producer(quiet, 10);
    struct sky_message *m = sky_message_new("Library", "hello", 5);
    OKAY(sky_producer_send(p, m, NULL, NULL));
    sky_message_free(m);
    sky_producer_free(p);
    sky_client_free(quiet);
    sky_client_free(c);
    EXPECT(with.started && with.ended);
    EXPECT_EQ(with.count, 2);   /* the other one's route is not among them */
}

TEST(library, nobody_there_is_an_error_within_the_time_and_no_hang_at_the_end)
{
    struct sky_client *c = open_client("127.0.0.1:1;nosuchhost.invalid:9876", 1);
    struct sky_producer *p = open_producer(c, 10);
    struct sky_message *m = sky_message_new("Library", "hello", 5);
    enum sky_code failed = code(sky_producer_send(p, m, NULL, NULL));
    EXPECT(failed == SKY_NETWORK || failed == SKY_TIMEOUT);
    failed = code(sky_producer_preload(p, "Library"));
    EXPECT(failed == SKY_NETWORK || failed == SKY_TIMEOUT);
    sky_message_free(m);
    sky_client_free(c);
    sky_producer_free(p);
}

TEST(library, options_refuse_what_cannot_be_and_name_it)
{
    struct sky_client_options *o = sky_client_options_new();
    struct sky_client *c;
    EXPECT_EQ(code(sky_client_open(o, &c)), SKY_INVALID);
    EXPECT_EQ(code(sky_client_options_set_name_servers(o, "nowhere")), SKY_NETWORK);
    EXPECT_EQ(code(sky_client_options_set_name_servers(o, " ; ")), SKY_INVALID);
    EXPECT_EQ(code(sky_client_options_set_address(o, "no address")), SKY_NETWORK);
    EXPECT_EQ(code(sky_client_options_set_callback_threads(o, 0)), SKY_INVALID);
    struct sky_error *e = sky_client_options_set_heartbeat_ms(o, 5);
    EXPECT(strstr(sky_error_text(e), "heartbeat_ms is 5, and must be from 1000 to 3600000"));
    sky_error_free(e);
    sky_client_options_free(o);
    struct sky_producer_options *p = sky_producer_options_new("a group");
    EXPECT_EQ(code(sky_producer_options_set_compression(p, (enum sky_compression)9, 1)), SKY_INVALID);
    EXPECT_EQ(code(sky_producer_options_set_compression(p, SKY_ZSTD, 20)), SKY_INVALID);
    c = open_client(getenv("NAMESRV"), 1);
    struct sky_producer *producer;
    EXPECT_EQ(code(sky_producer_open(c, p, &producer)), SKY_INVALID);
    sky_producer_options_free(p);
    sky_client_free(c);
    sky_client_free(NULL);
    sky_producer_free(NULL);
    EXPECT(strcmp(sky_version(), SKY_VERSION) == 0);
}
