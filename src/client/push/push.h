/* push.h - a push consumer: which queues it has, what it fetched, who works on it. The room's own.
 * Shape    consumer > subscriptions by topic; consumer > queues, each with what it holds, one pull under way at most, and jobs of the callback
 * Facts    docs/protocol/semantics.md 4, 6, 6.1, 8, 9, 10; remoting.md A7 to A10
 * Threads  loop, unless said otherwise
 * Owns     a queue that was dropped stays until nobody is at work on it (work_ref) */
#ifndef SKYLARK_CLIENT_PUSH_H
#define SKYLARK_CLIENT_PUSH_H

#include "client/push/held.h"
#include "client/state.h"
#include "codec/body_subscription.h"

#include <stdatomic.h>

struct sky_push_consumer_options {
    char *group;                 /* NULL: none was given */
    bool broadcast, ordered;
    enum sky_start start;
    int64_t start_ms;
    int32_t threads, batch, pull_batch;
    int32_t queue_messages, queue_mib, queue_span;
    int32_t topic_messages, topic_mib;   /* 0: no such limit */
    int32_t max_reconsume_times;         /* -1: the default */
    int64_t consume_timeout_ms;
    enum sky_allocation allocation;
    sky_allocate_fn *allocate;
    void *allocate_user;
};

/* One topic of the consumer. */
struct topic_sub {
    struct list_node node;
    struct sky_push_consumer *consumer;
    char *topic;
    bool is_retry;               /* the group's own topic for what failed */
    struct arena arena;
    struct subscription data;
    size_t queues;               /* that this member has of it */
    bool asking;                 /* for the members of the group */
    bool again;                  /* something changed meanwhile */
};

struct pulling;

/* A queue that this member has. */
struct work_queue {
    struct list_node node;
    struct sky_push_consumer *consumer;
    struct topic_sub *sub;       /* NULL when it was dropped */
    char *topic, *broker;
    int32_t id;
    struct held_list held;
    struct pulling *pulling;     /* NULL: no pull is under way */
    struct timer again;          /* of the next pull */
    int64_t next_offset;         /* to be pulled; -1: not known yet */
    int64_t commit_offset;       /* up to which all is done; -1: not known */
    int64_t read_from;           /* id of the broker that is best asked */
    int64_t pulled_ms;           /* mono_ms of the last pull */
    unsigned refs;
    bool dropped;
    bool wanted;                 /* while queues are shared anew */
    /* ordered */
    bool locked;
    int64_t locked_ms;           /* mono_ms */
    bool running;                /* a job is at work on it */
    struct timer resume;
};

struct sky_push_consumer {
    struct member member;
    struct sky_push_consumer_options options;
    sky_consume_fn *consume;
    void *user;
    struct pool *threads;
    atomic_bool stopping;        /* jobs that did not begin are left to others */
    struct lock numbers;         /* around the counts of statistics */
    int64_t consumed, failed, pulled, waiting_messages, waiting_bytes, queue_count;
    struct list subs;
    struct list gone_subs;       /* unsubscribed; kept for requests under way */
    struct list queues;
    struct list again;           /* messages that are tried again here, later */
    struct timer rebalance, persist, relock, expire;
    size_t busy;                 /* jobs and requests that must end before it is over */
    bool suspended;
    bool finished;               /* said how far it is, and gave all queues back */
};

static inline struct sky_client *client_of(const struct sky_push_consumer *p) { return p->member.client; }
static inline struct tasks *tasks_of(const struct sky_push_consumer *p) { return p->member.client->tasks; }

/* --- push.c --- */
struct work_queue *work_ref(struct work_queue *q);
void work_unref(struct work_queue *q);
struct topic_sub *push_sub(struct sky_push_consumer *p, struct slice topic);
/* One more job or request that the consumer's end waits for, and its end. */
void push_busy(struct sky_push_consumer *p);
void push_settle(struct sky_push_consumer *p);
int32_t push_max_reconsume_times(const struct sky_push_consumer *p);
/* What a queue holds changed by so much: for statistics. */
void push_count(struct sky_push_consumer *p, const struct work_queue *q, int64_t messages_before, int64_t bytes_before);

/* --- rebalance.c --- */
/* Shares the queues of all topics anew. */
void rebalance_all(struct sky_push_consumer *p);
void rebalance_topic(struct topic_sub *s);
void rebalance_later(struct sky_push_consumer *p, int64_t delay_ms);
/* The queue is somebody else's now: its offset is told, what it holds is forgotten. */
void queue_drop(struct work_queue *q);
struct work_queue *queue_find(struct sky_push_consumer *p, struct slice topic, struct slice broker, int32_t id);

/* --- offsets.c --- */
/* Finds where the queue begins, and then pulls; gives the queue back when that cannot be found. */
void offset_begin(struct work_queue *q);
/* Tells the server how far the queue is; no answer is waited for. */
void offset_tell(const struct work_queue *q);
/* Never goes back, unless `force`. */
void offset_note(struct work_queue *q, int64_t offset, bool force);

/* --- pull.c --- */
void pull_now(struct work_queue *q);
void pull_later(struct work_queue *q, int64_t delay_ms);
/* The answer to a pull that is under way is nobody's. */
void pull_forget(struct work_queue *q);

/* --- consume.c, order.c --- */
/* Messages that just came, in order. */
void consume_begin(struct work_queue *q, struct held **items, size_t count);
/* Messages that wait to be tried again here are left to others. */
void consume_give_up(struct sky_push_consumer *p);
/* Looks for a callback that takes too long. */
void consume_expire(struct sky_push_consumer *p);
void order_kick(struct work_queue *q);
/* Asks for the locks of all queues of the consumer again. */
void order_relock(struct sky_push_consumer *p);
/* Asks for the lock of one queue that is new; it begins when it has it, and is given back when not. */
void order_lock(struct work_queue *q);
void order_unlock(const struct work_queue *q);

/* One call of the callback. */
struct job {
    struct work work;
    struct work_queue *queue;
    struct held **items;
    size_t count;
    void (*ended)(struct job *j);          /* Thread: loop */
    enum sky_consumed result;
    bool skipped;                          /* the consumer ended before it began */
    size_t succeeded;                      /* as the context says */
    int32_t delay_level;
    int64_t suspend_ms;
};
/* Runs the callback with the messages (references are taken), then `ended`, which must call job_free. */
void job_run(struct work_queue *q, struct held **items, size_t count, void (*ended)(struct job *j));
void job_free(struct job *j);

/* --- back.c --- */
/* Gives a message back to be tried again; it is done when the server has it. Otherwise `failed` is called. */
void send_back(struct work_queue *q, struct held *h, int32_t delay_level, void (*failed)(struct work_queue *q, struct held *h));

#endif
