#include "tools/view.h"

#include <assert.h>
#include <stdlib.h>

enum { READ_BYTES = 1 << 20, TOPIC_MAX = 255 };

/* --- names --- */

static void collect_name(void *ctx, const char *name)
{
    char *copy = must_strdup(name);
    buf_put(ctx, &copy, sizeof copy);
}

err_t view_names(const struct view *v, const char *folder, struct buf *out)
{
    char path[PATH_BYTES];
    view_path(v, folder, path);
    return fs_list(v->fs, path, collect_name, out);
}

void view_names_done(struct buf *names)
{
    for (size_t i = 0; i < view_name_count(names); i++) free((void *)view_name(names, i));
    buf_done(names);
}

void view_path(const struct view *v, const char *name, char out[static PATH_BYTES])
{
    int n = snprintf(out, PATH_BYTES, "%s/%s", v->root, name);
    assert(n < PATH_BYTES);   /* the root is short enough for any name of a topic and a file */
}

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

void view_log_name(const struct view *v, const struct view_file *f, char out[static PATH_BYTES])
{
    segment_path(out, last_part(v->log_folder), f->start);
}

static const char *const queue_folders[QUEUE_KINDS] = {[QUEUE_OF_SINGLES] = "consumequeue", [QUEUE_OF_BATCHES] = "batchconsumequeue"};

void view_queue_name(const struct view_queue *q, const struct view_file *f, char out[static PATH_BYTES])
{
    char folder[PATH_BYTES / 2];
    snprintf(folder, sizeof folder, "%s/%s/%d", queue_folders[q->kind], q->topic, q->id);
    if (f) segment_path(out, folder, f->start);
    else snprintf(out, PATH_BYTES, "%s", folder);
}

/* --- what is there --- */

static err_t look_for_folder(struct fs *fs, const char *path, bool *out)
{
    struct file_info info = {.folder = false};
    err_t e = fs_info(fs, path, &info);
    *out = !e && info.folder;
    if (err_code(e) != ERR_NOT_FOUND) return e;
    err_free(e);
    return NULL;
}

static err_t holds_log(struct view *v, const char *root, bool *out)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/commitlog", root);
    err_t e = look_for_folder(v->fs, v->options->log_folder ? root : path, out);
    return e || !*out || !v->options->log_folder ? e : look_for_folder(v->fs, v->options->log_folder, out);
}

static err_t find_root(struct view *v)
{
    const struct tools_options *o = v->options;
    if (strlen(o->folder) > sizeof v->root - 32 || (o->log_folder && strlen(o->log_folder) > sizeof v->log_folder - 32))
        return err_new(ERR_CONFIG, "the path is too long: %s", o->folder);
    static const char *const below[] = {"", "/store"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(v->root, sizeof v->root, "%s%s", o->folder, below[i]);
        bool holds;
        err_t e = holds_log(v, v->root, &holds);
        if (e) return e;
        if (!holds) continue;
        if (o->log_folder) snprintf(v->log_folder, sizeof v->log_folder, "%s", o->log_folder);
        else snprintf(v->log_folder, sizeof v->log_folder, "%.*s/commitlog", (int)sizeof v->root - 16, v->root);
        return NULL;
    }
    if (o->log_folder)
        return err_new(ERR_NOT_FOUND, "there is no store in %s with its log in %s: one of the two is no folder", o->folder, o->log_folder);
    bool there;
    err_t e = look_for_folder(v->fs, o->folder, &there);
    if (e) return e;
    if (!there) return err_new(ERR_NOT_FOUND, "there is no folder %s", o->folder);
    return err_new(ERR_NOT_FOUND, "%s holds no store: neither commitlog nor store/commitlog is in it (name the folder of storePathRootDir, or the "
                   "data folder; a log that lies elsewhere is given with --commitlog)", o->folder);
}

struct collecting {
    struct view *v;
    const char *folder;
    enum queue_kind kind;
    struct buf files;            /* struct view_file */
    err_t e;
};

