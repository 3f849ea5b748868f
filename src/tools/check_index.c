#include "tools/check.h"

#include "codec/properties.h"

#include <stdlib.h>

static const char ignored[] = "compares what it finds with the key asked for: such an entry finds nothing";

struct index_check {
    struct check *c;
    struct index_file *f;
    struct view_reader reader;
    char file[PATH_BYTES];
    int32_t *newest;           /* of each slot, as far as the entries have been looked at */
    enum level level;          /* the newest file may be written at this moment */
};

static int64_t entry_at(const struct index_file *f, int32_t number)
{
    return INDEX_HEADER_BYTES + (int64_t)f->shape.slots * INDEX_SLOT_BYTES + (int64_t)number * INDEX_ENTRY_BYTES;
}

#define WRONG(ic, at, broker, ...) report_add(&(ic)->c->r, (ic)->level, (ic)->file, at, broker, __VA_ARGS__)

static bool is_key_of(const struct message *m, uint32_t hash)
{
    struct slice words = properties_get(m->properties, SLICE("KEYS")), tags = properties_get(m->properties, SLICE("TAGS")), word;
    if (hash == index_hash(m->topic, properties_get(m->properties, SLICE("UNIQ_KEY")))) return true;
    if (tags.n && hash == index_tag_hash(m->topic, tags)) return true;
    while (words.n && slice_split(&words, ' ', &word))
        if (word.n && hash == index_hash(m->topic, word)) return true;
    return false;
}

/* The first entry counts from where the file before this one ended. */
static void check_record(struct index_check *ic, int32_t number, const struct log_step *step)
{
    const uint8_t *p = ic->f->bytes + entry_at(ic->f, number);
    if (!is_key_of(&step->message, get_be32(p)))
        WRONG(ic, entry_at(ic->f, number), ignored, "entry %d has the hash of no key of its record at %lld", number, (long long)step->at);
    if (number > 1 && get_be32(p + 12) != (uint32_t)index_file_seconds(ic->f, step->message.store_ms))
        WRONG(ic, entry_at(ic->f, number), "may not find its record by that key in a span of time", "entry %d says %u seconds, its record %d", number,
              get_be32(p + 12), index_file_seconds(ic->f, step->message.store_ms));
}

static void check_entry(struct index_check *ic, int32_t number)
{
    struct check *c = ic->c;
    const uint8_t *p = ic->f->bytes + entry_at(ic->f, number);
    uint32_t slot = get_be32(p) % (uint32_t)ic->f->shape.slots;
    int64_t at = index_file_offset(ic->f, number);
    struct log_step step;
    if ((int32_t)get_be32(p + 16) != ic->newest[slot])
        WRONG(ic, entry_at(ic->f, number), "may not find what is older in this slot", "entry %d leads to entry %d, the one before it in its slot is %d",
              number, (int32_t)get_be32(p + 16), ic->newest[slot]);
    ic->newest[slot] = number;
    c->keys++;
    if (at >= 0 && at < view_log_first(&c->v)) return;   /* its record was too old */
    enum log_step_kind kind = at < 0 || at >= c->end ? LOG_NO_RECORD : check_record_at(c, &ic->reader, at, &step);
    if (kind == LOG_RECORD) check_record(ic, number, &step);
    else if (kind != LOG_BAD_CHECKSUM) WRONG(ic, entry_at(ic->f, number), ignored, "entry %d points to %lld, where no record begins", number, (long long)at);
}

/* Slots that name entries which are not counted yet lead to those that are. */
static void check_slots(struct index_check *ic)
{
    const struct index_file *f = ic->f;
    int32_t used = 0;
    for (int32_t i = 0; i < f->shape.slots; i++) {
        int64_t at = INDEX_HEADER_BYTES + (int64_t)i * INDEX_SLOT_BYTES;
        int32_t number = (int32_t)get_be32(f->bytes + at);
        used += ic->newest[i] != 0;
        if (number == ic->newest[i] || (ic->level == NOTE && number >= f->next)) continue;
        WRONG(ic, at, "may not find the keys of this slot", "slot %d names entry %d, its newest is %d", i, number, ic->newest[i]);
    }
    int32_t stated = (int32_t)get_be32(f->bytes + 32);
    if (used != stated) WRONG(ic, 32, "does not need the number", "the header counts %d slots that are used, there are %d", stated, used);
}

