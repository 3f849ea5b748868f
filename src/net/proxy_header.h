/* proxy_header.h - what a proxy in front of us says about its client, before the client's own bytes. Pure.
 * Facts    the PROXY protocol, versions 1 and 2; docs/protocol/grpc.md 1 */
#ifndef SKYLARK_NET_PROXY_HEADER_H
#define SKYLARK_NET_PROXY_HEADER_H

#include "base/addr.h"

enum { PROXY_HEADER_MAX = 4096 };   /* bytes: longer ones are refused */

enum proxy_result { PROXY_MORE, PROXY_NONE, PROXY_FOUND, PROXY_BROKEN };

struct proxy_header {
    bool has_addresses;      /* false: the connection is the proxy's own, or of a kind we do not know */
    struct addr source;
    struct addr destination;
    struct slice extras;     /* version 2: type, be16 length, value; again and again */
    size_t size;             /* of the whole header */
};

/* MORE: too few bytes to tell. NONE: the first bytes are the client's own. */
enum proxy_result proxy_header_read(struct slice bytes, struct proxy_header *out);
/* Cuts the next extra off; false: there is none, or the rest is broken. */
bool proxy_header_extra(struct slice *rest, uint8_t *type, struct slice *value);

#endif
