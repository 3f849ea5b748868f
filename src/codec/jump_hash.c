#include "codec/jump_hash.h"

size_t jump_hash(int64_t hash, size_t n)
{
    uint64_t state = (uint64_t)hash;
    int64_t candidate = 0;
    for (;;) {
        state = 2862933555777941757u * state + 1;
        double d = (double)((int32_t)(state >> 33) + 1) / (double)(1u << 31);
        double next = (double)(candidate + 1) / d;
        if (next < 0 || next >= (double)n) return (size_t)candidate;
        candidate = (int64_t)next;
    }
}
