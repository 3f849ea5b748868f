/* body_batch_ack.h - many acknowledgements in one request (200151).
 * Facts    docs/protocol/pop.md 1. Read besides the short names: the long ones that older clients write
 * Owns     nothing: see bean.h
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_BATCH_ACK_H
#define SKYLARK_CODEC_BODY_BATCH_ACK_H

#include "codec/bean.h"

enum { BATCH_ACK_BITS_MAX = 4096 };   /* a pop hands out 32 messages; between filtered ones offsets may lie further apart */

struct batch_ack {
    struct slice bits;          /* base64, see batch_ack_bits_…(); p NULL: none */
    struct slice group;
    struct slice retry;         /* pop_kind as text */
    struct slice topic;         /* the normal one, also for retries */
    int64_t start_offset;
    int64_t pop_ms;
    int64_t invisible_ms;
    int32_t queue_id;
    int32_t revive_queue;
};

struct batch_ack_body {
    BEAN_LIST(struct batch_ack) acks;
    struct slice broker;
};

extern const struct bean batch_ack_bean;

/* Which offsets, counted from start_offset: bit i of byte i / 8, lowest first. */
struct ack_bits {
    uint8_t bytes[BATCH_ACK_BITS_MAX / 8];
};

/* False: no base64, or a bit beyond the maximum. p NULL and an empty text have no bit. */
bool batch_ack_bits_read(struct slice text, struct ack_bits *out);
/* Appends the text, without zero bytes at its end. */
void batch_ack_bits_write(const struct ack_bits *bits, struct buf *out);
static inline bool ack_bits_has(const struct ack_bits *bits, size_t i) { return bits->bytes[i / 8] >> (i % 8) & 1; }
static inline void ack_bits_add(struct ack_bits *bits, size_t i) { bits->bytes[i / 8] |= (uint8_t)(1 << (i % 8)); }

#endif