static void collect_file(void *ctx, const char *name)
{
    struct collecting *c = ctx;
    char path[PATH_BYTES];
    struct view_file f;
    struct file_info info;
    if (c->e || !segment_start(name, &f.start)) return;
    segment_path(path, c->folder, f.start);
    err_t e = fs_info(c->v->fs, path, &info);
    if (err_code(e) == ERR_NOT_FOUND) {
        err_free(e);   /* a running broker has removed it */
        return;
    }
    c->e = e;
    f.size = e ? 0 : info.size;
    f.disk_bytes = e ? 0 : info.disk_bytes;
    if (!e) buf_put(&c->files, &f, sizeof f);
}

static err_t list_files(struct view *v, const char *folder, struct view_file **out, size_t *count)
{
    struct collecting c = {.v = v, .folder = folder};
    err_t e = fs_list(v->fs, folder, collect_file, &c);
    if (!e) e = c.e;
    *out = (struct view_file *)(void *)c.files.p;
    *count = c.files.n / sizeof **out;
    return e;
}

static void collect_queue(void *ctx, const char *name)
{
    struct collecting *c = ctx;
    struct view_queue q = {.kind = c->kind};
    char folder[PATH_BYTES];
    if (c->e || !slice_to_i32(slice_text(name), &q.id)) return;
    snprintf(folder, sizeof folder, "%s/%s/%s/%s", c->v->root, queue_folders[c->kind], c->folder, name);
    bool there;
    c->e = look_for_folder(c->v->fs, folder, &there);
    if (c->e || !there) return;
    c->e = list_files(c->v, folder, &q.files, &q.count);
    q.topic = must_strdup(c->folder);
    buf_put(&c->files, &q, sizeof q);
}

static void collect_topic(void *ctx, const char *name)
{
    struct collecting *c = ctx;
    char folder[PATH_BYTES];
    if (c->e || strlen(name) > TOPIC_MAX) return;
    snprintf(folder, sizeof folder, "%s/%s/%s", c->v->root, queue_folders[c->kind], name);
    bool there;
    c->e = look_for_folder(c->v->fs, folder, &there);
    if (c->e || !there) return;
    c->folder = name;
    err_t e = fs_list(c->v->fs, folder, collect_queue, c);
    if (!c->e) c->e = e;
}

static int by_topic(const void *a, const void *b)
{
    const struct view_queue *x = a, *y = b;
    int order = strcmp(x->topic, y->topic);
    return order ? order : (x->id > y->id) - (x->id < y->id);
}

static err_t list_queues(struct view *v)
{
    char folder[PATH_BYTES];
    struct collecting c = {.v = v};
    err_t e = NULL;
    for (int i = 0; i < QUEUE_KINDS && !e; i++) {
        c.kind = (enum queue_kind)i;
        view_path(v, queue_folders[i], folder);
        e = fs_list(v->fs, folder, collect_topic, &c);
        if (!e) e = c.e;
    }
    v->queues = (struct view_queue *)(void *)c.files.p;
    v->queue_count = c.files.n / sizeof *v->queues;
    if (v->queue_count) qsort(v->queues, v->queue_count, sizeof *v->queues, by_topic);
    return e;
}

/* Files say how large files are: no configuration is needed to read them. */
static void find_sizes(struct view *v)
{
    for (size_t i = v->log_count; i-- > 0;)
        if (v->log[i].size > 0) v->log_bytes = v->log[i].size;
    const struct tools_options *o = v->options;
    v->queue_entries[QUEUE_OF_SINGLES] = o->queue_file_entries;
    v->queue_entries[QUEUE_OF_BATCHES] = o->batch_file_entries ? o->batch_file_entries : o->queue_file_entries;
    for (size_t i = v->queue_count; i-- > 0;) {
        const struct view_queue *q = &v->queues[i];
        int64_t one = queue_kind_entry_bytes(q->kind);
        for (size_t j = q->count; j-- > 0;)
            if (q->files[j].size >= one) v->queue_entries[q->kind] = q->files[j].size / one;
    }
}

