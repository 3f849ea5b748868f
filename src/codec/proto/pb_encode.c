/* Messages are written from their end to their beginning: so the length of a part is known when it is put before it. */
#include "codec/proto/pb.h"

#include "base/buf.h"

#include <assert.h>
#include <stdlib.h>

enum { FIRST_BYTES = 256, VARINT_MAX = 10 };

struct pb_ref {
    struct slice bytes;
    size_t after;              /* bytes of the buffer that come after it */
};

void pb_out_done(struct pb_out *o)
{
    free(o->p);
    free(o->refs);
    *o = PB_OUT_EMPTY;
}

void pb_out_clear(struct pb_out *o)
{
    o->at = o->cap;
    o->ref_count = o->ref_bytes = 0;
}

static void grow(struct pb_out *o, size_t n)
{
    size_t used = o->cap - o->at, cap = o->cap ? o->cap : FIRST_BYTES;
    while (cap - used < n) cap *= 2;
    uint8_t *p = must_alloc(cap);
    if (used) memcpy(p + cap - used, o->p + o->at, used);
    free(o->p);
    o->p = p;
    o->cap = cap;
    o->at = cap - used;
}

/* n bytes before those there are. */
static inline uint8_t *take(struct pb_out *o, size_t n)
{
    if (o->at < n) grow(o, n);
    o->at -= n;
    return o->p + o->at;
}

static inline void put_varint(struct pb_out *o, uint64_t v)
{
    if (v < 0x80) {   /* most are */
        *take(o, 1) = (uint8_t)v;
        return;
    }
    uint8_t bytes[VARINT_MAX];
    size_t n = 0;
    for (; v >= 0x80; v >>= 7) bytes[n++] = (uint8_t)(v | 0x80);
    bytes[n++] = (uint8_t)v;
    memcpy(take(o, n), bytes, n);
}

static void put_tag(struct pb_out *o, const struct pb_field *f, uint32_t wire) { put_varint(o, (uint64_t)f->number << 3 | wire); }

static void put_ref(struct pb_out *o, struct slice bytes)
{
    if (o->ref_count == o->ref_cap) {
        o->ref_cap = o->ref_cap ? o->ref_cap * 2 : 4;
        o->refs = realloc(o->refs, o->ref_cap * sizeof *o->refs);
        if (!o->refs) abort();
    }
    o->refs[o->ref_count++] = (struct pb_ref){bytes, o->cap - o->at};
    o->ref_bytes += bytes.n;
}

static void put_bytes(struct pb_out *o, const struct pb_field *f, struct slice s)
{
    if (f->type == PB_BYTES && o->big_bytes && s.n >= o->big_bytes) put_ref(o, s);
    else if (s.n) memcpy(take(o, s.n), s.p, s.n);
    put_varint(o, s.n);
    put_tag(o, f, 2);
}

static void put_part(struct pb_out *o, const struct pb_field *f, const void *part)
{
    size_t before = pb_out_size(o);
    pb_encode(f->part, part, o);
    put_varint(o, pb_out_size(o) - before);
    put_tag(o, f, 2);
}

static uint64_t number_of(const struct pb_field *f, const void *member)
{
    switch (f->type) {
    case PB_I64: return (uint64_t)*(const int64_t *)member;
    case PB_BOOL: return *(const bool *)member;
    default: return (uint64_t)(int64_t)*(const int32_t *)member;
    }
}

static void put_float(struct pb_out *o, const void *member)
{
    uint32_t bits;
    memcpy(&bits, member, 4);
    uint8_t *p = take(o, 4);
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(bits >> 8 * i);
}

static void put_value(struct pb_out *o, const struct pb_field *f, const void *member)
{
    switch (f->type) {
    case PB_TEXT: case PB_BYTES: put_bytes(o, f, *(const struct slice *)member); break;
    case PB_PART: put_part(o, f, member); break;
    case PB_FLOAT:
        put_float(o, member);
        put_tag(o, f, 5);
        break;
    default:
        put_varint(o, number_of(f, member));
        put_tag(o, f, 0);
        break;
    }
}

static size_t step_of(const struct pb_field *f)
{
    switch (f->type) {
    case PB_I64: return sizeof(int64_t);
    case PB_BOOL: return sizeof(bool);
    case PB_TEXT: case PB_BYTES: return sizeof(struct slice);
    case PB_PART: return f->part->size;
    default: return sizeof(int32_t);
    }
}

/* Numbers are packed, everything else has a tag each. */
static void put_list(struct pb_out *o, const struct pb_field *f, const void *member)
{
    const PB_LIST(const uint8_t) *list = member;
    size_t before = pb_out_size(o);
    if (!list->count) return;
    for (size_t i = list->count; i-- > 0;) {
        const void *item = list->items + i * step_of(f);
        if (f->type >= PB_TEXT) put_value(o, f, item);
        else if (f->type == PB_FLOAT) put_float(o, item);
        else put_varint(o, number_of(f, item));
    }
    if (f->type >= PB_TEXT) return;
    put_varint(o, pb_out_size(o) - before);
    put_tag(o, f, 2);
}

/* Whether a field is written: one that says so itself, or whose value is not the default. */
static bool is_there(const struct pb_field *f, const void *in, const void *member)
{
    if (f->case_at != PB_NOWHERE) return *(const int32_t *)(const void *)((const uint8_t *)in + f->case_at) == (int32_t)f->number;
    if (f->has_at != PB_NOWHERE) return *(const bool *)((const uint8_t *)in + f->has_at);
    switch (f->type) {
    case PB_TEXT: case PB_BYTES: return f->optional ? ((const struct slice *)member)->p != NULL : ((const struct slice *)member)->n > 0;
    case PB_PART: return *(void *const *)member != NULL;
    case PB_FLOAT: return *(const float *)member != 0;
    default: return number_of(f, member) != 0;
    }
}

void pb_encode(const struct pb_message *m, const void *in, struct pb_out *o)
{
    for (size_t i = m->count; i-- > 0;) {
        const struct pb_field *f = &m->fields[i];
        const void *member = (const uint8_t *)in + f->at;
        if (f->many) {
            put_list(o, f, member);
        } else if (is_there(f, in, member)) {
            const void *value = f->type == PB_PART ? *(void *const *)member : member;
            assert(value && "a oneof tells of a part that is there");
            put_value(o, f, value);
        }
    }
}

size_t pb_out_parts(const struct pb_out *o, struct slice *parts, size_t room)
{
    size_t count = 0, at = o->at;
    for (size_t i = o->ref_count; i-- > 0;) {
        size_t end = o->cap - o->refs[i].after;
        if (end > at && count++ < room) parts[count - 1] = slice_of(o->p + at, end - at);
        at = end;
        if (count++ < room) parts[count - 1] = o->refs[i].bytes;
    }
    if (o->cap > at && count++ < room) parts[count - 1] = slice_of(o->p + at, o->cap - at);
    return count;
}

void pb_out_copy(const struct pb_out *o, struct buf *out)
{
    buf_reserve(out, pb_out_size(o));
    size_t at = o->at;
    for (size_t i = o->ref_count; i-- > 0;) {
        size_t end = o->cap - o->refs[i].after;
        if (end > at) buf_put(out, o->p + at, end - at);
        at = end;
        buf_put_slice(out, o->refs[i].bytes);
    }
    if (o->cap > at) buf_put(out, o->p + at, o->cap - at);
}
