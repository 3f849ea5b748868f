#include "meta/offsets.h"
#include "base/log.h"
#include "base/map.h"
#include "codec/lmq.h"

#include <stdio.h>
#include <stdlib.h>

enum { NAME_MAX_BYTES = 255, KEY_MAX = 2 * NAME_MAX_BYTES + 1, FIRST_QUEUES = 4, PATH_MAX_BYTES = 4096 };

/* The file's key, "topic@group", is the table's too. */
struct key {
    struct slice text;
    uint8_t bytes[KEY_MAX];
};

struct offsets {
    struct map map;                 /* "topic@group" -> struct entry */
    struct data_version version;
    struct saver saver;
    struct tasks *tasks;
    struct timer flush;
    int64_t flush_interval_ms;
    int64_t version_step;
    int64_t commits;
    bool changed;
    bool lmq;
};

struct entry {
    struct group_offsets offsets;
    size_t cap;
    char names[];                   /* topic@group */
};

/* False when the names are longer than names can be. */
static bool make_key(struct slice topic, struct slice group, struct key *key)
{
    if (topic.n > NAME_MAX_BYTES || group.n > NAME_MAX_BYTES) return false;
    memcpy(key->bytes, topic.p, topic.n);
    key->bytes[topic.n] = '@';
    if (group.n) memcpy(key->bytes + topic.n + 1, group.p, group.n);
    key->text = slice_of(key->bytes, topic.n + 1 + group.n);
    return true;
}

static struct entry *find(const struct offsets *o, struct slice topic, struct slice group)
{
    struct key key;
    return topic.n && make_key(topic, group, &key) ? map_get(&o->map, key.text) : NULL;
}

static void entry_free(void *p)
{
    struct entry *e = p;
    free(e->offsets.queues);
    free(e);
}

static struct entry *find_or_add(struct offsets *o, struct slice topic, struct slice group)
{
    struct key key;
    if (!topic.n || !make_key(topic, group, &key)) return NULL;
    struct entry *e = map_get(&o->map, key.text);
    if (e) return e;
    e = must_zero(sizeof *e + key.text.n);
    memcpy(e->names, key.bytes, key.text.n);
    e->offsets.topic = slice_of(e->names, topic.n);
    e->offsets.group = slice_of(e->names + topic.n + 1, group.n);
    map_put(&o->map, key.text, e);
    return e;
}

