#include "base/addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

bool addr_eq(const struct addr *a, const struct addr *b)
{
    return a->v6 == b->v6 && a->port == b->port && memcmp(a->ip, b->ip, a->v6 ? 16 : 4) == 0;
}

err_t addr_split(struct slice text, struct slice *host, uint16_t *port)
{
    text = slice_trim(text);
    size_t colon = text.n;
    while (colon > 0 && text.p[colon - 1] != ':') colon--;
    int64_t number;
    if (colon < 2 || !slice_to_i64(slice_skip(text, colon), &number) || number < 0 || number > 65535)
        return err_new(ERR_ADDRESS, "\"%.*s\" is not HOST:PORT", SLICE_ARG(text));
    struct slice h = slice_of(text.p, colon - 1);
    if (h.p[0] == '[') {
        if (h.n < 3 || h.p[h.n - 1] != ']') return err_new(ERR_ADDRESS, "\"%.*s\": a bracket is missing", SLICE_ARG(text));
        h = slice_of(h.p + 1, h.n - 2);
    }
    *host = h;
    *port = (uint16_t)number;
    return NULL;
}

static uint32_t zone_index(const char *zone)
{
    uint32_t index = if_nametoindex(zone);
    return index ? index : (uint32_t)strtoul(zone, NULL, 10);
}

err_t addr_parse(struct slice text, struct addr *out)
{
    struct slice host;
    struct addr a = {.v6 = false};
    err_t e = addr_split(text, &host, &a.port);
    if (e) return e;
    char name[128];
    if (host.n >= sizeof name) return err_new(ERR_ADDRESS, "the host in \"%.*s\" is too long", SLICE_ARG(text));
    memcpy(name, host.p, host.n);
    name[host.n] = 0;
    char *zone = strchr(name, '%');
    if (zone) {
        *zone++ = 0;
        a.scope = zone_index(zone);
    }
    if (inet_pton(AF_INET, name, a.ip) == 1) {
        *out = a;
        return NULL;
    }
    a.v6 = true;
    if (inet_pton(AF_INET6, name, a.ip) != 1)
        return err_new(ERR_ADDRESS, "\"%s\" is not an IP address", name);
    *out = a;
    return NULL;
}

/* 0 … 65535; returns its end. Each message that is handed out has two addresses: no printf for them. */
static char *put_number(char *p, unsigned v)
{
    if (v >= 10) p = put_number(p, v / 10);
    *p = (char)('0' + v % 10);
    return p + 1;
}

/* Returns the end. */
static char *put_ip(char *p, const struct addr *a)
{
    if (a->v6) return p + strlen(inet_ntop(AF_INET6, a->ip, p, INET6_ADDRSTRLEN));
    for (int i = 0; i < 4; i++) {
        if (i) *p++ = '.';
        p = put_number(p, a->ip[i]);
    }
    return p;
}

char *addr_format_ip(const struct addr *a, char text[static ADDR_TEXT_MAX])
{
    *put_ip(text, a) = 0;
    return text;
}

char *addr_format(const struct addr *a, char text[static ADDR_TEXT_MAX])
{
    char *p = text;
    if (a->v6) *p++ = '[';
    p = put_ip(p, a);
    if (a->v6) *p++ = ']';
    *p++ = ':';
    *put_number(p, a->port) = 0;
    return text;
}
