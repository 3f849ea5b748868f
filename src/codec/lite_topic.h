/* lite_topic.h - names of lite topics: topics below a topic of message.type=LITE, each a light message queue "%LMQ%$PARENT$LITE".
 * Facts    docs/protocol/lite.md
 * Threads  any
 * Owns     nothing: what is cut out of a name borrows from it */
#ifndef SKYLARK_CODEC_LITE_TOPIC_H
#define SKYLARK_CODEC_LITE_TOPIC_H

#include "base/buf.h"

#define LITE_QUEUE_PREFIX SLICE("%LMQ%$")

/* Appends the name of the queue. */
static inline void lite_queue_name(struct slice parent, struct slice lite, struct buf *out)
{
    buf_put_slice(out, LITE_QUEUE_PREFIX);
    buf_put_slice(out, parent);
    buf_put_u8(out, '$');
    buf_put_slice(out, lite);
}

/* False: it is no queue of a lite topic. Neither part is empty or has a '$'. */
static inline bool lite_queue_parse(struct slice queue, struct slice *parent, struct slice *lite)
{
    if (!slice_starts(queue, LITE_QUEUE_PREFIX)) return false;
    struct slice rest = slice_skip(queue, LITE_QUEUE_PREFIX.n);
    const uint8_t *mark = rest.n ? memchr(rest.p, '$', rest.n) : NULL;
    if (!mark || mark == rest.p) return false;
    *parent = slice_of(rest.p, (size_t)(mark - rest.p));
    *lite = slice_skip(rest, parent->n + 1);
    return lite->n && !memchr(lite->p, '$', lite->n);
}

#endif
