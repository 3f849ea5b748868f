#include "store/compaction_state.h"

#include "base/log.h"
#include "codec/record.h"

#include <inttypes.h>

/* Of one job. Each ends with syncs: few large ones are better than many small ones. Finding 32768 entries takes the loop a millisecond. */
enum { FEED_ENTRIES = 32768, FEED_BYTES = 16 << 20, ENTRIES_AT_ONCE = 128 };

/* A message to be copied. */
struct feed_item {
    const uint8_t *record;
    int64_t log_offset;
    int64_t queue_offset;
    int32_t size;
};

/* --- the job; thread: worker --- */

static bool is_good(const struct compaction_feed *f, const struct feed_item *item, struct message *m)
{
    if (record_read(slice_of(item->record, (size_t)item->size), m) != RECORD_WHOLE || m->log_offset != item->log_offset) return false;
    if (record_read_size(m) != (size_t)item->size || m->queue_offset != item->queue_offset || m->queue_id != f->log->queue_id) return false;
    return slice_eq(m->topic, slice_text(f->log->topic)) && record_body_intact(m);
}

/* How many items from the first one on lie close together in one file, and may be fetched at once. */
static size_t neighbours(const struct feed_item *items, size_t n)
{
    enum { CLOSE_BYTES = 1 << 20 };
    size_t i = 1;
    while (i < n && items[i].record > items[i - 1].record && items[i].record + items[i].size <= items[0].record + CLOSE_BYTES &&
           items[i].record - items[0].record == items[i].log_offset - items[0].log_offset) i++;
    return i;
}

/* Into memory, so that a disk that fails is an error and not a signal. A record that it does not give is like one that is damaged. */
static bool bring(struct fs *fs, const struct feed_item *items, size_t n, size_t *brought)
{
    const struct feed_item *last = &items[neighbours(items, n) - 1];
    *brought = (size_t)(last - items) + 1;
    err_t e = fs_fetch(fs, items->record, (size_t)(last->record + last->size - items->record), 0);
    if (!e) return true;
    err_drop(e, "one by one then");
    *brought = 1;
    e = fs_fetch(fs, items->record, (size_t)items->size, 0);
    if (e) log_warn("store.unreadable log_offset=%" PRId64 " text=\"%s\"", items->log_offset, err_text(e));
    err_free(e);
    return !e;
}

/* A record that is damaged or has no key is passed over. The damaged one is reported by whoever reads it where it lies. */
static void run_feed(struct work *w)
{
    struct compaction_feed *f = LIST_OWNER(w, struct compaction_feed, work);
    const struct feed_item *items = (const struct feed_item *)(const void *)f->items.p;
    size_t n = f->items.n / sizeof *items;
    err_t e = NULL;
    for (size_t i = 0, brought = 0; i < n && !e; i++, brought--) {
        struct message m;
        bool there = brought > 0 || bring(f->log->fs, &items[i], n - i, &brought);
        bool kept = there && is_good(f, &items[i], &m) && compaction_key(&m).n;
        if (kept) e = compaction_writer_put(&f->writer, slice_of(items[i].record, (size_t)items[i].size), &m);
        else f->skipped++;
    }
    f->e = e ? e : compaction_writer_flush(&f->writer);
}

/* --- what it has to do; thread: loop --- */

static void pin_file(struct compaction_feed *f, struct mapped_file *file)
{
    struct mapped_file *last = NULL;
    if (f->pins.n) memcpy(&last, f->pins.p + f->pins.n - sizeof last, sizeof last);
    if (last == file) return;
    mapped_file_pin(file);
    buf_put(&f->pins, &file, sizeof file);
}

/* False: the message is not yet known to be on disk, where the next start may miss it. */
static bool add_item(struct compaction *c, struct queue_entry e)
{
    struct compaction_feed *f = &c->feed;
    if ((c->s->queues_in_doubt || c->s->queues_lost) && !queue_entry_is_written(e)) return false;   /* it is written again (S7) */
    if (e.log_offset + e.size > c->s->synced && e.log_offset < c->s->log.written) return false;
    struct mapped_file *file = mapped_files_at(&c->s->log.files, e.log_offset);
    int64_t queue_offset = f->next++;
    if (e.size < RECORD_SMALLEST || !file || e.size > mapped_file_end(file) - e.log_offset) return true;   /* no record is there */
    struct feed_item item = {mapped_file_from(file, e.log_offset).p, e.log_offset, queue_offset, e.size};
    pin_file(f, file);
    buf_put(&f->items, &item, sizeof item);
    f->bytes += e.size;
    return true;
}

static bool is_enough(const struct compaction_feed *f)
{
    return f->bytes >= FEED_BYTES || f->items.n >= FEED_ENTRIES * sizeof(struct feed_item);
}

/* The queue's file that holds this entry is not there, so nobody can read what it told of. What cannot be read now is tried again. */
static bool is_missing(struct consume_queue *q, int64_t at)
{
    char path[PATH_BYTES];
    struct file_info info;
    consume_queue_path(q, at, path);
    err_t e = fs_info(q->files->fs, path, &info);
    bool missing = err_code(e) == ERR_NOT_FOUND;
    err_free(e);
    return missing;
}

