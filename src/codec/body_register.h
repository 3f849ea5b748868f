/* body_register.h - what a broker says of its topics when it registers (103), in the forms of all ages.
 * Facts    docs/protocol/remoting.md 5.1; crc: docs/protocol/store.md (CRC-32, 31 bits)
 * Limits   REGISTER_MAX_BYTES after decompression
 * Owns     nothing: everything lies in the arena or borrows from the body
 * Threads  any */
#ifndef SKYLARK_CODEC_BODY_REGISTER_H
#define SKYLARK_CODEC_BODY_REGISTER_H

#include "codec/body_topic_config.h"

enum { REGISTER_MAX_BYTES = 256 << 20 };

/* The checksum that the header carries. */
uint32_t register_crc(struct slice body);

/* version: of the sender, decides the form. An empty body is no topics at version 0. Errors: BODY. */
err_t register_body_decode(struct slice body, bool compressed, int32_t version, struct arena *arena,
                           struct register_body *out) MUST_CHECK;
/* As a broker of our version writes it. */
void register_body_encode(const struct register_body *body, bool compressed, struct buf *out);

#endif