static void check_header(struct index_check *ic)
{
    const struct index_file *f = ic->f;
    int32_t next = (int32_t)get_be32(f->bytes + 36), last = f->next - 1;
    if (next != f->next) WRONG(ic, 36, "takes the nearest number that can be", "the header counts %lld entries, %d is the most", (long long)next - 1, f->shape.entries - 1);
    if (f->begin_ms > f->end_ms) WRONG(ic, 0, "may pass over the file", "it begins at %lld and ends at %lld", (long long)f->begin_ms, (long long)f->end_ms);
    if (last < 1) return;
    if (index_file_offset(f, 1) != f->begin_offset)
        WRONG(ic, 16, "does not need the number", "it begins with the record at %lld, its first entry is for %lld", (long long)f->begin_offset,
              (long long)index_file_offset(f, 1));
    if (index_file_offset(f, last) != f->end_offset)
        WRONG(ic, 24, "adds keys from there on", "it ends with the record at %lld, its last entry is for %lld", (long long)f->end_offset,
              (long long)index_file_offset(f, last));
}

/* The times of the header are those of its first and last record. */
static void check_times(struct index_check *ic)
{
    struct log_step step;
    const struct index_file *f = ic->f;
    const int64_t places[2] = {f->begin_offset, f->end_offset}, times[2] = {f->begin_ms, f->end_ms};
    for (int i = 0; i < 2 && f->next > 1; i++) {
        if (places[i] < view_log_first(&ic->c->v) || places[i] >= ic->c->end) continue;
        if (check_record_at(ic->c, &ic->reader, places[i], &step) != LOG_RECORD || step.message.store_ms == times[i]) continue;
        WRONG(ic, i * 8, "may pass over the file, or look at it in vain", "it says that it %s at %lld, the record is of %lld", i ? "ends" : "begins",
              (long long)times[i], (long long)step.message.store_ms);
    }
}

/* A disk that fails is found by reading: behind a map it would end the process. */
static err_t read_once(struct fs *fs, const char *path)
{
    enum { STEP = 1 << 20 };
    struct file *f;
    size_t got = STEP;
    err_t e = fs_open(fs, path, FILE_READ, &f);
    if (e) return e;
    uint8_t *bytes = must_alloc(STEP);
    for (int64_t at = 0; !e && got == STEP; at += STEP) e = file_read_at(f, at, bytes, STEP, &got);
    free(bytes);
    file_close(f);
    return e;
}

static void check_one(struct check *c, const char *name, bool newest)
{
    char path[PATH_BYTES];
    struct index_check ic = {.c = c, .level = newest && c->v.abort ? NOTE : DAMAGE};
    struct index_shape shape = {c->v.options->index_slots, c->v.options->index_entries};
    snprintf(ic.file, sizeof ic.file, "index/%s", name);
    view_path(&c->v, ic.file, path);
    err_t e = read_once(c->v.fs, path);
    if (!e) e = index_file_view(c->v.fs, path, shape, &ic.f);
    if (e) {
        report_add(&c->r, DAMAGE, ic.file, -1, "removes it and builds the index again, when its maxHashSlotNum and maxIndexNum are those given here (-c, --set)",
                   "%s", err_text(e));
        err_free(e);
        return;
    }
    ic.newest = must_zero((size_t)shape.slots * sizeof *ic.newest);
    check_header(&ic);
    check_times(&ic);
    for (int32_t number = 1; number < ic.f->next; number++) check_entry(&ic, number);
    check_slots(&ic);
    if (newest && ic.f->end_offset < c->last_at && ic.f->next > 1 && c->v.abort)
        report_add(&c->r, NOTE, ic.file, -1, "adds what is missing", "its last key is of the record at %lld, the log ends at %lld",
                   (long long)ic.f->end_offset, (long long)c->end);
    free(ic.newest);
    index_file_close(ic.f);
    view_reader_done(&ic.reader);
}

void check_index(struct check *c)
{
    struct buf names = BUF_EMPTY;
    err_t e = view_index_names(&c->v, &names);
    if (e) report_add(&c->r, DAMAGE, "index", -1, "finds no message by key", "%s", err_text(e));
    err_free(e);
    size_t count = view_name_count(&names);
    for (size_t i = 0; i < count; i++) {
        if (c->v.options->progress) c->v.options->progress(c->v.options->progress_ctx, "index", (int64_t)i, (int64_t)count);
        check_one(c, view_name(&names, i), i + 1 == count);
    }
    view_names_done(&names);
}
