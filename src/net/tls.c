#include "net/tls.h"

#include "net/tls_internal.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <stdlib.h>

err_t tls_error(enum err_code code, const char *what)
{
    unsigned long number = ERR_get_error();
    const char *reason = number ? ERR_reason_error_string(number) : NULL;
    ERR_clear_error();
    return err_new(code, "%s: %s", what, reason ? reason : "failed");
}

/* Offered protocols without h2: none is chosen, and the first bytes tell what the client speaks. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *out_n, const unsigned char *offered, unsigned n, void *ctx)
{
    (void)ssl, (void)ctx;
    for (unsigned at = 0; at < n && at + 1 + offered[at] <= n; at += 1 + offered[at]) {
        if (offered[at] != 2 || memcmp(offered + at + 1, "h2", 2)) continue;
        *out = offered + at + 1;
        *out_n = 2;
        return SSL_TLSEXT_ERR_OK;
    }
    return SSL_TLSEXT_ERR_NOACK;
}

static bool use_chain(SSL_CTX *c, BIO *pem)
{
    X509 *own = PEM_read_bio_X509_AUX(pem, NULL, NULL, NULL);
    bool fine = own && SSL_CTX_use_certificate(c, own) == 1;
    X509_free(own);
    for (X509 *next; fine && (next = PEM_read_bio_X509(pem, NULL, NULL, NULL));) {
        fine = SSL_CTX_add0_chain_cert(c, next) == 1;
        if (!fine) X509_free(next);
    }
    if (fine) ERR_clear_error();   /* the end of the text */
    return fine;
}

static int no_password(char *out, int size, int writes, void *ctx)
{
    (void)out, (void)size, (void)writes, (void)ctx;
    return -1;
}

static bool use_key(SSL_CTX *c, BIO *pem)
{
    EVP_PKEY *key = PEM_read_bio_PrivateKey(pem, NULL, no_password, NULL);
    bool fine = key && SSL_CTX_use_PrivateKey(c, key) == 1;
    EVP_PKEY_free(key);
    return fine;
}

static err_t load(SSL_CTX *c, struct slice certificates, struct slice key)
{
    BIO *text = BIO_new_mem_buf(certificates.p ? certificates.p : (const uint8_t *)"", (int)certificates.n);
    BIO *key_text = BIO_new_mem_buf(key.p ? key.p : (const uint8_t *)"", (int)key.n);
    err_t e = NULL;
    if (!use_chain(c, text)) e = tls_error(ERR_CONFIG, "the certificate cannot be read");
    else if (!use_key(c, key_text)) e = tls_error(ERR_CONFIG, "the key cannot be read (a key with a password is not supported)");
    else if (SSL_CTX_check_private_key(c) != 1) e = tls_error(ERR_CONFIG, "the key is not that of the certificate");
    BIO_free(text);
    BIO_free(key_text);
    return e;
}

static SSL_CTX *context_new(void)
{
    SSL_CTX *c = SSL_CTX_new(TLS_server_method());
    if (!c) abort();   /* memory is short */
    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(c, 1);
    SSL_CTX_set_alpn_select_cb(c, choose_protocol, NULL);
    return c;
}

err_t tls_load(struct tls *t, struct slice certificates, struct slice key)
{
    SSL_CTX *c = context_new();
    err_t e = load(c, certificates, key);
    if (e) {
        SSL_CTX_free(c);
        return e;
    }
    SSL_CTX_free(t->context);
    t->context = c;
    return NULL;
}

err_t tls_new(struct slice certificates, struct slice key, struct tls **out)
{
    struct tls *t = must_zero(sizeof *t);
    err_t e = tls_load(t, certificates, key);
    if (e) tls_free(t);
    else *out = t;
    return e;
}

struct tls *tls_new_later(struct slice certificates, struct slice key)
{
    struct tls *t = must_zero(sizeof *t);
    buf_put_slice(&t->certificates, certificates);
    buf_put_slice(&t->key, key);
    return t;
}

err_t tls_session_new(struct tls *t, SSL **out)
{
    err_t e = t->context ? NULL : tls_load(t, buf_slice(&t->certificates), buf_slice(&t->key));
    if (e) return e;
    SSL *ssl = SSL_new(t->context);
    if (!ssl) abort();   /* memory is short */
    *out = ssl;
    return NULL;
}

void tls_free(struct tls *t)
{
    if (!t) return;
    buf_done(&t->certificates);
    buf_done(&t->key);
    SSL_CTX_free(t->context);
    free(t);
}
