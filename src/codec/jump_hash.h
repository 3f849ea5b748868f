/* jump_hash.h - the place of a name among n, that moves as rarely as can be when n changes.
 * Facts    Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", as the original uses it for message groups and lite topics
 * Threads  any */
#ifndef SKYLARK_CODEC_JUMP_HASH_H
#define SKYLARK_CODEC_JUMP_HASH_H

#include <stddef.h>
#include <stdint.h>

/* 0 … n - 1; n is positive. */
size_t jump_hash(int64_t hash, size_t n);

#endif
