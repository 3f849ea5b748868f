#include "timer/files.h"

#include "timer/wheel.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_DIGITS = 20, WINDOW_SMALL = 4 << 10, FILE_BYTES_LEAST = TIMER_UNIT_BYTES + TIMER_BLANK_BYTES };

static char *path_in(const char *root, const char *name)
{
    char path[TIMER_PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return must_strdup(path);
}

void timer_files_init(struct timer_files *f, struct fs *fs, const char *root, int64_t file_bytes)
{
    *f = (struct timer_files){
        .fs = fs, .root = must_strdup(root), .log_folder = path_in(root, "timerlog"), .wheel = path_in(root, "timerwheel"),
        .config = path_in(root, "config"), .check = path_in(root, "config/timercheck"), .file_bytes = file_bytes,
    };
}

void timer_files_done(struct timer_files *f)
{
    free(f->root);
    free(f->log_folder);
    free(f->wheel);
    free(f->config);
    free(f->check);
}

void timer_file_path(const struct timer_files *f, int64_t start, char out[static TIMER_PATH_BYTES])
{
    snprintf(out, TIMER_PATH_BYTES, "%s/%020" PRId64, f->log_folder, start);
}

/* --- which files there are --- */

static void collect_start(void *ctx, const char *name)
{
    int64_t start;
    struct slice s = slice_text(name);
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] < '0' || s.p[i] > '9') return;
    if (s.n == NAME_DIGITS && s.p[0] == '0' && slice_to_i64(slice_skip(s, 1), &start)) buf_put(ctx, &start, sizeof start);
}

/* The first file says how long they are; an empty last one was just made. */
static err_t look_at(struct timer_files *f, int64_t start, bool last, int64_t *first, int64_t *end)
{
    char path[TIMER_PATH_BYTES];
    struct file_info info;
    timer_file_path(f, start, path);
    err_t e = fs_info(f->fs, path, &info);
    if (e) return e;
    if (last && info.size == 0) return fs_remove(f->fs, path);
    if (*end == 0) {
        *first = start;
        f->file_bytes = info.size;
    }
    if (info.size != f->file_bytes || info.size < FILE_BYTES_LEAST || start % info.size || (*end && start != *end))
        return err_new(ERR_CORRUPT, "%s does not go with the files before it", path);
    *end = start + info.size;
    return NULL;
}

err_t timer_files_look(struct timer_files *f, int64_t *first, int64_t *end)
{
    struct buf starts = BUF_EMPTY;
    int64_t from = 0, to = 0;
    err_t e = fs_list(f->fs, f->log_folder, collect_start, &starts);   /* in the order of their names, hence of their numbers */
    size_t count = starts.n / sizeof(int64_t);
    for (size_t i = 0; i < count && !e; i++) {
        int64_t start;
        memcpy(&start, starts.p + i * sizeof start, sizeof start);
        e = look_at(f, start, i + 1 == count, &from, &to);
    }
    buf_done(&starts);
    if (e) return e;
    *first = from;
    *end = to;
    return NULL;
}

static err_t put_aside(const struct timer_files *f, const char *path)
{
    char away[TIMER_PATH_BYTES];
    snprintf(away, sizeof away, "%s.damaged", path);
    err_t e = fs_remove_tree(f->fs, away);
    if (!e) e = fs_rename(f->fs, path, away);
    if (err_code(e) != ERR_NOT_FOUND) return e;
    err_free(e);
    return NULL;
}

err_t timer_files_put_aside(const struct timer_files *f)
{
    err_t e = put_aside(f, f->log_folder);
    if (!e) e = put_aside(f, f->wheel);
    return e ? e : fs_sync_folder(f->fs, f->root);
}

