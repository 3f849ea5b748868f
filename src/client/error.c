#include "client/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct sky_error {
    enum sky_code code;
    int32_t response;
    char *text;
};

static struct sky_error out_of_memory = {SKY_MEMORY, 0, (char *)"out of memory"};

enum sky_code sky_error_code(const struct sky_error *e) { return e ? e->code : SKY_OK; }
const char *sky_error_text(const struct sky_error *e) { return e ? e->text : "no error"; }
int32_t sky_error_response(const struct sky_error *e) { return e ? e->response : 0; }

void sky_error_free(struct sky_error *e)
{
    if (!e || e == &out_of_memory) return;
    free(e->text);
    free(e);
}

const char *sky_code_name(enum sky_code code)
{
    static const char *const names[] = {"OK", "INVALID", "STATE", "CLOSED", "TIMEOUT", "NETWORK", "NO_ROUTE", "FULL", "BUSY", "REFUSED",
                                        "PROTOCOL", "MEMORY", "INTERNAL"};
    return (size_t)code < sizeof names / sizeof *names ? names[code] : "UNKNOWN";
}

struct sky_error *error_new(enum sky_code code, int32_t response, const char *fmt, ...)
{
    struct sky_error *e = malloc(sizeof *e);
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    if (vasprintf(&text, fmt, args) < 0) text = NULL;
    va_end(args);
    if (!e || !text) {
        free(e);
        free(text);
        return &out_of_memory;
    }
    *e = (struct sky_error){code, response, text};
    return e;
}

static enum sky_code code_of(enum err_code code)
{
    switch (code) {
    case ERR_NONE: return SKY_OK;
    case ERR_OUT_OF_MEMORY: return SKY_MEMORY;
    case ERR_TIMEOUT: return SKY_TIMEOUT;
    case ERR_CLOSED:
    case ERR_NETWORK:
    case ERR_ADDRESS: return SKY_NETWORK;
    case ERR_BUSY: return SKY_BUSY;
    case ERR_FRAME:
    case ERR_FIELD:
    case ERR_BODY: return SKY_PROTOCOL;
    case ERR_CONFIG:
    case ERR_USAGE:
    case ERR_INVALID: return SKY_INVALID;
    default: return SKY_INTERNAL;
    }
}

struct sky_error *sky_error_from(err_t e)
{
    if (!e) return NULL;
    struct sky_error *s = error_new(code_of(err_code(e)), 0, "%s", err_text(e));
    err_free(e);
    return s;
}

struct sky_error *error_of_reply(const struct frame *f)
{
    enum sky_code code = f->code == RESPONSE_SYSTEM_BUSY || f->code == RESPONSE_FLOW_CONTROL ? SKY_BUSY : SKY_REFUSED;
    return error_new(code, f->code, "the server answered %d: %.*s", f->code, SLICE_ARG(f->remark));
}
