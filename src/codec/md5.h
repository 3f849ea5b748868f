/* md5.h - MD5, which says of a message's body that it came through; no secret depends on it. Facts: RFC 1321. Threads: any. */
#ifndef SKYLARK_CODEC_MD5_H
#define SKYLARK_CODEC_MD5_H

#include "base/slice.h"

enum { MD5_BYTES = 16, MD5_TEXT = 2 * MD5_BYTES + 1 };

void md5(struct slice s, uint8_t out[static MD5_BYTES]);
/* Upper-case hexadecimal, NUL-terminated. */
void md5_text(struct slice s, char out[static MD5_TEXT]);

#endif
