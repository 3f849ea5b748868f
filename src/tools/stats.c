#include "tools/report.h"
#include "tools/view.h"

#include "base/map.h"
#include "codec/record.h"
#include "store/queues.h"
#include "store/redispatch.h"

#include <inttypes.h>
#include <stdlib.h>

/* Messages of one queue that are in the log. */
struct tally {
    struct slice topic;          /* borrowed from the map's key */
    int32_t queue_id;
    int64_t messages, bytes;
    int64_t first_ms, last_ms;
    int64_t first_offset, last_offset;
};

struct space {
    int64_t files, bytes, disk_bytes;
};

struct stats {
    struct view v;
    struct map tallies;          /* topic, then number in 4 bytes */
    struct tally all;
    int64_t damaged;             /* pieces of the log that are no good record */
    struct space log, queues, index, compaction, other;
    struct buf text;
};

static void count(struct tally *t, const struct log_step *s)
{
    const struct message *m = &s->message;
    int32_t messages = redispatch_count(m) > 1 ? redispatch_count(m) : 1;
    if (!t->messages || m->store_ms < t->first_ms) t->first_ms = m->store_ms;
    if (!t->messages || m->queue_offset < t->first_offset) t->first_offset = m->queue_offset;
    if (m->store_ms > t->last_ms) t->last_ms = m->store_ms;
    if (m->queue_offset + messages - 1 > t->last_offset) t->last_offset = m->queue_offset + messages - 1;
    t->messages += messages;
    t->bytes += s->size;
}

static struct tally *tally_of(struct stats *st, const struct message *m)
{
    uint8_t key[INT16_MAX + 4];
    memcpy(key, m->topic.p, m->topic.n);   /* a record has room for INT16_MAX bytes */
    put_be32(key + m->topic.n, (uint32_t)m->queue_id);
    struct slice k = slice_of(key, m->topic.n + 4);
    struct tally *t = map_get(&st->tallies, k);
    if (t) return t;
    t = must_zero(sizeof *t);
    t->queue_id = m->queue_id;
    map_put(&st->tallies, k, t);
    return t;
}

static bool on_step(void *ctx, const struct view_file *f, const struct log_step *s)
{
    struct stats *st = ctx;
    (void)f;
    if (s->kind == LOG_BAD_CHECKSUM || s->kind == LOG_NO_RECORD) st->damaged++;
    if (s->kind != LOG_RECORD) return true;
    count(&st->all, s);
    count(tally_of(st, &s->message), s);
    return true;
}

static void unreadable(void *ctx, const struct view_file *f, int64_t at, err_t e)
{
    struct stats *st = ctx;
    (void)f, (void)at;
    st->damaged++;
    err_drop(e, "'check' tells which file");
}

/* --- room on the disk --- */

static void add_file(struct space *s, int64_t bytes, int64_t disk_bytes)
{
    s->files++;
    s->bytes += bytes;
    s->disk_bytes += disk_bytes;
}

static void add_listed(struct space *s, const struct view_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) add_file(s, files[i].size, files[i].disk_bytes);
}

struct adding {
    struct stats *st;
    const char *folder;
    struct space *to;
};

static void add_name(void *ctx, const char *name)
{
    struct adding *a = ctx;
    char file[PATH_BYTES], path[PATH_BYTES];
    struct file_info info;
    snprintf(file, sizeof file, "%s/%s", a->folder, name);
    view_path(&a->st->v, file, path);
    err_t e = fs_info(a->st->v.fs, path, &info);
    if (!e && !info.folder) add_file(a->to, info.size, info.disk_bytes);
    err_free(e);
}

static void add_folder(struct stats *st, const char *folder, struct space *to)
{
    char path[PATH_BYTES];
    struct adding a = {st, folder, to};
    view_path(&st->v, folder, path);
    err_drop(fs_list(st->v.fs, path, add_name, &a), "what cannot be listed counts as nothing");
}

enum { TREE_DEPTH_MAX = 4, TREE_NAME_MAX = PATH_BYTES / 2 - 256 };   /* with a name in it still no longer than a path may be */

/* The same, with the folders in it. */
static void add_tree(struct stats *st, const char *folder, struct space *to, int depth)
{
    struct buf names = BUF_EMPTY;
    add_folder(st, folder, to);
    err_drop(view_names(&st->v, folder, &names), "what cannot be listed counts as nothing");
    for (size_t i = 0; i < view_name_count(&names) && depth < TREE_DEPTH_MAX; i++) {
        char below[PATH_BYTES], path[PATH_BYTES];
        struct file_info info;
        if (snprintf(below, sizeof below, "%s/%s", folder, view_name(&names, i)) >= TREE_NAME_MAX) continue;
        view_path(&st->v, below, path);
        err_t e = fs_info(st->v.fs, path, &info);
        if (!e && info.folder) add_tree(st, below, to, depth + 1);
        err_free(e);
    }
    view_names_done(&names);
}

static void add_space(struct stats *st)
{
    add_listed(&st->log, st->v.log, st->v.log_count);
    for (size_t i = 0; i < st->v.queue_count; i++) add_listed(&st->queues, st->v.queues[i].files, st->v.queues[i].count);
    add_folder(st, "index", &st->index);
    add_tree(st, "compaction", &st->compaction, 0);
    add_folder(st, "config", &st->other);
    add_folder(st, ".", &st->other);
}

/* --- what is printed --- */

static int by_queue(const void *a, const void *b)
{
    const struct tally *x = *(struct tally *const *)a, *y = *(struct tally *const *)b;
    int order = slice_compare(x->topic, y->topic);
    return order ? order : (x->queue_id > y->queue_id) - (x->queue_id < y->queue_id);
}

