/* The client's side of TLS: whom it trusts, and whom it talks to. */
#include "net/tls.h"
#include "net/tls_internal.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdlib.h>

static bool trust(SSL_CTX *c, struct slice pem)
{
    BIO *text = BIO_new_mem_buf(pem.p, (int)pem.n);
    size_t count = 0;
    for (X509 *one; (one = PEM_read_bio_X509(text, NULL, NULL, NULL)); X509_free(one))
        count += X509_STORE_add_cert(SSL_CTX_get_cert_store(c), one) == 1;
    BIO_free(text);
    if (count) ERR_clear_error();   /* the end of the text */
    return count;
}

static SSL_CTX *context_new(void)
{
    static const unsigned char protocols[] = {2, 'h', '2'};
    SSL_CTX *c = SSL_CTX_new(TLS_client_method());
    if (!c || SSL_CTX_set_alpn_protos(c, protocols, sizeof protocols)) abort();   /* memory is short */
    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
    SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    SSL_CTX_set_verify(c, SSL_VERIFY_PEER, NULL);
    return c;
}

err_t tls_client_new(struct slice trusted, struct tls **out)
{
    SSL_CTX *c = context_new();
    bool fine = trusted.p ? trust(c, trusted) : SSL_CTX_set_default_verify_paths(c) == 1;
    if (!fine) {
        err_t e = tls_error(ERR_CONFIG, "the certificates of those who are trusted cannot be read");
        SSL_CTX_free(c);
        return e;
    }
    struct tls *t = must_zero(sizeof *t);
    t->context = c;
    *out = t;
    return NULL;
}

/* A name is told to the server too, an address is not. */
static bool expect(SSL *ssl, const char *host)
{
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) return true;
    ERR_clear_error();
    return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

struct stream *tls_stream_connect(const struct tls *t, struct stream *below, const char *host)
{
    SSL *ssl = SSL_new(t->context);
    if (!ssl) abort();   /* memory is short */
    SSL_set_connect_state(ssl);
    if (expect(ssl, host)) return tls_stream_of(ssl, NULL, below);
    SSL_free(ssl);
    return tls_stream_of(NULL, tls_error(ERR_NETWORK, "the host's name cannot be that of a certificate"), below);
}
