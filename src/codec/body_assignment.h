/* body_assignment.h - which queues a consumer shall read (400), and whether its group pulls or pops (401, 402, messageRequestMode.json).
 * Facts    docs/protocol/remoting.md, requests 400 to 402
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_ASSIGNMENT_H
#define SKYLARK_CODEC_BODY_ASSIGNMENT_H

#include "codec/body_queue.h"

enum request_mode_kind { MODE_PULL, MODE_POP };

/* Body of QUERY_ASSIGNMENT. */
struct assignment_query {
    struct slice client_id;
    struct slice group;
    int32_t model;                  /* enum message_model */
    struct slice strategy;
    struct slice topic;
};

struct assignment {
    struct message_queue queue;     /* queue_id -1: all queues of its broker */
    int32_t mode;                   /* enum request_mode_kind */
};

/* Reply of QUERY_ASSIGNMENT. No assignment at all, {}, means "go on with what you have"; an empty list takes everything away. */
struct assignment_list {
    BEAN_LIST(struct assignment) assignments;
};

/* Body of SET_MESSAGE_REQUEST_MODE. */
struct request_mode {
    struct slice group;
    int32_t mode;                   /* enum request_mode_kind */
    int32_t share;                  /* popShareQueueNum: of how many other members a member pops the queues too; <= 0 of all */
    struct slice topic;
};

struct topic_modes {
    struct slice topic;
    BEAN_LIST(struct request_mode) groups;
};

/* Reply of GET_ALL_MESSAGE_REQUEST_MODE, and the file. */
struct request_mode_table {
    BEAN_LIST(struct topic_modes) topics;
};

extern const struct bean assignment_query_bean;
extern const struct bean assignment_list_bean;
extern const struct bean request_mode_bean;
extern const struct bean request_mode_table_bean;

#endif
