#include "codec/proto/pb.h"

enum { WIRE_VARINT, WIRE_64, WIRE_LENGTH, WIRE_GROUP, WIRE_GROUP_END, WIRE_32 };
enum { GROUPS_MAX = 100 };   /* of an unknown field, in each other: as the original */

/* What is left of the bytes of one message. */
struct reader {
    const uint8_t *p, *end;
    struct arena *arena;
    const struct pb_message *message;
};

static err_t decode(struct reader *r, void *out);

static err_t broken(const struct reader *r, const char *why) { return err_new(ERR_BODY, "%s: %s", r->message->name, why); }

static bool read_varint(struct reader *r, uint64_t *out)
{
    uint64_t v = 0;
    for (int shift = 0; shift < 70 && r->p < r->end; shift += 7) {
        uint8_t b = *r->p++;
        if (shift < 64) v |= (uint64_t)(b & 0x7F) << shift;
        if (b < 0x80) {
            *out = v;
            return true;
        }
    }
    return false;
}

static bool read_bytes(struct reader *r, struct slice *out)
{
    uint64_t n;
    if (!read_varint(r, &n) || n > (uint64_t)(r->end - r->p)) return false;
    *out = slice_of(r->p, (size_t)n);
    r->p += n;
    return true;
}

static bool skip_fixed(struct reader *r, size_t n)
{
    if ((size_t)(r->end - r->p) < n) return false;
    r->p += n;
    return true;
}

/* A field nobody knows; groups may hold others. */
static bool skip(struct reader *r, uint64_t tag)
{
    uint64_t open[GROUPS_MAX];
    int depth = 0;
    for (;;) {
        uint64_t v;
        struct slice bytes;
        switch (tag & 7) {
        case WIRE_VARINT: if (!read_varint(r, &v)) return false; break;
        case WIRE_64: if (!skip_fixed(r, 8)) return false; break;
        case WIRE_32: if (!skip_fixed(r, 4)) return false; break;
        case WIRE_LENGTH: if (!read_bytes(r, &bytes)) return false; break;
        case WIRE_GROUP:
            if (depth == GROUPS_MAX) return false;
            open[depth++] = tag >> 3;
            break;
        case WIRE_GROUP_END:
            if (!depth || open[--depth] != tag >> 3) return false;
            break;
        default: return false;
        }
        if (!depth) return true;
        if (!read_varint(r, &tag) || tag >> 3 == 0 || tag >> 35) return false;
    }
}

static const struct pb_field *find(const struct pb_message *m, uint64_t number)
{
    if (!m->count) return NULL;
    size_t i = number - 1 < m->count ? (size_t)number - 1 : m->count - 1u;   /* mostly they are numbered 1, 2, 3 … */
    while (i > 0 && m->fields[i].number > number) i--;
    return m->fields[i].number == number ? &m->fields[i] : NULL;
}

static size_t size_of(const struct pb_field *f)
{
    switch (f->type) {
    case PB_I64: return sizeof(int64_t);
    case PB_BOOL: return sizeof(bool);
    case PB_TEXT: case PB_BYTES: return sizeof(struct slice);
    case PB_PART: return f->part->size;
    default: return sizeof(int32_t);
    }
}

/* Where a field's value goes: its member, or a new element of its list. NULL: no memory. */
static void *place(struct reader *r, const struct pb_field *f, void *out)
{
    uint8_t *member = (uint8_t *)out + f->at;
    if (!f->many) return member;
    PB_LIST(void) *list = (void *)member;
    return arena_list_add(r->arena, &list->items, &list->count, size_of(f));
}

static void put_number(const struct pb_field *f, uint64_t v, void *to)
{
    switch (f->type) {
    case PB_I64: *(int64_t *)to = (int64_t)v; break;
    case PB_BOOL: *(bool *)to = v != 0; break;
    default: *(int32_t *)to = (int32_t)(uint32_t)v; break;
    }
}

static err_t read_number(struct reader *r, const struct pb_field *f, void *out)
{
    uint64_t v;
    if (!read_varint(r, &v)) return broken(r, "a number ends too early");
    void *to = place(r, f, out);
    if (!to) return err_new(ERR_OUT_OF_MEMORY, NULL);
    put_number(f, v, to);
    return NULL;
}

