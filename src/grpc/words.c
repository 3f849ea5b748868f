#include "grpc/words.h"

#include <stdio.h>

enum { TIMEOUT_DIGITS_MAX = 8 };

bool timeout_parse(struct slice text, int64_t *out_ms)
{
    if (text.n < 2 || text.n > TIMEOUT_DIGITS_MAX + 1) return false;
    int64_t v = 0;
    for (size_t i = 0; i + 1 < text.n; i++) {
        if (text.p[i] < '0' || text.p[i] > '9') return false;
        v = v * 10 + (text.p[i] - '0');
    }
    switch (text.p[text.n - 1]) {
    case 'H': *out_ms = v * 3600000; return true;
    case 'M': *out_ms = v * 60000; return true;
    case 'S': *out_ms = v * 1000; return true;
    case 'm': *out_ms = v; return true;
    case 'u': *out_ms = (v + 999) / 1000; return true;
    case 'n': *out_ms = (v + 999999) / 1000000; return true;
    }
    return false;
}

void status_text_encode(struct slice text, struct buf *out)
{
    static const char hex[] = "0123456789ABCDEF";
    size_t before = out->n;
    for (size_t i = 0; i < text.n && out->n - before + 3 <= STATUS_TEXT_MAX; i++) {
        uint8_t c = text.p[i];
        if (c >= 0x20 && c < 0x7F && c != '%') {
            buf_put_u8(out, c);
        } else {
            char three[3] = {'%', hex[c >> 4], hex[c & 15]};
            buf_put(out, three, sizeof three);
        }
    }
}

bool is_grpc_content(struct slice type)
{
    struct slice plain = SLICE("application/grpc");
    if (!slice_starts(type, plain)) return false;
    return type.n == plain.n || type.p[plain.n] == '+' || type.p[plain.n] == ';';
}

bool list_has(struct slice list, struct slice word)
{
    for (struct slice one; slice_split(&list, ',', &one);)
        if (slice_eq(slice_trim(one), word)) return true;
    return false;
}

bool path_split(struct slice path, struct slice *out_service, struct slice *out_method)
{
    if (!path.n || path.p[0] != '/') return false;
    const uint8_t *mark = memrchr(path.p, '/', path.n);
    if (mark == path.p) return false;
    *out_service = slice_of(path.p + 1, (size_t)(mark - path.p) - 1);
    *out_method = slice_skip(path, (size_t)(mark - path.p) + 1);
    return out_service->n && out_method->n;
}
