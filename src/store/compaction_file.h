/* compaction_file.h - one file of a queue's compaction log, and the file of entries of the same name that belongs to it.
 * Shape    log: records as in the commit log, each stating its position here; a blank, or zeros, behind the last one
 *          entries: position i64 | size i32 | tag_hash i64 | store_ms i64 | queue_offset i64 | messages i16, 1 | i32 -1 | i32 0,
 *          46 bytes; behind the last one of a full file an end mark (position -1, size 0), then zeros
 * Facts    docs/protocol/compaction.md
 * Units    positions are bytes of the compaction log; queue offsets grow from entry to entry, with gaps
 * Threads  any for what has been published */
#ifndef SKYLARK_STORE_COMPACTION_FILE_H
#define SKYLARK_STORE_COMPACTION_FILE_H

#include "codec/message.h"
#include "store/mapped_file.h"

enum { COMPACTION_ENTRY_BYTES = 46 };

/* No queue gets there: what states more is damaged. */
#define COMPACTION_OFFSET_MAX (INT64_MAX / 64)

struct compaction_entry {
    int64_t position;
    int32_t size;
    int64_t tag_hash;
    int64_t store_ms;
    int64_t queue_offset;
};

void compaction_entry_put(uint8_t *p, const struct compaction_entry *e);
void compaction_entry_put_end(uint8_t *p);
/* False for an end mark, for zeros, and for what cannot be. */
bool compaction_entry_get(const uint8_t *p, struct compaction_entry *out);

/* Bytes of the files; of all queues alike. */
struct compaction_sizes {
    int64_t log_bytes;
    int64_t entry_bytes;
};

struct compaction_file {
    struct mapped_file *log;
    struct mapped_file *entries;
    int64_t start;               /* position of its first byte, and its name */
    int64_t count;               /* entries */
    int64_t used;                /* bytes of records; all of them once the file has been ended */
    int64_t first, last;         /* queue offsets of the first and the last entry, when there are any */
};

/* Entry i of those there are. */
struct compaction_entry compaction_file_entry(const struct compaction_file *f, int64_t i);
/* The first entry of that queue offset or a later one; f->count when there is none. */
int64_t compaction_file_search(const struct compaction_file *f, int64_t queue_offset);
/* The record an entry points to; false when no whole record of that queue offset is there that agrees with its checksum. */
bool compaction_file_record(const struct compaction_file *f, const struct compaction_entry *e, struct slice *out, struct message *m);

/* From record to record through a log file, from *at on, which is where the next one is looked for, whatever the entries say. Bytes that are
 * no good record are passed, and counted in *damaged. False at the end. */
bool compaction_file_walk(const struct mapped_file *log, int64_t *at, struct slice *record, struct message *m, uint64_t *damaged);

/* What says which messages are the same: KEYS, as it stands. Empty: the message has no key, or a blank one. */
struct slice compaction_key(const struct message *m);

#endif
