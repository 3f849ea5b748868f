#include "codec/frame.h"
#include "codec/frame_json.h"

#include <string.h>

static const char *const language_names[] = {
    "JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS", "RUST", "NODE_JS",
};
enum { LANGUAGES = sizeof language_names / sizeof *language_names };

const char *language_name(enum language l) { return (int)l < LANGUAGES ? language_names[l] : "UNKNOWN"; }

enum language language_parse(struct slice name)
{
    for (int i = 0; i < LANGUAGES; i++)
        if (slice_eq(name, slice_text(language_names[i]))) return (enum language)i;
    return LANGUAGE_UNKNOWN;
}

err_t frame_size(const uint8_t *p, size_t n, size_t *out)
{
    if (n < FRAME_LENGTH_BYTES) {
        *out = 0;
        return NULL;
    }
    uint32_t length = get_be32(p);
    if (length < 4 || length > FRAME_MAX_BYTES - FRAME_LENGTH_BYTES)
        return err_new(ERR_FRAME, "a frame cannot be %u bytes long", (unsigned)length);
    *out = (size_t)length + FRAME_LENGTH_BYTES;
    return NULL;
}

/* Where binary headers are read; every step checks what is left. */
struct cursor {
    const uint8_t *p;
    size_t left;
    bool broken;
};

static inline struct slice take(struct cursor *c, size_t n)
{
    if (c->broken || n > c->left) {
        c->broken = true;
        return (struct slice){NULL, 0};
    }
    struct slice s = slice_of(c->p, n);
    c->p += n;
    c->left -= n;
    return s;
}

static inline uint32_t take_u32(struct cursor *c)
{
    struct slice s = take(c, 4);
    return s.n ? get_be32(s.p) : 0;
}

static inline uint16_t take_u16(struct cursor *c)
{
    struct slice s = take(c, 2);
    return s.n ? get_be16(s.p) : 0;
}

static err_t decode_fields(struct cursor *c, struct frame *out)
{
    while (c->left && !c->broken) {
        struct slice name = take(c, take_u16(c));
        struct slice value = take(c, take_u32(c));
        if (c->broken) break;
        if (!name.n || !value.n) continue;   /* the original reads both as null */
        if (out->count == FRAME_FIELDS_MAX) return err_new(ERR_FRAME, "more than %d header fields", FRAME_FIELDS_MAX);
        out->fields[out->count++] = (struct frame_field){name, value};
    }
    return c->broken ? err_new(ERR_FRAME, "the binary header ends in the middle of a field") : NULL;
}

static err_t decode_binary(struct slice header, struct frame *out)
{
    struct cursor c = {header.p, header.n, false};
    out->code = (int16_t)take_u16(&c);
    struct slice language = take(&c, 1);
    out->language = language.n && language.p[0] < LANGUAGES ? (enum language)language.p[0] : LANGUAGE_UNKNOWN;
    out->version = (int16_t)take_u16(&c);
    out->opaque = (int32_t)take_u32(&c);
    out->flag = (int32_t)take_u32(&c);
    struct slice remark = take(&c, take_u32(&c));
    if (remark.n) out->remark = remark;
    struct slice fields = take(&c, take_u32(&c));
    if (c.broken) return err_new(ERR_FRAME, "the binary header is cut short");
    c = (struct cursor){fields.p, fields.n, false};
    return decode_fields(&c, out);
}

err_t frame_decode(uint8_t *p, size_t n, struct frame *out)
{
    if (n < 8) return err_new(ERR_FRAME, "a frame of %zu bytes", n);
    size_t header = get_be32(p + 4) & 0xFFFFFF;
    if (header > n - 8) return err_new(ERR_FRAME, "a header of %zu bytes in a frame of %zu", header, n);
    out->form = (enum frame_form)p[4];
    out->code = out->version = out->opaque = out->flag = 0;
    out->language = LANGUAGE_UNKNOWN;
    out->remark = (struct slice){NULL, 0};
    out->count = 0;
    out->body = slice_of(p + 8 + header, n - 8 - header);
    switch (out->form) {
    case FRAME_JSON: return frame_json_decode(p + 8, header, out);
    case FRAME_BINARY: return decode_binary(slice_of(p + 8, header), out);
    }
    return err_new(ERR_FRAME, "unknown serialization %u", p[4]);
}

