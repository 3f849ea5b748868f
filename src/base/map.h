/* map.h - hash table from bytes to pointers; walks in insertion order, so that a simulation repeats exactly.
 * Owns     copies of its keys; the values are the caller's
 * Threads  its owner */
#ifndef SKYLARK_BASE_MAP_H
#define SKYLARK_BASE_MAP_H

#include "base/slice.h"

struct map_entry {
    struct slice key;     /* p is NULL in a removed entry */
    uint64_t hash;
    void *value;
};

struct map {
    struct map_entry *entries;   /* in insertion order, with holes */
    uint32_t *index;             /* open addressing: entry number + 1, 0 empty */
    size_t used;                 /* entries, holes included */
    size_t cap;
    size_t index_cap;
    size_t count;
    size_t moves;                /* how often entries moved: a walk over several turns begins anew when it has changed */
};

#define MAP_EMPTY ((struct map){NULL, NULL, 0, 0, 0, 0, 0})

void map_done(struct map *m);                                    /* frees keys, not values */
void map_done_with(struct map *m, void (*free_value)(void *));   /* frees values too */
void *map_get(const struct map *m, struct slice key);            /* NULL if absent */
void *map_put(struct map *m, struct slice key, void *value);     /* value must not be NULL; returns the one replaced, or NULL */
void *map_remove(struct map *m, struct slice key);               /* returns the removed value, or NULL */
/* Walks: `for (size_t at = 0; (e = map_next(m, &at));)`. The entry in hand may be removed; nothing may be added. */
struct map_entry *map_next(const struct map *m, size_t *at);
uint64_t map_hash(struct slice key);

#endif
