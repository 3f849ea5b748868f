#include "store/compaction_log.h"

#include "base/log.h"
#include "codec/java_hash.h"
#include "codec/properties.h"
#include "codec/record.h"
#include "store/compaction_swap.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define ASIDE "damaged"        /* where files go that cannot be used */
#define REMADE "remade.tmp"    /* in the folder of all, where no server looks for queues */

enum { ENTRY_FILE_BYTES_MAX = 1 << 30 };

/* --- life --- */

static char *folder_of(const char *folder, const char *kind, struct slice topic, int32_t queue_id)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/%s/%.*s/%d", folder, kind, SLICE_ARG(topic), queue_id);
    return must_strdup(path);
}

static void free_map(struct mapped_file *f)
{
    struct buf unused = BUF_EMPTY;
    if (f) mapped_file_drop(f, &unused);
    if (unused.n) mapped_file_free(f);
    buf_done(&unused);
}

void compaction_log_free(struct compaction_log *l)
{
    if (!l) return;
    for (size_t i = 0; i < compaction_log_count(l); i++) {
        free_map(compaction_log_file(l, i)->log);
        free_map(compaction_log_file(l, i)->entries);
    }
    buf_done(&l->files);
    damage_done(&l->damage);
    damage_done(&l->lost_entries);
    free(l->log_folder);
    free(l->entry_folder);
    free(l->topic);
    free(l);
}

/* --- entries of a file --- */

static int64_t capacity(const struct compaction_log *l) { return l->sizes.entry_bytes / COMPACTION_ENTRY_BYTES; }

/* Entries stand at the front, nothing behind them. */
static int64_t count_entries(const struct compaction_log *l, const uint8_t *bytes)
{
    int64_t low = 0, high = capacity(l);
    while (low < high) {
        struct compaction_entry e;
        int64_t middle = low + (high - low) / 2;
        if (compaction_entry_get(bytes + middle * COMPACTION_ENTRY_BYTES, &e)) low = middle + 1;
        else high = middle;
    }
    return low;
}

static bool entry_fits(const struct compaction_file *f, int64_t i)
{
    struct slice record;
    struct message m;
    struct compaction_entry e = compaction_file_entry(f, i);
    return compaction_file_record(f, &e, &record, &m);
}

/* Where one ends the next one begins, or further on: a damaged record has no entry. */
static bool is_chain(const struct compaction_file *f)
{
    int64_t expected = f->start, last = -1;
    for (int64_t i = 0; i < f->count; i++) {
        struct compaction_entry e = compaction_file_entry(f, i);
        if (e.position < expected || e.queue_offset <= last) return false;
        expected += e.size;
        last = e.queue_offset;
    }
    return true;
}

/* Nothing is lost behind the last entry, and nothing left that was never synced. */
static bool is_clear_behind(const struct compaction_log *l, const struct compaction_file *f)
{
    const uint8_t *rest = f->entries->bytes + f->count * COMPACTION_ENTRY_BYTES, *end = f->entries->bytes + l->sizes.entry_bytes;
    uint8_t mark[COMPACTION_ENTRY_BYTES];
    compaction_entry_put_end(mark);
    if (end - rest >= COMPACTION_ENTRY_BYTES && !memcmp(rest, mark, sizeof mark)) rest += COMPACTION_ENTRY_BYTES;
    while (rest < end && !*rest) rest++;
    return rest == end;
}

static bool is_ended(const struct compaction_log *l, const struct compaction_file *f)
{
    uint8_t mark[COMPACTION_ENTRY_BYTES];
    compaction_entry_put_end(mark);
    return f->count < capacity(l) && !memcmp(f->entries->bytes + f->count * COMPACTION_ENTRY_BYTES, mark, sizeof mark);
}

