/* The server on the simulated network. */
#include "kit/sim_loop.h"
#include "kit/test.h"

#include "http/http.h"

#include <stdio.h>
#include <stdlib.h>

enum { PORT = 5557, CLIENTS_MAX = 80 };

struct client {
    struct stream *stream;
    struct buf got;
    bool over;
};

struct world {
    struct sim *sim;
    struct loop *loop, *other;
    struct http_server *server;
    struct http_call *later;      /* of /later, not yet answered */
    int gets;
    int pieces, made, ended;      /* of /long: how many there are, were asked for; bodies that are over */
    struct client clients[CLIENTS_MAX];
    size_t count;
    const char *say;
};

/* Of pieces of different lengths, some empty. */
static bool next_piece(void *ctx, struct buf *out)
{
    struct world *w = ctx;
    for (int i = 0; i < w->made % 7 * 1000; i++) buf_put_u8(out, (uint8_t)('a' + w->made % 26));
    return ++w->made < w->pieces;
}

static void body_over(void *ctx) { ((struct world *)ctx)->ended++; }

static void reply_long(struct world *w, struct http_call *call)
{
    struct http_body body = {next_piece, body_over, w};
    w->made = 0;
    http_reply_body(call, 200, "text/plain", &body);
}

static void get(void *ctx, struct http_call *call, struct slice path)
{
    struct world *w = ctx;
    w->gets++;
    if (slice_eq(path, SLICE("/later"))) w->later = call;
    else if (slice_eq(path, SLICE("/long"))) reply_long(w, call);
    else if (slice_eq(path, SLICE("/"))) http_reply_text(call, 200, "hello\n");
    else http_reply_text(call, 404, "nothing here\n");
}

static void on_data(void *ctx, uint8_t *p, size_t n) { buf_put(&((struct client *)ctx)->got, p, n); }

static void on_end(void *ctx, err_t e)
{
    struct client *c = ctx;
    err_free(e);
    c->over = true;
}

static const struct stream_events stream_events = {.data = on_data, .end = on_end};

static void say(struct client *c, const char *text)
{
    struct iovec part = {(void *)text, strlen(text)};
    EXPECT_EQ(stream_write(c->stream, &part, 1), WRITE_DONE);
}

static void on_connected(void *ctx, err_t e, struct stream *s)
{
    struct world *w = ctx;
    struct client *c = &w->clients[w->count++];
    EXPECT_OK(e);
    c->stream = s;
    stream_start(s, &stream_events, c);
    if (w->say) say(c, w->say);
}

static void connect_one(void *ctx)
{
    struct world *w = ctx;
    struct connect *connect;
    EXPECT_OK(loop_connect(w->other, SLICE("10.0.0.1"), PORT, 1000, on_connected, w, &connect));
}

static void listen_there(void *ctx)
{
    struct world *w = ctx;
    struct addr at;
    struct http_service service = {get, w};
    EXPECT_OK(addr_parse(SLICE("10.0.0.1:5557"), &at));
    EXPECT_OK(http_listen(w->loop, &at, &service, &w->server));
}

static struct world *world_new(void)
{
    struct sim_options options = sim_options_default(1);
    struct world *w = must_zero(sizeof *w);
    w->sim = sim_new(&options);
    w->loop = sim_loop_new(sim_process_new(w->sim, "10.0.0.1"));
    w->other = sim_loop_new(sim_process_new(w->sim, "10.0.0.2"));
    sim_call(w->loop, listen_there, w);
    return w;
}

static void close_all(void *ctx)
{
    struct world *w = ctx;
    for (size_t i = 0; i < w->count; i++)
        if (w->clients[i].stream) stream_close(w->clients[i].stream);
}

static void close_server(void *ctx) { http_close(((struct world *)ctx)->server); }

static void world_free(struct world *w)
{
    sim_call(w->other, close_all, w);
    sim_call(w->loop, close_server, w);
    for (size_t i = 0; i < w->count; i++) buf_done(&w->clients[i].got);
    sim_free(w->sim);
    free(w);
}

static struct client *begin(struct world *w, const char *text)
{
    w->say = text;
    sim_call(w->other, connect_one, w);
    sim_run_for(w->sim, 200);
    return &w->clients[w->count - 1];
}

static void expect_got(const struct client *c, const char *text)
{
    if (!slice_eq(buf_slice(&c->got), slice_text(text))) fail_msg("got \"%.*s\"", (int)c->got.n, (const char *)c->got.p);
}

#define HELLO "HTTP/1.1 200 OK\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 6\r\n"

TEST(http, a_page_is_given_out_and_the_connection_stays)
{
    struct world *w = world_new();
    struct client *c = begin(w, "GET /?a=b HTTP/1.1\r\nHost: x\r\n\r\n");
    expect_got(c, HELLO "\r\nhello\n");
    EXPECT(!c->over);
    world_free(w);
}

