/* pop_state.h - the parts of pop, seen by its files only.
 * Threads  loop */
#ifndef SKYLARK_BROKER_POP_STATE_H
#define SKYLARK_BROKER_POP_STATE_H

#include "broker/pop/leases.h"
#include "broker/order/order.h"
#include "broker/pop/pop.h"
#include "broker/pop/pop_filter.h"
#include "codec/pop_info.h"

#define REVIVE_GROUP SLICE("CID_RMQ_SYS_REVIVE_GROUP")

struct wait_point;
struct point_watch {
    struct watch watch;
    struct wait_point *point;
    enum pop_kind kind;
};

/* Pops and notifications of one group, topic and queue (-1: any) that wait. */
struct wait_point {
    struct pop *pop;
    struct slice topic, group;       /* behind it */
    int32_t queue_id;
    struct point_watch watches[POP_KINDS]; /* the topic, and the group's retry topics of it */
    struct list pops;                /* struct poll in_point, who gives up first comes first */
    struct list notifications;
    size_t pop_count;
    size_t notification_count;
};

/* A queue of the revive topic. What it says is done up to `committed` is what the original would commit. */
struct revive_queue {
    struct pop *pop;
    int32_t queue_id;
    int64_t next;                    /* offset to be read next */
    int64_t committed;
    struct list marks;               /* struct revive_mark, by offset: what is not over yet */
    struct disk_wait disk;
    struct timer more;
    bool reading;                    /* more is to be read, later or by a worker */
};

/* A check point of the revive topic that is not over. */
struct revive_mark {
    struct list_node node;
    struct revive_queue *queue;
    int64_t offset;
};

struct pop {
    struct broker *broker;
    struct slice own_broker;         /* its name */
    char *revive_topic;
    struct leases leases;
    struct timer due;
    bool stopped;
    bool ready;                      /* what an earlier run left is known */
    bool complete;                   /* … all of it */
    uint32_t next_revive_queue;

    /* Waiting (wait.c). */
    struct map points;               /* topic, 0, group, 0, queue id -> struct wait_point */
    size_t pops_waiting;
    size_t notifications_waiting;
    bool waking;
    struct buf woken;                /* points to be woken next */
    struct timer tidy;

    /* Requests that came before it was ready. */
    struct list late;
    /* … and what an administrator did by then. */
    struct list early;
    /* Pops between two slices of a scan. */
    struct list scanning;

    /* The revive topic (revive_log.c). */
    struct revive_queue *revive_queues;
    int32_t revive_queue_count;
    struct map foreign;              /* merge key -> struct foreign: check points there that the table does not know */
    struct list foreign_order;       /* the same, as they came */
    struct timer foreign_timer;

    /* Putting back (revive.c). */
    struct list revivals;
    size_t reviving;                 /* of these, those that go on */

    /* Start and snapshot (rebuild.c). */
    struct rebuild *rebuild;         /* while the log is read */
    struct retry_set *came;          /* retries that an earlier run put, perhaps without telling; NULL: none */
    size_t recent;                   /* check points that could ask for them */
    struct saver saver;
    struct buf snapshot;             /* to be written once the log is on disk so far */
    int64_t snapshot_log;            /* -1: none */
    int64_t stop_log;                /* where the log ended when it was stopped */
    int64_t written_log;             /* place of the log that the file tells of; -1: there is none */
    bool changed;                    /* since then, in a way that the log alone does not tell */
    struct timer save;

    struct map views;                /* group, 0, topic -> what was asked for last (views.c) */

    struct order order;
    struct timer unlock;
};

/* A request for messages, or for news of them: from its arrival to its answer. */
struct poll {
    struct waiter waiter;
    struct list_node in_point;
    struct list_node in_scanning;
    struct wait_point *point;        /* while it waits */
    struct disk_wait disk;
    struct saver_waiter saved;       /* of an ordered pop */
    struct timer more;
    struct pop *pop;
    struct call *call;
    struct pop_header *header;       /* a notification's fields, too */
    struct pop_filter filter;
    bool notification;
    bool last_look;                  /* its time is over */
    int64_t expired_ms;              /* wall_ms: bornTime + pollTime */

    /* Of a pop. */
    int64_t pop_ms;
    int32_t revive_queue;
    struct buf body;
    size_t messages;
    int64_t rest;
    uint32_t storing;                /* check points that are being stored */
    int scans;                       /* in this turn */
    bool unfinished;                 /* … and there is more to be looked at */
    bool cold;                       /* … and it is not in memory */
    err_t failed;                    /* the first check point that could not be stored */
    struct buf start_info, offset_info, count_info;
    struct buf seen;                 /* of a notification: struct seen_queue, where nothing was for it so far (scan.c) */
};