enum queue_kind view_kind(const struct view *v, struct slice topic)
{
    size_t low = 0, high = v->queue_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (slice_compare(slice_text(v->queues[middle].topic), topic) < 0) low = middle + 1;
        else high = middle;
    }
    bool found = low < v->queue_count && slice_eq(slice_text(v->queues[low].topic), topic);
    return found ? v->queues[low].kind : QUEUE_OF_SINGLES;
}

err_t view_open(struct view *v, const struct tools_options *o)
{
    *v = (struct view){.options = o, .fs = o->fs};
    char path[PATH_BYTES];
    err_t e = find_root(v);
    if (!e) e = list_files(v, v->log_folder, &v->log, &v->log_count);
    if (!e) e = list_queues(v);
    if (e) return e;
    find_sizes(v);
    view_path(v, "abort", path);
    struct file_info info;
    e = fs_info(v->fs, path, &info);
    v->abort = !e;
    if (err_code(e) != ERR_NOT_FOUND) return e;
    err_free(e);
    return NULL;
}

void view_close(struct view *v)
{
    for (size_t i = 0; i < v->queue_count; i++) {
        free(v->queues[i].topic);
        free(v->queues[i].files);
    }
    free(v->queues);
    free(v->log);
}

/* --- the log --- */

const struct view_file *view_log_at(const struct view *v, int64_t at)
{
    for (size_t low = 0, high = v->log_count; low < high;) {
        size_t middle = low + (high - low) / 2;
        const struct view_file *f = &v->log[middle];
        if (at < f->start) high = middle;
        else if (at >= f->start + f->size) low = middle + 1;
        else return f;
    }
    return NULL;
}

static void tell_progress(const struct view *v, const char *what, int64_t done, int64_t total)
{
    if (v->options->progress) v->options->progress(v->options->progress_ctx, what, done, total);
}

/* False: that was enough. */
static bool walk_file(struct view *v, const struct view_file *f, int64_t from, const struct view_walker *w)
{
    char path[PATH_BYTES];
    struct log_walk walk = {.file = NULL};
    segment_path(path, v->log_folder, f->start);
    err_t e = log_walk_open(&walk, v->fs, path, f->start);
    bool more = true;
    int64_t told = 0, first = view_log_first(v), last = v->log[v->log_count - 1].start + v->log[v->log_count - 1].size;
    if (!e && from > f->start) log_walk_go_to(&walk, from);
    while (!e && more) {
        struct log_step step;
        e = log_walk_next(&walk, &step);
        if (e || step.kind == LOG_FILE_END) break;
        more = w->step(w->ctx, f, &step);
        if (walk.at - told < READ_BYTES) continue;
        told = walk.at;
        tell_progress(v, w->what, walk.at - first, last - first);
    }
    if (e && w->unreadable) w->unreadable(w->ctx, f, walk.at, e);
    else err_free(e);
    log_walk_close(&walk);
    return more;
}

void view_walk(struct view *v, int64_t from, const struct view_walker *w)
{
    for (size_t i = 0; i < v->log_count; i++) {
        const struct view_file *f = &v->log[i];
        if (f->start + f->size <= from) continue;
        if (!walk_file(v, f, from, w)) return;
    }
}

enum log_step_kind view_record(const struct view *v, struct view_reader *r, int64_t at, struct log_step *out)
{
    const struct view_file *f = view_log_at(v, at);
    char path[PATH_BYTES];
    err_t e = NULL;
    err_free(r->why);
    r->why = NULL;
    if (!f) return LOG_FILE_END;
    if (!log_walk_is_open(&r->walk) || r->start != f->start) {
        log_walk_close(&r->walk);
        segment_path(path, v->log_folder, f->start);
        e = log_walk_open(&r->walk, v->fs, path, f->start);
        r->start = f->start;
    }
    if (!e) e = log_walk_read(&r->walk, at, out);
    if (!e) return out->kind;
    r->why = e;
    return LOG_NO_RECORD;
}

