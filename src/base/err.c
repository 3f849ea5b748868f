#include "base/err.h"
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct error {
    enum err_code code;
    char *text;
};

struct err_row {
    const char *name;
    int response;
    const char *text;
};

static const struct err_row rows[] = {
    [ERR_NONE] = {"NONE", RESPONSE_SUCCESS, "no error"},
#define ERROR(name, response, retry, text) [ERR_##name] = {#name, RESPONSE_##response, text},
#include "catalog/errors.def"
#undef ERROR
};

static struct error out_of_memory = {ERR_OUT_OF_MEMORY, (char *)"out of memory"};

static err_t err_make(enum err_code code, char *text)
{
    struct error *e = malloc(sizeof *e);
    if (!e || !text) {
        free(e);
        free(text);
        return &out_of_memory;
    }
    e->code = code;
    e->text = text;
    return e;
}

err_t err_new(enum err_code code, const char *fmt, ...)
{
    char *text = NULL;
    if (fmt) {
        va_list args;
        va_start(args, fmt);
        if (vasprintf(&text, fmt, args) < 0) text = NULL;
        va_end(args);
    } else {
        text = strdup(rows[code].text);
    }
    return err_make(code, text);
}

err_t err_in(err_t e, const char *fmt, ...)
{
    if (!e || e == &out_of_memory) return e;
    char *context = NULL;
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int n = vasprintf(&context, fmt, args);
    va_end(args);
    if (n < 0) return e;
    if (asprintf(&text, "%s: %s", context, e->text) >= 0) {
        free(e->text);
        e->text = text;
    }
    free(context);
    return e;
}

void err_drop(err_t e, const char *why)
{
    if (!e) return;
    log_debug("error.dropped code=%s text=\"%s\" why=\"%s\"", err_name(e->code), e->text, why);
    err_free(e);
}

void err_free(err_t e)
{
    if (!e || e == &out_of_memory) return;
    free(e->text);
    free(e);
}

enum err_code err_code(err_t e) { return e ? e->code : ERR_NONE; }
const char *err_text(err_t e) { return e ? e->text : rows[ERR_NONE].text; }
int err_response(err_t e) { return rows[err_code(e)].response; }
const char *err_name(enum err_code c) { return rows[c].name; }
