#include "store/compaction_swap.h"

#include "base/log.h"
#include "codec/record.h"

#include <inttypes.h>
#include <stdio.h>

#define READY COMPACTING "/ready"
#define DELETED ".delete"      /* behind a name: the original is removing the file */

enum {
    MAGIC = 0x534B4352,        /* "SKCR" */
    HEAD_BYTES = 4 + 8 + 8 + 4,
    PIECE_BYTES = 8 + 8 + 4,
    SUM_BYTES = 4,
    READY_BYTES_MAX = 4 << 20,
};

static void path_in(char out[static PATH_BYTES], const char *folder, const char *name) { snprintf(out, PATH_BYTES, "%s/%s", folder, name); }

static err_t absent_is_fine(err_t e)
{
    if (err_code(e) != ERR_NOT_FOUND) return e;
    err_free(e);
    return NULL;
}

static err_t remove_aside(struct fs *fs, const char *folder)
{
    char aside[PATH_BYTES];
    path_in(aside, folder, COMPACTING);
    return absent_is_fine(fs_remove_tree(fs, aside));
}

/* `ready` first, and for good: without its files it must not come back. */
static err_t remove_ready(struct fs *fs, const char *log_folder)
{
    char path[PATH_BYTES], aside[PATH_BYTES];
    path_in(path, log_folder, READY);
    path_in(aside, log_folder, COMPACTING);
    err_t e = fs_remove(fs, path);
    if (e) return absent_is_fine(e);
    return fs_sync_folder(fs, aside);
}

err_t compaction_swap_discard(struct fs *fs, const char *log_folder, const char *entry_folder)
{
    err_t e = remove_ready(fs, log_folder);
    if (!e) e = remove_aside(fs, log_folder);
    return e ? e : remove_aside(fs, entry_folder);
}

err_t compaction_swap_prepare(struct fs *fs, const char *log_folder, const char *entry_folder)
{
    char log_aside[PATH_BYTES], entries_aside[PATH_BYTES];
    path_in(log_aside, log_folder, COMPACTING);
    path_in(entries_aside, entry_folder, COMPACTING);
    err_t e = compaction_swap_discard(fs, log_folder, entry_folder);
    if (!e) e = fs_make_durable_folder(fs, log_aside);
    return e ? e : fs_make_durable_folder(fs, entries_aside);
}

/* --- the mark --- */

static uint32_t entries_sum(const struct compaction_file *f)
{
    return record_crc(slice_of(f->entries->bytes, (size_t)f->count * COMPACTION_ENTRY_BYTES));
}

static size_t piece_count(const struct compaction_swap *s) { return s->pieces.n / sizeof(struct compaction_file); }
static const struct compaction_file *piece(const struct compaction_swap *s, size_t i)
{
    return (const struct compaction_file *)(const void *)s->pieces.p + i;
}

static void encode_ready(const struct compaction_swap *s, struct buf *out)
{
    buf_put_be32(out, MAGIC);
    buf_put_be64(out, (uint64_t)s->until);
    buf_put_be64(out, (uint64_t)s->until_first);
    buf_put_be32(out, (uint32_t)piece_count(s));
    for (size_t i = 0; i < piece_count(s); i++) {
        buf_put_be64(out, (uint64_t)piece(s, i)->start);
        buf_put_be64(out, (uint64_t)piece(s, i)->count);
        buf_put_be32(out, entries_sum(piece(s, i)));
    }
    buf_put_be32(out, record_crc(buf_slice(out)));
}

static err_t write_ready(const struct compaction_swap *s)
{
    char path[PATH_BYTES], aside[PATH_BYTES];
    struct buf bytes = BUF_EMPTY;
    struct file *f;
    path_in(path, s->log_folder, READY);
    path_in(aside, s->log_folder, COMPACTING);
    encode_ready(s, &bytes);
    err_t e = fs_open(s->fs, path, FILE_CREATE, &f);
    if (!e) {
        e = file_set_size(f, 0);
        if (!e) e = file_write_at(f, 0, bytes.p, bytes.n);
        if (!e) e = file_sync(f);
        file_close(f);
    }
    buf_done(&bytes);
    return e ? e : fs_sync_folder(s->fs, aside);
}

/* What `ready` says; starts of the new files go to `starts`, and their sums are compared. */
struct ready {
    int64_t until, until_first;
    struct slice pieces;
};