/* The place of a queue, or where it would be. Queues without gaps, the normal case, are found at the first look. */
static size_t place(const struct group_offsets *g, int32_t queue_id)
{
    if (queue_id >= 0 && (size_t)queue_id < g->count && g->queues[queue_id].queue_id == queue_id) return (size_t)queue_id;
    size_t low = 0, high = g->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (g->queues[middle].queue_id < queue_id) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* A light group has one offset of each topic: its file has room for no more. */
static int32_t queue_of(const struct offsets *o, struct slice group, int32_t queue_id) { return o->lmq && name_is_lmq(group) ? 0 : queue_id; }

static struct queue_offsets *find_queue(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id)
{
    struct entry *e = find(o, topic, group);
    if (!e) return NULL;
    queue_id = queue_of(o, group, queue_id);
    size_t at = place(&e->offsets, queue_id);
    return at < e->offsets.count && e->offsets.queues[at].queue_id == queue_id ? &e->offsets.queues[at] : NULL;
}

static struct queue_offsets *add_queue(struct offsets *o, struct slice topic, struct slice group, int32_t queue_id)
{
    struct entry *e = find_or_add(o, topic, group);
    if (!e) return NULL;
    queue_id = queue_of(o, group, queue_id);
    struct group_offsets *g = &e->offsets;
    size_t at = place(g, queue_id);
    if (at < g->count && g->queues[at].queue_id == queue_id) return &g->queues[at];
    if (g->count == e->cap) {
        size_t cap = e->cap ? e->cap * 2 : FIRST_QUEUES;
        struct queue_offsets *more = must_alloc(cap * sizeof *more);
        if (g->count) memcpy(more, g->queues, g->count * sizeof *more);
        free(g->queues);
        g->queues = more;
        e->cap = cap;
    }
    memmove(g->queues + at + 1, g->queues + at, (g->count - at) * sizeof *g->queues);
    g->queues[at] = (struct queue_offsets){.queue_id = queue_id, .committed = -1, .pulled = -1, .reset = -1};
    g->count++;
    return &g->queues[at];
}

/* --- the file --- */

static void put_queue_table(struct json_out *w, const struct group_offsets *g, bool pulled)
{
    struct key key;
    bool any = false;
    for (size_t i = 0; i < g->count; i++) {
        int64_t offset = pulled ? g->queues[i].pulled : g->queues[i].committed;
        if (offset < 0) continue;
        if (!any) {
            make_key(g->topic, g->group, &key);
            json_put_key(w, key.text);
            json_put_object(w);
            any = true;
        }
        json_put_key_i64(w, g->queues[i].queue_id);
        json_put_i64(w, offset);
    }
    if (any) json_put_object_end(w);
}

static bool is_light(const struct offsets *o, const struct group_offsets *g) { return o->lmq && name_is_lmq(g->group); }

static void put_table(struct json_out *w, const struct offsets *o, bool pulled)
{
    const struct group_offsets *g;
    json_put_key(w, pulled ? SLICE("pullOffsetTable") : SLICE("offsetTable"));
    json_put_object(w);
    for (size_t at = 0; (g = offsets_next(o, &at));)
        if (pulled || !is_light(o, g)) put_queue_table(w, g, pulled);
    json_put_object_end(w);
}

static void put_light_table(struct json_out *w, const struct offsets *o)
{
    const struct group_offsets *g;
    struct key key;
    json_put_key(w, SLICE("lmqOffsetTable"));
    json_put_object(w);
    for (size_t at = 0; (g = offsets_next(o, &at));) {
        if (!is_light(o, g) || !offsets_has_committed(g)) continue;
        make_key(g->topic, g->group, &key);
        json_put_key(w, key.text);
        json_put_i64(w, g->queues[0].committed);
    }
    json_put_object_end(w);
}

bool offsets_has_committed(const struct group_offsets *g)
{
    for (size_t i = 0; i < g->count; i++)
        if (g->queues[i].committed >= 0) return true;
    return false;
}

/* group -> BEAN_LIST of its topics; derived, the original writes it and does not read it */
static void put_group_topics(struct json_out *w, const struct offsets *o)
{
    struct arena arena = ARENA_EMPTY;
    struct map groups = MAP_EMPTY;
    struct map_entry *e;
    const struct group_offsets *g;
    arena.limit = SIZE_MAX;
    for (size_t at = 0; (g = offsets_next(o, &at));) {
        if (is_light(o, g) || !offsets_has_committed(g)) continue;
        struct named_list *list = map_get(&groups, g->group);
        if (!list) {
            list = arena_take(&arena, sizeof *list);
            map_put(&groups, g->group, list);
        }
        *(struct slice *)arena_list_add(&arena, (void **)&list->texts.items, &list->texts.count, sizeof(struct slice)) = g->topic;
    }
    json_put_key(w, SLICE("groupTopicMap"));
    json_put_object(w);
    for (size_t at = 0; (e = map_next(&groups, &at));) {
        const struct named_list *list = e->value;
        json_put_key(w, e->key);
        json_put_array(w);
        for (size_t i = 0; i < list->texts.count; i++) json_put_text(w, list->texts.items[i]);
        json_put_array_end(w);
    }
    json_put_object_end(w);
    map_done(&groups);
    arena_done(&arena);
}

void offsets_encode(const struct offsets *o, enum json_style style, bool with_pulled, struct buf *out)
{
    struct json_out w;
    json_out_init(&w, out, style);
    json_put_object(&w);
    json_put_key(&w, SLICE("dataVersion"));
    bean_write(&w, &data_version_bean, &o->version);
    put_group_topics(&w, o);
    if (o->lmq) put_light_table(&w, o);
    put_table(&w, o, false);
    if (with_pulled) put_table(&w, o, true);
    json_put_object_end(&w);
}

static void encode_file(void *ctx, struct buf *out) { offsets_encode(ctx, JSON_PRETTY, true, out); }

static void read_table(struct json *j, struct offsets *o, bool pulled)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct slice group = json_key(j), topic;
        bool known = slice_split(&group, '@', &topic) && topic.n && group.p;
        if (!json_object(j)) continue;
        while (json_next(j)) {
            int32_t queue_id;
            if (!slice_to_i32(json_key(j), &queue_id)) json_fail(j, "a queue id was expected");
            int64_t offset = json_i64(j);
            struct queue_offsets *q = known && json_ok(j) ? add_queue(o, topic, group, queue_id) : NULL;
            if (q && pulled) q->pulled = offset;
            else if (q) q->committed = offset;
        }
    }
}

