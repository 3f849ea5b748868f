/* load.h - what an earlier run left of timers becomes a whole wheel.
 * Shape    checkpoint, then the wheel as it is on disk, then the units behind the checkpoint: they are added to it where it does not
 *          have them. What the wheel names and the log does not have is looked for again in the log
 * Threads  worker */
#ifndef SKYLARK_TIMER_LOAD_H
#define SKYLARK_TIMER_LOAD_H

#include "timer/files.h"
#include "timer/wheel.h"

struct timer_load {
    struct timer_files *files;
    int64_t tick_ms;
    struct wheel *wheel;        /* empty at first */
    struct timer_check check;
    int64_t first, end;         /* of the log of timers */
    struct buf known;           /* int64_t: log_offset of each message that has a unit behind the checkpoint; ascending */
    bool lost;                  /* wheel and log could not be used, and are put aside */
};

/* Errors: IO: nothing is known; it may be tried again. */
err_t timer_load(struct timer_load *l) MUST_CHECK;

#endif
