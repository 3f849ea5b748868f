#include "store/consume_queue.h"

#include "store/mapped_file.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    OPEN_MAX = 512,               /* below the usual limit of 1024 descriptors, with room for connections */
    PENDING_BYTES_KEPT = 64 << 10,
    FEW = 100,
    LOOK_AROUND = 64,             /* entries: a search that met a damaged one looks at its neighbours */
    SEARCHES_MAX = 16,            /* and begins again so often */
};

void queue_files_init(struct queue_files *f, struct fs *fs, const char *root, const int64_t file_entries[static QUEUE_KINDS])
{
    static const char *const names[QUEUE_KINDS] = {[QUEUE_OF_SINGLES] = "consumequeue", [QUEUE_OF_BATCHES] = "batchconsumequeue"};
    char path[PATH_BYTES];
    *f = (struct queue_files){.fs = fs};
    for (int i = 0; i < QUEUE_KINDS; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        f->folder[i] = must_strdup(path);
        f->file_entries[i] = file_entries[i];
    }
    snprintf(path, sizeof path, "%s/consumequeue_ext", root);
    f->ext_folder = must_strdup(path);
    list_init(&f->open);
    list_init(&f->dirty);
}

void queue_files_done(struct queue_files *f)
{
    for (int i = 0; i < QUEUE_KINDS; i++) free(f->folder[i]);
    free(f->ext_folder);
}

struct consume_queue *consume_queue_new(struct queue_files *files, struct queue_topic *topic, int32_t queue_id)
{
    struct consume_queue *q = must_zero(sizeof *q);
    q->files = files;
    q->topic = topic;
    q->kind = topic->kind;
    q->queue_id = queue_id;
    q->first = -1;
    q->min_log_first = -1;
    list_node_init(&q->in_open);
    list_node_init(&q->in_dirty);
    list_add(&topic->queues, &q->in_topic);
    return q;
}

static void close_file(struct consume_queue *q)
{
    if (!q->file) return;
    file_close(q->file);
    q->file = NULL;
    list_remove(&q->in_open);
    q->files->open_count--;
}

void consume_queue_free(struct consume_queue *q)
{
    close_file(q);
    buf_done(&q->pending);
    list_remove(&q->in_dirty);
    list_remove(&q->in_topic);
    free(q);
}

void consume_queue_rest(struct consume_queue *q)
{
    close_file(q);
    if (!q->pending.n) buf_done(&q->pending);
}

void consume_queue_folder(const struct consume_queue *q, char out[static PATH_BYTES])
{
    snprintf(out, PATH_BYTES, "%s/%.*s/%d", q->files->folder[q->kind], SLICE_ARG(q->topic->name), q->queue_id);
}

static int64_t entry_bytes(const struct consume_queue *q) { return queue_kind_entry_bytes(q->kind); }
static int64_t file_first(const struct consume_queue *q, int64_t entry) { return entry - entry % consume_queue_file_entries(q); }
static int64_t file_bytes(const struct consume_queue *q) { return consume_queue_file_entries(q) * entry_bytes(q); }
static int64_t first_entry(const struct consume_queue *q) { return q->first > 0 ? q->first : 0; }

/* The entry whose bytes these are. */
static struct queue_entry get_entry(const struct consume_queue *q, const uint8_t *p, int64_t entry)
{
    return q->kind == QUEUE_OF_BATCHES ? batch_entry_get(p) : queue_entry_get(p, entry);
}

static void entry_path(const struct consume_queue *q, int64_t first, char out[static PATH_BYTES])
{
    char folder[PATH_BYTES - FILE_NAME_DIGITS - 1];
    snprintf(folder, sizeof folder, "%s/%.*s/%d", q->files->folder[q->kind], SLICE_ARG(q->topic->name), q->queue_id);
    segment_path(out, folder, first * entry_bytes(q));
}

static void keep_open(struct consume_queue *q, struct file *f, int64_t first)
{
    struct queue_files *all = q->files;
    close_file(q);
    if (all->open_count >= OPEN_MAX) consume_queue_rest(LIST_OWNER(list_first(&all->open), struct consume_queue, in_open));
    q->file = f;
    q->file_first = first;
    list_add(&all->open, &q->in_open);
    all->open_count++;
}

