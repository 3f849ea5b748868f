#include "base/slice.h"

#include <stdlib.h>

int slice_compare(struct slice a, struct slice b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int c = n ? memcmp(a.p, b.p, n) : 0;
    if (c) return c;
    return a.n < b.n ? -1 : a.n > b.n;
}

static bool is_space(uint8_t c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

struct slice slice_trim(struct slice s)
{
    while (s.n && is_space(s.p[0])) s = slice_skip(s, 1);
    while (s.n && is_space(s.p[s.n - 1])) s.n--;
    return s;
}

char *slice_dup(struct slice s)
{
    char *text = malloc(s.n + 1);
    if (!text) return NULL;
    if (s.n) memcpy(text, s.p, s.n);
    text[s.n] = 0;
    return text;
}

bool slice_split(struct slice *rest, char mark, struct slice *out)
{
    if (!rest->p) return false;
    const uint8_t *at = rest->n ? memchr(rest->p, mark, rest->n) : NULL;
    if (!at) {
        *out = *rest;
        *rest = (struct slice){NULL, 0};
        return true;
    }
    *out = slice_of(rest->p, (size_t)(at - rest->p));
    *rest = slice_of(at + 1, rest->n - out->n - 1);
    return true;
}

bool slice_to_i64(struct slice s, int64_t *out)
{
    bool negative = s.n && s.p[0] == '-';
    if (s.n && (s.p[0] == '-' || s.p[0] == '+')) s = slice_skip(s, 1);
    if (s.n == 0 || s.n > 19) return false;
    uint64_t v = 0;
    for (size_t i = 0; i < s.n; i++) {
        uint64_t digit = (uint64_t)s.p[i] - '0';
        if (digit > 9) return false;
        v = v * 10 + digit;
    }
    if (v > (uint64_t)INT64_MAX + negative) return false;
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

bool slice_to_i32(struct slice s, int32_t *out)
{
    int64_t v;
    if (!slice_to_i64(s, &v) || v < INT32_MIN || v > INT32_MAX) return false;
    *out = (int32_t)v;
    return true;
}
