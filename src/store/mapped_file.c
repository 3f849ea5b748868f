#include "store/mapped_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void segment_path(char out[static PATH_BYTES], const char *folder, int64_t start)
{
    int n = snprintf(out, PATH_BYTES, "%s/%020" PRId64, folder, start);
    assert(n < PATH_BYTES);
}

bool segment_start(const char *name, int64_t *out)
{
    struct slice s = slice_text(name);
    if (s.n != FILE_NAME_DIGITS) return false;
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return false;
    return s.p[0] == '0' && slice_to_i64(slice_skip(s, 1), out);   /* 64 bits have at most 19 digits */
}

void mapped_files_init(struct mapped_files *m, struct fs *fs, const char *folder, int64_t file_bytes)
{
    *m = (struct mapped_files){.fs = fs, .folder = must_strdup(folder), .file_bytes = file_bytes};
}

void mapped_file_free(struct mapped_file *f)
{
    if (!f) return;
    if (f->bytes) fs_unmap(f->fs, f->bytes, f->size);
    file_close(f->file);
    free(f);
}

static void drop(struct mapped_file *f)
{
    f->dropped = true;
    if (!f->pins) mapped_file_free(f);
}

void mapped_file_unpin(void *p)
{
    struct mapped_file *f = p;
    assert(f->pins > 0);
    if (!--f->pins && f->dropped) mapped_file_free(f);
}

void mapped_files_done(struct mapped_files *m)
{
    for (size_t i = 0; i < m->count; i++) drop(m->all[i]);
    free(m->all);
    free(m->folder);
    *m = (struct mapped_files){.fs = NULL};
}

static struct mapped_file *wrap(struct file *file, int64_t start, int64_t size, const uint8_t *bytes)
{
    struct mapped_file *f = must_alloc(sizeof *f);
    *f = (struct mapped_file){.fs = file->fs, .file = file, .bytes = bytes, .start = start, .size = size};
    return f;
}

err_t mapped_file_make(struct fs *fs, const char *folder, int64_t start, int64_t size, struct mapped_file **out)
{
    char path[PATH_BYTES];
    segment_path(path, folder, start);
    struct file *file;
    const uint8_t *bytes;
    err_t e = fs_open(fs, path, FILE_CREATE, &file);
    if (e) return e;
    e = file_allocate(file, size);
    if (!e) e = file_map(file, size, &bytes);
    if (e) {
        file_close(file);
        return e;
    }
    *out = wrap(file, start, size, bytes);
    return NULL;
}

err_t mapped_file_view(struct fs *fs, const char *folder, int64_t start, int64_t size, struct mapped_file **out)
{
    char path[PATH_BYTES];
    segment_path(path, folder, start);
    struct file *file;
    const uint8_t *bytes;
    err_t e = fs_open(fs, path, FILE_READ, &file);
    if (e) return e;
    e = file_map(file, size, &bytes);
    file_close(file);
    if (e) return e;
    struct mapped_file *f = must_alloc(sizeof *f);
    *f = (struct mapped_file){.fs = fs, .bytes = bytes, .start = start, .size = size};
    *out = f;
    return NULL;
}

void mapped_file_drop(struct mapped_file *f, struct buf *out)
{
    if (f->pins) f->dropped = true;
    else buf_put(out, &f, sizeof f);
}

void mapped_files_take(struct mapped_files *m, struct mapped_file *f)
{
    assert(!m->count || f->start == mapped_file_end(mapped_files_last(m)));
    if (m->count == m->cap) {
        m->cap = m->cap ? m->cap * 2 : 4;
        struct mapped_file **all = must_alloc(m->cap * sizeof *all);
        if (m->count) memcpy(all, m->all, m->count * sizeof *all);
        free(m->all);
        m->all = all;
    }
    m->all[m->count++] = f;
}

