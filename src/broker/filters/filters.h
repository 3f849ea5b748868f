/* filters.h - the SQL92 expressions of groups, one of each topic, kept as the original keeps them: in a file, and for a while after a
 * group is gone. Pulls use what the members of a group say now; this table is what a start, and an owner after us, finds.
 * Files    <folder>/consumerFilter.json in the original's format, written by a worker within ten seconds of a change (filters_tidy)
 * Facts    docs/protocol/semantics.md 7.2
 * Limits   expressions of groups that are gone are dropped before their time when they are more than FILTERS_DEAD_BYTES; once all are more
 *          than FILTERS_BYTES no more are kept (pulls go by them all the same)
 * Threads  loop, but filters_open and filters_close, which block
 * Owns     copies of all it keeps */
#ifndef SKYLARK_BROKER_FILTERS_H
#define SKYLARK_BROKER_FILTERS_H

#include "codec/body_subscription.h"
#include "filter/filter.h"
#include "os/saver.h"

struct filters;

enum { FILTERS_DEAD_BYTES = 8 << 20, FILTERS_BYTES = 32 << 20 };

struct filters_options {
    const char *folder;             /* of consumerFilter.json */
    int32_t error_percent;          /* maxErrorRateOfBloomFilter */
    int32_t groups;                 /* expectConsumerNumUseFilter */
};

/* Errors: IO, BODY. */
err_t filters_open(const struct filters_options *options, struct fs *fs, struct tasks *tasks, struct filters **out) MUST_CHECK;
err_t filters_close(struct filters *f) MUST_CHECK;

/* Whether consumers may subscribe by that type, which is not TAG; `on`: enablePropertyFilter. Errors: REFUSED, SUBSCRIPTION_PARSE. */
err_t filters_check_type(struct slice type, bool on) MUST_CHECK;
/* The same, and compiles the expression. */
err_t filters_compile(struct slice type, struct slice expression, bool on, struct filter **out) MUST_CHECK;

/* The next subscription of a group, NULL at the end. */
typedef const struct subscription *filters_next(void *ctx);
/* What the members of a group subscribe to from now on; without any, the group is gone. Expressions that cannot be compiled, and tags, are
 * passed over. */
void filters_follow(struct filters *f, struct slice group, filters_next *next, void *ctx);
/* Now and then: drops what is older than keep_ms since its group went, and lets what has changed be written. */
void filters_tidy(struct filters *f, int64_t keep_ms);

/* Of a group that is there, or was; NULL when there is none. Valid within the turn. */
const struct filter *filters_find(const struct filters *f, struct slice group, struct slice topic);
size_t filters_count(const struct filters *f);

#endif
