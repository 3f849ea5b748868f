/* What a connection speaks, told by its first bytes; PROXY headers; bytes that were looked at come again. */
#include "kit/sim_loop.h"
#include "kit/test.h"

#include "net/proxy_header.h"
#include "net/sniff.h"

#include <stdlib.h>

TEST(sniff, protocols_are_told_by_their_first_bytes)
{
    EXPECT_EQ(protocol_of(SLICE("")), PROTOCOL_MORE);
    EXPECT_EQ(protocol_of(SLICE("\x16\x03\x01\x02")), PROTOCOL_MORE);
    EXPECT_EQ(protocol_of(SLICE("\x16\x03\x01\x02\x00")), PROTOCOL_TLS);
    EXPECT_EQ(protocol_of(SLICE("\x16\x04")), PROTOCOL_OTHER);
    EXPECT_EQ(protocol_of(SLICE("P")), PROTOCOL_MORE);
    EXPECT_EQ(protocol_of(SLICE("PRI * HTTP/2.0")), PROTOCOL_HTTP2);
    EXPECT_EQ(protocol_of(SLICE("PO")), PROTOCOL_MORE);
    EXPECT_EQ(protocol_of(SLICE("POST / HTTP/1.1")), PROTOCOL_HTTP1);
    EXPECT_EQ(protocol_of(SLICE("GET /")), PROTOCOL_HTTP1);
    EXPECT_EQ(protocol_of(SLICE("GEx")), PROTOCOL_OTHER);
    EXPECT_EQ(protocol_of(SLICE("\0")), PROTOCOL_OTHER);
}

static enum proxy_result read_header(struct slice s, struct proxy_header *h) { return proxy_header_read(s, h); }

TEST(proxy_header, version_1_is_a_line)
{
    struct proxy_header h;
    char text[ADDR_TEXT_MAX];
    struct slice line = SLICE("PROXY TCP4 192.0.2.7 10.0.0.1 56324 8081\r\nrest");
    for (size_t n = 1; n < line.n - 4; n++) EXPECT_EQ(read_header(slice_of(line.p, n), &h), PROXY_MORE);
    EXPECT_EQ(read_header(line, &h), PROXY_FOUND);
    EXPECT_EQ(h.size, line.n - 4);
    EXPECT_TEXT(slice_text(addr_format(&h.source, text)), "192.0.2.7:56324");
    EXPECT_TEXT(slice_text(addr_format(&h.destination, text)), "10.0.0.1:8081");
    EXPECT_EQ(read_header(SLICE("PROXY TCP6 2001:db8::1 ::1 1 2\r\n"), &h), PROXY_FOUND);
    EXPECT_TEXT(slice_text(addr_format(&h.source, text)), "[2001:db8::1]:1");
    EXPECT_EQ(read_header(SLICE("PROXY UNKNOWN\r\n"), &h), PROXY_FOUND);
    EXPECT(!h.has_addresses);
    const char *broken[] = {"PROXY \r\n", "PROXY TCP4 1.2.3.4\r\n", "PROXY TCP4 a b c d\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 70000\r\n", "PROXY TCP4 1.2.3.4 1.2.3.4 1 2 3\r\n"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) EXPECT_EQ(read_header(slice_text(broken[i]), &h), PROXY_BROKEN);
    char longer[200];
    memset(longer, 'x', sizeof longer);
    memcpy(longer, "PROXY ", 6);
    EXPECT_EQ(read_header(slice_of(longer, sizeof longer), &h), PROXY_BROKEN);
    EXPECT_EQ(read_header(SLICE("PRI * HTTP/2.0"), &h), PROXY_NONE);
}

#define V2 "\r\n\r\n\0\r\nQUIT\n"

