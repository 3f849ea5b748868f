/* random.h - a seeded generator; the seed comes from the kernel, or from a test. Threads: its owner. */
#ifndef SKYLARK_OS_RANDOM_H
#define SKYLARK_OS_RANDOM_H

#include <stdint.h>

struct random {
    uint64_t state;
};

/* Unpredictable; for seeding. Thread: any. */
uint64_t random_seed(void);
void random_init(struct random *r, uint64_t seed);
uint64_t random_u64(struct random *r);
/* 0 … limit-1; limit must be positive. */
uint32_t random_below(struct random *r, uint32_t limit);

#endif
