/* queues.h - all consume queues of a store, by topic and number.
 * Threads  loop
 * Owns     the queues, and the names of their topics */
#ifndef SKYLARK_STORE_QUEUES_H
#define SKYLARK_STORE_QUEUES_H

#include "base/map.h"
#include "store/consume_queue.h"

enum { TOPIC_BYTES_MAX = 255 };

enum { QUEUES_RECENT = 16 };

struct queues {
    struct queue_files files;
    struct map by_key;           /* topic, then queue_id in 4 bytes */
    struct map topics;           /* struct queue_topic */
    size_t light;                /* light message queues (LMQ) among the topics */
    struct consume_queue *recent[QUEUES_RECENT];    /* asked for lately, by their number: messages come in runs */
    struct queue_topic graveyard; /* queues of deleted topics: what is under way may still point to them */
};

void queues_init(struct queues *qs, struct fs *fs, const char *root, const int64_t file_entries[static QUEUE_KINDS]);
void queues_done(struct queues *qs);

/* A topic's name is the name of a folder: no '/', no zero byte, not "." or ".."; 1 to 255 bytes. */
bool queue_topic_is_legal(struct slice topic);
/* NULL when there is none. */
struct consume_queue *queues_find(struct queues *qs, struct slice topic, int32_t queue_id);
/* Makes it when there is none; the topic must be legal. All queues of a topic are of one kind: that of the first one. */
struct consume_queue *queues_get(struct queues *qs, struct slice topic, int32_t queue_id, enum queue_kind kind);
/* Adds every queue that has a folder, with nothing loaded. Of a topic that has folders of both kinds the batches stay: the others were
 * made out of a log that does not tell, or are those of an earlier topic of that name. */
err_t queues_discover(struct queues *qs) MUST_CHECK;
/* Calls each queue once; stops at the first error. */
err_t queues_each(struct queues *qs, err_t (*each)(void *ctx, struct consume_queue *q), void *ctx) MUST_CHECK;

void queues_each_of(struct queues *qs, struct slice topic, void (*each)(struct consume_queue *q));

/* Takes a topic's queues out of the table. They live on, marked deleted, until queues_bury(). */
void queues_delete(struct queues *qs, struct slice topic);
/* Nothing points to deleted queues any more. */
void queues_bury(struct queues *qs);

#endif
