/* addr.h - an IP address and a port, as they stand in records, message ids and routes. Threads: any.
 * Shape    ip holds 4 bytes (v6 false) or 16 (v6 true), network order
 * Text     "10.0.0.1:10911"; IPv6 as "[fd00::1]:10911", also read without brackets and with a %zone, as Java writes it */
#ifndef SKYLARK_BASE_ADDR_H
#define SKYLARK_BASE_ADDR_H

#include "base/err.h"
#include "base/slice.h"

struct addr {
    uint8_t ip[16];
    bool v6;
    uint16_t port;
    uint32_t scope;   /* zone index of a link-local IPv6 address, else 0 */
};

enum { ADDR_TEXT_MAX = 80 };

bool addr_eq(const struct addr *a, const struct addr *b);
/* "host:port" where host is a literal address; a name is refused with ERR_ADDRESS (see os/network.h). */
err_t addr_parse(struct slice text, struct addr *out) MUST_CHECK;
/* Splits "host:port" into its parts; *host is without the brackets of an IPv6 address, and with its zone. */
err_t addr_split(struct slice text, struct slice *host, uint16_t *port) MUST_CHECK;
/* Writes "ip:port" NUL-terminated; returns text. */
char *addr_format(const struct addr *a, char text[static ADDR_TEXT_MAX]);
/* The same without the port and brackets. */
char *addr_format_ip(const struct addr *a, char text[static ADDR_TEXT_MAX]);

#endif
