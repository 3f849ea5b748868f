#include "store/damage.h"

#include "base/log.h"

#include <inttypes.h>

enum { PLACES_MAX = 65536, LINES_MAX = 1000 };

void damage_done(struct damage *d)
{
    buf_done(&d->records);
    buf_done(&d->entries);
}

static int64_t place_at(const struct buf *places, size_t i)
{
    int64_t at;
    memcpy(&at, places->p + i * sizeof at, sizeof at);
    return at;
}

/* How many places lie before it. */
static size_t rank(const struct buf *places, int64_t log_offset)
{
    size_t low = 0, high = places->n / sizeof(int64_t);
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (place_at(places, middle) < log_offset) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool has(const struct buf *places, int64_t log_offset)
{
    size_t i = rank(places, log_offset);
    return i < places->n / sizeof(int64_t) && place_at(places, i) == log_offset;
}

/* False when there is no room for it. */
static bool add(struct buf *places, int64_t log_offset)
{
    if (places->n / sizeof(int64_t) >= PLACES_MAX) return false;
    size_t before = rank(places, log_offset) * sizeof log_offset, behind = places->n - before;
    buf_take(places, sizeof log_offset);
    memmove(places->p + before + sizeof log_offset, places->p + before, behind);
    memcpy(places->p + before, &log_offset, sizeof log_offset);
    return true;
}

static void tell(struct damage *d, int64_t log_offset, const char *what)
{
    if (d->lines > LINES_MAX) return;
    if (d->lines++ < LINES_MAX) log_warn("store.damaged log_offset=%" PRId64 " text=\"%s\"", log_offset, what);
    else log_warn("store.damaged_more text=\"further damage is not listed one by one; 'skylark store check' lists all of it\"");
}

static bool remove_place(struct buf *places, int64_t log_offset)
{
    if (!has(places, log_offset)) return false;
    size_t before = rank(places, log_offset) * sizeof log_offset, behind = before + sizeof log_offset;
    memmove(places->p + before, places->p + behind, places->n - behind);
    places->n -= sizeof log_offset;
    return true;
}

void damage_add_record(struct damage *d, int64_t log_offset, const char *what)
{
    if (has(&d->records, log_offset)) return;
    bool told = remove_place(&d->entries, log_offset);   /* so it was not the entry */
    if (!add(&d->records, log_offset)) d->full = true;
    else if (!told) tell(d, log_offset, what);
}

void damage_add_entry(struct damage *d, int64_t log_offset)
{
    if (has(&d->entries, log_offset)) return;
    if (add(&d->entries, log_offset)) tell(d, log_offset, "a queue entry points here, and no record of that size begins here");
}

bool damage_has_record(const struct damage *d, int64_t log_offset) { return d->records.n && has(&d->records, log_offset); }
