/* client.h - what the rest of this project sees of the client library beside its public header: a client on a loop that somebody else
 * runs, which is how it is tested in a simulated world.
 * Threads  the loop's, or any while the loop does not run; nothing here waits
 * Owns     as in skylark/skylark.h */
#ifndef SKYLARK_CLIENT_CLIENT_H
#define SKYLARK_CLIENT_CLIENT_H

#include "base/err.h"

#include <skylark/skylark.h>

struct loop;

/* As sky_client_open(), on a loop that is there: callbacks run on the loop's workers, lines go to the log of the process, and functions
 * that wait must not be called. `seed` makes its choices repeat. */
struct sky_error *client_open_on(const struct sky_client_options *o, struct loop *loop, uint64_t seed, struct sky_client **out) SKY_MUST_CHECK;
/* Begins what the functions without `begin` wait for. `done` runs on the loop; NULL: nobody cares. Only the first one that shuts
 * something down is told. */
void client_shutdown_begin(struct sky_client *c, void (*done)(void *ctx), void *ctx);
void producer_shutdown_begin(struct sky_producer *p, void (*done)(void *ctx), void *ctx);
/* Whether it has ended: it may be freed then. */
bool client_is_over(const struct sky_client *c);
bool producer_is_over(const struct sky_producer *p);

void push_consumer_shutdown_begin(struct sky_push_consumer *p, void (*done)(void *ctx), void *ctx);
bool push_consumer_is_over(const struct sky_push_consumer *p);

/* Takes e. */
struct sky_error *sky_error_from(err_t e);

#endif
