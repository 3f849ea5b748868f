#include "store/compaction_state.h"

#include "base/json.h"
#include "os/saver.h"

#include <stdio.h>
#include <stdlib.h>

struct slice compaction_key_of(struct slice topic, int32_t queue_id, char key[static COMPACTION_KEY_BYTES])
{
    int n = snprintf(key, COMPACTION_KEY_BYTES, "%.*s_%d", SLICE_ARG(topic), queue_id);
    return slice_of(key, (size_t)n);
}

int64_t compaction_position(const struct compaction *c, struct slice topic, int32_t queue_id)
{
    char key[COMPACTION_KEY_BYTES];
    const int64_t *position = map_get(&c->positions, compaction_key_of(topic, queue_id, key));
    return position ? *position : -1;
}

static void set(struct compaction *c, struct slice key, int64_t position)
{
    int64_t *p = map_get(&c->positions, key);
    if (!p) {
        p = must_alloc(sizeof *p);
        map_put(&c->positions, key, p);
    }
    *p = position;
}

void compaction_position_set(struct compaction *c, struct slice topic, int32_t queue_id, int64_t position)
{
    char key[COMPACTION_KEY_BYTES];
    set(c, compaction_key_of(topic, queue_id, key), position);
}

/* "TOPIC_ID" of that topic; others may begin with its name too. */
static bool is_of(struct slice key, struct slice topic)
{
    int32_t id;
    return key.n > topic.n && slice_starts(key, topic) && key.p[topic.n] == '_' && slice_to_i32(slice_skip(key, topic.n + 1), &id);
}

void compaction_positions_forget(struct compaction *c, struct slice topic)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&c->positions, &at));)
        if (is_of(e->key, topic)) free(map_remove(&c->positions, e->key));
}

void compaction_positions_done(struct compaction *c) { map_done_with(&c->positions, free); }

/* --- the file --- */

static void read_map(struct compaction *c, struct json *j)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct slice key = json_key(j);
        int64_t position = json_i64(j);
        if (json_ok(j)) set(c, key, position);
    }
}

static err_t decode(void *ctx, struct slice text)
{
    struct arena arena = ARENA_EMPTY;
    struct json j;
    json_begin(&j, text, &arena);
    if (json_object(&j)) {
        while (json_next(&j)) {
            if (slice_eq(json_key(&j), SLICE("queueOffsetMap"))) read_map(ctx, &j);
            else json_skip(&j);
        }
    }
    err_t e = json_end(&j, "the file of compaction positions");
    arena_done(&arena);
    return e;
}

/* Without positions a round looks at all files once more: nothing is lost. */
err_t compaction_positions_load(struct compaction *c)
{
    bool found;
    err_t e = saver_load(c->s->fs, c->positions_path, decode, c, &found);
    if (err_code(e) != ERR_BODY && err_code(e) != ERR_CORRUPT) return e;
    err_drop(e, "rounds begin at the first message again");
    map_done_with(&c->positions, free);
    c->positions = MAP_EMPTY;
    return NULL;
}

void compaction_positions_encode(const struct compaction *c, struct buf *out)
{
    struct json_out w;
    struct map_entry *e;
    json_out_init(&w, out, JSON_PRETTY);
    json_put_object(&w);
    json_put_key(&w, SLICE("empty"));   /* the original's, which nobody reads */
    json_put_bool(&w, !c->positions.count);
    json_put_key(&w, SLICE("queueOffsetMap"));
    json_put_object(&w);
    for (size_t at = 0; (e = map_next(&c->positions, &at));) {
        json_put_key(&w, e->key);
        json_put_i64(&w, *(const int64_t *)e->value);
    }
    json_put_object_end(&w);
    json_put_object_end(&w);
}