/* --- pop.c --- */
/* Until it is ready; takes the call. */
void pop_later(struct pop *p, struct call *call);
/* The timer of what is due next is set anew. */
void pop_arm(struct pop *p);
/* Of a check point that may be over. */
void pop_settle(struct pop *p, struct check_point *point);
/* Makes a record and stores it; done as store_append(). Refused (done will not run): as store_append(). */
err_t pop_store(struct pop *p, const struct pop_record *r, int32_t revive_queue, int64_t deliver_ms, append_done *done, void *ctx,
                struct appended *out) MUST_CHECK;
/* An acknowledgement of some of a check point's messages that nobody waits for. */
void pop_store_ack(struct pop *p, const struct check_point *point, uint32_t bits);
/* Where the group goes on in a queue; -1: nowhere yet. */
int64_t pop_next_offset(const struct pop *p, struct slice topic, struct slice group, int32_t queue_id);
/* The queue of the table, made if need be, with its `next` up to date; NULL: there can be none of that name. */
struct lease_queue *pop_queue(struct pop *p, struct slice topic, struct slice group, int32_t queue_id);

/* When the next ordered queue is unlocked; < 0: nothing new. */
void pop_arm_unlock(struct pop *p, int64_t at_ms);
/* What an earlier run left is known. */
void pop_is_ready(struct pop *p);

/* --- poll.c --- */
/* Looks again. */
void poll_run(struct poll *poll, enum wake_reason reason);
/* Its last check point is stored. */
void poll_stored(struct poll *poll);

/* --- scan.c --- */
enum scan_result { SCAN_DONE, SCAN_COLD, SCAN_MORE };
/* Takes what there is of all that the pop asks for; or (a notification) finds out whether there is anything: poll->messages. */
enum scan_result poll_scan(struct poll *poll);

/* --- views.c --- */
/* A pop asks for something; that others of its group ask for something else is told once a minute. */
void views_note(struct pop *p, const struct pop_header *h, const struct call *call);
void views_done(struct pop *p);

/* --- wait.c --- */
enum park_result { PARKED, PARK_FULL, PARK_TOO_LATE };
/* Waits until it is woken. */
enum park_result wait_park(struct poll *poll);
/* It waits no more. */
void wait_leave(struct poll *poll);
/* There is something in a queue (-1: any) for a group: one pop gets up, and all notifications. */
void wait_wake(struct pop *p, struct slice topic, struct slice group, int32_t queue_id);
/* The same when topic is a retry topic of the group's. */
void wait_wake_real(struct pop *p, struct slice topic, struct slice group, int32_t queue_id);
size_t wait_count(const struct pop *p, struct slice topic, struct slice group, int32_t queue_id);
void wait_tidy(void *pop);
void wait_done(struct pop *p);

/* --- revive.c --- */
/* Puts back what is due. */
void revive_due(struct pop *p);
/* A check point that is due, not in the heap, begins. */
void revive_begin(struct pop *p, struct check_point *point);
void revive_end(struct pop *p);
/* After the store is closed. */
void revive_free(struct pop *p);

/* --- revive_log.c --- */
void revive_log_init(struct pop *p);
void revive_log_begin(struct pop *p);
void revive_log_end(struct pop *p);
void revive_log_free(struct pop *p);
/* Messages that the group has not passed. */
int64_t revive_log_lag(const struct pop *p);
/* Of one of its queues; -1: there is no such queue. */
int64_t revive_log_lag_of(const struct pop *p, int32_t queue_id);
/* The check point is over: the queue that it lies in may go on. Frees the mark. */
void revive_log_release(struct revive_mark *mark);
/* Messages came to the queue. */
void revive_log_arrived(struct pop *p, int32_t queue_id);

/* --- poll.c --- */
/* Whether there are such a topic, queue and group, and may be read: as the original answers it, with its words. */
err_t pop_check_names(struct broker *b, const struct call *call, struct slice topic, int32_t queue_id, struct slice group) MUST_CHECK;

/* --- rebuild.c --- */
err_t rebuild_begin(struct pop *p) MUST_CHECK;
void rebuild_end(struct pop *p);
err_t rebuild_free(struct pop *p, bool clean) MUST_CHECK;
/* The snapshot is to be written soon. */
void rebuild_changed(struct pop *p);
/* Something is going on: now and then there will be a snapshot. */
void rebuild_arm(struct pop *p);
/* Whether the retry m is in its topic already; each counts once. */
bool rebuild_came(struct pop *p, const struct message *m);
/* A check point that could ask so is over. */
void rebuild_forget_recent(struct pop *p);

#endif
