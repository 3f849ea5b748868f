/* The libuv loop over loopback: real sockets, free ports, no waiting for the clock. What must hold of any loop is also tested
 * on the simulated one (tests/kit/sim_loop_test.c). */
#include "kit/test.h"

#include "net/loop.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BIG = 32 << 20, CONNECT_MS = 10000 };

/* One server stream and one client stream. */
struct pair {
    struct loop *loop;
    struct listener *listener;
    struct stream *server, *client;
    const struct stream_events *server_events, *client_events;
    struct connect *connect;
    err_t failed;
    struct buf got;             /* what the client read */
    uint64_t counted;           /* bytes that the server read */
    int ends, writtens;
    uint8_t *big;
    void (*ready)(struct pair *p);
};

static void check_ready(struct pair *p)
{
    if (p->server && p->client && p->ready) p->ready(p);
}

static void on_accepted(void *ctx, struct stream *s, const struct addr *remote)
{
    struct pair *p = ctx;
    EXPECT(remote->port != 0);
    p->server = s;
    stream_start(s, p->server_events, p);
    check_ready(p);
}

static void on_connected(void *ctx, err_t e, struct stream *s)
{
    struct pair *p = ctx;
    p->failed = e;
    p->connect = NULL;
    p->client = s;
    if (e) {
        real_loop_stop(p->loop);
        return;
    }
    stream_start(s, p->client_events, p);
    check_ready(p);
}

static void pair_open_at(struct pair *p, struct addr at)
{
    struct listener_events events = {on_accepted, p};
    EXPECT_OK(real_loop_new(&p->loop));
    EXPECT_OK(loop_listen(p->loop, &at, &events, &p->listener));
}

static void pair_open(struct pair *p) { pair_open_at(p, (struct addr){.ip = {127, 0, 0, 1}}); }

static void pair_run(struct pair *p, const char *host)
{
    EXPECT_OK(loop_connect(p->loop, slice_text(host), listener_addr(p->listener).port, CONNECT_MS, on_connected, p, &p->connect));
    real_loop_run(p->loop);
}

static void pair_close(struct pair *p)
{
    if (p->server) stream_close(p->server);
    if (p->client) stream_close(p->client);
    if (p->listener) listener_close(p->listener);
    real_loop_free(p->loop);
    buf_done(&p->got);
    free(p->big);
}

/* --- streams --- */

static void write_text(struct stream *s, const char *text)
{
    struct iovec part = {(void *)(uintptr_t)text, strlen(text)};
    EXPECT_EQ(stream_write(s, &part, 1), WRITE_DONE);
}

static void echo(void *ctx, uint8_t *data, size_t n)
{
    struct pair *p = ctx;
    struct iovec part = {data, n};
    EXPECT_EQ(stream_write(p->server, &part, 1), WRITE_DONE);
}

static void take_hello(void *ctx, uint8_t *data, size_t n)
{
    struct pair *p = ctx;
    buf_put(&p->got, data, n);
    if (p->got.n == 11) real_loop_stop(p->loop);
}

static void never(void *ctx, err_t e)
{
    (void)ctx;
    fail_msg("the stream ended: %s", e ? err_text(e) : "closed");
}

static void nothing(void *ctx) { (void)ctx; }

static const struct stream_events echo_events = {echo, never, nothing};
static const struct stream_events hello_events = {take_hello, never, nothing};

static void say_hello(struct pair *p)
{
    write_text(p->client, "hello ");
    write_text(p->client, "world");
}

static void expect_echo(const char *host)
{
    struct pair p = {.server_events = &echo_events, .client_events = &hello_events, .ready = say_hello};
    pair_open(&p);
    pair_run(&p, host);
    EXPECT_TEXT(buf_slice(&p.got), "hello world");
    pair_close(&p);
}

TEST(uv, bytes_go_there_and_back_in_order) { expect_echo("127.0.0.1"); }

/* Its first address may be that of the other family, where nobody listens. */
TEST(uv, a_name_is_resolved_and_each_of_its_addresses_tried) { expect_echo("localhost"); }

static bool has_ipv6(void)
{
    struct loop *loop;
    struct listener *l;
    struct listener_events events = {on_accepted, NULL};
    EXPECT_OK(real_loop_new(&loop));
    err_t e = loop_listen(loop, &(struct addr){.v6 = true, .ip = {[15] = 1}}, &events, &l);
    if (!e) listener_close(l);
    real_loop_free(loop);
    bool there = !e;
    err_free(e);
    return there;
}

