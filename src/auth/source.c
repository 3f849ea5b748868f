/* Where a request comes from: addresses, and networks of them. */
#include "auth/internal.h"

#include "base/addr.h"

#include <stdio.h>

enum { ADDRESS_MAX = 64 };

/* An address without a port. */
static bool read_ip(struct slice text, struct addr *out)
{
    char with_port[ADDRESS_MAX + 8];
    if (!text.n || text.n > ADDRESS_MAX || memchr(text.p, '[', text.n)) return false;
    bool v6 = memchr(text.p, ':', text.n);
    snprintf(with_port, sizeof with_port, v6 ? "[%.*s]:1" : "%.*s:1", SLICE_ARG(text));
    err_t e = addr_parse(slice_text(with_port), out);
    err_free(e);
    return !e && out->v6 == v6;
}

/* bits: how many of the address must agree. */
static bool read_source(struct slice text, struct addr *out, int32_t *bits)
{
    struct slice rest = text, ip;
    if (!memchr(text.p ? text.p : (const uint8_t *)"", '/', text.n)) {
        if (!read_ip(text, out)) return false;
        *bits = out->v6 ? 128 : 32;
        return true;
    }
    return slice_split(&rest, '/', &ip) && read_ip(ip, out) && slice_to_i32(rest, bits) && *bits >= 0 && *bits <= (out->v6 ? 128 : 32);
}

bool source_is_valid(struct slice text)
{
    struct addr at;
    int32_t bits;
    return read_source(text, &at, &bits);
}

bool source_matches(struct slice text, struct slice ip)
{
    struct addr network, at;
    int32_t bits;
    if (!read_source(text, &network, &bits) || !read_ip(ip, &at) || network.v6 != at.v6) return false;
    int32_t whole = bits / 8, rest = bits % 8;
    if (memcmp(network.ip, at.ip, (size_t)whole)) return false;
    return !rest || (network.ip[whole] ^ at.ip[whole]) >> (8 - rest) == 0;
}
