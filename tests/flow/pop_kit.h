/* pop_kit.h - pops, acknowledgements and notifications of a flow's client, for the scenarios and the model.
 * Threads  owner */
#ifndef SKYLARK_TESTS_FLOW_POP_KIT_H
#define SKYLARK_TESTS_FLOW_POP_KIT_H

#include "codec/body_batch_ack.h"
#include "codec/receipt_handle.h"
#include "flow/flow.h"

enum { POPPED_MAX = 32 };

/* One message of a pop's answer, and what it is acknowledged with. */
struct popped_message {
    struct message m;                /* borrows from the flow's arena */
    struct receipt_handle handle;
    char topic[256];                 /* the real one */
    int32_t count;                   /* of orderCountInfo; 0 when it tells nothing */
};

struct popped {
    int32_t code;                    /* -1: there was no answer */
    char remark[256];
    struct pop_reply_header reply;   /* texts lie in the flow's arena */
    size_t count;
    struct popped_message messages[POPPED_MAX];
};

/* Of group G, topic T, all queues, 32 messages for 60 s, without waiting. */
struct pop_header pop_fields(struct flow *f);
struct popped pop_with(struct flow *f, const struct pop_header *h);
struct popped pop_once(struct flow *f);
/* Begins one; popped_by() takes its answer. */
int32_t pop_begin_by(struct flow *f, struct caller *c, const struct pop_header *h);
struct popped popped_by(struct flow *f, struct caller *c, const struct pop_header *h, int32_t opaque, int64_t limit_ms);

int32_t pop_ack(struct flow *f, const char *group, const struct popped_message *m);
int32_t pop_ack_remark(struct flow *f, const char *group, const struct popped_message *m, char *remark);
/* All of them in one request. */
int32_t pop_ack_batch(struct flow *f, const char *group, const struct popped_message *messages, size_t count);
/* The message's handle is the new one afterwards, if that worked. */
int32_t pop_change(struct flow *f, const char *group, struct popped_message *m, int64_t invisible_ms);

struct noted {
    int32_t code;
    bool has_msg, full;
};
struct notification_header note_fields(struct flow *f);
struct noted note_with(struct flow *f, const struct notification_header *h);
struct noted noted_by(struct caller *c, int32_t opaque, int64_t limit_ms);

#endif
