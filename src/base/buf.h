/* buf.h - a growing byte buffer. Threads: its owner.
 * Memory   growth that fails ends the process with one line: a buffer too large is refused earlier, by whoever
 *          read its length from outside. */
#ifndef SKYLARK_BASE_BUF_H
#define SKYLARK_BASE_BUF_H

#include "base/err.h"
#include "base/slice.h"

struct buf {
    uint8_t *p;
    size_t n;
    size_t cap;
};

#define BUF_EMPTY ((struct buf){NULL, 0, 0})

void buf_done(struct buf *b);                         /* releases; the buffer is empty again */
void buf_reserve(struct buf *b, size_t more);         /* room for `more` bytes after n */
void buf_put_text(struct buf *b, const char *text);
void buf_put_i64_text(struct buf *b, int64_t v);      /* decimal */
void buf_printf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);

static inline void buf_clear(struct buf *b) { b->n = 0; }
static inline struct slice buf_slice(const struct buf *b) { return slice_of(b->p, b->n); }
/* The next `n` bytes, uninitialised, counted as used. Valid until the buffer grows. */
static inline uint8_t *buf_take(struct buf *b, size_t n)
{
    if (b->cap - b->n < n) buf_reserve(b, n);
    uint8_t *p = b->p + b->n;
    b->n += n;
    return p;
}
static inline void buf_put(struct buf *b, const void *p, size_t n)
{
    if (n) memcpy(buf_take(b, n), p, n);
}
static inline void buf_put_slice(struct buf *b, struct slice s) { buf_put(b, s.p, s.n); }
static inline void buf_put_u8(struct buf *b, uint8_t v) { *buf_take(b, 1) = v; }
static inline void buf_put_be16(struct buf *b, uint16_t v) { put_be16(buf_take(b, 2), v); }
static inline void buf_put_be32(struct buf *b, uint32_t v) { put_be32(buf_take(b, 4), v); }
static inline void buf_put_be64(struct buf *b, uint64_t v) { put_be64(buf_take(b, 8), v); }
/* Length u32, bytes: a part of a key that does not run together with the next, whatever bytes it has. */
static inline void buf_put_counted(struct buf *b, struct slice s)
{
    buf_put_be32(b, (uint32_t)s.n);
    buf_put_slice(b, s);
}

/* malloc, calloc and strdup that end the process when memory is short. */
void *must_alloc(size_t n);
void *must_zero(size_t n);
char *must_strdup(const char *text);
char *must_dup(struct slice s);                       /* NUL-terminated */

#endif
