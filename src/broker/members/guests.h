/* guests.h - consumers of proxies: they are no members here, but tools ask for them, and their proxy passes questions on.
 * Facts    docs/protocol/proxy.md
 * Threads  loop
 * Owns     copies of all it was told; a guest is valid until its proxy tells anew, or its connection closes */
#ifndef SKYLARK_BROKER_GUESTS_H
#define SKYLARK_BROKER_GUESTS_H

#include "base/map.h"
#include "codec/body_guests.h"
#include "rpc/rpc.h"

struct guest {
    struct rpc_conn *conn;          /* of its proxy; not referenced */
    struct arena arena;
    struct guest_row row;
};

struct guests {
    struct map table;               /* group, 0, client id -> struct guest */
};

#define GUESTS_EMPTY ((struct guests){.table = MAP_EMPTY})

void guests_done(struct guests *g);
/* These are all that the proxy on this connection has. */
void guests_told(struct guests *g, struct rpc_conn *conn, const struct guest_list *list);
void guests_closed(struct guests *g, const struct rpc_conn *conn);
/* NULL: no proxy told of it. */
const struct guest *guests_find(const struct guests *g, struct slice group, struct slice client_id);
/* Walks those of a group: `for (size_t at = 0; (guest = guests_next(g, group, &at));)`. */
const struct guest *guests_next(const struct guests *g, struct slice group, size_t *at);

#endif
