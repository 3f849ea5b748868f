/* arena.h - memory that is given back all at once: what one decoded body, or one file, is made of.
 * Limits   an arena never grows past its limit, so that a small hostile text cannot ask for much memory
 * Owns     everything it gave out; pointers are valid until arena_done()
 * Threads  its owner */
#ifndef SKYLARK_BASE_ARENA_H
#define SKYLARK_BASE_ARENA_H

#include "base/slice.h"

struct arena_chunk;

struct arena {
    struct arena_chunk *chunks;   /* the newest first */
    size_t used;                  /* in the newest */
    size_t total;                 /* bytes taken from the system */
    size_t limit;
};

enum { ARENA_LIMIT_BYTES = 64 << 20 };
#define ARENA_EMPTY ((struct arena){NULL, 0, 0, ARENA_LIMIT_BYTES})

void arena_done(struct arena *a);
/* n bytes aligned for anything, zeroed; NULL past the limit. */
void *arena_take(struct arena *a, size_t n);
/* A copy of s; p is NULL past the limit (and when s.p is). */
struct slice arena_copy(struct arena *a, struct slice s);

/* A list that grows in an arena: the address of its next element (of `size` bytes, zeroed), which counts at once.
 * Elements move when the list grows. NULL past the limit. Start with items NULL and count 0. */
void *arena_list_add(struct arena *a, void **items, size_t *count, size_t size);

#endif
