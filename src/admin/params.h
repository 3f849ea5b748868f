/* params.h - what a command takes: options with a value, switches, words; read from a line or given by name. The room's own.
 * Facts    docs/protocol/mqadmin.md 1 (-t TOPIC, -tTOPIC, -topic TOPIC, --topic TOPIC, --topic=TOPIC; letters may be two: -qn 8)
 * Owns     nothing: values borrow from the line
 * Threads  any */
#ifndef SKYLARK_ADMIN_PARAMS_H
#define SKYLARK_ADMIN_PARAMS_H

#include "base/err.h"
#include "base/slice.h"

#include <stdint.h>

enum { PARAMS_MAX = 24 };

enum param_kind {
    PARAM_VALUE,        /* may be given */
    PARAM_NEEDED,       /* must be */
    PARAM_SWITCH,       /* has no value; "true" when it is there */
    PARAM_WORD,         /* without an option's name, in order; must be given */
    PARAM_MORE,         /* the same, and may be left out */
};

/* A table of them ends with name NULL. */
struct param {
    const char *name;       /* long one: "topic" */
    const char *letter;     /* "t", "qn"; NULL: none */
    enum param_kind kind;
    const char *argument;   /* how help calls the value */
    const char *help;
};

/* Values by the param's place in its table; p NULL: not given. */
struct params {
    const struct param *table;      /* NULL: none */
    struct slice given[PARAMS_MAX];
};

/* The value, p NULL when it was not given or the table has no such name. */
struct slice param_get(const struct params *p, const char *name);
bool param_has(const struct params *p, const char *name);
/* `unless` when it was not given. Errors: USAGE. */
err_t param_i32(const struct params *p, const char *name, int32_t unless, int32_t *out) MUST_CHECK;
err_t param_i64(const struct params *p, const char *name, int64_t unless, int64_t *out) MUST_CHECK;
err_t param_bool(const struct params *p, const char *name, bool unless, bool *out) MUST_CHECK;
/* A time in ms: "now", ms since 1970, "2026-11-30#12:00:00:000" as mqadmin takes it, "2026-11-30T12:00:00" (UTC both), "-90s", "-15m",
 * "-2h", "-7d" before now; "beginning" is 0 and "end" is -1. Errors: USAGE. */
err_t param_time(const struct params *p, const char *name, int64_t now_ms, int64_t unless, int64_t *out) MUST_CHECK;

/* What a line is read by: the command's own params come first, then those of all commands. */
struct command_line {
    const char *command;            /* for errors */
    const struct param *common;
    struct params *own;
    struct slice *common_given;     /* by place */
    bool help;                      /* -h, --help was among them */
};

/* argv[0] is not looked at. Errors: USAGE. */
err_t line_read(struct command_line *l, int argc, char **argv) MUST_CHECK;
/* "GROUP TOPIC [QUEUE]" into out, which has room; returns it. */
const char *params_words(const struct param *table, char out[static 128]);

#endif
