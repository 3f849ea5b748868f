#include "store/index_file.h"

#include "base/buf.h"
#include "base/clamped.h"
#include "codec/java_hash.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { SLOTS_OF_PAGE = 1024, PAGE_BYTES = SLOTS_OF_PAGE * INDEX_SLOT_BYTES, PAGES_OF_RUN = 16, FIRST_ENTRY = 1 };

static uint32_t without_sign(int32_t hash)
{
    return hash == INT32_MIN ? 0 : hash < 0 ? 0 - (uint32_t)hash : (uint32_t)hash;
}

int32_t index_topic_hash(struct slice topic) { return java_hash_more(java_hash(topic), SLICE("#")); }
uint32_t index_hash_behind(int32_t topic_hash, struct slice key) { return without_sign(java_hash_more(topic_hash, key)); }
uint32_t index_hash(struct slice topic, struct slice key) { return index_hash_behind(index_topic_hash(topic), key); }

uint32_t index_tag_hash(struct slice topic, struct slice tag)
{
    return index_hash_behind(java_hash_more(index_topic_hash(topic), SLICE("T#")), tag);
}

/* --- places in the file --- */

static int64_t slot_at(int64_t slot) { return INDEX_HEADER_BYTES + slot * INDEX_SLOT_BYTES; }

static int64_t entry_at(struct index_shape shape, int64_t number) { return slot_at(shape.slots) + number * INDEX_ENTRY_BYTES; }

int64_t index_file_bytes(struct index_shape shape) { return entry_at(shape, shape.entries); }

/* Slots are spread over the whole file, and most pages of a young one are holes. Where those lie in memory alone (tmpfs), looking at a hole
 * through the map takes a page, and the process is killed when there is none: it is read. */
static err_t read_slots(const struct index_file *f, int64_t first, int32_t count, uint8_t *out)
{
    size_t n = (size_t)count * INDEX_SLOT_BYTES, got;
    int64_t page = first / SLOTS_OF_PAGE;
    if (f->written[page / 8] >> page % 8 & 1) {
        memcpy(out, f->bytes + slot_at(first), n);
        return NULL;
    }
    err_t e = file_read_at(f->file, slot_at(first), out, n, &got);
    return !e && got != n ? err_new(ERR_IO, "%s is shorter than it was", f->path) : e;
}

static int32_t entry_before(const struct index_file *f, int32_t number)
{
    return (int32_t)get_be32(f->bytes + entry_at(f->shape, number) + 16);
}

/* What a slot names, or the newest entry behind it that is older than `next`. After a kill a slot may name entries that are not
 * counted yet; they are in the file, and lead to those that are. */
static int32_t older_than(const struct index_file *f, int32_t number, int32_t next)
{
    while (number >= next && number < f->shape.entries) {
        int32_t before = entry_before(f, number);
        if (before >= number) return 0;
        number = before;
    }
    return number > 0 && number < next ? number : 0;
}

/* --- open and make --- */

/* Read, and not looked at through the map: in a file that was just made it is a hole like others. */
static err_t read_header(struct index_file *f)
{
    uint8_t p[INDEX_HEADER_BYTES];
    size_t got;
    err_t e = file_read_at(f->file, 0, p, sizeof p, &got);
    if (!e && got != sizeof p) e = err_new(ERR_CORRUPT, "%s is shorter than its header", f->path);
    if (e) return e;
    f->begin_ms = (int64_t)get_be64(p);
    f->end_ms = (int64_t)get_be64(p + 8);
    f->begin_offset = (int64_t)get_be64(p + 16);
    f->end_offset = (int64_t)get_be64(p + 24);
    f->used_slots = (int32_t)get_be32(p + 32);
    if (f->used_slots < 0 || f->used_slots > f->shape.slots) f->used_slots = f->used_slots < 0 ? 0 : f->shape.slots;
    f->next = (int32_t)get_be32(p + 36);
    int32_t stated = f->next;
    if (f->next < FIRST_ENTRY) f->next = FIRST_ENTRY;
    if (f->next > f->shape.entries) f->next = f->shape.entries;
    f->doubtful = stated != f->next && stated != 0;   /* 0: made, and killed before the header was written */
    if (f->next == FIRST_ENTRY) return NULL;
    f->doubtful |= index_file_offset(f, FIRST_ENTRY) != f->begin_offset || index_file_offset(f, f->next - 1) != f->end_offset;
    return NULL;
}

