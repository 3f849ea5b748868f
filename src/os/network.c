#include "os/network.h"
#include "base/buf.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <unistd.h>

static void take_sockaddr(const struct sockaddr *s, uint16_t port, struct addr *out)
{
    *out = (struct addr){.v6 = s->sa_family == AF_INET6, .port = port};
    if (out->v6) {
        const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)(const void *)s;
        memcpy(out->ip, in6->sin6_addr.s6_addr, 16);
        out->scope = in6->sin6_scope_id;
    } else {
        memcpy(out->ip, &((const struct sockaddr_in *)(const void *)s)->sin_addr, 4);
    }
}

err_t network_resolve(struct slice host, uint16_t port, struct addr *out)
{
    if (host.n > 2 && host.p[0] == '[' && host.p[host.n - 1] == ']') host = slice_of(host.p + 1, host.n - 2);
    char *name = must_dup(host);
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM}, *found = NULL;
    int failed = getaddrinfo(name, NULL, &hints, &found);
    err_t e = failed ? err_new(ERR_ADDRESS, "cannot find the host \"%s\": %s", name, gai_strerror(failed)) : NULL;
    if (!e) take_sockaddr(found->ai_addr, port, out);
    if (found) freeaddrinfo(found);
    free(name);
    return e;
}

/* How much we would like to be known by an address: 0 not at all. */
static int preference(const struct ifaddrs *i)
{
    if (!i->ifa_addr || i->ifa_flags & IFF_LOOPBACK || !(i->ifa_flags & IFF_UP)) return 0;
    if (i->ifa_addr->sa_family == AF_INET) return 2;
    if (i->ifa_addr->sa_family != AF_INET6) return 0;
    return IN6_IS_ADDR_LINKLOCAL(&((const struct sockaddr_in6 *)(const void *)i->ifa_addr)->sin6_addr) ? 0 : 1;
}

struct addr network_local_address(uint16_t port)
{
    struct addr best = {.ip = {127, 0, 0, 1}, .port = port};
    struct ifaddrs *all;
    if (getifaddrs(&all)) return best;
    int liked = 0;
    for (struct ifaddrs *i = all; i; i = i->ifa_next) {
        if (preference(i) <= liked) continue;
        liked = preference(i);
        take_sockaddr(i->ifa_addr, port, &best);
    }
    freeifaddrs(all);
    return best;
}

char *network_host_name(char name[static HOST_NAME_MAX_TEXT])
{
    if (gethostname(name, HOST_NAME_MAX_TEXT) || !name[0]) strcpy(name, "localhost");
    name[HOST_NAME_MAX_TEXT - 1] = 0;
    return name;
}