/* The file that holds an entry becomes the open one. */
static err_t open_file_as(struct consume_queue *q, int64_t entry, enum file_mode mode)
{
    int64_t first = file_first(q, entry);
    if (q->file && q->file_first == first) {
        list_remove(&q->in_open);
        list_add(&q->files->open, &q->in_open);
        return NULL;
    }
    char path[PATH_BYTES];
    struct file *f;
    entry_path(q, first, path);
    err_t e = fs_open(q->files->fs, path, mode, &f);
    if (!e) keep_open(q, f, first);
    return e;
}

static err_t open_file(struct consume_queue *q, int64_t entry) { return open_file_as(q, entry, FILE_WRITE); }

/* Files are sparse: a queue with few messages takes few blocks. */
static err_t make_file(struct consume_queue *q, int64_t entry)
{
    char path[PATH_BYTES];
    struct file *f;
    int64_t first = file_first(q, entry);
    consume_queue_folder(q, path);
    err_t e = fs_make_folder(q->files->fs, path);
    if (e) return e;
    entry_path(q, first, path);
    e = fs_open(q->files->fs, path, FILE_CREATE, &f);
    if (e) return e;
    e = file_set_size(f, file_bytes(q));
    if (e) {
        file_close(f);
        return e;
    }
    q->new_files = true;
    if (q->first < 0) q->first = first;
    keep_open(q, f, first);
    return NULL;
}

static err_t open_or_make(struct consume_queue *q, int64_t entry)
{
    err_t e = open_file(q, entry);
    if (err_code(e) != ERR_NOT_FOUND) return e;
    err_free(e);   /* the usual way a new file begins */
    return make_file(q, entry);
}

static void mark_dirty(struct consume_queue *q, int64_t from)
{
    if (list_linked(&q->in_dirty)) {
        if (from < q->dirty_from) q->dirty_from = from;
        return;
    }
    q->dirty_from = from;
    list_add(&q->files->dirty, &q->in_dirty);
}

/* Writes entries that lie in one file. */
static err_t write_in_file(struct consume_queue *q, int64_t entry, const uint8_t *p, size_t bytes)
{
    err_t e = open_or_make(q, entry);
    if (e) return e;
    e = file_write_at(q->file, (entry - q->file_first) * entry_bytes(q), p, bytes);
    if (!e) mark_dirty(q, entry);
    return e;
}

/* Entries that end here are written. */
static void advance_max(struct consume_queue *q, const uint8_t *end)
{
    if (q->kind != QUEUE_OF_BATCHES) return;
    if (q->max == 0) q->min_log_first = -1;   /* its first message need not have the offset 0 */
    q->max = queue_entry_end(batch_entry_get(end - BATCH_ENTRY_BYTES));
}

err_t consume_queue_write(struct consume_queue *q)
{
    size_t done = 0;
    err_t e = NULL;
    while (done < q->pending.n && !e) {
        size_t left = (size_t)((file_first(q, q->end) + consume_queue_file_entries(q) - q->end) * entry_bytes(q));
        size_t n = q->pending.n - done < left ? q->pending.n - done : left;
        e = write_in_file(q, q->end, q->pending.p + done, n);
        if (e) break;
        done += n;
        q->end += (int64_t)n / entry_bytes(q);
        advance_max(q, q->pending.p + done);
    }
    q->pending.n -= done;
    if (q->pending.n && done) memmove(q->pending.p, q->pending.p + done, q->pending.n);
    if (q->pending.cap > PENDING_BYTES_KEPT && !q->pending.n) buf_done(&q->pending);
    return e;
}

err_t consume_queue_begin_at(struct consume_queue *q, int64_t queue_offset)
{
    assert(q->pending.n == 0 && q->kind == QUEUE_OF_SINGLES);
    char folder[PATH_BYTES];
    consume_queue_folder(q, folder);
    close_file(q);
    err_t e = fs_remove_tree(q->files->fs, folder);
    if (e) return e;
    q->first = q->min_log_first = -1;
    q->end = file_first(q, queue_offset);
    struct queue_entry filler = queue_entry_filler();
    for (int64_t i = q->end; i < queue_offset; i++) consume_queue_put(q, &filler);
    return consume_queue_write(q);
}

