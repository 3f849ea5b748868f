#include "base/buf.h"
#include "net/tls.h"
#include "net/tls_internal.h"

#include <assert.h>
#include <openssl/err.h>
#include <stdlib.h>

enum { RECORD_BYTES = 16384 };

struct tls_stream {
    struct stream stream;
    struct stream *below;
    SSL *ssl;                    /* NULL: there is none, because of `failed` */
    err_t failed;
    BIO *in, *out;               /* of the SSL: what came, what is to go */
    const struct stream_events *events;
    void *ctx;
    struct timer again;          /* goes on with what has come, after a pause */
    struct buf early;            /* written before the handshake was over */
    struct buf writing;          /* below: WRITE_LATER */
    bool is_writing;             /* below is */
    bool later;                  /* the owner waits for `written` */
    bool ready;                  /* the handshake is over */
    bool asks;                   /* it is the client's side, which begins it */
    bool paused;
    bool ended;                  /* told, or nobody is to be told */
    bool closed;
    unsigned busy;               /* functions of ours below on the stack */
};

static struct tls_stream *of(struct stream *s) { return (struct tls_stream *)s; }
static struct tasks *tasks_of(struct tls_stream *t) { return &t->stream.loop->tasks; }

static void release(struct tls_stream *t)
{
    if (!t->closed || t->busy) return;
    SSL_free(t->ssl);   /* and its BIOs */
    err_free(t->failed);
    buf_done(&t->early);
    buf_done(&t->writing);
    free(t);
}

/* --- going out --- */

/* What the session has to send goes below; one write at a time. */
static void send_out(struct tls_stream *t)
{
    char *p;
    if (t->is_writing || t->closed || !t->ssl) return;
    long n = BIO_get_mem_data(t->out, &p);
    if (n <= 0) return;
    buf_clear(&t->writing);
    buf_put(&t->writing, p, (size_t)n);
    (void)BIO_reset(t->out);
    struct iovec part = {t->writing.p, t->writing.n};
    t->is_writing = stream_write(t->below, &part, 1) == WRITE_LATER;
    if (!t->is_writing) buf_done(&t->writing);
}

static void tell_end(struct tls_stream *t, err_t e)
{
    if (t->ended || t->closed) {
        err_drop(e, "the end of the connection has been told");
        return;
    }
    t->ended = true;
    t->events->end(t->ctx, e);
}

/* Output is in memory and never blocks: a write that fails is an end, which reading tells. */
static void encrypt(struct tls_stream *t, const void *p, size_t n)
{
    for (size_t done = 0, part; done < n; done += part) {
        size_t want = n - done < RECORD_BYTES ? n - done : RECORD_BYTES;
        if (SSL_write_ex(t->ssl, (const uint8_t *)p + done, want, &part) != 1) {
            ERR_clear_error();
            return;
        }
    }
}

static enum write_result op_write(struct stream *stream, const struct iovec *parts, size_t count)
{
    struct tls_stream *t = of(stream);
    assert(!t->later && "one write at a time");
    for (size_t i = 0; i < count; i++) {
        if (t->ready) encrypt(t, parts[i].iov_base, parts[i].iov_len);
        else buf_put(&t->early, parts[i].iov_base, parts[i].iov_len);
    }
    send_out(t);
    t->later = t->is_writing;
    return t->later ? WRITE_LATER : WRITE_DONE;
}

static void on_written(void *ctx)
{
    struct tls_stream *t = ctx;
    t->busy++;
    t->is_writing = false;
    buf_done(&t->writing);
    send_out(t);
    if (!t->is_writing && t->later) {
        t->later = false;
        t->events->written(t->ctx);
    }
    t->busy--;
    release(t);
}

/* --- coming in --- */

static void end_by(struct tls_stream *t, int result)
{
    int why = SSL_get_error(t->ssl, result);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return;
    send_out(t);   /* an alert says why */
    if (why == SSL_ERROR_ZERO_RETURN) tell_end(t, NULL);
    else tell_end(t, tls_error(ERR_NETWORK, t->ready ? "TLS" : "TLS handshake"));
}