TEST(uv, an_ipv6_address_is_reached_with_its_zone_and_without)
{
    static const char *const hosts[] = {"::1", "::1%lo"};
    if (!has_ipv6()) skip();
    for (size_t i = 0; i < 2; i++) {
        struct pair p = {.server_events = &echo_events, .client_events = &hello_events, .ready = say_hello};
        pair_open_at(&p, (struct addr){.v6 = true, .ip = {[15] = 1}});
        pair_run(&p, hosts[i]);
        EXPECT_TEXT(buf_slice(&p.got), "hello world");
        pair_close(&p);
    }
}

static void count_bytes(void *ctx, uint8_t *data, size_t n)
{
    struct pair *p = ctx;
    for (size_t i = 0; i < n; i += 4096) EXPECT_EQ(data[i], (uint8_t)((p->counted + i) >> 12));
    p->counted += n;
    if (p->counted == BIG && p->writtens) real_loop_stop(p->loop);
}

static void big_written(void *ctx)
{
    struct pair *p = ctx;
    p->writtens++;
    if (p->counted == BIG) real_loop_stop(p->loop);
}

static const struct stream_events counting_events = {count_bytes, never, nothing};
static const struct stream_events writing_events = {count_bytes, never, big_written};

static struct timer read_soon;
static void read_soon_fires(void *ctx)
{
    struct pair *p = ctx;
    EXPECT_EQ(p->counted, 0);
    EXPECT_EQ(p->writtens, 0);   /* nobody read: the write is under way still */
    stream_pause(p->server, false);
}

static void write_big(struct pair *p)
{
    p->big = must_alloc(BIG);
    for (size_t i = 0; i < BIG; i += 4096) memset(p->big + i, (uint8_t)(i >> 12), 4096);
    struct iovec parts[] = {{p->big, BIG / 2}, {p->big + BIG / 2, BIG / 2}};
    stream_pause(p->server, true);
    EXPECT_EQ(stream_write(p->client, parts, 2), WRITE_LATER);
    timer_init(&read_soon, read_soon_fires, p);
    timer_start(&p->loop->tasks, &read_soon, 5);
}

TEST(uv, a_writer_waits_for_a_reader_that_is_paused)
{
    struct pair p = {.server_events = &counting_events, .client_events = &writing_events, .ready = write_big};
    pair_open(&p);
    pair_run(&p, "127.0.0.1");
    EXPECT_EQ(p.counted, BIG);
    EXPECT_EQ(p.writtens, 1);
    pair_close(&p);
}

/* --- closing inside of callbacks --- */

static void close_server(void *ctx, uint8_t *data, size_t n)
{
    struct pair *p = ctx;
    (void)data;
    (void)n;
    stream_close(p->server);
    p->server = NULL;
}

static void close_client(void *ctx, err_t e)
{
    struct pair *p = ctx;
    err_free(e);
    p->ends++;
    stream_close(p->client);
    p->client = NULL;
    real_loop_stop(p->loop);
}

static const struct stream_events closing_events = {close_server, never, nothing};
static const struct stream_events ended_events = {take_hello, close_client, nothing};

TEST(uv, streams_may_be_closed_inside_of_their_own_events)
{
    struct pair p = {.server_events = &closing_events, .client_events = &ended_events, .ready = say_hello};
    pair_open(&p);
    pair_run(&p, "127.0.0.1");
    EXPECT_EQ(p.ends, 1);
    pair_close(&p);
}

static void close_both(struct pair *p)
{
    write_big(p);
    timer_stop(&p->loop->tasks, &read_soon);
    stream_close(p->client);
    p->client = NULL;
    listener_close(p->listener);
    p->listener = NULL;
    real_loop_stop(p->loop);
}

TEST(uv, a_stream_may_be_closed_with_a_write_under_way)
{
    struct pair p = {.server_events = &counting_events, .client_events = &writing_events, .ready = close_both};
    pair_open(&p);
    pair_run(&p, "127.0.0.1");
    EXPECT_EQ(p.writtens, 0);
    pair_close(&p);
}

/* --- listening and connecting that fails --- */

TEST(uv, a_port_in_use_is_named_in_the_error)
{
    struct pair p = {.ready = NULL};
    struct listener *second;
    struct listener_events events = {on_accepted, &p};
    pair_open(&p);
    struct addr taken = listener_addr(p.listener);
    char text[ADDR_TEXT_MAX];
    err_t e = loop_listen(p.loop, &taken, &events, &second);
    EXPECT(e && strstr(err_text(e), addr_format(&taken, text)) && strstr(err_text(e), "in use"));
    EXPECT_ERR(e, ERR_NETWORK);
    pair_close(&p);
}