static void read_light_table(struct json *j, struct offsets *o)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct slice group = json_key(j), topic;
        bool known = slice_split(&group, '@', &topic) && topic.n && group.p;
        int64_t offset = json_i64(j);
        struct queue_offsets *q = known && json_ok(j) ? add_queue(o, topic, group, 0) : NULL;
        if (q) q->committed = offset;
    }
}

static err_t decode_file(void *ctx, struct slice text)
{
    struct offsets *o = ctx;
    struct arena arena = ARENA_EMPTY;
    struct json j;
    arena.limit = SIZE_MAX;   /* our own file */
    map_done_with(&o->map, entry_free);   /* of a candidate that broke off */
    json_begin(&j, text, &arena);
    if (json_object(&j))
        while (json_next(&j)) {
            struct slice key = json_key(&j);
            if (slice_eq(key, SLICE("dataVersion"))) bean_read(&j, &data_version_bean, &o->version);
            else if (slice_eq(key, SLICE("offsetTable"))) read_table(&j, o, false);
            else if (slice_eq(key, SLICE("lmqOffsetTable"))) read_light_table(&j, o);
            else if (slice_eq(key, SLICE("pullOffsetTable"))) read_table(&j, o, true);
            else json_skip(&j);
        }
    err_t e = json_end(&j, "offsets");
    arena_done(&arena);
    return e;
}

/* --- life --- */

static void flush_fire(void *ctx)
{
    struct offsets *o = ctx;
    offsets_flush(o);
    timer_start(o->tasks, &o->flush, o->flush_interval_ms);
}

static void offsets_free(struct offsets *o)
{
    map_done_with(&o->map, entry_free);
    free(o);
}

static void file_path(const char *folder, bool lmq, char out[static PATH_MAX_BYTES])
{
    snprintf(out, PATH_MAX_BYTES, "%s/%s", folder, lmq ? "lmqConsumerOffset.json" : "consumerOffset.json");
}

static err_t load(struct offsets *o, struct fs *fs, const char *folder, const char *path)
{
    char other[PATH_MAX_BYTES];
    bool found;
    err_t e = fs_make_durable_folder(fs, folder);
    if (!e) e = saver_load(fs, path, decode_file, o, &found);
    if (e || found) return e;
    file_path(folder, !o->lmq, other);
    return saver_load(fs, other, decode_file, o, &found);
}

err_t offsets_open(const struct offsets_options *options, struct fs *fs, struct tasks *tasks, struct offsets **out)
{
    struct offsets *o = must_zero(sizeof *o);
    o->tasks = tasks;
    o->flush_interval_ms = options->flush_interval_ms;
    o->version_step = options->version_step > 0 ? options->version_step : 1;
    o->version.timestamp = tasks_wall_ms(tasks);
    char path[PATH_MAX_BYTES];
    o->lmq = options->lmq;
    file_path(options->folder, o->lmq, path);
    err_t e = load(o, fs, options->folder, path);
    if (e) {
        offsets_free(o);
        return err_in(e, "load the consumer offsets");
    }
    saver_init(&o->saver, fs, tasks, path, encode_file, o);
    timer_init(&o->flush, flush_fire, o);
    timer_start(tasks, &o->flush, o->flush_interval_ms);
    *out = o;
    return NULL;
}

err_t offsets_close(struct offsets *o)
{
    if (!o) return NULL;
    timer_stop(o->tasks, &o->flush);
    if (o->changed) o->saver.dirty = true;
    err_t e = saver_done(&o->saver);
    offsets_free(o);
    return e;
}

void offsets_flush(struct offsets *o)
{
    if (!o->changed) return;
    o->changed = false;
    saver_mark(&o->saver);
}

void offsets_set_flush_interval(struct offsets *o, int64_t ms)
{
    o->flush_interval_ms = ms;
    timer_start(o->tasks, &o->flush, ms);
}

/* --- use --- */

int64_t offsets_query(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id)
{
    const struct queue_offsets *q = find_queue(o, topic, group, queue_id);
    if (!q) return -1;
    return q->reset >= 0 ? q->reset : q->committed;
}

void offsets_commit(struct offsets *o, struct slice client, struct slice topic, struct slice group, int32_t queue_id,
                    int64_t queue_offset)
{
    struct queue_offsets *q = add_queue(o, topic, group, queue_id);
    if (!q) return;
    if (queue_offset < q->committed)
        log_warn("offset.backwards client=%.*s group=\"%.*s\" topic=\"%.*s\" queue=%d from=%lld to=%lld", SLICE_ARG(client),
                 SLICE_ARG(group), SLICE_ARG(topic), queue_id, (long long)q->committed, (long long)queue_offset);
    if (q->committed != queue_offset) o->changed = true;
    q->committed = queue_offset;
    if (++o->commits % o->version_step == 0) data_version_next(&o->version, tasks_wall_ms(o->tasks));
}

