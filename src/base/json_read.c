#include "base/json.h"

#include <math.h>
#include <stdlib.h>

void json_begin(struct json *j, struct slice text, struct arena *arena)
{
    *j = (struct json){.p = text.p, .end = text.n ? text.p + text.n : text.p, .start = text.p, .arena = arena};
    if (slice_starts(text, SLICE("\xEF\xBB\xBF"))) j->p += 3;   /* byte order mark */
}

void json_fail(struct json *j, const char *why)
{
    if (j->wrong) return;
    j->wrong = why;
    j->wrong_at = (size_t)(j->p - j->start);
    j->p = j->end;
}

static void skip_comment(struct json *j)
{
    bool lines = j->end - j->p > 1 && j->p[1] == '*';
    if (!lines && !(j->end - j->p > 1 && j->p[1] == '/')) {
        json_fail(j, "a stray slash");
        return;
    }
    const char *mark = lines ? "*/" : "\n";
    j->p += 2;
    const uint8_t *close = j->p < j->end ? memmem(j->p, (size_t)(j->end - j->p), mark, strlen(mark)) : NULL;
    if (close) j->p = close + strlen(mark);
    else if (lines) json_fail(j, "a comment without end");
    else j->p = j->end;
}

/* The next byte that means something; 0 at the end. */
static uint8_t look(struct json *j)
{
    for (; j->p < j->end; j->p++) {
        uint8_t c = *j->p;
        if (c == ' ' || c == '\n' || c == '\t' || c == '\r') continue;
        if (c != '/') return c;
        skip_comment(j);
        j->p--;
    }
    j->p = j->end;
    return 0;
}

err_t json_end(struct json *j, const char *what)
{
    look(j);
    if (j->p < j->end) json_fail(j, "text after the end");
    if (json_ok(j)) return NULL;
    return err_new(ERR_BODY, "%s: %s at byte %zu", what, j->wrong, j->wrong_at);
}

enum json_type json_peek(struct json *j)
{
    uint8_t c = look(j);
    if (j->wrong) return JSON_NOTHING;
    switch (c) {
    case '{': return JSON_OBJECT;
    case '[': return JSON_ARRAY;
    case '"':
    case '\'': return JSON_TEXT;
    case 'n': return JSON_NULL;
    case 't':
    case 'f': return JSON_BOOL;
    default: return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_NOTHING;
    }
}

static bool word(struct json *j, struct slice w)
{
    if (slice_starts(slice_of(j->p, (size_t)(j->end - j->p)), w)) {
        j->p += w.n;
        return true;
    }
    json_fail(j, "an unknown word");
    return false;
}

static bool enter(struct json *j, enum json_type type, const char *why)
{
    enum json_type found = json_peek(j);
    if (found == JSON_NULL) {
        word(j, SLICE("null"));
        return false;
    }
    if (found != type || j->depth == JSON_DEPTH_MAX) {
        json_fail(j, found != type ? why : "too deep");
        return false;
    }
    j->p++;
    j->depth++;
    uint64_t bit = 1ull << j->depth;
    j->objects = type == JSON_OBJECT ? j->objects | bit : j->objects & ~bit;
    j->begun &= ~bit;
    return true;
}

bool json_object(struct json *j) { return enter(j, JSON_OBJECT, "an object was expected"); }
bool json_array(struct json *j) { return enter(j, JSON_ARRAY, "a list was expected"); }

bool json_next(struct json *j)
{
    if (j->wrong || !j->depth) return false;
    uint64_t bit = 1ull << j->depth;
    uint8_t close = j->objects & bit ? '}' : ']';
    uint8_t c = look(j);
    if (c == ',' && j->begun & bit) {
        j->p++;
        c = look(j);
    } else if (c != close && j->begun & bit) {
        json_fail(j, "a comma was expected");
    }
    j->begun |= bit;
    if (!c) json_fail(j, "it ends too early");
    if (j->wrong) return false;
    if (c != close) return true;
    j->p++;
    j->depth--;
    return false;
}