TEST(uv, a_connection_that_is_refused_is_told_once)
{
    struct pair p = {.client_events = &hello_events};
    pair_open(&p);
    uint16_t port = listener_addr(p.listener).port;
    listener_close(p.listener);
    p.listener = NULL;
    EXPECT_OK(loop_connect(p.loop, SLICE("127.0.0.1"), port, CONNECT_MS, on_connected, &p, &p.connect));
    real_loop_run(p.loop);
    EXPECT_ERR(p.failed, ERR_NETWORK);
    pair_close(&p);
}

static void stop_loop(void *ctx) { real_loop_stop(ctx); }

static void close_ended(void *ctx, err_t e)
{
    struct pair *p = ctx;
    err_free(e);
    stream_close(p->server);
    p->server = NULL;
}

static const struct stream_events unused_events = {count_bytes, close_ended, nothing};

TEST(uv, a_cancelled_connect_is_never_told)
{
    struct pair p = {.client_events = &hello_events};
    struct timer end;
    pair_open(&p);
    EXPECT_OK(loop_connect(p.loop, SLICE("127.0.0.1"), listener_addr(p.listener).port, CONNECT_MS, on_connected, &p, &p.connect));
    connect_cancel(p.connect);
    EXPECT_OK(loop_connect(p.loop, SLICE("localhost"), listener_addr(p.listener).port, CONNECT_MS, on_connected, &p, &p.connect));
    connect_cancel(p.connect);
    timer_init(&end, stop_loop, p.loop);
    timer_start(&p.loop->tasks, &end, 20);
    p.server_events = &unused_events;   /* the connection may have been accepted */
    real_loop_run(p.loop);
    EXPECT(!p.client && !p.failed);
    pair_close(&p);
}

/* --- timers, turns --- */

struct step {
    struct timer timer;
    struct loop *loop;
    char name;
    char *log;
};

static void take_step(void *ctx)
{
    struct step *s = ctx;
    char *end = s->log + strlen(s->log);
    *end = s->name;
    if (s->name == 'z') real_loop_stop(s->loop);
}

TEST(uv, timers_fire_in_the_order_of_their_times_and_stopped_ones_not)
{
    struct loop *loop;
    char log[16] = "";
    static const struct {
        char name;
        int64_t delay_ms;
    } all[] = {{'c', 3}, {'a', 1}, {'x', 2}, {'b', 2}, {'z', 9}, {'d', 3}, {'m', 1}};
    enum { COUNT = sizeof all / sizeof *all };
    struct step steps[COUNT];
    EXPECT_OK(real_loop_new(&loop));
    for (size_t i = 0; i < COUNT; i++) {
        steps[i] = (struct step){.loop = loop, .name = all[i].name, .log = log};
        timer_init(&steps[i].timer, take_step, &steps[i]);
        timer_start(&loop->tasks, &steps[i].timer, all[i].delay_ms);
    }
    timer_stop(&loop->tasks, &steps[2].timer);
    timer_start(&loop->tasks, &steps[6].timer, 5);   /* moved */
    real_loop_run(loop);
    assert_string_equal(log, "abcdmz");
    real_loop_free(loop);
}

static int64_t now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

TEST(uv, timers_that_were_started_before_the_loop_runs_count_from_then_on)
{
    struct loop *loop;
    struct timer timer;
    EXPECT_OK(real_loop_new(&loop));
    timer_init(&timer, stop_loop, loop);
    timer_start(&loop->tasks, &timer, 40);
    for (int64_t end = now_ms() + 60; now_ms() < end;) {}   /* somebody opens a large store */
    int64_t begin = now_ms();
    real_loop_run(loop);
    EXPECT(now_ms() - begin >= 39);   /* clocks are cut to whole milliseconds */
    real_loop_free(loop);
}

struct restless {
    struct timer timer;
    struct turn_hook hook;
    struct loop *loop;
    int fired, turns, turns_before;
};

static void fire_again(void *ctx)
{
    struct restless *r = ctx;
    if (r->fired++) EXPECT(r->turns > r->turns_before);   /* not again in the same turn */
    r->turns_before = r->turns;
    if (r->fired == 5) real_loop_stop(r->loop);
    else timer_start(&r->loop->tasks, &r->timer, 0);
}

static void count_turn(void *ctx) { ((struct restless *)ctx)->turns++; }

