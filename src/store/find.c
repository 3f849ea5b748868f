#include "store/state.h"

#include "codec/properties.h"
#include "codec/record.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

/* Somebody who looks for a key. */
struct pending_find {
    struct index_query query;
    struct store_fetch fetch;
    struct store *store;
    struct buf texts;           /* topic, then key */
    struct slice topic;
    struct slice key;
    bool by_tags;
    find_done *done;
    void *ctx;
};

/* --- the log, as the index reads it --- */

static bool read_visible(void *ctx, int64_t from, struct pinned *out)
{
    struct store *s = ctx;
    struct mapped_file *f = mapped_files_at(&s->log.files, from);
    int64_t end = f && mapped_file_end(f) < s->visible ? mapped_file_end(f) : s->visible;
    if (!f || end <= from) return false;
    *out = commit_log_pin(&s->log, from, slice_of(mapped_file_from(f, from).p, (size_t)(end - from)));
    return true;
}

/* The last job of a closed store's index. */
static void index_ended(void *ctx)
{
    struct store *s = ctx;
    s->index = NULL;
    store_job_ended(s);
}

struct index *find_index_new(struct store *s)
{
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, "%s/index", s->options.root);
    struct index_options o = {
        .fs = s->fs, .tasks = s->tasks, .folder = folder, .shape = {s->options.index_slots, s->options.index_entries},
        .sure_ms = s->checkpoint.index_ms, .read = read_visible, .ended = index_ended, .ctx = s,
    };
    struct index *ix = index_new(&o, commit_log_first(&s->log), s->log.written);
    index_advance(ix, s->visible);
    return ix;
}

/* --- what was found --- */

/* Hashes of different keys may agree. */
static bool has_key(const struct message *m, const struct pending_find *p)
{
    struct slice key = p->key;
    if (p->by_tags) return slice_eq(properties_get(m->properties, SLICE("TAGS")), key);
    struct slice words = properties_get(m->properties, SLICE("KEYS")), word;
    if (slice_eq(properties_get(m->properties, SLICE("UNIQ_KEY")), key)) return true;
    while (words.n && slice_split(&words, ' ', &word))
        if (slice_eq(word, key)) return true;
    return false;
}

static int by_place(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* False: a record is not in memory. */
static bool collect(struct pending_find *p, struct store_found *found)
{
    struct index_query *q = &p->query;
    struct commit_log *log = &p->store->log;
    qsort(q->found, q->count, sizeof *q->found, by_place);
    for (size_t i = 0; i < q->count; i++) {
        struct message m;
        struct slice record;
        if (i && q->found[i] == q->found[i - 1]) continue;
        if (q->found[i] >= p->store->visible) continue;
        bool read = commit_log_read(log, q->found[i], &m, &record);
        if (store_is_cold(p->store)) return false;
        if (!read) {
            commit_log_suspect(log, q->found[i]);
            continue;
        }
        if (slice_eq(m.topic, p->topic) && has_key(&m, p)) found->record[found->count++] = commit_log_pin(log, q->found[i], record);
    }
    return true;
}

static void show_found(struct pending_find *p)
{
    struct store_found found = {.count = 0};
    if (!p->store->closed) {
        if (!collect(p, &found)) {
            for (size_t i = 0; i < found.count; i++) pin_release(&found.record[i]);
            store_fetch(p->store, &p->fetch);
            return;
        }
        struct index_state state = {0};
        if (p->store->index) state = index_state(p->store->index);
        found.index_ms = state.newest_ms;
        found.index_offset = state.newest_offset;
    }
    p->done(p->ctx, &found);
    buf_done(&p->texts);
    free(p);
}

static void on_found(struct index_query *q) { show_found(LIST_OWNER(q, struct pending_find, query)); }
static void on_fetched(struct store_fetch *f) { show_found(LIST_OWNER(f, struct pending_find, fetch)); }

void store_find(struct store *s, const struct store_find *f, find_done *done, void *ctx)
{
    assert_on_loop(s->tasks);
    struct pending_find *p = must_zero(sizeof *p);
    p->store = s;
    buf_put_slice(&p->texts, f->topic);
    buf_put_slice(&p->texts, f->key);
    p->topic = slice_of(p->texts.p, f->topic.n);
    p->key = slice_of(p->texts.p + f->topic.n, f->key.n);
    p->by_tags = f->by_tags;
    p->done = done;
    p->ctx = ctx;
    p->fetch = (struct store_fetch){.done = on_fetched};
    p->query = (struct index_query){
        .hash = f->by_tags ? index_tag_hash(f->topic, f->key) : index_hash(f->topic, f->key), .begin_ms = f->begin_ms, .end_ms = f->end_ms,
        .max = f->max <= 0 ? 0 : f->max < FIND_MAX ? (size_t)f->max : FIND_MAX, .done = on_found,
    };
    if (s->index) index_find(s->index, &p->query);
    else on_found(&p->query);
}