/* A file that is there already. Its name may have survived a power cut and its content not: then it is as if just made. */
static err_t open_old(struct mapped_files *m, int64_t start, bool too_short)
{
    char path[PATH_BYTES];
    segment_path(path, m->folder, start);
    struct file *file;
    const uint8_t *bytes;
    err_t e = fs_open(m->fs, path, FILE_WRITE, &file);
    if (e) return e;
    e = too_short ? file_allocate(file, m->file_bytes) : NULL;
    if (!e) e = file_map(file, m->file_bytes, &bytes);
    if (e) {
        file_close(file);
        return e;
    }
    mapped_files_take(m, wrap(file, start, m->file_bytes, bytes));
    return NULL;
}

static void collect_start(void *ctx, const char *name)
{
    int64_t start;
    if (segment_start(name, &start)) buf_put(ctx, &start, sizeof start);
}

static err_t load_one(struct mapped_files *m, int64_t start, bool last, bool mend)
{
    char path[PATH_BYTES];
    segment_path(path, m->folder, start);
    struct file_info info;
    err_t e = fs_info(m->fs, path, &info);
    if (e) return e;
    if (info.size == 0 && last) return fs_remove(m->fs, path);
    bool too_short = info.size == 0 || (mend && last && info.size < m->file_bytes);
    if (info.size != m->file_bytes && !too_short)
        return err_new(ERR_CORRUPT, "%s has %" PRId64 " bytes, but files of %" PRId64 " bytes are configured", path, info.size,
                       m->file_bytes);
    if (m->count && start != mapped_file_end(mapped_files_last(m)))
        return err_new(ERR_CORRUPT, "the file before %s is missing", path);
    return open_old(m, start, too_short);
}

err_t mapped_files_load(struct mapped_files *m, bool mend)
{
    struct buf starts = BUF_EMPTY;
    err_t e = fs_list(m->fs, m->folder, collect_start, &starts);   /* in order of their names, hence of their numbers */
    size_t n = starts.n / sizeof(int64_t);
    for (size_t i = 0; i < n && !e; i++) {
        int64_t start;
        memcpy(&start, starts.p + i * sizeof start, sizeof start);
        e = load_one(m, start, i + 1 == n, mend);
    }
    buf_done(&starts);
    return e;
}

err_t mapped_files_remove_last(struct mapped_files *m)
{
    struct mapped_file *f = mapped_files_last(m);
    char path[PATH_BYTES];
    segment_path(path, m->folder, f->start);
    err_t e = fs_remove(m->fs, path);
    if (e) return e;
    m->count--;
    drop(f);
    return NULL;
}

void mapped_files_forget_first(struct mapped_files *m, size_t count, struct buf *out)
{
    assert(count < m->count);
    for (size_t i = 0; i < count; i++) mapped_file_drop(m->all[i], out);
    m->count -= count;
    memmove(m->all, m->all + count, m->count * sizeof *m->all);
}

err_t mapped_files_cut(struct mapped_files *m, int64_t at)
{
    struct mapped_file *f = mapped_files_at(m, at);
    if (!f) return NULL;
    err_t e = file_set_size(f->file, at - f->start);   /* shorter and longer again: the bytes between read as zeros */
    if (e) return e;
    e = file_allocate(f->file, f->size);
    if (!e) return NULL;
    err_drop(e, "the blocks are allocated when they are written");
    return file_set_size(f->file, f->size);            /* shorter than its map it must not stay */
}

void mapped_files_seal(struct mapped_files *m, int64_t end)
{
    for (size_t i = m->count; i-- > 0;) {
        struct mapped_file *f = m->all[i];
        if (mapped_file_end(f) > end || f->pins) continue;
        if (!f->file) return;   /* and so are those before it */
        file_close(f->file);
        f->file = NULL;
    }
}

struct mapped_file *mapped_files_at(const struct mapped_files *m, int64_t position)
{
    if (!m->count || position < m->all[0]->start) return NULL;
    size_t i = (size_t)((position - m->all[0]->start) / m->file_bytes);
    return i < m->count ? m->all[i] : NULL;
}
