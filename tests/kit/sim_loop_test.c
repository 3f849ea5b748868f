#include "kit/test.h"
#include "kit/sim_loop.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* A server that echoes and a client that checks what comes back; both as careful with WRITE_LATER as real code must be. */
struct talker {
    struct loop *loop;
    struct stream *stream;
    struct buf in;                /* all that was received */
    struct buf out;               /* what a WRITE_LATER still needs */
    bool later;
    bool echo;
    int ends;
    enum err_code end_code;
    int data_calls;
    int written_calls;
    int connects;
    enum err_code connect_code;
};

static void talk(struct talker *t, const void *p, size_t n)
{
    EXPECT(!t->later);
    buf_clear(&t->out);
    buf_put(&t->out, p, n);
    struct iovec part = {t->out.p, t->out.n};
    t->later = stream_write(t->stream, &part, 1) == WRITE_LATER;
}

static void on_data(void *ctx, uint8_t *p, size_t n)
{
    struct talker *t = ctx;
    t->data_calls++;
    buf_put(&t->in, p, n);
    memset(p, 0, n);
    if (t->echo && !t->later) {
        talk(t, t->in.p, t->in.n);
        buf_clear(&t->in);
    }
}

static void on_end(void *ctx, err_t e)
{
    struct talker *t = ctx;
    t->ends++;
    t->end_code = err_code(e);
    err_free(e);
    stream_close(t->stream);
    t->stream = NULL;
}

static void on_written(void *ctx)
{
    struct talker *t = ctx;
    t->later = false;
    t->written_calls++;
    if (t->echo && t->in.n) {
        talk(t, t->in.p, t->in.n);
        buf_clear(&t->in);
    }
}

static const struct stream_events talker_events = {on_data, on_end, on_written};

static void on_accept(void *ctx, struct stream *s, const struct addr *remote)
{
    struct talker *t = ctx;
    EXPECT(remote->port != 0);
    t->stream = s;
    t->loop = s->loop;
    stream_start(s, &talker_events, t);
}

static void on_connect(void *ctx, err_t e, struct stream *s)
{
    struct talker *t = ctx;
    t->connects++;
    t->connect_code = err_code(e);
    err_free(e);
    t->stream = s;
    if (s) stream_start(s, &talker_events, t);
}

struct world {
    struct sim *sim;
    struct sim_process *server_process, *client_process;
    struct talker server, client;
    struct listener *listener;
};

enum { PORT = 10911 };

static void world_start_with(struct world *w, const struct sim_options *options)
{
    *w = (struct world){.sim = sim_new(options)};
    w->server_process = sim_process_new(w->sim, "10.0.0.1");
    w->client_process = sim_process_new(w->sim, "10.0.0.2");
    w->server.loop = sim_loop_new(w->server_process);
    w->client.loop = sim_loop_new(w->client_process);
    w->server.echo = true;
    sim_name(w->sim, "echo", "10.0.0.1");
    struct addr any = {.port = PORT};
    struct listener_events events = {on_accept, &w->server};
    EXPECT_OK(loop_listen(w->server.loop, &any, &events, &w->listener));
}

static void world_start(struct world *w, uint64_t seed)
{
    struct sim_options options = sim_options_default(seed);
    world_start_with(w, &options);
}

static void world_stop(struct world *w)
{
    struct talker *both[] = {&w->server, &w->client};
    for (int i = 0; i < 2; i++) {
        if (both[i]->stream) stream_close(both[i]->stream);
        buf_done(&both[i]->in);
        buf_done(&both[i]->out);
    }
    sim_free(w->sim);
}

static bool connected(void *ctx) { return ((struct talker *)ctx)->connects > 0; }
static bool ended(void *ctx) { return ((struct talker *)ctx)->ends > 0; }

static void world_connect(struct world *w)
{
    struct connect *k;
    EXPECT_OK(loop_connect(w->client.loop, SLICE("echo"), PORT, 3000, on_connect, &w->client, &k));
    EXPECT(sim_run_until(w->sim, connected, &w->client, 5000));
    EXPECT_EQ(w->client.connect_code, ERR_NONE);
}

static struct buf pattern(size_t n)
{
    struct buf b = BUF_EMPTY;
    for (size_t i = 0; i < n; i++) buf_put_u8(&b, (uint8_t)(i * 31 + i / 251));
    return b;
}

