#include "base/properties_file.h"

void properties_file_begin(struct properties *p, struct slice text) { *p = (struct properties){text, 0, 1}; }

static bool is_blank(uint8_t c) { return c == ' ' || c == '\t' || c == '\f'; }
static bool is_end(uint8_t c) { return c == '\n' || c == '\r'; }

static void skip_blanks(struct slice *s)
{
    while (s->n && is_blank(s->p[0])) *s = slice_of(s->p + 1, s->n - 1);
}

/* Past the end of a line; \r\n is one. */
static struct slice after_end(struct properties *p, struct slice s)
{
    size_t n = s.n > 1 && s.p[0] == '\r' && s.p[1] == '\n' ? 2 : s.n ? 1 : 0;
    p->next_line++;
    return slice_of(s.p + n, s.n - n);
}

/* The next line that is neither blank nor a comment; false: there is none. */
static bool find_line(struct properties *p)
{
    while (p->rest.n) {
        skip_blanks(&p->rest);
        if (!p->rest.n) return false;
        uint8_t c = p->rest.p[0];
        if (!is_end(c) && c != '#' && c != '!') return true;
        while (p->rest.n && !is_end(p->rest.p[0])) p->rest = slice_of(p->rest.p + 1, p->rest.n - 1);
        p->rest = after_end(p, p->rest);
    }
    return false;
}

/* Copies one logical line, joined, with its escapes still in it. */
static struct slice join_line(struct properties *p, struct arena *arena)
{
    struct slice s = p->rest;
    size_t limit = 0;
    bool escaped = false;
    while (limit < s.n && (escaped || !is_end(s.p[limit]))) {   /* its length at most */
        if (escaped && s.p[limit] == '\r' && limit + 1 < s.n && s.p[limit + 1] == '\n') limit++;
        escaped = !escaped && s.p[limit] == '\\';
        limit++;
    }
    uint8_t *line = arena_take(arena, limit + 1);
    size_t n = 0;
    while (line && s.n && !is_end(s.p[0])) {
        if (s.p[0] == '\\' && s.n > 1 && is_end(s.p[1])) {
            s = after_end(p, slice_of(s.p + 1, s.n - 1));
            skip_blanks(&s);
        } else if (s.p[0] == '\\' && s.n > 1) {
            line[n++] = s.p[0];
            line[n++] = s.p[1];
            s = slice_of(s.p + 2, s.n - 2);
        } else {
            line[n++] = s.p[0];
            s = slice_of(s.p + 1, s.n - 1);
        }
    }
    p->rest = after_end(p, s);
    return line ? slice_of(line, n) : (struct slice){NULL, 0};
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* \uXXXX at s; a broken one stands for itself. */
static size_t put_unicode(struct slice s, uint8_t **to)
{
    uint32_t c = 0;
    for (size_t i = 2; i < 6; i++) {
        int digit = i < s.n ? hex_digit(s.p[i]) : -1;
        if (digit < 0) {
            *(*to)++ = 'u';
            return 2;
        }
        c = c * 16 + (uint32_t)digit;
    }
    if (c < 0x80) {
        *(*to)++ = (uint8_t)c;
    } else if (c < 0x800) {
        *(*to)++ = (uint8_t)(0xC0 | c >> 6);
        *(*to)++ = (uint8_t)(0x80 | (c & 0x3F));
    } else {
        *(*to)++ = (uint8_t)(0xE0 | c >> 12);
        *(*to)++ = (uint8_t)(0x80 | ((c >> 6) & 0x3F));
        *(*to)++ = (uint8_t)(0x80 | (c & 0x3F));
    }
    return 6;
}

/* Resolves escapes in place: the result is never longer. */
static struct slice unescape(struct slice s)
{
    static const char names[] = "tnrf", values[] = "\t\n\r\f";
    uint8_t *start = (uint8_t *)s.p, *to = start;   /* our own copy */
    while (s.n) {
        size_t used = 1;
        if (s.p[0] != '\\' || s.n == 1) {
            *to++ = s.p[0];
        } else if (s.p[1] == 'u') {
            used = put_unicode(s, &to);
        } else {
            const char *at = s.p[1] ? strchr(names, s.p[1]) : NULL;
            *to++ = at ? (uint8_t)values[at - names] : s.p[1];
            used = 2;
        }
        s = slice_of(s.p + used, s.n - used);
    }
    return slice_of(start, (size_t)(to - start));
}

bool properties_file_next(struct properties *p, struct arena *arena, struct slice *key, struct slice *value)
{
    if (!find_line(p)) return false;
    p->line = p->next_line;
    struct slice line = join_line(p, arena);
    if (!line.p) return false;
    size_t n = 0;
    while (n < line.n && line.p[n] != '=' && line.p[n] != ':' && !is_blank(line.p[n])) n += line.p[n] == '\\' ? 2 : 1;
    if (n > line.n) n = line.n;
    struct slice k = slice_of(line.p, n), v = slice_of(line.p + n, line.n - n);
    skip_blanks(&v);
    if (v.n && (v.p[0] == '=' || v.p[0] == ':')) v = slice_of(v.p + 1, v.n - 1);
    skip_blanks(&v);
    *key = unescape(k);
    *value = unescape(v);
    return true;
}

void properties_file_put(struct buf *out, struct slice key, struct slice value)
{
    buf_put_slice(out, key);
    buf_put_u8(out, '=');
    buf_put_slice(out, value);
    buf_put_u8(out, '\n');
}
