#include "store/past_share.h"

enum {
    IDLE_PERCENT = 10,              /* who has so much time to spare is not busy */
    PAST_OF_NEW = 8,                /* of as many bytes that come one of the past may go */
    AT_LEAST_PER_MS = 16 << 10,     /* so that it gets on whatever comes */
    ALONE = 16,                     /* a loop that fetches so many times what comes is busy with the past itself: that may go on */
};

void past_share_spend(struct past_share *p, int64_t bytes)
{
    p->fetched += bytes;
    p->credit -= bytes;
}

void past_share_turn(struct past_share *p, int64_t mono_ms, int64_t idle_us, int64_t written)
{
    int64_t ms = mono_ms - p->since_ms, idle = idle_us - p->idle_us, came = written - p->written;
    if (ms < PAST_WINDOW_MS) return;
    bool limited = idle * 100 < ms * 1000 * IDLE_PERCENT && came * ALONE >= p->fetched;
    int64_t more = came / PAST_OF_NEW + ms * AT_LEAST_PER_MS;
    if (!limited || !p->limited) p->credit = 0;
    p->credit = p->credit < 0 ? p->credit + more : more;   /* what was not used does not heap up */
    p->limited = limited;
    p->fetched = 0;
    p->since_ms = mono_ms;
    p->idle_us = idle_us;
    p->written = written;
}
