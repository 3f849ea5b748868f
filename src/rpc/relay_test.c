/* One connection in front of two servers of the process, on the simulated network. */
#include "kit/caller.h"
#include "kit/test.h"

#include "net/loop.h"
#include "rpc/relay.h"

#include <stdio.h>
#include <stdlib.h>

enum { SERVERS = 2, PORT = 9876, FIRST = 7, SECOND = 107, BIG = 8, HOLD = 9, ASK = 10, EVERYBODY = 11, NOBODY = 12, AWAY = 13, WATCHED = 14, BIG_BYTES = 100000 };

struct server {
    struct loop *loop;
    struct rpc_listener *listener;
    int calls, gone;
    struct rpc_conn *conn;       /* of the last call; not referenced */
    struct buf kept;             /* struct call *, of HOLD */
    int answers;                 /* to questions of ours */
    char remote[ADDR_TEXT_MAX];
};

struct scene {
    struct sim *sim;
    struct loop *edge, *client;
    struct server servers[SERVERS];
    struct rpc_relay *relay;
    struct listener *listener;
};

static void handle(void *ctx, struct call *call)
{
    static uint8_t big[BIG_BYTES];
    struct server *s = ctx;
    s->calls++;
    s->conn = call->conn;
    addr_format_ip(rpc_conn_remote(call->conn), s->remote);
    if (call->code == HOLD) buf_put(&s->kept, &call, sizeof call);
    else call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, call->code == BIG ? slice_of(big, sizeof big) : call->body);
}

static void closed(void *ctx, struct rpc_conn *conn)
{
    (void)conn;
    ((struct server *)ctx)->gone++;
}

static void accepted(void *ctx, struct stream *stream, const struct addr *remote) { rpc_relay_take(((struct scene *)ctx)->relay, stream, remote); }

static void choose(void *ctx, const struct frame *f, struct slice body, struct relay_choice *out)
{
    (void)ctx, (void)body;
    out->servers[0] = f->code > 100;
    out->count = 1;
    if (f->code == EVERYBODY) {
        out->servers[1] = 1;
        out->count = 2;
    } else if (f->code == NOBODY) {
        out->count = 0;
        out->code = RESPONSE_SYSTEM_ERROR;
        snprintf(out->remark, sizeof out->remark, "for nobody");
    } else if (f->code == AWAY) {
        out->servers[0] = 2;
    }
    out->watch = f->code == WATCHED;
}

static struct local_port *place(void *ctx, size_t server, struct slice *out_address)
{
    struct scene *s = ctx;
    *out_address = SLICE("10.0.0.9:1");   /* there is nobody */
    return server < SERVERS ? rpc_listener_port(s->servers[server].listener) : NULL;
}

static void reply(void *ctx, const struct frame *f, struct buf *out)
{
    (void)ctx;
    struct frame_head head = {.form = f->form, .code = f->code, .opaque = f->opaque, .flag = f->flag};
    struct frame_writer w;
    frame_begin(&w, out, &head);
    frame_end(&w, f->body.n + 1);
    buf_put_slice(out, f->body);
    buf_put_u8(out, '!');
}

static void listen_server(void *ctx)
{
    struct server *s = ctx;
    s->listener = rpc_listen_local(s->loop, 0, &(struct rpc_service){handle, closed, s}, NULL);
}

static void close_server(void *ctx) { rpc_listener_close(((struct server *)ctx)->listener); }

static void listen_edge(void *ctx)
{
    struct scene *s = ctx;
    struct rpc_relay_options o = {.choose = choose, .place = place, .reply = reply, .ctx = s, .idle_close_ms = 120000};
    s->relay = rpc_relay_new(s->edge, &o);
    EXPECT_OK(loop_listen(s->edge, &(struct addr){.port = PORT}, &(struct listener_events){accepted, s}, &s->listener));
}

static void close_edge(void *ctx)
{
    struct scene *s = ctx;
    listener_close(s->listener);
    rpc_relay_free(s->relay);
}

