/* pb.h - protobuf messages as C structs, read and written by tables that tools/proto makes of a .proto file.
 * Facts    the protobuf encoding (proto3)
 * Shape    texts and bytes are slices, of which p is NULL when the field is absent; parts are pointers, NULL when absent; repeated
 *          fields are PB_LISTs (the entries of a map too: of a key that comes twice the last one counts); an optional number has a
 *          has_… beside it; what a oneof holds is told by its …_case, the number of a field or 0
 * Reading  unknown fields are skipped, unknown numbers of an enum kept; a part that comes twice is merged, as everywhere
 * Limits   texts must be UTF-8; the arena bounds what a small hostile message can grow to; nesting is that of the tables
 * Owns     decoded slices borrow from the bytes given, lists and parts lie in the arena; pb_out its buffer
 * Threads  any */
#ifndef SKYLARK_CODEC_PROTO_PB_H
#define SKYLARK_CODEC_PROTO_PB_H

#include "base/arena.h"
#include "base/err.h"

/* A repeated field. */
#define PB_LIST(type) struct { type *items; size_t count; }

enum pb_type { PB_I32, PB_I64, PB_BOOL, PB_FLOAT, PB_ENUM, PB_TEXT, PB_BYTES, PB_PART };
enum { PB_NOWHERE = 0xFFFF };

struct pb_message;

struct pb_field {
    uint32_t number;
    uint8_t type;                    /* enum pb_type */
    bool many;                       /* a PB_LIST */
    bool optional;                   /* a text that is written although it is empty, when p is not NULL */
    uint16_t at;                     /* offset of the member */
    uint16_t has_at;                 /* of its has_… (a bool), or PB_NOWHERE */
    uint16_t case_at;                /* of the …_case (an int32_t) of its oneof, or PB_NOWHERE */
    const struct pb_message *part;   /* of PB_PART */
};

/* Fields stand in the order of their numbers. */
struct pb_message {
    const char *name;
    const struct pb_field *fields;
    uint16_t count;
    uint16_t size;                   /* of the struct */
};

/* Fills *out, which is all zero before. Errors: BODY, with the name of the message; OUT_OF_MEMORY when the arena is full. */
err_t pb_decode(const struct pb_message *m, struct slice bytes, struct arena *arena, void *out) MUST_CHECK;

/* Whether the bytes are UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF. */
bool utf8_valid(struct slice s);

/* --- writing --- */
struct pb_ref;

/* What was written: a buffer that grows to its front, and bytes that are referred to. */
struct pb_out {
    uint8_t *p;
    size_t cap;
    size_t at;                       /* the first byte in use; the last is cap - 1 */
    struct pb_ref *refs;             /* the last part of the message first */
    size_t ref_count, ref_cap;
    size_t ref_bytes;
    size_t big_bytes;                /* PB_BYTES fields of this length and more are referred to; 0: all are copied */
};
#define PB_OUT_EMPTY ((struct pb_out){NULL, 0, 0, NULL, 0, 0, 0, 0})

void pb_out_done(struct pb_out *o);
/* As it was at first, with the memory kept. */
void pb_out_clear(struct pb_out *o);
/* Puts a message before what is there (so it is called once between clears, unless messages shall follow each other backwards). */
void pb_encode(const struct pb_message *m, const void *in, struct pb_out *o);
/* Bytes of all of it. */
static inline size_t pb_out_size(const struct pb_out *o) { return o->cap - o->at + o->ref_bytes; }
/* How many parts it has, at most 2 * refs + 1; writes them to `parts` in order, as far as there is room for them. */
size_t pb_out_parts(const struct pb_out *o, struct slice *parts, size_t room);
/* The whole, when nothing is referred to. */
static inline struct slice pb_out_slice(const struct pb_out *o) { return slice_of(o->p + o->at, o->cap - o->at); }
/* The same as appended bytes, whatever is referred to. */
struct buf;
void pb_out_copy(const struct pb_out *o, struct buf *out);

#endif
