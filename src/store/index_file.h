/* index_file.h - which records carry a key: one file of a hash table whose entries are chained, newest first.
 * Shape    header 40 bytes | slots x i32: newest entry of the slot, 0 none | entries x 20 bytes, number 0 is never used
 *          header: begin_ms i64 | end_ms i64 | begin_offset i64 | end_offset i64 | used slots i32 | next entry i32
 *          entry:  key hash i32 | log_offset i64 | seconds since begin_ms i32 | entry before it in the slot i32; big-endian
 * Facts    docs/protocol/store.md 4
 * Threads  any, one at a time
 * Owns     the open file and its map
 * Errors   IO, DISK_FULL, CORRUPT (a size that cannot be) */
#ifndef SKYLARK_STORE_INDEX_FILE_H
#define SKYLARK_STORE_INDEX_FILE_H

#include "os/file.h"

enum { INDEX_HEADER_BYTES = 40, INDEX_SLOT_BYTES = 4, INDEX_ENTRY_BYTES = 20, INDEX_NAME_DIGITS = 17 };

struct index_shape {
    int32_t slots;               /* maxHashSlotNum */
    int32_t entries;             /* maxIndexNum */
};

struct index_key {
    uint32_t hash;               /* index_hash() */
    int64_t log_offset;
    int64_t store_ms;
};

struct index_file {
    struct fs *fs;
    struct file *file;
    char *path;
    const uint8_t *bytes;
    uint8_t *written;            /* a bit for each page of slots that was written while the file is open; others may be holes */
    struct index_shape shape;
    int64_t begin_ms, end_ms;
    int64_t begin_offset, end_offset;
    int32_t used_slots;
    int32_t next;                /* number of the next entry, from 1 */
    bool doubtful;               /* the header does not agree with the entries: index_file_repair() */
};

/* |Java hash| of "topic#key"; the smallest number, which has none, counts as 0. */
uint32_t index_hash(struct slice topic, struct slice key);
/* The same of "topic#T#tag". */
uint32_t index_tag_hash(struct slice topic, struct slice tag);
/* For several keys of one topic: the hash of "topic#", and that of what follows it. */
int32_t index_topic_hash(struct slice topic);
uint32_t index_hash_behind(int32_t topic_hash, struct slice key);

int64_t index_file_bytes(struct index_shape shape);
err_t index_file_open(struct fs *fs, const char *path, struct index_shape shape, struct index_file **out) MUST_CHECK;
/* For looking only: the file is not opened for writing. */
err_t index_file_view(struct fs *fs, const char *path, struct index_shape shape, struct index_file **out) MUST_CHECK;
/* Whether a file has the name of an index file: yyyyMMddHHmmssSSS. */
bool index_file_has_name(const char *name);
/* A new one; it goes on where the file before it (NULL: none) ended. */
err_t index_file_make(struct fs *fs, const char *path, struct index_shape shape, const struct index_file *before,
                      struct index_file **out) MUST_CHECK;
/* NULL is fine. */
void index_file_close(struct index_file *f);
err_t index_file_sync(struct index_file *f) MUST_CHECK;

/* How many keys it still takes. */
size_t index_file_room(const struct index_file *f);
/* Adds keys in the order of the log; n is at most the room. A kill in between loses nothing: adding the same keys again after it
 * gives the same file. */
err_t index_file_add(struct index_file *f, const struct index_key *keys, size_t n) MUST_CHECK;

/* Where the record of an entry lies. */
static inline int64_t index_file_offset(const struct index_file *f, int32_t number)
{
    return (int64_t)get_be64(f->bytes + INDEX_HEADER_BYTES + (int64_t)f->shape.slots * INDEX_SLOT_BYTES +
                             (int64_t)number * INDEX_ENTRY_BYTES + 4);
}

/* What an entry of a record with that store time says of its time: whole seconds since begin_ms, 0 as long as that is not known. */
int32_t index_file_seconds(const struct index_file *f, int64_t store_ms);
/* The times of the header are those that the entries count from and end with. */
bool index_file_times_fit(const struct index_file *f);
/* After a power cut, or when the header is in doubt: keeps the entries up to the first that cannot be, and makes the slots anew from them. */
err_t index_file_repair(struct index_file *f) MUST_CHECK;

/* Places of the newest records with that hash and a time in [begin_ms, end_ms], newest first, at most `max`; returns how many. */
size_t index_file_find(const struct index_file *f, uint32_t hash, int64_t begin_ms, int64_t end_ms, int64_t *out, size_t max);

#endif
