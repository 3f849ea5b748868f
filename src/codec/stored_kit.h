/* stored_kit.h - for the tests of stored forms: the golden vectors, one JSON object a line. */
#ifndef SKYLARK_CODEC_STORED_KIT_H
#define SKYLARK_CODEC_STORED_KIT_H

#include "kit/test.h"

#include <jansson.h>

/* Calls `check` for each line of tests/fixtures/vectors/NAME; at least `least` lines must be there. */
static inline void each_vector(const char *name, size_t least, void (*check)(json_t *row))
{
    char path[128];
    size_t count = 0;
    snprintf(path, sizeof path, "vectors/%s", name);
    struct buf file = test_fixture(path);
    struct slice rest = buf_slice(&file), line;
    while (slice_split(&rest, '\n', &line)) {
        if (!line.n) continue;
        json_t *row = json_loadb((const char *)line.p, line.n, JSON_ALLOW_NUL, NULL);
        EXPECT(row);
        check(row);
        json_decref(row);
        count++;
    }
    EXPECT(count >= least);
    buf_done(&file);
}

static inline json_int_t row_number(json_t *row, const char *key) { return json_integer_value(json_object_get(row, key)); }
static inline struct slice row_text(json_t *row, const char *key)
{
    json_t *v = json_object_get(row, key);
    return slice_of(json_string_value(v), json_string_length(v));
}
/* The bytes that a field holds in hexadecimal; buf_done() by the caller. */
static inline struct buf row_bytes(json_t *row, const char *key)
{
    struct buf b = BUF_EMPTY;
    test_unhex(row_text(row, key), &b);
    return b;
}

#endif
