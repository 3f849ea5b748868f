#include "store/commit_log.h"

#include "base/log.h"
#include "codec/record.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum {
    TURN_BYTES_KEPT = 2 << 20,      /* a larger turn buffer is given back */
    TURN_BYTES_WRITE = 128 << 10,   /* written before the turn ends, while they are still in the cache of the CPU */
};

err_t commit_log_open(struct commit_log *l, struct fs *fs, struct tasks *tasks, const char *folder, int64_t file_bytes, bool mend,
                      void (*ended)(void *ctx), void *ctx)
{
    *l = (struct commit_log){.written = 0};
    mapped_files_init(&l->files, fs, folder, file_bytes);
    spare_file_init(&l->spare, fs, tasks, folder, file_bytes, ended, ctx);
    return mapped_files_load(&l->files, mend);
}

void commit_log_close(struct commit_log *l)
{
    spare_file_done(&l->spare);
    mapped_files_done(&l->files);
    buf_done(&l->turn);
    damage_done(&l->damage);
}

int64_t commit_log_first(const struct commit_log *l) { return l->files.count ? l->files.all[0]->start : l->written; }

/* The next file, as the last one of the list. */
static err_t begin_file(struct commit_log *l, int64_t start)
{
    struct mapped_file *f;
    bool durable;
    err_t e = spare_file_take(&l->spare, start, &f, &durable);
    if (e) return err_in(e, "begin the next log file");
    mapped_files_take(&l->files, f);
    if (!durable) l->names_unsynced = true;
    return NULL;
}

err_t commit_log_start(struct commit_log *l, int64_t end)
{
    l->written = l->checked_below = end;
    if (mapped_files_at(&l->files, end)) return NULL;
    return begin_file(l, end);
}

/* Half a file ahead is time enough: even 1 GB/s takes half a second to get there. */
static void prepare_next(struct commit_log *l, const struct mapped_file *f)
{
    if (f != mapped_files_last(&l->files) || l->written - f->start < f->size / 2) return;
    spare_file_prepare(&l->spare, mapped_file_end(f));
}

err_t commit_log_write(struct commit_log *l)
{
    if (!l->turn.n) return NULL;
    struct mapped_file *f = mapped_files_at(&l->files, l->written);
    err_t e = file_write_at(f->file, l->written - f->start, l->turn.p, l->turn.n);
    if (e) {
        if (l->spoiled < (int64_t)l->turn.n) l->spoiled = (int64_t)l->turn.n;
        return e;
    }
    l->written += (int64_t)l->turn.n;
    l->spoiled = 0;
    l->writes++;
    commit_log_forget(l);
    prepare_next(l, f);
    return NULL;
}

void commit_log_forget(struct commit_log *l)
{
    buf_clear(&l->turn);
    if (l->turn.cap > TURN_BYTES_KEPT) buf_done(&l->turn);
}

err_t commit_log_repair(struct commit_log *l)
{
    static const uint8_t zeros[65536];
    struct mapped_file *f = mapped_files_at(&l->files, l->written);
    while (f && l->spoiled > 0) {
        int64_t n = l->spoiled < (int64_t)sizeof zeros ? l->spoiled : (int64_t)sizeof zeros;
        /* From the back: as long as the first bytes are there, what follows them is damage and not a record. */
        err_t e = file_write_at(f->file, l->written - f->start + l->spoiled - n, zeros, (size_t)n);
        if (e) return e;
        l->spoiled -= n;
    }
    return NULL;
}

/* Ends the current file with a blank and goes on in the next one. S5: no record lies in two files. */
static err_t roll(struct commit_log *l, struct mapped_file *current, int64_t left)
{
    int64_t next = mapped_file_end(current);
    if (current == mapped_files_last(&l->files)) {
        err_t e = begin_file(l, next);
        if (e) return e;
    }
    record_encode_blank(left, buf_take(&l->turn, RECORD_BLANK_BYTES));   /* S4: there is always room for it */
    err_t e = commit_log_write(l);
    if (e) {
        l->turn.n -= RECORD_BLANK_BYTES;
        return e;
    }
    l->written = next;
    return NULL;
}

