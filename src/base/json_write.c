#include "base/json.h"

#include <stdio.h>
#include <stdlib.h>

void json_out_init(struct json_out *w, struct buf *out, enum json_style style)
{
    *w = (struct json_out){.out = out, .style = style};
}

static void new_line(struct json_out *w)
{
    if (w->style != JSON_PRETTY || !w->depth) return;
    buf_put_u8(w->out, '\n');
    for (int i = 0; i < w->depth; i++) buf_put_u8(w->out, '\t');
}

/* What stands before an element: nothing after its key, else a comma if it is not the first, and a new line. */
static void lead(struct json_out *w)
{
    if (!w->after_key) {
        if (w->more) buf_put_u8(w->out, ',');
        new_line(w);
    }
    w->after_key = false;
    w->more = true;
}

static void open(struct json_out *w, char mark)
{
    lead(w);
    buf_put_u8(w->out, (uint8_t)mark);
    w->depth++;
    w->more = false;
}

static void close(struct json_out *w, char mark)
{
    w->depth--;
    if (w->more) {
        if (w->style == JSON_PRETTY && !w->depth) buf_put_u8(w->out, '\n');
        new_line(w);
    }
    buf_put_u8(w->out, (uint8_t)mark);
    w->more = true;
}

void json_put_object(struct json_out *w) { open(w, '{'); }
void json_put_object_end(struct json_out *w) { close(w, '}'); }
void json_put_array(struct json_out *w) { open(w, '['); }
void json_put_array_end(struct json_out *w) { close(w, ']'); }

void json_put_key_done(struct json_out *w)
{
    buf_put_u8(w->out, ':');
    w->after_key = true;
}

static void put_escape(struct json_out *w, uint8_t c)
{
    static const char names[] = "\"\\nrtbf", values[] = "\"\\\n\r\t\b\f";
    const char *at = c ? strchr(values, c) : NULL;
    if (at) buf_put(w->out, (char[]){'\\', names[at - values]}, 2);
    else buf_printf(w->out, "\\u%04x", c);
}

/* One code point from well-formed UTF-8; anything else is taken bytewise. */
static uint32_t code_point(struct slice s, size_t *used)
{
    uint8_t c = s.p[0];
    size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : c >= 0xC0 ? 2 : 1;
    *used = 1;
    if (n == 1 || n > s.n) return c;
    uint32_t v = c & (0x7Fu >> n);
    for (size_t i = 1; i < n; i++) {
        if ((s.p[i] & 0xC0) != 0x80) return c;
        v = v << 6 | (s.p[i] & 0x3F);
    }
    *used = n;
    return v;
}

static void put_ascii(struct json_out *w, uint32_t c)
{
    if (c < 0x10000) {
        buf_printf(w->out, "\\u%04x", c);
        return;
    }
    c -= 0x10000;
    buf_printf(w->out, "\\u%04x\\u%04x", 0xD800 + ((c >> 10) & 0x3FF), 0xDC00 + (c & 0x3FF));
}

static void put_quoted(struct json_out *w, struct slice s)
{
    buf_put_u8(w->out, '"');
    size_t plain = 0;   /* bytes in front of s.p that are copied as they are */
    while (s.n) {
        uint8_t c = s.p[0];
        size_t used = 1;
        bool special = c < 0x20 || c == '"' || c == '\\';
        bool foreign = c >= 0x80 && w->style == JSON_STRICT;
        if (special || foreign) {
            buf_put(w->out, s.p - plain, plain);
            if (special) put_escape(w, c);
            else put_ascii(w, code_point(s, &used));
            plain = 0;
        } else {
            plain++;
        }
        s = slice_of(s.p + used, s.n - used);
    }
    if (plain) buf_put(w->out, s.p - plain, plain);   /* an empty text may have no bytes to point at */
    buf_put_u8(w->out, '"');
}

void json_put_key(struct json_out *w, struct slice key)
{
    lead(w);
    put_quoted(w, key);
    json_put_key_done(w);
}

void json_put_key_i64(struct json_out *w, int64_t key)
{
    lead(w);
    if (w->style == JSON_STRICT) buf_put_u8(w->out, '"');
    buf_put_i64_text(w->out, key);
    if (w->style == JSON_STRICT) buf_put_u8(w->out, '"');
    json_put_key_done(w);
}

void json_put_text(struct json_out *w, struct slice text)
{
    lead(w);
    if (text.p) put_quoted(w, text);
    else buf_put_text(w->out, "null");
}

void json_put_i64(struct json_out *w, int64_t v)
{
    lead(w);
    buf_put_i64_text(w->out, v);
}

void json_put_bool(struct json_out *w, bool v)
{
    lead(w);
    buf_put_text(w->out, v ? "true" : "false");
}

/* Java's form of the shortest digits that read back as v: 0.0, 12.5, 1.0E7, 1.2345678925E8. */
static void put_double(struct buf *out, double v)
{
    char text[40];
    int digits = 1;
    do snprintf(text, sizeof text, "%.*e", digits - 1, v);
    while (strtod(text, NULL) != v && ++digits <= 17);
    char *mark = strchr(text, 'e');
    int exponent = atoi(mark + 1);
    if (v != 0 && (exponent < -3 || exponent > 6)) {
        *mark = 0;
        buf_printf(out, digits == 1 ? "%s.0E%d" : "%sE%d", text, exponent);
        return;
    }
    int places = digits - 1 - exponent;
    buf_printf(out, "%.*f", places > 0 ? places : 1, v);
}

void json_put_double(struct json_out *w, double v)
{
    lead(w);
    put_double(w->out, v == v && v <= 1e308 && v >= -1e308 ? v : 0);   /* JSON has no NaN; the original writes null */
}

void json_put_source(struct json_out *w, struct slice json)
{
    lead(w);
    buf_put_slice(w->out, json);
}
