/* halves.h - the transactions that are open: half messages that are neither committed nor rolled back, and what was written down of
 * those that ended. No I/O: it is told what is read and written.
 * Shape    a half message may be put back, behind the others; then it has a newer copy, and the offset of the first one names it
 * Units    offsets count entries of the half queue, or of the op queue
 * Threads  loop
 * Owns     its struct halfs; one is valid until halves_remove(), when nobody waits for it any more */
#ifndef SKYLARK_BROKER_HALVES_H
#define SKYLARK_BROKER_HALVES_H

#include "base/buf.h"
#include "base/list.h"
#include "base/map.h"

struct half {
    struct list_node node;
    int64_t first_offset;    /* of its first copy: its name */
    int64_t queue_offset;    /* of its newest copy */
    int64_t log_offset;      /* likewise */
    int64_t born_ms;
    int64_t immunity_ms;     /* that its producer asked for; -1: nothing */
    int32_t checks;          /* how often its producer was asked */
    bool sure;               /* an earlier run of a server cannot have ended it unnoticed */
    bool busy;               /* something is under way with it */
    struct list late;        /* the owner's: who waits until it is not */
};

/* An op record, and the largest offset of a half message that it names. */
struct op_note {
    int64_t op_offset;
    int64_t largest;
};

struct halves {
    struct list open;        /* by queue_offset */
    struct map by_name;
    size_t count;
    int64_t next;            /* the first offset not seen yet */
    struct buf ended;        /* int64_t, sorted: what ops name, while halves of an earlier run are being read */
    struct buf notes;        /* struct op_note, by op_offset */
    size_t notes_head;       /* bytes already let go */
    struct list_node *walk;
    int64_t walk_end;
};

void halves_init(struct halves *h);
void halves_done(struct halves *h);

/* --- what an earlier run left --- */
/* An op record names this half message. */
void halves_add_ended(struct halves *h, int64_t offset);
/* All op records were read. */
void halves_sort_ended(struct halves *h);
/* All half messages were read. */
void halves_forget_ended(struct halves *h);

/* --- half messages, in the order of their offsets --- */
/* A copy was read: makes it, or moves it behind the others. NULL: it has ended. */
struct half *halves_see(struct halves *h, const struct half *copy);
/* NULL: it has ended, or never was. */
struct half *halves_find(const struct halves *h, int64_t first_offset);
void halves_remove(struct halves *h, struct half *half);
/* Half messages below it are of no interest any more. */
int64_t halves_begin(const struct halves *h);

/* A walk over those that are there when it begins, once; they may be removed and moved meanwhile. */
void halves_walk(struct halves *h);
/* From the beginning once more, over those that were there when it began. */
void halves_walk_again(struct halves *h);
/* NULL at the end. */
struct half *halves_walk_next(struct halves *h);
/* The next one is `half`, again. */
void halves_walk_back(struct halves *h, struct half *half);

/* --- op records --- */
void halves_note_op(struct halves *h, int64_t op_offset, int64_t largest);
/* The first op record that names a half message at or behind `begin`, or else op_end. Forgets those before it. */
int64_t halves_op_begin(struct halves *h, int64_t begin, int64_t op_end);

#endif
