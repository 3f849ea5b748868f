/* names.h - the name servers of a client. One is asked until it fails; then the next one.
 * Threads  loop
 * Owns     its connections */
#ifndef SKYLARK_CLIENT_NAMES_H
#define SKYLARK_CLIENT_NAMES_H

#include "rpc/rpc.h"

struct sky_client;

struct names {
    struct rpc_peer **peers;
    size_t count;
    size_t current;
};

/* "a:9876;b:9876", checked by names_check(). Begins with one by chance, so that many clients spread. */
void names_begin(struct sky_client *c, const char *addresses);
/* Errors: CONFIG, naming the address that is none. Thread: any. */
err_t names_check(struct slice addresses) MUST_CHECK;
/* Asks each server at most once; `done` gets the first answer, whatever it says, or the last error. r->timeout_ms is that of one server. */
void names_request(struct sky_client *c, const struct rpc_request *r);
void names_done(struct sky_client *c);

#endif