void json_colon(struct json *j)
{
    if (look(j) == ':') j->p++;
    else json_fail(j, "a colon was expected");
}

/* Digits with sign, fraction and exponent, as they stand. */
static struct slice number_source(struct json *j)
{
    const uint8_t *from = j->p;
    while (j->p < j->end && *j->p && memchr("+-.0123456789eE", *j->p, 15)) j->p++;
    return slice_of(from, (size_t)(j->p - from));
}

struct slice json_key(struct json *j)
{
    struct slice key = {NULL, 0};
    int64_t number;
    enum json_type type = json_peek(j);
    if (type == JSON_TEXT) key = json_text(j);
    else if (type == JSON_NUMBER) key = number_source(j);
    if (!key.p || (type == JSON_NUMBER && !slice_to_i64(key, &number))) json_fail(j, "a key was expected");
    json_colon(j);
    return key;
}

/* n hexadecimal digits, or -1. */
static int32_t hex(struct json *j, int n)
{
    int32_t v = 0;
    for (; n; n--, j->p++) {
        uint8_t c = j->p < j->end ? *j->p : 0;
        uint8_t lower = c | 0x20;
        if (c >= '0' && c <= '9') v = v * 16 + (c - '0');
        else if (lower >= 'a' && lower <= 'f') v = v * 16 + (lower - 'a' + 10);
        else return -1;
    }
    return v;
}

