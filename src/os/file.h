/* file.h - the disk, behind an interface: fs_real() is the kernel's, tests/kit has one in memory that can lose power,
 * fill up and fail.
 * Threads  any, one file at a time per thread; loops call only what cannot block for long (write_at, read_at, map)
 * Errors   IO, DISK_FULL (no space), NOT_FOUND, LOCKED, NOT_IN_MEMORY (only where it is said)
 * Units    bytes */
#ifndef SKYLARK_OS_FILE_H
#define SKYLARK_OS_FILE_H

#include "base/err.h"
#include "base/slice.h"

struct fs;
struct file;   /* an open file; made by fs_open */

enum file_mode {
    FILE_READ,            /* must exist */
    FILE_WRITE,           /* read and write, must exist */
    FILE_CREATE,          /* read and write, made when absent */
    FILE_CREATE_SECRET,   /* the same; what is made is for its owner alone */
    FILE_WRITE_CACHED,    /* as FILE_WRITE; NOT_IN_MEMORY when its name would have to be read from the disk */
};

struct file_info {
    int64_t size;
    int64_t modified_ms;
    int64_t disk_bytes;   /* blocks that it takes: fewer than size where there are holes */
    bool folder;
};

struct fs_ops {
    err_t (*open)(struct fs *, const char *path, enum file_mode, struct file **out);
    void (*close)(struct file *);
    err_t (*write_at)(struct file *, int64_t at, const void *p, size_t n);
    err_t (*read_at)(struct file *, int64_t at, void *p, size_t n, size_t *out_n);
    err_t (*read_cached)(struct file *, int64_t at, void *p, size_t n, size_t *out_n);
    err_t (*sync)(struct file *);
    err_t (*set_size)(struct file *, int64_t size);
    err_t (*allocate)(struct file *, int64_t size);
    err_t (*size)(struct file *, int64_t *out);
    err_t (*map)(struct file *, int64_t size, const uint8_t **out);
    void (*unmap)(struct fs *, const uint8_t *p, int64_t size);
    size_t (*in_memory)(struct fs *, const uint8_t *p, size_t n);
    err_t (*fetch)(struct fs *, const uint8_t *p, size_t n, size_t ahead);
    err_t (*lock)(struct file *);
    err_t (*make_folder)(struct fs *, const char *path);
    err_t (*sync_folder)(struct fs *, const char *path);
    err_t (*sync_all)(struct fs *, const char *path);
    err_t (*remove)(struct fs *, const char *path);
    err_t (*rename)(struct fs *, const char *from, const char *to);
    err_t (*exchange)(struct fs *, const char *a, const char *b);
    err_t (*info)(struct fs *, const char *path, struct file_info *out);
    err_t (*used_percent)(struct fs *, const char *path, int32_t *out);
    int64_t (*used_bytes)(struct fs *, const char *path);
    err_t (*list)(struct fs *, const char *path, void (*each)(void *ctx, const char *name), void *ctx);
};

struct fs {
    const struct fs_ops *ops;
};

/* Every implementation of struct file starts with this. */
struct file {
    struct fs *fs;
};

struct fs *fs_real(void);

