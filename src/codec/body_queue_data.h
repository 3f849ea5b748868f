/* body_queue_data.h - entries of a consume queue, for tools (321).
 * Facts    docs/protocol/remoting.md 4.2 (321)
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_QUEUE_DATA_H
#define SKYLARK_CODEC_BODY_QUEUE_DATA_H

#include "codec/body_subscription.h"

struct queue_data {
    bool eval;                          /* of a filter's bits, which are not kept here */
    int64_t log_offset;
    int32_t size;
    int64_t tag_hash;
};

struct queue_data_list {
    struct slice filter_data;
    int64_t max_offset, min_offset;
    BEAN_LIST(struct queue_data) entries;
    struct subscription *subscription;  /* of the group that was asked about, or NULL */
};

extern const struct bean queue_data_list_bean;

#endif