struct wanted {
    struct talker *talker;
    size_t bytes;
};
static bool has_bytes(void *ctx) { return ((struct wanted *)ctx)->talker->in.n >= ((struct wanted *)ctx)->bytes; }

/* Sends n bytes to the echo and waits until they are back. */
static bool echo(struct world *w, size_t n, int64_t limit_ms)
{
    struct buf b = pattern(n);
    buf_clear(&w->client.in);
    talk(&w->client, b.p, b.n);
    struct wanted wanted = {&w->client, n};
    bool back = sim_run_until(w->sim, has_bytes, &wanted, limit_ms);
    if (back) EXPECT(slice_eq(buf_slice(&w->client.in), buf_slice(&b)));
    buf_done(&b);
    return back;
}

TEST(sim_net, bytes_come_back_whole_and_in_order)
{
    for (uint64_t seed = 1; seed <= 50; seed++) {
        struct world w;
        world_start(&w, seed);
        world_connect(&w);
        EXPECT(echo(&w, 1, 2000));
        EXPECT(echo(&w, 1000, 2000));
        EXPECT(echo(&w, 100000, 5000));
        world_stop(&w);
    }
}

TEST(sim_net, large_writes_meet_a_full_window)
{
    struct sim_options options = sim_options_default(3);
    options.window_min_bytes = options.window_max_bytes = 4096;
    struct world w;
    world_start_with(&w, &options);
    world_connect(&w);
    EXPECT(echo(&w, 1000000, 60000));
    EXPECT(w.client.written_calls > 0);
    EXPECT(w.server.written_calls > 0);
    world_stop(&w);
}

TEST(sim_net, a_write_arrives_in_several_pieces_at_times)
{
    struct sim_options options = sim_options_default(4);
    options.split_permille = 1000;
    struct world w;
    world_start_with(&w, &options);
    world_connect(&w);
    w.server.data_calls = 0;
    for (int i = 0; i < 20; i++) EXPECT(echo(&w, 500, 2000));
    EXPECT(w.server.data_calls > 30);
    world_stop(&w);
}

TEST(sim_net, equal_seeds_repeat_and_others_differ)
{
    uint64_t traces[3];
    uint64_t seeds[] = {7, 7, 8};
    for (int i = 0; i < 3; i++) {
        struct world w;
        world_start(&w, seeds[i]);
        world_connect(&w);
        for (int round = 0; round < 20; round++) EXPECT(echo(&w, 3000, 5000));
        sim_cut_one(w.sim);
        sim_run_for(w.sim, 1000);
        traces[i] = sim_trace(w.sim);
        world_stop(&w);
    }
    EXPECT(traces[0] == traces[1]);
    EXPECT(traces[0] != traces[2]);
}

TEST(sim_net, a_paused_reader_gets_nothing_and_the_writer_waits)
{
    struct world w;
    world_start(&w, 5);
    world_connect(&w);
    EXPECT(echo(&w, 10, 2000));
    stream_pause(w.server.stream, true);
    buf_clear(&w.client.in);
    struct buf b = pattern(1000000);
    talk(&w.client, b.p, b.n);
    int calls = w.server.data_calls;
    sim_run_for(w.sim, 10000);
    EXPECT_EQ(w.server.data_calls, calls);
    EXPECT(w.client.later);
    stream_pause(w.server.stream, false);
    struct wanted wanted = {&w.client, b.n};
    EXPECT(sim_run_until(w.sim, has_bytes, &wanted, 60000));
    buf_done(&b);
    world_stop(&w);
}

TEST(sim_net, closing_is_seen_as_an_end_after_the_last_byte)
{
    struct world w;
    world_start(&w, 6);
    world_connect(&w);
    sim_run_for(w.sim, 100);
    w.server.echo = false;
    struct buf b = pattern(2000);
    talk(&w.client, b.p, b.n);
    stream_close(w.client.stream);
    w.client.stream = NULL;
    EXPECT(sim_run_until(w.sim, ended, &w.server, 5000));
    EXPECT_EQ(w.server.end_code, ERR_NONE);
    EXPECT_EQ(w.server.in.n, 2000);
    buf_done(&b);
    world_stop(&w);
}

