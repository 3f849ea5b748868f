/* java_hash.h - String.hashCode of Java, over text that is UTF-8 here: h = 31 * h + each UTF-16 unit, in 32 bits.
 * Facts    docs/protocol/store.md 2.3; bytes that are no UTF-8 count as U+FFFD, as Java reads them
 * Threads  any */
#ifndef SKYLARK_CODEC_JAVA_HASH_H
#define SKYLARK_CODEC_JAVA_HASH_H

#include "base/slice.h"

int32_t java_hash(struct slice text);
/* Of a text that begins with one whose hash is known. */
int32_t java_hash_more(int32_t hash, struct slice text);
/* What a queue entry says about a message's TAGS property; 0 without tags. */
static inline int64_t tags_hash(struct slice tags) { return java_hash(tags); }

#endif
