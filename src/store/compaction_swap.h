/* compaction_swap.h - files of a compaction log give way to those that a round wrote aside, all or none.
 * Shape    compactionLog/TOPIC/ID/compacting/ and compactionCq/TOPIC/ID/compacting/ hold the new files. As soon as the first of them also
 *          holds `ready`, the new state counts: it names the new files, with a checksum of their entries, and the file before which all
 *          others go. From then on every step may be done twice: each new file is renamed to its place, the others are removed, and
 *          `ready` is the last to go.
 * Why      the new files have the names of the old ones, as the original has it; there is no moment with both or with neither
 * Threads  worker, or the start
 * Errors   IO; NOT_FOUND of compaction_swap_recover() never */
#ifndef SKYLARK_STORE_COMPACTION_SWAP_H
#define SKYLARK_STORE_COMPACTION_SWAP_H

#include "store/compaction_file.h"

#define COMPACTING "compacting"

struct compaction_swap {
    struct fs *fs;
    const char *log_folder, *entry_folder;
    int64_t until;               /* files before this one are replaced */
    int64_t until_first;         /* queue offset of its first entry: a `ready` that knows another one is of another time */
    struct buf pieces;           /* struct compaction_file: the new files */
};

/* Removes what a round that came to nothing wrote. */
err_t compaction_swap_discard(struct fs *fs, const char *log_folder, const char *entry_folder) MUST_CHECK;
/* The same, and makes the two folders. */
err_t compaction_swap_prepare(struct fs *fs, const char *log_folder, const char *entry_folder) MUST_CHECK;
/* The new files are on disk: they count from now on, and take their places. After an error it has to be called again before anything
 * else is done with these folders. */
err_t compaction_swap_run(const struct compaction_swap *s) MUST_CHECK;
/* After a start: finishes what was begun, removes what was not. What the original was killed at is finished too. */
err_t compaction_swap_recover(struct fs *fs, const char *log_folder, const char *entry_folder) MUST_CHECK;

#endif
