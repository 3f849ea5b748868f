#include "base/config.h"
#include "base/log.h"
#include "base/properties_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

enum key_type { TYPE_bool, TYPE_i32, TYPE_i64, TYPE_text, TYPE_flush, TYPE_role, TYPE_consistency, TYPE_mode, TYPE_tls, TYPE_exporter, TYPE_hours };
enum key_when { LIVE, FIXED };

struct key_row {
    const char *name;
    const char *c_name;         /* its unit stands at the end of it */
    const char *meaning;
    size_t at;                  /* in struct config */
    int64_t number;             /* the default, of numbers */
    const char *text;           /* the default, of texts */
    int64_t least, most;
    uint8_t type;
    uint8_t when;
    uint8_t owner;              /* enum config_owner: whom it concerns */
};

enum {
    OWNER_broker = CONFIG_BROKER,
    OWNER_store = CONFIG_BROKER,
    OWNER_netty = CONFIG_SERVER,
    OWNER_edge = CONFIG_PROXY,
    OWNER_metrics = CONFIG_SERVER,
    OWNER_namesrv = CONFIG_NAMESRV,
    OWNER_proxy = CONFIG_PROXY,
    OWNER_skylark = CONFIG_SERVER,
};

#define DEFAULT_bool(v) .number = v
#define DEFAULT_i32(v) .number = v
#define DEFAULT_i64(v) .number = v
#define DEFAULT_text(v) .text = v
#define DEFAULT_flush(v) .number = v
#define DEFAULT_role(v) .number = v
#define DEFAULT_consistency(v) .number = v
#define DEFAULT_tls(v) .number = v
#define DEFAULT_mode(v) .number = v
#define DEFAULT_exporter(v) .number = v
#define DEFAULT_hours(v) .number = v

static const struct key_row rows[] = {
#define SECTION(s)
#define KEY(s, field, name_, type_, default_value, least_, most_, when_, meaning_)                                        \
    {.name = name_, .c_name = #field, .meaning = meaning_, .at = offsetof(struct config, s) + offsetof(struct config_##s, field),            \
     DEFAULT_##type_(default_value), .least = least_, .most = most_, .type = TYPE_##type_, .when = when_, .owner = OWNER_##s},
#define END(s)
#include "catalog/config.def"
#undef SECTION
#undef KEY
#undef END
};
enum { ROWS = sizeof rows / sizeof *rows };

static const struct {
    const char *name;
    enum config_owner owner;
} ignored_rows[] = {
#define IGNORED(whose, name) {name, CONFIG_##whose},
#include "catalog/config_ignored.def"
#undef IGNORED
};
enum { IGNORED_ROWS = sizeof ignored_rows / sizeof *ignored_rows };

static const char *const flush_names[] = {"ASYNC_FLUSH", "SYNC_FLUSH", NULL};
static const char *const role_names[] = {"ASYNC_MASTER", "SYNC_MASTER", "SLAVE", NULL};

static const char *const consistency_names[] = {"warn", "reject", "isolate", NULL};
static const char *const tls_names[] = {"disabled", "permissive", "enforcing", NULL};

static const char *const exporter_names[] = {"DISABLE", "OTLP_GRPC", "PROM", "LOG", NULL};
static const char *const mode_names[] = {"PULL", "POP", NULL};

static const char *const *choices(const struct key_row *row)
{
    switch (row->type) {
    case TYPE_flush: return flush_names;
    case TYPE_role: return role_names;
    case TYPE_mode: return mode_names;
    case TYPE_tls: return tls_names;
    case TYPE_exporter: return exporter_names;
    default: return consistency_names;
    }
}

static void *member(struct config *c, const struct key_row *row) { return (uint8_t *)c + row->at; }
static const void *member_const(const struct config *c, const struct key_row *row) { return (const uint8_t *)c + row->at; }

static void store_number(struct config *c, const struct key_row *row, int64_t v)
{
    void *m = member(c, row);
    if (row->type == TYPE_bool) *(bool *)m = v;
    else if (row->type == TYPE_i64) *(int64_t *)m = v;
    else *(int32_t *)m = (int32_t)v;
}

static void store_text(struct config *c, const struct key_row *row, char *text)
{
    char **m = member(c, row);
    free(*m);
    *m = text;
}

void config_init(struct config *c, enum config_owner owner)
{
    *c = (struct config){.owner = owner, .ignored = MAP_EMPTY};
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].type != TYPE_text) store_number(c, &rows[i], rows[i].number);
        else if (rows[i].text) store_text(c, &rows[i], must_strdup(rows[i].text));
    }
}

