/* TLS over a stream, on the simulated network; the client is OpenSSL with its bytes in memory. */
#include "kit/sim_loop.h"
#include "kit/test.h"

#include "net/sniff.h"
#include "net/tls.h"

#include <openssl/ssl.h>
#include <stdlib.h>

/* The server says back what it hears. */
struct scene {
    struct sim *sim;
    struct loop *server, *client;
    struct listener *listener;
    struct sniffer sniffer;
    struct tls *tls;
    struct stream *in;
    enum protocol protocol;
    bool encrypted, paused, later;
    struct buf out;              /* of the server, while a WRITE_LATER is under way */
    int refused, ends;

    struct stream *stream;       /* the client's */
    SSL_CTX *context;
    SSL *ssl;
    BIO *from, *to;
    struct buf heard, writing;
    bool writes_later, over;
};

static void write_back(struct scene *s)
{
    struct iovec part = {s->out.p, s->out.n};
    s->later = stream_write(s->in, &part, 1) == WRITE_LATER;
    if (s->later) stream_pause(s->in, true);
    else buf_clear(&s->out);
}

static void server_data(void *ctx, uint8_t *p, size_t n)
{
    struct scene *s = ctx;
    buf_put(&s->out, p, n);
    if (!s->later) write_back(s);
}

static void server_end(void *ctx, err_t e)
{
    struct scene *s = ctx;
    err_free(e);
    s->ends++;
    stream_close(s->in);
    s->in = NULL;
}

static void server_written(void *ctx)
{
    struct scene *s = ctx;
    s->later = false;
    buf_clear(&s->out);
    if (!s->paused) stream_pause(s->in, false);
}

static void found(void *ctx, const struct sniffed *what)
{
    static const struct stream_events events = {server_data, server_end, server_written};
    struct scene *s = ctx;
    s->in = what->stream;
    s->protocol = what->protocol;
    s->encrypted = what->encrypted;
    stream_start(s->in, &events, s);
}

static void refused(void *ctx, const struct addr *remote, err_t e)
{
    (void)remote;
    ((struct scene *)ctx)->refused += e != NULL;
    err_free(e);
}

static void accepted(void *ctx, struct stream *stream, const struct addr *remote) { sniffer_take(&((struct scene *)ctx)->sniffer, stream, remote); }

/* --- the client --- */

static void client_send(struct scene *s)
{
    char *p;
    long n = BIO_get_mem_data(s->to, &p);
    if (s->writes_later || n <= 0 || !s->stream) return;
    buf_clear(&s->writing);
    buf_put(&s->writing, p, (size_t)n);
    (void)BIO_reset(s->to);
    struct iovec part = {s->writing.p, s->writing.n};
    s->writes_later = stream_write(s->stream, &part, 1) == WRITE_LATER;
}

static void client_read(struct scene *s)
{
    uint8_t bytes[4096];
    size_t n;
    while (SSL_read_ex(s->ssl, bytes, sizeof bytes, &n) == 1) buf_put(&s->heard, bytes, n);
    s->over |= SSL_get_error(s->ssl, 0) == SSL_ERROR_ZERO_RETURN;
    client_send(s);
}

static void client_data(void *ctx, uint8_t *p, size_t n)
{
    struct scene *s = ctx;
    BIO_write(s->from, p, (int)n);
    client_read(s);
}

static void client_end(void *ctx, err_t e)
{
    err_free(e);
    ((struct scene *)ctx)->over = true;
}

static void client_written(void *ctx)
{
    ((struct scene *)ctx)->writes_later = false;
    client_send(ctx);
}

static void connected(void *ctx, err_t e, struct stream *stream)
{
    static const struct stream_events events = {client_data, client_end, client_written};
    struct scene *s = ctx;
    EXPECT_OK(e);
    s->stream = stream;
    stream_start(stream, &events, s);
}

