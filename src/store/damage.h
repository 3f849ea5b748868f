/* damage.h - places of the log where an earlier run left something that cannot be: each is reported once and counted; what a
 * record's place is here for is never served.
 * Threads  loop
 * Units    places are log_offsets
 * Limits   PLACES_MAX records are remembered; past that `full`, and every record is verified each time it is read */
#ifndef SKYLARK_STORE_DAMAGE_H
#define SKYLARK_STORE_DAMAGE_H

#include "base/buf.h"

struct damage {
    struct buf records;      /* int64_t, in order: no whole, valid record is there, though one was */
    struct buf entries;      /* the same: where queue entries point to that point to no record */
    uint64_t lines;          /* written to the log */
    bool full;
};

void damage_done(struct damage *d);
/* Reports a damaged record, once. */
void damage_add_record(struct damage *d, int64_t log_offset, const char *what);
/* Reports a queue entry that points there, once. The record that may be there is not to blame. */
void damage_add_entry(struct damage *d, int64_t log_offset);
bool damage_has_record(const struct damage *d, int64_t log_offset);
/* Records, and entries that point to none. */
static inline size_t damage_count(const struct damage *d) { return (d->records.n + d->entries.n) / sizeof(int64_t); }

#endif
