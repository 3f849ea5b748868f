/* fuzz.h - what the fuzz targets share. A target gets bytes from libFuzzer; whatever they are, the decoder must answer with a
 * result or an error, read nothing outside of them, and leak nothing. The seeds come from tests/fuzz/seeds.
 * Threads  owner */
#ifndef SKYLARK_TESTS_FUZZ_FUZZ_H
#define SKYLARK_TESTS_FUZZ_FUZZ_H

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

#endif