TEST(proxy_header, version_2_is_binary_and_carries_extras)
{
    struct proxy_header h;
    char text[ADDR_TEXT_MAX];
    uint8_t type;
    struct slice value;
    struct slice bytes = SLICE(V2 "\x21\x11\0\x13" "\xc0\0\2\7" "\x0a\0\0\1" "\x01\x02" "\x1f\x91" "\xea\0\4pod1" "rest");
    for (size_t n = 1; n < bytes.n - 4; n++) EXPECT_EQ(read_header(slice_of(bytes.p, n), &h), PROXY_MORE);
    EXPECT_EQ(read_header(bytes, &h), PROXY_FOUND);
    EXPECT_EQ(h.size, bytes.n - 4);
    EXPECT_TEXT(slice_text(addr_format(&h.source, text)), "192.0.2.7:258");
    EXPECT(proxy_header_extra(&h.extras, &type, &value));
    EXPECT_EQ(type, 0xEA);
    EXPECT_TEXT(value, "pod1");
    EXPECT(!proxy_header_extra(&h.extras, &type, &value));
    EXPECT_EQ(read_header(SLICE(V2 "\x20\0\0\0"), &h), PROXY_FOUND);
    EXPECT(!h.has_addresses);
    EXPECT_EQ(read_header(SLICE(V2 "\x31\x11\0\x0c"), &h), PROXY_BROKEN);
    EXPECT_EQ(read_header(SLICE(V2 "\x21\x11\0\x02zz"), &h), PROXY_BROKEN);
    EXPECT_EQ(read_header(SLICE(V2 "\x21\x11\xff\xff"), &h), PROXY_BROKEN);
    struct slice cut = SLICE("\xea\0\5pod1");
    EXPECT(!proxy_header_extra(&cut, &type, &value));
}

/* --- sniffing a stream --- */

struct scene {
    struct sim *sim;
    struct loop *server, *client;
    struct listener *listener;
    struct sniffer sniffer;
    struct stream *out, *in;     /* the client's, and what was sniffed */
    enum protocol protocol;
    struct addr remote;
    struct buf attributes;
    struct buf bytes;
    int found, refused, ends;
    bool hold;                   /* pause when it was found */
};

static void on_data(void *ctx, uint8_t *p, size_t n) { buf_put(&((struct scene *)ctx)->bytes, p, n); }

static void on_end(void *ctx, err_t e)
{
    err_free(e);
    ((struct scene *)ctx)->ends++;
}

static void on_written(void *ctx) { (void)ctx; }
static const struct stream_events events = {on_data, on_end, on_written};

static void found(void *ctx, const struct sniffed *what)
{
    struct scene *s = ctx;
    s->found++;
    s->in = what->stream;
    s->protocol = what->protocol;
    s->remote = what->remote;
    buf_put_slice(&s->attributes, what->attributes);
    stream_start(s->in, &events, s);
    if (s->hold) stream_pause(s->in, true);
}

static void refused(void *ctx, const struct addr *remote, err_t e)
{
    (void)remote;
    ((struct scene *)ctx)->refused += e != NULL;
    err_free(e);
}

static void accepted(void *ctx, struct stream *stream, const struct addr *remote) { sniffer_take(&((struct scene *)ctx)->sniffer, stream, remote); }

static void connected(void *ctx, err_t e, struct stream *stream)
{
    static const struct stream_events nothing = {on_data, on_end, on_written};
    struct scene *s = ctx;
    EXPECT_OK(e);
    s->out = stream;
    stream_start(stream, &nothing, s);
}

static struct scene *scene_start(uint64_t seed, enum tls_mode mode)
{
    struct scene *s = must_zero(sizeof *s);
    struct sim_options options = sim_options_default(seed);
    struct addr at = {.port = 1};
    struct connect *c;
    s->sim = sim_new(&options);
    s->server = sim_loop_new(sim_process_new(s->sim, "10.0.0.1"));
    s->client = sim_loop_new(sim_process_new(s->sim, "10.0.0.2"));
    sniffer_init(&s->sniffer, s->server, NULL, mode, found, refused, s);
    EXPECT_OK(loop_listen(s->server, &at, &(struct listener_events){accepted, s}, &s->listener));
    EXPECT_OK(loop_connect(s->client, SLICE("10.0.0.1"), 1, 1000, connected, s, &c));
    sim_run_for(s->sim, 1000);
    return s;
}

