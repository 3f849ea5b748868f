/* sniff.h - tells by the first bytes of a connection what it speaks, so that one port serves several protocols.
 * Order    a PROXY header (net/proxy_header), TLS, then the protocol itself
 * Threads  loop
 * Owns     a sniffer owns streams until it has told what they are, or ended them; a client that says nothing is given up after
 *          SNIFF_WAIT_MS */
#ifndef SKYLARK_NET_SNIFF_H
#define SKYLARK_NET_SNIFF_H

#include "base/buf.h"
#include "base/config.h"
#include "base/list.h"
#include "net/loop.h"

enum { SNIFF_WAIT_MS = 20000 };

struct tls;

enum protocol {
    PROTOCOL_MORE,       /* too few bytes to tell */
    PROTOCOL_TLS,
    PROTOCOL_HTTP2,      /* "PRI * HTTP/2.0": prior knowledge */
    PROTOCOL_HTTP1,
    PROTOCOL_OTHER,      /* remoting frames begin with their length, whose first byte is 0 */
};

/* Pure. */
enum protocol protocol_of(struct slice first);

/* A connection, after what was in front of its protocol. */
struct sniffed {
    struct stream *stream;       /* the receiver's; its bytes from the first one of the protocol on */
    enum protocol protocol;      /* HTTP2, HTTP1 or OTHER */
    struct addr remote;          /* the client's, when a proxy told it */
    struct addr local;
    struct slice attributes;     /* what a proxy told, as "name\0value\0" each (docs/protocol/grpc.md 1); valid during the call */
    bool encrypted;
};

struct sniffer {
    struct loop *loop;
    struct list pending;
    const struct tls *tls;       /* NULL: no TLS; may be changed any time */
    enum tls_mode mode;
    void (*found)(void *ctx, const struct sniffed *what);
    /* A connection was given up. Takes e. */
    void (*refused)(void *ctx, const struct addr *remote, err_t e);
    void *ctx;
};

void sniffer_init(struct sniffer *s, struct loop *loop, const struct tls *tls, enum tls_mode mode,
                  void (*found)(void *ctx, const struct sniffed *what), void (*refused)(void *ctx, const struct addr *remote, err_t e), void *ctx);
/* Ends what is not told yet. */
void sniffer_done(struct sniffer *s);
/* Takes the stream of a new connection. */
void sniffer_take(struct sniffer *s, struct stream *stream, const struct addr *remote);

#endif
