#include "filter/java_number.h"

#include "codec/record.h"

#include <math.h>
#include <stdlib.h>
#include <strings.h>

bool java_long(struct slice text, int64_t *out)
{
    enum { SAFE_DIGITS = 18 };
    bool negative = text.n && text.p[0] == '-';
    size_t i = text.n && (text.p[0] == '-' || text.p[0] == '+');
    uint64_t most = (uint64_t)INT64_MAX + negative, v = 0;
    if (i == text.n) return false;
    bool checks = text.n - i > SAFE_DIGITS;   /* a division a digit, for the few that need it */
    for (; i < text.n; i++) {
        uint64_t digit = (uint64_t)text.p[i] - '0';
        if (digit > 9 || (checks && v > (most - digit) / 10)) return false;
        v = v * 10 + digit;
    }
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool java_int(struct slice text, int64_t *out)
{
    int64_t v;
    if (!java_long(text, &v) || v < INT32_MIN || v > INT32_MAX) return false;
    *out = v;
    return true;
}

/* --- floating point --- */

static bool is_digit(uint8_t c) { return c >= '0' && c <= '9'; }
static bool is_hex_digit(uint8_t c) { return is_digit(c) || ((c | 32) >= 'a' && (c | 32) <= 'f'); }

static size_t take_while(struct slice *s, bool (*is)(uint8_t c))
{
    size_t n = 0;
    while (n < s->n && is(s->p[n])) n++;
    *s = slice_of(s->p + n, s->n - n);
    return n;
}

static bool take_letter(struct slice *s, uint8_t lower)
{
    if (!s->n || (s->p[0] | 32) != lower) return false;
    *s = slice_of(s->p + 1, s->n - 1);
    return true;
}

static bool take_byte(struct slice *s, uint8_t c)
{
    if (!s->n || s->p[0] != c) return false;
    *s = slice_of(s->p + 1, s->n - 1);
    return true;
}

/* e+7; false when the letter is there and no number behind it. */
static bool take_exponent(struct slice *s, uint8_t letter, bool required)
{
    if (!take_letter(s, letter)) return !required;
    if (!take_byte(s, '-')) take_byte(s, '+');
    return take_while(s, is_digit) > 0;
}

/* The rest behind a number without sign; false when there is none. */
static bool take_number(struct slice *s)
{
    bool hex = s->n > 1 && s->p[0] == '0' && (s->p[1] | 32) == 'x';
    if (hex) *s = slice_of(s->p + 2, s->n - 2);
    size_t digits = take_while(s, hex ? is_hex_digit : is_digit);
    if (take_byte(s, '.')) digits += take_while(s, hex ? is_hex_digit : is_digit);
    return digits && take_exponent(s, hex ? 'p' : 'e', hex);
}

static struct slice trim(struct slice s)
{
    while (s.n && s.p[0] <= ' ') s = slice_of(s.p + 1, s.n - 1);
    while (s.n && s.p[s.n - 1] <= ' ') s.n--;
    return s;
}

/* A number whose form was checked, for the C library. */
__attribute__((noinline)) static double read_checked(struct slice s)
{
    char text[RECORD_PROPERTIES_MAX + 1];
    memcpy(text, s.p, s.n);
    text[s.n] = 0;
    return strtod(text, NULL);
}

/* Up to 15 digits, point or none, no exponent: exact, as both parts are whole numbers that a double holds. */
static bool read_short(struct slice s, double *out)
{
    static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    int64_t v = 0;
    size_t digits = 0, behind = 0;
    bool point = false;
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] == '.' && !point) {
            point = true;
            continue;
        }
        if (!is_digit(s.p[i]) || ++digits > 15) return false;
        v = v * 10 + (s.p[i] - '0');
        behind += point;
    }
    if (!digits) return false;
    *out = (double)v / tens[behind];
    return true;
}

bool java_double(struct slice text, double *out)
{
    struct slice s = trim(text);
    bool negative = s.n && s.p[0] == '-';
    if (negative || (s.n && s.p[0] == '+')) s = slice_of(s.p + 1, s.n - 1);
    double v;
    if (!read_short(s, &v)) {
        struct slice rest = s;
        if (slice_eq(s, SLICE("NaN"))) {
            v = NAN;
        } else if (slice_eq(s, SLICE("Infinity"))) {
            v = INFINITY;
        } else {
            if (s.n > RECORD_PROPERTIES_MAX || !take_number(&rest)) return false;
            struct slice number = slice_of(s.p, s.n - rest.n);
            if (!take_letter(&rest, 'd')) take_letter(&rest, 'f');
            if (rest.n) return false;
            v = read_checked(number);
        }
    }
    *out = negative ? -v : v;
    return true;
}

bool java_bool(struct slice text) { return text.n == 4 && !strncasecmp((const char *)text.p, "true", 4); }

int java_compare(double a, double b)
{
    if (a < b) return -1;
    if (a > b) return 1;
    if (isnan(a) || isnan(b)) return isnan(a) - isnan(b);
    return !!signbit(b) - !!signbit(a);
}
