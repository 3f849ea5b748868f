#include "store/compaction_writer.h"

#include "codec/java_hash.h"
#include "codec/properties.h"
#include "codec/record.h"

#include <assert.h>

enum { WRITE_BYTES = 1 << 20, POSITION_AT = 28 };

void compaction_writer_begin(struct compaction_writer *w, struct fs *fs, const char *log_folder, const char *entry_folder,
                             struct compaction_sizes sizes, const struct compaction_file *last)
{
    *w = (struct compaction_writer){.fs = fs, .log_folder = log_folder, .entry_folder = entry_folder, .sizes = sizes};
    if (!last) return;
    w->now = *last;
    w->begun = w->first_is_old = true;
    w->records_at = last->used;
    w->units_at = last->count * COMPACTION_ENTRY_BYTES;
}

static err_t open_at(struct fs *fs, const char *folder, int64_t start, enum file_mode mode, struct file **out)
{
    char path[PATH_BYTES];
    segment_path(path, folder, start);
    return fs_open(fs, path, mode, out);
}

static err_t open_files(struct compaction_writer *w, enum file_mode mode)
{
    if (w->log) return NULL;
    err_t e = open_at(w->fs, w->log_folder, w->now.start, mode, &w->log);
    if (!e) e = open_at(w->fs, w->entry_folder, w->now.start, mode, &w->entries);
    return e;
}

static void close_files(struct compaction_writer *w)
{
    file_close(w->log);
    file_close(w->entries);
    w->log = w->entries = NULL;
}

/* What a failed try may have left there goes. No blocks are reserved: there may be many queues with few messages. */
static err_t clear(struct file *f, int64_t size)
{
    err_t e = file_set_size(f, 0);
    return e ? e : file_set_size(f, size);
}

static err_t begin_file(struct compaction_writer *w)
{
    int64_t start = w->begun ? w->now.start + w->sizes.log_bytes : 0;
    w->now = (struct compaction_file){.start = start, .last = -1};
    w->begun = w->fresh = w->new_names = true;
    w->records_at = w->units_at = 0;
    err_t e = fs_make_durable_folder(w->fs, w->entry_folder);
    if (!e) e = fs_make_durable_folder(w->fs, w->log_folder);
    if (!e) e = open_files(w, FILE_CREATE);
    if (!e) e = clear(w->entries, w->sizes.entry_bytes);
    if (!e) e = clear(w->log, w->sizes.log_bytes);
    if (!e) e = mapped_file_view(w->fs, w->entry_folder, start, w->sizes.entry_bytes, &w->now.entries);
    if (!e) e = mapped_file_view(w->fs, w->log_folder, start, w->sizes.log_bytes, &w->now.log);
    return e;
}

static err_t write_records(struct compaction_writer *w)
{
    if (!w->records.n) return NULL;
    err_t e = open_files(w, FILE_WRITE);
    if (!e) e = file_write_at(w->log, w->records_at, w->records.p, w->records.n);
    if (e) return e;
    w->records_at += (int64_t)w->records.n;
    buf_clear(&w->records);
    return NULL;
}

err_t compaction_writer_flush(struct compaction_writer *w)
{
    err_t e = write_records(w);
    if (e || (!w->units.n && !w->new_names)) return e;
    e = open_files(w, FILE_WRITE);
    if (!e) e = file_sync(w->log);
    if (!e) e = file_write_at(w->entries, w->units_at, w->units.p, w->units.n);
    if (!e) e = file_sync(w->entries);
    if (!e && w->new_names) e = fs_sync_folder(w->fs, w->log_folder);
    if (!e && w->new_names) e = fs_sync_folder(w->fs, w->entry_folder);
    if (e) return e;
    w->units_at += (int64_t)w->units.n;
    buf_clear(&w->units);
    w->new_names = false;
    return NULL;
}

err_t compaction_writer_end(struct compaction_writer *w)
{
    if (!w->begun) return NULL;
    int64_t left = w->sizes.log_bytes - w->now.used, room = w->sizes.entry_bytes - w->now.count * COMPACTION_ENTRY_BYTES;
    if (left >= RECORD_BLANK_BYTES) record_encode_blank(left, buf_take(&w->records, RECORD_BLANK_BYTES));
    if (left > 0 && room >= COMPACTION_ENTRY_BYTES) compaction_entry_put_end(buf_take(&w->units, COMPACTION_ENTRY_BYTES));
    err_t e = compaction_writer_flush(w);
    if (e) return e;
    w->now.used = w->sizes.log_bytes;
    close_files(w);
    buf_put(&w->full, &w->now, sizeof w->now);
    w->fresh = false;
    return NULL;
}

/* As the original counts: a file of entries keeps room for the end mark, one of records for the blank. */
static bool fits(const struct compaction_writer *w, size_t bytes)
{
    if (!w->begun) return false;
    return (w->now.count + 1) * COMPACTION_ENTRY_BYTES < w->sizes.entry_bytes
        && w->now.used + (int64_t)bytes + RECORD_BLANK_BYTES <= w->sizes.log_bytes;
}

static err_t roll(struct compaction_writer *w, size_t bytes)
{
    if ((int64_t)bytes + RECORD_BLANK_BYTES > w->sizes.log_bytes)
        return err_new(ERR_MESSAGE_ILLEGAL, "a message of %zu bytes does not fit into a file of %lld, see compactionMappedFileSize", bytes,
                       (long long)w->sizes.log_bytes);
    err_t e = compaction_writer_end(w);
    return e ? e : begin_file(w);
}

err_t compaction_writer_put(struct compaction_writer *w, struct slice record, const struct message *m)
{
    if (!fits(w, record.n)) {
        err_t e = roll(w, record.n);
        if (e) return e;
    }
    struct compaction_entry entry = {
        .position = w->now.start + w->now.used, .size = (int32_t)record.n, .tag_hash = tags_hash(properties_get(m->properties, SLICE("TAGS"))), .store_ms = m->store_ms,
        .queue_offset = m->queue_offset,
    };
    uint8_t *copy = buf_take(&w->records, record.n);
    memcpy(copy, record.p, record.n);
    put_be64(copy + POSITION_AT, (uint64_t)entry.position);
    compaction_entry_put(buf_take(&w->units, COMPACTION_ENTRY_BYTES), &entry);
    if (!w->now.count) w->now.first = m->queue_offset;
    w->now.count++;
    w->now.used += entry.size;
    w->now.last = m->queue_offset;
    return w->records.n < WRITE_BYTES ? NULL : write_records(w);
}

static void give_up(struct mapped_file *f, struct buf *unused)
{
    if (f) mapped_file_drop(f, unused);
}

void compaction_writer_done(struct compaction_writer *w, struct buf *unused)
{
    close_files(w);
    size_t n = w->full.n / sizeof(struct compaction_file);
    const struct compaction_file *full = (const struct compaction_file *)(const void *)w->full.p;
    for (size_t i = w->first_is_old ? 1 : 0; i < n; i++) {
        give_up(full[i].log, unused);
        give_up(full[i].entries, unused);
    }
    if (w->fresh) {
        give_up(w->now.log, unused);
        give_up(w->now.entries, unused);
    }
    buf_done(&w->full);
    buf_done(&w->records);
    buf_done(&w->units);
    *w = (struct compaction_writer){.fs = NULL};
}
