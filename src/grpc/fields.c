#include "grpc/fields.h"

enum { VARINT = 0, FIXED64 = 1, BYTES = 2, FIXED32 = 5, VARINT_MAX_BYTES = 10 };

static bool take_varint(struct slice *rest, uint64_t *out)
{
    uint64_t v = 0;
    for (size_t i = 0; i < rest->n && i < VARINT_MAX_BYTES; i++) {
        v |= (uint64_t)(rest->p[i] & 0x7F) << (7 * i);
        if (rest->p[i] & 0x80) continue;
        *rest = slice_skip(*rest, i + 1);
        *out = v;
        return true;
    }
    return false;
}

static bool take(struct slice *rest, size_t n, struct slice *out)
{
    if (rest->n < n) return false;
    *out = slice_of(rest->p, n);
    *rest = slice_skip(*rest, n);
    return true;
}

bool field_next(struct slice *rest, struct field_read *out)
{
    struct slice at = *rest, fixed;
    uint64_t tag, n;
    *out = (struct field_read){.number = 0};
    if (!take_varint(&at, &tag) || tag >> 3 == 0 || tag >> 3 > UINT32_MAX) return false;
    out->number = (uint32_t)(tag >> 3);
    bool fine = false;
    switch (tag & 7) {
    case VARINT: fine = take_varint(&at, &out->value); break;
    case BYTES: fine = take_varint(&at, &n) && n <= at.n && take(&at, (size_t)n, &out->bytes); break;
    case FIXED64: fine = take(&at, 8, &fixed); break;
    case FIXED32: fine = take(&at, 4, &fixed); break;
    }
    if (fine) *rest = at;
    return fine;
}

static void put_varint(struct buf *out, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) buf_put_u8(out, (uint8_t)(v | 0x80));
    buf_put_u8(out, (uint8_t)v);
}

void field_put_varint(struct buf *out, uint32_t number, uint64_t value)
{
    put_varint(out, (uint64_t)number << 3 | VARINT);
    put_varint(out, value);
}

void field_put_fixed64(struct buf *out, uint32_t number, uint64_t value)
{
    put_varint(out, (uint64_t)number << 3 | FIXED64);
    for (int i = 0; i < 8; i++) buf_put_u8(out, (uint8_t)(value >> 8 * i));
}

void field_put_bytes(struct buf *out, uint32_t number, struct slice bytes)
{
    put_varint(out, (uint64_t)number << 3 | BYTES);
    put_varint(out, bytes.n);
    buf_put_slice(out, bytes);
}
