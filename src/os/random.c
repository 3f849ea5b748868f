#include "os/random.h"

#include <assert.h>
#include <sys/random.h>
#include <time.h>

uint64_t random_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) == sizeof seed) return seed;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000007u ^ (uint64_t)now.tv_nsec;
}

void random_init(struct random *r, uint64_t seed) { r->state = seed; }

/* splitmix64: short, and good enough for choosing queues and for simulations. */
uint64_t random_u64(struct random *r)
{
    uint64_t z = r->state += 0x9E3779B97F4A7C15ull;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ z >> 27) * 0x94D049BB133111EBull;
    return z ^ z >> 31;
}

uint32_t random_below(struct random *r, uint32_t limit)
{
    assert(limit > 0);
    return (uint32_t)((random_u64(r) >> 32) * limit >> 32);
}
