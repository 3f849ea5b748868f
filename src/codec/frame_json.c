#include "codec/frame_json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Reads from p to end. `broken` is set once and stops everything after it. */
struct reader {
    uint8_t *p;
    uint8_t *end;
    bool broken;
};

enum { DEPTH_MAX = 32 };   /* of values we only skip */

static void skip_spaces(struct reader *r)
{
    while (r->p < r->end && (*r->p == ' ' || *r->p == '\t' || *r->p == '\n' || *r->p == '\r')) r->p++;
}

/* Clients write none, so the usual case is one comparison. */
static inline void skip_space(struct reader *r)
{
    if (r->p < r->end && *r->p <= ' ') skip_spaces(r);
}

static inline bool accept(struct reader *r, uint8_t c)
{
    skip_space(r);
    if (r->p == r->end || *r->p != c) return false;
    r->p++;
    return true;
}

static inline void expect(struct reader *r, uint8_t c)
{
    if (!accept(r, c)) r->broken = true;
}

/* Sixteen bytes at a time, where the machine can. *found: p is at a mark. */
static inline uint8_t *skip_unmarked(uint8_t *p, const uint8_t *end, uint8_t quote, bool *found)
{
#ifdef __SSE2__
    const __m128i quotes = _mm_set1_epi8((char)quote), slashes = _mm_set1_epi8('\\');
    for (; end - p >= 16; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        int marks = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, slashes)));
        if (!marks) continue;
        *found = true;
        return p + __builtin_ctz((unsigned)marks);
    }
#else
    (void)end, (void)quote;
#endif
    *found = false;
    return p;
}

/* The first quote or backslash, or the end. Eight bytes at a time: the lowest marked byte of a word is always a true one. */
static uint8_t *find_mark(uint8_t *p, const uint8_t *end, uint8_t quote)
{
    bool found;
    p = skip_unmarked(p, end, quote, &found);
    if (found) return p;
    const uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
    const uint64_t quotes = ones * quote, slashes = ones * '\\';
    for (uint64_t word; end - p >= 8; p += 8) {
        memcpy(&word, p, 8);
        uint64_t q = word ^ quotes, s = word ^ slashes;
        uint64_t marks = (((q - ones) & ~q) | ((s - ones) & ~s)) & tops;
        if (marks) return p + __builtin_ctzll(marks) / 8;
    }
    while (p < end && *p != quote && *p != '\\') p++;
    return p;
}

static int hex_digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static int32_t hex4(struct reader *r)
{
    if (r->end - r->p < 4) return -1;
    int32_t v = 0;
    if (memcmp(r->p, "000", 3) == 0 && hex_digit(r->p[3]) >= 0) {   /* what ends names and values of properties */
        v = hex_digit(r->p[3]);
        r->p += 4;
        return v;
    }
    for (int i = 0; i < 4; i++) {
        int d = hex_digit(r->p[i]);
        if (d < 0) return -1;
        v = v << 4 | d;
    }
    r->p += 4;
    return v;
}

