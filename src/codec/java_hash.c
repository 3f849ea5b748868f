#include "codec/java_hash.h"

enum { REPLACEMENT = 0xFFFD };

/* Length of the sequence that begins with `first`, and the range its second byte must be in; 0: none begins so. */
static size_t sequence(uint8_t first, uint8_t *low, uint8_t *high)
{
    *low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
    *high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
    if (first >= 0xC2 && first <= 0xDF) return 2;
    if (first >= 0xE0 && first <= 0xEF) return 3;
    if (first >= 0xF0 && first <= 0xF4) return 4;
    return 0;
}

/* The code point at text.p, not ASCII; *used is how many bytes stand for it. */
static uint32_t decode(struct slice text, size_t *used)
{
    uint8_t low, high;
    size_t n = sequence(text.p[0], &low, &high);
    uint32_t code = text.p[0] & (n == 2 ? 0x1F : n == 3 ? 0x0F : 0x07);
    *used = 1;
    if (!n) return REPLACEMENT;
    for (size_t i = 1; i < n; i++) {
        if (i >= text.n || text.p[i] < low || text.p[i] > high) return REPLACEMENT;
        code = code << 6 | (text.p[i] & 0x3F);
        *used = i + 1;
        low = 0x80;
        high = 0xBF;
    }
    return code;
}

/* Eight letters of ASCII at once, the first one in the highest byte: neighbours are put together to pairs, fours and eight. */
static uint32_t hash_eight(uint32_t h, uint64_t letters)
{
    const uint64_t every_byte = 0x00FF00FF00FF00FF, every_pair = 0x0000FFFF0000FFFF;
    const uint32_t p2 = 31 * 31, p4 = p2 * p2;
    uint64_t pairs = (letters >> 8 & every_byte) * 31 + (letters & every_byte);
    uint64_t fours = (pairs >> 16 & every_pair) * p2 + (pairs & every_pair);
    return h * (p4 * p4) + (uint32_t)(fours >> 32) * p4 + (uint32_t)fours;
}

static bool is_ascii(uint64_t letters) { return !(letters & 0x8080808080808080); }

/* The code point at text.p + *i, not ASCII. */
static __attribute__((noinline)) uint32_t hash_other(uint32_t h, struct slice text, size_t *i)
{
    size_t used;
    uint32_t code = decode(slice_skip(text, *i), &used);
    *i += used;
    if (code < 0x10000) return 31 * h + code;
    h = 31 * h + (0xD800 + ((code - 0x10000) >> 10));
    return 31 * h + (0xDC00 + ((code - 0x10000) & 0x3FF));
}

int32_t java_hash(struct slice text) { return java_hash_more(0, text); }

int32_t java_hash_more(int32_t hash, struct slice text)
{
    uint32_t h = (uint32_t)hash;
    for (size_t i = 0; i < text.n;) {
        for (; text.n - i >= 8 && is_ascii(get_be64(text.p + i)); i += 8) h = hash_eight(h, get_be64(text.p + i));
        size_t end = text.n - i < 8 ? text.n : i + 8;
        for (; i < end && text.p[i] < 0x80; i++) h = 31 * h + text.p[i];
        if (i < end) h = hash_other(h, text, &i);
    }
    return (int32_t)h;
}
