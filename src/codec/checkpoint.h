/* checkpoint.h - the file `checkpoint`: up to where a store is surely on disk.
 * Shape    six i64, big-endian, at the start of 4096 bytes, then zeros; as the original has it.
 *          At 1024, where the original writes nothing: magic i64 | resume_offset i64 | crc i32 of these 16 bytes.
 * Facts    docs/protocol/store.md 5
 * Threads  any */
#ifndef SKYLARK_CODEC_CHECKPOINT_H
#define SKYLARK_CODEC_CHECKPOINT_H

#include "base/slice.h"

enum { CHECKPOINT_BYTES = 4096 };

struct checkpoint {
    int64_t log_ms;              /* store time of the last record surely in the log */
    int64_t queues_ms;           /* … whose queue entries are surely on disk too */
    int64_t index_ms;            /* … which is surely in the index too */
    int64_t master_flushed;
    int64_t confirmed;           /* log_offset up to which consumers may read */
    int64_t queues_offset;       /* log_offset behind the last record in the queues */
    int64_t resume_offset;       /* a record boundary: what begins before it is on disk, in log and queues. -1: not known */
};

void checkpoint_encode(const struct checkpoint *c, uint8_t out[static CHECKPOINT_BYTES]);
/* Bytes that are missing read as zero: an empty file is the checkpoint of an empty store. */
void checkpoint_decode(struct slice bytes, struct checkpoint *out);

#endif
