/* body_stats.h - offsets by queue: of topics (202), of groups (208), of resets (220, 221, 222). Keys are whole objects.
 * Facts    docs/protocol/remoting.md 4.2, A14, A15; vectors: json_dialect
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_STATS_H
#define SKYLARK_CODEC_BODY_STATS_H

#include "codec/body_queue.h"

struct topic_offsets {
    struct message_queue queue;
    int64_t min_offset;
    int64_t max_offset;
    int64_t last_update_ms;
};
struct topic_stats {
    double put_tps;
    BEAN_LIST(struct topic_offsets) queues;
};

struct consume_offsets {
    struct message_queue queue;
    int64_t broker_offset;
    int64_t consumer_offset;
    int64_t pull_offset;
    int64_t last_ms;
};
struct consume_stats {
    double tps;
    BEAN_LIST(struct consume_offsets) queues;
};

/* Reply of 222, body of 220. */
struct queue_offset_row {
    struct message_queue queue;
    int64_t offset;
};
struct offset_table {
    BEAN_LIST(struct queue_offset_row) queues;
};

/* Reply of VIEW_BROKER_STATS_DATA. */
struct broker_stats_row {
    double average;                 /* value of one call */
    int64_t sum;
    double tps;
};
struct broker_stats {
    struct broker_stats_row day, hour, minute;
};

extern const struct bean broker_stats_bean;
extern const struct bean topic_stats_bean;
extern const struct bean consume_stats_bean;
extern const struct bean offset_table_bean;
/* The same struct as a list of flat objects: for clients that are not Java (220). */
extern const struct bean offset_list_bean;

#endif
