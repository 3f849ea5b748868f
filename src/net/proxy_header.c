#include "net/proxy_header.h"

#include <stdio.h>

enum { V1_MAX = 107, V2_HEAD = 16, V2_INET = 12, V2_INET6 = 36, EXTRA_HEAD = 3 };

static const struct slice v1_mark = {(const uint8_t *)"PROXY ", 6};
static const struct slice v2_mark = {(const uint8_t *)"\r\n\r\n\0\r\nQUIT\n", 12};

static bool may_become(struct slice bytes, struct slice mark)
{
    return memcmp(bytes.p, mark.p, bytes.n < mark.n ? bytes.n : mark.n) == 0;
}

/* --- version 1: one line of text --- */

static bool read_addr(struct slice ip, struct slice port, struct addr *out)
{
    char text[ADDR_TEXT_MAX];
    bool v6 = memchr(ip.p, ':', ip.n);
    snprintf(text, sizeof text, v6 ? "[%.*s]:%.*s" : "%.*s:%.*s", SLICE_ARG(ip), SLICE_ARG(port));
    err_t e = addr_parse(slice_text(text), out);
    bool fine = !e;
    err_free(e);
    return fine;
}

static enum proxy_result read_line(struct slice line, struct proxy_header *out)
{
    struct slice word[6];
    size_t words = 0;
    for (struct slice one; words < 6 && slice_split(&line, ' ', &one);) word[words++] = one;
    if (words >= 2 && slice_eq(word[1], SLICE("UNKNOWN"))) return PROXY_FOUND;
    if (words != 6 || line.p || !(slice_eq(word[1], SLICE("TCP4")) || slice_eq(word[1], SLICE("TCP6")))) return PROXY_BROKEN;
    for (size_t i = 2; i < 6; i++)
        if (!word[i].n || word[i].n > 45) return PROXY_BROKEN;
    out->has_addresses = read_addr(word[2], word[4], &out->source) && read_addr(word[3], word[5], &out->destination);
    return out->has_addresses ? PROXY_FOUND : PROXY_BROKEN;
}

static enum proxy_result read_v1(struct slice bytes, struct proxy_header *out)
{
    const uint8_t *end = memmem(bytes.p, bytes.n, "\r\n", 2);
    if (!end) return bytes.n < V1_MAX ? PROXY_MORE : PROXY_BROKEN;
    size_t n = (size_t)(end - bytes.p);
    if (n + 2 > V1_MAX) return PROXY_BROKEN;
    out->size = n + 2;
    return read_line(slice_of(bytes.p, n), out);
}

/* --- version 2: binary --- */

static void set_addr(const uint8_t *ip, const uint8_t *port, bool v6, struct addr *out)
{
    *out = (struct addr){.v6 = v6, .port = get_be16(port)};
    memcpy(out->ip, ip, v6 ? 16 : 4);
}

static bool read_addresses(const uint8_t *p, size_t n, bool v6, struct proxy_header *out)
{
    size_t ip = v6 ? 16 : 4, all = v6 ? V2_INET6 : V2_INET;
    if (n < all) return false;
    set_addr(p, p + 2 * ip, v6, &out->source);
    set_addr(p + ip, p + 2 * ip + 2, v6, &out->destination);
    out->has_addresses = true;
    out->extras = slice_of(p + all, n - all);
    return true;
}

static enum proxy_result read_v2(struct slice bytes, struct proxy_header *out)
{
    enum { LOCAL = 0x20, PROXIED = 0x21, TCP4 = 0x11, TCP6 = 0x21 };
    if (bytes.n < V2_HEAD) return PROXY_MORE;
    uint8_t command = bytes.p[12], family = bytes.p[13];
    size_t n = get_be16(bytes.p + 14);
    if ((command != LOCAL && command != PROXIED) || V2_HEAD + n > PROXY_HEADER_MAX) return PROXY_BROKEN;
    if (bytes.n < V2_HEAD + n) return PROXY_MORE;
    out->size = V2_HEAD + n;
    if (command == LOCAL || (family != TCP4 && family != TCP6)) return PROXY_FOUND;
    return read_addresses(bytes.p + V2_HEAD, n, family == TCP6, out) ? PROXY_FOUND : PROXY_BROKEN;
}

enum proxy_result proxy_header_read(struct slice bytes, struct proxy_header *out)
{
    *out = (struct proxy_header){.has_addresses = false};
    if (!bytes.n) return PROXY_MORE;
    bool v1 = may_become(bytes, v1_mark), v2 = may_become(bytes, v2_mark);
    if (!v1 && !v2) return PROXY_NONE;
    if (v1) return bytes.n < v1_mark.n ? PROXY_MORE : read_v1(bytes, out);
    return bytes.n < v2_mark.n ? PROXY_MORE : read_v2(bytes, out);
}

bool proxy_header_extra(struct slice *rest, uint8_t *type, struct slice *value)
{
    if (rest->n < EXTRA_HEAD) return false;
    size_t n = get_be16(rest->p + 1);
    if (rest->n - EXTRA_HEAD < n) return false;
    *type = rest->p[0];
    *value = slice_of(rest->p + EXTRA_HEAD, n);
    *rest = slice_skip(*rest, EXTRA_HEAD + n);
    return true;
}