void config_done(struct config *c)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].type == TYPE_text) store_text(c, &rows[i], NULL);
    map_done_with(&c->ignored, free);
}

static const struct key_row *find(struct slice key, enum config_owner owner)
{
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].owner & owner && slice_eq(key, slice_text(rows[i].name))) return &rows[i];
    return NULL;
}

static bool is_ignored(struct slice key, enum config_owner owner)
{
    for (size_t i = 0; i < IGNORED_ROWS; i++)
        if (ignored_rows[i].owner & owner && slice_eq(key, slice_text(ignored_rows[i].name))) return true;
    return false;
}

/* --- the nearest known name --- */

enum { DISTANCE_MAX_LENGTH = 64 };

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Insertions, deletions and replacements from one to the other; letters count alike in both cases. */
static size_t distance(struct slice a, struct slice b)
{
    if (a.n > DISTANCE_MAX_LENGTH || b.n > DISTANCE_MAX_LENGTH) return SIZE_MAX;
    size_t row[DISTANCE_MAX_LENGTH + 1];
    for (size_t k = 0; k <= b.n; k++) row[k] = k;
    for (size_t i = 1; i <= a.n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b.n; k++) {
            size_t same = diagonal + ((a.p[i - 1] | 0x20) != (b.p[k - 1] | 0x20));
            diagonal = row[k];
            row[k] = smaller(same, smaller(row[k - 1], row[k]) + 1);
        }
    }
    return row[b.n];
}

static void keep_nearest(struct slice key, const char *name, size_t *best, const char **nearest)
{
    size_t d = distance(key, slice_text(name));
    if (d >= *best) return;
    *best = d;
    *nearest = name;
}

const char *config_nearest(struct slice key, enum config_owner owner)
{
    size_t best = SIZE_MAX;
    const char *nearest = NULL;
    for (size_t i = 0; i < ROWS; i++)
        if (rows[i].owner & owner) keep_nearest(key, rows[i].name, &best, &nearest);
    for (size_t i = 0; i < IGNORED_ROWS; i++)
        if (ignored_rows[i].owner & owner) keep_nearest(key, ignored_rows[i].name, &best, &nearest);
    return nearest && best <= 2 + key.n / 4 ? nearest : NULL;
}

static err_t unknown(struct slice key, enum config_owner owner)
{
    const char *nearest = config_nearest(key, owner);
    if (nearest) return err_new(ERR_CONFIG, "unknown key %.*s; did you mean %s?", SLICE_ARG(key), nearest);
    return err_new(ERR_CONFIG, "unknown key %.*s", SLICE_ARG(key));
}

/* --- values --- */

static err_t parse_number(const struct key_row *row, struct slice value, int64_t *out)
{
    if (!slice_to_i64(value, out)) return err_new(ERR_CONFIG, "%s must be a number, not \"%.*s\"", row->name, SLICE_ARG(value));
    if (*out >= row->least && *out <= row->most) return NULL;
    return err_new(ERR_CONFIG, "%s must be between %lld and %lld, not %.*s", row->name, (long long)row->least,
                   (long long)row->most, SLICE_ARG(value));
}