static err_t read_float(struct reader *r, const struct pb_field *f, void *out)
{
    const uint8_t *p = r->p;
    if (!skip_fixed(r, 4)) return broken(r, "a number ends too early");
    uint32_t bits = (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
    void *to = place(r, f, out);
    if (!to) return err_new(ERR_OUT_OF_MEMORY, NULL);
    memcpy(to, &bits, 4);
    return NULL;
}

/* Numbers of a repeated field, one after the other. */
static err_t read_packed(struct reader *r, const struct pb_field *f, void *out)
{
    struct reader inner = *r;
    struct slice bytes;
    if (!read_bytes(r, &bytes)) return broken(r, "a field is longer than the message");
    inner.p = bytes.p;
    inner.end = bytes.p + bytes.n;
    while (inner.p < inner.end) {
        err_t e = f->type == PB_FLOAT ? read_float(&inner, f, out) : read_number(&inner, f, out);
        if (e) return e;
    }
    return NULL;
}

static err_t read_part(struct reader *r, const struct pb_field *f, struct slice bytes, void *out)
{
    void *to = place(r, f, out);
    if (!to) return err_new(ERR_OUT_OF_MEMORY, NULL);
    if (!f->many) {
        void **part = to;
        if (!*part) *part = arena_take(r->arena, f->part->size);
        if (!*part) return err_new(ERR_OUT_OF_MEMORY, NULL);
        to = *part;
    }
    struct reader inner = {bytes.p, bytes.p + bytes.n, r->arena, f->part};
    return decode(&inner, to);
}

static err_t read_length(struct reader *r, const struct pb_field *f, void *out)
{
    struct slice bytes;
    if (!read_bytes(r, &bytes)) return broken(r, "a field is longer than the message");
    if (f->type == PB_PART) return read_part(r, f, bytes, out);
    if (f->type == PB_TEXT && !utf8_valid(bytes)) return broken(r, "a text is not UTF-8");
    struct slice *to = place(r, f, out);
    if (!to) return err_new(ERR_OUT_OF_MEMORY, NULL);
    *to = bytes;
    return NULL;
}

static int wire_of(const struct pb_field *f)
{
    if (f->type == PB_FLOAT) return WIRE_32;
    return f->type >= PB_TEXT ? WIRE_LENGTH : WIRE_VARINT;
}

/* A oneof holds one: what it held is gone. */
static void choose(const struct pb_field *f, void *out)
{
    int32_t *chosen = (int32_t *)(void *)((uint8_t *)out + f->case_at);
    if (*chosen != (int32_t)f->number && f->type == PB_PART) *(void **)(void *)((uint8_t *)out + f->at) = NULL;
    *chosen = (int32_t)f->number;
}

static err_t read_field(struct reader *r, uint64_t tag, void *out)
{
    const struct pb_field *f = find(r->message, tag >> 3);
    int wire = (int)(tag & 7);
    bool packed = f && f->many && wire == WIRE_LENGTH && f->type < PB_TEXT;
    if (!f || (wire != wire_of(f) && !packed)) return skip(r, tag) ? NULL : broken(r, "a field cannot be read");
    if (f->case_at != PB_NOWHERE) choose(f, out);
    if (f->has_at != PB_NOWHERE) *(bool *)((uint8_t *)out + f->has_at) = true;
    if (packed) return read_packed(r, f, out);
    if (wire == WIRE_LENGTH) return read_length(r, f, out);
    return wire == WIRE_32 ? read_float(r, f, out) : read_number(r, f, out);
}

static err_t decode(struct reader *r, void *out)
{
    while (r->p < r->end) {
        uint64_t tag;
        if (!read_varint(r, &tag) || tag >> 3 == 0 || tag >> 32) return broken(r, "a field has no number");
        err_t e = read_field(r, tag, out);
        if (e) return e;
    }
    return NULL;
}

err_t pb_decode(const struct pb_message *m, struct slice bytes, struct arena *arena, void *out)
{
    if (!bytes.n) return NULL;   /* perhaps of no bytes at all: every field is absent */
    struct reader r = {bytes.p, bytes.p + bytes.n, arena, m};
    return decode(&r, out);
}

/* Length of the sequence at p, 0 for what is none. Facts: Unicode, table 3-7. */
static size_t sequence(const uint8_t *p, size_t n)
{
    uint8_t a = p[0];
    if (a < 0x80) return 1;
    size_t length = a >= 0xC2 && a <= 0xDF ? 2 : (a & 0xF0) == 0xE0 ? 3 : a >= 0xF0 && a <= 0xF4 ? 4 : 0;
    if (!length || n < length) return 0;
    uint8_t least = a == 0xE0 ? 0xA0 : a == 0xF0 ? 0x90 : 0x80;
    uint8_t most = a == 0xED ? 0x9F : a == 0xF4 ? 0x8F : 0xBF;
    if (p[1] < least || p[1] > most) return 0;
    for (size_t i = 2; i < length; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    return length;
}

bool utf8_valid(struct slice s)
{
    size_t i = 0;
    while (i < s.n) {
        uint64_t eight;
        if (s.n - i >= 8) {
            memcpy(&eight, s.p + i, 8);
            if (!(eight & 0x8080808080808080u)) {
                i += 8;
                continue;
            }
        }
        size_t n = sequence(s.p + i, s.n - i);
        if (!n) return false;
        i += n;
    }
    return true;
}
