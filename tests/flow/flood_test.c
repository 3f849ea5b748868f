/* A hundred thousand broken frames over real sockets: what they cost is given back. */
#include "kit/test.h"

#include "base/config.h"
#include "base/log.h"
#include "broker/broker.h"
#include "codec/frame.h"
#include "codec/requests.h"
#include "net/loop.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

enum { CLIENTS = 20, BURST = 100, CONNECT_MS = 30000, SETTLE_MS = 50, SLACK_BYTES = 65536 };

/* Bytes that end their connection. */
static const struct slice closing[] = {
    SLICE("\0\0\0\3\0\0\0\0"),                        /* shorter than its own header length */
    SLICE("\0\0\0\4\0\0\0\0"),                        /* no header */
    SLICE("\xFF\xFF\xFF\xFF\0\0\0\0"),                /* negative */
    SLICE("\xE2\x7F\0\0\0\0\0\0"),                    /* 3.8 GB */
    SLICE("\0\0\0\x08\0\0\0\xC8{}\0\0"),              /* header longer than the frame */
    SLICE("\0\0\0\6\2\0\0\2{}"),                      /* unknown form */
    SLICE("\0\0\0\5\0\0\0\1{"),                       /* JSON that ends too early */
    SLICE("\0\0\0\x0C\1\0\0\x08\0\x69\0\1\0\0\0\1"),  /* binary header that ends too early */
    SLICE("GET / HTTP/1.1\r\n\r\n"),
};
enum { CLOSING = sizeof closing / sizeof *closing };

/* Frames that are answered with an error: header, body. */
static const char *const wrong[][2] = {
    {"{\"code\":12345,\"opaque\":1}", ""},
    {"{\"code\":-1}", "x"},
    {"{\"code\":10,\"extFields\":{\"topic\":\"T\"}}", "x"},
    {"{\"code\":310,\"extFields\":{\"a\":\"P\",\"b\":\"T\",\"e\":\"many\"}}", "x"},
    {"{\"code\":320,\"extFields\":{\"a\":\"P\",\"b\":\"T\",\"c\":\"X\",\"d\":\"4\",\"e\":\"0\",\"f\":\"0\",\"g\":\"0\",\"h\":\"0\"}}", "no batch"},
    {"{\"code\":11,\"extFields\":{\"queueId\":\"99999999999999999999\"}}", ""},
    {"{\"code\":14}", ""},
    {"{\"code\":17,\"extFields\":{\"topic\":\"%|%|\"}}", ""},
    {"{\"code\":25}", "flushConsumerOffsetInterval=soon"},
    {"{\"code\":34}", "not json"},
    {"{\"code\":34}", "{\"clientID\":\"c\",\"consumerDataSet\":[{\"groupName\":{}}]}"},
    {"{\"code\":35}", ""},
    {"{\"code\":41}", "[[[[[[[[[[[[[["},
    {"{\"code\":46}", "{\"subscriptionData\":7}"},
    {"{\"code\":200}", "{\"groupName\":\"!\"}"},
    {"{\"code\":222,\"extFields\":{\"topic\":\"T\",\"group\":\"G\",\"timestamp\":\"x\",\"isForce\":\"?\"}}", ""},
};
enum { WRONG = sizeof wrong / sizeof *wrong };

struct flood {
    struct loop *loop;
    struct broker *broker;
    uint16_t port;
    uint64_t frames, frames_wanted;
    uint64_t connections, answers, refusals;
    struct client *clients;
    int busy;
    struct timer settle;
};

struct client {
    struct flood *flood;
    struct stream *stream;
    struct connect *connect;
    struct buf in;
    struct buf out;
    uint64_t number;            /* of the connection */
    size_t first;               /* kind of its first frame */
    int awaited;                /* answers */
    bool closes;                /* the server must close */
};

/* What malloc has given out: the sanitizer's count when there is one. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
static size_t live_bytes(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : mallinfo2().uordblks;
}

/* --- clients --- */

static void begin(struct client *c);

static void settled(void *ctx) { real_loop_stop(((struct flood *)ctx)->loop); }

static void finish(struct client *c)
{
    struct flood *f = c->flood;
    stream_close(c->stream);
    c->stream = NULL;
    buf_done(&c->in);
    buf_done(&c->out);
    if (f->frames < f->frames_wanted) begin(c);
    else if (!--f->busy) timer_start(&f->loop->tasks, &f->settle, SETTLE_MS);
}

