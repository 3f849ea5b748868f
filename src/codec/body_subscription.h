/* body_subscription.h - what a consumer asks for of one topic (SubscriptionData).
 * Facts    docs/protocol/remoting.md 1.5, semantics.md 7.1; vectors: tests/fixtures/vectors/tag_expression.jsonl
 * Owns     nothing: texts borrow, lists lie in the arena
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_SUBSCRIPTION_H
#define SKYLARK_CODEC_BODY_SUBSCRIPTION_H

#include "codec/bean.h"

/* Tags of one expression: each message and each tag is compared with them. */
enum { SUBSCRIPTION_TAGS_MAX = 2048 };

struct subscription {
    struct slice topic;
    struct slice expression;            /* subString: "*", "a || b", or SQL92 */
    struct slice type;                  /* expressionType: "TAG", "SQL92"; p NULL counts as TAG */
    int64_t version;                    /* subVersion, ms: the newer one wins */
    bool class_filter;
    BEAN_LIST(struct slice) tags;
    BEAN_LIST(int32_t) codes;           /* Java hashes of the tags; empty: everything matches */
};

extern const struct bean subscription_bean;

/* True for TAG and for what has no type. */
bool subscription_is_tag(struct slice type);
/* The expression matches every message, as far as tags go. */
bool subscription_is_all(const struct subscription *s);

/* Builds a TAG subscription from its text: NULL, "" and "*" are everything; else parts between "||", trimmed, empty ones and
 * repetitions dropped. version 0. Errors: SUBSCRIPTION_PARSE when there is nothing but "||", or more than SUBSCRIPTION_TAGS_MAX. */
err_t subscription_parse(struct slice topic, struct slice expression, struct arena *arena, struct subscription *out) MUST_CHECK;
/* A copy whose memory is the arena's. Errors: OUT_OF_MEMORY past the arena's limit, SUBSCRIPTION_PARSE past SUBSCRIPTION_TAGS_MAX. */
err_t subscription_copy(const struct subscription *s, struct arena *arena, struct subscription *out) MUST_CHECK;

#endif
