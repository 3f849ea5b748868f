/* pop_info.h - the three texts of a pop's reply that tell which messages it holds, and the names of the topics they came from.
 * Shape    items joined by ';', each "KIND QUEUE VALUE":
 *            startOffsetInfo  "0 3 100"              the queue's first offset of this pop, which names its check point
 *            msgOffsetInfo    "0 3 100,101,105"      its messages
 *            orderCountInfo   "0 qo3%100 2"          how often a message was delivered before; "0 3 0" for old clients, a queue's least
 * Facts    docs/protocol/pop.md 1; vectors: tests/fixtures/vectors/handles.jsonl
 * Owns     nothing: what is read borrows
 * Threads  any */
#ifndef SKYLARK_CODEC_POP_INFO_H
#define SKYLARK_CODEC_POP_INFO_H

#include "base/buf.h"

/* Which of a group's topics a message lies in; its number on the wire. */
enum pop_kind {
    POP_NORMAL,          /* the topic itself */
    POP_RETRY_V1,        /* %RETRY%GROUP_TOPIC */
    POP_RETRY_V2,        /* %RETRY%GROUP+TOPIC */
    POP_KINDS,
};

/* By the topic's name alone. */
enum pop_kind pop_kind_of(struct slice topic);
bool pop_kind_parse(struct slice text, enum pop_kind *out);
/* Appends the name that the messages of `topic` have there. */
void pop_topic_name(enum pop_kind kind, struct slice group, struct slice topic, struct buf *out);
/* The topic whose messages a group has in "%RETRY%GROUP_TOPIC" or "…+TOPIC"; empty when it is none of that group's. */
struct slice pop_origin_topic(struct slice retry_topic, struct slice group);

/* Each appends one item, after a ';' when something is there already. */
void pop_info_put_start(struct buf *out, enum pop_kind kind, int32_t queue_id, int64_t offset);
void pop_info_put_offsets(struct buf *out, enum pop_kind kind, int32_t queue_id, const int64_t *offsets, size_t count);
void pop_info_put_count(struct buf *out, enum pop_kind kind, int32_t queue_id, int64_t offset, int32_t count);
void pop_info_put_least(struct buf *out, enum pop_kind kind, int32_t queue_id, int32_t count);

struct pop_info_item {
    enum pop_kind kind;
    int32_t queue_id;
    int64_t offset;          /* of "qo3%100"; -1: the item is about the queue */
    struct slice value;
};

/* Takes the next item off the front of *rest; false at the end, and when what comes is no item: *broken tells which. */
bool pop_info_next(struct slice *rest, struct pop_info_item *out, bool *broken);
/* Takes the next offset off the front of an item's value; likewise. */
bool pop_info_next_offset(struct slice *value, int64_t *out, bool *broken);

#endif
