/* local.h - how far a broadcasting consumer is, in a file of this machine.
 * Shape    FOLDER/CLIENT_ID/GROUP/offsets.json, {"offsetTable":{{"brokerName":"b","queueId":0,"topic":"T"}:5}}, as the original's
 * Facts    docs/protocol/semantics.md 9
 * Threads  loop; files are read and written by workers
 * Owns     its table; queues that the consumer does not have now stay in it */
#ifndef SKYLARK_CLIENT_LOCAL_H
#define SKYLARK_CLIENT_LOCAL_H

#include "base/map.h"
#include "codec/body_stats.h"
#include "os/saver.h"

struct local_offsets {
    struct fs *fs;
    char *folder, *path;         /* NULL path: not in use */
    struct map rows;             /* struct local_row */
    struct saver saver;
    struct work load;
    err_t failed;                /* of the load */
    void (*loaded)(struct local_offsets *l);
    bool is_loaded;
};

/* Reads the file, and then calls `loaded`, also when it cannot be read: that is logged, and the consumer begins as a new one. */
void local_open(struct local_offsets *l, struct fs *fs, struct tasks *tasks, const char *folder, const char *client_id, const char *group,
                void (*loaded)(struct local_offsets *l));
/* -1: there is none. */
int64_t local_get(const struct local_offsets *l, const struct message_queue *q);
/* Written soon when it is another one. */
void local_put(struct local_offsets *l, const struct message_queue *q, int64_t offset);
/* All is on disk, or is tried for: may wait for the disk. */
void local_close(struct local_offsets *l);

#endif
