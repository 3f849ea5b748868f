/* Streams between two loops of a process: in the simulated world, and on two threads. */
#include "kit/sim_loop.h"
#include "kit/test.h"

#include "net/local.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

/* One end, as its owner sees it. */
struct side {
    struct loop *loop;
    struct stream *stream;
    struct buf in;
    int ends, written;
    bool close_on_data;
};

static void on_data(void *ctx, uint8_t *p, size_t n)
{
    struct side *s = ctx;
    buf_put(&s->in, p, n);
    if (!s->close_on_data) return;
    stream_close(s->stream);
    s->stream = NULL;
}

static void on_end(void *ctx, err_t e)
{
    err_free(e);
    ((struct side *)ctx)->ends++;
}

static void on_written(void *ctx) { ((struct side *)ctx)->written++; }

static const struct stream_events events = {on_data, on_end, on_written};

static void accepted(void *ctx, struct stream *stream, const struct addr *remote)
{
    struct side *s = ctx;
    char text[ADDR_TEXT_MAX];
    EXPECT_TEXT(slice_text(addr_format(remote, text)), "127.0.0.1:0");
    s->stream = stream;
    stream_start(stream, &events, s);
}

struct two {
    struct sim *sim;
    struct side near, far;
    struct local_port *port;
    struct slice words;       /* for say() */
    enum write_result said;
};

static void listen(void *ctx)
{
    struct two *t = ctx;
    t->port = local_port_new(t->far.loop, &(struct listener_events){accepted, &t->far});
}

static void connect_near(void *ctx)
{
    struct two *t = ctx;
    EXPECT_OK(local_connect(t->near.loop, t->port, NULL, &t->near.stream));
    stream_start(t->near.stream, &events, &t->near);
}

static struct two *two_start(uint64_t seed)
{
    struct two *t = must_zero(sizeof *t);
    struct sim_options options = sim_options_default(seed);
    t->sim = sim_new(&options);
    struct sim_process *p = sim_process_new(t->sim, "10.0.0.1");
    t->near.loop = sim_loop_new(p);
    t->far.loop = sim_loop_new(p);
    sim_call(t->far.loop, listen, t);
    sim_call(t->near.loop, connect_near, t);
    return t;
}

static void close_side(void *ctx)
{
    struct side *s = ctx;
    if (s->stream) stream_close(s->stream);
    s->stream = NULL;
}

static void close_port(void *ctx) { local_port_close(((struct two *)ctx)->port); }

static void two_stop(struct two *t)
{
    sim_call(t->far.loop, close_port, t);
    sim_call(t->near.loop, close_side, &t->near);
    sim_call(t->far.loop, close_side, &t->far);
    sim_run_for(t->sim, 100);
    sim_free(t->sim);
    buf_done(&t->near.in);
    buf_done(&t->far.in);
    free(t);
}

static void say_near(void *ctx)
{
    struct two *t = ctx;
    struct iovec parts[2] = {{(void *)t->words.p, t->words.n / 2}, {(void *)(t->words.p + t->words.n / 2), t->words.n - t->words.n / 2}};
    t->said = stream_write(t->near.stream, parts, 2);
}

static void say_far(void *ctx)
{
    struct two *t = ctx;
    struct iovec part = {(void *)t->words.p, t->words.n};
    t->said = stream_write(t->far.stream, &part, 1);
}

static enum write_result say(struct two *t, bool near, struct slice words)
{
    t->words = words;
    sim_call(near ? t->near.loop : t->far.loop, near ? say_near : say_far, t);
    return t->said;
}

static void pause_far(void *ctx) { stream_pause(((struct two *)ctx)->far.stream, true); }
static void resume_far(void *ctx) { stream_pause(((struct two *)ctx)->far.stream, false); }