static err_t read_bytes(struct consume_queue *q, int64_t from, void *p, size_t n, size_t *got)
{
    err_t e = open_file(q, from);
    return e ? e : file_read_at(q->file, (from - q->file_first) * entry_bytes(q), p, n, got);
}

static err_t read_cached_bytes(struct consume_queue *q, int64_t from, void *p, size_t n, size_t *got)
{
    char path[PATH_BYTES];
    int64_t at = (from - file_first(q, from)) * entry_bytes(q);
    err_t e = open_file_as(q, from, FILE_WRITE_CACHED);
    if (!e) e = file_read_cached(q->file, at, p, n, got);
    if (err_code(e) != ERR_NOT_IN_MEMORY) return e;
    entry_path(q, file_first(q, from), path);
    cold_meet_queue(q->files->cold, path, at);
    return e;
}

size_t consume_queue_read(struct consume_queue *q, int64_t from, size_t n, struct queue_entry *out)
{
    enum { AT_ONCE = 128 };
    uint8_t bytes[AT_ONCE * BATCH_ENTRY_BYTES];
    size_t one = (size_t)entry_bytes(q);
    int64_t left = file_first(q, from) + consume_queue_file_entries(q) - from;
    if (left > q->end - from) left = q->end - from;
    if ((int64_t)n > left) n = left > 0 ? (size_t)left : 0;
    if (n > AT_ONCE) n = AT_ONCE;
    if (!n || from < 0) return 0;
    size_t got = 0;
    const struct cold *cold = q->files->cold;
    bool waits = !cold || cold->waits || cold->queue_waits;
    err_t e = (waits ? read_bytes : read_cached_bytes)(q, from, bytes, n * one, &got);
    if (e) {
        err_drop(e, "the entries count as missing");
        return 0;
    }
    n = got / one;
    for (size_t i = 0; i < n; i++) out[i] = get_entry(q, bytes + i * one, from + (int64_t)i);
    return n;
}

bool consume_queue_any(struct consume_queue *q, int64_t entry, struct queue_entry *out)
{
    if (entry < q->end) return consume_queue_get(q, entry, out);
    int64_t at = (entry - q->end) * entry_bytes(q);
    if (at >= (int64_t)q->pending.n) return false;
    *out = get_entry(q, q->pending.p + at, entry);
    return true;
}

bool consume_queue_last(struct consume_queue *q, struct queue_entry *out)
{
    int64_t end = q->end + (int64_t)q->pending.n / entry_bytes(q);
    return end > 0 && consume_queue_any(q, end - 1, out);
}

int64_t consume_queue_pending_end(const struct consume_queue *q)
{
    if (q->kind != QUEUE_OF_BATCHES) return q->end + (int64_t)q->pending.n / entry_bytes(q);
    return q->pending.n ? queue_entry_end(batch_entry_get(q->pending.p + q->pending.n - BATCH_ENTRY_BYTES)) : q->max;
}

/* The offset behind the messages of the entries below `end`, of which the last ones may be damaged. */
static void find_max(struct consume_queue *q)
{
    struct queue_entry e;
    if (q->kind != QUEUE_OF_BATCHES) return;
    q->max = 0;
    for (int64_t i = q->end; i-- > first_entry(q) && q->end - i <= LOOK_AROUND && !q->max;)
        if (consume_queue_get(q, i, &e) && queue_entry_is_written(e)) q->max = queue_entry_end(e);
}

void consume_queue_cut(struct consume_queue *q, int64_t end)
{
    q->end = end;
    q->min_log_first = -1;
    buf_clear(&q->pending);
    find_max(q);
}

/* --- the files on disk --- */

static void collect_file(void *ctx, const char *name)
{
    int64_t start;
    if (segment_start(name, &start)) buf_put(ctx, &start, sizeof start);
}

/* The first entry of a file. */
static int64_t start_at(const struct consume_queue *q, const struct buf *starts, size_t i)
{
    int64_t start;
    memcpy(&start, starts->p + i * sizeof start, sizeof start);
    return start / entry_bytes(q);
}

static err_t make_full_size(struct consume_queue *q, const char *path)
{
    struct file *f;
    err_t e = fs_open(q->files->fs, path, FILE_WRITE, &f);
    if (e) return e;
    e = file_set_size(f, file_bytes(q));
    file_close(f);
    return e;
}