static bool shake_hands(struct tls_stream *t)
{
    int result = SSL_do_handshake(t->ssl);
    if (result != 1) {
        end_by(t, result);
        return false;
    }
    t->ready = true;
    encrypt(t, t->early.p, t->early.n);
    buf_done(&t->early);
    return true;
}

/* Reads what is whole. The owner may pause, write or close meanwhile. */
static void read_on(struct tls_stream *t)
{
    uint8_t bytes[RECORD_BYTES];
    ERR_clear_error();
    t->busy++;
    while (!t->closed && !t->ended && !t->paused && (t->ready || shake_hands(t))) {
        size_t n;
        int result = SSL_read_ex(t->ssl, bytes, sizeof bytes, &n);
        if (result == 1) {
            t->events->data(t->ctx, bytes, n);
            continue;
        }
        end_by(t, result);
        break;
    }
    send_out(t);
    t->busy--;
    release(t);
}

static void on_data(void *ctx, uint8_t *p, size_t n)
{
    struct tls_stream *t = ctx;
    if (BIO_write(t->in, p, (int)n) != (int)n) abort();   /* memory is short */
    read_on(t);
}

static void on_end(void *ctx, err_t e)
{
    struct tls_stream *t = ctx;
    t->busy++;
    tell_end(t, e);
    t->busy--;
    release(t);
}

static void tell_failed(struct tls_stream *t)
{
    err_t e = t->failed;
    t->failed = NULL;
    t->busy++;
    tell_end(t, e);
    t->busy--;
    release(t);
}

static void go_on(void *ctx)
{
    struct tls_stream *t = ctx;
    if (t->failed) tell_failed(t);
    else read_on(t);
}

/* --- the stream --- */

static void op_start(struct stream *stream, const struct stream_events *events, void *ctx)
{
    static const struct stream_events below = {on_data, on_end, on_written};
    struct tls_stream *t = of(stream);
    t->events = events;
    t->ctx = ctx;
    if (t->ssl) stream_start(t->below, &below, t);
    if (!t->ssl || t->asks) timer_start(tasks_of(t), &t->again, 0);
}

static void op_pause(struct stream *stream, bool paused)
{
    struct tls_stream *t = of(stream);
    t->paused = paused;
    stream_pause(t->below, paused);
    if (!paused) timer_start(tasks_of(t), &t->again, 0);
}

static struct addr op_local(struct stream *stream) { return stream_local(of(stream)->below); }

static void op_close(struct stream *stream)
{
    struct tls_stream *t = of(stream);
    if (t->closed) return;
    if (t->ready && !t->ended) SSL_shutdown(t->ssl);
    ERR_clear_error();
    send_out(t);
    t->closed = true;
    timer_stop(tasks_of(t), &t->again);
    stream_close(t->below);
    release(t);
}

static bool op_half_close(struct stream *stream)
{
    struct tls_stream *t = of(stream);
    if (t->ready && !t->ended) SSL_shutdown(t->ssl);
    ERR_clear_error();
    send_out(t);
    return !t->is_writing && stream_half_close(t->below);
}

static void begin(struct tls_stream *t)
{
    t->in = BIO_new(BIO_s_mem());
    t->out = BIO_new(BIO_s_mem());
    if (!t->in || !t->out) abort();   /* memory is short */
    SSL_set_bio(t->ssl, t->in, t->out);
    t->asks = !SSL_is_server(t->ssl);
}

struct stream *tls_stream_of(SSL *ssl, err_t failed, struct stream *below)
{
    static const struct stream_ops ops = {op_start, op_pause, op_write, op_close, op_local, op_half_close};
    struct tls_stream *t = must_zero(sizeof *t);
    t->stream = (struct stream){below->loop, &ops};
    t->below = below;
    t->failed = failed;
    t->ssl = ssl;
    if (ssl) begin(t);
    timer_init(&t->again, go_on, t);
    return &t->stream;
}

struct stream *tls_stream_new(const struct tls *tls, struct stream *below)
{
    SSL *ssl = NULL;
    err_t e = tls_session_new((struct tls *)tls, &ssl);   /* what it stands for stays the same */
    if (ssl) SSL_set_accept_state(ssl);
    return tls_stream_of(ssl, e, below);
}
