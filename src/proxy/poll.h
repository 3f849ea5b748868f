/* poll.h - one receive of a gRPC client: messages of all queues of all brokers of a topic, or none after the time it waits.
 * Facts    docs/protocol/pop.md 9 (pop with notify), docs/protocol/grpc.md 8
 * Shape    first a pop that does not wait, at one broker after the other; then the brokers are asked to say when there is something,
 *          and who says so is popped. At a broker waits one question for all polls of the same topic, group and filter (struct watch):
 *          its answer is one poll's, the others wait for the next
 * Threads  loop
 * Owns     a poll lies in its request's arena, and frees the request when nothing of it is under way */
#ifndef SKYLARK_PROXY_POLL_H
#define SKYLARK_PROXY_POLL_H

#include "proxy/consumption.h"
#include "proxy/expression.h"

struct poll_question {
    struct slice topic, group;
    struct expression filter;
    struct slice attempt_id;         /* p NULL: none */
    struct slice broker;             /* where to begin; p NULL: anywhere */
    int32_t batch;
    int64_t invisible_ms;
    int64_t wait_ms;
    bool fifo;
    bool auto_renew;
    bool lite;                       /* of the client's lite topics */
    bool in_vain;                    /* nothing can come: it waits, and is told that there was nothing */
    int32_t attempts_max;            /* a message that was delivered so often is a dead letter */
};

/* Takes the request, whose route is there. */
void poll_begin(struct request *r, const struct poll_question *q);
/* The same for lite topics (lite_receive.c): their broker knows what there is for the client, and is asked alone. */
void lite_poll_begin(struct request *r, const struct poll_question *q);

/* --- what a pop brought, deliver.c --- */

struct pop_reply_header;

struct delivery {
    struct request *request;
    const struct poll_question *question;
    struct v2_message **messages;
    struct held_message *handles;    /* of each */
    int32_t *reconsume_times;
    size_t count;
};

/* The messages of a reply, which borrow from it. Those that do not match are acknowledged, those delivered too often buried.
 * Errors: BODY, FIELD. */
err_t delivery_read(struct request *r, const struct poll_question *q, struct broker_peer *from, const struct frame *reply, struct delivery *out) MUST_CHECK;
/* Writes them to the client and ends the call; the request is still to be freed. */
void delivery_send(const struct delivery *d);
/* The client has gone: others get them. */
void delivery_give_back(const struct delivery *d);

#endif