static uint8_t *put_utf8(uint8_t *w, uint32_t c)
{
    if (c < 0x80) {
        *w++ = (uint8_t)c;
    } else if (c < 0x800) {
        *w++ = (uint8_t)(0xC0 | c >> 6);
        *w++ = (uint8_t)(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        *w++ = (uint8_t)(0xE0 | c >> 12);
        *w++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *w++ = (uint8_t)(0x80 | (c & 0x3F));
    } else {
        *w++ = (uint8_t)(0xF0 | c >> 18);
        *w++ = (uint8_t)(0x80 | (c >> 12 & 0x3F));
        *w++ = (uint8_t)(0x80 | (c >> 6 & 0x3F));
        *w++ = (uint8_t)(0x80 | (c & 0x3F));
    }
    return w;
}

/* After "\u". A pair of surrogates is one character; half a pair becomes '?', as Java writes what it cannot encode. */
static uint8_t *unescape_unicode(struct reader *r, uint8_t *w)
{
    int32_t c = hex4(r);
    if (c < 0) {
        r->broken = true;
        return w;
    }
    if (c < 0xD800 || c > 0xDFFF) return put_utf8(w, (uint32_t)c);
    if (c < 0xDC00 && r->end - r->p >= 6 && r->p[0] == '\\' && r->p[1] == 'u') {
        uint8_t *back = r->p;
        r->p += 2;
        int32_t low = hex4(r);
        if (low >= 0xDC00 && low <= 0xDFFF)
            return put_utf8(w, 0x10000u + (((uint32_t)c - 0xD800) << 10) + ((uint32_t)low - 0xDC00));
        r->p = back;
    }
    *w++ = '?';
    return w;
}

static uint8_t *unescape(struct reader *r, uint8_t *w)
{
    if (r->p == r->end) {
        r->broken = true;
        return w;
    }
    uint8_t c = *r->p++;
    switch (c) {
    case 'n': *w++ = '\n'; return w;
    case 't': *w++ = '\t'; return w;
    case 'r': *w++ = '\r'; return w;
    case 'b': *w++ = '\b'; return w;
    case 'f': *w++ = '\f'; return w;
    case 'u': return unescape_unicode(r, w);
    case '"': case '\'': case '\\': case '/': *w++ = c; return w;
    }
    r->broken = true;
    return w;
}

/* A text of any length, from its quote on; escapes are resolved in place, which never needs more room than they took. */
static struct slice read_quoted(struct reader *r)
{
    if (r->p == r->end || (*r->p != '"' && *r->p != '\'')) {
        r->broken = true;
        return (struct slice){NULL, 0};
    }
    uint8_t quote = *r->p++;
    uint8_t *start = r->p, *w = r->p;
    while (!r->broken) {
        uint8_t *mark = find_mark(r->p, r->end, quote);
        size_t n = (size_t)(mark - r->p);
        if (w != r->p) memmove(w, r->p, n);
        w += n;
        r->p = mark + 1;
        if (mark == r->end) break;
        if (*mark == quote) return slice_of(start, (size_t)(w - start));
        w = unescape(r, w);
    }
    r->broken = true;
    r->p = r->end;
    return (struct slice){NULL, 0};
}

/* The length of a text of 1 to 15 bytes without escapes that begins at p; 0: it is none, or the machine cannot tell at once. */
static inline size_t short_text(const uint8_t *p, const uint8_t *end)
{
#ifdef __SSE2__
    if (end - p < 17 || *p != '"') return 0;
    __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(p + 1));
    __m128i quotes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), slashes = _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\'));
    unsigned quoted = (unsigned)_mm_movemask_epi8(quotes), marks = quoted | (unsigned)_mm_movemask_epi8(slashes);
    return quoted & marks & -marks ? (size_t)__builtin_ctz(marks) : 0;
#else
    (void)p, (void)end;
    return 0;
#endif
}

static inline struct slice read_text(struct reader *r)
{
    skip_space(r);
    uint8_t *p = r->p;
    if (r->end - p >= 3 && p[0] == '"' && p[2] == '"' && p[1] != '\\' && p[1] != '"') {
        r->p = p + 3;   /* one letter: most names of the short form, and many values */
        return slice_of(p + 1, 1);
    }
    size_t n = short_text(p, r->end);
    if (n) {
        r->p = p + n + 2;
        return slice_of(p + 1, n);
    }
    return read_quoted(r);
}

/* A number, true, false or null, as it is written. */
static struct slice read_word(struct reader *r)
{
    skip_space(r);
    uint8_t *start = r->p;
    while (r->p < r->end && ((*r->p >= '0' && *r->p <= '9') || (*r->p >= 'a' && *r->p <= 'z') || *r->p == '-' || *r->p == '+' ||
                             *r->p == '.' || *r->p == 'E'))
        r->p++;
    if (r->p == start) r->broken = true;
    return slice_of(start, (size_t)(r->p - start));
}