/* struct tally *, sorted. */
static struct buf sorted(struct stats *st)
{
    struct buf all = BUF_EMPTY;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&st->tallies, &at));) {
        struct tally *t = e->value;
        t->topic = slice_of(e->key.p, e->key.n - 4);
        buf_put(&all, &t, sizeof t);
    }
    if (all.n) qsort(all.p, all.n / sizeof(struct tally *), sizeof(struct tally *), by_queue);
    return all;
}

static void put_space(struct stats *st, const char *name, const struct space *s)
{
    char bytes[SIZE_TEXT_MAX], disk[SIZE_TEXT_MAX];
    buf_printf(&st->text, "%-16s %8" PRId64 "  %10s  %10s\n", name, s->files, size_text(s->bytes, bytes), size_text(s->disk_bytes, disk));
}

static void put_tally(struct stats *st, const struct tally *t)
{
    char bytes[SIZE_TEXT_MAX], first[TIME_TEXT_MAX], last[TIME_TEXT_MAX];
    struct buf name = BUF_EMPTY;
    put_printable(&name, t->topic);
    buf_printf(&st->text, "%-32.*s %5d %10" PRId64 "  %10s %10" PRId64 " %10" PRId64 "  %-24s  %s\n", SLICE_ARG(buf_slice(&name)), t->queue_id, t->messages,
               size_text(t->bytes, bytes), t->first_offset, t->last_offset, time_text(t->first_ms, first), time_text(t->last_ms, last));
    buf_done(&name);
}

static void print_text(struct stats *st, const struct buf *all)
{
    char bytes[SIZE_TEXT_MAX], first[TIME_TEXT_MAX], last[TIME_TEXT_MAX];
    buf_printf(&st->text, "%s\n\n%-16s %8s  %10s  %10s\n", st->v.root, "", "files", "size", "on disk");
    put_space(st, "commit log", &st->log);
    put_space(st, "consume queues", &st->queues);
    put_space(st, "index", &st->index);
    put_space(st, "compaction logs", &st->compaction);
    put_space(st, "others", &st->other);
    buf_printf(&st->text, "\n%" PRId64 " messages, %s, stored from %s to %s\n", st->all.messages, size_text(st->all.bytes, bytes),
               time_text(st->all.first_ms, first), time_text(st->all.last_ms, last));
    if (st->damaged) buf_printf(&st->text, "%" PRId64 " pieces of the log are no good record: 'skylark store check' tells where\n", st->damaged);
    if (all->n)
        buf_printf(&st->text, "\n%-32s %5s %10s  %10s %10s %10s  %-24s  %s\n", "topic", "queue", "messages", "bytes", "first", "last", "first stored", "last stored");
    for (size_t i = 0; i < all->n; i += sizeof(struct tally *)) {
        const struct tally *t;
        memcpy(&t, all->p + i, sizeof t);
        put_tally(st, t);
    }
}

static void put_number(struct json_out *w, const char *key, int64_t value)
{
    json_put_key(w, slice_text(key));
    json_put_i64(w, value);
}

static void space_json(struct json_out *w, const char *key, const struct space *s)
{
    json_put_key(w, slice_text(key));
    json_put_object(w);
    put_number(w, "files", s->files);
    put_number(w, "bytes", s->bytes);
    put_number(w, "diskBytes", s->disk_bytes);
    json_put_object_end(w);
}

static void tally_json(struct json_out *w, const struct tally *t)
{
    put_number(w, "messages", t->messages);
    put_number(w, "bytes", t->bytes);
    put_number(w, "firstStoreTimestamp", t->first_ms);
    put_number(w, "lastStoreTimestamp", t->last_ms);
}

static void print_json(struct stats *st, const struct buf *all)
{
    struct json_out w;
    json_out_init(&w, &st->text, JSON_STRICT);
    json_put_object(&w);
    json_put_key(&w, SLICE("store"));
    json_put_text(&w, slice_text(st->v.root));
    space_json(&w, "commitLog", &st->log);
    space_json(&w, "consumeQueues", &st->queues);
    space_json(&w, "index", &st->index);
    space_json(&w, "compactionLogs", &st->compaction);
    space_json(&w, "others", &st->other);
    tally_json(&w, &st->all);
    put_number(&w, "damaged", st->damaged);
    json_put_key(&w, SLICE("queues"));
    json_put_array(&w);
    for (size_t i = 0; i < all->n; i += sizeof(struct tally *)) {
        const struct tally *t;
        memcpy(&t, all->p + i, sizeof t);
        json_put_object(&w);
        json_put_key(&w, SLICE("topic"));
        json_put_text(&w, t->topic);
        put_number(&w, "queueId", t->queue_id);
        tally_json(&w, t);
        put_number(&w, "firstOffset", t->first_offset);
        put_number(&w, "lastOffset", t->last_offset);
        json_put_object_end(&w);
    }
    json_put_array_end(&w);
    json_put_object_end(&w);
    buf_put_u8(&st->text, '\n');
}

err_t tools_stats(const struct tools_options *o)
{
    struct stats st = {.tallies = MAP_EMPTY};
    err_t e = view_open(&st.v, o);
    if (!e) {
        view_walk(&st.v, 0, &(struct view_walker){.step = on_step, .unreadable = unreadable, .ctx = &st, .what = "commit log"});
        add_space(&st);
        struct buf all = sorted(&st);
        if (o->json) print_json(&st, &all);
        else print_text(&st, &all);
        print_buf(o->out, &st.text);
        buf_done(&all);
    }
    map_done_with(&st.tallies, free);
    buf_done(&st.text);
    view_close(&st.v);
    return e;
}