err_t timer_files_cut(const struct timer_files *f, int64_t at, int64_t end)
{
    char path[TIMER_PATH_BYTES];
    struct file *file;
    err_t e = NULL;
    int64_t start = timer_file_start(f, at);
    while (!e && end - f->file_bytes > start) {
        end -= f->file_bytes;
        timer_file_path(f, end, path);
        e = fs_remove(f->fs, path);
    }
    if (e || start >= end) return e;
    timer_file_path(f, start, path);
    e = fs_open(f->fs, path, FILE_WRITE, &file);
    if (e) return e;
    e = file_set_size(file, at - start);   /* shorter and longer again: the bytes between read as zeros */
    err_t longer = file_set_size(file, f->file_bytes);
    file_close(file);
    if (e) err_free(longer);
    return e ? e : longer;
}

/* --- reading --- */

void timer_reader_init(struct timer_reader *r, const struct timer_files *files, bool backward)
{
    *r = (struct timer_reader){.files = files, .backward = backward, .window = must_alloc(TIMER_WINDOW_BYTES)};
}

void timer_reader_done(struct timer_reader *r)
{
    file_close(r->file);
    free(r->window);
}

static err_t open_file(struct timer_reader *r, int64_t start)
{
    char path[TIMER_PATH_BYTES];
    if (r->file && r->start == start) return NULL;
    file_close(r->file);
    r->file = NULL;
    r->window_bytes = 0;
    r->start = start;
    timer_file_path(r->files, start, path);
    return fs_open(r->files->fs, path, FILE_READ, &r->file);
}

/* Units of one slot that lie near each other are read together; those that do not cost a small read each. */
static err_t fill_window(struct timer_reader *r, int64_t position, int64_t bytes)
{
    bool near = !r->backward || (position < r->window_at && r->window_at - position < TIMER_WINDOW_BYTES);
    int64_t size = near ? TIMER_WINDOW_BYTES : WINDOW_SMALL, at = r->backward ? position + bytes - size : position;
    if (at < r->start) at = r->start;
    r->window_bytes = 0;
    err_t e = file_read_at(r->file, at - r->start, r->window, (size_t)size, &r->window_bytes);
    r->window_at = at;
    return err_in(e, "read the timer log at %" PRId64, position);
}

static err_t get_bytes(struct timer_reader *r, int64_t position, int64_t bytes, const uint8_t **out)
{
    err_t e = open_file(r, timer_file_start(r->files, position));
    bool there = position >= r->window_at && position + bytes <= r->window_at + (int64_t)r->window_bytes;
    if (!e && !there) e = fill_window(r, position, bytes);
    if (e) return e;
    if (position < r->window_at || position + bytes > r->window_at + (int64_t)r->window_bytes)
        return err_new(ERR_CORRUPT, "the timer log ends before %" PRId64, position);
    *out = r->window + (position - r->window_at);
    return NULL;
}

err_t timer_reader_unit(struct timer_reader *r, int64_t position, struct timer_unit *out)
{
    const uint8_t *p;
    if (!timer_unit_fits(r->files->file_bytes, position % r->files->file_bytes))
        return err_new(ERR_CORRUPT, "no unit of the timer log can be at %" PRId64, position);
    err_t e = get_bytes(r, position, TIMER_UNIT_BYTES, &p);
    if (e) return e;
    return timer_unit_decode(p, position, out) ? NULL : err_new(ERR_CORRUPT, "there is no unit of the timer log at %" PRId64, position);
}

err_t timer_reader_next(struct timer_reader *r, int64_t *position, struct timer_unit *out)
{
    const uint8_t *p;
    int64_t in_file = *position % r->files->file_bytes;
    bool at_end = !timer_unit_fits(r->files->file_bytes, in_file);
    if (at_end && r->files->file_bytes - in_file >= TIMER_BLANK_BYTES) {
        err_t e = get_bytes(r, *position, TIMER_BLANK_BYTES, &p);
        if (e) return e;
        if (!timer_is_blank(p)) return err_new(ERR_CORRUPT, "no blank ends the file of the timer log at %" PRId64, *position);
    }
    if (at_end) *position = timer_file_start(r->files, *position) + r->files->file_bytes;
    return timer_reader_unit(r, *position, out);
}

/* --- writing --- */

