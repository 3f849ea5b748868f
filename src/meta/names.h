/* names.h - what topics and groups may be called, and the names that mean something.
 * Facts    docs/protocol/semantics.md 1.1, 1.2, 4; vectors: tests/fixtures/vectors/name_rules.jsonl
 * Threads  any */
#ifndef SKYLARK_META_NAMES_H
#define SKYLARK_META_NAMES_H

#include "base/buf.h"

enum { TOPIC_NAME_MAX = 127, RETRY_TOPIC_NAME_MAX = 255, GROUP_NAME_MAX = 120 };

/* Errors: INVALID, with the wording clients know. p NULL counts as blank. */
err_t topic_name_check(struct slice topic) MUST_CHECK;
err_t group_name_check(struct slice group) MUST_CHECK;

/* The fixed names, NULL-terminated. */
extern const char *const system_topic_names[];
/* By name alone; a broker adds the topics it made at start (struct topic, `system`). */
bool topic_name_is_system(struct slice topic);
/* Topics that clients may not send to. */
bool topic_name_is_closed(struct slice topic);
bool group_name_is_system(struct slice group);

static inline bool topic_name_is_retry(struct slice topic) { return slice_starts(topic, SLICE("%RETRY%")); }
static inline bool topic_name_is_dead_letter(struct slice topic) { return slice_starts(topic, SLICE("%DLQ%")); }
/* The group of "%RETRY%group" or "%DLQ%group". */
static inline struct slice topic_name_group(struct slice topic) { return slice_skip(topic, topic_name_is_retry(topic) ? 7 : 5); }
/* Appends "%RETRY%group". */
void retry_topic_name(struct slice group, struct buf *out);
/* Appends "%DLQ%group". */
void dead_letter_topic_name(struct slice group, struct buf *out);

#endif