TEST(sim_net, a_cut_is_seen_as_an_error_at_both_ends)
{
    struct world w;
    world_start(&w, 9);
    world_connect(&w);
    EXPECT(echo(&w, 10, 2000));
    EXPECT_EQ(sim_connections(w.sim), 1);
    EXPECT(sim_cut_one(w.sim));
    EXPECT(sim_run_until(w.sim, ended, &w.client, 5000));
    EXPECT(sim_run_until(w.sim, ended, &w.server, 5000));
    EXPECT_EQ(w.client.end_code, ERR_NETWORK);
    EXPECT_EQ(w.server.end_code, ERR_NETWORK);
    EXPECT_EQ(sim_connections(w.sim), 0);
    EXPECT(!sim_cut_one(w.sim));
    world_stop(&w);
}

TEST(sim_net, a_cut_ends_a_write_that_waits_for_the_window)
{
    struct sim_options options = sim_options_default(10);
    options.window_min_bytes = options.window_max_bytes = 4096;
    struct world w;
    world_start_with(&w, &options);
    world_connect(&w);
    EXPECT(echo(&w, 10, 2000));
    stream_pause(w.server.stream, true);
    stream_pause(w.client.stream, true);
    struct buf b = pattern(100000);
    talk(&w.client, b.p, b.n);
    EXPECT(w.client.later);
    sim_cut_one(w.sim);
    EXPECT(sim_run_until(w.sim, ended, &w.client, 5000));
    EXPECT_EQ(w.client.written_calls, 1);
    EXPECT_EQ(w.server.ends, 0);   /* it does not look */
    buf_done(&b);
    world_stop(&w);
}

TEST(sim_net, a_hanging_connection_carries_on_afterwards)
{
    struct world w;
    world_start(&w, 11);
    world_connect(&w);
    EXPECT(echo(&w, 10, 2000));
    EXPECT(sim_hang_one(w.sim, 4000));
    EXPECT(!echo(&w, 10, 3000));
    struct wanted wanted = {&w.client, 10};
    EXPECT(sim_run_until(w.sim, has_bytes, &wanted, 2000));
    world_stop(&w);
}

TEST(sim_net, a_partition_stops_traffic_and_connects_until_it_heals)
{
    struct world w;
    world_start(&w, 12);
    world_connect(&w);
    EXPECT(echo(&w, 10, 2000));
    sim_partition(w.sim, "10.0.0.2", "10.0.0.1", 5000);
    EXPECT(!echo(&w, 10, 4000));
    struct talker second = {.loop = w.client.loop};
    struct connect *k;
    EXPECT_OK(loop_connect(w.client.loop, SLICE("10.0.0.1"), PORT, 500, on_connect, &second, &k));
    EXPECT(sim_run_until(w.sim, connected, &second, 1000));
    EXPECT_EQ(second.connect_code, ERR_TIMEOUT);
    struct wanted wanted = {&w.client, 10};
    EXPECT(sim_run_until(w.sim, has_bytes, &wanted, 5000));
    world_stop(&w);
}

static enum err_code connect_to(struct world *w, struct slice host, uint16_t port)
{
    struct talker t = {.loop = w->client.loop};
    struct connect *k;
    EXPECT_OK(loop_connect(w->client.loop, host, port, 3000, on_connect, &t, &k));
    EXPECT(sim_run_until(w->sim, connected, &t, 5000));
    if (t.stream) stream_close(t.stream);
    return t.connect_code;
}

TEST(sim_net, connects_fail_where_nobody_listens)
{
    struct world w;
    world_start(&w, 13);
    EXPECT_EQ(connect_to(&w, SLICE("10.0.0.1"), 1), ERR_NETWORK);
    EXPECT_EQ(connect_to(&w, SLICE("10.0.0.9"), PORT), ERR_NETWORK);
    EXPECT_EQ(connect_to(&w, SLICE("nobody"), PORT), ERR_ADDRESS);
    EXPECT_EQ(connect_to(&w, SLICE("127.0.0.1"), PORT), ERR_NETWORK);   /* that is the client's own machine */
    struct addr a = {.port = PORT};
    struct listener *second;
    struct listener_events events = {on_accept, &w.server};
    EXPECT_ERR(loop_listen(w.server.loop, &a, &events, &second), ERR_NETWORK);
    sim_tune(w.sim)->refuse_permille = 1000;
    EXPECT_EQ(connect_to(&w, SLICE("10.0.0.1"), PORT), ERR_NETWORK);
    world_stop(&w);
}

