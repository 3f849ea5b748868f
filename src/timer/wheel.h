/* wheel.h - the slots of a wheel of timers, in memory: pages of 128 slots, there when one of them holds something.
 * Facts    docs/protocol/store.md 9
 * Units    time counts ticks since 1970
 * Threads  its owner: a worker while it is loaded, then the loop
 * Owns     its pages */
#ifndef SKYLARK_TIMER_WHEEL_H
#define SKYLARK_TIMER_WHEEL_H

#include "base/buf.h"
#include "codec/timer.h"

enum {
    WHEEL_PAGE_SLOTS = 128,
    WHEEL_PAGE_BYTES = WHEEL_PAGE_SLOTS * TIMER_SLOT_BYTES,
    WHEEL_PAGES = TIMER_SLOTS / WHEEL_PAGE_SLOTS,
};
_Static_assert(WHEEL_PAGES * WHEEL_PAGE_SLOTS == TIMER_SLOTS, "whole pages");

struct wheel_page {
    struct timer_slot slots[WHEEL_PAGE_SLOTS];
    bool marked[WHEEL_PAGE_SLOTS];   /* taken; while the wheel is loaded: to be mended */
    bool dirty;
};

struct wheel {
    struct wheel_page *pages[WHEEL_PAGES];
    int64_t count;                   /* sum of the slots' counts */
};

void wheel_done(struct wheel *w);

static inline size_t wheel_index(int64_t time) { return (size_t)(time % TIMER_SLOTS); }
/* The slot that time has; NULL: its page is not there. It may hold another time. */
struct timer_slot *wheel_slot(const struct wheel *w, int64_t time);
/* The same, with its page made, which is dirty from now on. */
struct timer_slot *wheel_change(struct wheel *w, int64_t time);
bool *wheel_mark(const struct wheel *w, int64_t time);
static inline bool wheel_holds(const struct timer_slot *s, int64_t time) { return s && s->last >= 0 && s->time == time; }

/* Adds a unit at that position to the slot of its time; what the slot held of another time is forgotten. */
void wheel_add(struct wheel *w, int64_t time, int64_t position, int32_t flags);
void wheel_clear(struct wheel *w, int64_t time);

/* Takes over a page as it is on disk; slots before that time are left out. Pages without others are not kept. */
void wheel_page_decode(struct wheel *w, size_t page, const uint8_t bytes[static WHEEL_PAGE_BYTES], int64_t from_time);
void wheel_page_encode(const struct wheel *w, size_t page, uint8_t out[static WHEEL_PAGE_BYTES]);
/* Pages that are clean and hold nothing from that time on are freed. */
void wheel_trim(struct wheel *w, int64_t from_time);

#endif
