/* compaction_round.h - one round of compaction of one queue: of the messages in all files but the last, the newest of each key stay.
 * Shape    map: the files that no round has been through tell the newest offset of each key
 *          copy: what stays of all files is written aside
 *          swap: the new files take the places of the old ones, and how far the round came is written down
 * Facts    docs/protocol/compaction.md
 * Threads  begin, end: loop; run: worker, one slice at a time. Files that the round reads are pinned and change no more
 * Errors   IO, DISK_FULL: the round comes to nothing and everything stays as it was, until it has got to `swap`, which is to be tried
 *          again */
#ifndef SKYLARK_STORE_COMPACTION_ROUND_H
#define SKYLARK_STORE_COMPACTION_ROUND_H

#include "store/compaction_log.h"
#include "store/compaction_swap.h"
#include "store/compaction_writer.h"
#include "store/offset_map.h"

enum compaction_phase { COMPACTION_MAP, COMPACTION_COPY, COMPACTION_SWAP, COMPACTION_DONE };

struct compaction_round {
    struct compaction_log *log;      /* the worker uses its folders and sizes only */
    enum compaction_phase phase;
    struct buf files;                /* struct compaction_file: what it reads */
    size_t file;                     /* which one it is at … */
    int64_t entry;                   /* … and where in it */
    int64_t before;                  /* queue offset of the message before it */
    int64_t old_position;
    int64_t last;                    /* newest offset in the map; messages behind it stay as they are */
    struct offset_map map;
    struct compaction_writer writer;
    char log_aside[PATH_BYTES], entries_aside[PATH_BYTES];
    struct compaction_swap swap;
    uint64_t read, kept, damaged;    /* messages; damaged: entries that point to none */
    int64_t begun_ms;
    bool changes;                    /* the files are replaced; false: nothing in them was old */
};

/* The log must be ripe. memory_bytes: of the map. */
void compaction_round_begin(struct compaction_round *r, struct compaction_log *l, int64_t memory_bytes, int64_t now_ms);
/* Goes on for SLICE_BYTES of the log at most. */
err_t compaction_round_run(struct compaction_round *r) MUST_CHECK;
/* After COMPACTION_DONE the log has the new files. Otherwise the round is given up. Maps that are no longer needed are added to `unused`
 * (struct mapped_file *). */
void compaction_round_end(struct compaction_round *r, struct buf *unused);

#endif
