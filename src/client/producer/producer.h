/* producer.h - a producer and its sends under way. The room's own.
 * Shape    a send is prepared on its user's thread (checked, copied, compressed), carried out on the loop (route, tries), and ends on a
 *          callback thread or where somebody waits for it
 * Facts    docs/protocol/semantics.md 2, remoting.md A5
 * Threads  said at each
 * Owns     a struct sending from sending_prepare() to sending_free(); the loop has it in between */
#ifndef SKYLARK_CLIENT_PRODUCER_H
#define SKYLARK_CLIENT_PRODUCER_H

#include "client/message.h"
#include "client/producer/faults.h"
#include "client/state.h"

struct sky_producer_options {
    char *group;                 /* NULL: none was given */
    int64_t send_timeout_ms;
    int64_t try_timeout_ms;      /* 0: what is left of the whole */
    int32_t retries;
    bool retry_when_not_stored;
    int64_t compress_from_bytes; /* 0: never */
    enum sky_compression compression;
    int32_t compression_level;
    int64_t max_message_bytes;
    int64_t max_pending_messages;
    int64_t max_pending_bytes;
    bool avoid_slow;
    int32_t new_topic_queues;
};

struct sky_send_options {
    int64_t timeout_ms;          /* 0: the producer's */
    char *broker;                /* with queue_id; NULL: any */
    int32_t queue_id;
    sky_selector *selector;
    void *selector_user;
    char *order_key;
};

struct sky_producer {
    struct member member;
    struct sky_producer_options options;
    struct monitor pending;      /* around the numbers below; changes when one ends */
    int64_t pending_messages, pending_bytes;
    int64_t sent, failed, retried;
    /* Thread: loop */
    struct faults faults;
    size_t under_way;            /* their callbacks have not ended */
    size_t preloading;
};

struct sending {
    struct mail mail;
    struct work work;            /* of its callback */
    struct route_wait route_wait;
    struct timer timeout;        /* while it waits for a route */
    struct sky_producer *producer;
    struct topic_state *topic;   /* loop */
    char *topic_name;
    struct buf body;             /* as it travels */
    struct buf properties;
    int32_t flag;
    int32_t sys_flag;
    size_t batch;                /* messages of a batch; 0: none */
    size_t id_at;                /* room for its UNIQ_KEY in `properties` */
    size_t *id_places;           /* likewise of each message of a batch, in `body` */
    bool oneway;
    int64_t bytes;               /* that count as under way */
    struct buf ids;              /* UNIQ_KEY, of a batch joined by commas */

    struct sky_send_options how; /* texts are its own */
    struct sky_message *shown;   /* to the selector; NULL without one */
    int64_t timeout_ms;
    int64_t deadline_ms;         /* mono_ms */
    int64_t begun_ms;            /* this try */
    int32_t tries;
    char *broker;                /* of this try, and the last one before it; NULL: none yet */
    int32_t queue_id;

    struct event *waited_for;    /* somebody waits: he frees it. NULL: the callback, if any, and then it is freed here */
    sky_sent_fn *sent;
    void *user;
    struct sky_error *error;
    struct sky_receipt *receipt;
};

/* Begins on the loop: the letter of a send. */
void sending_begin(struct mail *mail);
void sending_free(struct sending *s);

/* --- receipt.c --- */

/* Reads the answer to a send. Errors: PROTOCOL; what the server refused. */
struct sky_error *receipt_read(const struct sending *s, const struct frame *f, struct sky_receipt **out) SKY_MUST_CHECK;

/* --- options.c --- */
void send_options_copy(const struct sky_send_options *from, struct sky_send_options *to);
void send_options_done(struct sky_send_options *o);

#endif
