#include "codec/md5.h"

#include <string.h>

static const uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501, 0x698098d8, 0x8b44f7af, 0xffff5bb1,
    0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821, 0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453,
    0xd8a1e681, 0xe7d3fbc8, 0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a, 0xfffa3942,
    0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70, 0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05,
    0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665, 0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d,
    0x85845dd1, 0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};

static uint32_t get_le32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, 4);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    v = __builtin_bswap32(v);
#endif
    return v;
}

/* The four functions of RFC 1321; the first two with one operation less than there. */
#define F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))

#define STEP(f, a, b, c, d, k, i, turn)                    \
    (a) += f(b, c, d) + words[(k) % 16] + sines[i];        \
    (a) = (b) + ((a) << (turn) | (a) >> (32 - (turn)))

/* Four steps of a round that takes every `by`-th word. */
#define FOUR(f, i, first, by, t1, t2, t3, t4)                    \
    STEP(f, a, b, c, d, (first) + (by) * (i), i, t1);            \
    STEP(f, d, a, b, c, (first) + (by) * ((i) + 1), (i) + 1, t2); \
    STEP(f, c, d, a, b, (first) + (by) * ((i) + 2), (i) + 2, t3); \
    STEP(f, b, c, d, a, (first) + (by) * ((i) + 3), (i) + 3, t4)

#define ROUND(f, i, first, by, t1, t2, t3, t4)            \
    FOUR(f, i, first, by, t1, t2, t3, t4);                \
    FOUR(f, (i) + 4, first, by, t1, t2, t3, t4);          \
    FOUR(f, (i) + 8, first, by, t1, t2, t3, t4);          \
    FOUR(f, (i) + 12, first, by, t1, t2, t3, t4)

/* Written out: every receive of a gRPC client computes one of each body. */
static void mix(uint32_t state[static 4], const uint8_t *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3], words[16];
    for (int i = 0; i < 16; i++) words[i] = get_le32(block + 4 * i);
    ROUND(F, 0, 0, 1, 7, 12, 17, 22);
    ROUND(G, 16, 1, 5, 5, 9, 14, 20);
    ROUND(H, 32, 5, 3, 4, 11, 16, 23);
    ROUND(I, 48, 0, 7, 6, 10, 15, 21);
    state[0] += a;
    state[1] += b;
    state[2] += c;
    state[3] += d;
}

void md5(struct slice s, uint8_t out[static MD5_BYTES])
{
    uint32_t state[4] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    uint8_t tail[128] = {0};
    size_t whole = s.n / 64 * 64, rest = s.n - whole, end = rest < 56 ? 64 : 128;
    for (size_t i = 0; i < whole; i += 64) mix(state, s.p + i);
    if (rest) memcpy(tail, s.p + whole, rest);
    tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++) tail[end - 8 + i] = (uint8_t)((uint64_t)s.n * 8 >> 8 * i);
    for (size_t i = 0; i < end; i += 64) mix(state, tail + i);
    for (size_t i = 0; i < MD5_BYTES; i++) out[i] = (uint8_t)(state[i / 4] >> i % 4 * 8);
}

void md5_text(struct slice s, char out[static MD5_TEXT])
{
    uint8_t bytes[MD5_BYTES];
    md5(s, bytes);
    for (size_t i = 0; i < MD5_BYTES; i++) {
        out[2 * i] = "0123456789ABCDEF"[bytes[i] >> 4];
        out[2 * i + 1] = "0123456789ABCDEF"[bytes[i] & 15];
    }
    out[MD5_TEXT - 1] = 0;
}
