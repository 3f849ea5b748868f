/* pop_filter.h - which messages a pop or notification asks for, by the expression that it brings.
 * Facts    docs/protocol/pop.md 2.2
 * Threads  loop
 * Owns     what the expression was made into; texts borrow from the request's header */
#ifndef SKYLARK_BROKER_POP_FILTER_H
#define SKYLARK_BROKER_POP_FILTER_H

#include "codec/body_subscription.h"
#include "filter/filter.h"
#include "store/store.h"

struct pop_filter {
    bool all;
    const int32_t *codes;            /* of the tags */
    size_t count;
    struct filter *sql;              /* NULL: tags alone */
    struct arena arena;
    struct read_filter read;
    int64_t work;
    bool enough;
};

#define POP_FILTER_EMPTY ((struct pop_filter){.all = true, .arena = ARENA_EMPTY})

/* Without an expression everything matches. Errors: SUBSCRIPTION_PARSE, with the wording that clients know. */
err_t pop_filter_open(struct slice topic, struct slice type, struct slice expression, bool by_properties, struct pop_filter *out) MUST_CHECK;
void pop_filter_done(struct pop_filter *f);
/* For one read of the store; NULL: everything matches. */
const struct read_filter *pop_filter_begin(struct pop_filter *f);

#endif
