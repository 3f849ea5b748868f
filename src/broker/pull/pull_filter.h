/* pull_filter.h - which messages a pull asks for: by its own subscription, or by what its group's heartbeats said.
 * Facts    docs/protocol/remoting.md A7, semantics.md 7
 * Threads  loop
 * Owns     what a subscription that came with the pull was made into; what is the group's it borrows, until the turn ends */
#ifndef SKYLARK_BROKER_PULL_FILTER_H
#define SKYLARK_BROKER_PULL_FILTER_H

#include "broker/state.h"

/* Bits of a pull's sysFlag. Facts: docs/protocol/remoting.md A7 */
enum { PULL_COMMITS = 1, PULL_MAY_WAIT = 2, PULL_HAS_SUBSCRIPTION = 4 };
/* Why a pull is forbidden, for the field forbiddenType. */
enum { FORBIDDEN_BROKER = 1, FORBIDDEN_GROUP = 2, FORBIDDEN_TOPIC = 3, FORBIDDEN_BROADCAST = 4, FORBIDDEN_SUBSCRIPTION = 5 };

struct pull_filter {
    bool all;                        /* as far as tags go */
    const int32_t *codes;            /* of the tags */
    size_t count;
    const struct filter *sql;        /* NULL: tags alone */
    const struct filters *by_retry;  /* not NULL: `sql` is that of the topic that a message was first sent to */
    struct slice group;              /* … and of this group; borrowed */
    struct filter *own;              /* compiled for this pull */
    struct arena arena;              /* of the pull's own tags */
    struct read_filter read;
    int64_t work;                    /* in one read: bytes of properties times parts of the expression */
    bool enough;
};

#define PULL_FILTER_EMPTY ((struct pull_filter){.all = true, .arena = ARENA_EMPTY})

/* Errors: with the code and the wording that clients know; *forbidden, when it is not 0, goes with them. */
err_t pull_filter_open(struct broker *b, const struct call *call, const struct pull_header *h, const struct group *group,
                       struct pull_filter *out, int32_t *forbidden) MUST_CHECK;
/* Harmless for PULL_FILTER_EMPTY. */
void pull_filter_done(struct pull_filter *f);
/* For one read of the store; NULL: everything matches. */
const struct read_filter *pull_filter_begin(struct pull_filter *f);

#endif
