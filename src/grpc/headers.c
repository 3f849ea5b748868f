#include "grpc/headers.h"

#include "base/buf.h"

#include <stdlib.h>
#include <string.h>

enum { FIELD_OVERHEAD = 32, ROOM_FIRST = 16 };   /* what a header counts besides its bytes: RFC 9113, 6.5.2 */

#define KNOWN(name) {(const uint8_t *)(name), sizeof(name) - 1}
static const struct slice known_names[KNOWN_HEADERS] = {
    [HEADER_METHOD] = KNOWN(":method"), [HEADER_PATH] = KNOWN(":path"), [HEADER_CONTENT_TYPE] = KNOWN("content-type"),
    [HEADER_TIMEOUT] = KNOWN("grpc-timeout"), [HEADER_ENCODING] = KNOWN("grpc-encoding"), [HEADER_ACCEPTS] = KNOWN("grpc-accept-encoding"),
};
#undef KNOWN

/* Most names are of no length that matters. */
static bool may_be_known(struct slice name)
{
    enum { LONGEST = sizeof "grpc-accept-encoding" - 1 };
    const uint32_t lengths = 1u << 5 | 1u << 7 | 1u << 12 | 1u << 13 | 1u << LONGEST;
    return name.n <= LONGEST && lengths >> name.n & 1;
}

static struct slice text_of(nghttp2_rcbuf *b)
{
    nghttp2_vec v = nghttp2_rcbuf_get_buf(b);
    return slice_of(v.base, v.len);
}

static void let_go(struct grpc_header *h)
{
    nghttp2_rcbuf_decref(h->name);
    nghttp2_rcbuf_decref(h->value);
}

void grpc_headers_done(struct grpc_headers *h)
{
    for (uint32_t i = 0; i < h->count; i++) let_go(&h->list[i]);
    free(h->list);
    *h = (struct grpc_headers){.list = NULL};
}

static void make_room(struct grpc_headers *h)
{
    if (h->count < h->room) return;
    h->room = h->room ? h->room * 2 : ROOM_FIRST;
    struct grpc_header *more = must_alloc(h->room * sizeof *more);
    if (h->count) memcpy(more, h->list, h->count * sizeof *more);
    free(h->list);
    h->list = more;
}

bool grpc_headers_add(struct grpc_headers *h, size_t max_bytes, nghttp2_rcbuf *name, nghttp2_rcbuf *value)
{
    struct slice n = text_of(name);
    h->bytes += n.n + text_of(value).n + FIELD_OVERHEAD;
    if (h->bytes > max_bytes) return false;
    make_room(h);
    nghttp2_rcbuf_incref(name);
    nghttp2_rcbuf_incref(value);
    h->list[h->count++] = (struct grpc_header){name, value};
    for (int i = 0; may_be_known(n) && i < KNOWN_HEADERS; i++)
        if (slice_eq(n, known_names[i])) h->known[i] = h->count;
    return true;
}

struct slice grpc_headers_find(const struct grpc_headers *h, struct slice name)
{
    for (uint32_t i = h->count; i-- > 0;)
        if (slice_eq(text_of(h->list[i].name), name)) return text_of(h->list[i].value);
    return (struct slice){NULL, 0};
}

struct slice grpc_headers_known(const struct grpc_headers *h, enum known_header which)
{
    return h->known[which] ? text_of(h->list[h->known[which] - 1].value) : (struct slice){NULL, 0};
}

void grpc_headers_keep_path(struct grpc_headers *h)
{
    struct grpc_headers path = {.list = NULL};
    uint32_t at = h->known[HEADER_PATH];
    if (at) {
        path.list = must_alloc(sizeof *path.list);
        path.list[0] = h->list[at - 1];
        path.count = path.room = path.known[HEADER_PATH] = 1;
        nghttp2_rcbuf_incref(path.list[0].name);
        nghttp2_rcbuf_incref(path.list[0].value);
    }
    grpc_headers_done(h);
    *h = path;
}
