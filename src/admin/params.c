#include "admin/params.h"

#include <assert.h>
#include <stdio.h>
#include <time.h>

/* --- values --- */

static size_t place_of(const struct param *table, struct slice name)
{
    for (size_t i = 0; table && table[i].name; i++)
        if (slice_eq(slice_text(table[i].name), name)) return i;
    return PARAMS_MAX;
}

struct slice param_get(const struct params *p, const char *name)
{
    size_t i = place_of(p->table, slice_text(name));
    return i < PARAMS_MAX ? p->given[i] : (struct slice){NULL, 0};
}

bool param_has(const struct params *p, const char *name) { return param_get(p, name).p != NULL; }

err_t param_i64(const struct params *p, const char *name, int64_t unless, int64_t *out)
{
    struct slice text = slice_trim(param_get(p, name));
    int64_t n = unless;
    if (text.p && !slice_to_i64(text, &n)) return err_new(ERR_USAGE, "--%s wants a number, not \"%.*s\"", name, SLICE_ARG(text));
    *out = n;
    return NULL;
}

err_t param_i32(const struct params *p, const char *name, int32_t unless, int32_t *out)
{
    int64_t n = unless;
    err_t e = param_i64(p, name, unless, &n);
    if (!e && (n < INT32_MIN || n > INT32_MAX)) e = err_new(ERR_USAGE, "--%s is too large: %lld", name, (long long)n);
    if (!e) *out = (int32_t)n;
    return e;
}

err_t param_bool(const struct params *p, const char *name, bool unless, bool *out)
{
    struct slice text = slice_trim(param_get(p, name));
    if (!text.p) *out = unless;
    else if (text.n == 4 && !strncasecmp((const char *)text.p, "true", 4)) *out = true;
    else if (text.n == 5 && !strncasecmp((const char *)text.p, "false", 5)) *out = false;
    else return err_new(ERR_USAGE, "--%s wants true or false, not \"%.*s\"", name, SLICE_ARG(text));
    return NULL;
}

static bool read_date(struct slice text, int64_t *out)
{
    struct tm t = {.tm_isdst = 0};
    int ms = 0, n = 0;
    char copy[40];
    if (text.n >= sizeof copy) return false;
    memcpy(copy, text.p, text.n);
    copy[text.n] = 0;
    int got = sscanf(copy, "%4d-%2d-%2d%*1[#T ]%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour, &t.tm_min, &t.tm_sec, &n);
    if (got != 6 || !n) return false;
    const char *rest = copy + n;
    if ((*rest == ':' || *rest == '.' || *rest == ',') && sscanf(rest + 1, "%3d%n", &ms, &n) == 1) rest += 1 + n;
    if (*rest == 'Z') rest++;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    time_t at = timegm(&t);
    if (*rest || at < 0) return false;
    *out = (int64_t)at * 1000 + ms;
    return true;
}

static bool read_ago(struct slice text, int64_t now_ms, int64_t *out)
{
    static const struct { char unit; int64_t ms; } units[] = {{'s', 1000}, {'m', 60000}, {'h', 3600000}, {'d', 86400000}};
    int64_t n;
    if (text.n < 3 || text.p[0] != '-' || !slice_to_i64(slice_of(text.p + 1, text.n - 2), &n) || n < 0 || n > 1000000) return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (text.p[text.n - 1] != (uint8_t)units[i].unit) continue;
        *out = now_ms - n * units[i].ms;
        return true;
    }
    return false;
}

err_t param_time(const struct params *p, const char *name, int64_t now_ms, int64_t unless, int64_t *out)
{
    struct slice text = slice_trim(param_get(p, name));
    if (!text.p) *out = unless;
    else if (slice_eq(text, SLICE("now"))) *out = now_ms;
    else if (slice_eq(text, SLICE("end")) || slice_eq(text, SLICE("latest"))) *out = -1;
    else if (slice_eq(text, SLICE("beginning")) || slice_eq(text, SLICE("earliest"))) *out = 0;
    else if (!slice_to_i64(text, out) && !read_ago(text, now_ms, out) && !read_date(text, out))
        return err_new(ERR_USAGE, "--%s wants a time: now, beginning, end, -2h, ms since 1970 or 2026-11-30T12:00:00 (UTC), not \"%.*s\"",
                       name,
                       SLICE_ARG(text));
    return NULL;
}

/* --- a line --- */

struct found {
    const struct param *param;
    struct slice *value;            /* where it goes */
    struct slice attached;          /* p NULL: the value is the next word */
};