/* Whether the entries can be trusted; fills in what they say. */
static bool take_entries(const struct compaction_log *l, struct compaction_file *f, bool last)
{
    f->count = count_entries(l, f->entries->bytes);
    f->used = l->sizes.log_bytes;
    f->last = -1;
    if (f->count && (!entry_fits(f, 0) || !entry_fits(f, f->count - 1))) return false;
    if (!is_chain(f) || !is_clear_behind(l, f)) return false;
    if (!f->count) {
        f->used = 0;
        return last;
    }
    struct compaction_entry end = compaction_file_entry(f, f->count - 1);
    f->first = compaction_file_entry(f, 0).queue_offset;
    f->last = end.queue_offset;
    if (!is_ended(l, f)) f->used = end.position + end.size - f->start;
    return true;
}

/* --- entries made again from the records --- */

static err_t put_in_place(struct compaction_log *l, const char *folder, int64_t start, struct slice units)
{
    char fresh[PATH_BYTES], path[PATH_BYTES];
    struct file *f;
    snprintf(fresh, sizeof fresh, "%s/" REMADE, folder);
    segment_path(path, l->entry_folder, start);
    err_t e = fs_make_durable_folder(l->fs, l->entry_folder);
    if (!e) e = fs_open(l->fs, fresh, FILE_CREATE, &f);
    if (e) return e;
    e = file_set_size(f, 0);
    if (!e) e = file_set_size(f, l->sizes.entry_bytes);
    if (!e && units.n) e = file_write_at(f, 0, units.p, units.n);
    if (!e) e = file_sync(f);
    file_close(f);
    if (!e) e = fs_rename(l->fs, fresh, path);
    return e ? e : fs_sync_folder(l->fs, l->entry_folder);
}

static bool belongs(const struct compaction_log *l, const struct message *m)
{
    if (m->queue_offset < 0 || m->queue_offset > COMPACTION_OFFSET_MAX) return false;
    return m->queue_id == l->queue_id && slice_eq(m->topic, slice_text(l->topic));
}

/* No checksum covers the queue offset that a record states: of two that are not in order the later one counts, if it follows those before
 * the other one. False: this one does not count. */
static bool follows(struct buf *units, struct compaction_file *f, const struct message *m)
{
    struct compaction_entry e;
    if (!f->count || m->queue_offset > f->last) return true;
    const uint8_t *before = f->count > 1 ? units->p + (f->count - 2) * COMPACTION_ENTRY_BYTES : NULL;
    if (before && (!compaction_entry_get(before, &e) || e.queue_offset >= m->queue_offset)) return false;
    units->n -= COMPACTION_ENTRY_BYTES;
    f->count--;
    return true;
}

static void collect_entries(const struct compaction_log *l, struct compaction_file *f, struct buf *units, uint64_t *damaged)
{
    struct slice record;
    struct message m;
    int64_t at = 0;
    f->count = f->used = 0;
    while (f->count + 1 < capacity(l) && compaction_file_walk(f->log, &at, &record, &m, damaged)) {
        if (!belongs(l, &m) || !follows(units, f, &m)) {
            ++*damaged;
            continue;
        }
        struct compaction_entry e = {m.log_offset, (int32_t)record.n, tags_hash(properties_get(m.properties, SLICE("TAGS"))), m.store_ms, m.queue_offset};
        compaction_entry_put(buf_take(units, COMPACTION_ENTRY_BYTES), &e);
        f->used = at;
        if (!f->count) f->first = m.queue_offset;
        f->last = m.queue_offset;
        f->count++;
    }
}

static err_t remake_entries(struct compaction_log *l, const char *folder, struct compaction_file *f, bool last)
{
    struct buf units = BUF_EMPTY;
    uint64_t damaged = 0;
    collect_entries(l, f, &units, &damaged);
    if (!last && f->count) compaction_entry_put_end(buf_take(&units, COMPACTION_ENTRY_BYTES));
    log_warn("store.compaction_entries_remade topic=\"%s\" queue=%d position=%" PRId64 " entries=%" PRId64 " damaged=%" PRIu64, l->topic,
             l->queue_id, f->start, f->count, damaged);
    free_map(f->entries);
    f->entries = NULL;
    err_t e = put_in_place(l, folder, f->start, buf_slice(&units));
    buf_done(&units);
    return e ? e : mapped_file_view(l->fs, l->entry_folder, f->start, l->sizes.entry_bytes, &f->entries);
}

