/* tls_internal.h - what tls.c, tls_stream.c and tls_certificate.c share. The room's own. */
#ifndef SKYLARK_NET_TLS_INTERNAL_H
#define SKYLARK_NET_TLS_INTERNAL_H

#include "base/buf.h"

#include <openssl/ssl.h>

struct tls {
    SSL_CTX *context;            /* NULL: not made yet, of these */
    struct buf certificates, key;
};

/* For a new stream. Errors: CONFIG. */
err_t tls_session_new(struct tls *t, SSL **out) MUST_CHECK;

/* The stream of a session that is not connected; takes both. ssl NULL: it ends with the error, which it takes. */
struct stream *tls_stream_of(SSL *ssl, err_t failed, struct stream *below);

/* An error with the reason that OpenSSL gives. */
err_t tls_error(enum err_code code, const char *what) MUST_CHECK;

#endif
