/* err.h - errors as values.
 * Shape    err_t is a pointer to a code and a message; NULL is success
 * Owns     an err_t is used up exactly once: returned, sent as a reply, or dropped with err_drop()
 * Threads  any
 * Errors   when memory is short the one static ERR_OUT_OF_MEMORY error is returned; freeing it is harmless */
#ifndef SKYLARK_BASE_ERR_H
#define SKYLARK_BASE_ERR_H

#include <stdbool.h>

enum err_code {
    ERR_NONE = 0,
#define ERROR(name, response, retry, text) ERR_##name,
#include "catalog/errors.def"
#undef ERROR
};

enum response_code {
#define RESPONSE(name, number) RESPONSE_##name = number,
#include "catalog/responses.def"
#undef RESPONSE
};

struct error;
typedef struct error *err_t;

#define MUST_CHECK __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, first) __attribute__((format(printf, fmt, first)))

/* A new error; fmt may be NULL for the default text of its row. */
err_t err_new(enum err_code code, const char *fmt, ...) MUST_CHECK PRINTF_LIKE(2, 3) __attribute__((returns_nonnull));

/* Puts "context: " before the message. Takes e, returns it (or its replacement). */
err_t err_in(err_t e, const char *fmt, ...) MUST_CHECK PRINTF_LIKE(2, 3);

/* Uses up an error that may be ignored, and logs it at debug level with the reason. e may be NULL. */
void err_drop(err_t e, const char *why);

/* Releases without logging: for who has logged it or sent it on. NULL is fine. */
void err_free(err_t e);

enum err_code err_code(err_t e);        /* ERR_NONE for NULL */
const char *err_text(err_t e);          /* borrowed, valid while e is */
int err_response(err_t e);              /* response code of the error's row */
const char *err_name(enum err_code c);  /* "TOPIC_NOT_FOUND" */

#endif
