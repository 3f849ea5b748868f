#include "store/deleted_topics.h"

#include "base/log.h"
#include "codec/lmq.h"
#include "store/queues.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* So many more than were worth keeping, before it is looked again which are. */
enum { MORE = 1000, FILE_LIMIT_BYTES = 256 << 20 };

static void encode(void *ctx, struct buf *out)
{
    const struct deleted_topics *d = ctx;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&d->ends, &at));) {
        buf_put_i64_text(out, *(int64_t *)e->value);
        buf_put_u8(out, ' ');
        buf_put_slice(out, e->key);
        buf_put_u8(out, '\n');
    }
}

void deleted_topics_init(struct deleted_topics *d, const char *root, struct fs *fs, struct tasks *tasks)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s/" DELETED_TOPICS, root);
    d->ends = MAP_EMPTY;
    d->look_at = MORE;
    saver_init(&d->saver, fs, tasks, path, encode, d);
}

void deleted_topics_done(struct deleted_topics *d)
{
    err_drop(saver_done(&d->saver), "after a crash old messages may be in the queues of a topic that was made again");
    map_done_with(&d->ends, free);
}

static void put(struct deleted_topics *d, struct slice topic, int64_t end)
{
    int64_t *value = map_get(&d->ends, topic);
    if (!value) map_put(&d->ends, topic, value = must_alloc(sizeof *value));
    *value = end;
}

static err_t decode(struct deleted_topics *d, struct slice text)
{
    struct slice line, position;
    int64_t end;
    while (text.n && slice_split(&text, '\n', &line)) {
        if (!text.p) return err_new(ERR_CORRUPT, "the last line does not end");
        if (!slice_split(&line, ' ', &position) || !slice_to_i64(position, &end) || end < 0 || !queue_topic_is_legal(line))
            return err_new(ERR_CORRUPT, "a line is no position and topic");
        put(d, line, end);
    }
    return NULL;
}

/* Not the .bak beside it: its positions may lie behind an end that the log has lost since. */
err_t deleted_topics_load(struct deleted_topics *d)
{
    struct buf text = BUF_EMPTY;
    err_t e = fs_read_file(d->saver.fs, d->saver.path, FILE_LIMIT_BYTES, &text);
    if (!e) e = decode(d, buf_slice(&text));
    buf_done(&text);
    if (err_code(e) == ERR_NOT_FOUND) {
        err_free(e);   /* none was ever deleted */
        return NULL;
    }
    if (err_code(e) != ERR_CORRUPT) return e;
    log_warn("store.deleted_topics_unreadable path=\"%s\" text=\"%s\"", d->saver.path, err_text(e));
    err_free(e);
    return NULL;
}

err_t deleted_topics_fit(struct deleted_topics *d, int64_t first, int64_t end)
{
    bool changed = false;
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&d->ends, &at));) {
        int64_t *value = e->value;
        if (*value > first && *value <= end) continue;
        changed = true;
        if (*value > end) *value = end;
        if (*value <= first) free(map_remove(&d->ends, e->key));
    }
    if (!changed) return NULL;
    struct buf text = BUF_EMPTY;
    encode(d, &text);
    err_t failed = fs_replace_file(d->saver.fs, d->saver.path, buf_slice(&text));
    buf_done(&text);
    return failed;
}

/* Light queues come and go by the thousand: one is remembered while a start might make its entries anew. */
static void forget(struct deleted_topics *d, int64_t first, int64_t on_disk)
{
    struct map_entry *e;
    for (size_t at = 0; (e = map_next(&d->ends, &at));) {
        int64_t end = *(int64_t *)e->value;
        if (end <= first || (end <= on_disk && name_is_lmq(e->key))) free(map_remove(&d->ends, e->key));
    }
    d->look_at = d->ends.count * 2 + MORE;
}

void deleted_topics_add(struct deleted_topics *d, struct slice topic, int64_t first, int64_t on_disk, int64_t end)
{
    put(d, topic, end);
    if (d->ends.count >= d->look_at) forget(d, first, on_disk);
    saver_mark(&d->saver);
}

bool deleted_topics_have(const struct deleted_topics *d, struct slice topic, int64_t log_offset)
{
    const int64_t *end = map_get(&d->ends, topic);
    return end && log_offset < *end;
}
