#include "base/arena.h"
#include "base/buf.h"

#include <stdalign.h>
#include <stdlib.h>

enum { CHUNK_MIN_BYTES = 256, CHUNK_MAX_BYTES = 256 << 10, LIST_MIN = 4 };

struct arena_chunk {
    struct arena_chunk *next;
    size_t size;
    alignas(max_align_t) uint8_t bytes[];
};

void arena_done(struct arena *a)
{
    while (a->chunks) {
        struct arena_chunk *c = a->chunks;
        a->chunks = c->next;
        free(c);
    }
    a->used = a->total = 0;
}

/* Each chunk is half of what there is already, within bounds, so that a third is idle at most; what is larger gets a chunk of its own. */
static bool add_chunk(struct arena *a, size_t n)
{
    size_t size = a->total / 2 & ~(alignof(max_align_t) - 1);
    if (size < CHUNK_MIN_BYTES) size = CHUNK_MIN_BYTES;
    if (size > CHUNK_MAX_BYTES) size = CHUNK_MAX_BYTES;
    if (size < n) size = n;
    if (size > a->limit - a->total) size = n;
    if (size > a->limit - a->total) return false;
    struct arena_chunk *c = must_alloc(sizeof *c + size);
    c->next = a->chunks;
    c->size = size;
    a->chunks = c;
    a->used = 0;
    a->total += size;
    return true;
}

void *arena_take(struct arena *a, size_t n)
{
    if (n > a->limit) return NULL;
    n = (n + alignof(max_align_t) - 1) & ~(alignof(max_align_t) - 1);
    if (!a->chunks || a->chunks->size - a->used < n)
        if (!add_chunk(a, n)) return NULL;
    void *p = a->chunks->bytes + a->used;
    a->used += n;
    memset(p, 0, n);
    return p;
}

struct slice arena_copy(struct arena *a, struct slice s)
{
    if (!s.p) return s;
    uint8_t *p = arena_take(a, s.n ? s.n : 1);
    if (!p) return (struct slice){NULL, 0};
    memcpy(p, s.p, s.n);
    return slice_of(p, s.n);
}

void *arena_list_add(struct arena *a, void **items, size_t *count, size_t size)
{
    size_t n = *count;
    if (n == 0 || (n >= LIST_MIN && (n & (n - 1)) == 0)) {   /* full at 4, 8, 16 … */
        void *more = arena_take(a, size * (n ? n * 2 : LIST_MIN));
        if (!more) return NULL;
        if (n) memcpy(more, *items, size * n);
        *items = more;
    }
    return (uint8_t *)*items + size * (*count)++;
}
