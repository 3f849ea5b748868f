/* record.h - one record of the commit log: a message as it lies on disk and travels to consumers.
 * Shape    total_size i32 | magic i32 | body_crc i32 | queue_id i32 | flag i32 | queue_offset i64 | log_offset i64 |
 *          sys_flag i32 | born_ms i64 | born ip 4 or 16, port i32 | store_ms i64 | store ip 4 or 16, port i32 |
 *          reconsume_times i32 | prepared_offset i64 | body length i32, body | topic length i8 (V2: i16), topic |
 *          properties length i16, properties.   The rest of a log file is skipped by a blank: i32 bytes left, i32 magic.
 * Facts    docs/protocol/store.md 2
 * Threads  any */
#ifndef SKYLARK_CODEC_RECORD_H
#define SKYLARK_CODEC_RECORD_H

#include "codec/message.h"

#define RECORD_MAGIC_V1    0xDAA320A7u
#define RECORD_MAGIC_V2    0xDAA320ABu   /* topic length in two bytes */
#define RECORD_MAGIC_BLANK 0xCBD43194u

enum {
    RECORD_BLANK_BYTES = 8,
    RECORD_HEAD_BYTES = 88,        /* up to the body, both hosts IPv4 */
    RECORD_SMALLEST = RECORD_HEAD_BYTES + 1 + 2,
    RECORD_TOPIC_MAX_V1 = 127,
    RECORD_PROPERTIES_MAX = 32767,
};

/* What the store adds to a message. */
struct record_place {
    int64_t log_offset;
    int64_t queue_offset;
    int64_t store_ms;
    const struct addr *store_host;
};

/* Encoded length of m when it is stored by that host. */
size_t record_size(const struct message *m, const struct addr *store_host);
/* Writes the record, its checksum included; `size` is record_size(). Lengths must be within the limits above. */
void record_encode(const struct message *m, const struct record_place *place, size_t size, uint8_t *out);
/* Writes the RECORD_BLANK_BYTES that end a file with `left` bytes to go. */
void record_encode_blank(int64_t left, uint8_t out[static RECORD_BLANK_BYTES]);

enum record_kind {
    RECORD_WHOLE,      /* lengths agree with each other; the checksum has not been looked at */
    RECORD_BLANK,      /* go on in the next file */
    RECORD_END,        /* zeros: nothing was written here */
    RECORD_DAMAGED,
};

/* Reads what begins at bytes.p; *out is filled for RECORD_WHOLE and borrows from bytes, which may be longer than the record. */
enum record_kind record_read(struct slice bytes, struct message *out);
/* The first place from bytes.p + from on where something states that it is a record and begins there, bytes.p being `at` of the log:
 * its index; bytes.n when there is none. Whether it is one is for record_read(). */
size_t record_search(struct slice bytes, size_t from, int64_t at);
/* The properties of a record known to be whole, found by its lengths alone; empty when these do not agree. */
struct slice record_properties(struct slice record);
/* Bytes of the record m was read from. */
size_t record_read_size(const struct message *m);
/* The body against its checksum. */
bool record_body_intact(const struct message *m);
/* The checksum covers the body alone. A sector that never reached the disk shows as zeros elsewhere: no topic holds a zero
 * byte, and no properties hold nothing but zeros in their whole share of a sector. False: part of the record was not written. */
bool record_looks_written(const struct message *m);
/* The optional property __CRC32#, last in the properties: 1 agrees, 0 does not, -1 there is none. */
int record_check_crc_property(struct slice record, const struct message *m);

/* CRC-32 as java.util.zip has it, without the sign bit. */
uint32_t record_crc(struct slice bytes);

/* Of a record known to be whole, from its first byte. */
static inline uint32_t record_total_size(const uint8_t *p) { return get_be32(p); }
static inline uint32_t record_magic(const uint8_t *p) { return get_be32(p + 4); }
static inline int64_t record_queue_offset(const uint8_t *p) { return (int64_t)get_be64(p + 20); }
static inline int64_t record_log_offset(const uint8_t *p) { return (int64_t)get_be64(p + 28); }
static inline int64_t record_store_ms(const uint8_t *p)
{
    return (int64_t)get_be64(p + (get_be32(p + 36) & SYS_FLAG_BORN_HOST_V6 ? 68 : 56));
}

/* The body of a batch: i32 total, i32 0, i32 0, i32 flag, i32 body length, body, i16 properties length, properties; repeated.
 * Takes the first message off *rest: its flag, body and properties. False when *rest is empty or broken; broken tells which. */
bool batch_next(struct slice *rest, struct message *out, bool *broken);

#endif
