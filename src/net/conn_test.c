/* Connections on the simulated network: units out of bytes in pieces, output gathered, limits. A unit here is one byte of
 * length and so many bytes behind it; length 0 is none. */
#include "kit/sim_loop.h"
#include "kit/test.h"

#include "net/conn.h"

#include <stdlib.h>

enum { PORT = 7000 };

struct world {
    struct sim *sim;
    struct loop *loop, *other;
    struct conn_group group;
    const struct conn_events *events;
    struct conn *conn;
    struct listener *listener;
    struct stream *stream;          /* of the other end */
    struct buf units;               /* their bytes, one after the other */
    struct buf got;                 /* what the other end read */
    int count, ends, pieces;
    enum err_code last;
    int close_at;                   /* the unit in which the connection is closed */
    bool answer;
    bool over;                      /* at the other end */
    int released;
};

static err_t unit_size(const uint8_t *p, size_t n, size_t *out)
{
    *out = n ? 1u + p[0] : 0;
    return n && !p[0] ? err_new(ERR_FRAME, "a unit of no length") : NULL;
}

static void on_unit(void *ctx, uint8_t *p, size_t n)
{
    struct world *w = ctx;
    buf_put(&w->units, p, n);
    if (w->answer) {
        buf_put(conn_out(w->conn), p, n);
        conn_sent(w->conn);
    }
    if (++w->count != w->close_at) return;
    conn_close(w->conn);
    w->conn = NULL;
}

static void on_end(void *ctx, err_t e)
{
    struct world *w = ctx;
    w->ends++;
    w->last = err_code(e);
    err_free(e);
    conn_close(w->conn);
    w->conn = NULL;
}

static const struct conn_events events = {unit_size, on_unit, on_end};

static void on_accepted(void *ctx, struct stream *s, const struct addr *remote)
{
    struct world *w = ctx;
    struct conn_limits limits = {1 << 20, 30000};
    (void)remote;
    w->conn = conn_new(&w->group, s, w->events, &limits, w);
}

static void other_data(void *ctx, uint8_t *p, size_t n)
{
    struct world *w = ctx;
    w->pieces++;
    buf_put(&w->got, p, n);
}

static void other_end(void *ctx, err_t e)
{
    struct world *w = ctx;
    err_free(e);
    w->over = true;
}

static void other_written(void *ctx) { (void)ctx; }

static void on_connected(void *ctx, err_t e, struct stream *s)
{
    static const struct stream_events stream_events = {other_data, other_end, other_written};
    struct world *w = ctx;
    EXPECT_OK(e);
    w->stream = s;
    stream_start(s, &stream_events, w);
}

static void start_with(struct world *w, uint64_t seed, const struct conn_events *how)
{
    struct sim_options o = sim_options_default(seed);
    struct addr at = {.port = PORT};
    struct connect *c;
    o.split_permille = 500;
    *w = (struct world){.sim = sim_new(&o), .events = how};
    w->loop = sim_loop_new(sim_process_new(w->sim, "10.0.0.1"));
    w->other = sim_loop_new(sim_process_new(w->sim, "10.0.0.2"));
    conn_group_init(&w->group, w->loop);
    struct listener_events listening = {on_accepted, w};
    EXPECT_OK(loop_listen(w->loop, &at, &listening, &w->listener));
    EXPECT_OK(loop_connect(w->other, SLICE("10.0.0.1"), PORT, 1000, on_connected, w, &c));
    sim_run_for(w->sim, 100);
    EXPECT(w->conn && w->stream);
}

static void start(struct world *w, uint64_t seed) { start_with(w, seed, &events); }

static void stop(struct world *w)
{
    if (w->conn) conn_close(w->conn);
    stream_close(w->stream);
    listener_close(w->listener);
    conn_group_done(&w->group);
    sim_free(w->sim);
    buf_done(&w->units);
    buf_done(&w->got);
}

/* Units of random length; their bytes count up. */
static struct buf make_units(struct world *w, int count)
{
    struct buf b = BUF_EMPTY;
    for (int i = 0; i < count; i++) {
        uint8_t n = (uint8_t)(1 + random_below(sim_random(w->sim), 255));
        buf_put_u8(&b, n);
        while (n--) buf_put_u8(&b, (uint8_t)b.n);
    }
    return b;
}

/* In writes of random length, at random times. */
static void send_in_pieces(struct world *w, struct slice rest)
{
    while (rest.n && !w->over) {
        size_t n = 1 + random_below(sim_random(w->sim), 200);
        if (n > rest.n) n = rest.n;
        struct iovec part = {(void *)(uintptr_t)rest.p, n};
        EXPECT_EQ(stream_write(w->stream, &part, 1), WRITE_DONE);
        rest = slice_skip(rest, n);
        sim_run_for(w->sim, (int64_t)random_below(sim_random(w->sim), 3));
    }
    sim_run_for(w->sim, 500);
}

static void hold_at_third(void *ctx, uint8_t *p, size_t n)
{
    struct world *w = ctx;
    buf_put(&w->units, p, n);
    if (++w->count == 3) conn_hold(w->conn, true);
}