/* "A, B or C" */
static void list_choices(const char *const *names, char *out, size_t size)
{
    size_t n = 0;
    for (int i = 0; names[i]; i++) n += (size_t)snprintf(out + n, size - n, "%s%s", !i ? "" : names[i + 1] ? ", " : " or ", names[i]);
}

static err_t parse_choice(const struct key_row *row, struct slice value, int64_t *out)
{
    const char *const *names = choices(row);
    for (*out = 0; names[*out]; ++*out)
        if (slice_eq(value, slice_text(names[*out]))) return NULL;
    char all[128];
    list_choices(names, all, sizeof all);
    return err_new(ERR_CONFIG, "%s must be %s, not \"%.*s\"", row->name, all, SLICE_ARG(value));
}

static err_t parse_bool(const struct key_row *row, struct slice value, int64_t *out)
{
    *out = value.n == 4 && !strncasecmp((const char *)value.p, "true", 4);
    if (*out || (value.n == 5 && !strncasecmp((const char *)value.p, "false", 5))) return NULL;
    return err_new(ERR_CONFIG, "%s must be true or false, not \"%.*s\"", row->name, SLICE_ARG(value));
}

/* "04;16" */
static err_t parse_hours(const struct key_row *row, struct slice value, int64_t *out)
{
    struct slice rest = value, part;
    int64_t hour;
    *out = 0;
    while (rest.n && slice_split(&rest, ';', &part)) {
        if (!slice_to_i64(slice_trim(part), &hour) || hour < 0 || hour > 23)
            return err_new(ERR_CONFIG, "%s must be hours of the day, 0 to 23, separated by ;, not \"%.*s\"", row->name, SLICE_ARG(value));
        *out |= (int64_t)1 << hour;
    }
    return NULL;
}

static void put_hours(int32_t hours, struct buf *out)
{
    const char *mark = "";
    for (int hour = 0; hour < 24; hour++) {
        if (!(hours >> hour & 1)) continue;
        buf_printf(out, "%s%02d", mark, hour);
        mark = ";";
    }
}

/* Checks the value; c NULL: nothing else. */
static err_t set_row(struct config *c, const struct key_row *row, struct slice value)
{
    int64_t number = 0;
    err_t e = NULL;
    value = slice_trim(value);
    switch (row->type) {
    case TYPE_text:
        if (c) store_text(c, row, must_dup(value));
        return NULL;
    case TYPE_hours: e = parse_hours(row, value, &number); break;
    case TYPE_bool: e = parse_bool(row, value, &number); break;
    case TYPE_flush:
    case TYPE_role:
    case TYPE_mode:
    case TYPE_tls:
    case TYPE_exporter:
    case TYPE_consistency: e = parse_choice(row, value, &number); break;
    default: e = parse_number(row, value, &number); break;
    }
    if (!e && c) store_number(c, row, number);
    return e;
}

static void keep_ignored(struct config *c, struct slice key, struct slice value)
{
    free(map_put(&c->ignored, key, must_dup(value)));
}

/* "namesrv.listenPort": one side's key of a process that has both. */
static enum config_owner narrow(struct slice *key, enum config_owner owner)
{
    struct slice name = *key;
    if (slice_starts(name, SLICE("namesrv."))) *key = slice_skip(name, 8), owner &= CONFIG_NAMESRV;
    else if (slice_starts(name, SLICE("broker."))) *key = slice_skip(name, 7), owner &= CONFIG_BROKER;
    else if (slice_starts(name, SLICE("proxy."))) *key = slice_skip(name, 6), owner &= CONFIG_PROXY;
    return owner;
}

err_t config_set(struct config *c, struct slice key, struct slice value)
{
    enum config_owner owner = narrow(&key, c->owner);
    const struct key_row *row = find(key, owner);
    if (row) return set_row(c, row, value);
    if (!is_ignored(key, owner)) return unknown(key, owner);
    keep_ignored(c, key, value);
    return NULL;
}