static void on_data(void *ctx, uint8_t *p, size_t n)
{
    struct client *c = ctx;
    size_t size;
    buf_put(&c->in, p, n);
    for (;;) {
        EXPECT_OK(frame_size(c->in.p, c->in.n, &size));
        if (!size || size > c->in.n) return;
        struct frame f;
        EXPECT_OK(frame_decode(c->in.p, size, &f));
        if (f.code == RESPONSE_SUCCESS || !f.remark.n) fail_msg("%s is answered with %d", wrong[(c->first + BURST - (size_t)c->awaited) % WRONG][0], f.code);
        c->in.n -= size;
        memmove(c->in.p, c->in.p + size, c->in.n);
        c->flood->answers++;
        if (--c->awaited) continue;
        finish(c);
        return;
    }
}

static void on_end(void *ctx, err_t e)
{
    struct client *c = ctx;
    err_free(e);
    EXPECT(c->closes);
    c->flood->refusals++;
    finish(c);
}

static void on_written(void *ctx) { (void)ctx; }

static void put_wrong(struct buf *out, size_t kind)
{
    size_t header = strlen(wrong[kind][0]), body = strlen(wrong[kind][1]);
    buf_put_be32(out, (uint32_t)(4 + header + body));
    buf_put_be32(out, (uint32_t)header);
    buf_put(out, wrong[kind][0], header);
    buf_put(out, wrong[kind][1], body);
}

static void on_connected(void *ctx, err_t e, struct stream *s)
{
    static const struct stream_events events = {on_data, on_end, on_written};
    struct client *c = ctx;
    struct flood *f = c->flood;
    EXPECT_OK(e);
    c->stream = s;
    stream_start(s, &events, c);
    c->closes = c->number % 5 != 0;
    if (c->closes) {
        buf_put_slice(&c->out, closing[c->number % CLOSING]);
        f->frames++;
    } else {
        c->first = c->number % WRONG;
        for (size_t i = 0; i < BURST; i++) put_wrong(&c->out, (c->first + i) % WRONG);
        f->frames += c->awaited = BURST;
    }
    struct iovec part = {c->out.p, c->out.n};
    stream_write(s, &part, 1);
}

/* Each connection has a pair of addresses and ports that was not used lately: the whole of 127 is this machine. */
static void begin(struct client *c)
{
    struct flood *f = c->flood;
    char host[32];
    c->number = f->connections++;
    snprintf(host, sizeof host, "127.0.%d.1", (int)(c->number % 16));
    EXPECT_OK(loop_connect(f->loop, slice_text(host), f->port, CONNECT_MS, on_connected, c, &c->connect));
}

/* Until so many more frames were sent and all clients are through. */
static void run(struct flood *f, uint64_t frames)
{
    f->frames_wanted = f->frames + frames;
    f->busy = CLIENTS;
    for (int i = 0; i < CLIENTS; i++) begin(&f->clients[i]);
    real_loop_run(f->loop);
}

/* --- the broker --- */

static void set(struct config *c, const char *key, const char *value) { EXPECT_OK(config_set(c, slice_text(key), slice_text(value))); }

TEST(flood, a_hundred_thousand_broken_frames_leave_nothing_behind)
{
    struct client clients[CLIENTS] = {{.flood = NULL}};
    struct flood f = {.clients = clients};
    struct config config;
    char *folder = test_folder();
    log_set_level(LOG_SILENT);
    config_init(&config, CONFIG_BROKER);
    set(&config, "storePathRootDir", folder);
    set(&config, "mappedFileSizeCommitLog", "1048576");
    set(&config, "flushDiskType", "ASYNC_FLUSH");
    EXPECT_OK(real_loop_new(&f.loop));
    struct broker_options o = {.loop = f.loop, .fs = fs_real(), .config = &config, .seed = 1};
    EXPECT_OK(broker_new(&o, &f.broker));
    f.port = broker_address(f.broker).port;
    timer_init(&f.settle, settled, &f);
    for (int i = 0; i < CLIENTS; i++) clients[i].flood = &f;
    run(&f, 10000);   /* buffers and tables get the size they need */
    size_t before = live_bytes();
    run(&f, 100000);
    size_t after = live_bytes();
    if (after > before + SLACK_BYTES) fail_msg("%zu bytes before, %zu after", before, after);
    EXPECT_EQ(f.answers + f.refusals, f.frames);
    EXPECT(f.refusals > 3000 && f.answers > 80000);
    EXPECT_OK(broker_free(f.broker));
    real_loop_free(f.loop);
    config_done(&config);
    test_folder_remove(folder);
}
