/* recall_handle.h - what the sender of a message that waits for a time is given, to take it back with.
 * Shape    base64 (with - and _, and padding) of "v1 TOPIC BROKER TIME_MS UNIQUE_KEY"
 * Facts    docs/protocol/remoting.md 4 (370)
 * Threads  any */
#ifndef SKYLARK_CODEC_RECALL_HANDLE_H
#define SKYLARK_CODEC_RECALL_HANDLE_H

#include "base/buf.h"

struct recall_handle {
    struct slice topic;
    struct slice broker;
    struct slice time_ms;        /* as it was written: a number, if it is one of ours */
    struct slice unique_key;
};

/* Appends the text. */
void recall_handle_encode(const struct recall_handle *h, struct buf *out);
/* False: it is none. The parts borrow from `plain` (empty, the caller's). */
bool recall_handle_decode(struct slice text, struct buf *plain, struct recall_handle *out);

#endif
