#include "filter/sql_lexer.h"

#include <strings.h>

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool begins_name(uint8_t c) { return ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_' || c == '$'; }

/* The byte at a place; 0 behind the end, which is part of no token. */
static uint8_t at(struct slice s, size_t i) { return i < s.n ? s.p[i] : 0; }

static size_t digits(struct slice s, size_t from)
{
    size_t i = from;
    while (is_digit(at(s, i))) i++;
    return i - from;
}

/* --- what is skipped --- */

/* A line comment ends with its line: without an end it is two minus signs. */
static size_t line_comment(struct slice s)
{
    if (at(s, 0) != '-' || at(s, 1) != '-') return 0;
    for (size_t i = 2; i < s.n; i++)
        if (s.p[i] == '\n' || s.p[i] == '\r') return i + 1;
    return 0;
}

static size_t block_comment(struct slice s)
{
    if (at(s, 0) != '/' || at(s, 1) != '*') return 0;
    const uint8_t *end = memmem(s.p + 2, s.n - 2, "*/", 2);
    return end ? (size_t)(end - s.p) + 2 : 0;
}

static struct slice skip_space(struct slice s)
{
    for (;;) {
        uint8_t c = at(s, 0);
        size_t n = c && strchr(" \t\n\r\f", c) ? 1 : line_comment(s);
        if (!n) n = block_comment(s);
        if (!n) return s;
        s = slice_of(s.p + n, s.n - n);
    }
}

/* --- tokens: the longest that fits counts --- */

/* e+7 and the like. */
static size_t exponent(struct slice s, size_t from)
{
    if ((at(s, from) | 32) != 'e') return 0;
    size_t sign = at(s, from + 1) == '+' || at(s, from + 1) == '-';
    size_t n = digits(s, from + 1 + sign);
    return n ? 1 + sign + n : 0;
}

static size_t float_length(struct slice s)
{
    size_t n = digits(s, 0);
    if (at(s, n) != '.') return n && exponent(s, n) ? n + exponent(s, n) : 0;
    size_t behind = digits(s, n + 1);
    if (!n && !behind) return 0;
    n += 1 + behind;
    return n + exponent(s, n);
}

/* No zeros lead: 05 is 0, and then 5. */
static size_t decimal_length(struct slice s)
{
    if (at(s, 0) == '0') return 1;
    size_t n = digits(s, 0);
    return n + (n && (at(s, n) | 32) == 'l');
}

/* Two quotes are one of the text; 0 without an end. */
static size_t text_length(struct slice s)
{
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] != '\'') continue;
        if (at(s, i + 1) != '\'') return i + 1;
        i++;
    }
    return 0;
}

static enum token_kind word_kind(struct slice word)
{
    static const struct { const char *word; enum token_kind kind; } words[] = {
        {"NOT", TOKEN_NOT}, {"AND", TOKEN_AND}, {"OR", TOKEN_OR}, {"BETWEEN", TOKEN_BETWEEN}, {"IN", TOKEN_IN}, {"TRUE", TOKEN_TRUE},
        {"FALSE", TOKEN_FALSE}, {"NULL", TOKEN_NULL}, {"IS", TOKEN_IS}, {"CONTAINS", TOKEN_CONTAINS}, {"STARTSWITH", TOKEN_STARTSWITH},
        {"ENDSWITH", TOKEN_ENDSWITH},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i].word) == word.n && !strncasecmp(words[i].word, (const char *)word.p, word.n)) return words[i].kind;
    return TOKEN_NAME;
}

static enum token_kind sign_kind(struct slice s, size_t *n)
{
    uint8_t next = at(s, 1);
    *n = 1;
    switch (s.p[0]) {
    case '(': return TOKEN_OPEN;
    case ')': return TOKEN_CLOSE;
    case ',': return TOKEN_COMMA;
    case '+': return TOKEN_PLUS;
    case '-': return TOKEN_MINUS;
    case '=': return TOKEN_EQUAL;
    case '<':
        *n = next == '>' || next == '=' ? 2 : 1;
        return next == '>' ? TOKEN_NOT_EQUAL : next == '=' ? TOKEN_LESS_EQUAL : TOKEN_LESS;
    case '>':
        *n = next == '=' ? 2 : 1;
        return next == '=' ? TOKEN_GREATER_EQUAL : TOKEN_GREATER;
    }
    return TOKEN_WRONG;
}

static struct token scan(struct slice s)
{
    struct token t = {.kind = TOKEN_END, .source = slice_of(s.p, 0)};
    size_t n = 0;
    if (!s.n) return t;
    if (begins_name(s.p[0])) {
        while (begins_name(at(s, n)) || is_digit(at(s, n))) n++;
        t.kind = word_kind(slice_of(s.p, n));
    } else if ((n = float_length(s))) {
        t.kind = TOKEN_FLOAT;
    } else if ((n = decimal_length(s))) {
        t.kind = TOKEN_DECIMAL;
    } else if (s.p[0] == '\'') {
        n = text_length(s);
        t.kind = n ? TOKEN_TEXT : TOKEN_WRONG;
        t.reason = "the text that begins here has no end";
    } else {
        t.kind = sign_kind(s, &n);
        t.reason = "this sign has no meaning here";
    }
    t.source = slice_of(s.p, n);
    return t;
}

struct token sql_next(struct slice *rest)
{
    struct slice s = skip_space(*rest);
    struct token t = scan(s);
    *rest = slice_of(s.p + t.source.n, s.n - t.source.n);
    return t;
}