static err_t write_header(struct index_file *f)
{
    uint8_t p[INDEX_HEADER_BYTES];
    put_be64(p, (uint64_t)f->begin_ms);
    put_be64(p + 8, (uint64_t)f->end_ms);
    put_be64(p + 16, (uint64_t)f->begin_offset);
    put_be64(p + 24, (uint64_t)f->end_offset);
    put_be32(p + 32, (uint32_t)f->used_slots);
    put_be32(p + 36, (uint32_t)f->next);
    return file_write_at(f->file, 0, p, sizeof p);
}

static err_t open_sized(struct index_file *f, enum file_mode mode)
{
    int64_t want = index_file_bytes(f->shape), size;
    err_t e = fs_open(f->fs, f->path, mode, &f->file);
    if (!e) e = mode == FILE_CREATE ? file_set_size(f->file, want) : NULL;
    if (!e) e = file_size(f->file, &size);
    if (!e && size != want) e = err_new(ERR_CORRUPT, "%s has %" PRId64 " bytes instead of %" PRId64, f->path, size, want);
    f->written = must_zero((size_t)f->shape.slots / SLOTS_OF_PAGE / 8 + 1);
    return e ? e : file_map(f->file, want, &f->bytes);
}

static err_t open_any(struct fs *fs, const char *path, struct index_shape shape, enum file_mode mode, struct index_file **out)
{
    struct index_file *f = must_zero(sizeof *f);
    f->fs = fs;
    f->path = must_strdup(path);
    f->shape = shape;
    err_t e = open_sized(f, mode);
    if (!e) e = read_header(f);
    if (e) {
        index_file_close(f);
        return e;
    }
    *out = f;
    return NULL;
}

err_t index_file_open(struct fs *fs, const char *path, struct index_shape shape, struct index_file **out)
{
    return open_any(fs, path, shape, FILE_WRITE, out);
}

err_t index_file_view(struct fs *fs, const char *path, struct index_shape shape, struct index_file **out)
{
    return open_any(fs, path, shape, FILE_READ, out);
}

bool index_file_has_name(const char *name)
{
    size_t n = strspn(name, "0123456789");
    return n == INDEX_NAME_DIGITS && !name[n];
}

err_t index_file_make(struct fs *fs, const char *path, struct index_shape shape, const struct index_file *before, struct index_file **out)
{
    struct index_file *f;
    err_t e = open_any(fs, path, shape, FILE_CREATE, &f);
    if (e) return e;
    if (before && before->end_offset > 0) f->begin_offset = f->end_offset = before->end_offset;
    if (before && before->end_ms > 0) f->begin_ms = f->end_ms = before->end_ms;
    e = write_header(f);
    if (e) index_file_close(f);
    else *out = f;
    return e;
}

void index_file_close(struct index_file *f)
{
    if (!f) return;
    if (f->bytes) fs_unmap(f->fs, f->bytes, index_file_bytes(f->shape));
    file_close(f->file);
    free(f->written);
    free(f->path);
    free(f);
}

err_t index_file_sync(struct index_file *f) { return file_sync(f->file); }

size_t index_file_room(const struct index_file *f) { return (size_t)(f->shape.entries - f->next); }

/* --- adding --- */

/* A key by the page of slots that it goes to; within a page by number. Slots are scattered over the file: those of one page are
 * looked at, and written, together. */
struct placed {
    int32_t slot;
    int32_t number;
};

static int32_t page_of(int32_t slot) { return slot / SLOTS_OF_PAGE; }

static struct placed *place_keys(const struct index_file *f, const struct index_key *keys, size_t n)
{
    size_t pages = (size_t)page_of(f->shape.slots) + 1;
    uint32_t *begin = must_zero((pages + 1) * sizeof *begin);
    struct placed *placed = must_alloc(n * sizeof *placed);
    for (size_t i = 0; i < n; i++) begin[page_of((int32_t)(keys[i].hash % (uint32_t)f->shape.slots)) + 1]++;
    for (size_t i = 1; i <= pages; i++) begin[i] += begin[i - 1];
    for (size_t i = 0; i < n; i++) {
        int32_t slot = (int32_t)(keys[i].hash % (uint32_t)f->shape.slots);
        placed[begin[page_of(slot)]++] = (struct placed){slot, f->next + (int32_t)i};
    }
    free(begin);
    return placed;
}