TEST(uv, a_timer_that_starts_itself_waits_for_the_next_turn)
{
    struct restless r = {.fired = 0};
    EXPECT_OK(real_loop_new(&r.loop));
    r.hook = (struct turn_hook){.run = count_turn, .ctx = &r};
    tasks_on_turn_end(&r.loop->tasks, &r.hook);
    timer_init(&r.timer, fire_again, &r);
    timer_start(&r.loop->tasks, &r.timer, 0);
    real_loop_run(r.loop);
    EXPECT_EQ(r.fired, 5);
    tasks_off_turn_end(&r.loop->tasks, &r.hook);
    real_loop_free(r.loop);
}

/* --- threads --- */

enum { LETTERS = 1000 };

struct letter {
    struct mail mail;
    struct loop *loop;
    int number;
};

static struct letter letters[LETTERS];
static int delivered;

static void deliver(struct mail *m)
{
    struct letter *letter = LIST_OWNER(m, struct letter, mail);
    assert_on_loop(&letter->loop->tasks);
    EXPECT_EQ(letter->number, delivered);
    if (++delivered == LETTERS) real_loop_stop(letter->loop);
}

static void *post_all(void *ctx)
{
    struct loop *loop = ctx;
    for (int i = 0; i < LETTERS; i++) {
        letters[i] = (struct letter){.mail = {.deliver = deliver}, .loop = loop, .number = i};
        tasks_post(&loop->tasks, &letters[i].mail);
    }
    return NULL;
}

TEST(uv, mail_of_another_thread_comes_once_and_in_order)
{
    struct loop *loop;
    pthread_t thread;
    delivered = 0;
    EXPECT_OK(real_loop_new(&loop));
    EXPECT_EQ(pthread_create(&thread, NULL, post_all, loop), 0);
    real_loop_run(loop);
    pthread_join(thread, NULL);
    EXPECT_EQ(delivered, LETTERS);
    real_loop_free(loop);
}

static int posted, handed_on;

static void post_next(struct loop *loop) { tasks_post(&loop->tasks, &letters[posted++].mail); }

/* Some letters come from inside of a letter, some from the end of a turn; a timer far away would keep a loop that waits asleep. */
static void hand_on(struct mail *m)
{
    struct letter *letter = LIST_OWNER(m, struct letter, mail);
    EXPECT_EQ(letter->number, handed_on);
    if (++handed_on == LETTERS) real_loop_stop(letter->loop);
    else if (handed_on % 2) post_next(letter->loop);
}

static void post_at_turn_end(void *ctx)
{
    if (posted == handed_on && posted < LETTERS) post_next(ctx);
}

static void woke_late(void *ctx) { (void)ctx; EXPECT(false); }

TEST(uv, mail_to_oneself_is_delivered_without_waiting)
{
    struct loop *loop;
    struct timer far;
    posted = handed_on = 0;
    EXPECT_OK(real_loop_new(&loop));
    for (int i = 0; i < LETTERS; i++) letters[i] = (struct letter){.mail = {.deliver = hand_on}, .loop = loop, .number = i};
    struct turn_hook hook = {.run = post_at_turn_end, .ctx = loop};
    tasks_on_turn_end(&loop->tasks, &hook);
    timer_init(&far, woke_late, NULL);
    timer_start(&loop->tasks, &far, 3600000);
    real_loop_run(loop);
    EXPECT_EQ(handed_on, LETTERS);
    timer_stop(&loop->tasks, &far);
    tasks_off_turn_end(&loop->tasks, &hook);
    real_loop_free(loop);
}

struct job {
    struct work work;
    struct loop *loop;
    pthread_t worker;
    atomic_int stage;
};

static void run_job(struct work *w)
{
    struct job *j = LIST_OWNER(w, struct job, work);
    j->worker = pthread_self();
    EXPECT_EQ(atomic_fetch_add(&j->stage, 1), 0);
}

static void job_done(struct work *w)
{
    struct job *j = LIST_OWNER(w, struct job, work);
    assert_on_loop(&j->loop->tasks);
    EXPECT_EQ(atomic_fetch_add(&j->stage, 1), 1);
    real_loop_stop(j->loop);
}

TEST(uv, a_job_runs_on_a_worker_and_ends_on_the_loop)
{
    struct job j = {.work = {.run = run_job, .done = job_done}};
    EXPECT_OK(real_loop_new(&j.loop));
    tasks_work(&j.loop->tasks, &j.work);
    real_loop_run(j.loop);
    EXPECT_EQ(atomic_load(&j.stage), 2);
    EXPECT(!pthread_equal(j.worker, pthread_self()));
    real_loop_free(j.loop);
}
