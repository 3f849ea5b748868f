/* headers.h - the headers of a call. Names and values are those that the session decoded, shared with its table of headers and not
 * copied: what clients say again with each call costs a reference. The room's own. Threads: loop */
#ifndef SKYLARK_GRPC_HEADERS_H
#define SKYLARK_GRPC_HEADERS_H

#include "base/slice.h"

#include <nghttp2/nghttp2.h>

/* Headers that every call is looked at for. */
enum known_header { HEADER_METHOD, HEADER_PATH, HEADER_CONTENT_TYPE, HEADER_TIMEOUT, HEADER_ENCODING, HEADER_ACCEPTS, KNOWN_HEADERS };

struct grpc_header {
    nghttp2_rcbuf *name, *value;
};

struct grpc_headers {
    struct grpc_header *list;
    uint32_t count, room;
    uint32_t known[KNOWN_HEADERS];       /* which of the list has the last value, counted from 1; 0: there is none */
    size_t bytes;                        /* of all, as a client counts them */
};

/* All zeros: none. */
void grpc_headers_done(struct grpc_headers *h);
/* False: all together are larger than that; the header is counted, and not kept. */
bool grpc_headers_add(struct grpc_headers *h, size_t max_bytes, nghttp2_rcbuf *name, nghttp2_rcbuf *value);
/* The last value of that name, or of a known one. p NULL: there is none. Valid until done, or until the path alone is kept. */
struct slice grpc_headers_find(const struct grpc_headers *h, struct slice name);
struct slice grpc_headers_known(const struct grpc_headers *h, enum known_header which);
/* Lets go of all but the path. */
void grpc_headers_keep_path(struct grpc_headers *h);

#endif