err_t config_load(struct config *c, struct slice text, const char *from)
{
    struct arena arena = ARENA_EMPTY;
    struct properties p;
    struct slice key, value;
    err_t e = NULL;
    properties_file_begin(&p, text);
    while (!e && properties_file_next(&p, &arena, &key, &value)) {
        e = config_set(c, key, value);
        if (e) e = err_in(e, "%s, line %d", from, p.line);
    }
    arena_done(&arena);
    return e;
}

void config_report_ignored(const struct config *c)
{
    struct buf names = BUF_EMPTY;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->ignored, &at));) buf_printf(&names, "%s%.*s", names.n ? "," : "", SLICE_ARG(e->key));
    if (names.n) log_info("config.no_effect keys=%.*s", SLICE_ARG(buf_slice(&names)));
    buf_done(&names);
}

/* --- changes while running --- */

static bool is_listed(const char *list, struct slice key)
{
    struct slice rest = slice_text(list), part;
    while (list && slice_split(&rest, ';', &part))
        if (slice_eq(slice_trim(part), key)) return true;
    return false;
}

static bool is_black(const struct config *c, enum config_owner whose, struct slice key)
{
    if (whose == CONFIG_NAMESRV)
        return is_listed("configBlackList;configStorePath;kvConfigPath;rocketmqHome", key) ||
               is_listed(c->namesrv.config_black_list, key);
    return is_listed("configBlackList;brokerConfigPath;rocketmqHome", key) || is_listed(c->broker.config_black_list, key);
}

static bool same_value(const struct config *c, const struct key_row *row, struct slice value);

static err_t check_update(const struct config *c, enum config_owner whose, struct slice key, struct slice value)
{
    const struct key_row *row = find(key, whose);
    if (is_black(c, whose, key)) return err_new(ERR_NO_PERMISSION, "Can not update config in black list.");
    if (!row) return NULL;
    err_t e = set_row(NULL, row, value);
    if (!e && row->when == FIXED && !same_value(c, row, value))
        e = err_new(ERR_CONFIG, "%s is read at start only: change the file and start again", row->name);
    return e;
}

err_t config_update(struct config *c, struct slice text, enum config_owner whose)
{
    struct arena arena = ARENA_EMPTY;
    struct properties p;
    struct slice key, value;
    err_t e = NULL;
    properties_file_begin(&p, text);
    while (!e && properties_file_next(&p, &arena, &key, &value)) e = check_update(c, whose, key, value);
    properties_file_begin(&p, text);
    while (!e && properties_file_next(&p, &arena, &key, &value)) {
        const struct key_row *row = find(key, whose);
        if (row && row->when == LIVE) e = set_row(c, row, value);
        else if (!row && is_ignored(key, whose)) keep_ignored(c, key, value);
    }
    arena_done(&arena);
    return e;
}

/* --- as text --- */

static void put_value(const struct config *c, const struct key_row *row, struct buf *out)
{
    const void *m = member_const(c, row);
    switch (row->type) {
    case TYPE_bool: buf_put_text(out, *(const bool *)m ? "true" : "false"); break;
    case TYPE_i32: buf_put_i64_text(out, *(const int32_t *)m); break;
    case TYPE_i64: buf_put_i64_text(out, *(const int64_t *)m); break;
    case TYPE_text: buf_put_text(out, *(char *const *)m ? *(char *const *)m : ""); break;
    case TYPE_hours: put_hours(*(const int32_t *)m, out); break;
    default: buf_put_text(out, choices(row)[*(const int32_t *)m]); break;
    }
}