static void client_new(struct scene *s)
{
    s->context = SSL_CTX_new(TLS_client_method());
    s->ssl = SSL_new(s->context);
    s->from = BIO_new(BIO_s_mem());
    s->to = BIO_new(BIO_s_mem());
    SSL_set_bio(s->ssl, s->from, s->to);
    SSL_set_connect_state(s->ssl);
    SSL_set_alpn_protos(s->ssl, (const unsigned char *)"\x02h2\x08http/1.1", 12);
}

static void scene_connect(struct scene *s)
{
    struct connect *c;
    client_new(s);
    EXPECT_OK(loop_connect(s->client, SLICE("10.0.0.1"), 1, 1000, connected, s, &c));
    sim_run_for(s->sim, 1000);
    client_read(s);
    sim_run_for(s->sim, 1000);
}

static void client_free(struct scene *s)
{
    if (s->stream) stream_close(s->stream);
    s->stream = NULL;
    SSL_free(s->ssl);
    SSL_CTX_free(s->context);
}

static struct scene *scene_start(uint64_t seed)
{
    struct scene *s = must_zero(sizeof *s);
    struct sim_options options = sim_options_default(seed);
    struct buf certificate = BUF_EMPTY, key = BUF_EMPTY;
    struct addr at = {.port = 1};
    EXPECT_OK(tls_make_certificate("mq.example.org", &certificate, &key));
    EXPECT_OK(tls_new(buf_slice(&certificate), buf_slice(&key), &s->tls));
    buf_done(&certificate);
    buf_done(&key);
    s->sim = sim_new(&options);
    s->server = sim_loop_new(sim_process_new(s->sim, "10.0.0.1"));
    s->client = sim_loop_new(sim_process_new(s->sim, "10.0.0.2"));
    sniffer_init(&s->sniffer, s->server, s->tls, TLS_ENFORCING, found, refused, s);
    EXPECT_OK(loop_listen(s->server, &at, &(struct listener_events){accepted, s}, &s->listener));
    scene_connect(s);
    return s;
}

static void scene_stop(struct scene *s)
{
    if (s->in) stream_close(s->in);
    client_free(s);
    listener_close(s->listener);
    sniffer_done(&s->sniffer);
    tls_free(s->tls);
    sim_free(s->sim);
    buf_done(&s->out);
    buf_done(&s->heard);
    buf_done(&s->writing);
    free(s);
}

static void say(struct scene *s, struct slice words)
{
    size_t n;
    EXPECT_EQ(SSL_write_ex(s->ssl, words.p, words.n, &n), 1);
    client_send(s);
    sim_run_for(s->sim, 1000);
}

TEST(tls, what_is_said_comes_back_and_h2_is_agreed_on)
{
    struct scene *s = scene_start(1);
    const unsigned char *protocol;
    unsigned n;
    SSL_get0_alpn_selected(s->ssl, &protocol, &n);
    EXPECT_TEXT(slice_of(protocol, n), "h2");
    say(s, SLICE("PRI * said"));
    EXPECT_EQ(s->protocol, PROTOCOL_HTTP2);
    EXPECT(s->encrypted);
    EXPECT_TEXT(buf_slice(&s->heard), "PRI * said");
    say(s, SLICE(" more"));
    EXPECT_TEXT(buf_slice(&s->heard), "PRI * said more");
    scene_stop(s);
}

TEST(tls, large_amounts_go_through_under_back_pressure)
{
    enum { ALL = 3000000 };
    struct scene *s = scene_start(2);
    uint8_t *bytes = must_alloc(ALL);
    for (size_t i = 0; i < ALL; i++) bytes[i] = (uint8_t)(i * 5 + i / 777);
    bytes[0] = 0;
    say(s, slice_of(bytes, 4096));
    stream_pause(s->in, s->paused = true);
    say(s, slice_of(bytes + 4096, ALL - 4096));
    EXPECT_EQ(s->heard.n, 4096);
    stream_pause(s->in, s->paused = false);
    sim_run_for(s->sim, 10000);
    EXPECT(slice_eq(buf_slice(&s->heard), slice_of(bytes, ALL)));
    free(bytes);
    scene_stop(s);
}

