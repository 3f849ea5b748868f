/* body_lists.h - bodies that are no more than a list or a map of texts.
 * Facts    docs/protocol/remoting.md 4.1, 4.2, 4.3 (219)
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_LISTS_H
#define SKYLARK_CODEC_BODY_LISTS_H

#include "codec/bean.h"

/* 206, 224, 304, 305, 311 - 313, 343. */
struct topic_list {
    struct slice broker_address;            /* p NULL: none */
    BEAN_LIST(struct slice) topics;
};

/* 300. */
struct group_list {
    BEAN_LIST(struct slice) groups;
};

/* 28, 219, and the reply of 103. */
struct kv_table {
    BEAN_LIST(struct pair) pairs;
};

extern const struct bean topic_list_bean;
extern const struct bean group_list_bean;
extern const struct bean kv_table_bean;

#endif
