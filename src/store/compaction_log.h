/* compaction_log.h - what a queue keeps of its messages for as long as no newer one has their key: files of one size, in order.
 * Shape    root/compaction/compactionLog/TOPIC/ID/<position> beside root/compaction/compactionCq/TOPIC/ID/<the same>; messages are
 *          added to the last one; what a round of compaction has been through begins at position 0 again, so positions have gaps
 * Facts    docs/protocol/compaction.md
 * Units    queue_offset: of the queue the messages come from
 * Threads  loop. Workers get copies of struct compaction_file, and write only behind what they say
 * Owns     its maps. compaction_log_open() blocks
 * Errors   IO. Damaged files are none: entries are made again from the records, what cannot be used is set aside in `damaged/` */
#ifndef SKYLARK_STORE_COMPACTION_LOG_H
#define SKYLARK_STORE_COMPACTION_LOG_H

#include "store/compaction_file.h"
#include "store/damage.h"

struct compaction_log {
    struct fs *fs;
    char *topic;
    int32_t queue_id;
    char *log_folder, *entry_folder;
    struct compaction_sizes sizes;   /* of its files: those it was made with */
    struct buf files;                /* struct compaction_file, in order of their positions and of their queue offsets */
    int64_t next;                    /* queue offset of the next message to be added; all before it are on disk here, or need not be */
    int64_t position;                /* up to here (included) only the newest message of each key is left; -1: no round yet */
    struct damage damage;            /* positions */
    struct damage lost_entries;      /* positions of files whose entries the disk does not give */
    bool attached;                   /* has been compared with its queue */
    bool waits;                      /* more messages are added later: others may come along, or the last try failed */
    bool complained;                 /* … which was told */
};

/* Opens what is there, and makes it whole: a round that was cut off is finished or undone, entries and records agree.
 * `folder` is root/compaction; the topic a legal one. */
err_t compaction_log_open(struct fs *fs, const char *folder, struct slice topic, int32_t queue_id, struct compaction_sizes sizes,
                          int64_t position, struct compaction_log **out) MUST_CHECK;
/* NULL is fine. */
void compaction_log_free(struct compaction_log *l);
/* The queue ends there: what states a later offset is left from another queue of that name, or from messages that the commit log lost. */
err_t compaction_log_cut(struct compaction_log *l, int64_t queue_offset) MUST_CHECK;

static inline size_t compaction_log_count(const struct compaction_log *l) { return l->files.n / sizeof(struct compaction_file); }
static inline struct compaction_file *compaction_log_file(const struct compaction_log *l, size_t i)
{
    return (struct compaction_file *)(void *)l->files.p + i;
}
/* The first offset there is; -1: none. */
int64_t compaction_log_first(const struct compaction_log *l);
/* Replaces the files [from, from + count) by others. The maps of those that go, if they are not among the new ones, are added to
 * `unused` (struct mapped_file *). */
void compaction_log_replace(struct compaction_log *l, size_t from, size_t count, const struct compaction_file *by, size_t n,
                            struct buf *unused);
/* There is a file, other than the last, with messages that no round has been through. */
bool compaction_log_is_ripe(const struct compaction_log *l);

/* The first file with an entry of that queue offset or a later one; compaction_log_count() when there is none. */
size_t compaction_log_file_of(const struct compaction_log *l, int64_t queue_offset);

#endif