static struct scene *start(uint64_t seed)
{
    struct scene *s = must_zero(sizeof *s);
    struct sim_options options = sim_options_default(seed);
    s->sim = sim_new(&options);
    struct sim_process *p = sim_process_new(s->sim, "10.0.0.1");
    for (int i = 0; i < SERVERS; i++) {
        s->servers[i].loop = sim_loop_new(p);
        sim_call(s->servers[i].loop, listen_server, &s->servers[i]);
    }
    s->edge = sim_loop_new(p);
    s->client = sim_loop_new(sim_process_new(s->sim, "10.0.0.2"));
    sim_call(s->edge, listen_edge, s);
    return s;
}

static void stop(struct scene *s)
{
    sim_call(s->edge, close_edge, s);
    sim_run_for(s->sim, 1000);
    for (int i = 0; i < SERVERS; i++) {
        sim_call(s->servers[i].loop, close_server, &s->servers[i]);
        buf_done(&s->servers[i].kept);
    }
    sim_run_for(s->sim, 1000);
    sim_free(s->sim);
    free(s);
}

TEST(relay, each_request_goes_to_the_server_of_its_code_and_both_answer_by_one_connection)
{
    struct scene *s = start(1);
    struct caller *c = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    for (int i = 0; i < 20; i++) {
        char text[20];
        snprintf(text, sizeof text, "body %d", i);
        caller_use(c, i % 3 ? FRAME_JSON : FRAME_BINARY);
        struct answer *a = caller_call(c, i % 2 ? FIRST : SECOND, NULL, NULL, slice_text(text));
        EXPECT_TEXT(a->frame.body, text);
        answer_free(a);
    }
    EXPECT_EQ(s->servers[0].calls, 10);
    EXPECT_EQ(s->servers[1].calls, 10);
    EXPECT_TEXT(slice_text(s->servers[0].remote), "10.0.0.2");   /* the client's, not ours */
    caller_close(c);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(s->servers[0].gone, 1);
    EXPECT_EQ(s->servers[1].gone, 1);
    stop(s);
}

static void note_answer(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct server *s = ctx;
    EXPECT_OK(e);
    EXPECT_TEXT(reply->frame->body, "mine");
    s->answers++;
}

static void ask_client(void *ctx)
{
    struct server *s = ctx;
    struct rpc_request r = {.code = ASK, .body = SLICE("?"), .timeout_ms = 3000, .done = note_answer, .ctx = s};
    rpc_conn_request(s->conn, &r);
}

TEST(relay, what_a_server_asks_is_answered_to_it)
{
    struct scene *s = start(2);
    struct caller *c = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    answer_free(caller_call(c, FIRST, NULL, NULL, SLICE("x")));
    sim_call(s->servers[0].loop, ask_client, &s->servers[0]);
    struct answer *asked = caller_asked(c, ASK, 5000);
    answer_free(caller_call(c, SECOND, NULL, NULL, SLICE("x")));   /* the other one's reply comes in between */
    caller_answer(c, asked, RESPONSE_SUCCESS, (struct slice){NULL, 0}, SLICE("mine"));
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(s->servers[0].answers, 1);
    answer_free(asked);
    caller_close(c);
    stop(s);
}

TEST(relay, a_request_may_be_for_all_for_nobody_or_for_one_who_is_away)
{
    struct scene *s = start(5);
    struct caller *c = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    struct answer *a = caller_call(c, EVERYBODY, NULL, NULL, SLICE("all"));
    EXPECT_TEXT(a->frame.body, "all");
    answer_free(a);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(s->servers[0].calls, 1);
    EXPECT_EQ(s->servers[1].calls, 1);
    EXPECT_EQ(caller_unread(c), 0);   /* one answer */
    a = caller_call(c, NOBODY, NULL, NULL, SLICE(""));
    EXPECT_EQ(a->frame.code, RESPONSE_SYSTEM_ERROR);
    EXPECT_TEXT(a->frame.remark, "for nobody");
    answer_free(a);
    for (int i = 0; i < 2; i++) {
        a = caller_call(c, AWAY, NULL, NULL, SLICE(""));
        EXPECT_EQ(a->frame.code, RESPONSE_SYSTEM_ERROR);
        EXPECT(slice_starts(a->frame.remark, SLICE("the broker cannot be reached")));
        answer_free(a);
    }
    a = caller_call(c, WATCHED, NULL, NULL, SLICE("seen"));
    EXPECT_TEXT(a->frame.body, "seen!");
    answer_free(a);
    caller_close(c);
    stop(s);
}

