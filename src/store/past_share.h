/* past_share.h - how much of the past may be fetched while a loop is busy with what is new.
 * Why      whoever reads old messages as fast as he can takes the loop's time from producers, a byte for a byte: to copy what is old costs about as much
 *          as to take what is new. As long as the loop has time to spare nobody is held up; when it has none, the past gets an eighth
 * Shape    looked at in windows of a few milliseconds: what the loop did in one decides about the next
 * Threads  its owner */
#ifndef SKYLARK_STORE_PAST_SHARE_H
#define SKYLARK_STORE_PAST_SHARE_H

#include <stdbool.h>
#include <stdint.h>

enum { PAST_WINDOW_MS = 20 };

struct past_share {
    int64_t since_ms;       /* where the window began, … */
    int64_t idle_us;        /* … what the loop had been idle by then, … */
    int64_t written;        /* … and where the log ended */
    int64_t fetched;        /* in this window, bytes */
    int64_t credit;         /* bytes that may still be fetched; below 0: what was too much */
    bool limited;
};

/* A turn is over. `idle_us` and `written` only grow. */
void past_share_turn(struct past_share *p, int64_t mono_ms, int64_t idle_us, int64_t written);
void past_share_spend(struct past_share *p, int64_t bytes);
static inline bool past_share_allows(const struct past_share *p) { return !p->limited || p->credit > 0; }

#endif
