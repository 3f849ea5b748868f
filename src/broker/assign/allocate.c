#include "broker/assign/allocate.h"

/* A run of neighbours; those in front have one more when it does not come out even. */
static void average(size_t members, size_t member, size_t queues, void (*take)(void *ctx, size_t place), void *ctx)
{
    size_t share = queues / members, more = queues % members;
    size_t first = member * share + (member < more ? member : more);
    size_t count = share + (member < more);
    for (size_t i = 0; i < count; i++) take(ctx, first + i);
}

static void circle(size_t members, size_t member, size_t queues, void (*take)(void *ctx, size_t place), void *ctx)
{
    for (size_t i = member; i < queues; i += members) take(ctx, i);
}

allocate_strategy *allocate_named(struct slice name)
{
    if (slice_eq(name, SLICE("AVG"))) return average;
    if (slice_eq(name, SLICE("AVG_BY_CIRCLE"))) return circle;
    return NULL;
}
