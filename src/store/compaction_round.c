#include "store/compaction_round.h"

#include <assert.h>
#include <stdio.h>

enum { SLICE_BYTES = 16 << 20 };

static size_t file_count(const struct compaction_round *r) { return r->files.n / sizeof(struct compaction_file); }
static const struct compaction_file *file_at(const struct compaction_round *r, size_t i)
{
    return (const struct compaction_file *)(const void *)r->files.p + i;
}

void compaction_round_begin(struct compaction_round *r, struct compaction_log *l, int64_t memory_bytes, int64_t now_ms)
{
    size_t n = compaction_log_count(l) - 1;
    const struct compaction_file *current = compaction_log_file(l, n);
    assert(compaction_log_is_ripe(l));
    *r = (struct compaction_round){.log = l, .old_position = l->position, .last = l->position, .before = -1, .begun_ms = now_ms};
    for (size_t i = 0; i < n; i++) {
        const struct compaction_file *f = compaction_log_file(l, i);
        mapped_file_pin(f->log);
        buf_put(&r->files, f, sizeof *f);
    }
    while (r->file < n && file_at(r, r->file)->last <= l->position) r->file++;
    offset_map_init(&r->map, memory_bytes);
    snprintf(r->log_aside, sizeof r->log_aside, "%s/" COMPACTING, l->log_folder);
    snprintf(r->entries_aside, sizeof r->entries_aside, "%s/" COMPACTING, l->entry_folder);
    r->swap = (struct compaction_swap){.fs = l->fs, .log_folder = l->log_folder, .entry_folder = l->entry_folder, .until = current->start};
    r->swap.until_first = current->count ? current->first : -1;
}

/* --- thread: worker --- */

/* The next message of all files, and those alone that a reader would get; false at the end. *left counts down what may still be read in
 * this slice. */
static bool next_record(struct compaction_round *r, int64_t *left, struct slice *record, struct message *m)
{
    for (; r->file < file_count(r); r->file++, r->entry = 0) {
        const struct compaction_file *f = file_at(r, r->file);
        while (r->entry < f->count) {
            struct compaction_entry e = compaction_file_entry(f, r->entry++);
            *left -= COMPACTION_ENTRY_BYTES + e.size;
            bool good = e.queue_offset > r->before && compaction_file_record(f, &e, record, m);
            if (good) r->before = e.queue_offset;
            else r->damaged++;
            if (good) return true;
        }
    }
    return false;
}

static err_t begin_copy(struct compaction_round *r)
{
    r->phase = COMPACTION_COPY;
    r->file = 0;
    r->entry = 0;
    r->before = -1;
    r->damaged = 0;   /* counted again, this time in all files */
    err_t e = compaction_swap_prepare(r->log->fs, r->log->log_folder, r->log->entry_folder);
    compaction_writer_begin(&r->writer, r->log->fs, r->log_aside, r->entries_aside, r->log->sizes, NULL);
    return e;
}

/* As many keys as there is room for; those behind are the next round's. */
static err_t run_map(struct compaction_round *r)
{
    struct slice record;
    struct message m;
    for (int64_t left = SLICE_BYTES; left > 0;) {
        if (!next_record(r, &left, &record, &m)) return begin_copy(r);
        struct slice key = compaction_key(&m);
        if (m.queue_offset <= r->old_position) continue;
        if (key.n && !offset_map_put(&r->map, key, record, m.queue_offset)) return begin_copy(r);
        r->last = m.queue_offset;
    }
    return NULL;
}

static bool stays(const struct compaction_round *r, const struct message *m)
{
    if (m->queue_offset > r->last) return true;
    struct slice key = compaction_key(m);
    return key.n && m->body.n && m->queue_offset >= offset_map_get(&r->map, key);
}

static err_t end_copy(struct compaction_round *r)
{
    err_t e = compaction_writer_end(&r->writer);
    if (e) return e;
    r->changes = r->kept < r->read || r->damaged;
    r->phase = r->changes ? COMPACTION_SWAP : COMPACTION_DONE;
    buf_put_slice(&r->swap.pieces, buf_slice(&r->writer.full));
    return r->changes ? NULL : compaction_swap_discard(r->log->fs, r->log->log_folder, r->log->entry_folder);
}

static err_t run_copy(struct compaction_round *r)
{
    struct slice record;
    struct message m;
    for (int64_t left = SLICE_BYTES; left > 0;) {
        if (!next_record(r, &left, &record, &m)) return end_copy(r);
        r->read++;
        if (!stays(r, &m)) continue;
        r->kept++;
        err_t e = compaction_writer_put(&r->writer, record, &m);
        if (e) return e;
    }
    return NULL;
}

err_t compaction_round_run(struct compaction_round *r)
{
    err_t e = NULL;
    if (r->phase == COMPACTION_MAP) return run_map(r);
    if (r->phase == COMPACTION_COPY) return run_copy(r);
    if (r->phase == COMPACTION_SWAP) e = compaction_swap_run(&r->swap);
    if (!e) r->phase = COMPACTION_DONE;
    return e;
}

/* --- thread: loop --- */

static void take_new_files(struct compaction_round *r, struct buf *unused)
{
    struct buf pieces = r->writer.full;
    r->writer.full = BUF_EMPTY;   /* their maps are the log's now */
    const struct compaction_file *fresh = (const struct compaction_file *)(const void *)pieces.p;
    compaction_log_replace(r->log, 0, file_count(r), fresh, pieces.n / sizeof *fresh, unused);
    buf_done(&pieces);
}

void compaction_round_end(struct compaction_round *r, struct buf *unused)
{
    bool done = r->phase == COMPACTION_DONE;
    for (size_t i = 0; i < file_count(r); i++) file_at(r, i)->log->pins--;   /* still in the log's list: none goes here */
    if (done && r->changes) take_new_files(r, unused);
    if (done) r->log->position = r->last;
    compaction_writer_done(&r->writer, unused);
    offset_map_done(&r->map);
    buf_done(&r->swap.pieces);
    buf_done(&r->files);
}
