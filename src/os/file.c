#include "os/file.h"
#include "base/buf.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

struct real_file {
    struct file file;
    int fd;
    char path[];
};

static int fd_of(struct file *f) { return ((struct real_file *)f)->fd; }
static const char *path_of(struct file *f) { return ((struct real_file *)f)->path; }

static err_t failed(const char *what, const char *path)
{
    int number = errno;
    enum err_code code = number == ENOENT ? ERR_NOT_FOUND : number == ENOSPC || number == EDQUOT ? ERR_DISK_FULL
                       : number == EAGAIN ? ERR_NOT_IN_MEMORY : ERR_IO;
    return err_new(code, "%s %s: %s", what, path, strerror(number));
}

/* Fails with EAGAIN when the name is not in memory. Kernels, and sandboxes, that do not know how are asked the usual way. */
static int open_cached(const char *path, int flags)
{
    struct open_how how = {.flags = (uint64_t)flags, .resolve = RESOLVE_CACHED};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (fd >= 0 || errno == EAGAIN || errno == ENOENT) return fd;
    return open(path, flags);
}

static err_t real_open(struct fs *fs, const char *path, enum file_mode mode, struct file **out)
{
    bool creates = mode == FILE_CREATE || mode == FILE_CREATE_SECRET;
    int flags = (mode == FILE_READ ? O_RDONLY : O_RDWR) | (creates ? O_CREAT : 0) | O_CLOEXEC;
    int fd = mode == FILE_WRITE_CACHED ? open_cached(path, flags) : open(path, flags, mode == FILE_CREATE_SECRET ? 0600 : 0644);
    if (fd < 0) return failed("open", path);
    struct real_file *f = must_alloc(sizeof *f + strlen(path) + 1);
    f->file.fs = fs;
    f->fd = fd;
    strcpy(f->path, path);
    *out = &f->file;
    return NULL;
}

static void real_close(struct file *f)
{
    close(fd_of(f));
    free(f);
}

static err_t real_write_at(struct file *f, int64_t at, const void *p, size_t n)
{
    const uint8_t *from = p;
    while (n) {
        ssize_t done = pwrite(fd_of(f), from, n, at);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return failed("write", path_of(f));
        from += done;
        at += done;
        n -= (size_t)done;
    }
    return NULL;
}

static err_t real_read_at(struct file *f, int64_t at, void *p, size_t n, size_t *out_n)
{
    uint8_t *to = p;
    size_t got = 0;
    while (got < n) {
        ssize_t done = pread(fd_of(f), to + got, n - got, at + (int64_t)got);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return failed("read", path_of(f));
        if (done == 0) break;
        got += (size_t)done;
    }
    *out_n = got;
    return NULL;
}

static err_t real_read_cached(struct file *f, int64_t at, void *p, size_t n, size_t *out_n)
{
    uint8_t *to = p;
    size_t got = 0;
    while (got < n) {
        struct iovec part = {to + got, n - got};
        ssize_t done = preadv2(fd_of(f), &part, 1, at + (int64_t)got, RWF_NOWAIT);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0 && errno == EOPNOTSUPP) return real_read_at(f, at, p, n, out_n);   /* a disk that does not know how */
        if (done < 0) return failed("read", path_of(f));
        if (done == 0) break;
        got += (size_t)done;
    }
    *out_n = got;
    return NULL;
}

static err_t real_sync(struct file *f)
{
    return fdatasync(fd_of(f)) ? failed("sync", path_of(f)) : NULL;
}

static err_t real_set_size(struct file *f, int64_t size)
{
    return ftruncate(fd_of(f), size) ? failed("set the size of", path_of(f)) : NULL;
}

static err_t real_allocate(struct file *f, int64_t size)
{
    int number = posix_fallocate(fd_of(f), 0, size);
    if (!number) return NULL;
    errno = number;
    return failed("allocate", path_of(f));
}