static err_t open_long(const struct timer_files *f, const char *path, int64_t bytes, struct file **out)
{
    struct file *file;
    int64_t size;
    err_t e = fs_open(f->fs, path, FILE_CREATE, &file);
    if (e) return e;
    e = file_size(file, &size);
    if (!e && size != bytes) e = file_set_size(file, bytes);
    if (e) file_close(file);
    else *out = file;
    return e;
}

static err_t write_part(const struct timer_files *f, int64_t position, struct slice part)
{
    char path[TIMER_PATH_BYTES];
    struct file *file;
    int64_t start = timer_file_start(f, position);
    timer_file_path(f, start, path);
    err_t e = open_long(f, path, f->file_bytes, &file);
    if (e) return e;
    e = file_write_at(file, position - start, part.p, part.n);
    if (!e) e = file_sync(file);
    file_close(file);
    if (!e && position == start) e = fs_sync_folder(f->fs, f->log_folder);
    return e;
}

err_t timer_files_write_log(const struct timer_files *f, int64_t position, struct slice bytes)
{
    err_t e = bytes.n ? fs_make_durable_folder(f->fs, f->log_folder) : NULL;
    while (!e && bytes.n) {
        int64_t left = timer_file_start(f, position) + f->file_bytes - position;
        size_t n = bytes.n < (size_t)left ? bytes.n : (size_t)left;
        e = write_part(f, position, slice_of(bytes.p, n));
        bytes = slice_skip(bytes, n);
        position += (int64_t)n;
    }
    return err_in(e, "write the timer log");
}

err_t timer_files_write_wheel(const struct timer_files *f, struct slice pages)
{
    struct file *file;
    struct file_info info;
    if (!pages.n) return NULL;
    err_t missing = fs_info(f->fs, f->wheel, &info);
    err_t e = open_long(f, f->wheel, WHEEL_FILE_BYTES, &file);
    if (e) goto out;
    while (!e && pages.n) {
        size_t number;
        memcpy(&number, pages.p, sizeof number);
        e = file_write_at(file, (int64_t)(number * WHEEL_PAGE_BYTES), pages.p + sizeof number, WHEEL_PAGE_BYTES);
        pages = slice_skip(pages, sizeof number + WHEEL_PAGE_BYTES);
    }
    if (!e) e = file_sync(file);
    file_close(file);
    if (!e && missing) e = fs_sync_folder(f->fs, f->root);
out:
    err_free(missing);
    return err_in(e, "write the timer wheel");
}

err_t timer_files_write_check(const struct timer_files *f, const struct timer_check *check)
{
    uint8_t bytes[TIMER_CHECK_BYTES];
    struct file *file;
    struct file_info info;
    timer_check_encode(check, bytes);
    err_t missing = fs_info(f->fs, f->check, &info);
    err_t e = missing ? fs_make_durable_folder(f->fs, f->config) : NULL;
    if (!e) e = fs_open(f->fs, f->check, FILE_CREATE, &file);
    if (e) goto out;
    e = file_write_at(file, 0, bytes, sizeof bytes);
    if (!e) e = file_sync(file);
    file_close(file);
    if (!e && missing) e = fs_sync_folder(f->fs, f->config);
out:
    err_free(missing);
    return err_in(e, "write the checkpoint of timers");
}

/* Where the last unit of a file is. */
static int64_t last_of_file(const struct timer_files *f, int64_t start)
{
    return start + ((f->file_bytes - TIMER_BLANK_BYTES) / TIMER_UNIT_BYTES - 1) * TIMER_UNIT_BYTES;
}

err_t timer_files_expire(const struct timer_files *f, int64_t log_min, int64_t end, int64_t *first)
{
    struct timer_reader r;
    struct timer_unit last;
    if (*first + f->file_bytes >= end) return NULL;
    timer_reader_init(&r, f, true);
    err_t e = timer_reader_unit(&r, last_of_file(f, *first), &last);
    timer_reader_done(&r);
    if (e || last.log_offset >= log_min) return e;
    char path[TIMER_PATH_BYTES];
    timer_file_path(f, *first, path);
    e = fs_remove(f->fs, path);
    if (!e) e = fs_sync_folder(f->fs, f->log_folder);
    if (!e) *first += f->file_bytes;
    return e;
}
