#include "base/printable.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

const char *size_text(int64_t bytes, char out[static SIZE_TEXT_MAX])
{
    static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
    double n = (double)bytes / 1024;
    size_t unit = 0;
    if (bytes < 1024) {
        snprintf(out, SIZE_TEXT_MAX, "%" PRId64 " B", bytes);
        return out;
    }
    while (n >= 1024 && unit < 3) n /= 1024, unit++;
    snprintf(out, SIZE_TEXT_MAX, "%.1f %s", n, units[unit]);
    return out;
}

const char *time_text(int64_t ms, char out[static TIME_TEXT_MAX])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm t;
    if (ms <= 0 || !gmtime_r(&seconds, &t) || t.tm_year > 8099) {   /* a year of four digits */
        snprintf(out, TIME_TEXT_MAX, ms ? "%" PRId64 : "-", ms);
        return out;
    }
    size_t n = strftime(out, TIME_TEXT_MAX, "%Y-%m-%dT%H:%M:%S", &t);
    snprintf(out + n, TIME_TEXT_MAX - n, ".%03dZ", (int)(ms % 1000));
    return out;
}

/* Length of the UTF-8 character that begins there, 0 when none does or when it would disturb a terminal. */
static size_t character(struct slice s)
{
    uint8_t c = s.p[0];
    size_t n = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : c >= 0xE0 && c < 0xF0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
    if (!n || n > s.n || c < 0x20 || c == 0x7F || (c == 0xC2 && s.p[1] < 0xA0)) return 0;
    for (size_t i = 1; i < n; i++)
        if ((s.p[i] & 0xC0) != 0x80) return 0;
    return n;
}

void put_printable(struct buf *out, struct slice s)
{
    for (size_t n; s.n; s = slice_skip(s, n)) {
        n = character(s);
        if (n) buf_put(out, s.p, n);
        else buf_printf(out, "\\x%02X", s.p[0]);
        if (!n) n = 1;
    }
}