static err_t real_size(struct file *f, int64_t *out)
{
    struct stat s;
    if (fstat(fd_of(f), &s)) return failed("look at", path_of(f));
    *out = s.st_size;
    return NULL;
}

static err_t real_map(struct file *f, int64_t size, const uint8_t **out)
{
    void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_SHARED, fd_of(f), 0);
    if (p == MAP_FAILED) return failed("map", path_of(f));
    *out = p;
    return NULL;
}

static void real_unmap(struct fs *fs, const uint8_t *p, int64_t size)
{
    (void)fs;
    munmap((void *)p, (size_t)size);
}

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static size_t real_in_memory(struct fs *fs, const uint8_t *p, size_t n)
{
    enum { PAGES = 64 };
    unsigned char there[PAGES];
    size_t page = page_bytes(), before = (uintptr_t)p % page, left = before + n, found = 0;
    uint8_t *from = (uint8_t *)p - before;
    (void)fs;
    while (found < left) {
        size_t pages = (left - found + page - 1) / page;
        if (pages > PAGES) pages = PAGES;
        if (mincore(from + found, pages * page, there)) return n;   /* it cannot be told: as if there were only memory */
        for (size_t i = 0; i < pages; i++, found += page)
            if (!(there[i] & 1)) return found > before ? found - before : 0;
    }
    return n;
}

/* First all of it is asked for, so that the disk can read it in one go; then what is needed is waited for. */
static err_t real_fetch(struct fs *fs, const uint8_t *p, size_t n, size_t ahead)
{
    size_t before = (uintptr_t)p % page_bytes();
    uint8_t *from = (uint8_t *)p - before;
    (void)fs;
    if (madvise(from, before + n + ahead, MADV_WILLNEED) && errno != ENOMEM) return failed("read ahead", "a mapped file");
    while (madvise(from, before + n, MADV_POPULATE_READ)) {
        if (errno == EINTR) continue;
        if (errno != EINVAL) return err_new(ERR_IO, "read a mapped file: %s", strerror(errno == EFAULT ? EIO : errno));
        for (size_t i = 0; i < before + n; i += page_bytes()) (void)*(volatile uint8_t *)(from + i);   /* a kernel before 5.14 */
        break;
    }
    return NULL;
}

static err_t real_lock(struct file *f)
{
    if (!flock(fd_of(f), LOCK_EX | LOCK_NB)) {
        /* The original locks by fcntl; take that too, so that neither starts on the other's data. */
        struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        if (!fcntl(fd_of(f), F_SETLK, &range)) return NULL;
    }
    if (errno == EWOULDBLOCK || errno == EACCES || errno == EAGAIN)
        return err_new(ERR_LOCKED, "%s is locked by another process", path_of(f));
    return failed("lock", path_of(f));
}

static err_t real_make_folder(struct fs *fs, const char *path)
{
    (void)fs;
    char part[PATH_MAX];
    size_t n = strlen(path);
    if (n >= sizeof part) return err_new(ERR_IO, "path too long: %s", path);
    for (size_t i = 1; i <= n; i++) {
        if (path[i] != '/' && path[i]) continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0755) && errno != EEXIST) return failed("make the folder", part);
    }
    struct stat s;
    if (stat(path, &s)) return failed("look at", path);
    return S_ISDIR(s.st_mode) ? NULL : err_new(ERR_IO, "%s is not a folder", path);
}

static err_t real_sync_folder(struct fs *fs, const char *path)
{
    (void)fs;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed("open the folder", path);
    err_t e = fsync(fd) ? failed("sync the folder", path) : NULL;
    close(fd);
    return e;
}

static err_t real_sync_all(struct fs *fs, const char *path)
{
    (void)fs;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) return failed("open the folder", path);
    err_t e = syncfs(fd) ? failed("sync the disk of", path) : NULL;
    close(fd);
    return e;
}

static err_t real_remove(struct fs *fs, const char *path)
{
    (void)fs;
    return remove(path) ? failed("remove", path) : NULL;
}

