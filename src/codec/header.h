/* header.h - typed headers: every request's and reply's fields as a struct, from the rows of codec/headers.def.
 * Facts    docs/protocol/remoting-headers.tsv (names, types, which are required)
 * Threads  any
 * Owns     nothing: text fields borrow from the frame */
#ifndef SKYLARK_CODEC_HEADER_H
#define SKYLARK_CODEC_HEADER_H

#include "codec/frame.h"

enum field_type { FIELD_TYPE_text, FIELD_TYPE_i32, FIELD_TYPE_i64, FIELD_TYPE_flag };
enum field_need { OPTIONAL, REQUIRED };

struct field_row {
    struct slice wire;
    uint8_t type;
    uint8_t need;
    uint16_t at;       /* offset in the struct */
    uint16_t bit;      /* in `present` */
};

struct header_kind {
    const char *name;
    const struct field_row *rows;
    uint16_t count;
    uint16_t size;
};

typedef struct slice field_text;   /* the only typedefs: what FIELD()'s type column expands to */
typedef int32_t field_i32;
typedef int64_t field_i64;
typedef bool field_flag;

/* struct x_header { uint64_t present; … }: bit X_HAS_field of `present` tells whether the field was there (decoding)
 * or is to be written (encoding; REQUIRED fields always are, text fields when p is not NULL). */
#define HEADER(h) struct h##_header { uint64_t present;
#define HEADER_FORM(h, form)
#define FIELD(h, type, field, wire, need) field_##type field;
#define FIELD_FORM(form, h, type, field, wire, need)
#define END(h) };
#define END_FORM(h, form)
#include "codec/headers.def"
#undef HEADER
#undef FIELD
#undef END

#define HEADER(h) enum {
#define FIELD(h, type, field, wire, need) h##_HAS_##field,
#define END(h) h##_FIELDS };
#include "codec/headers.def"
#undef HEADER
#undef FIELD
#undef END

#define HEADER(h) extern const struct header_kind h##_kind;
#define FIELD(h, type, field, wire, need)
#define END(h)
#undef HEADER_FORM
#define HEADER_FORM(h, form) extern const struct header_kind form##_kind;
#include "codec/headers.def"
#undef HEADER
#undef HEADER_FORM
#undef FIELD
#undef FIELD_FORM
#undef END
#undef END_FORM

#define header_has(header, h, field) (((header)->present >> h##_HAS_##field) & 1)
#define header_set(header, h, field) ((header)->present |= (uint64_t)1 << h##_HAS_##field)

/* Reads the frame's fields into *out (all zero first). Unknown fields are skipped.
 * Errors: FIELD, with the original's wording, when a required one is missing or a number cannot be read. */
err_t header_decode(const struct header_kind *kind, const struct frame *f, void *out) MUST_CHECK;
/* A copy that owns its texts; free() releases all of it. */
void *header_copy(const struct header_kind *kind, const void *header);
void header_write(const struct header_kind *kind, const void *header, struct frame_writer *w);

#endif
