#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

static _Atomic int threshold = LOG_INFO;
static _Atomic int target = STDERR_FILENO;
static pthread_mutex_t path_lock = PTHREAD_MUTEX_INITIALIZER;
static char *path_now;   /* guarded by path_lock */
static _Thread_local const struct log_sink *sink;

void log_set_level(enum log_level level) { atomic_store(&threshold, (int)level); }
bool log_set_level_named(const char *name)
{
    static const char *const names[] = {[LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};
    for (int level = LOG_DEBUG; level <= LOG_ERROR; level++) {
        if (strcasecmp(names[level], name)) continue;
        log_set_level((enum log_level)level);
        return true;
    }
    return false;
}

void log_set_sink(const struct log_sink *s) { sink = s; }

bool log_enabled(enum log_level level)
{
    if (sink) return level >= sink->level;
    return (int)level >= atomic_load_explicit(&threshold, memory_order_relaxed);
}

/* A descriptor that is replaced is kept under its number, so that a line being written elsewhere lands in one of the files. */
static err_t open_at(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd < 0) return err_new(ERR_IO, "cannot open the log file %s: %s", path, strerror(errno));
    int old = atomic_load(&target);
    if (old == STDERR_FILENO) {
        atomic_store(&target, fd);
        return NULL;
    }
    dup3(fd, old, O_CLOEXEC);
    close(fd);
    return NULL;
}

err_t log_open(const char *path)
{
    if (!path) return NULL;
    pthread_mutex_lock(&path_lock);
    err_t e = open_at(path);
    if (!e) {
        free(path_now);
        path_now = strdup(path);
    }
    pthread_mutex_unlock(&path_lock);
    return e;
}

err_t log_reopen(void)
{
    pthread_mutex_lock(&path_lock);
    err_t e = path_now ? open_at(path_now) : NULL;
    pthread_mutex_unlock(&path_lock);
    return e;
}

void log_close(void)
{
    pthread_mutex_lock(&path_lock);
    int fd = atomic_exchange(&target, STDERR_FILENO);
    if (fd != STDERR_FILENO) close(fd);
    free(path_now);
    path_now = NULL;
    pthread_mutex_unlock(&path_lock);
}

bool log_may(struct log_limit *l, const char *what, int64_t now_ms)
{
    int64_t second = now_ms / 1000;
    if (second != l->second) {
        if (l->left_out) log_info("log.left_out event=%s lines=%u", what, l->left_out);
        *l = (struct log_limit){.second = second};
    }
    if (l->lines == LOG_LIMIT_LINES) l->left_out++;
    else l->lines++;
    return !l->left_out;
}

/* Lines stay lines, whatever a client put into a name. */
static void make_printable(char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text < 0x20 || *text == 0x7f) *text = '?';
}

/* "2026-11-29 12:00:00.123 INFO  " */
static size_t put_head(enum log_level level, char *line, size_t size)
{
    static const char *const names[] = {"DEBUG", "INFO ", "WARN ", "ERROR"};
    struct timespec now;
    struct tm t;
    clock_gettime(CLOCK_REALTIME, &now);
    localtime_r(&now.tv_sec, &t);
    size_t n = strftime(line, size, "%Y-%m-%d %H:%M:%S", &t);
    return n + (size_t)snprintf(line + n, size - n, ".%03ld %s ", now.tv_nsec / 1000000, names[level]);
}

void log_write(enum log_level level, const char *fmt, ...)
{
    if (!log_enabled(level)) return;
    char line[4096];
    size_t n = sink ? 0 : put_head(level, line, sizeof line);
    va_list args;
    va_start(args, fmt);
    int more = vsnprintf(line + n, sizeof line - n - 1, fmt, args);
    va_end(args);
    if (more < 0) return;
    make_printable(line + n);
    if (sink) {
        sink->line(sink->ctx, level, line);
        return;
    }
    n = strlen(line);
    line[n++] = '\n';
    ssize_t done = write(atomic_load(&target), line, n);
    (void)done;   /* there is nobody to tell that the log cannot be written */
}
