#include "codec/message_id.h"

enum { BYTES_MAX = MESSAGE_ID_V6 / 2 };

/* Digits of four bytes, the first one in the highest byte. */
static uint64_t eight_digits(uint32_t x)
{
    uint64_t d = x;
    d = (d | d << 16) & 0x0000FFFF0000FFFF;
    d = (d | d << 8) & 0x00FF00FF00FF00FF;
    d = (d | d << 4) & 0x0F0F0F0F0F0F0F0F;
    uint64_t above_nine = (d + 0x0606060606060606) >> 4 & 0x0101010101010101;
    return d + 0x3030303030303030 + above_nine * ('A' - '0' - 10);
}

/* n is a multiple of four, as the length of every id is. */
static size_t hex(const uint8_t *bytes, size_t n, char *out)
{
    for (size_t i = 0; i < n; i += 4) put_be64((uint8_t *)out + 2 * i, eight_digits(get_be32(bytes + i)));
    out[2 * n] = 0;
    return 2 * n;
}

static int digit(uint8_t c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static err_t unhex(struct slice text, uint8_t out[static BYTES_MAX])
{
    if (text.n != MESSAGE_ID_V4 && text.n != MESSAGE_ID_V6)
        return err_new(ERR_INVALID, "a message id has 32 or 56 digits, not %zu", text.n);
    for (size_t i = 0; i < text.n / 2; i++) {
        int high = digit(text.p[2 * i]), low = digit(text.p[2 * i + 1]);
        if (high < 0 || low < 0) return err_new(ERR_INVALID, "\"%.*s\" is not a message id", SLICE_ARG(text));
        out[i] = (uint8_t)(high << 4 | low);
    }
    return NULL;
}

static uint8_t *put_ip(uint8_t *p, const struct addr *a)
{
    size_t n = a->v6 ? 16 : 4;
    memcpy(p, a->ip, n);
    return p + n;
}

static const uint8_t *get_ip(const uint8_t *p, size_t digits, struct addr *out)
{
    *out = (struct addr){.v6 = digits == MESSAGE_ID_V6};
    size_t n = out->v6 ? 16 : 4;
    memcpy(out->ip, p, n);
    return p + n;
}

size_t offset_id_format(const struct addr *store_host, int64_t log_offset, char out[static MESSAGE_ID_TEXT])
{
    uint8_t bytes[BYTES_MAX];
    uint8_t *p = put_ip(bytes, store_host);
    put_be32(p, store_host->port);
    put_be64(p + 4, (uint64_t)log_offset);
    return hex(bytes, (size_t)(p + 12 - bytes), out);
}

err_t offset_id_parse(struct slice text, struct addr *store_host, int64_t *log_offset)
{
    uint8_t bytes[BYTES_MAX];
    err_t e = unhex(text, bytes);
    if (e) return e;
    const uint8_t *p = get_ip(bytes, text.n, store_host);
    store_host->port = (uint16_t)get_be32(p);
    *log_offset = (int64_t)get_be64(p + 4);
    return NULL;
}

size_t unique_id_format(const struct unique_id *id, char out[static MESSAGE_ID_TEXT])
{
    uint8_t bytes[BYTES_MAX];
    uint8_t *p = put_ip(bytes, &id->client);
    put_be16(p, id->process);
    put_be32(p + 2, id->loader);
    put_be32(p + 6, id->month_ms);
    put_be16(p + 10, id->counter);
    return hex(bytes, (size_t)(p + 12 - bytes), out);
}

err_t unique_id_parse(struct slice text, struct unique_id *out)
{
    uint8_t bytes[BYTES_MAX];
    err_t e = unhex(text, bytes);
    if (e) return e;
    struct addr client;
    const uint8_t *p = get_ip(bytes, text.n, &client);
    *out = (struct unique_id){client, get_be16(p), get_be32(p + 2), get_be32(p + 6), get_be16(p + 10)};
    return NULL;
}

int64_t month_start_ms(int64_t now_ms)
{
    const int64_t day_ms = 86400000;
    int64_t days = now_ms / day_ms - (now_ms % day_ms < 0);
    /* Day of the month by the proleptic Gregorian calendar, counted in eras of 400 years that begin on 1 March. */
    int64_t shifted = days + 719468;
    int64_t era = (shifted >= 0 ? shifted : shifted - 146096) / 146097;
    int64_t of_era = shifted - era * 146097;
    int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
    int64_t month = (5 * of_year + 2) / 153;
    int64_t day = of_year - (153 * month + 2) / 5; /* 0 is the first */
    return (days - day) * day_ms;
}
