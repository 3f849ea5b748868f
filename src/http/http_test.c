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
    struct client clients[CLIENTS_MAX];
    size_t count;
    const char *say;
};

static void get(void *ctx, struct http_call *call, struct slice path)
{
    struct world *w = ctx;
    w->gets++;
    if (slice_eq(path, SLICE("/later"))) w->later = call;
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
