#include "base/map.h"
#include "base/buf.h"

#include <stdlib.h>

/* A multiply-and-fold hash over words of eight bytes; keys are names, so speed on short keys is what counts. */
uint64_t map_hash(struct slice key)
{
    uint64_t h = 0x9E3779B97F4A7C15ull ^ key.n;
    const uint8_t *p = key.p;
    size_t n = key.n;
    while (n >= 8) {
        uint64_t w;
        memcpy(&w, p, 8);
        __uint128_t m = (__uint128_t)(h ^ w) * 0xD6E8FEB86659FD93ull;
        h = (uint64_t)m ^ (uint64_t)(m >> 64);
        p += 8;
        n -= 8;
    }
    uint64_t w = 0;
    if (n) memcpy(&w, p, n);
    __uint128_t m = (__uint128_t)(h ^ w ^ ((uint64_t)n << 56)) * 0xD6E8FEB86659FD93ull;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

void map_done(struct map *m)
{
    for (size_t i = 0; i < m->used; i++) free((void *)m->entries[i].key.p);
    free(m->entries);
    free(m->index);
    *m = MAP_EMPTY;
}

void map_done_with(struct map *m, void (*free_value)(void *))
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(m, &at));) free_value(e->value);
    map_done(m);
}

static size_t find_slot(const struct map *m, struct slice key, uint64_t hash)
{
    size_t mask = m->index_cap - 1;
    size_t slot = hash & mask;
    for (;; slot = (slot + 1) & mask) {
        uint32_t i = m->index[slot];
        if (!i) return slot;
        const struct map_entry *e = &m->entries[i - 1];
        if (e->hash == hash && e->key.p && slice_eq(e->key, key)) return slot;
    }
}

void *map_get(const struct map *m, struct slice key)
{
    if (!m->count) return NULL;
    uint32_t i = m->index[find_slot(m, key, map_hash(key))];
    return i ? m->entries[i - 1].value : NULL;
}

/* Closes the holes and sizes the index to at most half full. */
static void rebuild(struct map *m)
{
    size_t cap = 8;
    while (cap < m->count * 2) cap *= 2;
    struct map_entry *entries = must_alloc(cap * sizeof *entries);
    size_t n = 0;
    for (size_t i = 0; i < m->used; i++)
        if (m->entries[i].key.p) entries[n++] = m->entries[i];
    free(m->entries);
    free(m->index);
    m->entries = entries;
    m->used = n;
    m->moves++;
    m->cap = cap;
    m->index_cap = cap * 2;
    m->index = must_zero(m->index_cap * sizeof *m->index);
    for (size_t i = 0; i < n; i++) m->index[find_slot(m, entries[i].key, entries[i].hash)] = (uint32_t)i + 1;
}

void *map_put(struct map *m, struct slice key, void *value)
{
    uint64_t hash = map_hash(key);
    if (m->cap) {
        uint32_t i = m->index[find_slot(m, key, hash)];
        if (i) {
            void *old = m->entries[i - 1].value;
            m->entries[i - 1].value = value;
            return old;
        }
    }
    if (m->used == m->cap) rebuild(m);
    size_t slot = find_slot(m, key, hash);
    m->entries[m->used] = (struct map_entry){slice_text(must_dup(key)), hash, value};
    m->entries[m->used].key.n = key.n;
    m->index[slot] = (uint32_t)++m->used;
    m->count++;
    return NULL;
}

void *map_remove(struct map *m, struct slice key)
{
    if (!m->count) return NULL;
    uint32_t i = m->index[find_slot(m, key, map_hash(key))];
    if (!i) return NULL;
    struct map_entry *e = &m->entries[i - 1];   /* its index slot stays as a tombstone until the next rebuild */
    void *value = e->value;
    free((void *)e->key.p);
    e->key.p = NULL;
    e->value = NULL;
    m->count--;
    return value;
}

struct map_entry *map_next(const struct map *m, size_t *at)
{
    while (*at < m->used) {
        struct map_entry *e = &m->entries[(*at)++];
        if (e->key.p) return e;
    }
    return NULL;
}
