#include "store/offset_map.h"

#include "base/buf.h"
#include "base/map.h"
#include "codec/record.h"
#include "store/compaction_file.h"

#include <stdlib.h>

void offset_map_init(struct offset_map *m, int64_t bytes)
{
    *m = (struct offset_map){.places_max = OFFSET_MAP_PLACES_MIN};
    while ((int64_t)(m->places_max * 2 * sizeof *m->table) <= bytes) m->places_max *= 2;
}

void offset_map_done(struct offset_map *m)
{
    free(m->table);
    *m = (struct offset_map){.table = NULL};
}

static bool has_key(const uint8_t *record, struct slice key)
{
    struct message m;
    return record_read(slice_of(record, record_total_size(record)), &m) == RECORD_WHOLE && slice_eq(compaction_key(&m), key);
}

/* Its place, or the empty one where it would be. */
static struct offset_map_entry *place_of(const struct offset_map *m, uint64_t hash, struct slice key)
{
    size_t i = hash & (m->places - 1);
    while (m->table[i].record && (m->table[i].hash != hash || !has_key(m->table[i].record, key))) i = (i + 1) & (m->places - 1);
    return &m->table[i];
}

static void grow(struct offset_map *m)
{
    struct offset_map old = *m;
    m->places = old.places ? old.places * 2 : OFFSET_MAP_PLACES_MIN;
    m->table = must_zero(m->places * sizeof *m->table);
    for (size_t at = 0; at < old.places; at++) {
        if (!old.table[at].record) continue;
        size_t i = old.table[at].hash & (m->places - 1);   /* all keys differ */
        while (m->table[i].record) i = (i + 1) & (m->places - 1);
        m->table[i] = old.table[at];
    }
    free(old.table);
}

static bool is_crowded(const struct offset_map *m) { return (m->count + 1) * 4 > m->places * 3; }

bool offset_map_put(struct offset_map *m, struct slice key, struct slice record, int64_t queue_offset)
{
    uint64_t hash = map_hash(key);
    if (is_crowded(m) && m->places < m->places_max) grow(m);
    struct offset_map_entry *e = place_of(m, hash, key);
    if (e->record) {
        e->queue_offset = queue_offset;
        return true;
    }
    if (is_crowded(m)) return false;
    *e = (struct offset_map_entry){hash, record.p, queue_offset};
    m->count++;
    return true;
}

int64_t offset_map_get(const struct offset_map *m, struct slice key)
{
    if (!m->count) return -1;
    const struct offset_map_entry *e = place_of(m, map_hash(key), key);
    return e->record ? e->queue_offset : -1;
}