struct slice frame_get(const struct frame *f, struct slice name)
{
    for (size_t i = 0; i < f->count; i++)
        if (slice_eq(f->fields[i].name, name)) return f->fields[i].value;
    return (struct slice){NULL, 0};
}

void frame_begin(struct frame_writer *w, struct buf *out, const struct frame_head *head)
{
    *w = (struct frame_writer){.out = out, .start = out->n, .head = *head};
    buf_reserve(out, 512);
    buf_take(out, 8);   /* lengths, filled in by frame_end */
    if (head->form == FRAME_JSON) {
        buf_put(out, "{\"code\":", 8);
        buf_put_i64_text(out, head->code);
        return;
    }
    buf_put_be16(out, (uint16_t)head->code);
    buf_put_u8(out, (uint8_t)head->language);
    buf_put_be16(out, (uint16_t)head->version);
    buf_put_be32(out, (uint32_t)head->opaque);
    buf_put_be32(out, (uint32_t)head->flag);
    buf_put_be32(out, (uint32_t)head->remark.n);
    buf_put_slice(out, head->remark);
    w->fields_at = out->n;
    buf_put_be32(out, 0);
}

static size_t borrowed_bytes(const struct frame *f)
{
    size_t n = f->remark.n + f->body.n;
    for (size_t i = 0; i < f->count; i++) n += f->fields[i].name.n + f->fields[i].value.n;
    return n;
}

static void copy_slice(struct slice *s, uint8_t **at)
{
    if (!s->n) return;
    memcpy(*at, s->p, s->n);
    s->p = *at;
    *at += s->n;
}

struct frame *frame_copy(const struct frame *f)
{
    size_t head = offsetof(struct frame, fields) + f->count * sizeof *f->fields;
    struct frame *copy = must_alloc(head + borrowed_bytes(f));
    uint8_t *at = (uint8_t *)copy + head;
    memcpy(copy, f, head);
    copy_slice(&copy->remark, &at);
    copy_slice(&copy->body, &at);
    for (size_t i = 0; i < f->count; i++) {
        copy_slice(&copy->fields[i].name, &at);
        copy_slice(&copy->fields[i].value, &at);
    }
    return copy;
}

void frame_put(struct frame_writer *w, struct slice name, struct slice value)
{
    w->count++;
    if (w->head.form == FRAME_JSON) {
        frame_json_field(w, name);
        frame_json_text(w->out, value);
        return;
    }
    uint8_t *p = buf_take(w->out, 2 + name.n + 4 + value.n);
    put_be16(p, (uint16_t)name.n);
    memcpy(p + 2, name.p, name.n);
    put_be32(p + 2 + name.n, (uint32_t)value.n);
    if (value.n) memcpy(p + 2 + name.n + 4, value.p, value.n);
}

void frame_put_i64(struct frame_writer *w, struct slice name, int64_t value)
{
    if (w->head.form == FRAME_JSON) {
        w->count++;
        frame_json_field(w, name);
        uint8_t *quote = buf_take(w->out, 1);
        *quote = '"';
        buf_put_i64_text(w->out, value);
        buf_put_u8(w->out, '"');
        return;
    }
    char digits[24];
    struct buf text = {(uint8_t *)digits, 0, sizeof digits};
    buf_put_i64_text(&text, value);
    frame_put(w, name, buf_slice(&text));
}

void frame_end(struct frame_writer *w, size_t body_bytes)
{
    if (w->head.form == FRAME_JSON) frame_json_end(w);
    else put_be32(w->out->p + w->fields_at, (uint32_t)(w->out->n - w->fields_at - 4));
    uint8_t *p = w->out->p + w->start;
    uint32_t header = (uint32_t)(w->out->n - w->start - 8);
    put_be32(p, (uint32_t)(4 + header + body_bytes));
    put_be32(p + 4, (uint32_t)w->head.form << 24 | header);
}