/* Any value, unused: what stands in a header that we do not know. */
static void skip_value(struct reader *r)
{
    int depth = 0;
    do {
        skip_space(r);
        if (r->p == r->end) {
            r->broken = true;
            return;
        }
        uint8_t c = *r->p;
        if (c == '"' || c == '\'') read_text(r);
        else if (c == '{' || c == '[') depth++, r->p++;
        else if (c == '}' || c == ']') depth--, r->p++;
        else if (c == ',' || c == ':') r->p++;
        else read_word(r);
        if (depth > DEPTH_MAX || depth < 0) r->broken = true;
    } while (depth && !r->broken);
}

/* A text, or a scalar as its text; p NULL for null and for what is neither. */
static struct slice read_scalar(struct reader *r)
{
    skip_space(r);
    if (r->p == r->end) {
        r->broken = true;
        return (struct slice){NULL, 0};
    }
    if (*r->p == '"' || *r->p == '\'') return read_text(r);
    if (*r->p == '{' || *r->p == '[') {
        uint8_t *start = r->p;
        skip_value(r);
        return slice_of(start, (size_t)(r->p - start));
    }
    struct slice word = read_word(r);
    return slice_eq(word, SLICE("null")) ? (struct slice){NULL, 0} : word;
}

static int32_t read_number(struct reader *r)
{
    struct slice text = read_scalar(r);
    int32_t v = 0;
    if (text.p && !slice_to_i32(text, &v)) r->broken = true;
    return v;
}

/* With its colon. */
static inline struct slice read_name(struct reader *r)
{
    uint8_t *p = r->p;
    if (r->end - p >= 4 && p[0] == '"' && p[2] == '"' && p[3] == ':' && p[1] != '\\' && p[1] != '"') {
        r->p = p + 4;
        return slice_of(p + 1, 1);
    }
    struct slice name = read_text(r);
    expect(r, ':');
    return name;
}

static err_t read_fields(struct reader *r, struct frame *out)
{
    skip_space(r);
    if (r->p < r->end && *r->p == 'n') {
        if (!slice_eq(read_word(r), SLICE("null"))) r->broken = true;
        return NULL;
    }
    expect(r, '{');
    if (accept(r, '}')) return NULL;
    while (!r->broken) {
        struct slice name = read_name(r);
        if (r->broken) return NULL;
        struct slice value = read_scalar(r);
        if (value.p && !r->broken) {
            if (out->count == FRAME_FIELDS_MAX) return err_new(ERR_FRAME, "more than %d header fields", FRAME_FIELDS_MAX);
            out->fields[out->count++] = (struct frame_field){name, value};
        }
        if (accept(r, '}')) return NULL;
        expect(r, ',');
    }
    return NULL;
}

static err_t read_member(struct reader *r, struct slice name, struct frame *out)
{
    switch (name.n) {
    case 4:
        if (slice_eq(name, SLICE("code"))) return out->code = read_number(r), NULL;
        if (slice_eq(name, SLICE("flag"))) return out->flag = read_number(r), NULL;
        break;
    case 6:
        if (slice_eq(name, SLICE("opaque"))) return out->opaque = read_number(r), NULL;
        if (slice_eq(name, SLICE("remark"))) return out->remark = read_scalar(r), NULL;
        break;
    case 7:
        if (slice_eq(name, SLICE("version"))) return out->version = read_number(r), NULL;
        break;
    case 8:
        if (slice_eq(name, SLICE("language"))) return out->language = language_parse(read_scalar(r)), NULL;
        break;
    case 9:
        if (slice_eq(name, SLICE("extFields"))) return out->count = 0, read_fields(r, out);
        break;
    }
    skip_value(r);
    return NULL;
}

err_t frame_json_decode(uint8_t *p, size_t n, struct frame *out)
{
    struct reader r = {p, p + n, false};
    expect(&r, '{');
    bool more = !r.broken && !accept(&r, '}');
    while (more && !r.broken) {
        struct slice name = read_text(&r);
        expect(&r, ':');
        if (r.broken) break;
        err_t e = read_member(&r, name, out);
        if (e) return e;
        more = !r.broken && !accept(&r, '}');
        if (more) expect(&r, ',');
    }
    skip_space(&r);
    if (r.broken || r.p != r.end) return err_new(ERR_FRAME, "the header is not the JSON of a command");
    return NULL;
}

