/* delay_levels.h - how long a message of each delay level waits.
 * Shape    "1s 5s 10s …": level 1 is the first; units s, m, h, d
 * Facts    docs/protocol/semantics.md 3, store.md 2.3 (messageDelayLevel)
 * Threads  any */
#ifndef SKYLARK_CODEC_DELAY_LEVELS_H
#define SKYLARK_CODEC_DELAY_LEVELS_H

#include "base/err.h"
#include "base/slice.h"

enum { DELAY_LEVELS_MAX = 128, DELAY_LEVEL_UNKNOWN_MS = 1000 };

#define DELAY_LEVELS_TOPIC "SCHEDULE_TOPIC_XXXX"   /* where messages wait; queue = level - 1 */

struct delay_levels {
    int32_t count;
    int64_t ms[DELAY_LEVELS_MAX];
};

/* As the original has them when nothing is configured. */
extern const struct delay_levels delay_levels_default;

/* Errors: CONFIG, with the part that cannot be. */
err_t delay_levels_parse(struct slice text, struct delay_levels *out) MUST_CHECK;
/* The longest one for a level above all; DELAY_LEVEL_UNKNOWN_MS for what is no level. */
int64_t delay_levels_ms(const struct delay_levels *levels, int64_t level);

#endif
