/* compaction_writer.h - appends records to a compaction log, in the folder it lives in or aside.
 * Order    records are on disk before an entry points to them, and a file's name before it counts: after a power cut the entries there
 *          are can be trusted
 * Threads  worker, one at a time; what it made is published by the loop, once the flush behind it has succeeded
 * Owns     the maps of the files it began, until they are taken
 * Errors   IO, DISK_FULL, NOT_FOUND (the topic was deleted meanwhile). After one the writer is only good for compaction_writer_done():
 *          whoever begins again where the published files end writes over what is left */
#ifndef SKYLARK_STORE_COMPACTION_WRITER_H
#define SKYLARK_STORE_COMPACTION_WRITER_H

#include "store/compaction_file.h"

struct compaction_writer {
    struct fs *fs;
    const char *log_folder, *entry_folder;
    struct compaction_sizes sizes;
    struct compaction_file now;   /* the one being written; counts what is not yet written too */
    bool begun;                   /* `now` is one */
    bool fresh;                   /* `now` was made here: its maps are ours */
    struct file *log, *entries;
    struct buf records;           /* of `now`, behind records_at */
    int64_t records_at;
    struct buf units;             /* entries of `now`, behind units_at */
    int64_t units_at;
    struct buf full;              /* struct compaction_file: those that were ended */
    bool first_is_old;            /* the first of them, or `now`, is the file that it went on with */
    bool new_names;
};

/* Goes on behind `last`, which is borrowed; NULL: begins a file at position 0. Folders and texts must stay. */
void compaction_writer_begin(struct compaction_writer *w, struct fs *fs, const char *log_folder, const char *entry_folder,
                             struct compaction_sizes sizes, const struct compaction_file *last);
/* Copies the record, with its position here. */
err_t compaction_writer_put(struct compaction_writer *w, struct slice record, const struct message *m) MUST_CHECK;
/* Ends the file, as if it were full. */
err_t compaction_writer_end(struct compaction_writer *w) MUST_CHECK;
/* All that was put is on disk when it returns. */
err_t compaction_writer_flush(struct compaction_writer *w) MUST_CHECK;
/* Closes the files, and gives up the maps that were not taken: to `unused` (struct mapped_file *). */
void compaction_writer_done(struct compaction_writer *w, struct buf *unused);

#endif