static bool matches(const struct param *p, struct slice word, bool two_dashes)
{
    if (p->kind == PARAM_WORD || p->kind == PARAM_MORE) return false;
    if (slice_eq(word, slice_text(p->name))) return true;
    return !two_dashes && p->letter && slice_eq(word, slice_text(p->letter));
}

static bool find_in(const struct param *table, struct slice *values, struct slice word, bool two_dashes, struct found *out)
{
    for (size_t i = 0; table && table[i].name; i++) {
        if (!matches(&table[i], word, two_dashes)) continue;
        *out = (struct found){&table[i], &values[i], {NULL, 0}};
        return true;
    }
    return false;
}

static bool find_exact(struct command_line *l, struct slice word, bool two_dashes, struct found *out)
{
    return find_in(l->own->table, l->own->given, word, two_dashes, out) || find_in(l->common, l->common_given, word, two_dashes, out);
}

static bool find_option(struct command_line *l, struct slice word, bool two_dashes, struct found *out)
{
    struct slice rest = word, name;
    if (find_exact(l, word, two_dashes, out)) return true;
    if (memchr(word.p, '=', word.n) && slice_split(&rest, '=', &name) && find_exact(l, name, two_dashes, out)) {
        out->attached = slice_of(word.p + name.n + 1, word.n - name.n - 1);
        return true;
    }
    if (two_dashes || word.n < 2 || !find_exact(l, slice_of(word.p, 1), false, out)) return false;
    out->attached = slice_skip(word, 1);
    return out->param->kind != PARAM_SWITCH;
}

static err_t take_option(struct command_line *l, int *at, int argc, char **argv)
{
    const char *text = argv[*at];
    bool two_dashes = text[1] == '-';
    struct found f;
    if (!find_option(l, slice_text(text + (two_dashes ? 2 : 1)), two_dashes, &f))
        return err_new(ERR_USAGE, "there is no option %s; see 'skylark admin %s --help'", text, l->command);
    if (f.param->kind == PARAM_SWITCH) {
        *f.value = SLICE("true");
        if (!strcmp(f.param->name, "help")) l->help = true;
    } else if (f.attached.p) {
        *f.value = f.attached;
    } else if (*at + 1 < argc) {
        *f.value = slice_text(argv[++*at]);
    } else {
        return err_new(ERR_USAGE, "%s wants a value; see 'skylark admin %s --help'", text, l->command);
    }
    return NULL;
}

const char *params_words(const struct param *table, char out[static 128])
{
    size_t n = 0;
    out[0] = 0;
    for (; table && table->name; table++) {
        if (table->kind != PARAM_WORD && table->kind != PARAM_MORE) continue;
        const char *form = table->kind == PARAM_WORD ? "%s%s" : "%s[%s]";
        n += (size_t)snprintf(out + n, 128 - n, form, n ? " " : "", table->argument);
        assert(n < 128);
    }
    return out;
}

static err_t take_word(struct command_line *l, const char *word)
{
    const struct param *table = l->own->table;
    char words[128];
    for (size_t i = 0; table && table[i].name; i++) {
        if ((table[i].kind != PARAM_WORD && table[i].kind != PARAM_MORE) || l->own->given[i].p) continue;
        if (!*word) return err_new(ERR_USAGE, "an argument is empty; it takes %s", params_words(table, words));
        l->own->given[i] = slice_text(word);
        return NULL;
    }
    params_words(table, words);
    return err_new(ERR_USAGE, "\"%s\" is not expected%s%s; see 'skylark admin %s --help'", word, *words ? " behind " : "", words,
                   l->command);
}

static err_t check_needed(const struct command_line *l)
{
    const struct param *table = l->own->table;
    char words[128];
    for (size_t i = 0; table && table[i].name; i++) {
        if (table[i].kind == PARAM_WORD && !l->own->given[i].p)
            return err_new(ERR_USAGE, "it takes %s; see 'skylark admin %s --help'", params_words(table, words), l->command);
        if (table[i].kind == PARAM_NEEDED && !slice_trim(l->own->given[i]).n)
            return err_new(ERR_USAGE, "it needs %s%s %s; see 'skylark admin %s --help'", table[i].letter ? "-" : "--",
                           table[i].letter ? table[i].letter : table[i].name, table[i].argument, l->command);
    }
    return NULL;
}

err_t line_read(struct command_line *l, int argc, char **argv)
{
    bool words_only = false;
    err_t e = NULL;
    for (int i = 1; !e && i < argc; i++) {
        if (!words_only && !strcmp(argv[i], "--")) words_only = true;
        else if (!words_only && argv[i][0] == '-' && argv[i][1]) e = take_option(l, &i, argc, argv);
        else e = take_word(l, argv[i]);
    }
    return e || l->help ? e : check_needed(l);
}
