/* The JSON reader: walks through any value, with every way to read each. */
#include "fuzz/fuzz.h"

#include "base/json.h"

static void walk(struct json *j)
{
    switch (json_peek(j)) {
    case JSON_OBJECT:
        if (!json_object(j)) return;
        while (json_next(j)) {
            if (json_peek(j) == JSON_OBJECT) {
                json_skip(j);
                json_colon(j);
            } else {
                json_key(j);
            }
            walk(j);
        }
        return;
    case JSON_ARRAY:
        if (!json_array(j)) return;
        while (json_next(j)) walk(j);
        return;
    case JSON_TEXT: json_text(j); return;
    case JSON_NUMBER: json_i64(j); return;
    case JSON_BOOL: json_bool(j); return;
    default: json_skip(j);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    for (int how = 0; how < 3; how++) {
        uint8_t *copy = fuzz_copy(p, n);
        struct arena arena = ARENA_EMPTY;
        struct json j;
        json_begin(&j, slice_of(copy, n), &arena);
        if (how == 0) walk(&j);
        if (how == 1) json_skip(&j);
        if (how == 2) json_double(&j);
        err_free(json_end(&j, "fuzz"));
        arena_done(&arena);
        free(copy);
    }
    return 0;
}