static inline err_t fs_open(struct fs *fs, const char *path, enum file_mode mode, struct file **out) { return fs->ops->open(fs, path, mode, out); }
/* NULL is fine. Mappings of the file stay valid. */
static inline void file_close(struct file *f) { if (f) f->fs->ops->close(f); }
/* Writes all n bytes or fails. */
static inline err_t file_write_at(struct file *f, int64_t at, const void *p, size_t n) { return f->fs->ops->write_at(f, at, p, n); }
/* Reads up to n bytes; fewer only at the end of the file. */
static inline err_t file_read_at(struct file *f, int64_t at, void *p, size_t n, size_t *out_n) { return f->fs->ops->read_at(f, at, p, n, out_n); }
/* The same without waiting for the disk: NOT_IN_MEMORY when a part is not there. */
static inline err_t file_read_cached(struct file *f, int64_t at, void *p, size_t n, size_t *out_n) { return f->fs->ops->read_cached(f, at, p, n, out_n); }
/* Data is on disk when it returns (fdatasync). Thread: worker. After a failure the file's unsynced bytes are in doubt. */
static inline err_t file_sync(struct file *f) { return f->fs->ops->sync(f); }
static inline err_t file_set_size(struct file *f, int64_t size) { return f->fs->ops->set_size(f, size); }
/* Reserves blocks up to size and makes the file that long; the bytes read as zero. */
static inline err_t file_allocate(struct file *f, int64_t size) { return f->fs->ops->allocate(f, size); }
static inline err_t file_size(struct file *f, int64_t *out) { return f->fs->ops->size(f, out); }
/* Maps the first `size` bytes for reading; later writes show. Released with fs_unmap. */
static inline err_t file_map(struct file *f, int64_t size, const uint8_t **out) { return f->fs->ops->map(f, size, out); }
static inline void fs_unmap(struct fs *fs, const uint8_t *p, int64_t size) { fs->ops->unmap(fs, p, size); }
/* How many of n mapped bytes can be read from the first on without waiting for the disk. */
static inline size_t fs_in_memory(struct fs *fs, const uint8_t *p, size_t n) { return fs->ops->in_memory(fs, p, n); }
/* Brings n mapped bytes into memory, and begins to bring what is mapped behind them, up to `ahead` bytes. Thread: worker. */
static inline err_t fs_fetch(struct fs *fs, const uint8_t *p, size_t n, size_t ahead) { return fs->ops->fetch(fs, p, n, ahead); }
/* Takes the exclusive lock that keeps another process out until the file is closed; LOCKED if it is taken. */
static inline err_t file_lock(struct file *f) { return f->fs->ops->lock(f); }
/* With its parents; fine if it is there. */
static inline err_t fs_make_folder(struct fs *fs, const char *path) { return fs->ops->make_folder(fs, path); }
/* Makes names that were created, renamed or removed in the folder durable. */
static inline err_t fs_sync_folder(struct fs *fs, const char *path) { return fs->ops->sync_folder(fs, path); }
/* Everything on the disk that holds the folder, names and data: for when single syncs would be too many. Thread: worker. */
static inline err_t fs_sync_all(struct fs *fs, const char *path) { return fs->ops->sync_all(fs, path); }
/* A file or an empty folder. */
static inline err_t fs_remove(struct fs *fs, const char *path) { return fs->ops->remove(fs, path); }
static inline err_t fs_rename(struct fs *fs, const char *from, const char *to) { return fs->ops->rename(fs, from, to); }
/* The two names trade what they name, in one step: at no moment is one of them gone. Errors: NOT_FOUND; NOT_SUPPORTED, where the
 * disk has no such step. */
static inline err_t fs_exchange(struct fs *fs, const char *a, const char *b) { return fs->ops->exchange(fs, a, b); }
static inline err_t fs_info(struct fs *fs, const char *path, struct file_info *out) { return fs->ops->info(fs, path, out); }
/* Bytes in use on the disk that holds the path; -1: not known. Thread: worker. */
static inline int64_t fs_used_bytes(struct fs *fs, const char *path) { return fs->ops->used_bytes ? fs->ops->used_bytes(fs, path) : -1; }
/* How full the disk is that holds the path, as df(1) counts: of what ordinary users can have, rounded up. Thread: worker. */
static inline err_t fs_used_percent(struct fs *fs, const char *path, int32_t *out) { return fs->ops->used_percent(fs, path, out); }
/* Names in a folder, without "." and "..", in bytewise order. A folder that is not there has no names. */
static inline err_t fs_list(struct fs *fs, const char *path, void (*each)(void *ctx, const char *name), void *ctx) { return fs->ops->list(fs, path, each, ctx); }

/* Whole file into *out (appended). Files over `limit` bytes are refused. */
struct buf;
err_t fs_read_file(struct fs *fs, const char *path, size_t limit, struct buf *out) MUST_CHECK;
/* As the original keeps its configuration: the old file becomes path.bak, the new text is written to path.tmp, synced, and
 * renamed into place. Thread: worker (it syncs). */
err_t fs_replace_file(struct fs *fs, const char *path, struct slice text) MUST_CHECK;
/* The same, for its owner alone. */
err_t fs_replace_secret_file(struct fs *fs, const char *path, struct slice text) MUST_CHECK;
/* As fs_remove, and no power cut brings it back. Thread: worker, or at start and end (it syncs). */
err_t fs_remove_for_good(struct fs *fs, const char *path) MUST_CHECK;
/* As fs_make_folder, and its name and those of its parents survive a power cut. Thread: worker, or at start (it syncs). */
err_t fs_make_durable_folder(struct fs *fs, const char *path) MUST_CHECK;
/* A folder with all that is in it. */
err_t fs_remove_tree(struct fs *fs, const char *path) MUST_CHECK;

#endif
