#include "codec/recall_handle.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

enum { PARTS = 5 };

static void put_base64(struct slice s, struct buf *out)
{
    for (size_t i = 0; i < s.n; i += 3) {
        size_t left = s.n - i;
        uint32_t v = (uint32_t)s.p[i] << 16 | (left > 1 ? (uint32_t)s.p[i + 1] << 8 : 0) | (left > 2 ? s.p[i + 2] : 0);
        buf_put_u8(out, (uint8_t)letters[v >> 18]);
        buf_put_u8(out, (uint8_t)letters[v >> 12 & 63]);
        buf_put_u8(out, left > 1 ? (uint8_t)letters[v >> 6 & 63] : '=');
        buf_put_u8(out, left > 2 ? (uint8_t)letters[v & 63] : '=');
    }
}

static int value_of(uint8_t c)
{
    const char *at = c ? memchr(letters, c, sizeof letters - 1) : NULL;
    return at ? (int)(at - letters) : -1;
}

/* Padding may be missing, as for the original, but not be wrong. */
static bool get_base64(struct slice s, struct buf *out)
{
    size_t padding = 0;
    uint32_t bits = 0, count = 0;
    while (padding < 2 && padding < s.n && s.p[s.n - 1 - padding] == '=') padding++;
    if (padding && s.n % 4) return false;
    s.n -= padding;
    if (s.n % 4 == 1) return false;
    for (size_t i = 0; i < s.n; i++) {
        int v = value_of(s.p[i]);
        if (v < 0) return false;
        bits = bits << 6 | (uint32_t)v;
        count += 6;
        if (count < 8) continue;
        count -= 8;
        buf_put_u8(out, (uint8_t)(bits >> count));
    }
    return true;
}

void recall_handle_encode(const struct recall_handle *h, struct buf *out)
{
    const struct slice parts[] = {h->topic, h->broker, h->time_ms, h->unique_key};
    struct buf plain = BUF_EMPTY;
    buf_put_text(&plain, "v1");
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        buf_put_u8(&plain, ' ');
        buf_put_slice(&plain, parts[i]);
    }
    put_base64(buf_slice(&plain), out);
    buf_done(&plain);
}

static bool has_control(struct slice s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < ' ') return true;
    return false;
}

bool recall_handle_decode(struct slice text, struct buf *plain, struct recall_handle *out)
{
    struct slice part[PARTS], rest;
    size_t n = 0;
    if (!get_base64(text, plain)) return false;
    rest = buf_slice(plain);
    if (has_control(rest)) return false;   /* its parts become properties */
    while (n < PARTS && slice_split(&rest, ' ', &part[n])) n++;
    if (n < PARTS || !slice_eq(part[0], SLICE("v1")) || !part[4].n) return false;
    *out = (struct recall_handle){.topic = part[1], .broker = part[2], .time_ms = part[3], .unique_key = part[4]};
    return true;
}