TEST(conn, what_is_held_hands_over_nothing_and_loses_nothing)
{
    static const struct conn_events holding = {unit_size, hold_at_third, on_end};
    for (uint64_t seed = 50; seed < 60; seed++) {
        struct world w;
        start_with(&w, seed, &holding);
        struct buf sent = make_units(&w, 200);
        send_in_pieces(&w, buf_slice(&sent));
        sim_run_for(w.sim, 60000);
        EXPECT_EQ(w.count, 3);
        EXPECT_EQ(w.ends, 0);
        conn_hold(w.conn, false);
        sim_run_for(w.sim, 5000);
        EXPECT_EQ(w.count, 200);
        EXPECT(slice_eq(buf_slice(&w.units), buf_slice(&sent)));
        buf_done(&sent);
        stop(&w);
    }
}

TEST(conn, units_come_whole_and_in_order_however_the_bytes_arrive)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct world w;
        start(&w, seed);
        w.answer = true;
        struct buf sent = make_units(&w, 100);
        send_in_pieces(&w, buf_slice(&sent));
        EXPECT_EQ(w.count, 100);
        EXPECT(slice_eq(buf_slice(&w.units), buf_slice(&sent)));
        EXPECT(slice_eq(buf_slice(&w.got), buf_slice(&sent)));
        buf_done(&sent);
        stop(&w);
    }
}

TEST(conn, a_connection_may_be_closed_inside_of_a_unit_and_no_other_follows)
{
    for (uint64_t seed = 1; seed <= 30; seed++) {
        struct world w;
        start(&w, seed);
        w.answer = true;
        w.close_at = 1 + (int)random_below(sim_random(w.sim), 20);
        struct buf sent = make_units(&w, 50);
        send_in_pieces(&w, buf_slice(&sent));
        EXPECT_EQ(w.count, w.close_at);
        EXPECT_EQ(w.ends, 0);
        EXPECT(w.over);
        buf_done(&sent);
        stop(&w);
    }
}

TEST(conn, what_is_no_unit_ends_it_once)
{
    struct world w;
    start(&w, 1);
    send_in_pieces(&w, SLICE("\1a\2bc\0\1d"));
    EXPECT_EQ(w.count, 2);
    EXPECT_EQ(w.ends, 1);
    EXPECT_EQ(w.last, ERR_FRAME);
    EXPECT(w.over);
    stop(&w);
}

static void release(void *owner) { ((struct world *)owner)->released++; }

/* Before, behind and between what is copied; more parts than go into one call. */
static void put_parts(void *ctx)
{
    struct world *w = ctx;
    for (int i = 0; i < 300; i++) {
        struct pinned p = {.bytes = SLICE("pinned "), .release = release, .owner = w};
        if (i % 3) buf_put(conn_out(w->conn), "copied ", 7);
        else conn_out(w->conn);
        conn_out_pinned(w->conn, &p);
    }
    conn_sent(w->conn);
    EXPECT_EQ(conn_unsent_bytes(w->conn), 300 * 7 + 200 * 7);
}

TEST(conn, output_of_a_turn_is_one_run_of_copied_and_pinned_parts)
{
    struct world w;
    start(&w, 1);
    sim_call(w.loop, put_parts, &w);
    sim_run_for(w.sim, 200);
    EXPECT_EQ(w.got.n, 500 * 7);
    for (int i = 0, at = 0; i < 300; i++) {
        if (i % 3) EXPECT(!memcmp(w.got.p + 7 * at++, "copied ", 7));
        EXPECT(!memcmp(w.got.p + 7 * at++, "pinned ", 7));
    }
    EXPECT_EQ(w.released, 300);
    EXPECT_EQ(conn_unsent_bytes(w.conn), 0);
    stop(&w);
}

TEST(conn, pins_of_unsent_parts_are_released_when_it_closes)
{
    struct world w;
    start(&w, 1);
    stream_pause(w.stream, true);
    for (int i = 0; i < 50; i++) {
        sim_call(w.loop, put_parts, &w);
        if (conn_unsent_bytes(w.conn)) break;
        sim_run_for(w.sim, 1);
    }
    conn_close(w.conn);
    w.conn = NULL;
    sim_run_for(w.sim, 10);
    EXPECT(w.released && w.released % 300 == 0);
    stop(&w);
}

/* --- the last words --- */

static void put_large(void *ctx)
{
    struct world *w = ctx;
    memset(buf_take(conn_out(w->conn), 400000), 'x', 400000);
    conn_sent(w->conn);
    conn_finish(w->conn);
}

static void send_unit(void *ctx)
{
    struct world *w = ctx;
    struct iovec part = {"\x02zz", 3};
    EXPECT_EQ(stream_write(w->stream, &part, 1), WRITE_DONE);
}

static void close_other(void *ctx) { stream_close(((struct world *)ctx)->stream); }

TEST(conn, last_words_come_whole_though_the_other_end_goes_on_and_what_it_sends_is_thrown_away)
{
    for (uint64_t seed = 1; seed < 20; seed++) {
        struct world w;
        start(&w, seed);
        sim_call(w.loop, put_large, &w);
        for (int i = 0; i < 50 && !w.over; i++) {
            sim_call(w.other, send_unit, &w);
            sim_run_for(w.sim, 1);
        }
        sim_run_for(w.sim, 2000);
        EXPECT_EQ(w.got.n, 400000);
        EXPECT(w.over);
        EXPECT(w.count == 0 && w.ends == 0);
        sim_call(w.other, close_other, &w);
        sim_run_for(w.sim, 100);
        EXPECT(w.ends == 1 && w.last == ERR_NONE && !w.conn);
        stop(&w);
    }
}