static uint8_t *put_utf8(uint8_t *to, uint32_t c)
{
    if (c < 0x80) {
        *to++ = (uint8_t)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    static const uint8_t lead[] = {0, 0xC0, 0xE0, 0xF0};
    *to++ = (uint8_t)(lead[more] | c >> (6 * more));
    while (more--) *to++ = (uint8_t)(0x80 | ((c >> (6 * more)) & 0x3F));
    return to;
}

/* \uXXXX, two of them for what is outside the basic plane. Half a pair becomes '?', as it does in Java's UTF-8. */
static uint8_t *unescape_unicode(struct json *j, uint8_t *to)
{
    int32_t c = hex(j, 4);
    if (c >= 0xD800 && c < 0xDC00 && j->end - j->p >= 6 && j->p[0] == '\\' && j->p[1] == 'u') {
        const uint8_t *back = j->p;
        j->p += 2;
        int32_t low = hex(j, 4);
        uint32_t both = ((uint32_t)(c - 0xD800) << 10) + (uint32_t)(low - 0xDC00);
        if (low >= 0xDC00 && low < 0xE000) return put_utf8(to, 0x10000 + both);
        j->p = back;
    }
    if (c < 0) {
        json_fail(j, "a broken escape");
        return to;
    }
    return put_utf8(to, c >= 0xD800 && c < 0xE000 ? '?' : (uint32_t)c);
}

/* At the byte after a backslash. */
static uint8_t *unescape(struct json *j, uint8_t *to)
{
    static const char names[] = "\"'\\/bfnrtv0";
    static const char values[] = "\"'\\/\b\f\n\r\t\v\0";
    uint8_t c = j->p < j->end ? *j->p++ : 0;
    if (c == 'u') return unescape_unicode(j, to);
    int32_t v = -1;
    const char *at = c ? strchr(names, c) : NULL;
    if (c == 'x') v = hex(j, 2);
    else if (at) v = (uint8_t)values[at - names];
    if (v < 0) json_fail(j, "a broken escape");
    else to = put_utf8(to, (uint32_t)v);
    return to;
}

/* A text with escapes; it is never longer than its source. */
static struct slice escaped_text(struct json *j, const uint8_t *from, uint8_t quote)
{
    const uint8_t *close = j->p;
    while (close < j->end && *close != quote) close += *close == '\\' ? 2 : 1;
    if (close >= j->end) json_fail(j, "a text without end");
    uint8_t *text = json_ok(j) ? arena_take(j->arena, (size_t)(close - from)) : NULL;
    if (!text) {
        json_fail(j, "too large");
        return (struct slice){NULL, 0};
    }
    size_t plain = (size_t)(j->p - from);
    memcpy(text, from, plain);
    uint8_t *to = text + plain;
    while (json_ok(j) && j->p < close) {
        uint8_t c = *j->p++;
        if (c == '\\') to = unescape(j, to);
        else *to++ = c;
    }
    if (!json_ok(j)) return (struct slice){NULL, 0};
    j->p = close + 1;
    return slice_of(text, (size_t)(to - text));
}

static struct slice quoted(struct json *j)
{
    uint8_t quote = *j->p++;
    const uint8_t *from = j->p;
    for (; j->p < j->end; j->p++) {
        if (*j->p == '\\') return escaped_text(j, from, quote);
        if (*j->p != quote) continue;
        j->p++;
        return slice_of(from, (size_t)(j->p - 1 - from));
    }
    json_fail(j, "a text without end");
    return (struct slice){NULL, 0};
}

struct slice json_text(struct json *j)
{
    const uint8_t *from;
    switch (json_peek(j)) {
    case JSON_TEXT: return quoted(j);
    case JSON_NUMBER: return number_source(j);
    case JSON_NULL: word(j, SLICE("null")); return (struct slice){NULL, 0};
    case JSON_BOOL:
        from = j->p;
        word(j, *from == 't' ? SLICE("true") : SLICE("false"));
        return json_ok(j) ? slice_of(from, (size_t)(j->p - from)) : (struct slice){NULL, 0};
    default: json_fail(j, "a text was expected"); return (struct slice){NULL, 0};
    }
}

static bool to_double(struct slice s, double *out)
{
    char text[64], *end;
    if (s.n == 0 || s.n >= sizeof text) return false;
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    *out = strtod(text, &end);
    return end == text + s.n && isfinite(*out);
}

double json_double(struct json *j)
{
    struct slice s = json_text(j);
    double v = 0;
    if (s.p && !to_double(s, &v)) json_fail(j, "a number was expected");
    return v;
}

static int64_t integer(struct json *j, int64_t min, int64_t max)
{
    struct slice s = json_text(j);
    int64_t v = 0;
    double d;
    if (!s.p) return 0;
    if (slice_to_i64(s, &v)) {
        if (v < min || v > max) json_fail(j, "an integer out of range");
    } else if (!to_double(s, &d)) {
        json_fail(j, "an integer was expected");
    } else if (d < (double)min || d >= -(double)INT64_MIN || d > (double)max) {
        json_fail(j, "an integer out of range");
    } else {
        v = (int64_t)d;
    }
    return json_ok(j) ? v : 0;
}

int64_t json_i64(struct json *j) { return integer(j, INT64_MIN, INT64_MAX); }
int32_t json_i32(struct json *j) { return (int32_t)integer(j, INT32_MIN, INT32_MAX); }

bool json_bool(struct json *j)
{
    struct slice s = json_text(j);
    if (slice_eq(s, SLICE("true")) || slice_eq(s, SLICE("1"))) return true;
    if (!s.p || slice_eq(s, SLICE("false")) || slice_eq(s, SLICE("0"))) return false;
    json_fail(j, "true or false was expected");
    return false;
}

/* The depth limit bounds the recursion. */
struct slice json_skip(struct json *j)
{
    enum json_type type = json_peek(j);
    const uint8_t *from = j->p;
    if (type == JSON_ARRAY && json_array(j)) {
        while (json_next(j)) json_skip(j);
    } else if (type == JSON_OBJECT && json_object(j)) {
        while (json_next(j)) {
            if (json_peek(j) == JSON_OBJECT) {
                json_skip(j);
                json_colon(j);
            } else {
                json_key(j);
            }
            json_skip(j);
        }
    } else {
        json_text(j);
    }
    return json_ok(j) ? slice_of(from, (size_t)(j->p - from)) : (struct slice){NULL, 0};
}
