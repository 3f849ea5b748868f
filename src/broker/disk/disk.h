/* disk.h - requests that wait until a worker has read what they need (store_is_cold). The loop goes on; only they wait.
 * Threads  loop
 * Owns     a request that waits: its call and a copy of its frame */
#ifndef SKYLARK_BROKER_DISK_H
#define SKYLARK_BROKER_DISK_H

#include "base/list.h"
#include "store/store.h"

struct broker;
struct call;
struct topic;

/* One who waits; embedded in its owner. */
struct disk_wait {
    struct list_node node;
    struct store_fetch fetch;
    struct broker *broker;
    void (*go_on)(struct disk_wait *w, bool stopping);   /* stopping: there will be no answer from the store */
};

/* What was just read is not in memory: w->go_on runs when it is, or when the broker stops; b->fetched_bytes tells meanwhile what the disk was
 * read for it. */
void disk_wait(struct broker *b, struct disk_wait *w);
/* All who wait go on, at the end of the broker. */
void disk_end(struct broker *b);

/* For a handler, before it answers. True: what the store told it means nothing, the call is no longer the handler's, and begins anew
 * when the bytes are there. What the handler did so far it will do again. */
bool disk_again(struct broker *b, struct call *call);

/* For a handler that is about to store a message in a topic. True: the topic was made just now and would not survive a crash, so the call
 * begins anew when it would; it is no longer the handler's. */
bool disk_unsaved(struct broker *b, struct call *call, const struct topic *topic);

#endif
