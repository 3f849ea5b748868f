#include "store/log_walk.h"

#include "codec/record.h"

#include <assert.h>

enum {
    WALK_BYTES = 1 << 20,
    LOOK_BYTES = 16 << 10,
    RECORD_BYTES_MAX = 256 << 20,   /* no message is larger; so much memory may one take */
};

err_t log_walk_open(struct log_walk *w, struct fs *fs, const char *path, int64_t start)
{
    struct file *f;
    int64_t size;
    err_t e = fs_open(fs, path, FILE_READ, &f);
    if (e) return e;
    e = file_size(f, &size);
    if (e) {
        file_close(f);
        return e;
    }
    *w = (struct log_walk){.file = f, .start = start, .end = start + size, .at = start};
    return NULL;
}

void log_walk_close(struct log_walk *w)
{
    file_close(w->file);
    buf_done(&w->window);
    *w = (struct log_walk){.file = NULL};
}

/* At least `want` bytes from `at` on, or all that the file has. */
static err_t view(struct log_walk *w, int64_t at, int64_t want, struct slice *out)
{
    if (want > w->end - at) want = w->end - at;
    bool there = at >= w->window_at && at + want <= w->window_at + (int64_t)w->window.n;
    if (!there) {
        int64_t n = want > w->at_once ? want : w->at_once;
        if (n > w->end - at) n = w->end - at;
        buf_clear(&w->window);
        buf_reserve(&w->window, (size_t)n);
        w->window_at = at;
        err_t e = file_read_at(w->file, at - w->start, w->window.p, (size_t)n, &w->window.n);
        if (e) {
            w->window.n = 0;
            return e;
        }
        if ((int64_t)w->window.n < n) w->end = at + (int64_t)w->window.n;   /* cut shorter since it was opened */
    }
    *out = slice_skip(buf_slice(&w->window), (size_t)(at - w->window_at));
    return NULL;
}

/* A record states its own position: nothing else is taken for one, and no memory is taken for what cannot be one. */
static bool may_begin(struct slice bytes, int64_t at, int64_t rest)
{
    if (bytes.n < RECORD_SMALLEST || record_log_offset(bytes.p) != at) return false;
    uint32_t magic = record_magic(bytes.p), size = record_total_size(bytes.p);
    return (magic == RECORD_MAGIC_V1 || magic == RECORD_MAGIC_V2) && size >= RECORD_SMALLEST && size <= RECORD_BYTES_MAX && size <= rest;
}

/* The record that begins there, if its lengths agree; out->size 0: none. */
static err_t read_record(struct log_walk *w, int64_t at, struct log_step *out)
{
    struct slice bytes;
    out->size = 0;
    err_t e = view(w, at, RECORD_SMALLEST, &bytes);
    if (e || !may_begin(bytes, at, w->end - at)) return e;
    uint32_t size = record_total_size(bytes.p);
    e = view(w, at, size, &bytes);
    if (e || bytes.n < size || record_read(slice_of(bytes.p, size), &out->message) != RECORD_WHOLE) return e;
    out->kind = record_body_intact(&out->message) ? LOG_RECORD : LOG_BAD_CHECKSUM;
    out->at = at;
    out->size = size;
    out->bytes = slice_of(bytes.p, size);
    return NULL;
}

/* The first byte from `at` on that is not zero; the end of the file when there is none. */
static err_t skip_zeros(struct log_walk *w, int64_t at, int64_t *out)
{
    while (at < w->end) {
        struct slice bytes;
        err_t e = view(w, at, 1, &bytes);
        if (e) return e;
        for (size_t i = 0; i < bytes.n; i++, at++) {
            if (!bytes.p[i]) continue;
            *out = at;
            return NULL;
        }
    }
    *out = w->end;
    return NULL;
}

/* The next good record from `at` on; the end of the file when there is none. */
static err_t next_good(struct log_walk *w, int64_t at, int64_t *out)
{
    while (w->end - at >= RECORD_SMALLEST) {
        struct slice bytes;
        struct log_step step;
        err_t e = view(w, at, RECORD_SMALLEST, &bytes);
        if (e) return e;
        if (bytes.n < RECORD_SMALLEST) break;
        size_t i = record_search(bytes, 0, at);
        if (i == bytes.n) {
            at += (int64_t)(bytes.n - RECORD_SMALLEST + 1);
            continue;
        }
        at += (int64_t)i;
        e = read_record(w, at, &step);
        if (e) return e;
        if (step.size && step.kind == LOG_RECORD) {
            *out = at;
            return NULL;
        }
        at++;
    }
    *out = w->end;
    return NULL;
}

/* Behind bytes that are no record. */
static err_t look_further(struct log_walk *w, struct log_step *out)
{
    int64_t first, next;
    err_t e = skip_zeros(w, out->at, &first);
    if (e) return e;
    if (first == w->end) {
        out->kind = LOG_ZEROS;
        out->size = w->end - out->at;
        return NULL;
    }
    int64_t from = first - 3 > out->at ? first - 3 : out->at + 1;   /* a record may begin with zeros: it begins with its size */
    e = next_good(w, from, &next);
    if (!e) e = view(w, out->at, RECORD_SMALLEST, &out->bytes);
    out->kind = LOG_NO_RECORD;
    out->size = next - out->at;
    return e;
}

err_t log_walk_next(struct log_walk *w, struct log_step *out)
{
    struct slice bytes;
    *out = (struct log_step){.kind = LOG_FILE_END, .at = w->at};
    w->at_once = WALK_BYTES;
    if (w->at >= w->end) return NULL;
    err_t e = read_record(w, w->at, out);
    if (e) return e;
    if (!out->size) {
        e = view(w, w->at, RECORD_BLANK_BYTES, &bytes);
        if (e) return e;
        out->at = w->at;
        out->bytes = bytes;
        if (bytes.n >= RECORD_BLANK_BYTES && record_magic(bytes.p) == RECORD_MAGIC_BLANK) {
            out->kind = LOG_BLANK;
            out->size = w->end - w->at;
        } else {
            e = look_further(w, out);
            if (e) return e;
        }
    }
    w->at += out->size;
    return NULL;
}

err_t log_walk_read(struct log_walk *w, int64_t at, struct log_step *out)
{
    *out = (struct log_step){.kind = LOG_NO_RECORD, .at = at};
    w->at_once = LOOK_BYTES;
    return at >= w->start && at < w->end ? read_record(w, at, out) : NULL;
}
