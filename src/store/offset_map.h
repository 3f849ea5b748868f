/* offset_map.h - the newest message of each key, for one round of compaction.
 * Units    queue offsets
 * Limits   bytes of memory, given at the start; what does not fit is told, not dropped
 * Threads  its owner
 * Owns     its table; the records it was given are borrowed until offset_map_done(). Keys whose hashes are equal are compared in them */
#ifndef SKYLARK_STORE_OFFSET_MAP_H
#define SKYLARK_STORE_OFFSET_MAP_H

#include "base/slice.h"

struct offset_map_entry {
    uint64_t hash;
    const uint8_t *record;      /* the first one with that key; NULL: an empty place */
    int64_t queue_offset;
};

struct offset_map {
    struct offset_map_entry *table;
    size_t places;              /* a power of two */
    size_t places_max;
    size_t count;
};

enum { OFFSET_MAP_PLACES_MIN = 128 };

void offset_map_init(struct offset_map *m, int64_t bytes);
void offset_map_done(struct offset_map *m);
/* The key of a record (compaction_key()) was seen with that offset, which is newer than all before. False: there is no room. */
bool offset_map_put(struct offset_map *m, struct slice key, struct slice record, int64_t queue_offset);
/* -1: no message of that key was seen. */
int64_t offset_map_get(const struct offset_map *m, struct slice key);

#endif
