#include "base/addr.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>

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

char *addr_format_ip(const struct addr *a, char text[static ADDR_TEXT_MAX])
{
    inet_ntop(a->v6 ? AF_INET6 : AF_INET, a->ip, text, ADDR_TEXT_MAX);
    return text;
}

char *addr_format(const struct addr *a, char text[static ADDR_TEXT_MAX])
{
    char ip[ADDR_TEXT_MAX];
    snprintf(text, ADDR_TEXT_MAX, a->v6 ? "[%.60s]:%u" : "%.60s:%u", addr_format_ip(a, ip), (unsigned)a->port);
    return text;
}