/* --- opening --- */

static err_t set_one_aside(struct compaction_log *l, const char *folder, int64_t start)
{
    char path[PATH_BYTES], aside[PATH_BYTES], to[PATH_BYTES];
    segment_path(path, folder, start);
    snprintf(aside, sizeof aside, "%s/" ASIDE, folder);
    segment_path(to, aside, start);
    err_t e = fs_make_folder(l->fs, aside);
    if (!e) e = fs_rename(l->fs, path, to);
    if (err_code(e) != ERR_NOT_FOUND) return e;
    err_free(e);
    return NULL;
}

static err_t set_aside(struct compaction_log *l, int64_t start, const char *why)
{
    log_error("store.compaction_file_set_aside topic=\"%s\" queue=%d position=%" PRId64 " text=\"%s\"", l->topic, l->queue_id, start, why);
    err_t e = set_one_aside(l, l->log_folder, start);
    return e ? e : set_one_aside(l, l->entry_folder, start);
}

static void drop_file(const struct compaction_file *f)
{
    if (f->log) free_map(f->log);
    if (f->entries) free_map(f->entries);
}

/* 0: not there. */
static err_t size_of(struct compaction_log *l, const char *folder, int64_t start, int64_t *out)
{
    char path[PATH_BYTES];
    struct file_info info;
    segment_path(path, folder, start);
    err_t e = fs_info(l->fs, path, &info);
    *out = e ? 0 : info.size;
    if (err_code(e) != ERR_NOT_FOUND) return e;
    err_free(e);
    return NULL;
}

/* A last file that was being made, or cleared behind its end. */
static err_t lengthen(struct compaction_log *l, int64_t start)
{
    char path[PATH_BYTES];
    struct file *f;
    segment_path(path, l->log_folder, start);
    err_t e = fs_open(l->fs, path, FILE_WRITE, &f);
    if (e) return e;
    e = file_set_size(f, l->sizes.log_bytes);
    file_close(f);
    return e;
}

static err_t open_pair(struct compaction_log *l, const char *folder, struct compaction_file *f, bool last)
{
    int64_t entry_bytes;
    err_t e = mapped_file_view(l->fs, l->log_folder, f->start, l->sizes.log_bytes, &f->log);
    if (!e) e = size_of(l, l->entry_folder, f->start, &entry_bytes);
    if (!e && entry_bytes == l->sizes.entry_bytes) {
        e = mapped_file_view(l->fs, l->entry_folder, f->start, l->sizes.entry_bytes, &f->entries);
        if (!e && take_entries(l, f, last)) return NULL;
    }
    return e ? e : remake_entries(l, folder, f, last);
}

static bool is_in_order(const struct compaction_log *l, const struct compaction_file *f)
{
    size_t n = compaction_log_count(l);
    return !n || !f->count || f->first > compaction_log_file(l, n - 1)->last;
}

static err_t load_file(struct compaction_log *l, const char *folder, int64_t start, bool last)
{
    struct compaction_file f = {.start = start, .last = -1};
    int64_t bytes;
    err_t e = size_of(l, l->log_folder, start, &bytes);
    if (!e && bytes < l->sizes.log_bytes && last) {
        e = lengthen(l, start);
        bytes = l->sizes.log_bytes;
    }
    if (e) return e;
    if (bytes != l->sizes.log_bytes) return set_aside(l, start, "it has another size than the others");
    if (start % l->sizes.log_bytes) return set_aside(l, start, "its name fits none of the others");
    e = open_pair(l, folder, &f, last);
    if (!e && is_in_order(l, &f) && (f.count || last)) {
        buf_put(&l->files, &f, sizeof f);
        return NULL;
    }
    drop_file(&f);
    if (e) return e;
    return set_aside(l, start, f.count ? "its messages are older than those of the file before it" : "no message can be read in it");
}

static void note_start(void *ctx, const char *name)
{
    int64_t start;
    if (segment_start(name, &start)) buf_put(ctx, &start, sizeof start);
}

