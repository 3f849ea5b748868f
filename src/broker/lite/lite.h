/* lite.h - lite topics: clients subscribe to some of the lite topics below a topic of message.type=LITE, and pop by their own name
 * whatever came to any of them. Each lite topic is a light message queue, delivered in order: one batch of it is out in a group at a time.
 * Facts    docs/protocol/lite.md
 * Shape    who has something for whom is known, not searched for: a message puts its lite topic into the list of each client that
 *          subscribes to it (of a wildcard group: into the group's), and wakes one that waits
 * Files    none of its own: offsets are those of meta/offsets; what is out, and who subscribes, is known in memory alone, as in the original
 * Threads  loop */
#ifndef SKYLARK_BROKER_LITE_H
#define SKYLARK_BROKER_LITE_H

#include "broker/state.h"
#include "codec/header.h"

struct lite;
struct receipt_handle;

struct lite *lite_new(struct broker *b);
/* Before the store is closed: nobody waits any more. NULL is fine. */
void lite_stop(struct lite *l);
/* After it. */
void lite_free(struct lite *l);

/* Messages came to a light queue. */
void lite_arrived(struct lite *l, struct slice queue);
/* The clients of the connection cannot be told anything by it any more. */
void lite_conn_closed(struct lite *l, const struct rpc_conn *conn);
/* A topic was deleted: so are its lite topics. */
void lite_topic_gone(struct lite *l, struct slice topic);
/* What a group has out is forgotten. */
void lite_group_gone(struct lite *l, struct slice group);
/* The group goes on elsewhere in a lite topic. */
void lite_offset_reset(struct lite *l, struct slice queue, struct slice group);

/* Acknowledges a message of a lite topic: the error says why it cannot be. */
err_t lite_ack(struct lite *l, const struct ack_header *h, const struct receipt_handle *handle) MUST_CHECK;
/* Another time for one, or (h->suspend) for all of its pop. *out is what is answered. */
err_t lite_change(struct lite *l, const struct change_invisible_header *h, const struct receipt_handle *handle,
                  struct change_invisible_reply_header *out) MUST_CHECK;

#endif
