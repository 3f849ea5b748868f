/* consumption.h - what is done with popped messages: acknowledged, made invisible for another time, put among the dead letters.
 * Facts    docs/protocol/pop.md 3.3, 3.4; docs/protocol/grpc.md 9
 * Threads  loop */
#ifndef SKYLARK_PROXY_CONSUMPTION_H
#define SKYLARK_PROXY_CONSUMPTION_H

#include "codec/receipt_handle.h"
#include "proxy/state.h"

enum { CONSUMPTION_MS = 2000 };

/* A popped message: of a topic, as the group asked for it, with the text of its handle. */
struct held_message {
    struct slice group;
    struct slice topic;
    struct slice text;
    struct receipt_handle handle;    /* what `text` says */
    struct slice lite_topic;
};

/* done as in rpc_request; NULL: the outcome is of no interest. */
void consumption_ack(struct broker_peer *b, const struct held_message *m, rpc_done *done, void *ctx);
/* suspend: this is no attempt of its own. */
void consumption_change(struct broker_peer *b, const struct held_message *m, int64_t invisible_ms, bool suspend, rpc_done *done, void *ctx);
/* Others get it soon; nothing is waited for. */
void consumption_give_back(struct proxy *p, const struct held_message *m, bool suspend);
/* What Skylark's brokers say of a handle that another one has replaced, or whose message is acknowledged. */
bool consumption_is_outdated(const struct frame *reply);
/* Acknowledged as well, when it is there. */
void consumption_bury(struct broker_peer *b, const struct held_message *m, struct slice message_id, rpc_done *done, void *ctx);
/* The handle after a change, from the broker's reply; appended. Errors: FIELD. */
err_t consumption_changed_handle(const struct held_message *m, const struct frame *reply, struct buf *out) MUST_CHECK;

#endif
