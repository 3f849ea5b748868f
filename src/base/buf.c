#include "base/buf.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void *checked(void *p)
{
    if (p) return p;
    fputs("skylark: out of memory\n", stderr);
    abort();
}

void *must_alloc(size_t n) { return checked(malloc(n ? n : 1)); }
void *must_zero(size_t n) { return checked(calloc(1, n ? n : 1)); }
char *must_strdup(const char *text) { return checked(strdup(text)); }
char *must_dup(struct slice s) { return checked(slice_dup(s)); }

void buf_done(struct buf *b)
{
    free(b->p);
    *b = BUF_EMPTY;
}

void buf_reserve(struct buf *b, size_t more)
{
    if (b->cap - b->n >= more) return;
    size_t cap = b->cap ? b->cap * 2 : 256;
    if (cap - b->n < more) cap = b->n + more;
    b->p = checked(realloc(b->p, cap));
    b->cap = cap;
}

void buf_put_text(struct buf *b, const char *text) { buf_put(b, text, strlen(text)); }

/* Two digits at a time: numbers are half of what the headers of frames hold. */
static char *digits_before(char *p, uint64_t u)
{
    static const char pairs[] = "00010203040506070809" "10111213141516171819" "20212223242526272829" "30313233343536373839" "40414243444546474849"
                                "50515253545556575859" "60616263646566676869" "70717273747576777879" "80818283848586878889" "90919293949596979899";
    for (; u >= 100; u /= 100) memcpy(p -= 2, pairs + u % 100 * 2, 2);
    if (u >= 10) memcpy(p -= 2, pairs + u * 2, 2);
    else *--p = (char)('0' + u);
    return p;
}

void buf_put_i64_text(struct buf *b, int64_t v)
{
    char digits[24];
    char *end = digits + sizeof digits;
    char *p = digits_before(end, v < 0 ? 0 - (uint64_t)v : (uint64_t)v);
    if (v < 0) *--p = '-';
    buf_put(b, p, (size_t)(end - p));
}

void buf_printf(struct buf *b, const char *fmt, ...)
{
    va_list args, again;
    va_start(args, fmt);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (n > 0) {
        buf_reserve(b, (size_t)n + 1);
        vsnprintf((char *)b->p + b->n, (size_t)n + 1, fmt, again);
        b->n += (size_t)n;
    }
    va_end(again);
}
