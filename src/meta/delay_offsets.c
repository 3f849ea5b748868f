#include "meta/delay_offsets.h"

#include "codec/body_topic_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct delay_offsets {
    int64_t now[DELAY_LEVELS_MAX + 1];    /* by level */
    int64_t safe[DELAY_LEVELS_MAX + 1];   /* what the file may say … */
    int64_t log_offset;                   /* … and where the log goes on from there; -1: the file does not say */
    struct data_version version;
    struct saver saver;
    struct tasks *tasks;
    int64_t version_step;
    int64_t changes;
};

static void encode(const struct delay_offsets *d, const int64_t offsets[static DELAY_LEVELS_MAX + 1], int64_t log_offset, enum json_style style,
                   struct buf *out)
{
    struct json_out w;
    json_out_init(&w, out, style);
    json_put_object(&w);
    json_put_key(&w, SLICE("dataVersion"));
    bean_write(&w, &data_version_bean, &d->version);
    json_put_key(&w, SLICE("offsetTable"));
    json_put_object(&w);
    for (int32_t level = 1; level <= DELAY_LEVELS_MAX; level++) {
        if (offsets[level] < 0) continue;
        json_put_key_i64(&w, level);
        json_put_i64(&w, offsets[level]);
    }
    json_put_object_end(&w);
    if (log_offset >= 0) {
        json_put_key(&w, SLICE("skylarkLogOffset"));   /* the original passes over it, and leaves it out */
        json_put_i64(&w, log_offset);
    }
    json_put_object_end(&w);
}

void delay_offsets_encode(const struct delay_offsets *d, enum json_style style, struct buf *out) { encode(d, d->now, -1, style, out); }

static void encode_file(void *ctx, struct buf *out)
{
    const struct delay_offsets *d = ctx;
    encode(d, d->safe, d->log_offset, JSON_PRETTY, out);
}

static void read_table(struct json *j, struct delay_offsets *d)
{
    if (!json_object(j)) return;
    while (json_next(j)) {
        int32_t level;
        bool known = slice_to_i32(json_key(j), &level) && level > 0 && level <= DELAY_LEVELS_MAX;
        int64_t offset = json_i64(j);
        if (known && json_ok(j) && offset >= 0) d->now[level] = offset;
    }
}

static void read_log_offset(struct json *j, struct delay_offsets *d)
{
    int64_t log_offset = json_i64(j);
    if (json_ok(j) && log_offset >= 0) d->log_offset = log_offset;
}

static void forget(struct delay_offsets *d)
{
    for (int32_t level = 0; level <= DELAY_LEVELS_MAX; level++) d->now[level] = -1;
    d->log_offset = -1;
}

static err_t decode_file(void *ctx, struct slice text)
{
    struct delay_offsets *d = ctx;
    struct arena arena = ARENA_EMPTY;
    struct json j;
    forget(d);   /* of a candidate that broke off */
    json_begin(&j, text, &arena);
    if (json_object(&j))
        while (json_next(&j)) {
            struct slice key = json_key(&j);
            if (slice_eq(key, SLICE("dataVersion"))) bean_read(&j, &data_version_bean, &d->version);
            else if (slice_eq(key, SLICE("offsetTable"))) read_table(&j, d);
            else if (slice_eq(key, SLICE("skylarkLogOffset"))) read_log_offset(&j, d);
            else json_skip(&j);
        }
    err_t e = json_end(&j, "offsets of the delay levels");
    arena_done(&arena);
    return e;
}

err_t delay_offsets_open(const char *folder, int64_t version_step, struct fs *fs, struct tasks *tasks, struct delay_offsets **out)
{
    struct delay_offsets *d = must_zero(sizeof *d);
    bool found;
    char path[4096];
    d->tasks = tasks;
    d->version_step = version_step > 0 ? version_step : 1;
    d->version.timestamp = tasks_wall_ms(tasks);
    forget(d);
    snprintf(path, sizeof path, "%s/delayOffset.json", folder);
    err_t e = saver_load(fs, path, decode_file, d, &found);
    if (e) {
        free(d);
        return err_in(e, "load the offsets of the delay levels");
    }
    memcpy(d->safe, d->now, sizeof d->safe);
    saver_init(&d->saver, fs, tasks, path, encode_file, d);
    *out = d;
    return NULL;
}

err_t delay_offsets_close(struct delay_offsets *d)
{
    if (!d) return NULL;
    err_t e = saver_done(&d->saver);
    free(d);
    return e;
}

int64_t delay_offsets_get(const struct delay_offsets *d, int32_t level) { return d->now[level]; }

void delay_offsets_set(struct delay_offsets *d, int32_t level, int64_t queue_offset)
{
    d->now[level] = queue_offset;
    if (++d->changes % d->version_step == 0) data_version_next(&d->version, tasks_wall_ms(d->tasks));
}

int64_t delay_offsets_log(const struct delay_offsets *d) { return d->log_offset; }

void delay_offsets_save(struct delay_offsets *d, const int64_t safe[static DELAY_LEVELS_MAX + 1], int64_t log_offset)
{
    if (memcmp(d->safe, safe, sizeof d->safe) == 0 && log_offset == d->log_offset) return;
    memcpy(d->safe, safe, sizeof d->safe);
    d->log_offset = log_offset;
    saver_mark(&d->saver);
}
