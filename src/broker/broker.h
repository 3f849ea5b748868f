/* broker.h - one broker: topics, messages, and the clients that send and consume them.
 * Facts    docs/protocol/remoting.md 2 (clients), 4 (tools); docs/protocol/semantics.md
 * Threads  loop: the one it is given owns the broker and all of its state; new and free block (start and stop only)
 * Files    below storePathRootDir: see store/README.md and meta/README.md */
#ifndef SKYLARK_BROKER_BROKER_H
#define SKYLARK_BROKER_BROKER_H

#include "base/addr.h"
#include "base/config.h"
#include "os/file.h"

struct broker;
struct local_port;
struct loop;
struct health;
struct scrape;

struct broker_options {
    struct loop *loop;
    struct fs *fs;
    struct config *config;          /* borrowed; keys that may change while running are set in it by request 25 */
    struct addr listen;             /* the main port; the fast one is two below */
    struct addr advertised;         /* goes into routes, message ids and records; port 0: that of `listen` */
    const char *advertised_host;    /* NULL: the IP address of `advertised`; else routes carry this name */
    uint64_t seed;                  /* for choosing queues */
    int64_t (*mono_us)(void);       /* a clock, for how long syncs take; NULL: that is not told */
};

/* Opens the data, listens, and registers with the name servers. Errors: one clear line each. */
err_t broker_new(const struct broker_options *options, struct broker **out) MUST_CHECK;

/* Tells the name servers; then takes no more requests, lets nobody wait any longer, and answers what came in: then, or after shutdownWaitMillis,
 * `done` runs on the loop. */
void broker_stop(struct broker *b, void (*done)(void *ctx), void *ctx);
/* Writes everything to disk and frees b; after broker_stop's done, or at once when that matters less. NULL is fine. */
err_t broker_free(struct broker *b) MUST_CHECK;

/* Fills in the page, over some turns, and sends it back; one at a time. Not after broker_stop() was asked for. Thread: loop */
void broker_scrape(struct broker *b, struct scrape *s);
/* Ready: it takes messages, and a name server knows it, if one is configured. Thread: loop */
void broker_health(struct broker *b, struct health *out);

/* Where it listens, with the port it got. */
struct addr broker_address(const struct broker *b);
/* For other loops of the process: rpc_peer_new_local(). Valid until broker_free(). */
struct local_port *broker_local_port(const struct broker *b);

#endif
