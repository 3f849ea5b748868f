/* store.h - what a broker keeps of messages: commit log and consume queues, in the original's formats.
 * Files     root/{commitlog,consumequeue,checkpoint,abort,lock}; facts: docs/protocol/store.md
 * Units     log_offset: bytes in the commit log; queue_offset: entries of one queue; times in ms
 * Threads   loop, but store_open and store_close, which block (start and stop of the process only)
 * Durable   store_append answers through its callback: ASYNC at the end of the turn, when the records are in the file;
 *           SYNC when a sync that began after the write has ended. One write and one sync serve all that came before.
 * Visible   readers see a message when it has been answered, not before.
 * Cold      what is not in memory is read by workers: store_is_cold() */
#ifndef SKYLARK_STORE_STORE_H
#define SKYLARK_STORE_STORE_H

#include "base/metrics.h"
#include "base/pin.h"
#include "codec/delay_levels.h"
#include "codec/message.h"
#include "os/file.h"
#include "os/tasks.h"

struct store;

/* What may go, and when. */
struct clean_options {
    int64_t interval_ms;            /* cleanResourceInterval, 10000: from one look at the disk to the next; 0: nothing is ever removed */
    int64_t reserved_ms;            /* fileReservedTime, 72 h: age at which a log file may go, since its last write */
    uint32_t hours;                 /* deleteWhen: a bit for each hour of the day in which old files go */
    int32_t used_percent;           /* diskMaxUsedSpaceRatio, 75: above it old files go at any hour */
    int32_t force_percent;          /* diskSpaceCleanForciblyRatio, 85: above it files go before they are old */
    int32_t full_percent;           /* diskSpaceWarningLevelRatio, 90: above it nothing more is written */
    bool may_force;                 /* cleanFileForciblyEnable */
    int32_t batch;                  /* deleteFileBatchMax, 10: log files of one round */
};

/* Topics of which the newest message of each key is kept: see store_set_compacted(). */
struct compaction_options {
    bool on;                        /* enableCompaction */
    int64_t log_file_bytes;         /* compactionMappedFileSize, 100 MiB; rounded as the original does */
    int64_t entry_file_bytes;       /* compactionCqMappedFileSize, 10 MiB */
    int64_t interval_ms;            /* compactionScheduleInternal, 900000: from there being something to compact to its round */
    int64_t map_bytes;              /* maxOffsetMapSize / compactionThreadNum: memory of one round */
};

struct store_options {
    const char *root;               /* storePathRootDir */
    const char *log_folder;         /* storePathCommitLog; NULL: root/commitlog */
    int64_t log_file_bytes;         /* mappedFileSizeCommitLog, 1 GiB */
    int64_t queue_file_entries;     /* mappedFileSizeConsumeQueue / 20, 300000 */
    int64_t batch_file_entries;     /* mapperFileSizeBatchConsumeQueue / 46, 300000; 0: as many as in the other queues */
    bool sync_flush;                /* flushDiskType */
    int64_t sync_timeout_ms;        /* syncFlushTimeout, 5000: then ERR_FLUSH_DISK_TIMEOUT */
    int64_t flush_interval_ms;      /* flushIntervalCommitLog, 500 (ASYNC) */
    int64_t queue_flush_interval_ms;/* flushIntervalConsumeQueue, 1000 */
    int32_t max_message_bytes;      /* maxMessageSize, 4 MiB: of one body */
    int64_t scrub_bytes_per_second; /* scrubBytesPerSecond: of what an earlier run left, looked through after the start; 0: never */
    int32_t recent_percent;         /* accessMessageInMemoryMaxRatio, 40: of the machine's memory, full of recent messages */
    struct addr store_host;         /* advertised address, goes into every record */
    bool index;                     /* messageIndexEnable: records can be found by key */
    int32_t index_slots;            /* maxHashSlotNum, 5000000 */
    int32_t index_entries;          /* maxIndexNum, 20000000: of one index file */
    bool lmq;                       /* enableLmq, enableMultiDispatch: messages may name light queues that hold them, too */
    int32_t lmq_max;                /* maxLmqConsumeQueueNum, with enableLmqQuota: light queues */
    struct delay_levels delay_levels; /* messageDelayLevel; without any, the default ones */
    struct clean_options clean;
    struct compaction_options compaction;
    /* Called on the loop, in order, whenever messages became visible: [first, end) of one queue. */
    void (*arrived)(void *ctx, struct slice topic, int32_t queue_id, int64_t first, int64_t end);
    void *arrived_ctx;
    /* Called now and then while the store is opened; positions of the log. NULL is fine. */
    void (*progress)(void *ctx, int64_t done, int64_t total);
    void *progress_ctx;
    int64_t (*mono_us)(void);       /* a clock, to tell how long syncs take; NULL: it is not told. Thread: any */
};

/* Takes the folder's lock, recovers what an earlier run left, and starts the housekeeping timers.
 * Errors: LOCKED, IO, DISK_FULL, CORRUPT, each with one clear line. */
