/* checks.h - what requests may say: names, tags, keys, properties, times, with the code of each limit.
 * Facts    docs/protocol/grpc.md 4
 * Shape    each check ends the request when it fails: false then, and the request is gone
 * Threads  loop */
#ifndef SKYLARK_PROXY_CHECKS_H
#define SKYLARK_PROXY_CHECKS_H

#include "proxy/state.h"

/* A part that is not there counts as one that is empty. */
static inline struct slice resource_name(const struct v2_resource *r) { return r ? r->name : (struct slice){NULL, 0}; }

bool check_topic(struct request *r, const struct v2_resource *topic) MUST_CHECK;
bool check_group(struct request *r, const struct v2_resource *group) MUST_CHECK;
bool check_tag(struct request *r, struct slice tag) MUST_CHECK;
bool check_key(struct request *r, struct slice key) MUST_CHECK;
bool check_message_group(struct request *r, struct slice group) MUST_CHECK;
bool check_lite_topic(struct request *r, struct slice lite_topic) MUST_CHECK;
bool check_body(struct request *r, struct slice body) MUST_CHECK;
/* Keys and values of a message's own properties, and their sizes with those of its tag and keys. */
bool check_properties(struct request *r, const struct v2_message *m) MUST_CHECK;
bool check_invisible_ms(struct request *r, int64_t ms, int64_t least_ms) MUST_CHECK;
bool check_delivery_ms(struct request *r, int64_t ms) MUST_CHECK;
bool check_recovery_s(struct request *r, int64_t seconds) MUST_CHECK;
/* A message of one type to a topic of another. */
bool check_type(struct request *r, enum topic_type of_topic, enum topic_type of_message) MUST_CHECK;

/* The same of names, without a request. Errors: INVALID. */
err_t topic_check(struct slice topic) MUST_CHECK;
err_t group_check(struct slice group) MUST_CHECK;

/* White space alone, or nothing, as Java counts it. */
bool is_blank(struct slice s);
bool has_control_character(struct slice s);
/* Of a property that belongs to the system. Facts: docs/protocol/grpc.md 10.3 */
bool property_is_reserved(struct slice name);

/* False: not a time, or not one that fits. ms of nothing is 0. */
bool timestamp_ms(const struct v2_timestamp *t, int64_t *ms) MUST_CHECK;
bool duration_ms(const struct v2_duration *d, int64_t *ms) MUST_CHECK;
bool duration_s(const struct v2_duration *d, int64_t *seconds) MUST_CHECK;
struct v2_timestamp *timestamp_new(struct request *r, int64_t ms);
struct v2_duration *duration_new(struct arena *arena, int64_t ms);

#endif