TEST(local, bytes_go_both_ways_in_order_and_may_be_written_at_once)
{
    struct two *t = two_start(1);
    EXPECT_EQ(say(t, true, SLICE("before it was accepted, ")), WRITE_DONE);
    EXPECT_EQ(say(t, true, SLICE("and after")), WRITE_DONE);
    sim_run_for(t->sim, 100);
    EXPECT_TEXT(buf_slice(&t->far.in), "before it was accepted, and after");
    EXPECT_EQ(say(t, false, SLICE("and back")), WRITE_DONE);
    sim_run_for(t->sim, 100);
    EXPECT_TEXT(buf_slice(&t->near.in), "and back");
    two_stop(t);
}

TEST(local, a_reader_that_pauses_stops_the_writer_and_loses_nothing)
{
    enum { ALL = 3 * LOCAL_WINDOW + 7 };
    struct two *t = two_start(2);
    uint8_t *bytes = must_alloc(ALL);
    for (size_t i = 0; i < ALL; i++) bytes[i] = (uint8_t)(i * 7 + i / 256);
    sim_run_for(t->sim, 100);
    sim_call(t->far.loop, pause_far, t);
    EXPECT_EQ(say(t, true, slice_of(bytes, ALL)), WRITE_LATER);
    sim_run_for(t->sim, 1000);
    EXPECT_EQ(t->far.in.n, 0);
    EXPECT_EQ(t->near.written, 0);
    sim_call(t->far.loop, resume_far, t);
    sim_run_for(t->sim, 1000);
    EXPECT_EQ(t->near.written, 1);
    EXPECT(slice_eq(buf_slice(&t->far.in), slice_of(bytes, ALL)));
    free(bytes);
    two_stop(t);
}

TEST(local, who_closes_is_read_to_the_end_and_then_told_of)
{
    struct two *t = two_start(3);
    say(t, true, SLICE("last words"));
    sim_call(t->near.loop, close_side, &t->near);
    sim_run_for(t->sim, 100);
    EXPECT_TEXT(buf_slice(&t->far.in), "last words");
    EXPECT_EQ(t->far.ends, 1);
    EXPECT_EQ(say(t, false, SLICE("to nobody")), WRITE_DONE);
    sim_run_for(t->sim, 100);
    EXPECT_EQ(t->far.ends, 1);
    EXPECT_EQ(t->near.ends, 0);
    two_stop(t);
}

TEST(local, an_end_may_be_closed_while_it_reads_and_a_writer_that_waits_is_let_go)
{
    enum { ALL = 2 * LOCAL_WINDOW };
    struct two *t = two_start(4);
    uint8_t *bytes = must_zero(ALL);
    sim_run_for(t->sim, 100);
    t->far.close_on_data = true;
    EXPECT_EQ(say(t, true, slice_of(bytes, ALL)), WRITE_LATER);
    sim_run_for(t->sim, 100);
    EXPECT_EQ(t->near.written, 1);
    EXPECT_EQ(t->near.ends, 1);
    EXPECT_EQ(t->far.ends, 0);
    free(bytes);
    two_stop(t);
}

static void connect_to_closed(void *ctx)
{
    struct two *t = ctx;
    struct stream *s;
    EXPECT_ERR(local_connect(t->near.loop, t->port, NULL, &s), ERR_CLOSED);
}

TEST(local, a_port_that_is_closed_takes_nobody_and_ends_who_is_on_the_way)
{
    struct two *t = two_start(5);
    local_port_ref(t->port);
    sim_call(t->far.loop, close_port, t);
    sim_call(t->near.loop, connect_to_closed, t);
    sim_run_for(t->sim, 100);
    EXPECT(!t->far.stream);
    EXPECT_EQ(t->near.ends, 1);
    sim_call(t->near.loop, close_side, &t->near);
    sim_run_for(t->sim, 100);
    local_port_unref(t->port);
    sim_free(t->sim);
    free(t);
}

/* --- two threads: one says numbers, the other says them back --- */

enum { NUMBERS = 200000, BLOCK = 1000 };

