/* admin_fixture.h - name servers and brokers that answer by a script, on the simulated network. */
#ifndef SKYLARK_ADMIN_ADMIN_FIXTURE_H
#define SKYLARK_ADMIN_ADMIN_FIXTURE_H

#include "admin/admin.h"
#include "codec/requests.h"
#include "kit/sim_loop.h"
#include "kit/test.h"

enum { SILENT = -1, SERVERS_MAX = 4, LINES_MAX = 112, SEEN_MAX = 512 };

/* What the next request with this code is answered. The last line of a code answers all that follow. */
struct line {
    int32_t request;
    int32_t code;           /* SILENT: nothing */
    const char *text;       /* the body, or the remark when the code is not SUCCESS */
    const struct header_kind *kind;     /* NULL: without fields */
    const void *header;
    const struct slice *bytes;          /* the body instead of `text`; NULL: none */
};

struct server {
    struct rpc_listener *listener;
    struct line lines[LINES_MAX];
    size_t count;
    int asked;              /* requests in all */
    struct frame *last;     /* the newest of them */
    struct frame *seen[SEEN_MAX];       /* all of them, as far as there is room */
    size_t seen_count;
};

struct cluster {
    struct sim *sim;
    struct loop *loop;      /* of who asks, 10.0.0.9 */
    struct server servers[SERVERS_MAX];
    int done;
    err_t error;            /* what the operation ended with; the fixture's */
    struct admin *admin;
};

/* Of two brokers a (10.0.0.2, 4 queues) and b (10.0.0.3, 8 queues). */
extern const char *const two_route;
extern const char *const two_cluster;

struct cluster *cluster_start(void);
void cluster_stop(struct cluster *c);
/* Server i listens at 10.0.0.(i+1):1 and says these, the last of them with request 0. */
void cluster_serve(struct cluster *c, int i, const struct line *lines);
/* An admin that asks the server 0, or what is named. */
void cluster_admin(struct cluster *c, const char *namesrv, const char *broker);
/* For an operation: counts, and keeps the error. */
void cluster_done(void *ctx, err_t e);
/* Runs one in a turn of the loop, and waits for its end. */
void cluster_run(struct cluster *c, void (*operation)(void *ctx));
/* The value of a field in the last request that a server got. */
struct slice cluster_field(const struct cluster *c, int server, const char *name);
/* The newest request of that code that a server got since cluster_forget; NULL: none. */
const struct frame *cluster_asked(const struct cluster *c, int server, int32_t code);
void cluster_forget(struct cluster *c);

#endif
