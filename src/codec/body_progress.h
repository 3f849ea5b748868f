/* body_progress.h - how far groups are, as tools ask for it: by client (221, 223), by queue and time (303), of all groups (317), offsets to be
 * corrected (308), what a group subscribes to (345), who produces (328).
 * Facts    docs/protocol/remoting.md 4.2, 4.3
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_PROGRESS_H
#define SKYLARK_CODEC_BODY_PROGRESS_H

#include "codec/body_stats.h"
#include "codec/body_subscription.h"

struct client_offsets {
    struct slice client;
    BEAN_LIST(struct queue_offset_row) queues;
};
/* A client's reply to 221 has its own queues, ours to 223 those of each client. */
struct consumer_status {
    BEAN_LIST(struct client_offsets) clients;
    BEAN_LIST(struct queue_offset_row) queues;
};

/* Times are store times in ms, -1 where there is no message; the texts are the same times, in local time. */
struct queue_time_span {
    struct message_queue queue;
    int64_t min_ms, max_ms;
    int64_t consume_ms;             /* of the last message that was consumed */
    int64_t delay_ms;               /* how long the next one has been waiting; 0 when there is none */
    struct slice min_text, max_text, consume_text;
};
struct time_spans {
    BEAN_LIST(struct queue_time_span) queues;
};

struct group_progress {
    struct slice group;
    BEAN_LIST(struct consume_stats) topics;
};
struct broker_progress {
    struct slice broker_address;
    BEAN_LIST(struct group_progress) groups;
    int64_t lag;                    /* messages that all groups have still to consume */
    int64_t inflight;               /* pulled, and not committed */
};

struct corrections {
    BEAN_LIST(struct id_number) offsets;
};

struct group_subscription {
    struct slice group;
    struct slice topic;
    const struct subscription *subscription;   /* NULL: none */
};

struct producer_row {
    struct slice client_id;
    struct slice language;
    int64_t seen_ms;
    struct slice address;
    int32_t version;
};
struct producer_group {
    struct slice group;
    BEAN_LIST(struct producer_row) producers;
};
struct producer_table {
    BEAN_LIST(struct producer_group) groups;
};

extern const struct bean consumer_status_bean;
extern const struct bean time_spans_bean;
extern const struct bean broker_progress_bean;
extern const struct bean corrections_bean;
extern const struct bean group_subscription_bean;
extern const struct bean producer_table_bean;

#endif
