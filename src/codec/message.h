/* message.h - one message, as it is stored and as it is read back.
 * Facts    shared by codec/record (bytes of the commit log) and everybody who makes or looks at messages
 * Owns     nothing: the slices borrow */
#ifndef SKYLARK_CODEC_MESSAGE_H
#define SKYLARK_CODEC_MESSAGE_H

#include "base/addr.h"

/* Bits of sys_flag. Facts: docs/protocol/store.md 2. */
enum {
    SYS_FLAG_COMPRESSED = 0x1,
    SYS_FLAG_MULTI_TAGS = 0x2,
    SYS_FLAG_TRANSACTION_MASK = 0xC,
    SYS_FLAG_TRANSACTION_NONE = 0x0,
    SYS_FLAG_TRANSACTION_PREPARED = 0x4,
    SYS_FLAG_TRANSACTION_COMMIT = 0x8,
    SYS_FLAG_TRANSACTION_ROLLBACK = 0xC,
    SYS_FLAG_BORN_HOST_V6 = 0x10,
    SYS_FLAG_STORE_HOST_V6 = 0x20,
    SYS_FLAG_NEED_UNWRAP = 0x40,
    SYS_FLAG_INNER_BATCH = 0x80,
};

struct message {
    struct slice topic;
    int32_t queue_id;
    int32_t flag;                 /* the user's */
    int32_t sys_flag;             /* host bits are set by the encoder */
    int64_t born_ms;
    struct addr born_host;
    int32_t reconsume_times;
    int64_t prepared_offset;      /* log_offset of the half message, else 0 */
    struct slice body;            /* as stored, perhaps compressed */
    struct slice properties;      /* name 0x01 value 0x02 … */
    int64_t tag_hash;             /* of the TAGS property, for the queue entry; not part of the record */
    int32_t delay_level;          /* > 0: its queue entry tells when it is due, and not of its tags; not part of the record */
    bool batch_topic;             /* its topic keeps batches (queue.type=BatchCQ); not part of the record */
    int32_t inner_count;          /* messages in it, with SYS_FLAG_INNER_BATCH; not part of the record but for INNER_NUM in `properties` */
    bool keys_known;              /* the four below are those of `properties`; else the store looks for them. Not part of the record */
    struct slice unique_key;      /* UNIQ_KEY */
    struct slice key_words;       /* KEYS */
    struct slice tags;            /* TAGS */
    struct slice further_queues;  /* INNER_MULTI_DISPATCH; known with those above */
    /* Given by the store: */
    int64_t queue_offset;
    int64_t log_offset;
    int64_t store_ms;
    struct addr store_host;
    uint32_t body_crc;
    uint32_t record_bytes;        /* of the record it was read from */
};

#endif
