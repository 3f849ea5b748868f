/* files.h - the files of timers, as workers read and write them.
 * Facts    docs/protocol/store.md 9
 * Units    positions count bytes of the log of timers; its files are named by the position of their first byte
 * Threads  worker, each with a reader of its own; `struct timer_files` does not change once the files were looked at
 * Errors   IO, DISK_FULL; CORRUPT where no unit is; NOT_FOUND where no file is */
#ifndef SKYLARK_TIMER_FILES_H
#define SKYLARK_TIMER_FILES_H

#include "base/buf.h"
#include "codec/timer.h"
#include "os/file.h"

enum { TIMER_PATH_BYTES = 1024, TIMER_WINDOW_BYTES = 32 << 10 };

#define WHEEL_FILE_BYTES ((int64_t)TIMER_SLOTS * TIMER_SLOT_BYTES)

struct timer_files {
    struct fs *fs;
    char *root;
    char *log_folder;           /* root/timerlog */
    char *wheel;                /* root/timerwheel */
    char *config;               /* root/config */
    char *check;                /* root/config/timercheck */
    int64_t file_bytes;         /* of a log file */
};

void timer_files_init(struct timer_files *f, struct fs *fs, const char *root, int64_t file_bytes);
void timer_files_done(struct timer_files *f);

static inline int64_t timer_file_start(const struct timer_files *f, int64_t position) { return position - position % f->file_bytes; }
void timer_file_path(const struct timer_files *f, int64_t start, char out[static TIMER_PATH_BYTES]);
/* Which positions there are files for; *end 0: none. Sets file_bytes to what the files have. CORRUPT: they do not follow each other. */
err_t timer_files_look(struct timer_files *f, int64_t *first, int64_t *end) MUST_CHECK;
/* What cannot be used goes to timerlog.damaged and timerwheel.damaged, in place of what was put there before. */
err_t timer_files_put_aside(const struct timer_files *f) MUST_CHECK;
/* From there on the log reads as zeros, and files behind are gone. `end`: of the files. */
err_t timer_files_cut(const struct timer_files *f, int64_t at, int64_t end) MUST_CHECK;

/* Units one after the other, from any place to any other. */
struct timer_reader {
    const struct timer_files *files;
    struct file *file;
    int64_t start;              /* of the open file */
    int64_t window_at;
    size_t window_bytes;
    bool backward;              /* towards older units */
    uint8_t *window;
};

void timer_reader_init(struct timer_reader *r, const struct timer_files *files, bool backward);
void timer_reader_done(struct timer_reader *r);
err_t timer_reader_unit(struct timer_reader *r, int64_t position, struct timer_unit *out) MUST_CHECK;
/* Forward: the unit at *position, or the first one of the next file when a blank is there; *position is where it is. */
err_t timer_reader_next(struct timer_reader *r, int64_t *position, struct timer_unit *out) MUST_CHECK;

/* Writes what begins at a position, and syncs it; files are made as they are needed. */
err_t timer_files_write_log(const struct timer_files *f, int64_t position, struct slice bytes) MUST_CHECK;
/* `pages`: size_t number, then its bytes; repeated. */
err_t timer_files_write_wheel(const struct timer_files *f, struct slice pages) MUST_CHECK;
err_t timer_files_write_check(const struct timer_files *f, const struct timer_check *check) MUST_CHECK;
/* Removes the first log file when its last message lies before log_min in the commit log and there is another one; *first moves on. */
err_t timer_files_expire(const struct timer_files *f, int64_t log_min, int64_t end, int64_t *first) MUST_CHECK;

#endif