int32_t index_file_seconds(const struct index_file *f, int64_t store_ms)
{
    int64_t seconds = f->begin_ms > 0 ? clamped_minus(store_ms, f->begin_ms) / 1000 : 0;
    return seconds < 0 ? 0 : seconds > INT32_MAX ? INT32_MAX : (int32_t)seconds;
}

/* The entries, but for the ones before them, which are known once the keys are sorted. */
static void encode_entries(struct index_file *f, const struct index_key *keys, size_t n, uint8_t *out)
{
    for (size_t i = 0; i < n; i++, out += INDEX_ENTRY_BYTES) {
        put_be32(out, keys[i].hash);
        put_be64(out + 4, (uint64_t)keys[i].log_offset);
        put_be32(out + 12, (uint32_t)index_file_seconds(f, keys[i].store_ms));
        if (f->next + (int32_t)i != FIRST_ENTRY) continue;   /* the first of all sets what the others count from */
        f->begin_ms = keys[i].store_ms;
        f->begin_offset = keys[i].log_offset;
    }
}

/* The slots of a page, after all its keys from placed[*i] on; tells each entry what was before it. *i is then behind them. */
static err_t fill_page(const struct index_file *f, const struct placed *placed, size_t *i, size_t n, uint8_t *page, uint8_t *entries,
                       int32_t *used_slots)
{
    int32_t first = page_of(placed[*i].slot) * SLOTS_OF_PAGE;
    int32_t slots = f->shape.slots - first < SLOTS_OF_PAGE ? f->shape.slots - first : SLOTS_OF_PAGE;
    err_t e = read_slots(f, first, slots, page);
    if (e) return e;
    for (; *i < n && placed[*i].slot < first + slots; ++*i) {
        const struct placed *one = &placed[*i];
        uint8_t *slot = page + (one->slot - first) * INDEX_SLOT_BYTES;
        int32_t before = older_than(f, (int32_t)get_be32(slot), one->number);
        *used_slots += !before;
        put_be32(entries + (size_t)(one->number - f->next) * INDEX_ENTRY_BYTES + 16, (uint32_t)before);
        put_be32(slot, (uint32_t)one->number);
    }
    return NULL;
}

static err_t chain_entries(struct index_file *f, const struct placed *placed, size_t n, uint8_t *entries)
{
    uint8_t page[PAGE_BYTES];
    err_t e = NULL;
    for (size_t i = 0; !e && i < n;) e = fill_page(f, placed, &i, n, page, entries, &f->used_slots);
    return e;
}

/* Pages of slots that lie side by side, for one write. */
struct slot_run {
    uint8_t bytes[PAGES_OF_RUN * PAGE_BYTES];
    int32_t page; /* the first one */
    int32_t pages;
};

static err_t write_run(struct index_file *f, struct slot_run *run)
{
    int64_t first = (int64_t)run->page * SLOTS_OF_PAGE, end = first + (int64_t)run->pages * SLOTS_OF_PAGE;
    if (end > f->shape.slots) end = f->shape.slots;
    err_t e = file_write_at(f->file, slot_at(first), run->bytes, (size_t)(end - first) * INDEX_SLOT_BYTES);
    for (int32_t i = run->page; !e && i < run->page + run->pages; i++) f->written[i / 8] |= (uint8_t)(1u << i % 8);
    run->pages = 0;
    return e;
}

static err_t write_slots(struct index_file *f, const struct placed *placed, size_t n, uint8_t *entries)
{
    struct slot_run run;
    int32_t ignored = 0;
    run.pages = 0;
    for (size_t i = 0; i < n;) {
        if (!run.pages) run.page = page_of(placed[i].slot);
        err_t e = fill_page(f, placed, &i, n, run.bytes + run.pages * PAGE_BYTES, entries, &ignored);
        if (e) return e;
        run.pages++;
        if (i < n && run.pages < PAGES_OF_RUN && page_of(placed[i].slot) == run.page + run.pages) continue;
        e = write_run(f, &run);
        if (e) return e;
    }
    return NULL;
}

/* Entries first, then the slots that name them, then the header that counts them. */
err_t index_file_add(struct index_file *f, const struct index_key *keys, size_t n)
{
    assert(n <= index_file_room(f));
    if (!n) return NULL;
    struct index_file before = *f;
    struct placed *placed = place_keys(f, keys, n);
    uint8_t *entries = must_alloc(n * INDEX_ENTRY_BYTES);
    encode_entries(f, keys, n, entries);
    err_t e = chain_entries(f, placed, n, entries);
    if (!e) e = file_write_at(f->file, entry_at(f->shape, f->next), entries, n * INDEX_ENTRY_BYTES);
    if (!e) e = write_slots(f, placed, n, entries);
    f->next += (int32_t)n;
    f->end_ms = keys[n - 1].store_ms;
    f->end_offset = keys[n - 1].log_offset;
    if (!e) e = write_header(f);
    if (e) *f = before;
    free(entries);
    free(placed);
    return e;
}

