/* rpc on the simulated network: slow readers, peers that come back, time limits, calls answered late. */
#include "kit/caller.h"
#include "kit/test.h"

#include "base/metrics.h"
#include "rpc/rpc.h"

#include <stdlib.h>

enum { ECHO = 7, KEEP = 8, PORT = 10911, REPLY_BYTES = 1000, MAX_REPLY_BYTES = 100000, STALLED_MS = 30000, WINDOW_BYTES = 65536 };

struct server {
    struct sim *sim;
    struct sim_process *process;
    struct loop *client;
    struct rpc_listener *listener;
    struct metrics metrics;
    struct buf kept;            /* struct call *, of KEEP */
    int calls, oneways, gone;
};

static void handle(void *ctx, struct call *call)
{
    static uint8_t body[REPLY_BYTES];
    struct server *s = ctx;
    s->calls++;
    s->oneways += call->oneway;
    if (call->code == ECHO) call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, slice_of(body, sizeof body));
    else buf_put(&s->kept, &call, sizeof call);
}

static void closed(void *ctx, struct rpc_conn *c)
{
    (void)c;
    ((struct server *)ctx)->gone++;
}

static void listen(struct server *s)
{
    struct rpc_service service = {handle, closed, s};
    struct rpc_options options = {.idle_close_ms = 120000, .max_reply_bytes = MAX_REPLY_BYTES, .stalled_close_ms = STALLED_MS, .metrics = &s->metrics};
    struct addr any = {.port = PORT};
    s->process = sim_process_new(s->sim, "10.0.0.1");
    EXPECT_OK(rpc_listen(sim_loop_new(s->process), &any, 1, &service, &options, &s->listener));
}

static struct server *start(uint64_t seed)
{
    struct server *s = must_zero(sizeof *s);
    struct sim_options options = sim_options_default(seed);
    options.window_min_bytes = options.window_max_bytes = WINDOW_BYTES;   /* many requests arrive in one turn */
    s->sim = sim_new(&options);
    s->client = sim_loop_new(sim_process_new(s->sim, "10.0.0.2"));
    listen(s);
    return s;
}

static size_t kept(const struct server *s) { return s->kept.n / sizeof(struct call *); }

static void answer_kept(struct server *s)
{
    for (size_t i = 0; i < kept(s); i++) call_reply_ok(((struct call **)(void *)s->kept.p)[i]);
    buf_clear(&s->kept);
}

static void stop(struct server *s)
{
    rpc_listener_close(s->listener);
    answer_kept(s);
    sim_free(s->sim);
    buf_done(&s->kept);
    free(s);
}

/* --- slow readers --- */

enum { MANY = 3000 };

/* All in one write; returns the number of the last. */
static int32_t ask_many(struct caller *c)
{
    struct buf all = BUF_EMPTY;
    for (int32_t i = 1; i <= MANY; i++) {
        struct frame_head head = {.form = FRAME_BINARY, .code = ECHO, .opaque = i};
        struct frame_writer w;
        frame_begin(&w, &all, &head);
        frame_end(&w, 0);
    }
    caller_send(c, buf_slice(&all));
    buf_done(&all);
    return MANY;
}

TEST(rpc, replies_that_nobody_reads_are_bounded_and_others_are_served)
{
    struct server *s = start(1);
    struct caller *slow = caller_open(s->sim, s->client, "10.0.0.1", PORT), *other = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    caller_pause(slow, true);
    int32_t last = ask_many(slow);
    sim_run_for(s->sim, 5000);
    EXPECT(s->calls > MAX_REPLY_BYTES / REPLY_BYTES / 2);
    EXPECT(s->calls <= (MAX_REPLY_BYTES + WINDOW_BYTES) / REPLY_BYTES + 2);   /* not one more than the limit needs */
    answer_free(caller_call(other, ECHO, NULL, NULL, SLICE("")));
    caller_pause(slow, false);
    answer_free(caller_reply(slow, last, 20000));
    EXPECT_EQ(caller_unread(slow), MANY - 1);
    EXPECT_EQ(s->calls, MANY + 1);
    caller_close(slow);
    caller_close(other);
    stop(s);
}