/* An empty file is one whose name survived a power cut: what it held will be written again. */
static err_t check_size(struct consume_queue *q, int64_t first, bool last, bool *remove)
{
    char path[PATH_BYTES];
    struct file_info info;
    entry_path(q, first, path);
    err_t e = fs_info(q->files->fs, path, &info);
    if (e) return e;
    *remove = info.size == 0 && last;
    if (*remove) return fs_remove(q->files->fs, path);
    bool too_short = info.size == 0 || (q->files->mend && info.size < file_bytes(q) && first == file_first(q, first));
    if (too_short) return make_full_size(q, path);
    if (info.size == file_bytes(q)) return NULL;
    return err_new(ERR_CORRUPT, "%s has %" PRId64 " bytes, but queue files of %" PRId64 " bytes are configured", path, info.size,
                   file_bytes(q));
}

static bool points_below(struct queue_entry e, int64_t log_limit)
{
    return queue_entry_is_written(e) && (queue_entry_is_filler(e) || e.log_offset <= log_limit - e.size);
}

static bool entry_is_good(struct consume_queue *q, int64_t at, int64_t log_limit)
{
    struct queue_entry e;
    return consume_queue_get(q, at, &e) && points_below(e, log_limit);
}

static int64_t search_end(struct consume_queue *q, int64_t low, int64_t high, int64_t log_limit)
{
    struct queue_entry few[FEW];
    size_t n = consume_queue_read(q, low, FEW, few), good = 0;   /* where most of very many queues end: one read, and no search */
    while (good < n && points_below(few[good], log_limit)) good++;
    low += (int64_t)good;
    if (good < n) return low;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (entry_is_good(q, middle, log_limit)) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* The first good entry of the next few; -1: there is none. */
static int64_t good_behind(struct consume_queue *q, int64_t at, int64_t high, int64_t log_limit)
{
    struct queue_entry entries[LOOK_AROUND];
    size_t n = consume_queue_read(q, at, high - at < LOOK_AROUND ? (size_t)(high - at) : LOOK_AROUND, entries);
    for (size_t i = 0; i < n; i++)
        if (points_below(entries[i], log_limit)) return at + (int64_t)i;
    return -1;
}

static bool follows(const struct consume_queue *q, struct queue_entry a, struct queue_entry b)
{
    if (q->kind != QUEUE_OF_BATCHES) return b.log_offset >= a.log_offset;   /* a hole repeats the entry behind it */
    return b.log_offset > a.log_offset && b.queue_offset >= queue_entry_end(a);
}

/* An entry lies in two sectors now and then. When the power took the first one, with the upper half of its place, it points to where
 * older ones point; but not behind those that really do. */
static int64_t end_in_order(struct consume_queue *q, int64_t low, int64_t end, int64_t log_limit)
{
    struct queue_entry entries[LOOK_AROUND];
    int64_t from = end - low < LOOK_AROUND ? low : end - LOOK_AROUND;
    size_t n = consume_queue_read(q, from, (size_t)(end - from), entries);
    for (size_t i = 0; i < n; i++)
        if (!points_below(entries[i], log_limit) || (i > 0 && !follows(q, entries[i - 1], entries[i]))) return from + (int64_t)i;
    return end;
}

static int64_t end_after_power_cut(struct consume_queue *q, int64_t low, int64_t high, int64_t log_limit)
{
    int64_t end = search_end(q, low, high, log_limit), before;
    do before = end, end = end_in_order(q, low, end, log_limit);
    while (end < before);
    return end;
}

/* S6: what is good is a prefix. Entries are in the order of the log, so all behind the first one that points too far, or that
 * was lost and reads as zeros, is to be written again. But after a good stop one that is damaged, with good ones behind it, is not the
 * end. After a bad one it is: a power cut may have brought back entries of an earlier run behind it. */
static int64_t good_end(struct consume_queue *q, int64_t low, int64_t high, int64_t log_limit)
{
    if (q->files->mend) return end_after_power_cut(q, low, high, log_limit);
    for (;;) {
        int64_t end = search_end(q, low, high, log_limit), next = good_behind(q, end, high, log_limit);
        if (next < 0) return end;
        low = next + 1;
    }
}

bool consume_queue_is_spoiled(struct consume_queue *q, int64_t from, int64_t log_end)
{
    struct queue_entry e;
    q->end++;   /* for this one look */
    bool there = consume_queue_get(q, q->end - 1, &e) && (e.log_offset || e.size || e.tag_hash);
    if (q->kind == QUEUE_OF_BATCHES) there = there || e.store_ms || e.queue_offset || e.count;
    q->end--;
    return there && !(queue_entry_is_written(e) && e.log_offset >= from && e.log_offset <= log_end - e.size);
}

static void find_end(struct consume_queue *q, const struct buf *starts, size_t count, int64_t log_limit)
{
    int64_t file_entries = consume_queue_file_entries(q);
    q->first = start_at(q, starts, 0);
    q->end = start_at(q, starts, count - 1) + file_entries;   /* so that all of it can be read */
    size_t i = count - 1;
    while (i > 0 && !entry_is_good(q, start_at(q, starts, i), log_limit)) i--;
    int64_t low = start_at(q, starts, i);
    q->end = good_end(q, low, low + file_entries, log_limit);
    find_max(q);
}

err_t consume_queue_load(struct consume_queue *q, int64_t log_limit)
{
    char folder[PATH_BYTES];
    struct buf starts = BUF_EMPTY;
    consume_queue_folder(q, folder);
    err_t e = fs_list(q->files->fs, folder, collect_file, &starts);
    size_t count = starts.n / sizeof(int64_t);
    for (size_t i = 0; i < count && !e; i++) {
        bool remove = false;
        e = check_size(q, start_at(q, &starts, i), i + 1 == count, &remove);
        if (remove) count--;
    }
    if (!e && count) find_end(q, &starts, count, log_limit);
    q->next = consume_queue_max(q);
    buf_done(&starts);
    return e;
}

/* Zeros from an entry to the end of its file: cut shorter, then longer again. */
static err_t clear_behind(struct consume_queue *q, int64_t entry)
{
    err_t e = open_file(q, entry);
    if (e) return e;
    e = file_set_size(q->file, (entry - q->file_first) * entry_bytes(q));
    if (!e) e = file_set_size(q->file, file_bytes(q));
    if (!e) mark_dirty(q, entry);
    return e;
}

err_t consume_queue_trim(struct consume_queue *q)
{
    char folder[PATH_BYTES], path[PATH_BYTES];
    struct buf starts = BUF_EMPTY;
    consume_queue_folder(q, folder);
    err_t e = fs_list(q->files->fs, folder, collect_file, &starts);
    size_t count = starts.n / sizeof(int64_t);
    bool kept = false;
    for (size_t i = 0; i < count && !e; i++) {
        int64_t first = start_at(q, &starts, i);
        if (first < q->end || first == 0) {
            kept = true;
            if (first + consume_queue_file_entries(q) > q->end) e = clear_behind(q, q->end);
            continue;
        }
        if (q->file && q->file_first == first) close_file(q);
        entry_path(q, first, path);
        e = fs_remove(q->files->fs, path);
        q->new_files = true;                         /* if the file came back, so would its old entries: S6 */
        mark_dirty(q, q->end > 0 ? q->end - 1 : 0);
    }
    if (!kept) q->first = -1;
    buf_done(&starts);
    return e;
}

/* --- what entries mean --- */

struct ext_search {
    int64_t at;
    int64_t start;      /* of the file that holds it: the last one that begins at or before it */
};

static void search_ext_file(void *ctx, const char *name)
{
    struct ext_search *s = ctx;
    int64_t start;
    if (segment_start(name, &start) && start <= s->at) s->start = start;
}

static err_t read_ext(struct consume_queue *q, int64_t at, uint8_t unit[static QUEUE_EXT_HEAD_BYTES], size_t *got)
{
    char path[PATH_BYTES], folder[PATH_BYTES - FILE_NAME_DIGITS - 1];
    struct ext_search search = {.at = at};
    struct file *f;
    snprintf(folder, sizeof folder, "%s/%.*s/%d", q->files->ext_folder, SLICE_ARG(q->topic->name), q->queue_id);
    err_t e = fs_list(q->files->fs, folder, search_ext_file, &search);
    if (e) return e;
    segment_path(path, folder, search.start);
    e = fs_open(q->files->fs, path, FILE_READ, &f);
    if (e) return e;
    e = file_read_at(f, at - search.start, unit, QUEUE_EXT_HEAD_BYTES, got);
    file_close(f);
    return e;
}

/* Ours are written without extension; those of the original are read from the file each time, which is slow and rare. */
int64_t consume_queue_tag_hash(struct consume_queue *q, struct queue_entry entry)
{
    int64_t at = q->kind == QUEUE_OF_BATCHES ? -1 : queue_entry_ext_offset(entry);
    if (at < 0) return entry.tag_hash;
    uint8_t unit[QUEUE_EXT_HEAD_BYTES];
    size_t got = 0;
    err_drop(read_ext(q, at, unit, &got), "an entry without its extension matches nothing");
    return got == sizeof unit ? (int64_t)get_be64(unit + 2) : entry.tag_hash;
}

static bool is_kept(struct queue_entry e, int64_t log_first)
{
    return queue_entry_is_written(e) && !queue_entry_is_filler(e) && e.log_offset >= log_first;
}

static int64_t search_kept(struct consume_queue *q, int64_t low, int64_t high, int64_t log_first)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        struct queue_entry e;
        if (consume_queue_get(q, middle, &e) && is_kept(e, log_first)) high = middle;
        else low = middle + 1;
    }
    return low;
}