/* --- repair --- */

bool index_file_times_fit(const struct index_file *f)
{
    if (f->doubtful || f->next <= FIRST_ENTRY + 1) return true;   /* the first counts from where the file before ended */
    int32_t last = (int32_t)get_be32(f->bytes + entry_at(f->shape, f->next - 1) + 12);
    return f->begin_ms > 0 && f->begin_ms <= f->end_ms && index_file_seconds(f, f->end_ms) == last;
}

/* An entry may lie in two sectors, of which the disk has the second alone: the first was written before the entry was, and not again. A hash
 * of 0 is not likely enough to be worth a doubt. */
static bool has_lost_its_hash(const struct index_file *f, int32_t number)
{
    enum { SECTOR = 512 };
    int64_t at = entry_at(f->shape, number);
    return at / SECTOR != (at + INDEX_ENTRY_BYTES - 1) / SECTOR && !get_be32(f->bytes + at);
}

/* Entries are added in the order of the log; what never reached the disk reads as zeros. */
static bool is_sound(const struct index_file *f, int32_t number, int64_t before)
{
    const uint8_t *p = f->bytes + entry_at(f->shape, number);
    int64_t at = index_file_offset(f, number);
    return at >= before && at >= f->begin_offset && at <= f->end_offset && (int32_t)get_be32(p + 12) >= 0 &&
           (int32_t)get_be32(p + 16) < number && (get_be32(p) || at || get_be32(p + 12)) && !has_lost_its_hash(f, number);
}

err_t index_file_repair(struct index_file *f)
{
    int64_t bytes = (int64_t)f->shape.slots * INDEX_SLOT_BYTES;
    uint8_t *slots = must_zero((size_t)bytes);
    if (f->doubtful && f->next > FIRST_ENTRY) f->begin_offset = index_file_offset(f, FIRST_ENTRY);
    int64_t last = f->begin_offset;
    int32_t number = FIRST_ENTRY, limit = f->doubtful ? f->shape.entries : f->next;
    f->used_slots = 0;
    for (; number < limit && is_sound(f, number, last); number++) {
        uint32_t slot = get_be32(f->bytes + entry_at(f->shape, number)) % (uint32_t)f->shape.slots;
        uint8_t *p = slots + (size_t)slot * INDEX_SLOT_BYTES;
        f->used_slots += !get_be32(p);
        put_be32(p, (uint32_t)number);
        last = index_file_offset(f, number);
    }
    f->next = number;
    f->doubtful = false;
    if (number > FIRST_ENTRY) f->end_offset = last;
    else f->end_offset = f->begin_offset;
    err_t e = file_write_at(f->file, slot_at(0), slots, (size_t)bytes);
    if (!e) e = write_header(f);
    free(slots);
    return e;
}

/* --- finding --- */

size_t index_file_find(const struct index_file *f, uint32_t hash, int64_t begin_ms, int64_t end_ms, int64_t *out, size_t max)
{
    size_t found = 0;
    int64_t slot = hash % (uint32_t)f->shape.slots;
    uint8_t newest[INDEX_SLOT_BYTES];
    err_t e = read_slots(f, slot, 1, newest);
    if (e) {
        err_drop(e, "what cannot be read names nothing, as where the disk has lost it");
        return 0;
    }
    int32_t number = older_than(f, (int32_t)get_be32(newest), f->next);
    while (number > 0 && found < max) {
        const uint8_t *p = f->bytes + entry_at(f->shape, number);
        int32_t seconds = (int32_t)get_be32(p + 12), before = (int32_t)get_be32(p + 16);
        int64_t ms = clamped_plus(f->begin_ms, (int64_t)seconds * 1000);
        if (seconds < 0) break;
        if (get_be32(p) == hash && ms >= begin_ms && ms <= end_ms) out[found++] = (int64_t)get_be64(p + 4);
        if (ms < begin_ms || before >= number) break;   /* a chain only leads to older entries */
        number = before;
    }
    return found;
}