TEST(rpc, a_connection_that_takes_nothing_for_too_long_is_closed)
{
    struct server *s = start(2);
    struct caller *slow = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    caller_pause(slow, true);
    ask_many(slow);
    sim_run_for(s->sim, STALLED_MS - 2000);
    EXPECT_EQ(s->gone, 0);
    sim_run_for(s->sim, 4000);
    EXPECT_EQ(s->gone, 1);
    EXPECT_EQ(metric_get(&s->metrics, METRIC_FRAMES_REFUSED), 1);
    EXPECT_EQ(metric_get(&s->metrics, METRIC_CONNECTIONS), 0);
    caller_close(slow);
    stop(s);
}

/* --- peers --- */

struct outcome {
    int count, failed;
    enum err_code last;
    int32_t code;
};

static void note(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct outcome *o = ctx;
    o->count++;
    o->failed += e != NULL;
    o->last = err_code(e);
    o->code = reply ? reply->frame->code : -1;
    err_free(e);
}

static void ask(struct rpc_peer *p, int32_t code, int64_t timeout_ms, struct outcome *o)
{
    struct rpc_request r = {.code = code, .body = SLICE("x"), .timeout_ms = timeout_ms, .done = o ? note : NULL, .ctx = o};
    rpc_peer_request(p, &r);
}

static struct rpc_peer *new_peer(struct server *s)
{
    struct rpc_options options = rpc_options_default();
    return rpc_peer_new(s->client, SLICE("10.0.0.1:10911"), NULL, &options);
}

TEST(rpc, a_peer_connects_when_needed_and_again_after_its_server_was_away)
{
    struct server *s = start(3);
    struct outcome o = {0};
    struct rpc_peer *p = new_peer(s);
    ask(p, ECHO, 3000, &o);
    ask(p, ECHO, 3000, &o);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(o.count, 2);
    EXPECT_EQ(o.failed, 0);
    EXPECT_EQ(metric_get(&s->metrics, METRIC_CONNECTIONS), 1);
    sim_process_kill(s->process);
    rpc_listener_close(s->listener);
    sim_run_for(s->sim, 1000);
    ask(p, ECHO, 3000, &o);
    sim_run_for(s->sim, 4000);
    EXPECT_EQ(o.failed, 1);
    EXPECT_EQ(o.last, ERR_NETWORK);
    listen(s);
    ask(p, ECHO, 3000, &o);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(o.count, 4);
    EXPECT_EQ(o.failed, 1);
    rpc_peer_free(p);
    stop(s);
}

TEST(rpc, a_request_ends_in_time_and_a_late_reply_harms_nobody)
{
    struct server *s = start(4);
    struct outcome late = {0}, fine = {0};
    struct rpc_peer *p = new_peer(s);
    ask(p, KEEP, 500, &late);
    sim_run_for(s->sim, 400);
    EXPECT_EQ(late.count, 0);
    sim_run_for(s->sim, 200);
    EXPECT_EQ(late.count, 1);
    EXPECT_EQ(late.last, ERR_TIMEOUT);
    ask(p, KEEP, 500, &fine);
    sim_run_for(s->sim, 100);
    answer_kept(s);
    sim_run_for(s->sim, 100);
    EXPECT_EQ(late.count, 1);
    EXPECT_EQ(fine.count, 1);
    EXPECT_EQ(fine.code, RESPONSE_SUCCESS);
    rpc_peer_free(p);
    stop(s);
}

/* --- the same without a network: another loop of the process --- */

struct local_server {
    struct server *s;
    struct loop *loop;
    struct rpc_listener *listener;
};

static void listen_here(void *ctx)
{
    struct local_server *l = ctx;
    l->listener = rpc_listen_local(l->loop, 1, &(struct rpc_service){handle, closed, l->s}, NULL);
}

static void close_here(void *ctx) { rpc_listener_close(((struct local_server *)ctx)->listener); }

static void answer_here(void *ctx) { answer_kept(ctx); }

static void ask_much(void *ctx)
{
    struct rpc_request r = {.code = ECHO, .body = slice_of(must_zero(3000000), 3000000), .timeout_ms = 3000};
    rpc_peer_request(ctx, &r);
    free((void *)r.body.p);
}

