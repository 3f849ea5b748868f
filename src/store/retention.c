#include "store/retention.h"

#include "codec/record.h"
#include "store/mapped_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { HEAD_BYTES = 96 };   /* the store time is among them, whatever hosts the record has */

struct retention_rule {
    int64_t reserved_ms;
    uint8_t topic_bytes;
    uint8_t topic[TOPIC_BYTES_MAX];
};

/* Entries before `end` of a queue are too old. */
struct found {
    struct retention_rule rule;
    enum queue_kind kind;
    int32_t queue_id;
    int64_t end;
};

static struct slice topic_of(const struct retention_rule *rule) { return slice_of(rule->topic, rule->topic_bytes); }

/* --- what is wanted; thread: loop --- */

void retention_init(struct retention *r, const struct queues *queues)
{
    *r = (struct retention){.rules = MAP_EMPTY, .snapshot = BUF_EMPTY, .found = BUF_EMPTY, .files = &queues->files};
}

void retention_done(struct retention *r)
{
    map_done_with(&r->rules, free);
    buf_done(&r->snapshot);
    buf_done(&r->found);
}

void retention_set(struct retention *r, struct slice topic, int64_t reserved_ms)
{
    if (reserved_ms < 0) {
        free(map_remove(&r->rules, topic));
        return;
    }
    struct retention_rule *rule = must_zero(sizeof *rule);
    rule->reserved_ms = reserved_ms;
    rule->topic_bytes = (uint8_t)topic.n;
    memcpy(rule->topic, topic.p, topic.n);
    free(map_put(&r->rules, topic, rule));
}

void retention_prepare(struct retention *r)
{
    struct map_entry *e;
    buf_clear(&r->snapshot);
    buf_clear(&r->found);
    for (size_t at = 0; (e = map_next(&r->rules, &at));) buf_put(&r->snapshot, e->value, sizeof(struct retention_rule));
}

/* --- one queue, as it is on the disk; thread: worker --- */

struct disk_queue {
    struct fs *fs;
    char folder[PATH_BYTES];
    enum queue_kind kind;
    int64_t entry_bytes;
    int64_t file_entries;
    int64_t first, end;          /* entries that its files have room for */
    struct file *file;           /* the open one, or NULL */
    int64_t file_first;
};

static void collect_limits(void *ctx, const char *name)
{
    struct disk_queue *q = ctx;
    int64_t start;
    if (!segment_start(name, &start)) return;
    if (q->end == 0) q->first = start / q->entry_bytes;
    q->end = start / q->entry_bytes + q->file_entries;
}

static err_t open_file(struct disk_queue *q, int64_t at)
{
    char path[PATH_BYTES];
    int64_t first = at - at % q->file_entries;
    if (q->file && q->file_first == first) return NULL;
    file_close(q->file);
    q->file = NULL;
    q->file_first = first;
    segment_path(path, q->folder, first * q->entry_bytes);
    return fs_open(q->fs, path, FILE_READ, &q->file);
}

static err_t read_entry(struct disk_queue *q, int64_t at, struct queue_entry *out)
{
    uint8_t bytes[BATCH_ENTRY_BYTES] = {0};
    size_t got;
    err_t e = open_file(q, at);
    if (!e) e = file_read_at(q->file, (at - q->file_first) * q->entry_bytes, bytes, (size_t)q->entry_bytes, &got);
    *out = q->kind == QUEUE_OF_BATCHES ? batch_entry_get(bytes) : queue_entry_get(bytes, at);
    return e;
}

/* What a search looks for: true from some entry on. */
struct goal {
    struct fs *fs;
    const struct retention_log *log;
    int64_t log_offset;
    int64_t store_ms;
    err_t (*reached)(const struct goal *g, struct queue_entry entry, bool *out);
};

/* The first entry that reaches the goal, or that is not written yet; zeros when there is no room for more. */
static err_t search(struct disk_queue *q, const struct goal *g, int64_t *out_at, struct queue_entry *out)
{
    int64_t low = q->first, high = q->end;
    struct queue_entry entry, best = {.size = 0};
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        bool reached = true;
        err_t e = read_entry(q, middle, &entry);
        if (!e && queue_entry_is_filler(entry)) reached = false;
        else if (!e && queue_entry_is_written(entry)) e = g->reached(g, entry, &reached);
        if (e) return e;
        if (reached) high = middle, best = entry;
        else low = middle + 1;
    }
    *out_at = low;
    *out = best;
    return NULL;
}

static err_t reaches_place(const struct goal *g, struct queue_entry entry, bool *out)
{
    *out = entry.log_offset >= g->log_offset;
    return NULL;
}

static err_t reaches_time(const struct goal *g, struct queue_entry entry, bool *out)
{
    uint8_t head[HEAD_BYTES] = {0};
    char path[PATH_BYTES];
    struct file *f;
    size_t got = 0;
    *out = false;
    if (entry.log_offset < g->log->first) return NULL;
    int64_t start = entry.log_offset - entry.log_offset % g->log->file_bytes;
    segment_path(path, g->log->folder, start);
    err_t e = fs_open(g->fs, path, FILE_READ, &f);
    if (e) return e;
    e = file_read_at(f, entry.log_offset - start, head, sizeof head, &got);
    file_close(f);
    if (!e) *out = record_store_ms(head) >= g->store_ms;
    return e;
}