static bool same_value(const struct config *c, const struct key_row *row, struct slice value)
{
    struct buf now = BUF_EMPTY;
    put_value(c, row, &now);
    bool same = slice_eq(buf_slice(&now), slice_trim(value));
    buf_done(&now);
    return same;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

void config_write(const struct config *c, enum config_owner whose, struct buf *out)
{
    struct buf lines = BUF_EMPTY;   /* of char * */
    struct map_entry *e;
    for (size_t i = 0; i < ROWS; i++) {
        if (!(rows[i].owner & whose)) continue;
        if (rows[i].type == TYPE_text && !*(char *const *)member_const(c, &rows[i])) continue;
        struct buf line = BUF_EMPTY;
        buf_printf(&line, "%s=", rows[i].name);
        put_value(c, &rows[i], &line);
        buf_put_u8(&line, 0);
        buf_put(&lines, &line.p, sizeof line.p);
    }
    for (size_t at = 0; (e = map_next(&c->ignored, &at));) {
        struct buf line = BUF_EMPTY;
        if (!is_ignored(e->key, whose)) continue;
        buf_printf(&line, "%.*s=%s", SLICE_ARG(e->key), (char *)e->value);
        buf_put_u8(&line, 0);
        buf_put(&lines, &line.p, sizeof line.p);
    }
    char **all = (char **)(void *)lines.p;
    size_t n = lines.n / sizeof *all;
    if (n) qsort(all, n, sizeof *all, by_text);
    for (size_t i = 0; i < n; i++) {
        buf_printf(out, "%s\n", all[i]);
        free(all[i]);
    }
    buf_done(&lines);
}

/* --- the list --- */

static const char *unit_of(const struct key_row *row)
{
    static const char *const units[][2] = {{"_ms", "ms"}, {"_s", "s"}, {"_seconds", "s"}, {"_bytes", "bytes"}, {"_percent", "percent"}, {"_hours", "hours"}};
    size_t n = strlen(row->c_name);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t m = strlen(units[i][0]);
        if (n > m && !strcmp(row->c_name + n - m, units[i][0])) return units[i][1];
    }
    return "";
}

static const char *type_name(const struct key_row *row)
{
    switch (row->type) {
    case TYPE_bool: return "bool";
    case TYPE_i32: case TYPE_i64: return "number";
    case TYPE_text: return "text";
    case TYPE_hours: return "hours of the day";
    default: return "choice";
    }
}

static void describe_row(const struct key_row *row, struct config_key *out)
{
    struct config c;
    struct buf text = BUF_EMPTY;
    config_init(&c, CONFIG_SERVER);
    put_value(&c, row, &text);
    config_done(&c);
    *out = (struct config_key){.name = row->name, .type = type_name(row), .unit = unit_of(row), .meaning = row->meaning, .least = row->least,
                               .most = row->most, .is_number = row->type == TYPE_i32 || row->type == TYPE_i64, .live = row->when == LIVE, .owner = row->owner};
    snprintf(out->default_text, sizeof out->default_text, "%.*s", (int)text.n, (const char *)text.p);
    if (!strcmp(out->type, "choice")) list_choices(choices(row), out->choices, sizeof out->choices);
    buf_done(&text);
}

bool config_next_key(size_t *at, struct config_key *out)
{
    size_t i = (*at)++;
    if (i < ROWS) {
        describe_row(&rows[i], out);
        return true;
    }
    if (i >= ROWS + IGNORED_ROWS) return false;
    *out = (struct config_key){.name = ignored_rows[i - ROWS].name, .ignored = true, .owner = ignored_rows[i - ROWS].owner,
                               .type = "", .unit = "", .meaning = "a key of the original; it is accepted and has no effect here"};
    return true;
}

void config_describe(enum config_owner whose, struct buf *out)
{
    struct config c;
    config_init(&c, whose);
    for (size_t i = 0; i < ROWS; i++) {
        if (!(rows[i].owner & whose)) continue;
        buf_printf(out, "  %s = ", rows[i].name);
        put_value(&c, &rows[i], out);
        buf_printf(out, "\n      %s%s\n", rows[i].meaning, rows[i].when == LIVE ? " (may change while running)" : "");
    }
    config_done(&c);
}