void frame_json_field(struct frame_writer *w, struct slice name)
{
    if (w->count == 1) buf_put(w->out, ",\"extFields\":{", 14);
    else buf_put_u8(w->out, ',');
    uint8_t *p = buf_take(w->out, name.n + 3);   /* names are ours: nothing to escape */
    *p++ = '"';
    memcpy(p, name.p, name.n);
    memcpy(p + name.n, "\":", 2);
}

/* The letter behind the backslash, 'u' for \u00xx, 0 for a byte that stands as it is. */
static uint8_t escape_letter(uint8_t c)
{
    switch (c) {
    case '"': case '\\': return c;
    case '\n': return 'n';
    case '\r': return 'r';
    case '\t': return 't';
    case '\b': return 'b';
    case '\f': return 'f';
    }
    return c < 0x20 ? 'u' : 0;
}

/* None of the eight bytes has to be escaped. */
static bool is_plain(uint64_t word)
{
    const uint64_t ones = 0x0101010101010101ull, tops = 0x8080808080808080ull;
    uint64_t quote = word ^ (ones * '"'), slash = word ^ (ones * '\\');
    uint64_t marks = ((quote - ones) & ~quote) | ((slash - ones) & ~slash) | ((word - ones * 0x20) & ~word);
    return !(marks & tops);
}

static uint8_t *put_escaped(uint8_t *p, uint8_t c)
{
    static const char digits[] = "0123456789abcdef";
    uint8_t letter = escape_letter(c);
    if (!letter) {
        *p++ = c;
        return p;
    }
    *p++ = '\\';
    *p++ = letter;
    if (letter != 'u') return p;
    *p++ = '0';
    *p++ = '0';
    *p++ = (uint8_t)digits[c >> 4];
    *p++ = (uint8_t)digits[c & 15];
    return p;
}

void frame_json_text(struct buf *out, struct slice s)
{
    uint8_t *p = buf_take(out, s.n * 6 + 2);   /* the worst case; what is left over is given back */
    *p++ = '"';
    size_t i = 0;
#ifdef __SSE2__
    const __m128i quotes = _mm_set1_epi8('"'), slashes = _mm_set1_epi8('\\'), controls = _mm_set1_epi8(0x1F);
    for (; s.n - i >= 16; i += 16, p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(s.p + i));
        __m128i control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, controls), bytes);
        if (_mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(_mm_cmpeq_epi8(bytes, quotes), _mm_cmpeq_epi8(bytes, slashes))))) break;
        _mm_storeu_si128((__m128i *)(void *)p, bytes);
    }
#endif
    while (i < s.n) {
        uint64_t word;
        if (s.n - i >= 8 && (memcpy(&word, s.p + i, 8), is_plain(word))) {
            memcpy(p, &word, 8);
            p += 8;
            i += 8;
        } else {
            p = put_escaped(p, s.p[i++]);
        }
    }
    *p++ = '"';
    out->n = (size_t)(p - out->p);
}

void frame_json_end(struct frame_writer *w)
{
    if (w->count) buf_put_u8(w->out, '}');
    buf_put(w->out, ",\"flag\":", 8);
    buf_put_i64_text(w->out, w->head.flag);
    buf_put_text(w->out, ",\"language\":\"");
    buf_put_text(w->out, language_name(w->head.language));
    buf_put_text(w->out, "\",\"opaque\":");
    buf_put_i64_text(w->out, w->head.opaque);
    if (w->head.remark.p) {
        buf_put_text(w->out, ",\"remark\":");
        frame_json_text(w->out, w->head.remark);
    }
    buf_put_text(w->out, ",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
    buf_put_i64_text(w->out, w->head.version);
    buf_put_u8(w->out, '}');
}