/* --- all queues of a topic; thread: worker --- */

struct walk {
    struct retention *retention;
    const struct retention_rule *rule;
    struct goal goal;
    enum queue_kind kind;
    char folder[PATH_BYTES];
    /* Called with what was found in a queue. */
    void (*each)(struct walk *w, int32_t queue_id, int64_t at, struct queue_entry entry);
    int64_t limit;               /* of has_message() */
    bool hit;
    err_t e;
};

static void search_queue(void *ctx, const char *name)
{
    struct walk *w = ctx;
    struct disk_queue q = {
        .fs = w->retention->files->fs, .kind = w->kind, .entry_bytes = queue_kind_entry_bytes(w->kind),
        .file_entries = w->retention->files->file_entries[w->kind],
    };
    struct queue_entry entry;
    int32_t queue_id;
    int64_t at;
    if (w->e || w->hit || !slice_to_i32(slice_text(name), &queue_id)) return;
    int n = snprintf(q.folder, sizeof q.folder, "%s/%s", w->folder, name);
    assert(n < (int)sizeof q.folder);
    err_t e = fs_list(q.fs, q.folder, collect_limits, &q);
    if (!e && q.end > 0) e = search(&q, &w->goal, &at, &entry);
    if (!e && q.end > 0) w->each(w, queue_id, at, entry);
    file_close(q.file);
    if (err_code(e) == ERR_NOT_FOUND) err_free(e);   /* deleted meanwhile */
    else w->e = e;
}

static err_t walk_topic(struct walk *w)
{
    const struct queue_files *files = w->retention->files;
    w->goal.fs = files->fs;
    for (w->kind = 0; w->kind < QUEUE_KINDS && !w->e; w->kind++) {   /* the topic's folder is in one of the two */
        snprintf(w->folder, sizeof w->folder, "%s/%.*s", files->folder[w->kind], SLICE_ARG(topic_of(w->rule)));
        err_t e = fs_list(files->fs, w->folder, search_queue, w);
        if (e) return e;
    }
    return w->e;
}

static void has_message(struct walk *w, int32_t queue_id, int64_t at, struct queue_entry entry)
{
    (void)queue_id;
    (void)at;
    if (queue_entry_is_written(entry) && entry.log_offset < w->limit) w->hit = true;
}

err_t retention_keeps(struct retention *r, const struct retention_log *log, int64_t start, int64_t modified_ms, int64_t usual_ms,
                      bool *out)
{
    const struct retention_rule *rules = (const struct retention_rule *)(const void *)r->snapshot.p;
    *out = false;
    for (size_t i = 0; i < r->snapshot.n / sizeof *rules && !*out; i++) {
        if (rules[i].reserved_ms <= usual_ms || modified_ms + rules[i].reserved_ms <= log->now_ms) continue;
        struct walk w = {.retention = r, .rule = &rules[i], .each = has_message, .limit = start + log->file_bytes,
                         .goal = {.log = log, .log_offset = start, .reached = reaches_place}};
        err_t e = walk_topic(&w);
        if (e) return e;
        *out = w.hit;
    }
    return NULL;
}

static void note_found(struct walk *w, int32_t queue_id, int64_t at, struct queue_entry entry)
{
    (void)entry;
    struct found f = {.rule = *w->rule, .kind = w->kind, .queue_id = queue_id, .end = at};
    buf_put(&w->retention->found, &f, sizeof f);
}

err_t retention_search(struct retention *r, const struct retention_log *log)
{
    const struct retention_rule *rules = (const struct retention_rule *)(const void *)r->snapshot.p;
    for (size_t i = 0; i < r->snapshot.n / sizeof *rules; i++) {
        struct walk w = {.retention = r, .rule = &rules[i], .each = note_found,
                         .goal = {.log = log, .store_ms = log->now_ms - rules[i].reserved_ms, .reached = reaches_time}};
        err_t e = walk_topic(&w);
        if (e) return e;
    }
    return NULL;
}

/* --- thread: loop --- */

/* The rule may have changed since, or the topic may be another one of that name: then the next round tells. */
void retention_apply(struct retention *r, struct queues *queues)
{
    const struct found *found = (const struct found *)(const void *)r->found.p;
    for (size_t i = 0; i < r->found.n / sizeof *found; i++) {
        struct slice topic = topic_of(&found[i].rule);
        const struct retention_rule *now = map_get(&r->rules, topic);
        struct consume_queue *q = queues_find(queues, topic, found[i].queue_id);
        if (q && q->kind == found[i].kind && now && now->reserved_ms == found[i].rule.reserved_ms) q->expired_below = found[i].end;
    }
    buf_clear(&r->found);
}
