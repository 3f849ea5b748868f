/* The head of an HTTP request. */
#include "fuzz/fuzz.h"

#include "http/http.h"

static bool lies_in(struct slice part, const uint8_t *p, size_t n) { return !part.n || (part.p >= p && part.p + part.n <= p + n); }

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
    uint8_t *copy = fuzz_copy(p, n);
    struct http_head head;
    size_t size = 0;
    err_free(http_head_size(copy, n, &size));
    FUZZ_EXPECT(size <= n && size <= HTTP_HEAD_MAX);
    int status = http_head_parse(slice_of(copy, size ? size : n), &head);
    FUZZ_EXPECT(status == 0 || (status >= 400 && status < 600));
    if (!status) FUZZ_EXPECT(head.path.n && head.path.p[0] == '/' && lies_in(head.path, copy, n) && lies_in(head.method, copy, n));
    free(copy);
    return 0;
}
