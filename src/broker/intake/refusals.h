/* refusals.h - the last sends that were refused, for who asks why.
 * Threads  loop
 * Owns     copies, cut to what fits */
#ifndef SKYLARK_BROKER_REFUSALS_H
#define SKYLARK_BROKER_REFUSALS_H

#include "base/slice.h"

#include <stddef.h>

enum { REFUSALS_MAX = 32, REFUSAL_TEXT_MAX = 256 };

struct refusal {
    int64_t at_ms;                       /* wall_ms; 0: none */
    int32_t code;                        /* of the answer */
    char topic[256];
    char client[64];                     /* its address */
    char text[REFUSAL_TEXT_MAX];
};

struct refusals {
    struct refusal *ring;                /* NULL: nothing was ever refused */
    size_t next;
};

void refusals_done(struct refusals *r);
void refusals_add(struct refusals *r, int64_t at_ms, struct slice topic, const char *client, int32_t code, const char *text);
/* The newest one of the topic, or NULL. */
const struct refusal *refusals_find(const struct refusals *r, struct slice topic);

#endif