static err_t real_rename(struct fs *fs, const char *from, const char *to)
{
    (void)fs;
    return rename(from, to) ? failed("rename", from) : NULL;
}

static err_t real_used_percent(struct fs *fs, const char *path, int32_t *out)
{
    (void)fs;
    struct statvfs v;
    if (statvfs(path, &v)) return failed("look at the space of", path);
    uint64_t used = v.f_blocks - v.f_bfree, all = used + v.f_bavail;
    *out = all ? (int32_t)((used * 100 + all - 1) / all) : 0;
    return NULL;
}

static int64_t real_used_bytes(struct fs *fs, const char *path)
{
    (void)fs;
    struct statvfs v;
    return statvfs(path, &v) ? -1 : (int64_t)((v.f_blocks - v.f_bfree) * v.f_frsize);
}

static err_t real_exchange(struct fs *fs, const char *a, const char *b)
{
    (void)fs;
    if (!renameat2(AT_FDCWD, a, AT_FDCWD, b, RENAME_EXCHANGE)) return NULL;
    if (errno == EINVAL || errno == ENOSYS) return err_new(ERR_NOT_SUPPORTED, "the disk cannot exchange %s and %s", a, b);
    return failed("exchange", a);
}

static err_t real_info(struct fs *fs, const char *path, struct file_info *out)
{
    (void)fs;
    struct stat s;
    if (stat(path, &s)) return failed("look at", path);
    *out = (struct file_info){
        .size = s.st_size,
        .modified_ms = (int64_t)s.st_mtim.tv_sec * 1000 + s.st_mtim.tv_nsec / 1000000,
        .disk_bytes = (int64_t)s.st_blocks * 512,
        .folder = S_ISDIR(s.st_mode),
    };
    return NULL;
}

static int by_name(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

static err_t real_list(struct fs *fs, const char *path, void (*each)(void *ctx, const char *name), void *ctx)
{
    (void)fs;
    DIR *d = opendir(path);
    if (!d) return errno == ENOENT ? NULL : failed("list", path);
    struct buf names = BUF_EMPTY;   /* of char * */
    for (struct dirent *entry; (entry = readdir(d));) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char *name = must_strdup(entry->d_name);
        buf_put(&names, &name, sizeof name);
    }
    closedir(d);
    char **all = (char **)(void *)names.p;
    size_t n = names.n / sizeof *all;
    if (n) qsort(all, n, sizeof *all, by_name);
    for (size_t i = 0; i < n; i++) {
        each(ctx, all[i]);
        free(all[i]);
    }
    buf_done(&names);
    return NULL;
}

static const struct fs_ops real_ops = {
    .open = real_open, .close = real_close, .write_at = real_write_at, .read_at = real_read_at,
    .read_cached = real_read_cached, .in_memory = real_in_memory, .fetch = real_fetch, .sync = real_sync,
    .set_size = real_set_size, .allocate = real_allocate, .size = real_size, .map = real_map, .unmap = real_unmap,
    .lock = real_lock, .make_folder = real_make_folder, .sync_folder = real_sync_folder,
    .sync_all = real_sync_all, .used_percent = real_used_percent, .used_bytes = real_used_bytes, .remove = real_remove,
    .rename = real_rename, .exchange = real_exchange, .info = real_info, .list = real_list,
};

struct fs *fs_real(void)
{
    static struct fs real = {&real_ops};
    return &real;
}

err_t fs_read_file(struct fs *fs, const char *path, size_t limit, struct buf *out)
{
    struct file *f;
    err_t e = fs_open(fs, path, FILE_READ, &f);
    if (e) return e;
    int64_t size;
    size_t got = 0;
    e = file_size(f, &size);
    if (!e && (uint64_t)size > limit) e = err_new(ERR_CORRUPT, "%s is larger than %zu bytes", path, limit);
    if (!e && size > 0) {
        buf_reserve(out, (size_t)size);
        e = file_read_at(f, 0, out->p + out->n, (size_t)size, &got);
    }
    if (!e) out->n += got;
    file_close(f);
    return e;
}

