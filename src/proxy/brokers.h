/* brokers.h - the brokers that were heard of, by name, each reached by a peer.
 * Threads  loop
 * Owns     a broker_peer is valid until brokers_done(); it stays when its address changes */
#ifndef SKYLARK_PROXY_BROKERS_H
#define SKYLARK_PROXY_BROKERS_H

#include "base/list.h"
#include "base/map.h"
#include "rpc/rpc.h"

struct proxy;

struct broker_peer {
    struct proxy *proxy;
    char *name;
    char *address;                  /* of its master, or of whoever stands in */
    struct rpc_peer *peer;          /* NULL: the proxy ends */
    bool knows_no_guests;           /* it takes no 90021 */
    int64_t failed_ms;              /* mono: when it did not answer last; 0: never */
};

struct brokers {
    struct proxy *proxy;
    struct map by_name;             /* -> struct broker_peer */
    struct list retired;            /* peers of former addresses, until nothing of theirs is under way */
};

void brokers_init(struct brokers *b, struct proxy *p);
/* No broker is reached any more: who waits for one is told. */
void brokers_close(struct brokers *b);
void brokers_done(struct brokers *b);
/* The broker of that name, from now on at that address. */
struct broker_peer *brokers_put(struct brokers *b, struct slice name, struct slice address);
/* NULL: nobody told of it. */
struct broker_peer *brokers_find(const struct brokers *b, struct slice name);
void broker_request(struct broker_peer *b, const struct rpc_request *r);
/* Frees peers that were replaced long enough ago. */
void brokers_scan(struct brokers *b);
/* A peer to any address, by the means the options give. The service may be NULL. */
struct rpc_peer *brokers_connect(struct proxy *p, struct slice address, const struct rpc_service *service);

#endif
