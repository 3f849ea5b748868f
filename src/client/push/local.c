#include "client/push/local.h"

#include "base/log.h"

#include <stdlib.h>

struct local_row {
    char *topic, *broker;
    int32_t id;
    int64_t offset;
};

static void row_free(void *p)
{
    struct local_row *r = p;
    free(r->topic);
    free(r->broker);
    free(r);
}

static void key_of(const struct message_queue *q, struct buf *out) { buf_printf(out, "%.*s@%.*s@%d", SLICE_ARG(q->topic), SLICE_ARG(q->broker), q->queue_id); }

static struct local_row *find(const struct local_offsets *l, const struct message_queue *q)
{
    struct buf key = BUF_EMPTY;
    key_of(q, &key);
    struct local_row *r = map_get(&l->rows, buf_slice(&key));
    buf_done(&key);
    return r;
}

int64_t local_get(const struct local_offsets *l, const struct message_queue *q)
{
    const struct local_row *r = find(l, q);
    return r ? r->offset : -1;
}

static void add(struct local_offsets *l, const struct message_queue *q, int64_t offset)
{
    struct buf key = BUF_EMPTY;
    struct local_row *r = must_zero(sizeof *r);
    *r = (struct local_row){must_dup(q->topic), must_dup(q->broker), q->queue_id, offset};
    key_of(q, &key);
    struct local_row *old = map_put(&l->rows, buf_slice(&key), r);
    if (old) row_free(old);
    buf_done(&key);
}

void local_put(struct local_offsets *l, const struct message_queue *q, int64_t offset)
{
    struct local_row *r = find(l, q);
    if (r && r->offset == offset) return;
    if (r) r->offset = offset;
    else add(l, q, offset);
    saver_mark(&l->saver);
}

static void encode(void *ctx, struct buf *out)
{
    const struct local_offsets *l = ctx;
    struct offset_table table = {.queues = {must_alloc((l->rows.count + 1) * sizeof(struct queue_offset_row)), 0}};
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&l->rows, &at));) {
        const struct local_row *r = e->value;
        table.queues.items[table.queues.count++] = (struct queue_offset_row){
            .queue = {.topic = slice_text(r->topic), .broker = slice_text(r->broker), .queue_id = r->id}, .offset = r->offset};
    }
    bean_encode(&offset_table_bean, &table, JSON_RAW, out);
    free(table.queues.items);
}

static err_t decode(void *ctx, struct slice text)
{
    struct local_offsets *l = ctx;
    struct arena arena = ARENA_EMPTY;
    struct offset_table table;
    err_t e = bean_decode(&offset_table_bean, text, &arena, "offsets", &table);
    for (size_t i = 0; !e && i < table.queues.count; i++) add(l, &table.queues.items[i].queue, table.queues.items[i].offset);
    arena_done(&arena);
    return e;
}

/* Nobody else looks at the rows before it is done. */
static void load(struct work *w)
{
    struct local_offsets *l = LIST_OWNER(w, struct local_offsets, load);
    bool found;
    l->failed = saver_load(l->fs, l->path, decode, l, &found);
    if (!l->failed) l->failed = fs_make_folder(l->fs, l->folder);
}

static void on_loaded(struct work *w)
{
    struct local_offsets *l = LIST_OWNER(w, struct local_offsets, load);
    if (l->failed) log_warn("offsets.not_read path=\"%s\" why=\"%s\"", l->path, err_text(l->failed));
    err_free(l->failed);
    l->failed = NULL;
    l->is_loaded = true;
    l->loaded(l);
}

void local_open(struct local_offsets *l, struct fs *fs, struct tasks *tasks, const char *folder, const char *client_id, const char *group,
                void (*loaded)(struct local_offsets *))
{
    struct buf path = BUF_EMPTY;
    buf_printf(&path, "%s/%s/%s", folder, client_id, group);
    *l = (struct local_offsets){.fs = fs, .folder = must_dup(buf_slice(&path)), .load = {.run = load, .done = on_loaded}, .loaded = loaded};
    buf_put_text(&path, "/offsets.json");
    l->path = must_dup(buf_slice(&path));
    buf_done(&path);
    saver_init(&l->saver, fs, tasks, l->path, encode, l);
    tasks_work(tasks, &l->load);
}

void local_close(struct local_offsets *l)
{
    if (!l->path) return;
    err_t e = saver_done(&l->saver);
    if (e) log_warn("offsets.not_written path=\"%s\" why=\"%s\"", l->path, err_text(e));
    err_free(e);
    map_done_with(&l->rows, row_free);
    free(l->folder);
    free(l->path);
    *l = (struct local_offsets){.path = NULL};
}
