/* timer.h - which timer messages are due when: the wheel and the log of timers, in the original's formats.
 * Shape    a wheel of slots, one for each tick. A slot names the last unit that was added to it, and each unit the one before it; a unit
 *          says where its message is in the commit log
 *              wheel  [ ][t: last]──►unit──►unit──►none
 * Files    root/timerwheel, root/timerlog/, root/config/timercheck; facts: docs/protocol/store.md 9
 * Units    times in ms since 1970; a slot's time is that of the beginning of its tick
 * Threads  loop, but timers_close(), which blocks. All files are read and written by workers: at first all of the wheel, units when they
 *          are due, and what changed with each timers_flush()
 * Durable  what a flush has written: what was there when it was prepared, when `flushed` says so; what came later is lost with the process. The messages are in the commit
 *          log: who asks for them again from timers_begin.queue_offset on misses none
 * Memory   4 KiB for 128 ticks in which something is due, and what has not been flushed yet */
#ifndef SKYLARK_TIMER_TIMER_H
#define SKYLARK_TIMER_TIMER_H

#include "base/buf.h"
#include "codec/timer.h"
#include "os/file.h"
#include "os/tasks.h"

struct timers;

struct timers_options {
    const char *root;               /* storePathRootDir */
    int64_t tick_ms;                /* timerPrecisionMs */
    int64_t log_file_bytes;         /* mappedFileSizeTimerLog; of files to be made where there are none */
    void (*ready)(void *ctx);       /* what an earlier run left is known; or it is lost. Thread: loop */
    void (*flushed)(void *ctx, err_t e);   /* takes e */
    void *ctx;
};

/* What an earlier run left. */
struct timers_begin {
    struct timer_check check;
    bool lost;                      /* wheel or log could not be used: all messages that are not due before check.read_ms are missing */
};

/* Begins to look at the files. */
struct timers *timers_new(const struct timers_options *options, struct fs *fs, struct tasks *tasks);
/* Writes all there is, and this checkpoint; NULL: nothing. Frees t, in any case; a job may end after it. NULL is fine. */
err_t timers_close(struct timers *t, const struct timer_check *check) MUST_CHECK;

/* The functions below may be used once `ready` was called. */
const struct timers_begin *timers_begin(const struct timers *t);
/* A message whose unit was on disk though the checkpoint did not cover it. */
bool timers_has(const struct timers *t, int64_t log_offset);
/* No message comes any more that timers_has() could be asked for. */
void timers_forget_known(struct timers *t);

/* Adds a unit to the slot of its time (u->before is found here). False: the slot still holds what was due one turn of the wheel ago,
 * which has to go first. */
bool timers_add(struct timers *t, const struct timer_unit *u);
/* Time of the first slot that holds something; -1: none does. */
int64_t timers_first(const struct timers *t);
/* The first slot of [from_ms, to_ms) that holds something and was not taken; -1: there is none. */
int64_t timers_next(const struct timers *t, int64_t from_ms, int64_t to_ms);
/* Of one slot, and of all. */
int32_t timers_count_at(const struct timers *t, int64_t ms);
int64_t timers_count(const struct timers *t);

/* Embedded in whoever asks. */
struct timers_take {
    void (*done)(struct timers_take *take, err_t e);   /* takes e: CORRUPT (units are lost), IO. May run at once */
    struct buf units;               /* struct timer_unit, newest first; the receiver's */
};
/* Reads the units of a slot; one at a time. The slot stays as it is until it is cleared, but is not found again. */
void timers_take(struct timers *t, int64_t slot_ms, struct timers_take *take);
/* After it take->done does not run. Harmless when nothing is under way. */
void timers_take_cancel(struct timers *t);
/* Its messages are delivered; or (`again`) they are not, and it is to be found again. */
void timers_clear(struct timers *t, int64_t slot_ms, bool again);

/* What was added and cleared so far is to be written, then the checkpoint. False: a flush is under way. */
bool timers_prepare(struct timers *t, const struct timer_check *check);
/* Writes what was prepared; `flushed` runs later. Log files go that hold nothing but messages before log_min in the commit log. */
void timers_flush(struct timers *t, int64_t log_min);
/* Everything is forgotten, and what is on disk put aside, with the next flush. */
void timers_reset(struct timers *t);
/* Where the log of timers ends. */
int64_t timers_log_end(const struct timers *t);

#endif
