/* log.h - one event a line: time, level, event, then key=value. Threads: any.
 * ERROR an operator must act, WARN we went on, INFO state changed, DEBUG for developers.
 * User strings are quoted by the caller's format ("topic=\"%s\""); control characters are escaped here. */
#ifndef SKYLARK_BASE_LOG_H
#define SKYLARK_BASE_LOG_H

#include "base/err.h"

#include <stdint.h>

enum log_level { LOG_DEBUG, LOG_INFO, LOG_WARN, LOG_ERROR, LOG_SILENT };

void log_set_level(enum log_level level);
/* "debug", "info", "warn" or "error", in any case; false: none of these, and nothing changed. */
bool log_set_level_named(const char *name);
/* Where lines go: a file (created or appended to), or standard error for NULL. */
err_t log_open(const char *path) MUST_CHECK;
/* Opens the same path again, after a log rotation moved it. */
err_t log_reopen(void) MUST_CHECK;
void log_close(void);

/* Where the lines of one thread go instead, for a library whose user has a log of his own: without time and level. `line` must not log. */
struct log_sink {
    enum log_level level;        /* the least that is wanted; LOG_SILENT: none */
    void (*line)(void *ctx, enum log_level level, const char *text);
    void *ctx;
};
/* Lines that this thread writes from now on; NULL: to the file again. The sink lives as long as it is set. */
void log_set_sink(const struct log_sink *sink);

bool log_enabled(enum log_level level);
void log_write(enum log_level level, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* For lines that clients cause: LOG_LIMIT_LINES in a second, of each kind. How many were left out is told with the first one after them.
 * Zeroes are fine. Threads: its owner */
struct log_limit {
    int64_t second;
    uint32_t lines;
    uint32_t left_out;
};
enum { LOG_LIMIT_LINES = 10 };
/* Whether one more line may be written. `what` names the kind. now_ms: of a clock that never goes back. */
bool log_may(struct log_limit *l, const char *what, int64_t now_ms);

#define log_debug(...) (log_enabled(LOG_DEBUG) ? log_write(LOG_DEBUG, __VA_ARGS__) : (void)0)
#define log_info(...)  (log_enabled(LOG_INFO) ? log_write(LOG_INFO, __VA_ARGS__) : (void)0)
#define log_warn(...)  log_write(LOG_WARN, __VA_ARGS__)
#define log_error(...) log_write(LOG_ERROR, __VA_ARGS__)

#endif
