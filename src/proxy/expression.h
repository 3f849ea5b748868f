/* expression.h - the filter of a consumer, as a broker is told it, and what is looked at again here: brokers compare hashes of tags.
 * Facts    docs/protocol/grpc.md 8 (filter)
 * Threads  loop */
#ifndef SKYLARK_PROXY_EXPRESSION_H
#define SKYLARK_PROXY_EXPRESSION_H

#include "codec/message.h"
#include "proxy/state.h"

struct expression {
    struct slice type;               /* "TAG" or "SQL92" */
    struct slice text;
    struct slice *tags;              /* of a tag filter, in the request's arena; none: all messages */
    size_t tag_count;
};

/* f NULL: all messages. False: the request was refused. */
bool expression_read(struct request *r, const struct v2_filter_expression *f, struct expression *out) MUST_CHECK;
/* Whether a message that a broker found has one of the tags. */
bool expression_matches(const struct expression *e, const struct message *m);

#endif
