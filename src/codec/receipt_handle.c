#include "codec/receipt_handle.h"

enum { SHORT_FIELDS = 8, FIELDS = 9 };

bool receipt_handle_parse(struct slice text, struct receipt_handle *out)
{
    struct slice part[FIELDS], rest = text;
    struct receipt_handle h = {.log_offset = -1};
    int64_t ends_ms;
    size_t n = 0;
    while (n < FIELDS && slice_split(&rest, ' ', &part[n])) n++;
    if (n < SHORT_FIELDS || !part[5].n) return false;
    h.broker = part[5];
    bool good = slice_to_i64(part[0], &h.start_offset) && slice_to_i64(part[1], &h.pop_ms) && slice_to_i64(part[2], &h.invisible_ms) &&
                slice_to_i32(part[3], &h.revive_queue) && pop_kind_parse(part[4], &h.kind) && slice_to_i32(part[6], &h.queue_id) &&
                slice_to_i64(part[7], &h.offset) && !__builtin_add_overflow(h.pop_ms, h.invisible_ms, &ends_ms);
    if (good && n == FIELDS) good = slice_to_i64(part[8], &h.log_offset);
    if (good) *out = h;
    return good;
}

void receipt_handle_write_short(const struct receipt_handle *h, struct buf *out)
{
    const int64_t front[] = {h->start_offset, h->pop_ms, h->invisible_ms, h->revive_queue, h->kind};
    for (size_t i = 0; i < sizeof front / sizeof *front; i++) {
        buf_put_i64_text(out, front[i]);
        buf_put_u8(out, ' ');
    }
    buf_put_slice(out, h->broker);
    buf_put_u8(out, ' ');
    buf_put_i64_text(out, h->queue_id);
    buf_put_u8(out, ' ');
    buf_put_i64_text(out, h->offset);
}

void receipt_handle_write(const struct receipt_handle *h, struct buf *out)
{
    receipt_handle_write_short(h, out);
    buf_put_u8(out, ' ');
    buf_put_i64_text(out, h->log_offset);
}
