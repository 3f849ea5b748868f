/* deleted_topics.h - which topics were deleted, and where the log ended then: the log itself does not say it, and to whoever makes queues
 * anew after a crash its older records look like messages of a topic that was made again since.
 * Shape    a line for each topic: the position of the log, a blank, the topic
 * Files    root/topics-deleted; the original does not know it, and leaves it alone
 * Threads  loop; the writing itself on a worker */
#ifndef SKYLARK_STORE_DELETED_TOPICS_H
#define SKYLARK_STORE_DELETED_TOPICS_H

#include "base/map.h"
#include "os/saver.h"

#define DELETED_TOPICS "topics-deleted"

struct deleted_topics {
    struct map ends;             /* int64_t: records of that topic below it are nobody's */
    struct saver saver;
    size_t look_at;              /* so many are too many: those that nobody needs any more are looked for */
};

void deleted_topics_init(struct deleted_topics *d, const char *root, struct fs *fs, struct tasks *tasks);
/* Writes what is not written, blocking. */
void deleted_topics_done(struct deleted_topics *d);
/* What an earlier run left. A file that cannot be understood counts as none, and is reported. Blocks. */
err_t deleted_topics_load(struct deleted_topics *d) MUST_CHECK;
/* The log has [first, end) now. What lies before it is forgotten; and no record that is still to come is one of a topic's that was
 * deleted, although the log lost its end: on disk when this returns. Blocks. */
err_t deleted_topics_fit(struct deleted_topics *d, int64_t first, int64_t end) MUST_CHECK;
/* The log has [first, end); what lies before on_disk, and is in queues, is on disk there. */
void deleted_topics_add(struct deleted_topics *d, struct slice topic, int64_t first, int64_t on_disk, int64_t end);
/* The record at that position belonged to a topic that was deleted after it. */
bool deleted_topics_have(const struct deleted_topics *d, struct slice topic, int64_t log_offset);

#endif
