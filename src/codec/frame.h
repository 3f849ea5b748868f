/* frame.h - one remoting command: length, header (JSON or binary), body.
 * Facts    docs/protocol/remoting.md 1; golden bytes: tests/fixtures/vectors/frames.jsonl, tests/fixtures/wire
 * Shape    total i32 | form u8 | header length u24 | header | body, big-endian; total counts what follows it
 * Threads  any
 * Owns     nothing: a decoded frame borrows from the bytes it was read from, and decoding changes these bytes
 *          (escapes are resolved in place) */
#ifndef SKYLARK_CODEC_FRAME_H
#define SKYLARK_CODEC_FRAME_H

#include "base/buf.h"

enum frame_form { FRAME_JSON = 0, FRAME_BINARY = 1 };
enum { FRAME_FLAG_RESPONSE = 1, FRAME_FLAG_ONEWAY = 2 };
enum { FRAME_LENGTH_BYTES = 4, FRAME_MAX_BYTES = 16777216, FRAME_FIELDS_MAX = 128 };

enum language {
    LANGUAGE_JAVA, LANGUAGE_CPP, LANGUAGE_DOTNET, LANGUAGE_PYTHON, LANGUAGE_DELPHI, LANGUAGE_ERLANG, LANGUAGE_RUBY,
    LANGUAGE_OTHER, LANGUAGE_HTTP, LANGUAGE_GO, LANGUAGE_PHP, LANGUAGE_OMS, LANGUAGE_RUST, LANGUAGE_NODE_JS,
    LANGUAGE_UNKNOWN = 255,
};
/* "JAVA"; "UNKNOWN" for what has no name. */
const char *language_name(enum language l);

/* Version ordinals that behaviour depends on. Facts: tests/fixtures/vectors/versions.json */
enum { VERSION_3_4_9 = 121, VERSION_4_9_4 = 401, VERSION_5_0_0 = 413, VERSION_5_5_0 = 513 };

struct frame_field {
    struct slice name;
    struct slice value;
};

struct frame {
    enum frame_form form;
    int32_t code;
    enum language language;
    int32_t version;
    int32_t opaque;
    int32_t flag;
    struct slice remark;        /* p NULL: none */
    struct slice body;
    size_t count;
    struct frame_field fields[FRAME_FIELDS_MAX];
};

/* How many bytes the frame that begins with these takes, its length field included; 0: more bytes are needed to tell.
 * Errors: FRAME when the length cannot be one (below 4, over FRAME_MAX_BYTES). Nothing is allocated. */
err_t frame_size(const uint8_t *p, size_t n, size_t *out) MUST_CHECK;
/* p[0..n) is exactly one frame. Fails with FRAME on anything that is none. */
err_t frame_decode(uint8_t *p, size_t n, struct frame *out) MUST_CHECK;

/* The value of a field, p NULL when there is none. */
struct slice frame_get(const struct frame *f, struct slice name);

/* One piece of memory with all that f borrows, for a request that is looked at again later. Released with free(). */
struct frame *frame_copy(const struct frame *f);

/* What stands in a header besides its fields. */
struct frame_head {
    enum frame_form form;
    int32_t code;
    enum language language;
    int32_t version;
    int32_t opaque;
    int32_t flag;
    struct slice remark;        /* p NULL: none */
};

/* Writes a frame to the end of a buffer: frame_begin, any number of fields, frame_end, then the body by the caller. */
struct frame_writer {
    struct buf *out;
    size_t start;
    size_t fields_at;
    uint32_t count;
    struct frame_head head;
};
void frame_begin(struct frame_writer *w, struct buf *out, const struct frame_head *head);
void frame_put(struct frame_writer *w, struct slice name, struct slice value);
void frame_put_i64(struct frame_writer *w, struct slice name, int64_t value);
/* body_bytes follow, wherever they are kept. */
void frame_end(struct frame_writer *w, size_t body_bytes);

#endif