TEST(rpc, a_peer_on_another_loop_of_the_process_is_called_as_one_far_away)
{
    struct server *s = start(20);
    struct outcome o = {0}, kept_one = {0};
    struct local_server l = {.s = s, .loop = sim_loop_new(s->process)};
    sim_call(l.loop, listen_here, &l);
    struct rpc_peer *p = rpc_peer_new_local(s->client, rpc_listener_port(l.listener), NULL, NULL);
    ask(p, ECHO, 3000, &o);
    ask(p, KEEP, 3000, &kept_one);
    sim_call(s->client, ask_much, p);
    sim_run_for(s->sim, 100);
    EXPECT_EQ(s->calls, 3);
    EXPECT_EQ(o.count, 1);
    EXPECT_EQ(o.code, RESPONSE_SUCCESS);
    sim_call(l.loop, answer_here, s);
    sim_run_for(s->sim, 100);
    EXPECT_EQ(kept_one.code, RESPONSE_SUCCESS);
    sim_call(l.loop, close_here, &l);
    sim_run_for(s->sim, 100);
    ask(p, ECHO, 3000, &o);
    EXPECT_EQ(o.last, ERR_CLOSED);
    rpc_peer_free(p);
    sim_run_for(s->sim, 100);
    stop(s);
}

TEST(rpc, a_oneway_request_is_not_answered)
{
    struct server *s = start(5);
    struct rpc_peer *p = new_peer(s);
    ask(p, ECHO, 0, NULL);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(s->oneways, 1);
    rpc_peer_free(p);
    stop(s);
}

TEST(rpc, requests_that_wait_end_once_when_the_peer_is_freed)
{
    struct server *s = start(6);
    struct outcome sent = {0}, unsent = {0};
    struct rpc_peer *p = new_peer(s), *unconnected = new_peer(s);
    ask(p, KEEP, 60000, &sent);
    sim_run_for(s->sim, 1000);
    ask(unconnected, KEEP, 60000, &unsent);
    rpc_peer_free(p);
    rpc_peer_free(unconnected);
    EXPECT_EQ(sent.count, 1);
    EXPECT_EQ(sent.last, ERR_CLOSED);
    EXPECT_EQ(unsent.count, 1);
    EXPECT_EQ(unsent.last, ERR_CLOSED);
    sim_run_for(s->sim, 1000);
    stop(s);
}

TEST(rpc, no_more_requests_are_under_way_than_there_are_numbers_for)
{
    enum { MOST = 65536 };
    struct server *s = start(7);
    struct outcome o = {0};
    struct rpc_peer *p = new_peer(s);
    ask(p, KEEP, 600000, &o);
    sim_run_for(s->sim, 100);   /* connected: the others go out at once */
    for (int i = 1; i < MOST; i++) ask(p, KEEP, 600000, &o);
    EXPECT_EQ(o.count, 0);
    ask(p, KEEP, 600000, &o);
    EXPECT_EQ(o.count, 1);
    EXPECT_EQ(o.last, ERR_BUSY);
    while (kept(s) < MOST) sim_run_for(s->sim, 100);
    answer_kept(s);
    for (int i = 0; i < 1000 && o.count <= MOST; i++) sim_run_for(s->sim, 100);
    EXPECT_EQ(o.count, MOST + 1);
    EXPECT_EQ(o.failed, 1);   /* each got its own reply */
    rpc_peer_free(p);
    stop(s);
}

/* --- calls that outlive their connection --- */

TEST(rpc, a_call_may_be_answered_after_its_client_has_gone)
{
    struct server *s = start(8);
    struct caller *c = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    caller_request(c, KEEP, NULL, NULL, SLICE("x"));
    sim_run_for(s->sim, 100);
    EXPECT_EQ(kept(s), 1);
    struct call *call = *(struct call **)(void *)s->kept.p;
    caller_close(c);
    sim_run_for(s->sim, 100);
    EXPECT_EQ(s->gone, 1);
    EXPECT(!rpc_conn_open(call->conn));
    struct rpc_request question = {.code = 40};
    rpc_conn_request(call->conn, &question);
    answer_kept(s);
    sim_run_for(s->sim, 100);
    stop(s);
}
