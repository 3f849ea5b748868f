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

/* Eight letters of ASCII at once: their products do not wait for each other. */
static uint32_t hash_eight(uint32_t h, const uint8_t *p)
{
    const uint32_t p2 = 31 * 31, p3 = p2 * 31, p4 = p3 * 31, p5 = p4 * 31, p6 = p5 * 31, p7 = p6 * 31, p8 = p7 * 31;
    return h * p8 + p[0] * p7 + p[1] * p6 + p[2] * p5 + p[3] * p4 + p[4] * p3 + p[5] * p2 + p[6] * 31 + p[7];
}

static bool is_ascii(const uint8_t *p)
{
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return !(word & 0x8080808080808080ull);
}

int32_t java_hash(struct slice text) { return java_hash_more(0, text); }

int32_t java_hash_more(int32_t hash, struct slice text)
{
    uint32_t h = (uint32_t)hash;
    for (size_t i = 0; i < text.n;) {
        if (text.n - i >= 8 && is_ascii(text.p + i)) {
            h = hash_eight(h, text.p + i);
            i += 8;
            continue;
        }
        if (text.p[i] < 0x80) {
            h = 31 * h + text.p[i++];
            continue;
        }
        size_t used;
        uint32_t code = decode(slice_skip(text, i), &used);
        i += used;
        if (code >= 0x10000) {
            h = 31 * h + (0xD800 + ((code - 0x10000) >> 10));
            code = 0xDC00 + ((code - 0x10000) & 0x3FF);
        }
        h = 31 * h + code;
    }
    return (int32_t)h;
}
