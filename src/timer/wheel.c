#include "timer/wheel.h"

#include <stdlib.h>

static const struct timer_slot nothing = {.first = -1, .last = -1};

void wheel_done(struct wheel *w)
{
    for (size_t i = 0; i < WHEEL_PAGES; i++) free(w->pages[i]);
    memset(w, 0, sizeof *w);
}

static struct wheel_page *page_of(const struct wheel *w, int64_t time) { return w->pages[wheel_index(time) / WHEEL_PAGE_SLOTS]; }

static struct wheel_page *page_new(void)
{
    struct wheel_page *p = must_zero(sizeof *p);
    for (size_t i = 0; i < WHEEL_PAGE_SLOTS; i++) p->slots[i] = nothing;
    return p;
}

struct timer_slot *wheel_slot(const struct wheel *w, int64_t time)
{
    struct wheel_page *p = page_of(w, time);
    return p ? &p->slots[wheel_index(time) % WHEEL_PAGE_SLOTS] : NULL;
}

struct timer_slot *wheel_change(struct wheel *w, int64_t time)
{
    struct wheel_page **p = &w->pages[wheel_index(time) / WHEEL_PAGE_SLOTS];
    if (!*p) *p = page_new();
    (*p)->dirty = true;
    return &(*p)->slots[wheel_index(time) % WHEEL_PAGE_SLOTS];
}

bool *wheel_mark(const struct wheel *w, int64_t time) { return &page_of(w, time)->marked[wheel_index(time) % WHEEL_PAGE_SLOTS]; }

void wheel_add(struct wheel *w, int64_t time, int64_t position, int32_t flags)
{
    struct timer_slot *s = wheel_change(w, time);
    int32_t change = flags & TIMER_DELETES ? -1 : 1;
    if (!wheel_holds(s, time)) {
        w->count -= s->count;
        *s = (struct timer_slot){.time = time, .first = position};
        *wheel_mark(w, time) = false;
    }
    s->last = position;
    s->count += change;
    w->count += change;
}

void wheel_clear(struct wheel *w, int64_t time)
{
    if (!wheel_holds(wheel_slot(w, time), time)) return;
    struct timer_slot *s = wheel_change(w, time);
    w->count -= s->count;
    *s = nothing;
    *wheel_mark(w, time) = false;
}

void wheel_page_decode(struct wheel *w, size_t page, const uint8_t bytes[static WHEEL_PAGE_BYTES], int64_t from_time)
{
    struct wheel_page *p = NULL;
    for (size_t i = 0; i < WHEEL_PAGE_SLOTS; i++) {
        struct timer_slot s;
        timer_slot_decode(bytes + i * TIMER_SLOT_BYTES, &s);
        if (s.last < 0 || s.time < from_time || wheel_index(s.time) != page * WHEEL_PAGE_SLOTS + i) continue;
        if (!p) p = page_new();
        p->slots[i] = s;
        w->count += s.count;
    }
    w->pages[page] = p;
}

void wheel_page_encode(const struct wheel *w, size_t page, uint8_t out[static WHEEL_PAGE_BYTES])
{
    memset(out, 0, WHEEL_PAGE_BYTES);
    for (size_t i = 0; i < WHEEL_PAGE_SLOTS; i++) {
        const struct timer_slot *s = &w->pages[page]->slots[i];
        if (s->last >= 0) timer_slot_encode(s, out + i * TIMER_SLOT_BYTES);
    }
}

static bool is_needed(const struct wheel_page *p, int64_t from_time)
{
    if (p->dirty) return true;
    for (size_t i = 0; i < WHEEL_PAGE_SLOTS; i++)
        if (p->slots[i].last >= 0 && p->slots[i].time >= from_time) return true;
    return false;
}

void wheel_trim(struct wheel *w, int64_t from_time)
{
    for (size_t i = 0; i < WHEEL_PAGES; i++) {
        struct wheel_page *p = w->pages[i];
        if (!p || is_needed(p, from_time)) continue;
        for (size_t k = 0; k < WHEEL_PAGE_SLOTS; k++) w->count -= p->slots[k].last >= 0 ? p->slots[k].count : 0;
        free(p);
        w->pages[i] = NULL;
    }
}
