/* slice.h - borrowed bytes: a pointer and a length, nothing owned. Threads: any. */
#ifndef SKYLARK_BASE_SLICE_H
#define SKYLARK_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
    const uint8_t *p;
    size_t n;
};

/* A slice of a string literal. */
#define SLICE(literal) ((struct slice){(const uint8_t *)("" literal), sizeof(literal) - 1})
/* For printf: "%.*s", SLICE_ARG(s) */
#define SLICE_ARG(s) (int)(s).n, (const char *)(s).p

static inline struct slice slice_of(const void *p, size_t n) { return (struct slice){(const uint8_t *)p, n}; }
static inline struct slice slice_text(const char *text) { return (struct slice){(const uint8_t *)text, text ? strlen(text) : 0}; }
/* Most names that differ do so in length or in the first byte: memcmp is for the rest. */
static inline bool slice_eq(struct slice a, struct slice b)
{
    return a.n == b.n && (a.n == 0 || (a.p[0] == b.p[0] && (a.n == 1 || memcmp(a.p, b.p, a.n) == 0)));
}
static inline bool slice_starts(struct slice s, struct slice prefix) { return s.n >= prefix.n && memcmp(s.p, prefix.p, prefix.n) == 0; }
static inline struct slice slice_skip(struct slice s, size_t n)
{
    if (!n) return s;   /* also of no slice at all */
    return n <= s.n ? (struct slice){s.p + n, s.n - n} : (struct slice){NULL, 0};
}

/* Bytewise order; a prefix sorts before the longer one. */
int slice_compare(struct slice a, struct slice b);
/* White space (space, tab, CR, LF) cut from both ends. */
struct slice slice_trim(struct slice s);
/* A NUL-terminated copy; the caller frees it. NULL when memory is short. */
char *slice_dup(struct slice s);
/* Cuts the part before `mark` off the front of *rest; false when *rest is used up. "a;b" gives "a", then "b". */
bool slice_split(struct slice *rest, char mark, struct slice *out);
/* Decimal number, whole slice, optional sign; false on anything else or overflow. */
bool slice_to_i64(struct slice s, int64_t *out);
bool slice_to_i32(struct slice s, int32_t *out);

static inline uint16_t get_be16(const uint8_t *p) { return (uint16_t)(p[0] << 8 | p[1]); }
static inline uint32_t get_be32(const uint8_t *p) { uint32_t v; memcpy(&v, p, 4); return __builtin_bswap32(v); }
static inline uint64_t get_be64(const uint8_t *p) { uint64_t v; memcpy(&v, p, 8); return __builtin_bswap64(v); }
static inline void put_be16(uint8_t *p, uint16_t v) { p[0] = (uint8_t)(v >> 8); p[1] = (uint8_t)v; }
static inline void put_be32(uint8_t *p, uint32_t v) { v = __builtin_bswap32(v); memcpy(p, &v, 4); }
static inline void put_be64(uint8_t *p, uint64_t v) { v = __builtin_bswap64(v); memcpy(p, &v, 8); }

#endif