err_t store_open(const struct store_options *options, struct fs *fs, struct tasks *tasks, struct store **out) MUST_CHECK;
/* From the next look on. The interval stays as it is. */
void store_set_clean_rules(struct store *s, const struct clean_options *rules);
/* Messages of a topic are kept for so long, not as long as the others (reserve.time): shorter, they are not shown any more within a
 * round of cleaning after it; longer, log files that hold them stay unless there is no room. < 0: as the others. */
void store_reserve(struct store *s, struct slice topic, int64_t reserved_ms);
/* Old files go now, whatever the hour. */
void store_clean_now(struct store *s);
/* Answers what is pending, flushes everything, writes the checkpoint, removes `abort`. Frees s in any case. */
err_t store_close(struct store *s) MUST_CHECK;

struct appended {
    int64_t log_offset;
    int64_t queue_offset;
    int64_t store_ms;
    int32_t size;
};

/* e NULL: stored, as durable as asked. ERR_FLUSH_DISK_TIMEOUT: stored, not known to be on disk. Others: not stored.
 * The receiver uses up e. */
typedef void append_done(void *ctx, err_t e);

/* Appends `count` messages of one topic and queue, contiguous and in one file; out has `count` elements and is filled at once. One of
 * them may be a batch that stays one record (SYS_FLAG_INNER_BATCH, inner_count): it takes as many offsets as it has messages, and gets
 * the property INNER_BASE. With options.lmq a single message that names light queues (further_queues) is found there, too; it gets the
 * property INNER_MULTI_QUEUE_OFFSET. In a call with several of them they may name none.
 * Has copied what m points to when it returns. wait_sync false answers at the end of the turn also in SYNC (property WAIT=false).
 * Refused (done will not run): MESSAGE_ILLEGAL (too long), NOT_AVAILABLE / DISK_FULL (writing is off; the text says why), LMQ_QUOTA (too many
 * light queues). */
err_t store_append(struct store *s, const struct message *m, size_t count, bool wait_sync, append_done *done, void *ctx,
                   struct appended *out) MUST_CHECK;

enum read_status {
    READ_FOUND,
    READ_NO_MATCH,              /* entries there, none matched; next_offset has moved on */
    READ_NO_QUEUE,
    READ_QUEUE_EMPTY,           /* the queue never had a message */
    READ_OFFSET_TOO_SMALL,
    READ_OFFSET_AT_END,         /* == max_offset: wait for the next */
    READ_OFFSET_PAST_END,
    READ_MESSAGE_GONE,          /* entry there, record deleted */
};

/* Both may be NULL: everything matches. `entry` is asked first, with the queue entry alone; then `record`, with the whole record.
 * With `record` a read that meets what is not in memory may end in front of it with READ_NO_MATCH, so that nothing is judged twice. */
struct read_filter {
    bool (*entry)(void *ctx, int64_t tag_hash);
    bool (*record)(void *ctx, struct slice record);
    void *ctx;
    const bool *enough;         /* true: look at nothing more in this read; NULL: go on. For filters that take time */
};

struct read_request {
    struct slice topic;
    int32_t queue_id;
    int64_t offset;
    int32_t max_messages;       /* the first match is returned whatever the limits say */
    int32_t max_bytes;
    int32_t max_scan;           /* queue entries looked at; in a queue of batches, offsets passed */
    const struct read_filter *filter;   /* NULL: all */
};

enum { READ_SLICES_MAX = 64 };

struct read_result {
    enum read_status status;
    int64_t next_offset;
    int64_t min_offset;
    int64_t max_offset;
    int32_t messages;
    size_t bytes;
    int64_t behind_bytes;       /* of the log, from the last record returned to its end */
    bool far_behind;            /* the last record returned is older than what recent_percent calls recent */
    size_t slices;              /* neighbours in the log are one slice */
    struct pinned slice[READ_SLICES_MAX];
};

/* Reads records whole: also a batch that begins before the offset asked for. The caller releases each slice[i < slices]
 * (read_result_release, or one by one). */
void store_read(struct store *s, const struct read_request *r, struct read_result *out);
void read_result_release(struct read_result *r);

/* What a queue of single messages says of one of them. */
struct store_entry {
    int64_t queue_offset;
    int64_t log_offset;
    int32_t size;
    int64_t tag_hash;           /* in the topic of delay levels: when the message is due */
};
/* Up to n entries from an offset on, without looking at their records; what is damaged or missing is passed. 0 at the end of the queue. */
size_t store_entries(struct store *s, struct slice topic, int32_t queue_id, int64_t from, size_t n, struct store_entry *out);

/* One record by its place. NOT_FOUND when no whole, valid record begins there; NOT_IN_MEMORY. */
err_t store_record_at(struct store *s, int64_t log_offset, struct pinned *out) MUST_CHECK;

/* --- what is not in memory --- */