TEST(sim_net, a_cancelled_connect_is_silent_and_the_server_sees_it_go)
{
    for (int64_t ms = 0; ms < 4; ms++) {   /* before it arrives, and when it is established but not told */
        struct world w;
        world_start(&w, 14 + (uint64_t)ms);
        struct connect *k;
        EXPECT_OK(loop_connect(w.client.loop, SLICE("10.0.0.1"), PORT, 3000, on_connect, &w.client, &k));
        sim_run_for(w.sim, ms);
        if (!w.client.connects) {
            connect_cancel(k);
            sim_run_for(w.sim, 5000);
            EXPECT_EQ(w.client.connects, 0);
            EXPECT(!w.server.stream);
        }
        world_stop(&w);
    }
}

TEST(sim_process, a_killed_process_is_gone_at_once_and_its_peers_see_a_reset)
{
    struct world w;
    world_start(&w, 20);
    world_connect(&w);
    EXPECT(echo(&w, 10, 2000));
    sim_process_kill(w.server_process);
    EXPECT(sim_run_until(w.sim, ended, &w.client, 5000));
    EXPECT_EQ(w.client.end_code, ERR_NETWORK);
    EXPECT_EQ(w.server.ends, 0);
    EXPECT_EQ(connect_to(&w, SLICE("10.0.0.1"), PORT), ERR_NETWORK);
    stream_close(w.server.stream);   /* may be cleaned up, to no effect */
    w.server.stream = NULL;
    w.server_process = sim_process_new(w.sim, "10.0.0.1");   /* a restart takes the same address and port */
    w.server = (struct talker){.loop = sim_loop_new(w.server_process), .echo = true, .in = w.server.in, .out = w.server.out};
    struct addr any = {.port = PORT};
    struct listener_events events = {on_accept, &w.server};
    EXPECT_OK(loop_listen(w.server.loop, &any, &events, &w.listener));
    EXPECT_EQ(connect_to(&w, SLICE("10.0.0.1"), PORT), ERR_NONE);
    world_stop(&w);
}

/* --- time, timers, workers, mail, turns --- */

struct notes {
    struct tasks *tasks;
    char text[200];
    int count;
};

static void note(struct notes *n, const char *what)
{
    size_t used = strlen(n->text);
    snprintf(n->text + used, sizeof n->text - used, "%s ", what);
    n->count++;
}

struct named_timer {
    struct timer timer;
    struct notes *notes;
    const char *name;
    int64_t fired_ms;
    struct timer *stops;
};

static void fire_named(void *ctx)
{
    struct named_timer *t = ctx;
    t->fired_ms = tasks_mono_ms(t->notes->tasks);
    note(t->notes, t->name);
    if (t->stops) timer_stop(t->notes->tasks, t->stops);
}

static struct loop *one_loop(struct sim **s, struct notes *notes)
{
    struct sim_options options = sim_options_default(1);
    *s = sim_new(&options);
    struct loop *l = sim_loop_new(sim_process_new(*s, "10.0.0.1"));
    *notes = (struct notes){.tasks = &l->tasks};
    return l;
}

TEST(sim_tasks, timers_fire_in_order_and_not_early)
{
    struct sim *s;
    struct notes notes;
    one_loop(&s, &notes);
    struct named_timer t[6] = {{.name = "late"}, {.name = "early"}, {.name = "same1"}, {.name = "same2"}, {.name = "moved"}, {.name = "off"}};
    int64_t delays[] = {50, 10, 20, 20, 5, 30};
    for (int i = 0; i < 6; i++) {
        t[i].notes = &notes;
        timer_init(&t[i].timer, fire_named, &t[i]);
        timer_start(notes.tasks, &t[i].timer, delays[i]);
    }
    timer_start(notes.tasks, &t[4].timer, 70);
    t[3].stops = &t[5].timer;
    int64_t begun = tasks_mono_ms(notes.tasks);
    sim_run_for(s, 1000);
    assert_string_equal(notes.text, "early same1 same2 late moved ");
    EXPECT(t[1].fired_ms >= begun + 10 && t[1].fired_ms <= begun + 11);
    EXPECT(!t[5].timer.armed);
    EXPECT_EQ(sim_now_ms(s), 1000);
    sim_free(s);
}

static void fire_again(void *ctx)
{
    struct named_timer *t = ctx;
    if (++t->notes->count < 100) timer_start(t->notes->tasks, &t->timer, 0);
}

