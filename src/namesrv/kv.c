#include "namesrv/kv.h"

#include <stdlib.h>

static void space_free(void *p)
{
    map_done_with(p, free);
    free(p);
}

void kv_done(struct kv *kv) { map_done_with(&kv->spaces, space_free); }

void kv_put(struct kv *kv, struct slice space, struct slice key, struct slice value)
{
    struct map *pairs = map_get(&kv->spaces, space);
    if (!pairs) {
        pairs = must_zero(sizeof *pairs);
        map_put(&kv->spaces, space, pairs);
    }
    free(map_put(pairs, key, must_dup(value)));
}

bool kv_remove(struct kv *kv, struct slice space, struct slice key)
{
    struct map *pairs = map_get(&kv->spaces, space);
    char *value = pairs ? map_remove(pairs, key) : NULL;
    free(value);
    return value;
}

const char *kv_get(const struct kv *kv, struct slice space, struct slice key)
{
    const struct map *pairs = map_get(&kv->spaces, space);
    return pairs ? map_get(pairs, key) : NULL;
}

bool kv_list(const struct kv *kv, struct slice space, struct arena *arena, struct kv_table *out)
{
    const struct map *pairs = map_get(&kv->spaces, space);
    struct map_entry *e;
    if (!pairs) return false;
    arena->limit = SIZE_MAX;
    *out = (struct kv_table){.pairs = {NULL, 0}};
    for (size_t at = 0; (e = map_next(pairs, &at));) {
        struct pair *p = arena_list_add(arena, (void **)&out->pairs.items, &out->pairs.count, sizeof *p);
        *p = (struct pair){e->key, slice_text(e->value)};
    }
    return true;
}

void kv_encode(const struct kv *kv, struct buf *out)
{
    struct json_out w;
    struct map_entry *space, *e;
    json_out_init(&w, out, JSON_RAW);
    json_put_object(&w);
    json_put_key(&w, SLICE("configTable"));
    json_put_object(&w);
    for (size_t at = 0; (space = map_next(&kv->spaces, &at));) {
        json_put_key(&w, space->key);
        json_put_object(&w);
        for (size_t k = 0; (e = map_next(space->value, &k));) {
            json_put_key(&w, e->key);
            json_put_text(&w, slice_text(e->value));
        }
        json_put_object_end(&w);
    }
    json_put_object_end(&w);
    json_put_object_end(&w);
}

static void read_spaces(struct json *j, struct kv *kv)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct slice space = json_key(j);
        if (!json_object(j)) continue;
        while (json_next(j)) {
            struct slice key = json_key(j), value = json_text(j);
            if (json_ok(j) && value.p) kv_put(kv, space, key, value);
        }
    }
}

err_t kv_decode(struct kv *kv, struct slice text)
{
    struct arena arena = ARENA_EMPTY;
    struct json j;
    kv_done(kv);
    json_begin(&j, text, &arena);
    if (json_object(&j))
        while (json_next(&j)) {
            if (slice_eq(json_key(&j), SLICE("configTable"))) read_spaces(&j, kv);
            else json_skip(&j);
        }
    err_t e = json_end(&j, "key-value configuration");
    arena_done(&arena);
    return e;
}
