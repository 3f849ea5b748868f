#include "meta/request_modes.h"

#include "base/map.h"

#include <stdio.h>
#include <stdlib.h>

struct request_modes {
    struct map topics;      /* topic -> struct groups */
    struct saver saver;
};

struct groups {
    struct map modes;       /* group -> struct kept */
};

/* Its texts lie behind it. */
struct kept {
    struct request_mode mode;
};

static void free_groups(void *groups)
{
    map_done_with(&((struct groups *)groups)->modes, free);
    free(groups);
}

static struct kept *keep(const struct request_mode *mode)
{
    struct kept *k = must_zero(sizeof *k + mode->topic.n + mode->group.n);
    uint8_t *text = (uint8_t *)(k + 1);
    k->mode = *mode;
    k->mode.topic = slice_of(text, mode->topic.n);
    k->mode.group = slice_of(text + mode->topic.n, mode->group.n);
    if (mode->topic.n) memcpy(text, mode->topic.p, mode->topic.n);
    if (mode->group.n) memcpy(text + mode->topic.n, mode->group.p, mode->group.n);
    return k;
}

static void put(struct request_modes *m, const struct request_mode *mode)
{
    struct groups *g = map_get(&m->topics, mode->topic);
    if (!g) {
        g = must_zero(sizeof *g);
        map_put(&m->topics, mode->topic, g);
    }
    free(map_put(&g->modes, mode->group, keep(mode)));
}

const struct request_mode *request_modes_find(const struct request_modes *m, struct slice topic, struct slice group)
{
    const struct groups *g = map_get(&m->topics, topic);
    const struct kept *k = g ? map_get(&g->modes, group) : NULL;
    return k ? &k->mode : NULL;
}

void request_modes_set(struct request_modes *m, const struct request_mode *mode)
{
    put(m, mode);
    saver_mark(&m->saver);
}

void request_modes_when_saved(struct request_modes *m, struct saver_waiter *w) { saver_wait(&m->saver, w); }

/* --- the file --- */

static void fill(const struct groups *g, struct slice topic, struct arena *arena, struct topic_modes *out)
{
    const struct map_entry *e;
    *out = (struct topic_modes){.topic = topic, .groups = {arena_take(arena, g->modes.count * sizeof *out->groups.items), 0}};
    for (size_t at = 0; (e = map_next(&g->modes, &at));) out->groups.items[out->groups.count++] = ((struct kept *)e->value)->mode;
}

void request_modes_encode(const struct request_modes *m, enum json_style style, struct buf *out)
{
    struct arena arena = ARENA_EMPTY;
    struct request_mode_table table = {.topics = {arena_take(&arena, m->topics.count * sizeof *table.topics.items), 0}};
    const struct map_entry *e;
    for (size_t at = 0; (e = map_next(&m->topics, &at));) fill(e->value, e->key, &arena, &table.topics.items[table.topics.count++]);
    bean_encode(&request_mode_table_bean, &table, style, out);
    arena_done(&arena);
}

static void encode_file(void *ctx, struct buf *out) { request_modes_encode(ctx, JSON_PRETTY, out); }

static err_t decode_file(void *ctx, struct slice text)
{
    struct request_modes *m = ctx;
    struct arena arena = ARENA_EMPTY;
    struct request_mode_table table;
    err_t e = bean_decode(&request_mode_table_bean, text, &arena, "request modes", &table);
    for (size_t i = 0; !e && i < table.topics.count; i++)
        for (size_t k = 0; k < table.topics.items[i].groups.count; k++) {
            struct request_mode mode = table.topics.items[i].groups.items[k];
            mode.topic = table.topics.items[i].topic;
            put(m, &mode);
        }
    arena_done(&arena);
    return e;
}

err_t request_modes_open(const char *folder, struct fs *fs, struct tasks *tasks, struct request_modes **out)
{
    struct request_modes *m = must_zero(sizeof *m);
    char path[4096];
    bool found;
    snprintf(path, sizeof path, "%s/messageRequestMode.json", folder);
    err_t e = saver_load(fs, path, decode_file, m, &found);
    if (e) {
        map_done_with(&m->topics, free_groups);
        free(m);
        return err_in(e, "load the request modes");
    }
    saver_init(&m->saver, fs, tasks, path, encode_file, m);
    *out = m;
    return NULL;
}

err_t request_modes_close(struct request_modes *m)
{
    if (!m) return NULL;
    err_t e = saver_done(&m->saver);
    map_done_with(&m->topics, free_groups);
    free(m);
    return e;
}
