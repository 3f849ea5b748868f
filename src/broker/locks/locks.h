/* locks.h - which client of a group may consume a queue in order: one owner per group and queue, until it lets go or is silent
 * for LOCK_LIVES_MS.
 * Facts    docs/protocol/remoting.md A10, semantics.md 8
 * Threads  loop
 * Files    <root>/config/queueLocks.json from a clean stop to the next start, so that nobody consumes a queue while its owner, who goes on, has not
 *          asked again yet. The original does not know the file; after a kill clients lock anew, as there
 * Owns     copies of all names */
#ifndef SKYLARK_BROKER_LOCKS_H
#define SKYLARK_BROKER_LOCKS_H

#include "base/map.h"
#include "codec/body_queue.h"
#include "os/file.h"
#include "os/tasks.h"

struct locks {
    struct tasks *tasks;
    struct map queues;      /* group, topic, broker, queue id -> struct queue_lock */
};

enum { LOCK_LIVES_MS = 60000 };

void locks_init(struct locks *l, struct tasks *tasks);
void locks_done(struct locks *l);
/* True when the client holds the lock now, whether it held it before or took it. */
bool locks_take(struct locks *l, struct slice group, const struct message_queue *q, struct slice client_id);
/* Who holds it, and since how many ms it has said nothing; NULL: nobody does. Valid within the turn. */
const char *locks_holder(const struct locks *l, struct slice group, const struct message_queue *q, int64_t *silent_ms);
/* Whether somebody in the group holds a lock: it consumes in order. Looks at all locks of all groups. */
bool locks_any(const struct locks *l, struct slice group);
/* Only its owner can let go. */
void locks_release(struct locks *l, struct slice group, const struct message_queue *q, struct slice client_id);
/* Forgets locks that have expired, so that queues of consumers long gone cost nothing. */
void locks_expire(struct locks *l);

/* Both block: at the start and the end. */
err_t locks_save(const struct locks *l, struct fs *fs, const char *path) MUST_CHECK;
/* Takes back what has not expired meanwhile, and takes the file away. What cannot be read is told, and left out. */
void locks_load(struct locks *l, struct fs *fs, const char *path);

#endif
