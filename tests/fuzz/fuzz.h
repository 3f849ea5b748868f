/* fuzz.h - what the fuzz targets share. A target gets bytes from libFuzzer; whatever they are, the decoder must answer with a
 * result or an error, read nothing outside of them, and leak nothing. The seeds come from tests/fuzz/seeds.
 * Threads  owner */
#ifndef SKYLARK_TESTS_FUZZ_FUZZ_H
#define SKYLARK_TESTS_FUZZ_FUZZ_H

#include "base/slice.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Ends the run with a report unless the condition holds. */
#define FUZZ_EXPECT(condition) ((condition) ? (void)0 : abort())

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n);

/* A copy in memory of exactly its size, which the decoder may change. */
static inline uint8_t *fuzz_copy(const uint8_t *p, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    if (n) memcpy(copy, p, n);
    return copy;
}

/* The next part of a target's bytes: its length in two bytes, then so much, or what there is. */
static inline struct slice fuzz_take(struct slice *rest)
{
    if (rest->n < 2) return (struct slice){NULL, 0};
    size_t n = get_be16(rest->p);
    *rest = slice_skip(*rest, 2);
    if (n > rest->n) n = rest->n;
    struct slice s = slice_of(rest->p, n);
    *rest = slice_skip(*rest, n);
    return s;
}

#endif