TEST(tls, an_end_is_told_to_the_other_side)
{
    struct scene *s = scene_start(3);
    say(s, SLICE("\0x"));
    SSL_shutdown(s->ssl);
    client_send(s);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(s->ends, 1);
    client_read(s);
    EXPECT(s->over);
    scene_stop(s);
}

TEST(tls, bytes_that_are_no_record_end_the_connection)
{
    struct scene *s = scene_start(4);
    say(s, SLICE("\0x"));
    struct iovec part = {(void *)"nonsense instead of a record", 28};
    stream_write(s->stream, &part, 1);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(s->ends, 1);
    scene_stop(s);
}

TEST(tls, a_handshake_that_fails_is_refused)
{
    struct scene *s = scene_start(5);
    client_free(s);
    sim_run_for(s->sim, 1000);
    client_new(s);
    struct connect *c;
    EXPECT_OK(loop_connect(s->client, SLICE("10.0.0.1"), 1, 1000, connected, s, &c));
    sim_run_for(s->sim, 1000);
    int before = s->refused;
    struct iovec part = {(void *)"\x16\x03\x01\x00\x05xxxxx", 10};
    stream_write(s->stream, &part, 1);
    sim_run_for(s->sim, 1000);
    EXPECT_EQ(s->refused, before + 1);
    scene_stop(s);
}

TEST(tls, a_certificate_may_be_read_when_the_first_client_wants_it)
{
    struct scene *s = scene_start(7);
    struct buf certificate = BUF_EMPTY, key = BUF_EMPTY;
    EXPECT_OK(tls_make_certificate("x", &certificate, &key));
    struct tls *good = tls_new_later(buf_slice(&certificate), buf_slice(&key)), *bad = tls_new_later(buf_slice(&certificate), SLICE("no key")), *had = s->tls;
    for (int i = 0; i < 2; i++) {
        if (s->in) stream_close(s->in);
        s->in = NULL;
        client_free(s);
        sim_run_for(s->sim, 1000);
        s->sniffer.tls = i ? good : bad;
        int refused_before = s->refused;
        scene_connect(s);
        EXPECT_EQ(s->refused, refused_before + !i);
        EXPECT_EQ(SSL_is_init_finished(s->ssl), i);
    }
    s->sniffer.tls = had;
    buf_done(&certificate);
    buf_done(&key);
    client_free(s);
    sim_run_for(s->sim, 1000);
    client_new(s);
    tls_free(good);
    tls_free(bad);
    scene_stop(s);
}

TEST(tls, a_new_certificate_is_used_by_those_who_come_after_it)
{
    struct scene *s = scene_start(6);
    struct buf certificate = BUF_EMPTY, key = BUF_EMPTY, other = BUF_EMPTY;
    X509 *first = SSL_get1_peer_certificate(s->ssl);
    EXPECT_OK(tls_make_certificate("", &certificate, &key));
    EXPECT_OK(tls_make_certificate("x", &other, &other));
    EXPECT_ERR(tls_load(s->tls, buf_slice(&certificate), SLICE("no key")), ERR_CONFIG);
    EXPECT_ERR(tls_load(s->tls, SLICE(""), buf_slice(&key)), ERR_CONFIG);
    EXPECT_ERR(tls_load(s->tls, buf_slice(&certificate), buf_slice(&other)), ERR_CONFIG);   /* the key of another */
    EXPECT_OK(tls_load(s->tls, buf_slice(&certificate), buf_slice(&key)));
    say(s, SLICE("\0old ones stay"));
    EXPECT_EQ(s->heard.n, 14);
    if (s->in) stream_close(s->in);
    s->in = NULL;
    client_free(s);
    sim_run_for(s->sim, 1000);
    scene_connect(s);
    X509 *second = SSL_get1_peer_certificate(s->ssl);
    EXPECT(second && X509_cmp(first, second));
    X509_free(first);
    X509_free(second);
    buf_done(&certificate);
    buf_done(&key);
    buf_done(&other);
    scene_stop(s);
}
