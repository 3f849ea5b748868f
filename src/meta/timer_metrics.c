#include "meta/timer_metrics.h"

#include "base/map.h"
#include "codec/body_topic_config.h"

#include <stdio.h>
#include <stdlib.h>

enum { TOPIC_MAX_BYTES = 255 };

struct waiting {
    int64_t count;
    int64_t timestamp;
};

struct timer_metrics {
    struct map topics;              /* struct waiting */
    struct data_version version;
    struct saver saver;
    struct tasks *tasks;
    bool changed;
};

static void put_number(struct json_out *w, struct slice key, int64_t value)
{
    json_put_key(w, key);
    json_put_i64(w, value);
}

void timer_metrics_encode(const struct timer_metrics *m, struct buf *out)
{
    struct json_out w;
    struct map_entry *e;
    json_out_init(&w, out, JSON_RAW);
    json_put_object(&w);
    json_put_key(&w, SLICE("dataVersion"));
    bean_write(&w, &data_version_bean, &m->version);
    json_put_key(&w, SLICE("timingCount"));
    json_put_object(&w);
    for (size_t at = 0; (e = map_next(&m->topics, &at));) {
        const struct waiting *row = e->value;
        json_put_key(&w, e->key);
        json_put_object(&w);
        put_number(&w, SLICE("count"), row->count);
        put_number(&w, SLICE("timeStamp"), row->timestamp);
        json_put_object_end(&w);
    }
    json_put_object_end(&w);
    json_put_object_end(&w);
}

bool timer_metrics_next(const struct timer_metrics *m, size_t *at, struct slice *topic, int64_t *count)
{
    const struct map_entry *e = map_next(&m->topics, at);
    if (!e) return false;
    *topic = e->key;
    *count = ((const struct waiting *)e->value)->count;
    return true;
}

static void encode_file(void *ctx, struct buf *out) { timer_metrics_encode(ctx, out); }

static struct waiting *row_of(struct timer_metrics *m, struct slice topic)
{
    struct waiting *row = map_get(&m->topics, topic);
    if (row) return row;
    row = must_zero(sizeof *row);
    map_put(&m->topics, topic, row);
    return row;
}

static void read_row(struct json *j, struct waiting *row)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct slice key = json_key(j);
        if (slice_eq(key, SLICE("count"))) row->count = json_i64(j);
        else if (slice_eq(key, SLICE("timeStamp"))) row->timestamp = json_i64(j);
        else json_skip(j);
    }
}

static void read_topics(struct json *j, struct timer_metrics *m)
{
    struct waiting ignored;
    if (!json_object(j)) return;
    while (json_next(j)) {
        struct slice topic = json_key(j);
        read_row(j, topic.n && topic.n <= TOPIC_MAX_BYTES ? row_of(m, topic) : &ignored);
    }
}

static err_t decode_file(void *ctx, struct slice text)
{
    struct timer_metrics *m = ctx;
    struct arena arena = ARENA_EMPTY;
    struct json j;
    arena.limit = SIZE_MAX;   /* our own file */
    map_done_with(&m->topics, free);   /* of a candidate that broke off */
    json_begin(&j, text, &arena);
    if (json_object(&j))
        while (json_next(&j)) {
            struct slice key = json_key(&j);
            if (slice_eq(key, SLICE("dataVersion"))) bean_read(&j, &data_version_bean, &m->version);
            else if (slice_eq(key, SLICE("timingCount"))) read_topics(&j, m);
            else json_skip(&j);
        }
    err_t e = json_end(&j, "counts of timer messages");
    arena_done(&arena);
    return e;
}

err_t timer_metrics_open(const char *folder, struct fs *fs, struct tasks *tasks, struct timer_metrics **out)
{
    struct timer_metrics *m = must_zero(sizeof *m);
    bool found;
    char path[4096];
    m->tasks = tasks;
    m->topics = MAP_EMPTY;
    m->version.timestamp = tasks_wall_ms(tasks);
    snprintf(path, sizeof path, "%s/timermetrics", folder);
    err_t e = saver_load(fs, path, decode_file, m, &found);
    if (e) {
        map_done_with(&m->topics, free);
        free(m);
        return err_in(e, "load the counts of timer messages");
    }
    saver_init(&m->saver, fs, tasks, path, encode_file, m);
    *out = m;
    return NULL;
}

err_t timer_metrics_close(struct timer_metrics *m)
{
    if (!m) return NULL;
    if (m->changed) m->saver.dirty = true;
    err_t e = saver_done(&m->saver);
    map_done_with(&m->topics, free);
    free(m);
    return e;
}

void timer_metrics_add(struct timer_metrics *m, struct slice topic, int64_t change)
{
    if (!topic.n || topic.n > TOPIC_MAX_BYTES) return;
    struct waiting *row = row_of(m, topic);
    if (__builtin_add_overflow(row->count, change, &row->count)) row->count = 0;   /* the file may say anything */
    row->timestamp = tasks_wall_ms(m->tasks);
    data_version_next(&m->version, row->timestamp);
    m->changed = true;
}

int64_t timer_metrics_get(const struct timer_metrics *m, struct slice topic)
{
    const struct waiting *row = map_get(&m->topics, topic);
    return row ? row->count : 0;
}

void timer_metrics_save(struct timer_metrics *m)
{
    if (!m->changed) return;
    m->changed = false;
    saver_mark(&m->saver);
}