/* Embedded in whoever asks. */
struct store_fetch {
    void (*done)(struct store_fetch *f);   /* Thread: loop. Time to ask again: it may be the turn of other bytes then */
    struct cold_job *job;                  /* the store's; NULL: nothing is under way */
    int64_t bytes;                         /* when it is done: read of the log, what is ahead included */
};
/* No function that reads waits for the disk. When one needed bytes that are not in memory this is true until the loop's turn ends, and
 * what the function said means nothing: store_fetch(), and ask again. */
bool store_is_cold(const struct store *s);
/* Lets a worker read what was needed, and what a reader is likely to need next. When the store is closed, done runs at once. */
void store_fetch(struct store *s, struct store_fetch *f);
/* What was needed is not, after all: store_is_cold() is false. */
void store_forget_cold(struct store *s);
/* After it f->done does not run. Harmless when nothing is under way. */
void store_fetch_cancel(struct store_fetch *f);

/* --- finding by key --- */

struct store_find {
    struct slice topic;
    struct slice key;               /* a unique key, or a word of KEYS; or the tags, with by_tags */
    bool by_tags;
    int64_t begin_ms, end_ms;       /* store times, both included */
    int32_t max;
};

enum { FIND_MAX = 64 };

struct store_found {
    size_t count;
    struct pinned record[FIND_MAX]; /* in the order of the log; topic and key are really those asked for */
    int64_t index_ms;               /* store time and place of the newest record in the index */
    int64_t index_offset;
};
/* The receiver releases the records. */
typedef void find_done(void *ctx, struct store_found *found);
/* Looks for messages of which the newest come first when there are more than `max`. Copies what f borrows; `done` runs later, with
 * nothing when there is no index. */
void store_find(struct store *s, const struct store_find *f, find_done *done, void *ctx);

/* --- what an earlier run left at the end of the log --- */

/* Embedded in whoever asks, who stays until `done`. */
struct store_tail {
    bool (*take)(struct store_tail *t, const struct message *m);   /* a whole record; false: that is enough. Thread: worker */
    void (*done)(struct store_tail *t, err_t e);                   /* takes e: IO. Also after the store was closed. Thread: loop */
};
/* A worker reads the records from a position of the log to where it ends now, in their order; what is damaged or gone is passed. */
void store_tail(struct store *s, int64_t from, struct store_tail *t);

/* Of visible messages. Unknown queue: 0. max is the offset the next message gets. */
int64_t store_min_offset(struct store *s, struct slice topic, int32_t queue_id);
int64_t store_max_offset(struct store *s, struct slice topic, int32_t queue_id);
/* Whether the message of that offset is still among the newest that the original would call "in memory" (false: unknown or old). */
bool store_is_recent(struct store *s, struct slice topic, int32_t queue_id, int64_t queue_offset);

enum time_boundary { BOUNDARY_LOWER, BOUNDARY_UPPER };
/* Facts: docs/protocol/store.md 3.1. In a queue of batches: the first offset of one; with nothing so late, of the last one. */
int64_t store_offset_by_time(struct store *s, struct slice topic, int32_t queue_id, int64_t store_ms, enum time_boundary b);
/* Store time of the entry, -1 when there is none. */
int64_t store_time_of(struct store *s, struct slice topic, int32_t queue_id, int64_t queue_offset);

int64_t store_log_min(struct store *s);
int64_t store_log_max(struct store *s);
int64_t store_log_flushed(struct store *s);

/* Removes all queues of a topic and their files. Records stay in the log. */
void store_delete_topic(struct store *s, struct slice topic);
/* Of this topic's messages the newest one of each key is kept, however old it is, in a compaction log of its own: what has left the
 * commit log, or has been there for a moment, is read from it; offsets stay, with gaps. Messages without KEYS are not kept.
 * `made`: the topic was made just now; what files of its name there are go. Otherwise they are opened, which blocks: at the start only.
 * Without options.compaction.on nothing happens. Errors: IO. */
err_t store_set_compacted(struct store *s, struct slice topic, bool compacted, bool made) MUST_CHECK;
/* Every topic that has queues here, once. */
void store_each_topic(struct store *s, void (*each)(void *ctx, struct slice topic), void *ctx);

/* False when writing is off (disk full, a sync failed); *why is then a sentence. */
bool store_is_writable(struct store *s, const char **why);

struct store_counts {
    uint64_t messages, bytes, writes, syncs, reads, read_messages;
    uint64_t damaged;            /* records, and queue entries that point to none, that were found damaged since the start */
    uint64_t scrub_left_bytes;   /* not yet looked through */
    uint64_t compactions;        /* rounds that came to their end */
    uint64_t compacted_messages; /* that they removed */
    uint64_t queue_topics;       /* topics that have queues, light ones among them */
    uint64_t light_queues;
    int64_t disk_used_bytes;     /* of the disk of the root; 0 and less: not known */
    int32_t disk_used_percent;   /* of the fuller disk; -1: not known yet */
};
struct store_counts store_counts(const struct store *s);
/* How long syncs of the log took, by the buckets of METRIC_SYNC_TIME. False: it was not measured. */
bool store_sync_times(const struct store *s, int64_t buckets[static METRIC_BUCKETS_MAX], int64_t *sum_us);

#endif
