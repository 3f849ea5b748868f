#include "filter/filter.h"

#include <assert.h>
#include <math.h>

struct bloom bloom_of(int32_t error_percent, int32_t expected)
{
    double rate = error_percent / 100.0;
    int64_t bits = (int64_t)ceil(expected * (log(1 / rate) / log(2)) * (log(M_E) / log(2)));
    struct bloom b = {.positions = (int32_t)ceil(log(rate) / log(0.5)), .bits = (int32_t)(8 * ((bits + 7) / 8))};
    assert(b.positions >= 1 && b.positions <= BLOOM_POSITIONS_MAX && b.bits > 0);
    return b;
}

/* --- murmur3, 128 bits for 64-bit machines, seed 0: the first half --- */

static uint64_t rotate(uint64_t v, int by) { return v << by | v >> (64 - by); }

static uint64_t finish(uint64_t v)
{
    v = (v ^ v >> 33) * 0xff51afd7ed558ccdu;
    v = (v ^ v >> 33) * 0xc4ceb9fe1a85ec53u;
    return v ^ v >> 33;
}

static uint64_t first_part(uint64_t k) { return rotate(k * 0x87c37b91114253d5u, 31) * 0x4cf5ad432745937fu; }
static uint64_t second_part(uint64_t k) { return rotate(k * 0x4cf5ad432745937fu, 33) * 0x87c37b91114253d5u; }

/* Up to 8 bytes, the least significant first. */
static uint64_t little_endian(const uint8_t *p, size_t n)
{
    uint64_t v = 0;
    while (n--) v = v << 8 | p[n];
    return v;
}

static uint64_t murmur3(struct slice s)
{
    uint64_t h1 = 0, h2 = 0;
    size_t at = 0;
    for (; at + 16 <= s.n; at += 16) {
        h1 = (rotate(h1 ^ first_part(little_endian(s.p + at, 8)), 27) + h2) * 5 + 0x52dce729;
        h2 = (rotate(h2 ^ second_part(little_endian(s.p + at + 8, 8)), 31) + h1) * 5 + 0x38495ab5;
    }
    size_t left = s.n - at;
    if (left > 8) h2 ^= second_part(little_endian(s.p + at + 8, left - 8));
    if (left) h1 ^= first_part(little_endian(s.p + at, left < 8 ? left : 8));
    h1 ^= s.n;
    h2 ^= s.n;
    h1 += h2;
    h2 += h1;
    return finish(h1) + finish(h2);
}

void bloom_positions(const struct bloom *b, struct slice name, int32_t out[static BLOOM_POSITIONS_MAX])
{
    uint64_t hash = murmur3(name);
    uint32_t first = (uint32_t)hash, second = (uint32_t)(hash >> 32);
    for (int32_t i = 0; i < b->positions; i++) {
        int32_t mixed = (int32_t)(first + (uint32_t)(i + 1) * second);
        out[i] = (mixed < 0 ? ~mixed : mixed) % b->bits;
    }
}