static int64_t start_at(const struct buf *starts, size_t i)
{
    int64_t start;
    memcpy(&start, starts->p + i * sizeof start, sizeof start);
    return start;
}

static bool has_start(const struct buf *starts, int64_t start)
{
    for (size_t i = 0; i < starts->n / sizeof start; i++)
        if (start_at(starts, i) == start) return true;
    return false;
}

/* Entries without records: a file that was being made when the power went. The original would not start. */
static err_t remove_lone_entries(struct compaction_log *l, const struct buf *starts)
{
    struct buf entries = BUF_EMPTY;
    err_t e = fs_list(l->fs, l->entry_folder, note_start, &entries);
    for (size_t i = 0; i < entries.n / sizeof(int64_t) && !e; i++) {
        char path[PATH_BYTES];
        if (has_start(starts, start_at(&entries, i))) continue;
        segment_path(path, l->entry_folder, start_at(&entries, i));
        e = fs_remove(l->fs, path);
    }
    buf_done(&entries);
    return e;
}

/* Files keep the size they were made with, whatever is configured now: that of the first one, if it can be one. */
static err_t adopt_sizes(struct compaction_log *l, const struct buf *starts)
{
    int64_t log_bytes = 0, entry_bytes = 0;
    err_t e = size_of(l, l->log_folder, start_at(starts, 0), &log_bytes);
    if (!e) e = size_of(l, l->entry_folder, start_at(starts, 0), &entry_bytes);
    if (e || entry_bytes < 2 * COMPACTION_ENTRY_BYTES || entry_bytes > ENTRY_FILE_BYTES_MAX) return e;
    if (entry_bytes % COMPACTION_ENTRY_BYTES) return NULL;
    if (log_bytes < entry_bytes || log_bytes % entry_bytes) return NULL;
    if (starts->n > sizeof(int64_t) && start_at(starts, 1) % log_bytes) return NULL;
    l->sizes = (struct compaction_sizes){log_bytes, entry_bytes};
    return NULL;
}

static err_t load_files(struct compaction_log *l, const char *folder)
{
    struct buf starts = BUF_EMPTY;
    err_t e = fs_list(l->fs, l->log_folder, note_start, &starts);
    size_t n = starts.n / sizeof(int64_t);
    if (!e) e = remove_lone_entries(l, &starts);
    if (!e && n) e = adopt_sizes(l, &starts);
    for (size_t i = 0; i < n && !e; i++) e = load_file(l, folder, start_at(&starts, i), i + 1 == n);
    buf_done(&starts);
    return e;
}

static int64_t end_of(const struct compaction_log *l)
{
    for (size_t i = compaction_log_count(l); i-- > 0;)
        if (compaction_log_file(l, i)->count) return compaction_log_file(l, i)->last + 1;
    return 0;
}

err_t compaction_log_open(struct fs *fs, const char *folder, struct slice topic, int32_t queue_id, struct compaction_sizes sizes,
                          int64_t position, struct compaction_log **out)
{
    struct compaction_log *l = must_zero(sizeof *l);
    l->fs = fs;
    l->topic = must_dup(topic);
    l->queue_id = queue_id;
    l->log_folder = folder_of(folder, "compactionLog", topic, queue_id);
    l->entry_folder = folder_of(folder, "compactionCq", topic, queue_id);
    l->sizes = sizes;
    l->position = position;
    err_t e = compaction_swap_recover(fs, l->log_folder, l->entry_folder);
    if (!e) e = load_files(l, folder);
    if (e) {
        compaction_log_free(l);
        return err_in(e, "open the compaction log of queue %d of topic \"%.*s\"", queue_id, SLICE_ARG(topic));
    }
    l->next = end_of(l);
    *out = l;
    return NULL;
}

/* --- cutting --- */

