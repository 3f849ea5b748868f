/* collect.h - gathers what a broker counted and how it stands, a bounded part in each turn, so that no request waits for it.
 * Facts    docs/protocol/semantics.md 13 (names, labels, what they mean)
 * Shape    steps one after the other; a step looks at COLLECT_AT_ONCE things in a turn. Names of groups and topics are copied first,
 *          COLLECT_NAMES_AT_ONCE in a turn, as their tables change between turns. The age of a message that is not in memory waits for a
 *          worker, COLLECT_READS times in all; what is not known then is left out
 * Threads  loop
 * Owns     itself: it is freed when its page has gone back */
#ifndef SKYLARK_BROKER_COLLECT_H
#define SKYLARK_BROKER_COLLECT_H

#include "broker/state.h"
#include "os/scrape.h"

enum { COLLECT_AT_ONCE = 256, COLLECT_NAMES_AT_ONCE = 512, COLLECT_READS = 64 };

struct collector {
    struct broker *broker;
    struct scrape *scrape;
    struct metrics seen;            /* connections, added up by their labels */
    struct timer next;
    struct disk_wait disk;
    bool waits;                     /* for the disk */
    int reads;                      /* that are left */
    int budget;                     /* things that are left in this turn */
    size_t moves;                   /* of the table whose names are copied */
    size_t step, at, which;         /* where it is; what the last two mean is the step's */
    struct buf names;               /* of groups; then of topics and groups: see collect_put_name() */
    struct lag *lag;                /* of the topic and group in hand */
    struct {
        int64_t now_ms;             /* the tick at which the looking began */
        int64_t count;              /* in the part in hand, so far */
    } wheel;
};

enum step_result { STEP_OVER, STEP_AGAIN, STEP_COLD };

/* --- the list of names: two for each row, copied --- */
void collect_put_names(struct collector *c, struct slice first, struct slice second);
/* The copying begins anew when entries of the table have moved (struct map) since the last turn; true: it does. */
bool collect_names_again(struct collector *c, size_t moves);
/* The row at *at, which moves on; false at the end. */
bool collect_next_names(const struct collector *c, size_t *at, struct slice *first, struct slice *second);

/* --- steps --- */
void collect_put(struct collector *c, enum metric which, const struct slice *labels, int64_t value);
/* The age of a message of a queue, in *out unless it is not known. False: it is not in memory. */
bool collect_age(struct collector *c, struct slice topic, int32_t queue_id, int64_t queue_offset, int64_t *out);
enum step_result collect_timers(struct collector *c);
enum step_result collect_wheel(struct collector *c);
enum step_result collect_connections(struct collector *c);
enum step_result collect_lag(struct collector *c);
/* The first turns of it: copies the names of topics and groups; false: there are more. */
bool collect_lag_names(struct collector *c);
void collect_lag_free(struct collector *c);

/* The page is filled in and goes back; one at a time. */
void collector_begin(struct broker *b, struct scrape *s);
/* At the end of the broker: the page does not go back. NULL is fine. */
void collector_free(struct collector *c);

#endif