struct echoer {
    struct loop *loop;
    struct local_port *port;
    struct stream *stream;
    struct buf out;           /* of a WRITE_LATER */
    bool paused;
};

static void echo_data(void *ctx, uint8_t *p, size_t n)
{
    struct echoer *e = ctx;
    buf_clear(&e->out);
    buf_put(&e->out, p, n);
    struct iovec part = {e->out.p, n};
    e->paused = stream_write(e->stream, &part, 1) == WRITE_LATER;
    if (e->paused) stream_pause(e->stream, true);
}

static void echo_written(void *ctx)
{
    struct echoer *e = ctx;
    stream_pause(e->stream, false);
}

static void echo_end(void *ctx, err_t error)
{
    struct echoer *e = ctx;
    err_free(error);
    stream_close(e->stream);
    local_port_close(e->port);
    real_loop_stop(e->loop);
}

static void echo_accepted(void *ctx, struct stream *s, const struct addr *remote)
{
    static const struct stream_events echo = {echo_data, echo_end, echo_written};
    struct echoer *e = ctx;
    (void)remote;
    e->stream = s;
    stream_start(s, &echo, e);
}

struct teller {
    struct loop *loop;
    struct local_port *port;
    struct stream *stream;
    struct timer timer;
    uint32_t block[BLOCK];
    uint32_t told;
    uint64_t heard;           /* bytes */
    bool wrong, later;
};

static void tell(void *ctx)
{
    struct teller *t = ctx;
    while (!t->later && t->told < NUMBERS) {
        for (uint32_t i = 0; i < BLOCK; i++) t->block[i] = t->told++;
        struct iovec part = {t->block, sizeof t->block};
        t->later = stream_write(t->stream, &part, 1) == WRITE_LATER;
    }
}

static void tell_written(void *ctx)
{
    ((struct teller *)ctx)->later = false;
    tell(ctx);
}

static void tell_data(void *ctx, uint8_t *p, size_t n)
{
    struct teller *t = ctx;
    for (size_t i = 0; i < n; i++, t->heard++) {
        uint32_t number = (uint32_t)(t->heard / 4);
        t->wrong |= p[i] != ((uint8_t *)&number)[t->heard % 4];
    }
    if (t->heard < (uint64_t)NUMBERS * 4) return;
    stream_close(t->stream);
    real_loop_stop(t->loop);
}

static void tell_end(void *ctx, err_t e)
{
    err_free(e);
    ((struct teller *)ctx)->wrong = true;
    real_loop_stop(((struct teller *)ctx)->loop);
}

static void begin_to_tell(void *ctx)
{
    static const struct stream_events events_of_teller = {tell_data, tell_end, tell_written};
    struct teller *t = ctx;
    EXPECT_OK(local_connect(t->loop, t->port, NULL, &t->stream));
    stream_start(t->stream, &events_of_teller, t);
    tell(t);
}

static void *run_loop(void *loop)
{
    real_loop_run(loop);
    return NULL;
}

TEST(local, two_threads_exchange_everything_under_back_pressure)
{
    struct echoer e = {0};
    struct teller t = {0};
    pthread_t thread;
    EXPECT_OK(real_loop_new(&e.loop));
    EXPECT_OK(real_loop_new(&t.loop));
    t.port = e.port = local_port_new(e.loop, &(struct listener_events){echo_accepted, &e});
    timer_init(&t.timer, begin_to_tell, &t);
    timer_start(&t.loop->tasks, &t.timer, 0);
    EXPECT_EQ(pthread_create(&thread, NULL, run_loop, e.loop), 0);
    real_loop_run(t.loop);
    pthread_join(thread, NULL);
    EXPECT(!t.wrong);
    EXPECT_EQ(t.heard, (uint64_t)NUMBERS * 4);
    real_loop_adopt(e.loop);
    real_loop_free(e.loop);
    real_loop_free(t.loop);
    buf_done(&e.out);
}