/* The first entry of the few before `at` whose record is still there; -1: there is none. */
static int64_t kept_before(struct consume_queue *q, int64_t low, int64_t at, int64_t log_first)
{
    struct queue_entry entries[LOOK_AROUND];
    int64_t from = at - low < LOOK_AROUND ? low : at - LOOK_AROUND;
    size_t n = consume_queue_read(q, from, (size_t)(at - from), entries);
    for (size_t i = 0; i < n; i++)
        if (is_kept(entries[i], log_first)) return from + (int64_t)i;
    return -1;
}

/* The offset that an entry begins with. What a damaged one says is too large when a later one begins before it. */
static int64_t offset_of(struct consume_queue *q, int64_t entry)
{
    struct queue_entry near[2];
    if (q->kind != QUEUE_OF_BATCHES) return entry;
    int64_t offset = q->max;
    for (size_t i = 0, n = consume_queue_read(q, entry, 2, near); i < n; i++)
        if (queue_entry_is_written(near[i]) && near[i].queue_offset < offset) offset = near[i].queue_offset;
    return offset;
}

static int64_t first_in_log(struct consume_queue *q, int64_t log_first)
{
    if (q->min_log_first == log_first) return q->min;
    int64_t low = first_entry(q), high = q->end, min, before;
    do {
        min = search_kept(q, low, high, log_first);
        before = high = kept_before(q, low, min, log_first);   /* then the one the search took for too old is damaged */
    } while (before >= 0);
    if (q->files->cold && q->files->cold->met) return min;   /* not to be remembered */
    q->min = min;
    q->min_offset = offset_of(q, min);
    q->min_log_first = log_first;
    return min;
}

