/* receipt_handle.h - what a consumer acknowledges a popped message with.
 * Shape    "CHECK_POINT_OFFSET POP_TIME INVISIBLE_MS REVIVE_QUEUE KIND BROKER QUEUE OFFSET" and perhaps " LOG_OFFSET": decimal numbers,
 *          single spaces. The first eight are the extraInfo of the remoting requests; more behind the ninth is skipped
 * Facts    docs/protocol/grpc.md 11; vectors: tests/fixtures/vectors/handles.jsonl
 * Owns     nothing: the broker's name borrows
 * Threads  any */
#ifndef SKYLARK_CODEC_RECEIPT_HANDLE_H
#define SKYLARK_CODEC_RECEIPT_HANDLE_H

#include "codec/pop_info.h"

enum { ORDERED_REVIVE_QUEUE = 999 };   /* in place of a revive queue: an ordered pop, which has no check point */

struct receipt_handle {
    int64_t start_offset;        /* of the pop in this queue: names the check point */
    int64_t pop_ms;
    int64_t invisible_ms;
    int32_t revive_queue;
    enum pop_kind kind;
    struct slice broker;
    int32_t queue_id;
    int64_t offset;              /* of the message in its queue */
    int64_t log_offset;          /* -1: not told */
};

/* False: it is none, or its times overflow. */
bool receipt_handle_parse(struct slice text, struct receipt_handle *out);
/* Appends the eight fields. */
void receipt_handle_write_short(const struct receipt_handle *h, struct buf *out);
/* Appends all nine. */
void receipt_handle_write(const struct receipt_handle *h, struct buf *out);
static inline int64_t receipt_handle_ends_ms(const struct receipt_handle *h) { return h->pop_ms + h->invisible_ms; }

#endif
