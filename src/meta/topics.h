/* topics.h - the topics of a broker.
 * Files    <folder>/topics.json in the original's format, written by a worker after each change
 * Facts    docs/protocol/semantics.md 1, remoting.md 4.1 (17, 18, 215), store.md 8
 * Threads  loop, but topics_open and topics_close, which block (start and stop of the process only)
 * Owns     a struct topic is valid until it is changed or deleted, so within the turn at least; its texts too */
#ifndef SKYLARK_META_TOPICS_H
#define SKYLARK_META_TOPICS_H

#include "codec/body_topic_config.h"
#include "os/saver.h"

struct topics;

/* Queues that a topic may have; their ids are below it. */
enum { TOPIC_QUEUES_MAX = 65536 };

struct topic {
    struct topic_config config;
    bool system;            /* made by the broker: clients may not change or delete it */
    bool closed;            /* clients may not send to it */
    bool batches;           /* queue.type=BatchCQ: a batch stays one record */
    uint64_t made;          /* counts the topics that came into being since the start; 0: it was there before */
    struct arena memory;    /* of config's texts */
};

struct topics_options {
    const char *folder;                 /* of topics.json: storePathRootDir/config */
    struct slice cluster;
    struct slice broker;
    int32_t default_queues;             /* defaultTopicQueueNums */
    int32_t revive_queues;              /* reviveQueueNum */
    bool auto_create;                   /* autoCreateTopicEnable */
    bool cluster_topic;                 /* clusterTopicEnable */
    bool broker_topic;                  /* brokerTopicEnable */
    bool timer;                         /* timerWheelEnable */
    bool trace;                         /* traceTopicEnable */
    struct slice trace_name;            /* msgTraceTopicName */
    bool check_system_names;            /* validateSystemTopicWhenUpdateTopic */
    bool allow_mixed;                   /* enableMixedMessageType */
    bool lmq;                           /* enableLmq: topics named %LMQ%… are there without being made, and never written */
    /* A topic was made, changed or (topic NULL) deleted: time to register. NULL: nobody cares. Thread: loop. */
    void (*changed)(void *ctx, const struct topic *topic);
    void *changed_ctx;
};

/* Loads the file, and makes the system topics that are not in it. Borrows nothing from the options but `changed`.
 * Errors: IO, BODY (the file and its backup cannot be read). */
err_t topics_open(const struct topics_options *options, struct fs *fs, struct tasks *tasks, struct topics **out) MUST_CHECK;
/* Writes what is not written. Frees t in any case; NULL is fine. */
err_t topics_close(struct topics *t) MUST_CHECK;

/* cleanup.policy=COMPACTION: of its messages the newest one of each key is kept. */
bool topic_is_compacted(const struct topic *topic);

/* Hot path: one hash lookup. NULL when there is none. A light topic (%LMQ%…) is valid until some others were found. */
const struct topic *topics_find(const struct topics *t, struct slice name);

/* A message came for a topic that is not there: makes it after `default_topic`, if that may be inherited from.
 * Errors: TOPIC_NOT_FOUND, with the wording that clients know. */
err_t topics_create_on_send(struct topics *t, struct slice name, struct slice default_topic, int32_t queues, int32_t sys_flag,
                            const struct topic **out) MUST_CHECK;
/* A retry or dead-letter topic: made when it is not there; its order flag follows. */
const struct topic *topics_ensure(struct topics *t, struct slice name, int32_t queues, int32_t perm, bool order,
                                  int32_t sys_flag);

/* Whether the topic would be there after a crash. While it would not, what is stored in it could not be found: wait (topics_when_saved)
 * before anybody is told that it is stored. */
bool topics_is_saved(const struct topics *t, const struct topic *topic);

/* An administrator's request; for a light topic nothing happens. `wanted->attributes` holds edits (keys with + or -, see attributes.h).
 * *out_changed is false when everything is as wanted already.
 * Errors: INVALID (name, system topic, number of queues, MIXED), REFUSED (attributes). */
err_t topics_set(struct topics *t, const struct topic_config *wanted, bool *out_changed) MUST_CHECK;
/* Errors: INVALID for what clients may not delete. Deleting what is not there is fine. */
err_t topics_delete(struct topics *t, struct slice name) MUST_CHECK;
/* The broker deletes one of its own making, whatever its name. */
void topics_remove(struct topics *t, struct slice name);
/* Whether clients may change a topic of that name. Errors: INVALID. */
err_t topics_check_name(const struct topics *t, struct slice name) MUST_CHECK;
bool topics_is_system(const struct topics *t, struct slice name);

/* Keys that may change while running. */
void topics_set_auto_create(struct topics *t, bool on);
/* What is registered of all topics has changed (the permission of the broker): a new data version. */
void topics_touch(struct topics *t);

size_t topics_count(const struct topics *t);
/* Walks: `for (size_t at = 0; (topic = topics_next(t, &at));)`; nothing may be added meanwhile. */
const struct topic *topics_next(const struct topics *t, size_t *at);
struct data_version topics_version(const struct topics *t);
/* The table for 21 and 103; borrows from t, lists lie in the arena. */
void topics_table(const struct topics *t, struct arena *arena, struct topic_table *out);
/* done runs when the changes so far are on disk. */
void topics_when_saved(struct topics *t, struct saver_waiter *w);

#endif
