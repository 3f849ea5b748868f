/* clamped.h - sums and differences of times and offsets that a file or a client names: they end at the limits instead of passing them.
 * Threads  any */
#ifndef SKYLARK_BASE_CLAMPED_H
#define SKYLARK_BASE_CLAMPED_H

#include <stdint.h>

static inline int64_t clamped_plus(int64_t a, int64_t b)
{
    int64_t sum;
    return !__builtin_add_overflow(a, b, &sum) ? sum : b < 0 ? INT64_MIN : INT64_MAX;
}

static inline int64_t clamped_minus(int64_t a, int64_t b)
{
    int64_t difference;
    return !__builtin_sub_overflow(a, b, &difference) ? difference : b < 0 ? INT64_MAX : INT64_MIN;
}

#endif