/* Entries from `count` on become zeros. */
static err_t cut_file(struct compaction_log *l, struct compaction_file *f, int64_t count)
{
    char path[PATH_BYTES];
    struct file *file;
    segment_path(path, l->entry_folder, f->start);
    err_t e = fs_open(l->fs, path, FILE_WRITE, &file);
    if (e) return e;
    e = file_set_size(file, count * COMPACTION_ENTRY_BYTES);
    err_t again = file_set_size(file, l->sizes.entry_bytes);   /* shorter than its map it must not stay */
    if (e) err_drop(again, "the first error is told");
    else e = again;
    file_close(file);
    if (e) return e;
    struct compaction_entry last = compaction_file_entry(f, count - 1);
    f->count = count;
    f->last = last.queue_offset;
    f->used = last.position + last.size - f->start;
    return NULL;
}

static err_t remove_empty(struct compaction_log *l, int64_t start)
{
    char log[PATH_BYTES], entries[PATH_BYTES];
    segment_path(log, l->log_folder, start);
    segment_path(entries, l->entry_folder, start);
    err_t e = fs_remove(l->fs, log);
    return e ? e : fs_remove(l->fs, entries);
}

static err_t cut_last(struct compaction_log *l, int64_t queue_offset, int64_t keep)
{
    struct compaction_file *f = compaction_log_file(l, compaction_log_count(l) - 1);
    if (keep > 0) {
        log_warn("store.compaction_log_cut topic=\"%s\" queue=%d queue_end=%" PRId64 " entries=%" PRId64, l->topic, l->queue_id, queue_offset,
                 f->count - keep);
        return cut_file(l, f, keep);
    }
    err_t e = f->count ? set_aside(l, f->start, "the queue ends before its messages") : remove_empty(l, f->start);
    if (e) return e;
    drop_file(f);
    l->files.n -= sizeof *f;
    return NULL;
}

err_t compaction_log_cut(struct compaction_log *l, int64_t queue_offset)
{
    while (compaction_log_count(l)) {
        const struct compaction_file *f = compaction_log_file(l, compaction_log_count(l) - 1);
        if (f->count && f->last < queue_offset) break;
        err_t e = cut_last(l, queue_offset, compaction_file_search(f, queue_offset));
        if (e) return e;
    }
    l->next = end_of(l);
    if (l->position >= queue_offset) l->position = l->next - 1;
    return NULL;
}

/* --- what is there --- */

int64_t compaction_log_first(const struct compaction_log *l)
{
    for (size_t i = 0; i < compaction_log_count(l); i++)
        if (compaction_log_file(l, i)->count) return compaction_log_file(l, i)->first;
    return -1;
}

static bool has_map(const struct compaction_file *by, size_t n, const struct mapped_file *f)
{
    for (size_t i = 0; i < n; i++)
        if (by[i].log == f || by[i].entries == f) return true;
    return false;
}

void compaction_log_replace(struct compaction_log *l, size_t from, size_t count, const struct compaction_file *by, size_t n,
                            struct buf *unused)
{
    struct buf files = BUF_EMPTY;
    size_t all = compaction_log_count(l);
    buf_put(&files, l->files.p, from * sizeof *by);
    buf_put(&files, by, n * sizeof *by);
    for (size_t i = from; i < from + count; i++) {
        struct compaction_file *f = compaction_log_file(l, i);
        if (!has_map(by, n, f->log)) mapped_file_drop(f->log, unused);
        if (!has_map(by, n, f->entries)) mapped_file_drop(f->entries, unused);
    }
    if (from + count < all) buf_put(&files, compaction_log_file(l, from + count), (all - from - count) * sizeof *by);
    buf_done(&l->files);
    l->files = files;
}

bool compaction_log_is_ripe(const struct compaction_log *l)
{
    size_t n = compaction_log_count(l);
    if (n < 2 || !compaction_log_file(l, n - 1)->count) return false;
    const struct compaction_file *full = compaction_log_file(l, n - 2);
    return full->count && full->last > l->position;
}

size_t compaction_log_file_of(const struct compaction_log *l, int64_t queue_offset)
{
    size_t low = 0, high = compaction_log_count(l), all = high;
    if (high && !compaction_log_file(l, high - 1)->count) all = --high;   /* made, and not yet written */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compaction_log_file(l, middle)->last < queue_offset) low = middle + 1;
        else high = middle;
    }
    return low == all ? compaction_log_count(l) : low;
}
