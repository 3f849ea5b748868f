/* tls.h - TLS as a stream over a stream, of either side, by OpenSSL with its input and output in memory, so it runs on any loop.
 * Protocol TLS 1.2 and 1.3; ALPN h2 is chosen where it is offered; clients are not asked for certificates
 * Threads  struct tls: its owner's loop; streams: loop. tls_make_certificate: any
 * Owns     a stream owns the one below it. Streams keep the certificate that was loaded when they began */
#ifndef SKYLARK_NET_TLS_H
#define SKYLARK_NET_TLS_H

#include "base/buf.h"
#include "net/loop.h"

struct tls;

/* A certificate, with the chain behind it, and its key, both PEM. Errors: CONFIG. */
err_t tls_new(struct slice certificates, struct slice key, struct tls **out) MUST_CHECK;
/* The same for ones that are known to be good: they are read when the first client wants TLS, for OpenSSL takes megabytes. */
struct tls *tls_new_later(struct slice certificates, struct slice key);
/* Streams that begin after it have the new certificate; after an error the old one stays. Errors: CONFIG. */
err_t tls_load(struct tls *t, struct slice certificates, struct slice key) MUST_CHECK;
void tls_free(struct tls *t);

/* Takes `below`, which has not been started. What goes wrong is told by `end` of the new stream. */
struct stream *tls_stream_new(const struct tls *t, struct stream *below);

/* --- the client's side --- */

/* Servers must show a certificate that one of these vouches for (PEM; p NULL: those that the system trusts). Errors: CONFIG. */
err_t tls_client_new(struct slice trusted, struct tls **out) MUST_CHECK;
/* Takes `below`, which is connected and has not been started; the certificate must be that of the host, a name or an address. h2 is offered. */
struct stream *tls_stream_connect(const struct tls *t, struct stream *below, const char *host);

/* A key and a certificate signed by it, for a host that has none: PEM, appended. For 10 years from now. Errors: INTERNAL. */
err_t tls_make_certificate(const char *host, struct buf *certificate, struct buf *key) MUST_CHECK;

#endif