TEST(sim_tasks, a_timer_that_restarts_itself_without_delay_does_not_stop_the_world)
{
    struct sim *s;
    struct notes notes;
    one_loop(&s, &notes);
    struct named_timer t = {.notes = &notes};
    timer_init(&t.timer, fire_again, &t);
    timer_start(notes.tasks, &t.timer, 0);
    uint64_t turns = sim_turns(s);
    sim_run_for(s, 1000);
    EXPECT_EQ(notes.count, 100);
    EXPECT(sim_turns(s) - turns >= 100);
    sim_free(s);
}

struct noted_work {
    struct work work;
    struct notes *notes;
    int runs;
};

static void work_run(struct work *w)
{
    struct noted_work *n = (struct noted_work *)w;
    n->runs++;
    EXPECT(!n->notes->tasks->ops->on_loop(n->notes->tasks));
}

static void work_done(struct work *w)
{
    struct noted_work *n = (struct noted_work *)w;
    EXPECT_EQ(n->runs, 1);
    assert_on_loop(n->notes->tasks);
    note(n->notes, "done");
}

TEST(sim_tasks, work_runs_on_a_worker_and_is_done_on_the_loop)
{
    struct sim *s;
    struct notes notes;
    one_loop(&s, &notes);
    struct noted_work w = {.work = {.run = work_run, .done = work_done}, .notes = &notes};
    tasks_work(notes.tasks, &w.work);
    EXPECT_EQ(w.runs, 0);
    sim_run_for(s, 100);
    assert_string_equal(notes.text, "done ");
    sim_free(s);
}

struct noted_mail {
    struct mail mail;
    struct notes *notes;
    const char *name;
};
static void deliver(struct mail *m)
{
    struct noted_mail *n = (struct noted_mail *)m;
    assert_on_loop(n->notes->tasks);
    note(n->notes, n->name);
}

static void hook_run(void *ctx) { note(ctx, "hook"); }
static void second_hook_run(void *ctx) { note(ctx, "second"); }

TEST(sim_tasks, hooks_run_in_order_at_the_end_of_each_turn)
{
    struct sim *s;
    struct notes notes;
    one_loop(&s, &notes);
    struct turn_hook first = {.run = hook_run, .ctx = &notes}, second = {.run = second_hook_run, .ctx = &notes};
    tasks_on_turn_end(notes.tasks, &first);
    tasks_on_turn_end(notes.tasks, &second);
    struct noted_mail a = {.mail.deliver = deliver, .notes = &notes, .name = "a"}, b = {.mail.deliver = deliver, .notes = &notes, .name = "b"};
    tasks_post(notes.tasks, &a.mail);
    tasks_post(notes.tasks, &b.mail);
    sim_run_for(s, 10);
    assert_string_equal(notes.text, "a b hook second ");
    tasks_off_turn_end(notes.tasks, &first);
    notes.text[0] = 0;
    sim_run_for(s, 10);
    assert_string_equal(notes.text, "second ");
    sim_free(s);
}

static void call_noted(void *ctx) { note(ctx, "call"); }
static void kill_it(void *ctx) { sim_process_kill(ctx); }

TEST(sim_tasks, calls_are_turns_and_a_dead_loop_runs_nothing)
{
    struct sim *s;
    struct notes notes;
    struct sim_options options = sim_options_default(2);
    s = sim_new(&options);
    struct sim_process *p = sim_process_new(s, "10.0.0.1");
    struct loop *l = sim_loop_new(p);
    notes = (struct notes){.tasks = &l->tasks};
    struct turn_hook hook = {.run = hook_run, .ctx = &notes};
    tasks_on_turn_end(notes.tasks, &hook);
    sim_call(l, call_noted, &notes);
    assert_string_equal(notes.text, "call hook ");
    struct named_timer t = {.notes = &notes, .name = "timer"};
    timer_init(&t.timer, fire_named, &t);
    timer_start(notes.tasks, &t.timer, 500);
    struct noted_work w = {.work = {.run = work_run, .done = work_done}, .notes = &notes};
    sim_after(s, 400, kill_it, p);
    sim_run_for(s, 390);
    notes.text[0] = 0;
    sim_run_for(s, 1000);
    EXPECT(!sim_process_alive(p));
    tasks_work(notes.tasks, &w.work);
    sim_call(l, call_noted, &notes);
    sim_run_for(s, 1000);
    EXPECT_EQ(w.runs, 0);
    assert_string_equal(notes.text, "hook ");   /* of the turn that begins each run, while it lived */
    timer_stop(notes.tasks, &t.timer);
    sim_free(s);
}