static bool decode_ready(struct slice bytes, struct ready *out)
{
    if (bytes.n < HEAD_BYTES + SUM_BYTES || get_be32(bytes.p) != MAGIC) return false;
    if (get_be32(bytes.p + bytes.n - SUM_BYTES) != record_crc(slice_of(bytes.p, bytes.n - SUM_BYTES))) return false;
    if ((bytes.n - HEAD_BYTES - SUM_BYTES) / PIECE_BYTES != get_be32(bytes.p + 20)) return false;
    *out = (struct ready){.until = (int64_t)get_be64(bytes.p + 4), .until_first = (int64_t)get_be64(bytes.p + 12)};
    out->pieces = slice_of(bytes.p + HEAD_BYTES, bytes.n - HEAD_BYTES - SUM_BYTES);
    return (out->pieces.n % PIECE_BYTES) == 0;
}

/* --- the steps --- */

static err_t move_in(struct fs *fs, const char *folder, int64_t start)
{
    char aside[PATH_BYTES], from[PATH_BYTES], to[PATH_BYTES];
    path_in(aside, folder, COMPACTING);
    segment_path(from, aside, start);
    segment_path(to, folder, start);
    return absent_is_fine(fs_rename(fs, from, to));   /* not there: it has been moved already */
}

static bool is_piece(const struct compaction_swap *s, int64_t start)
{
    for (size_t i = 0; i < piece_count(s); i++)
        if (piece(s, i)->start == start) return true;
    return false;
}

struct removing {
    const struct compaction_swap *s;
    const char *folder;
    err_t e;
};

static void remove_old(void *ctx, const char *name)
{
    struct removing *r = ctx;
    int64_t start;
    if (r->e || !segment_start(name, &start) || start >= r->s->until || is_piece(r->s, start)) return;
    char path[PATH_BYTES];
    segment_path(path, r->folder, start);
    r->e = fs_remove(r->s->fs, path);
}

static err_t finish_folder(const struct compaction_swap *s, const char *folder)
{
    struct removing r = {.s = s, .folder = folder};
    err_t e = NULL;
    for (size_t i = 0; i < piece_count(s) && !e; i++) e = move_in(s->fs, folder, piece(s, i)->start);
    if (!e) e = fs_list(s->fs, folder, remove_old, &r);
    if (!e) e = r.e;
    return e ? e : fs_sync_folder(s->fs, folder);
}

static err_t finish(const struct compaction_swap *s)
{
    err_t e = finish_folder(s, s->log_folder);
    if (!e) e = finish_folder(s, s->entry_folder);
    return e ? e : compaction_swap_discard(s->fs, s->log_folder, s->entry_folder);
}

err_t compaction_swap_run(const struct compaction_swap *s)
{
    char aside[PATH_BYTES];
    struct file_info info;
    path_in(aside, s->log_folder, COMPACTING);
    err_t e = fs_info(s->fs, aside, &info);
    if (err_code(e) == ERR_NOT_FOUND) {   /* an earlier call got to the end, but for what it could not remove */
        err_free(e);
        return finish(s);
    }
    if (!e) e = write_ready(s);
    return e ? e : finish(s);
}

/* --- after a start --- */

/* The sum of the first `count` entries of a file, in its place or still aside. */
static bool has_sum(struct fs *fs, const char *folder, int64_t start, int64_t count, uint32_t sum)
{
    char path[PATH_BYTES];
    struct buf bytes = BUF_EMPTY;
    segment_path(path, folder, start);
    err_t e = fs_read_file(fs, path, (size_t)INT32_MAX, &bytes);
    size_t n = (size_t)count * COMPACTION_ENTRY_BYTES;
    bool agrees = !e && count >= 0 && count <= INT32_MAX && n <= bytes.n && record_crc(slice_of(bytes.p, n)) == sum;
    err_free(e);
    buf_done(&bytes);
    return agrees;
}

static bool first_is(struct fs *fs, const char *folder, int64_t start, int64_t queue_offset)
{
    char path[PATH_BYTES];
    uint8_t unit[COMPACTION_ENTRY_BYTES];
    struct compaction_entry entry;
    struct file *f;
    size_t n = 0;
    segment_path(path, folder, start);
    err_t e = fs_open(fs, path, FILE_READ, &f);
    if (!e) {
        e = file_read_at(f, 0, unit, sizeof unit, &n);
        file_close(f);
    }
    bool is = !e && n == sizeof unit && compaction_entry_get(unit, &entry) && entry.queue_offset == queue_offset;
    err_free(e);
    return is;
}

/* Whether it speaks of the files that are there. Another server may have been at work since. */
static bool still_holds(const struct compaction_swap *s, struct slice pieces)
{
    char aside[PATH_BYTES];
    path_in(aside, s->entry_folder, COMPACTING);
    if (!first_is(s->fs, s->entry_folder, s->until, s->until_first)) return false;
    for (; pieces.n; pieces = slice_skip(pieces, PIECE_BYTES)) {
        int64_t start = (int64_t)get_be64(pieces.p), count = (int64_t)get_be64(pieces.p + 8);
        uint32_t sum = get_be32(pieces.p + 16);
        if (start < 0 || start >= s->until) return false;
        if (!has_sum(s->fs, aside, start, count, sum) && !has_sum(s->fs, s->entry_folder, start, count, sum)) return false;
    }
    return true;
}

