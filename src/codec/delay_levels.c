#include "codec/delay_levels.h"

const struct delay_levels delay_levels_default = {
    18,
    {1000, 5000, 10000, 30000, 60000, 120000, 180000, 240000, 300000, 360000, 420000, 480000, 540000, 600000, 1200000, 1800000, 3600000, 7200000},
};

static int64_t unit_ms(uint8_t unit) { return unit == 's' ? 1000 : unit == 'm' ? 60000 : unit == 'h' ? 3600000 : unit == 'd' ? 86400000 : 0; }

static bool parse_one(struct slice part, int64_t *out)
{
    const int64_t longest_ms = 100ll * 366 * 86400000;   /* a hundred years: sums of it and a time are times */
    int64_t n, unit = part.n > 1 ? unit_ms(part.p[part.n - 1]) : 0;
    if (!unit || !slice_to_i64(slice_of(part.p, part.n - 1), &n) || n < 0 || n > longest_ms / unit) return false;
    *out = n * unit;
    return true;
}

err_t delay_levels_parse(struct slice text, struct delay_levels *out)
{
    struct delay_levels levels = {.count = 0};
    struct slice rest = slice_trim(text), part;
    while (rest.n && slice_split(&rest, ' ', &part)) {
        if (!part.n) continue;
        if (levels.count == DELAY_LEVELS_MAX) return err_new(ERR_CONFIG, "messageDelayLevel has more than %d levels", DELAY_LEVELS_MAX);
        if (!parse_one(part, &levels.ms[levels.count++]))
            return err_new(ERR_CONFIG, "messageDelayLevel: '%.*s' is no time such as 1s, 5m, 2h or 1d", SLICE_ARG(part));
    }
    if (!levels.count) return err_new(ERR_CONFIG, "messageDelayLevel names no level");
    *out = levels;
    return NULL;
}

int64_t delay_levels_ms(const struct delay_levels *levels, int64_t level)
{
    if (level <= 0 || !levels->count) return DELAY_LEVEL_UNKNOWN_MS;
    return levels->ms[(level < levels->count ? level : levels->count) - 1];
}
