/* timer.h - files of timer messages: the log of timers, the wheel, and how far both are.
 * Shape    unit of the log, 52 bytes: size i32, 52 | before i64 | flags i32 | added_ms i64 | delay_ms i32 | log_offset i64 | size i32 |
 *          topic_hash i32 | i64 0. A log file ends with a blank: bytes left i32 | i64 0 | i32 TIMER_BLANK_MAGIC.
 *          slot of the wheel, 32 bytes: time i64, counted in ticks | first i64 | last i64 | count i32 | i32 0.
 *          checkpoint: seven i64 at the start of 4096 bytes. At 1024, where the original writes nothing: magic i64 | tick_ms i64 |
 *          log_offset i64 | crc i32 of the first 56 bytes and these 24.
 * Facts    docs/protocol/store.md 9, 8 (timercheck)
 * Units    positions count bytes of the log of timers; log_offset those of the commit log
 * Threads  any */
#ifndef SKYLARK_CODEC_TIMER_H
#define SKYLARK_CODEC_TIMER_H

#include "base/slice.h"

enum {
    TIMER_UNIT_BYTES = 52,
    TIMER_BLANK_BYTES = 16,
    TIMER_SLOT_BYTES = 32,
    TIMER_SLOTS = 2 * 7 * 86400,      /* of the wheel, whatever a tick is */
    TIMER_CHECK_BYTES = 4096,
    TIMER_CHECK_SHORT_BYTES = 56,     /* what request 60 is answered with */
};

enum { TIMER_NORMAL = 1, TIMER_ROLLS = 2, TIMER_DELETES = 4 };   /* flags */

struct timer_unit {
    int64_t before;              /* position of the unit that the slot got before this one; -1: none */
    int32_t flags;
    int64_t added_ms;            /* full tick in which it was added */
    int32_t delay_ms;            /* from then to the time of its slot */
    int64_t log_offset;          /* of the message */
    int32_t size;
    int32_t topic_hash;
};

struct timer_slot {
    int64_t time;                /* in ticks since 1970 */
    int64_t first, last;         /* positions of units; -1: none */
    int32_t count;
};

struct timer_check {
    int64_t read_ms;             /* slots before it are delivered */
    int64_t flushed;             /* position up to which the log of timers is on disk, and in the wheel */
    int64_t queue_offset;        /* messages of the timer topic before it have been looked at */
    int64_t master_queue_offset;
    int64_t state_version, timestamp, counter;
    int64_t tick_ms;             /* 0: this file is as the original left it */
    int64_t log_offset;          /* what was delivered and is not told here lies behind it in the commit log; -1: as above */
};

void timer_unit_encode(const struct timer_unit *u, uint8_t out[static TIMER_UNIT_BYTES]);
/* False: no unit that can be at this position. */
bool timer_unit_decode(const uint8_t *p, int64_t position, struct timer_unit *out);
static inline int64_t timer_unit_time_ms(const struct timer_unit *u) { return u->added_ms + u->delay_ms; }
void timer_blank_encode(int32_t left, uint8_t out[static TIMER_BLANK_BYTES]);
bool timer_is_blank(const uint8_t *p);
/* The next unit fits before the blank that ends a file of that size. */
static inline bool timer_unit_fits(int64_t file_bytes, int64_t in_file) { return TIMER_UNIT_BYTES + TIMER_BLANK_BYTES <= file_bytes - in_file; }

void timer_slot_encode(const struct timer_slot *s, uint8_t out[static TIMER_SLOT_BYTES]);
/* One that holds nothing has last -1. */
void timer_slot_decode(const uint8_t *p, struct timer_slot *out);

void timer_check_encode(const struct timer_check *c, uint8_t out[static TIMER_CHECK_BYTES]);
/* Bytes that are missing read as zero. */
void timer_check_decode(struct slice bytes, struct timer_check *out);

#endif
