/* network.h - what the machine says of its own network: names, addresses. Thread: any, but it may block (start of the process). */
#ifndef SKYLARK_OS_NETWORK_H
#define SKYLARK_OS_NETWORK_H

#include "base/addr.h"

enum { HOST_NAME_MAX_TEXT = 256 };

/* A literal address, or a name that is looked up; *out has the port given. Errors: ADDRESS, naming the host. */
err_t network_resolve(struct slice host, uint16_t port, struct addr *out) MUST_CHECK;
/* The address others reach this machine by: the first IPv4 address that is not loopback, else the first such IPv6 address that is
 * not link-local, else 127.0.0.1. */
struct addr network_local_address(uint16_t port);
/* NUL-terminated; "localhost" when it has none. */
char *network_host_name(char name[static HOST_NAME_MAX_TEXT]);

#endif
