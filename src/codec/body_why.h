/* body_why.h - why something is as it is: one sentence, and the facts behind it (90011 to 90013, requests of our own).
 * Facts    docs/protocol/why.md
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_WHY_H
#define SKYLARK_CODEC_BODY_WHY_H

#include "codec/bean.h"

/* One copy of a message, where it lies. */
struct why_copy {
    struct slice place;         /* in words */
    struct slice topic;
    int32_t queue_id;
    int64_t queue_offset;
    int64_t log_offset;
    int64_t store_ms;
    int64_t due_ms;             /* wall_ms; 0: it waits for no time */
    int32_t reconsume_times;
};

struct why {
    struct slice sentence;
    BEAN_LIST(struct pair) facts;
    BEAN_LIST(struct why_copy) copies;
};

extern const struct bean why_copy_bean;
extern const struct bean why_bean;

#endif