static int64_t behind_file(const struct consume_queue *q, int64_t at)
{
    int64_t step = consume_queue_file_entries(q), end = at + step - at % step;
    return end < q->end ? end : q->end;
}

static void collect(struct compaction *c, struct consume_queue *q)
{
    struct queue_entry entries[ENTRIES_AT_ONCE];
    struct compaction_feed *f = &c->feed;
    while (f->next < q->end && !is_enough(f)) {
        size_t n = consume_queue_read(q, f->next, ENTRIES_AT_ONCE, entries);
        if (!n && (compaction_met_cold(c) || !is_missing(q, f->next))) return;
        if (!n) f->next = behind_file(q, f->next);
        for (size_t i = 0; i < n; i++)
            if (!add_item(c, entries[i])) return;
    }
}

static void unpin_all(struct buf *pins)
{
    for (size_t at = 0; at < pins->n; at += sizeof(struct mapped_file *)) {
        struct mapped_file *f;
        memcpy(&f, pins->p + at, sizeof f);
        mapped_file_unpin(f);
    }
    buf_clear(pins);
}

/* False: nothing of it is on disk yet. */
static bool prepare(struct compaction *c, struct compaction_log *l, struct consume_queue *q)
{
    struct compaction_feed *f = &c->feed;
    size_t n = compaction_log_count(l);
    int64_t min = consume_queue_min(q, commit_log_first(&c->s->log));
    if (compaction_met_cold(c)) return false;
    f->next = l->next > min ? l->next : min;
    f->bytes = 0;
    f->skipped = 0;
    buf_clear(&f->items);
    collect(c, q);
    if (f->next <= l->next) return false;
    f->log = l;
    compaction_writer_begin(&f->writer, l->fs, l->log_folder, l->entry_folder, l->sizes, n ? compaction_log_file(l, n - 1) : NULL);
    return true;
}

static void complain(struct compaction_log *l, err_t e)
{
    if (!l->complained)
        log_warn("store.compaction_behind topic=\"%s\" queue=%d why=\"%s\" text=\"tried again; the commit log keeps its files meanwhile\"",
                 l->topic, l->queue_id, err_text(e));
    l->waits = l->complained = true;
}

/* Whether the queue has something for its compaction log; then the job is prepared. */
static bool try_queue(struct compaction *c, struct slice topic, struct consume_queue *q, bool *behind)
{
    struct compaction_log *l = compaction_log_of(c, topic, q->queue_id);
    if (q->kind == QUEUE_OF_BATCHES) return false;   /* no key is one of the whole batch */
    if (l ? l->waits || l->next >= q->end : !q->end) {
        *behind |= l && l->next < q->end;
        return false;
    }
    err_t e = compaction_log_get_or_open(c, topic, q, &l);
    if (e) {
        err_drop(e, "tried again; the commit log keeps its files meanwhile");
        *behind = true;
        return false;
    }
    if (l->next < q->end && prepare(c, l, q)) return true;
    *behind |= l->next < q->end;
    return false;
}

bool compaction_feed_find(struct compaction *c, bool *behind)
{
    struct map_entry *e;
    *behind = false;
    for (size_t at = 0; (e = map_next(&c->topics, &at));) {
        const struct compaction_topic *t = e->value;
        struct queue_topic *queues = t->on && !t->doomed ? map_get(&c->s->queues.topics, t->name) : NULL;
        if (!queues) continue;
        LIST_EACH(&queues->queues, node)
            if (try_queue(c, t->name, LIST_OWNER(node, struct consume_queue, in_topic), behind)) return true;
    }
    return false;
}

/* The files that the job wrote are the log's. */
static void publish(struct compaction *c, struct compaction_log *l)
{
    struct compaction_writer *w = &c->feed.writer;
    size_t old = w->first_is_old ? 1 : 0;
    struct buf files = w->full;
    if (w->begun) buf_put(&files, &w->now, sizeof w->now);
    compaction_log_replace(l, compaction_log_count(l) - old, old, (const struct compaction_file *)(const void *)files.p,
                           files.n / sizeof(struct compaction_file), &c->unused);
    buf_done(&files);
    w->full = BUF_EMPTY;
    w->fresh = false;
}

err_t compaction_feed_end(struct compaction *c)
{
    struct compaction_feed *f = &c->feed;
    struct compaction_log *l = f->log;
    err_t e = f->e;
    f->e = NULL;
    f->log = NULL;
    unpin_all(&f->pins);
    if (e) {
        complain(l, e);
    } else {
        publish(c, l);
        l->next = f->next;
        l->waits = !is_enough(f);
        if (f->skipped) log_debug("store.compaction_skipped topic=\"%s\" queue=%d messages=%" PRIu64, l->topic, l->queue_id, f->skipped);
        if (l->complained) log_info("store.compaction_goes_on topic=\"%s\" queue=%d", l->topic, l->queue_id);
        l->complained = false;
    }
    compaction_writer_done(&f->writer, &c->unused);
    return e;
}

void compaction_feed_init(struct compaction_feed *f, void (*done)(struct work *w))
{
    f->work = (struct work){.run = run_feed, .done = done};
}

void compaction_feed_done(struct compaction_feed *f)
{
    buf_done(&f->items);
    buf_done(&f->pins);
}