void offsets_note_pull(struct offsets *o, struct slice topic, struct slice group, int32_t queue_id, int64_t queue_offset, const struct pull_note *note)
{
    struct queue_offsets *q = add_queue(o, topic, group, queue_id);
    if (!q) return;
    q->last = *note;
    if (queue_offset < 0 || q->pulled == queue_offset) return;
    q->pulled = queue_offset;
    o->changed = true;
}

const struct queue_offsets *offsets_of_queue(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id)
{
    return find_queue(o, topic, group, queue_id);
}

int64_t offsets_query_pulled(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id)
{
    const struct queue_offsets *q = find_queue(o, topic, group, queue_id);
    return q ? q->pulled : -1;
}

void offsets_reset(struct offsets *o, struct slice topic, struct slice group, int32_t queue_id, int64_t queue_offset)
{
    struct queue_offsets *q = add_queue(o, topic, group, queue_id);
    if (!q) return;
    log_info("offset.reset group=\"%.*s\" topic=\"%.*s\" queue=%d from=%lld to=%lld", SLICE_ARG(group), SLICE_ARG(topic),
             queue_id, (long long)q->committed, (long long)queue_offset);
    q->reset = queue_offset;
    q->committed = queue_offset;
    o->changed = true;
}

bool offsets_reset_pending(const struct offsets *o, struct slice topic, struct slice group, int32_t queue_id)
{
    const struct queue_offsets *q = find_queue(o, topic, group, queue_id);
    return q && q->reset >= 0;
}

int64_t offsets_take_reset(struct offsets *o, struct slice topic, struct slice group, int32_t queue_id)
{
    struct queue_offsets *q = find_queue(o, topic, group, queue_id);
    if (!q) return -1;
    int64_t offset = q->reset;
    q->reset = -1;
    return offset;
}

/* p NULL stands for any. */
static void remove_matching(struct offsets *o, struct slice topic, struct slice group)
{
    struct map_entry *m;
    for (size_t at = 0; (m = map_next(&o->map, &at));) {
        struct entry *e = m->value;
        if (topic.p && !slice_eq(topic, e->offsets.topic)) continue;
        if (group.p && !slice_eq(group, e->offsets.group)) continue;
        map_remove(&o->map, m->key);
        entry_free(e);
        o->changed = true;
    }
}

void offsets_remove_group(struct offsets *o, struct slice group) { remove_matching(o, (struct slice){NULL, 0}, group); }
void offsets_remove_topic(struct offsets *o, struct slice topic) { remove_matching(o, topic, (struct slice){NULL, 0}); }

void offsets_remove(struct offsets *o, struct slice topic, struct slice group)
{
    struct key key;
    struct entry *e = make_key(topic, group, &key) ? map_remove(&o->map, key.text) : NULL;
    if (!e) return;
    entry_free(e);
    o->changed = true;
}

void offsets_clone(struct offsets *o, struct slice from, struct slice to, struct slice topic)
{
    struct arena arena = ARENA_EMPTY;
    const struct group_offsets *g, **found = NULL;
    size_t count = 0;
    arena.limit = SIZE_MAX;
    for (size_t at = 0; (g = offsets_next(o, &at));)
        if (slice_eq(g->group, from) && (!topic.p || slice_eq(g->topic, topic)))
            *(const struct group_offsets **)arena_list_add(&arena, (void **)&found, &count, sizeof *found) = g;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < found[i]->count; k++) {
            const struct queue_offsets *q = &found[i]->queues[k];
            if (q->committed >= 0) offsets_commit(o, SLICE("clone"), found[i]->topic, to, q->queue_id, q->committed);
        }
    arena_done(&arena);
}

const struct group_offsets *offsets_find(const struct offsets *o, struct slice topic, struct slice group)
{
    const struct entry *e = find(o, topic, group);
    return e ? &e->offsets : NULL;
}

const struct group_offsets *offsets_next(const struct offsets *o, size_t *at)
{
    struct map_entry *m = map_next(&o->map, at);
    return m ? &((const struct entry *)m->value)->offsets : NULL;
}

size_t offsets_moves(const struct offsets *o) { return o->map.moves; }

struct data_version offsets_version(const struct offsets *o) { return o->version; }
