#include "codec/header.h"

#define HEADER(h) static const struct field_row h##_rows[] = {
#define FIELD(h, type, field, name, need) \
    {{(const uint8_t *)name, sizeof(name) - 1}, FIELD_TYPE_##type, need, offsetof(struct h##_header, field), h##_HAS_##field},
#define END(h) {{NULL, 0}, 0, 0, 0, 0} };                                                                       \
    const struct header_kind h##_kind = {#h, h##_rows, sizeof h##_rows / sizeof *h##_rows - 1, sizeof(struct h##_header)}; \
    _Static_assert(sizeof h##_rows / sizeof *h##_rows <= 65, "present has 64 bits");
#define HEADER_FORM(h, form) static const struct field_row form##_rows[] = {
#define FIELD_FORM(form, h, type, field, name, need) FIELD(h, type, field, name, need)
#define END_FORM(h, form) {{NULL, 0}, 0, 0, 0, 0} };                                                            \
    const struct header_kind form##_kind = {#form, form##_rows, sizeof form##_rows / sizeof *form##_rows - 1, sizeof(struct h##_header)};
#include "codec/headers.def"
#undef HEADER
#undef FIELD
#undef END
#undef HEADER_FORM
#undef FIELD_FORM
#undef END_FORM

/* Clients write their fields in the order of the rows, so the row behind the last one found is nearly always right. */
static const struct field_row *find_row(const struct header_kind *kind, struct slice name, const struct field_row *guess)
{
    if (!name.n) return NULL;   /* the mark behind the last row has no name either */
    if (slice_eq(guess->wire, name)) return guess;
    for (const struct field_row *row = kind->rows; row < kind->rows + kind->count; row++)
        if (slice_eq(row->wire, name)) return row;
    return NULL;
}

static bool is_true(struct slice s)
{
    return s.n == 4 && (s.p[0] | 32) == 't' && (s.p[1] | 32) == 'r' && (s.p[2] | 32) == 'u' && (s.p[3] | 32) == 'e';
}

static err_t set_field(const struct field_row *row, struct slice value, void *out)
{
    char *at = (char *)out + row->at;
    int32_t i32;
    int64_t i64;
    bool ok = true;
    switch (row->type) {
    case FIELD_TYPE_text: memcpy(at, &value, sizeof value); break;
    case FIELD_TYPE_flag: *(bool *)at = is_true(value); break;
    case FIELD_TYPE_i32:
        ok = slice_to_i32(value, &i32);
        if (ok) memcpy(at, &i32, sizeof i32);
        break;
    case FIELD_TYPE_i64:
        ok = slice_to_i64(value, &i64);
        if (ok) memcpy(at, &i64, sizeof i64);
        break;
    }
    if (ok) return NULL;
    return err_new(ERR_FIELD, "the custom field <%.*s> is not a number: \"%.*s\"", SLICE_ARG(row->wire), SLICE_ARG(value));
}

err_t header_decode(const struct header_kind *kind, const struct frame *f, void *out)
{
    memset(out, 0, kind->size);
    uint64_t present = 0;
    const struct field_row *guess = kind->rows;
    for (size_t i = 0; i < f->count; i++) {
        const struct field_row *row = find_row(kind, f->fields[i].name, guess);
        if (!row) continue;
        err_t e = set_field(row, f->fields[i].value, out);
        if (e) return e;
        present |= (uint64_t)1 << row->bit;
        guess = row + 1;
    }
    for (const struct field_row *row = kind->rows; row < kind->rows + kind->count; row++)
        if (row->need == REQUIRED && !(present >> row->bit & 1))
            return err_new(ERR_FIELD, "the custom field <%.*s> is null", SLICE_ARG(row->wire));
    memcpy(out, &present, sizeof present);
    return NULL;
}

/* The texts stand behind the struct, in one piece of memory. */
void *header_copy(const struct header_kind *kind, const void *header)
{
    size_t bytes = 0;
    struct slice text;
    for (const struct field_row *row = kind->rows; row < kind->rows + kind->count; row++) {
        if (row->type != FIELD_TYPE_text) continue;
        memcpy(&text, (const char *)header + row->at, sizeof text);
        bytes += text.n;
    }
    char *copy = must_alloc(kind->size + bytes);
    uint8_t *to = (uint8_t *)copy + kind->size;
    memcpy(copy, header, kind->size);
    for (const struct field_row *row = kind->rows; row < kind->rows + kind->count; row++) {
        if (row->type != FIELD_TYPE_text) continue;
        memcpy(&text, copy + row->at, sizeof text);
        if (!text.p) continue;
        memcpy(to, text.p, text.n);
        text.p = to;
        to += text.n;
        memcpy(copy + row->at, &text, sizeof text);
    }
    return copy;
}

static void write_field(const struct field_row *row, const char *at, bool wanted, struct frame_writer *w)
{
    int32_t i32;
    int64_t i64;
    struct slice text;
    switch (row->type) {
    case FIELD_TYPE_text:
        memcpy(&text, at, sizeof text);
        if (text.p) frame_put(w, row->wire, text);
        break;
    case FIELD_TYPE_flag:
        if (wanted) frame_put(w, row->wire, *(const bool *)at ? SLICE("true") : SLICE("false"));
        break;
    case FIELD_TYPE_i32:
        memcpy(&i32, at, sizeof i32);
        if (wanted) frame_put_i64(w, row->wire, i32);
        break;
    case FIELD_TYPE_i64:
        memcpy(&i64, at, sizeof i64);
        if (wanted) frame_put_i64(w, row->wire, i64);
        break;
    }
}

void header_write(const struct header_kind *kind, const void *header, struct frame_writer *w)
{
    uint64_t present;
    memcpy(&present, header, sizeof present);
    for (const struct field_row *row = kind->rows; row < kind->rows + kind->count; row++)
        write_field(row, (const char *)header + row->at, row->need == REQUIRED || (present >> row->bit & 1), w);
}