static void say(struct scene *s, struct slice words)
{
    struct iovec part = {(void *)words.p, words.n};
    EXPECT_EQ(stream_write(s->out, &part, 1), WRITE_DONE);
    sim_run_for(s->sim, 1000);
}

static void scene_stop(struct scene *s)
{
    if (s->in) stream_close(s->in);
    stream_close(s->out);
    listener_close(s->listener);
    sniffer_done(&s->sniffer);
    sim_free(s->sim);
    buf_done(&s->bytes);
    buf_done(&s->attributes);
    free(s);
}

TEST(sniff, what_was_looked_at_comes_once_more_and_in_order)
{
    struct scene *s = scene_start(1, TLS_DISABLED);
    say(s, SLICE("PR"));
    EXPECT_EQ(s->found, 0);
    say(s, SLICE("I *"));
    EXPECT_EQ(s->found, 1);
    EXPECT_EQ(s->protocol, PROTOCOL_HTTP2);
    say(s, SLICE(" more"));
    EXPECT_TEXT(buf_slice(&s->bytes), "PRI * more");
    scene_stop(s);
}

TEST(sniff, the_receiver_may_pause_before_it_has_the_first_bytes)
{
    struct scene *s = scene_start(2, TLS_DISABLED);
    s->hold = true;
    say(s, SLICE("\0frame"));
    say(s, SLICE(" more"));
    EXPECT_EQ(s->protocol, PROTOCOL_OTHER);
    EXPECT_EQ(s->bytes.n, 0);
    stream_pause(s->in, false);
    sim_run_for(s->sim, 1000);
    EXPECT_TEXT(slice_skip(buf_slice(&s->bytes), 1), "frame more");
    scene_stop(s);
}

TEST(sniff, a_proxy_in_front_tells_the_client_s_address_and_its_attributes)
{
    struct scene *s = scene_start(3, TLS_DISABLED);
    char text[ADDR_TEXT_MAX];
    say(s, SLICE(V2 "\x21\x11\0\x17" "\xc0\0\2\7" "\x0a\0\0\1" "\x01\x02" "\x1f\x91" "\xea\0\4pod1" "\xeb\0\1\x01" "PRI *"));
    EXPECT_EQ(s->found, 1);
    EXPECT_TEXT(slice_text(addr_format(&s->remote, text)), "192.0.2.7:258");
    struct slice told = SLICE("proxy_protocol_addr\0" "192.0.2.7\0proxy_protocol_port\0" "258\0proxy_protocol_server_addr\0" "10.0.0.1\0"
                              "proxy_protocol_server_port\0" "8081\0proxy_protocol_tlv_0xea\0pod1\0");
    EXPECT(slice_eq(buf_slice(&s->attributes), told));
    EXPECT_TEXT(buf_slice(&s->bytes), "PRI *");
    scene_stop(s);
}

TEST(sniff, who_says_nothing_or_what_may_not_be_is_given_up)
{
    struct scene *s = scene_start(4, TLS_DISABLED);
    say(s, SLICE("\x16\x03\x01\x02\x00"));
    EXPECT_EQ(s->refused, 1);
    EXPECT_EQ(s->ends, 1);
    scene_stop(s);
    s = scene_start(5, TLS_ENFORCING);
    say(s, SLICE("PRI *"));
    EXPECT_EQ(s->refused, 1);
    EXPECT_EQ(s->found, 0);
    scene_stop(s);
    s = scene_start(6, TLS_PERMISSIVE);
    sim_run_for(s->sim, SNIFF_WAIT_MS);
    EXPECT_EQ(s->refused, 1);
    EXPECT_EQ(s->ends, 1);
    scene_stop(s);
}
