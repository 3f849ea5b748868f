#include "store/queues.h"

#include "base/log.h"
#include "codec/lmq.h"
#include "store/mapped_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEY_BYTES = TOPIC_BYTES_MAX + 4 };

void queues_init(struct queues *qs, struct fs *fs, const char *root, const int64_t file_entries[static QUEUE_KINDS])
{
    *qs = (struct queues){.by_key = MAP_EMPTY, .topics = MAP_EMPTY};
    queue_files_init(&qs->files, fs, root, file_entries);
    list_init(&qs->graveyard.queues);
}

static void free_queue(void *q) { consume_queue_free(q); }

static void free_topic(void *p)
{
    struct queue_topic *t = p;
    free((void *)t->name.p);
    free(t);
}

void queues_done(struct queues *qs)
{
    queues_bury(qs);
    map_done_with(&qs->by_key, free_queue);
    map_done_with(&qs->topics, free_topic);
    queue_files_done(&qs->files);
}

bool queue_topic_is_legal(struct slice t)
{
    if (t.n == 0 || t.n > TOPIC_BYTES_MAX || memchr(t.p, '/', t.n) || memchr(t.p, 0, t.n)) return false;
    return !slice_eq(t, SLICE(".")) && !slice_eq(t, SLICE(".."));
}

static struct slice key_of(struct slice topic, int32_t queue_id, uint8_t key[static KEY_BYTES])
{
    memcpy(key, topic.p, topic.n);
    put_be32(key + topic.n, (uint32_t)queue_id);
    return slice_of(key, topic.n + 4);
}

static struct consume_queue **recent_of(struct queues *qs, int32_t queue_id) { return &qs->recent[(uint32_t)queue_id % QUEUES_RECENT]; }

struct consume_queue *queues_find(struct queues *qs, struct slice topic, int32_t queue_id)
{
    struct consume_queue **recent = recent_of(qs, queue_id), *q = *recent;
    if (q && q->queue_id == queue_id && slice_eq(q->topic->name, topic)) return q;
    if (topic.n == 0 || topic.n > TOPIC_BYTES_MAX) return NULL;
    uint8_t key[KEY_BYTES];
    q = map_get(&qs->by_key, key_of(topic, queue_id, key));
    if (q) *recent = q;
    return q;
}

static struct queue_topic *topic_get(struct queues *qs, struct slice name, enum queue_kind kind)
{
    struct queue_topic *t = map_get(&qs->topics, name);
    if (t) return t;
    t = must_zero(sizeof *t);
    t->name = slice_of(must_dup(name), name.n);
    t->kind = kind;
    list_init(&t->queues);
    map_put(&qs->topics, name, t);
    qs->light += name_is_lmq(name);
    return t;
}

struct consume_queue *queues_get(struct queues *qs, struct slice topic, int32_t queue_id, enum queue_kind kind)
{
    struct consume_queue *q = queues_find(qs, topic, queue_id);
    if (q) return q;
    assert(queue_topic_is_legal(topic));
    uint8_t key[KEY_BYTES];
    q = consume_queue_new(&qs->files, topic_get(qs, topic, kind), queue_id);
    map_put(&qs->by_key, key_of(topic, queue_id, key), q);
    *recent_of(qs, queue_id) = q;
    return q;
}

/* --- what is on disk --- */

struct discovery {
    struct queues *qs;
    enum queue_kind kind;
    struct slice topic;
    err_t e;
};

static void discover_queue(void *ctx, const char *name)
{
    struct discovery *d = ctx;
    int32_t queue_id;
    if (slice_to_i32(slice_text(name), &queue_id)) queues_get(d->qs, d->topic, queue_id, d->kind);
}

static err_t drop_other_kind(struct discovery *d, const char *folder)
{
    const struct queue_topic *t = map_get(&d->qs->topics, d->topic);
    if (!t || t->kind == d->kind) return NULL;
    log_warn("store.queues_of_two_kinds topic=\"%.*s\" removed=\"%s\"", SLICE_ARG(d->topic), folder);
    d->qs->files.names_gone[d->kind] = true;
    return fs_remove_tree(d->qs->files.fs, folder);
}

static void discover_topic(void *ctx, const char *name)
{
    struct discovery *d = ctx;
    char folder[PATH_BYTES];
    d->topic = slice_text(name);
    if (d->e || !queue_topic_is_legal(d->topic)) return;
    snprintf(folder, sizeof folder, "%s/%s", d->qs->files.folder[d->kind], name);
    struct file_info info = {.folder = true};
    d->e = drop_other_kind(d, folder);
    if (!d->e) d->e = fs_list(d->qs->files.fs, folder, discover_queue, d);
    if (!d->e) return;
    err_drop(fs_info(d->qs->files.fs, folder, &info), "the first error tells more");
    if (info.folder) return;
    err_drop(d->e, "a file among the folders is none of ours");
    d->e = NULL;
}

err_t queues_discover(struct queues *qs)
{
    struct discovery d = {.qs = qs};
    err_t e = NULL;
    for (int i = QUEUE_KINDS; i-- > 0 && !e;) {
        d.kind = (enum queue_kind)i;
        e = fs_list(qs->files.fs, qs->files.folder[i], discover_topic, &d);
        if (!e) e = d.e;
    }
    return e;
}

err_t queues_each(struct queues *qs, err_t (*each)(void *ctx, struct consume_queue *q), void *ctx)
{
    struct map_entry *entry;
    for (size_t at = 0; (entry = map_next(&qs->by_key, &at));) {
        err_t e = each(ctx, entry->value);
        if (e) return e;
    }
    return NULL;
}

void queues_each_of(struct queues *qs, struct slice topic, void (*each)(struct consume_queue *q))
{
    struct queue_topic *t = map_get(&qs->topics, topic);
    if (!t) return;
    LIST_EACH(&t->queues, node) each(LIST_OWNER(node, struct consume_queue, in_topic));
}

/* --- deleting --- */

void queues_delete(struct queues *qs, struct slice topic)
{
    struct queue_topic *t = map_remove(&qs->topics, topic);
    if (!t) return;
    LIST_EACH(&t->queues, node) {
        struct consume_queue *q = LIST_OWNER(node, struct consume_queue, in_topic);
        uint8_t key[KEY_BYTES];
        map_remove(&qs->by_key, key_of(t->name, q->queue_id, key));
        consume_queue_rest(q);
        list_remove(&q->in_dirty);
        q->deleted = true;
        list_remove(&q->in_topic);
        list_add(&qs->graveyard.queues, &q->in_topic);
        q->topic = &qs->graveyard;
    }
    memset(qs->recent, 0, sizeof qs->recent);
    qs->light -= name_is_lmq(t->name);
    free_topic(t);
}

void queues_bury(struct queues *qs)
{
    LIST_EACH(&qs->graveyard.queues, node) consume_queue_free(LIST_OWNER(node, struct consume_queue, in_topic));
}