int64_t consume_queue_min_entry(struct consume_queue *q, int64_t log_first)
{
    int64_t min = first_in_log(q, log_first);
    if (min >= q->expired_below) return min;
    return q->expired_below < q->end ? q->expired_below : q->end;
}

int64_t consume_queue_min(struct consume_queue *q, int64_t log_first)
{
    int64_t entry = consume_queue_min_entry(q, log_first);
    return entry == q->min ? q->min_offset : offset_of(q, entry);
}

/* --- entries of batches, by the messages they hold --- */

static bool begins_behind(struct queue_entry e, int64_t queue_offset) { return e.queue_offset > queue_offset; }

/* The first entry that begins behind a message. */
static int64_t search_behind(struct consume_queue *q, int64_t low, int64_t high, int64_t queue_offset)
{
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        struct queue_entry e;
        if (consume_queue_get(q, middle, &e) && begins_behind(e, queue_offset)) high = middle;
        else low = middle + 1;
    }
    return low;
}

static bool holds(struct consume_queue *q, int64_t entry, int64_t queue_offset, struct queue_entry *e)
{
    bool there = entry >= first_entry(q) && consume_queue_get(q, entry, e) && queue_entry_is_written(*e);
    return there && e->queue_offset <= queue_offset && queue_entry_end(*e) > queue_offset;
}

