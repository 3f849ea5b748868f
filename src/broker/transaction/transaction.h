/* transaction.h - transactions: half messages wait in a topic of the broker's until their producer commits or rolls back, and producers
 * that say nothing are asked.
 * Shape    the half queue is read as its messages arrive; which of them are open is in memory (halves.h). Those that end are written to
 *          the op queue. How far both queues are of no interest any more are offsets of the group CID_RMQ_SYS_TRANS: from there on a
 *          start reads again, ours or that of the original
 * Once     what an earlier run may have ended without writing it down is looked for by its unique key, before it is ended or its producer
 *          is asked
 * Facts    docs/protocol/semantics.md 5, store.md 11
 * Threads  loop
 * Work     in slices: the loop goes on between them. What is not in memory is fetched by workers */
#ifndef SKYLARK_BROKER_TRANSACTION_H
#define SKYLARK_BROKER_TRANSACTION_H

#include "broker/intake/half.h"
#include "broker/state.h"
#include "broker/transaction/half_message.h"
#include "broker/transaction/halves.h"

/* Progress that a start may rely on once the log is on disk up to `log_end`. */
struct transaction_progress {
    int64_t half_offset;
    int64_t op_offset;
    int64_t log_end;
};

struct transactions {
    struct broker *broker;
    struct halves halves;

    /* Reading the two queues. */
    bool ops_read;                  /* of an earlier run */
    bool ready;                     /* and its half messages: what is open is known */
    bool reading;                   /* more is to be read, later or by a worker */
    int64_t inherited_end;          /* half messages below it are an earlier run's */
    int64_t op_end;                 /* offset of the next op record */
    struct timer more;
    struct disk_wait disk;

    /* Requests that came too early, and half messages that are looked for. */
    struct list late;               /* struct late_call: until what arrived is read */
    struct list due;                /* those that begin again now */
    size_t late_count;              /* of both, and of those that wait for one half message */
    struct timer wake;
    struct list lookups;
    size_t lookup_count;

    /* Ends that are not written down yet. */
    struct buf ops;                 /* "12,15," */
    int64_t ops_largest;
    bool ops_refused;               /* by the store; tried again each second */
    struct timer ops_timer;

    /* Asking. */
    struct timer round;
    struct timer slice;
    struct disk_wait round_disk;
    bool round_runs;
    bool round_waits;               /* so much is under way that the round goes on later */
    bool round_fetches;             /* it goes on when a worker has read something */
    bool round_again;               /* it passed one whose record has left memory since */
    uint32_t round_asked;
    uint32_t round_given_up;
    size_t putting_bytes;
    uint32_t turn;                  /* which producer of a group is asked next */
    struct transaction_progress reached, committed;
};

/* --- transaction.c --- */
struct transactions *transactions_new(struct broker *b);
/* Messages of the half queue became visible. */
void transactions_arrived(struct transactions *t);
/* Before the store is closed: writes down what is known, and lets go who waits. NULL is fine. */
void transactions_end(struct transactions *t);
/* After it. `clean`: everything is on disk. */
void transactions_free(struct transactions *t, bool clean);

/* The request begins again when that half message is not busy any more, or (NULL) when what arrived is read; takes the call. */
void transactions_later(struct transactions *t, struct half *half, struct call *call);
/* The same, when bytes that it needed are in memory. */
void transactions_fetch(struct transactions *t, struct call *call);
/* It is not busy any more; who waits for it begins again. */
void transactions_release(struct transactions *t, struct half *half);

/* Whether an earlier run has committed it, or given it up, is looked up; the half message is busy until that is known. Then, if not, and
 * `ask` is set, its producer is asked. */
void transactions_look_up(struct transactions *t, struct half *half, const struct message *m, const struct half_facts *facts, bool ask);
/* It is committed, rolled back or given up: writes that down soon, and forgets it. */
void transactions_ended(struct transactions *t, struct half *half);
/* The same, when it is written down already. */
void transactions_forget(struct transactions *t, struct half *half);
/* How far the two queues are of no interest any more, as of now; log_end is the caller's to set. */
struct transaction_progress transactions_progress(struct transactions *t);
/* A start may rely on it. */
void transactions_commit_progress(struct transactions *t, const struct transaction_progress *p);
/* Stores m as it is. Refused (done will not run): as store_append(). */
err_t transactions_put(struct transactions *t, struct message *m, append_done *done, void *ctx, struct appended *out) MUST_CHECK;

/* --- ops.c --- */
void ops_init(struct transactions *t);
/* To be written with others, but not later than transactionOpBatchInterval. */
void ops_add(struct transactions *t, const struct half *half);
/* Writes what was added now. */
void ops_flush(struct transactions *t);
/* Writes an end alone, and tells when it is stored. Refused: as store_append(). */
err_t ops_write(struct transactions *t, const struct half *half, append_done *done, void *ctx) MUST_CHECK;
/* The offsets that an op record names are told one by one; what is none is passed over. Returns the largest, -1 when there is none. */
int64_t ops_read(struct slice body, void (*each)(void *ctx, int64_t offset), void *ctx);

/* --- check.c --- */
void checks_init(struct transactions *t);
void checks_end(struct transactions *t);
/* There is something that has to be looked at in the next round. */
void checks_arm(struct transactions *t);
/* Less is under way: a round that waits for that goes on. */
void checks_resume(struct transactions *t);
/* The half message is sure, and not busy. */
void checks_ask(struct transactions *t, struct half *half);

#endif
