/* groups.h - the consumer groups that a broker knows, and what they may not read.
 * Files    <folder>/subscriptionGroup.json in the original's format, written by a worker after each change
 * Facts    docs/protocol/semantics.md 1.4, remoting.md 4.1 (200, 207, 225, 353), store.md 8
 * Threads  loop, but groups_open and groups_close, which block
 * Owns     a struct group is valid until it is changed or deleted, so within the turn at least */
#ifndef SKYLARK_META_GROUPS_H
#define SKYLARK_META_GROUPS_H

#include "codec/body_group_config.h"
#include "os/saver.h"

struct groups;

struct group {
    struct group_config config;
    bool system;            /* known at start: see semantics.md 1.4 */
    struct arena memory;    /* of config's texts */
};

struct groups_options {
    const char *folder;         /* of subscriptionGroup.json */
    bool auto_create;           /* autoCreateSubscriptionGroup */
    bool create_system;         /* enableCreateSysGroup */
    bool lmq;                   /* enableLmq: groups named %LMQ%… are there without being made, and never written */
};

/* Errors: IO, BODY. */
err_t groups_open(const struct groups_options *options, struct fs *fs, struct tasks *tasks, struct groups **out) MUST_CHECK;
err_t groups_close(struct groups *g) MUST_CHECK;

/* NULL when there is none. A light group (%LMQ%…) is valid until some others were found. */
const struct group *groups_find(const struct groups *g, struct slice name);
/* The group; made with defaults when it is not there and may be. NULL: not there, and cannot be made (off, or a bad name). */
const struct group *groups_find_or_create(struct groups *g, struct slice name);

/* An administrator's request; for a light group nothing happens. `wanted->attributes` holds edits (keys with + or -, see attributes.h).
 * Errors: INVALID (name, number of retry queues), REFUSED (attributes). */
err_t groups_set(struct groups *g, const struct group_config *wanted) MUST_CHECK;
/* The group may not consume any more, until an administrator allows it again. */
void groups_disable(struct groups *g, struct slice name);
/* False when there was none. */
bool groups_delete(struct groups *g, struct slice name);

/* Whether the group may not read the topic (353). */
bool groups_is_read_forbidden(const struct groups *g, struct slice group, struct slice topic);
void groups_set_read_forbidden(struct groups *g, struct slice group, struct slice topic, bool forbidden);

/* Key that may change while running. */
void groups_set_auto_create(struct groups *g, bool on);

size_t groups_count(const struct groups *g);
const struct group *groups_next(const struct groups *g, size_t *at);
struct data_version groups_version(const struct groups *g);
/* The table for 201; borrows from g, lists lie in the arena. */
void groups_table(const struct groups *g, struct arena *arena, struct group_table *out);
void groups_when_saved(struct groups *g, struct saver_waiter *w);

#endif