/* Entries are in the order of their messages, each of which is in one; unless one is damaged. Of two that hold a message the first one
 * is right when the second does not end where the next one begins. */
static bool find_holder(struct consume_queue *q, int64_t behind, int64_t queue_offset, int64_t *out)
{
    struct queue_entry one, before, next;
    bool last = holds(q, behind - 1, queue_offset, &one);
    *out = behind - 1;
    if (!holds(q, behind - 2, queue_offset, &before)) return last;
    int64_t next_offset = consume_queue_get(q, behind, &next) ? next.queue_offset : q->max;
    if (!last || queue_entry_end(one) != next_offset) *out = behind - 2;
    return true;
}

/* Up to LOOK_AROUND entries, also of more than one file; as many as can be read one after the other. */
static size_t read_around(struct consume_queue *q, int64_t from, int64_t end, struct queue_entry near[static LOOK_AROUND])
{
    size_t got = 0, want = end > from ? (size_t)(end - from) : 0;
    if (want > LOOK_AROUND) want = LOOK_AROUND;
    for (size_t n = 1; got < want && n; got += n) n = consume_queue_read(q, from + (int64_t)got, want - got, near + got);
    return got;
}

/* Nothing holds the message: it has no entry, or a damaged one led the search astray. Then neighbours say that it lies on their other
 * side: before `at` those that begin behind the message, from `at` on those that do not, and more of them than of the others. True,
 * with a narrower range: search again. */
static bool is_astray(struct consume_queue *q, int64_t queue_offset, int64_t at, int64_t *low, int64_t *high)
{
    struct queue_entry near[LOOK_AROUND];
    int64_t from = at - *low < LOOK_AROUND ? *low : at - LOOK_AROUND;
    size_t n = read_around(q, from, at, near), first = 0, behind = 0;
    while (first < n && !begins_behind(near[first], queue_offset)) first++;
    for (size_t i = first; i < n; i++) behind += begins_behind(near[i], queue_offset);
    if (first < n && behind >= n - first - behind) {
        *high = from + (int64_t)first;
        return true;
    }
    n = read_around(q, at, q->end, near);
    behind = 0;
    while (n > 0 && begins_behind(near[n - 1], queue_offset)) n--;
    for (size_t i = 0; i < n; i++) behind += begins_behind(near[i], queue_offset);
    if (n - behind <= behind) return false;
    *low = at + (int64_t)n;
    *high = q->end;
    return true;
}

int64_t consume_queue_seek(struct consume_queue *q, int64_t queue_offset)
{
    int64_t low = first_entry(q), high = q->end, at, holder;
    struct queue_entry e;
    if (q->kind != QUEUE_OF_BATCHES) return queue_offset;
    if (holds(q, high - 1, queue_offset, &e)) return high - 1;   /* most readers are there; and that entry is good */
    int searches = 0;
    do {
        at = search_behind(q, low, high, queue_offset);
        if (find_holder(q, at, queue_offset, &holder)) return holder;
    } while (is_astray(q, queue_offset, at, &low, &high) && ++searches < SEARCHES_MAX);
    if (holds(q, at + 1, queue_offset, &e)) return at + 1;   /* the one before it is damaged */
    bool unknown_end = at > first_entry(q) && consume_queue_get(q, at - 1, &e) && !queue_entry_is_written(e);
    return unknown_end ? at - 1 : at;
}

size_t consume_queue_old_files(struct consume_queue *q, int64_t log_first)
{
    int64_t step = consume_queue_file_entries(q);
    if (q->first < 0 || q->end - q->first <= step) return 0;   /* the usual case costs nothing */
    int64_t keep = file_first(q, consume_queue_min_entry(q, log_first)), last = file_first(q, q->end - 1);
    if (keep > last) keep = last;
    return keep > q->first ? (size_t)((keep - q->first) / step) : 0;
}

void consume_queue_path(const struct consume_queue *q, int64_t entry, char out[static PATH_BYTES]) { entry_path(q, file_first(q, entry), out); }

void consume_queue_forget_before(struct consume_queue *q, int64_t entry)
{
    if (q->file && q->file_first < entry) close_file(q);
    q->first = file_first(q, entry);
    if (list_linked(&q->in_dirty) && q->dirty_from < q->first) q->dirty_from = q->first;
}