TEST(http, a_head_is_asked_for_alone_and_old_clients_see_the_end)
{
    struct world *w = world_new();
    expect_got(begin(w, "HEAD / HTTP/1.1\r\nHost: x\r\n\r\n"), HELLO "\r\n");
    struct client *c = begin(w, "GET / HTTP/1.0\r\n\r\n");
    expect_got(c, HELLO "Connection: close\r\n\r\nhello\n");
    EXPECT(c->over);
    c = begin(w, "GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n");
    expect_got(c, HELLO "Connection: close\r\n\r\nhello\n");
    EXPECT(c->over);
    world_free(w);
}

static void reply_later(void *ctx)
{
    struct world *w = ctx;
    http_reply_text(w->later, 503, "no\n");
    w->later = NULL;
}

TEST(http, requests_that_come_together_are_answered_in_their_order)
{
    struct world *w = world_new();
    struct client *c = begin(w, "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\nGET /?2 HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT_EQ(w->gets, 1);
    expect_got(c, "");
    sim_call(w->loop, reply_later, w);
    sim_run_for(w->sim, 200);
    expect_got(c, "HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nno\n"
                  HELLO "\r\nhello\n" HELLO "\r\nhello\n");
    world_free(w);
}

struct piece {
    struct client *client;
    char text[2];
};

static void say_piece(void *ctx)
{
    struct piece *p = ctx;
    say(p->client, p->text);
}

TEST(http, a_request_may_come_byte_by_byte)
{
    struct world *w = world_new();
    struct client *c = begin(w, NULL);
    for (const char *p = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"; *p; p++) {
        struct piece piece = {c, {*p, 0}};
        sim_call(w->other, say_piece, &piece);
        sim_run_for(w->sim, 20);
    }
    sim_run_for(w->sim, 200);
    expect_got(c, HELLO "\r\nhello\n");
    world_free(w);
}

static void expect_refused(struct world *w, const char *text, const char *status)
{
    struct client *c = begin(w, text);
    if (!slice_starts(buf_slice(&c->got), slice_text(status))) fail_msg("%s: %.*s", text, (int)c->got.n, (const char *)c->got.p);
    EXPECT(c->over);
}

TEST(http, what_is_no_request_is_answered_with_its_status_and_the_connection_ends)
{
    struct world *w = world_new();
    char *longest = must_alloc(HTTP_HEAD_MAX + 100);
    memset(longest, 'a', HTTP_HEAD_MAX + 99);
    longest[HTTP_HEAD_MAX + 99] = 0;
    expect_refused(w, "POST / HTTP/1.1\r\nHost: x\r\n\r\n", "HTTP/1.1 405 ");
    expect_refused(w, "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello", "HTTP/1.1 413 ");
    expect_refused(w, "GET / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n", "HTTP/1.1 501 ");
    expect_refused(w, "GET / HTTP/3.0\r\nHost: x\r\n\r\n", "HTTP/1.1 505 ");
    expect_refused(w, "GET http://x/ HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ");
    expect_refused(w, "GET / HTTP/1.1\r\nHost : x\r\n\r\n", "HTTP/1.1 400 ");
    expect_refused(w, "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", "HTTP/1.1 400 ");
    expect_refused(w, "\r\n\r\n", "HTTP/1.1 400 ");
    expect_refused(w, longest, "HTTP/1.1 431 ");
    EXPECT_EQ(w->gets, 0);
    free(longest);
    world_free(w);
}

static void close_first(void *ctx)
{
    struct world *w = ctx;
    stream_close(w->clients[0].stream);
    w->clients[0].stream = NULL;
}

TEST(http, a_client_that_goes_before_its_answer_leaves_nothing_behind)
{
    struct world *w = world_new();
    begin(w, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
    sim_call(w->other, close_first, w);
    sim_run_for(w->sim, 200);
    sim_call(w->loop, reply_later, w);
    expect_got(begin(w, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HELLO "\r\nhello\n");
    world_free(w);
}

TEST(http, silent_and_surplus_connections_are_ended)
{
    struct world *w = world_new();
    for (int i = 0; i < HTTP_CONNS_MAX; i++) EXPECT(!begin(w, NULL)->over);
    EXPECT(begin(w, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")->over);
    sim_run_for(w->sim, HTTP_IDLE_MS + 10000);
    for (int i = 0; i < HTTP_CONNS_MAX; i++) EXPECT(w->clients[i].over);
    expect_got(begin(w, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"), HELLO "\r\nhello\n");
    world_free(w);
}

/* --- bodies that are made while they are sent --- */

#define LONG_HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

static void put_long(struct buf *out, int pieces)
{
    for (int i = 0; i < pieces; i++)
        for (int k = 0; k < i % 7 * 1000; k++) buf_put_u8(out, (uint8_t)('a' + i % 26));
}

/* Takes a body in chunks off the front. */
static struct buf join_chunks(struct slice *s)
{
    struct buf body = BUF_EMPTY;
    for (size_t n = 1; n;) {
        EXPECT(s->n > 10 || slice_starts(*s, SLICE("0\r\n\r\n")));
        char *end;
        n = strtoul((const char *)s->p, &end, 16);
        *s = slice_skip(*s, (size_t)(end - (const char *)s->p) + 2);
        EXPECT(s->n >= n + 2);
        buf_put(&body, s->p, n);
        *s = slice_skip(*s, n);
        EXPECT(slice_starts(*s, SLICE("\r\n")));
        *s = slice_skip(*s, 2);
    }
    return body;
}

static void expect_chunks(struct slice *got, int pieces)
{
    struct buf expected = BUF_EMPTY, body;
    struct slice head = SLICE(LONG_HEAD "Transfer-Encoding: chunked\r\n\r\n");
    put_long(&expected, pieces);
    EXPECT(slice_starts(*got, head));
    *got = slice_skip(*got, head.n);
    body = join_chunks(got);
    EXPECT(slice_eq(buf_slice(&body), buf_slice(&expected)));
    buf_done(&body);
    buf_done(&expected);
}

static bool is_ended(void *ctx) { return ((struct world *)ctx)->ended; }

TEST(http, a_body_that_is_made_while_it_is_sent_comes_in_chunks_and_the_next_request_after_it)
{
    struct world *w = world_new();
    w->pieces = 300;
    struct client *c = begin(w, "GET /long HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n");
    EXPECT(sim_run_until(w->sim, is_ended, w, 60000));
    sim_run_for(w->sim, 1000);
    buf_put_u8(&c->got, 0);
    struct slice got = slice_of(c->got.p, c->got.n - 1);
    expect_chunks(&got, w->pieces);
    EXPECT(slice_eq(got, SLICE(HELLO "\r\nhello\n")));
    EXPECT(!c->over);
    EXPECT_EQ(w->ended, 1);
    world_free(w);
}

TEST(http, clients_that_know_no_chunks_see_the_end_of_a_body_by_that_of_the_connection)
{
    struct world *w = world_new();
    struct buf expected = BUF_EMPTY;
    w->pieces = 30;
    struct client *c = begin(w, "GET /long HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    sim_run_for(w->sim, 1000);
    buf_put_text(&expected, LONG_HEAD "Connection: close\r\n\r\n");
    put_long(&expected, w->pieces);
    EXPECT(slice_eq(buf_slice(&c->got), buf_slice(&expected)));
    EXPECT(c->over);
    EXPECT_EQ(w->ended, 1);
    expect_got(begin(w, "HEAD /long HTTP/1.1\r\nHost: x\r\n\r\n"), LONG_HEAD "Transfer-Encoding: chunked\r\n\r\n");
    EXPECT_EQ(w->ended, 2);
    buf_done(&expected);
    world_free(w);
}

TEST(http, of_a_body_no_more_is_made_than_is_taken_and_nothing_after_the_client_has_gone)
{
    struct world *w = world_new();
    w->pieces = 1000000;
    struct client *c = begin(w, NULL);
    stream_pause(c->stream, true);
    struct piece piece = {.client = c};
    for (const char *p = "GET /long HTTP/1.1\r\nHost: x\r\n\r\n"; *p; p++) {
        piece.text[0] = *p;
        sim_call(w->other, say_piece, &piece);
    }
    sim_run_for(w->sim, 5000);
    int made = w->made;
    EXPECT(made > 0 && made < 10000);
    sim_run_for(w->sim, 5000);
    EXPECT_EQ(w->made, made);   /* it waits for the client */
    EXPECT_EQ(w->ended, 0);
    sim_call(w->other, close_first, w);
    sim_run_for(w->sim, 1000);
    EXPECT_EQ(w->ended, 1);
    world_free(w);
}

TEST(http, who_does_not_take_its_body_is_ended_and_so_are_bodies_at_the_end_of_the_server)
{
    struct world *w = world_new();
    w->pieces = 1000000;
    for (int i = 0; i < 2; i++) stream_pause(begin(w, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n")->stream, true);
    sim_run_for(w->sim, HTTP_IDLE_MS + 20000);
    EXPECT_EQ(w->ended, 2);
    stream_pause(begin(w, "GET /long HTTP/1.1\r\nHost: x\r\n\r\n")->stream, true);
    sim_call(w->loop, close_server, w);
    EXPECT_EQ(w->ended, 3);
    w->server = NULL;
    world_free(w);
}
