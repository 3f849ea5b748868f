/* spare_file.h - the log file after the current one, made ahead of time by a worker, so that no append waits for it.
 * Owns     what it made, until spare_file_take()
 * Threads  loop */
#ifndef SKYLARK_STORE_SPARE_FILE_H
#define SKYLARK_STORE_SPARE_FILE_H

#include "os/tasks.h"
#include "store/mapped_file.h"

struct spare_file {
    struct work work;
    struct tasks *tasks;
    struct fs *fs;
    char *folder;
    int64_t size;
    int64_t start;
    struct mapped_file *made;
    err_t e;
    bool running;
    bool unwanted;               /* taken in another way while the worker was at it */
    void (*ended)(void *ctx);    /* no job is running any more */
    void *ctx;
};

void spare_file_init(struct spare_file *s, struct fs *fs, struct tasks *tasks, const char *folder, int64_t size,
                     void (*ended)(void *ctx), void *ctx);
/* Not while a job is running. */
void spare_file_done(struct spare_file *s);
/* Starts making the file, unless it is there or being made. */
void spare_file_prepare(struct spare_file *s, int64_t start);
/* The file that begins at `start`: the one made ahead, or one made now; *durable tells whether its name is on disk. */
err_t spare_file_take(struct spare_file *s, int64_t start, struct mapped_file **out, bool *durable) MUST_CHECK;
#endif
