/* frame_json.h - the JSON form of a frame's header: a flat object, parsed in one pass without copying.
 * The room's own: frame.c is the only user. base/json is the reader for everything else; this one exists because it is on
 * the path of every message. */
#ifndef SKYLARK_CODEC_FRAME_JSON_H
#define SKYLARK_CODEC_FRAME_JSON_H

#include "codec/frame.h"

enum language language_parse(struct slice name);

/* Fills head, remark and fields; p is changed in place where texts have escapes. */
err_t frame_json_decode(uint8_t *p, size_t n, struct frame *out) MUST_CHECK;

/* The separator and name of the next entry of extFields. */
void frame_json_field(struct frame_writer *w, struct slice name);
/* A quoted text. */
void frame_json_text(struct buf *out, struct slice s);
/* All that stands behind the fields. */
void frame_json_end(struct frame_writer *w);

#endif