TEST(relay, a_client_that_does_not_read_holds_back_its_servers_and_gets_all_in_the_end)
{
    enum { MANY = 300, BACKED_UP = 10 * 1024 * 1024 };
    struct scene *s = start(3);
    struct caller *slow = caller_open(s->sim, s->client, "10.0.0.1", PORT), *other = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    int32_t last = 0;
    caller_pause(slow, true);
    for (int i = 0; i < MANY; i++) last = caller_request(slow, BIG, NULL, NULL, SLICE(""));
    sim_run_for(s->sim, 5000);
    answer_free(caller_call(other, FIRST, NULL, NULL, SLICE("served")));
    EXPECT(rpc_relay_unsent(s->relay) < BACKED_UP);
    caller_pause(slow, false);
    answer_free(caller_reply(slow, last, 60000));
    EXPECT_EQ(caller_unread(slow), MANY - 1);
    caller_close(slow);
    caller_close(other);
    stop(s);
}

TEST(relay, a_connection_ends_with_any_of_its_ends)
{
    struct scene *s = start(4);
    struct caller *c = caller_open(s->sim, s->client, "10.0.0.1", PORT), *broken = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    answer_free(caller_call(c, FIRST, NULL, NULL, SLICE("x")));
    answer_free(caller_call(broken, FIRST, NULL, NULL, SLICE("x")));
    caller_send(broken, SLICE("\0\0\0\5\0\0\0\0x"));
    EXPECT(caller_ended(broken, 1000));
    EXPECT(!caller_ended(c, 60000));
    sim_call(s->servers[0].loop, close_server, &s->servers[0]);
    EXPECT(caller_ended(c, 1000));
    caller_close(c);
    caller_close(broken);
    struct caller *idle = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    EXPECT(!caller_ended(idle, 115000));
    EXPECT(caller_ended(idle, 15000));
    caller_close(idle);
    sim_call(s->servers[0].loop, listen_server, &s->servers[0]);
    stop(s);
}

/* --- the end --- */

static void quiesce(void *ctx) { rpc_relay_quiesce(((struct scene *)ctx)->relay); }

static bool is_settled(void *ctx)
{
    struct scene *s = ctx;
    return rpc_relay_settle(s->relay);
}

struct settled {
    struct scene *scene;
    bool over;
};

static void settle(void *ctx)
{
    struct settled *x = ctx;
    x->over = is_settled(x->scene);
}

static void answer_kept(void *ctx)
{
    struct server *s = ctx;
    struct call *call;
    EXPECT_EQ(s->kept.n, sizeof call);
    memcpy(&call, s->kept.p, sizeof call);
    buf_clear(&s->kept);
    call_reply_ok(call);
}

TEST(relay, at_the_end_what_came_in_is_answered_and_who_is_owed_nothing_is_told_at_once)
{
    struct scene *s = start(7);
    struct settled x = {.scene = s};
    struct caller *waits = caller_open(s->sim, s->client, "10.0.0.1", PORT), *idle = caller_open(s->sim, s->client, "10.0.0.1", PORT);
    int32_t held = caller_request(waits, HOLD, NULL, NULL, (struct slice){NULL, 0});
    answer_free(caller_call(idle, FIRST, NULL, NULL, SLICE("x")));
    sim_run_for(s->sim, 100);
    int calls = s->servers[0].calls;
    sim_call(s->edge, quiesce, s);
    caller_request(idle, FIRST, NULL, NULL, SLICE("late"));
    sim_call(s->edge, settle, &x);
    EXPECT(!x.over);
    EXPECT(caller_ended(idle, 100));
    EXPECT_EQ(s->servers[0].calls, calls);
    sim_call(s->servers[0].loop, answer_kept, &s->servers[0]);
    struct answer *a = caller_reply(waits, held, 1000);
    EXPECT(a && a->frame.code == RESPONSE_SUCCESS);
    answer_free(a);
    sim_call(s->edge, settle, &x);
    EXPECT(caller_ended(waits, 100));
    caller_close(waits);
    caller_close(idle);
    sim_run_for(s->sim, 100);
    sim_call(s->edge, settle, &x);
    EXPECT(x.over);
    stop(s);
}