static err_t write_whole(struct fs *fs, const char *path, enum file_mode mode, struct slice text)
{
    struct file *f;
    err_t e = fs_open(fs, path, mode, &f);
    if (e) return e;
    e = file_set_size(f, 0);
    if (!e) e = file_write_at(f, 0, text.p, text.n);
    if (!e) e = file_sync(f);
    file_close(f);
    return e;
}

/* Its name, or that it has none any more, survives a power cut. */
static err_t sync_folder_of(struct fs *fs, const char *path)
{
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s", path);
    char *slash = strrchr(folder, '/');
    if (slash) *slash = 0;
    return fs_sync_folder(fs, slash ? folder : ".");
}

static err_t replace(struct fs *fs, const char *path, enum file_mode mode, struct slice text)
{
    char fresh[PATH_MAX], old[PATH_MAX];
    if (snprintf(fresh, sizeof fresh, "%s.tmp", path) >= (int)sizeof fresh) return err_new(ERR_IO, "path too long: %s", path);
    snprintf(old, sizeof old, "%s.bak", path);
    err_t e = write_whole(fs, fresh, mode, text);
    if (e) return e;
    e = fs_rename(fs, path, old);
    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);   /* the first time there is no old file */
        e = NULL;
    }
    if (!e) e = fs_rename(fs, fresh, path);
    return e ? e : sync_folder_of(fs, path);
}

err_t fs_replace_file(struct fs *fs, const char *path, struct slice text) { return replace(fs, path, FILE_CREATE, text); }
err_t fs_replace_secret_file(struct fs *fs, const char *path, struct slice text) { return replace(fs, path, FILE_CREATE_SECRET, text); }

err_t fs_remove_for_good(struct fs *fs, const char *path)
{
    err_t e = fs_remove(fs, path);
    return e ? e : sync_folder_of(fs, path);
}

static bool is_there(struct fs *fs, const char *path)
{
    struct file_info info;
    err_t e = fs_info(fs, path, &info);
    err_free(e);
    return !e;
}

/* Cuts the last name off; nothing is left of "name" and "/name". Returns the folder that holds it. */
static const char *cut_last(char *path)
{
    char *slash = strrchr(path, '/');
    if (!slash) {
        *path = 0;
        return ".";
    }
    *slash = 0;
    return slash == path ? "/" : path;
}

err_t fs_make_durable_folder(struct fs *fs, const char *path)
{
    char parent[PATH_MAX];
    if (snprintf(parent, sizeof parent, "%s", path) >= (int)sizeof parent) return err_new(ERR_IO, "path too long: %s", path);
    if (is_there(fs, path)) {   /* perhaps since a moment ago, by somebody who failed or died before the names were synced */
        while (*parent) err_drop(fs_sync_folder(fs, cut_last(parent)), "who may not look into the folder above did not make this one");
        return NULL;
    }
    size_t there;
    do {
        there = strlen(cut_last(parent));
    } while (*parent && !is_there(fs, parent));
    snprintf(parent, sizeof parent, "%s", path);
    err_t e = fs_make_folder(fs, path);
    while (!e && strlen(parent) > there) e = fs_sync_folder(fs, cut_last(parent));
    return e;
}

struct tree {
    struct fs *fs;
    const char *path;
    err_t e;
};

static void remove_below(void *ctx, const char *name)
{
    struct tree *t = ctx;
    if (t->e) return;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", t->path, name);
    t->e = fs_remove_tree(t->fs, path);
}

err_t fs_remove_tree(struct fs *fs, const char *path)
{
    struct file_info info;
    err_t e = fs_info(fs, path, &info);
    if (e && err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        return NULL;
    }
    if (e) return e;
    if (info.folder) {
        struct tree t = {fs, path, NULL};
        e = fs_list(fs, path, remove_below, &t);
        if (!e) e = t.e;
        if (e) return e;
    }
    return fs_remove(fs, path);
}
