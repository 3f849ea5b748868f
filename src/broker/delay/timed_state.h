/* timed_state.h - the parts of the timer service, seen by its files only.
 * Threads  loop */
#ifndef SKYLARK_BROKER_TIMED_STATE_H
#define SKYLARK_BROKER_TIMED_STATE_H

#include "broker/delay/came.h"
#include "broker/delay/timed.h"
#include "broker/intake/delay.h"

enum {
    TIMED_SLICE_MESSAGES = 256,      /* delivered in one turn */
    TIMED_SLICE_BYTES = 1 << 20,
    TIMED_LOOKS = 512,               /* messages of the timer topic looked at in one turn */
    TIMED_ON_THEIR_WAY_MAX = 1024,   /* messages that the disk has not confirmed yet: others wait for the same syncs */
};

/* A slot that was taken: its units, newest first. */
struct timed_slot {
    struct list_node node;
    struct timed *timed;
    int64_t slot_ms;
    struct buf units;                /* struct timer_unit */
    size_t deletes_done;             /* units looked at for messages that take others back, from the newest on … */
    size_t sent;                     /* … and for the others, from the oldest on */
    struct map deleted;              /* unique key, or topic+key -> struct deletion */
    size_t outstanding;              /* messages that are not stored yet */
    int64_t log_from;                /* what was delivered of it lies behind it in the commit log */
    bool all_sent;
};

/* A message on its way from the timer topic to where it belongs, or once more into the timer topic. */
struct timed_delivery {
    struct list_node node;           /* in `retries`, while it waits there */
    struct list_node in_order;       /* in `immediate` */
    struct timed *timed;
    struct timed_slot *slot;         /* NULL: it was due when it was looked at */
    struct timer_unit unit;
    int64_t queue_offset;            /* of an immediate one, in the timer topic … */
    int64_t log_from;                /* … which lies behind it in the commit log when it is delivered, as those that come later */
    bool counted;                    /* it does not count as waiting any more */
};

enum fetch_state { FETCH_NONE, FETCH_RUNS };

struct timed {
    struct broker *broker;
    struct timers *timers;
    int64_t tick_ms;
    int64_t roll_ticks;
    bool ready;
    bool stopped;
    struct timer go;
    int64_t wake_mono_ms;            /* when it fires, while it is armed */

    int64_t next;                    /* queue_offset of the timer topic to be looked at next */
    int64_t known_until;             /* before it, messages may have a unit already, or have been delivered (timers_begin.lost) */
    bool lost;
    int64_t lost_before_ms;          /* what was due in slots before it is delivered */
    struct came *came;               /* what was delivered before the last stop and the checkpoint does not tell; NULL: nothing */
    bool looking;                    /* for that: nothing goes on meanwhile */
    int64_t began_ms;                /* what came lies in slots before it */
    int64_t came_from;               /* … and behind it in the commit log */
    int64_t stopped_log;             /* what is not told by the last checkpoint lies behind it */
    bool withheld;                   /* the store does not give what comes next */
    struct list immediate;           /* timed_delivery in_order: those that `next` has passed and that are not stored yet */
    struct disk_wait enqueue_fetch;
    enum fetch_state enqueue_fetches;

    int64_t read_ms;                 /* slots before it were taken */
    int64_t rolled_to;               /* behind the last message that went into the timer topic once more: slots wait until it is in the wheel */
    struct list slots;               /* timed_slot, in the order they were taken; the last one may not be sent */
    struct timers_take take;
    struct timed_slot *taking;       /* its units are being read */
    int reads_failed;                /* in a row, of one slot */
    int64_t take_again_mono_ms;
    struct disk_wait dequeue_fetch;
    enum fetch_state dequeue_fetches;

    struct list retries;             /* timed_delivery, which the store did not take */
    int64_t retry_mono_ms;           /* -1: the store takes messages */
    int64_t refused_mono_ms;         /* -1 */
    size_t on_their_way;
    size_t messages, bytes;          /* of this turn's slice */

    struct timer flush;
    struct timer_check prepared;
    int64_t prepared_log;            /* end of the commit log when the flush was prepared; -1: none is */
    bool flushing;                   /* it is being written */
    bool changed;                    /* since it was prepared */
    bool flush_fails;
};

bool timed_slice_is_used_up(const struct timed *t);
void timed_wake(struct timed *t, int64_t delay_ms);
/* Something is to be written. */
void timed_changed(struct timed *t);
int64_t timed_full_tick(const struct timed *t, int64_t ms);
/* Whatever is delivered from now on, or was and is not told, lies behind it in the commit log. */
int64_t timed_log_from(const struct timed *t);

/* --- timed_enqueue.c --- */
void timed_enqueue(struct timed *t);
/* Messages of the timer topic that are not in the wheel yet, and may be taken there now. */
bool timed_enqueue_is_behind(const struct timed *t);

/* --- timed_dequeue.c --- */
void timed_dequeue(struct timed *t);
/* There are some that slots wait for. */
bool timed_is_behind(const struct timed *t);
/* A message of the timer topic whose slot was taken before it was looked at. */
void timed_deliver_now(struct timed *t, const struct timer_unit *u, int64_t queue_offset);
void timed_retry(struct timed *t);
/* Everything in the wheel is forgotten, and read again from the timer topic. */
void timed_begin_again(struct timed *t, err_t why);
void timed_slot_free(struct timed_slot *s);
void timed_dequeue_fetched(struct disk_wait *w, bool stopping);
void timed_taken(struct timers_take *take, err_t e);

#endif