err_t commit_log_make_room(struct commit_log *l, size_t bytes)
{
    int64_t need = (int64_t)bytes + RECORD_BLANK_BYTES;
    if (need > l->files.file_bytes)
        return err_new(ERR_MESSAGE_ILLEGAL, "the message is illegal: %zu bytes do not fit into a log file of %" PRId64, bytes,
                       l->files.file_bytes);
    if (l->turn.n >= TURN_BYTES_WRITE) {
        err_t e = commit_log_write(l);
        if (e) return e;
    }
    int64_t end = commit_log_end(l);
    struct mapped_file *f = mapped_files_at(&l->files, end);
    int64_t left = mapped_file_end(f) - end;
    assert(left >= RECORD_BLANK_BYTES);
    return left >= need ? NULL : roll(l, f, left);
}

static bool starts_record(const uint8_t *p, int64_t at, int32_t size)
{
    uint32_t magic = record_magic(p);
    bool is_record = magic == RECORD_MAGIC_V1 || magic == RECORD_MAGIC_V2;
    return is_record && record_total_size(p) == (uint32_t)size && record_log_offset(p) == at;
}

/* A record that an earlier run left. */
static bool is_intact(struct commit_log *l, const struct mapped_file *f, int64_t at, struct slice record)
{
    struct message m;
    if (damage_has_record(&l->damage, at)) return false;
    if (!starts_record(record.p, at, (int32_t)record.n)) {
        damage_add_entry(&l->damage, at);
        return false;
    }
    bool whole = record_read(record, &m) == RECORD_WHOLE, known = f->scrubbed && !l->damage.full;
    if (whole && (known || record_body_intact(&m))) return true;
    damage_add_record(&l->damage, at, "the record does not agree with its checksum");
    return false;
}

/* Whether it can be looked at: what is there is in memory, or the disk is waited for. */
static bool is_warm(struct commit_log *l, struct mapped_file *f, int64_t at, int64_t bytes)
{
    if (!l->cold) return true;
    if (damage_has_record(&l->damage, at)) return false;   /* it may be here because the disk does not give it */
    return cold_is_warm(l->cold, f, at, bytes, l->written, &l->damage);
}

bool commit_log_find(struct commit_log *l, int64_t at, int32_t size, struct slice *out)
{
    if (size < RECORD_SMALLEST || at < 0 || at > l->written - size) return false;
    struct mapped_file *f = mapped_files_at(&l->files, at);
    if (!f || at + size > mapped_file_end(f) || !is_warm(l, f, at, size)) return false;
    const uint8_t *p = mapped_file_from(f, at).p;
    *out = slice_of(p, (size_t)size);
    if (commit_log_wrote(l, at)) return true;   /* not looked at: its bytes need not come into a cache of ours */
    return is_intact(l, f, at, *out);
}

bool commit_log_read(struct commit_log *l, int64_t at, struct message *m, struct slice *out)
{
    if (at < 0 || at >= l->written) return false;
    struct mapped_file *f = mapped_files_at(&l->files, at);
    if (!f) return false;
    struct slice rest = mapped_file_from(f, at);
    if (rest.n > (size_t)(l->written - at)) rest.n = (size_t)(l->written - at);
    if (rest.n < RECORD_SMALLEST || !is_warm(l, f, at, RECORD_SMALLEST)) return false;
    uint32_t size = record_total_size(rest.p);
    if (size > RECORD_SMALLEST && size <= rest.n && !is_warm(l, f, at, size)) return false;
    struct message read;
    if (record_read(rest, &read) != RECORD_WHOLE || read.log_offset != at || !record_body_intact(&read)) return false;
    *m = read;
    *out = slice_of(rest.p, record_total_size(rest.p));
    return true;
}

void commit_log_suspect(struct commit_log *l, int64_t at)
{
    const struct mapped_file *f = mapped_files_at(&l->files, at);
    if (!f || at < 0 || l->written - at < RECORD_SMALLEST || mapped_file_end(f) - at < RECORD_SMALLEST) return;
    const uint8_t *p = mapped_file_from(f, at).p;
    if (starts_record(p, at, (int32_t)record_total_size(p)))
        damage_add_record(&l->damage, at, "the record does not agree with its checksum");
}

struct pinned commit_log_pin(struct commit_log *l, int64_t at, struct slice record)
{
    struct mapped_file *f = mapped_files_at(&l->files, at);
    assert(f && record.p == mapped_file_from(f, at).p);
    mapped_file_pin(f);
    return (struct pinned){record, mapped_file_unpin, f};
}