/* --- queues --- */

static struct view_entry entry_at(enum queue_kind kind, const uint8_t *p, int64_t number)
{
    return (struct view_entry){number, kind == QUEUE_OF_BATCHES ? batch_entry_get(p) : queue_entry_get(p, number)};
}

/* Zeros that nothing written follows are room that is left. */
static bool give_entries(enum queue_kind kind, struct slice bytes, int64_t first, int64_t *zeros,
                         bool (*each)(void *ctx, const struct view_entry *e), void *ctx)
{
    static const uint8_t none[BATCH_ENTRY_BYTES];
    size_t one = (size_t)queue_kind_entry_bytes(kind);
    for (int64_t number = first; bytes.n >= one; number++, bytes = slice_skip(bytes, one)) {
        if (!memcmp(bytes.p, none, one)) {
            ++*zeros;
            continue;
        }
        for (; *zeros; --*zeros) {
            struct view_entry e = entry_at(kind, none, number - *zeros);
            if (!each(ctx, &e)) return false;
        }
        struct view_entry e = entry_at(kind, bytes.p, number);
        if (!each(ctx, &e)) return false;
    }
    return true;
}

err_t view_queue_file(const struct view *v, const struct view_queue *q, const struct view_file *f,
                      bool (*each)(void *ctx, const struct view_entry *e), void *ctx)
{
    const size_t one = (size_t)queue_kind_entry_bytes(q->kind), at_once = READ_BYTES / one * one;
    char name[PATH_BYTES], path[PATH_BYTES];
    struct file *file;
    view_queue_name(q, f, name);
    view_path(v, name, path);
    err_t e = fs_open(v->fs, path, FILE_READ, &file);
    if (e) return e;
    uint8_t *bytes = must_alloc(at_once);
    int64_t zeros = 0;
    size_t got = at_once;
    for (int64_t at = 0; !e && got == at_once; at += (int64_t)at_once) {
        e = file_read_at(file, at, bytes, at_once, &got);
        if (!e && !give_entries(q->kind, slice_of(bytes, got), (f->start + at) / (int64_t)one, &zeros, each, ctx)) break;
    }
    free(bytes);
    file_close(file);
    return e;
}

bool view_tag_hash(const struct view *v, const struct view_queue *q, struct queue_entry e, int64_t *out)
{
    struct queue_files files;
    struct queue_topic topic = {.name = slice_text(q->topic)};
    *out = e.tag_hash;
    if (q->kind == QUEUE_OF_BATCHES || queue_entry_ext_offset(e) < 0) return true;
    queue_files_init(&files, v->fs, v->root, v->queue_entries);
    list_init(&topic.queues);
    struct consume_queue *one = consume_queue_new(&files, &topic, q->id);
    *out = consume_queue_tag_hash(one, e);
    consume_queue_free(one);
    queue_files_done(&files);
    return *out != e.tag_hash;
}

/* --- the rest --- */

err_t view_checkpoint(const struct view *v, struct buf *bytes, struct checkpoint *out)
{
    char path[PATH_BYTES];
    view_path(v, "checkpoint", path);
    err_t e = fs_read_file(v->fs, path, 1 << 20, bytes);
    if (!e) checkpoint_decode(buf_slice(bytes), out);
    return e;
}

err_t view_index_names(const struct view *v, struct buf *out)
{
    struct buf all = BUF_EMPTY;
    err_t e = view_names(v, "index", &all);
    for (size_t i = 0; i < view_name_count(&all); i++)
        if (index_file_has_name(view_name(&all, i))) collect_name(out, view_name(&all, i));
    view_names_done(&all);
    return e;
}
