/* state.h - what a broker is made of; its features share it. The room's own.
 * Threads  loop */
#ifndef SKYLARK_BROKER_STATE_H
#define SKYLARK_BROKER_STATE_H

#include "auth/auth.h"
#include "base/config.h"
#include "base/metrics.h"
#include "broker/broker.h"
#include "broker/disk/cold_control.h"
#include "broker/disk/disk.h"
#include "broker/filters/filters.h"
#include "broker/hold/hold.h"
#include "broker/intake/quota.h"
#include "broker/intake/refusals.h"
#include "broker/locks/locks.h"
#include "broker/members/guests.h"
#include "broker/members/members.h"
#include "broker/stats/stats.h"
#include "meta/delay_offsets.h"
#include "meta/groups.h"
#include "meta/offsets.h"
#include "meta/request_modes.h"
#include "meta/timer_metrics.h"
#include "meta/topics.h"
#include "os/random.h"
#include "os/saver.h"
#include "rpc/rpc.h"
#include "rpc/watch.h"
#include "store/store.h"
#include "timer/timer.h"

struct collector;
struct levels;
struct lite;
struct topic_queues;
struct pop;
struct registration;
struct transactions;
struct timed;

/* Tags of the broker's listeners. */
enum { PORT_MAIN, PORT_FAST };

struct broker {
    struct broker_options options;
    const struct config *cfg;           /* options.config, for reading */
    struct tasks *tasks;
    struct store *store;
    int64_t log_max_at_start;           /* where the log ended when it was opened */
    struct topics *topics;
    struct groups *groups;
    struct offsets *offsets;
    struct auth *auth;
    struct filters *filters;
    struct members members;
    struct guests guests;               /* consumers of proxies */
    struct hold hold;
    struct list disk_waits;             /* struct disk_wait: requests that wait for the disk */
    struct cold_control cold;
    int64_t fetched_bytes;              /* the disk was read for the request that goes on now; else 0 */
    bool may_read_cold;                 /* … which has waited once, and is not held back */
    struct metrics metrics;
    struct collector *collector;        /* of the metrics that are being gathered, or NULL */
    struct rpc_watch watch;
    struct stats stats;
    int32_t day;                        /* of the year, local time, when the statistics were sampled last; -1: not yet */
    int64_t start_ms;                   /* wall_ms */
    struct delay_levels delay_levels;   /* messageDelayLevel */
    struct delay_offsets *delay_offsets;
    struct levels *levels;              /* delivers what waits on them */
    struct timed *timed;                /* … and what waits for a time; NULL: timerWheelEnable=false */
    struct timers *timers;              /* its wheel, or NULL */
    struct timer_check timer_check;     /* how far it is */
    struct timer_metrics *timer_metrics;
    struct request_modes *request_modes;
    struct topic_queues *topic_queues;  /* of all brokers, for those that ask what to read */
    struct pop *pop;
    struct lite *lite;
    struct locks locks;
    bool keeps_locks;                   /* the data is ours: they are written down at the end */
    struct quotas quotas;
    struct refusals refusals;
    int64_t filter_ignored_ms;          /* mono_ms of the last line about an expression that filters nothing; 0: none yet */
    struct registration *registration;
    struct transactions *transactions;
    struct saver config_saver;          /* path NULL: changes by request last until the end of the process */
    struct rpc_listener *main_port;
    struct rpc_listener *fast_port;     /* NULL: the port below the main one is not wanted */
    struct rpc_listener *local;         /* of other loops of the process */
    struct random random;
    struct timer scan;                  /* of members and locks that have gone silent */
    struct buf scratch;                 /* for one handler, within one turn */
    struct addr advertised;
    struct slice region;                /* these three go into every message */
    struct slice cluster;
    struct slice trace_on;
    uint16_t unique_counter;            /* of the unique keys made for clients that sent none */
    bool stopping;
    struct {
        struct timer again;
        int64_t until_ms;
        bool idle;                      /* everything is answered: until_ms is for good-byes */
        void (*done)(void *ctx);
        void *ctx;
    } drain;                            /* at a stop: who waits for its end */
};

/* An error with the wording of the original's frequently-asked-questions pointer behind it. */
#define SEE_FAQ "\nSee https://rocketmq.apache.org/docs/bestPractice/06FAQ for further details."

/* --- broker.c --- */
/* A request, as if it had just come in. */
void broker_dispatch(void *broker, struct call *call);
/* Whether the half message, or the one that this is a copy of, is neither committed nor rolled back. */
bool broker_has_open_half(const struct broker *b, const struct message *half);
/* Whatever waited for a time and was due before ms of the wall clock is stored where it belongs. */
bool broker_has_delivered(const struct broker *b, int64_t ms);
/* Sets the gauges of messages that are out, and of those who wait for some. */
void broker_show_pops(struct broker *b);
/* Messages of the queue that the group has out by pops. */
size_t broker_pop_in_flight(const struct broker *b, struct slice topic, struct slice group, int32_t queue_id);
/* Messages of a queue of the revive topic that are not passed yet; -1: there is no such queue. */
int64_t broker_revive_lag(const struct broker *b, int32_t queue_id);
/* The first of them, in the topic's queue of that number, which there is. */
int64_t broker_revive_first(const struct broker *b, int32_t queue_id, struct slice *out_topic);
/* Sets the metrics that other parts count, or that are counted by looking (manage/runtime.c). */
void broker_look(struct broker *b);
/* What an administrator did: messages that are popped and not acknowledged follow. */
void broker_topic_deleted(struct broker *b, struct slice topic);
void broker_group_deleted(struct broker *b, struct slice group);
void broker_offset_reset(struct broker *b, struct slice topic, struct slice group, int32_t queue_id, int64_t queue_offset);
/* Acknowledgements and changed times of lite topics: lite_ack(), lite_change(). */
struct ack_header;
struct change_invisible_header;
struct change_invisible_reply_header;
struct receipt_handle;
err_t broker_lite_ack(struct broker *b, const struct ack_header *h, const struct receipt_handle *handle) MUST_CHECK;
err_t broker_lite_change(struct broker *b, const struct change_invisible_header *h, const struct receipt_handle *handle,
                         struct change_invisible_reply_header *out) MUST_CHECK;
/* Which queues of a topic are to be read, on all brokers, sorted by broker and number: tells now or later. known false: nobody knows. */
struct message_queue;
typedef void broker_queues_done(void *ctx, bool known, const struct message_queue *queues, size_t count);
void broker_topic_queues(struct broker *b, struct slice topic, broker_queues_done *done, void *ctx);
/* When old files go, as configured. */
struct clean_options broker_clean_rules(const struct config *cfg);

#endif