static err_t finish_or_undo(struct compaction_swap *s, struct slice bytes)
{
    struct ready ready;
    bool holds = decode_ready(bytes, &ready);
    if (holds) {
        s->until = ready.until;
        s->until_first = ready.until_first;
        holds = still_holds(s, ready.pieces);
    }
    if (!holds) return compaction_swap_discard(s->fs, s->log_folder, s->entry_folder);
    for (struct slice rest = ready.pieces; rest.n; rest = slice_skip(rest, PIECE_BYTES)) {
        struct compaction_file f = {.start = (int64_t)get_be64(rest.p)};
        buf_put(&s->pieces, &f, sizeof f);
    }
    log_info("store.compaction_finished folder=\"%s\" files=%zu text=\"the last run was cut off in the middle of it\"", s->log_folder,
             piece_count(s));
    return finish(s);
}

static void note_deleted(void *ctx, const char *name)
{
    char plain[FILE_NAME_DIGITS + 1];
    int64_t start;
    if (strlen(name) != FILE_NAME_DIGITS + strlen(DELETED) || strcmp(name + FILE_NAME_DIGITS, DELETED)) return;
    snprintf(plain, sizeof plain, "%.*s", FILE_NAME_DIGITS, name);
    if (segment_start(plain, &start)) buf_put(ctx, name, strlen(name) + 1);
}

static void note_start(void *ctx, const char *name)
{
    int64_t start;
    if (segment_start(name, &start)) buf_put(ctx, &start, sizeof start);
}

static err_t for_each_deleted(struct fs *fs, const char *folder, const struct buf *names, bool bring_back)
{
    for (size_t at = 0; at < names->n; at += strlen((const char *)names->p + at) + 1) {
        char path[PATH_BYTES], plain[PATH_BYTES];
        path_in(path, folder, (const char *)names->p + at);
        snprintf(plain, sizeof plain, "%.*s", (int)(strlen(path) - strlen(DELETED)), path);
        err_t e = bring_back ? fs_rename(fs, path, plain) : fs_remove(fs, path);
        if (e) return e;
    }
    return names->n ? fs_sync_folder(fs, folder) : NULL;
}

/* The name before the mark of the first one is there. */
static bool is_replaced(struct fs *fs, const char *folder, const char *deleted)
{
    char plain[PATH_BYTES];
    struct file_info info;
    snprintf(plain, sizeof plain, "%s/%.*s", folder, (int)(strlen(deleted) - strlen(DELETED)), deleted);
    err_t e = fs_info(fs, plain, &info);
    bool is = !e;
    err_free(e);
    return is;
}

/* The original renames all old files before it moves the new ones, which are whole by then, and the first of either has the same name:
 * so the new ones take their places; or, where none is left, the old ones come back. */
static err_t finish_originals(struct fs *fs, const char *folder)
{
    char aside[PATH_BYTES];
    struct buf names = BUF_EMPTY, starts = BUF_EMPTY;
    path_in(aside, folder, COMPACTING);
    err_t e = fs_list(fs, folder, note_deleted, &names);
    if (!e && names.n) e = fs_list(fs, aside, note_start, &starts);
    for (size_t at = 0; at < starts.n && !e; at += sizeof(int64_t)) {
        int64_t start;
        memcpy(&start, starts.p + at, sizeof start);
        e = move_in(fs, folder, start);
    }
    if (!e && names.n) e = fs_sync_folder(fs, folder);
    if (!e && names.n) e = for_each_deleted(fs, folder, &names, !is_replaced(fs, folder, (const char *)names.p));
    buf_done(&names);
    buf_done(&starts);
    return e;
}

err_t compaction_swap_recover(struct fs *fs, const char *log_folder, const char *entry_folder)
{
    char path[PATH_BYTES];
    struct buf bytes = BUF_EMPTY;
    struct compaction_swap s = {.fs = fs, .log_folder = log_folder, .entry_folder = entry_folder};
    path_in(path, log_folder, READY);
    err_t e = fs_read_file(fs, path, READY_BYTES_MAX, &bytes);
    if (!e) {
        e = finish_or_undo(&s, buf_slice(&bytes));
    } else if (err_code(e) == ERR_NOT_FOUND) {
        err_free(e);
        e = finish_originals(fs, log_folder);
        if (!e) e = finish_originals(fs, entry_folder);
        if (!e) e = compaction_swap_discard(fs, log_folder, entry_folder);
    }
    buf_done(&s.pieces);
    buf_done(&bytes);
    return e;
}
