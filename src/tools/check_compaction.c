#include "tools/check.h"

#include "store/compaction_file.h"
#include "store/compaction_swap.h"
#include "store/queues.h"

#include <inttypes.h>
#include <stdio.h>

#define LOGS "compaction/compactionLog"
#define ENTRIES "compaction/compactionCq"

static const char remade[] = "makes them again from the messages", passed[] = "passes it, and never serves it";

/* One queue. */
struct kept_queue {
    struct check *c;
    const char *topic, *id;
    struct log_walk walk;      /* of the file in hand */
    char file[PATH_BYTES];     /* of entries, as messages name it */
    int64_t start;
    int64_t expected;          /* position of the next message */
    int64_t last;              /* queue offset of the last message, in all files */
    int64_t messages;
    enum level level;          /* of what a broker that runs is just changing */
};

static void name_in(char out[static PATH_BYTES], const char *kind, const struct kept_queue *q, const char *name)
{
    snprintf(out, PATH_BYTES, "%s/%s/%s/%s", kind, q->topic, q->id, name);
}

static void check_message(struct kept_queue *q, int64_t at, const struct compaction_entry *e)
{
    struct log_step step;
    err_t error = log_walk_read(&q->walk, e->position, &step);
    if (error) report_add(&q->c->r, DAMAGE, q->file, at, passed, "its message cannot be read: %s", err_text(error));
    else if (step.kind == LOG_BAD_CHECKSUM)
        report_add(&q->c->r, DAMAGE, q->file, at, passed, "its message at %" PRId64 " does not agree with its checksum", e->position);
    else if (step.kind != LOG_RECORD || step.size != e->size || step.message.queue_offset != e->queue_offset)
        report_add(&q->c->r, DAMAGE, q->file, at, passed,
                   "it points to %" PRId64 ", where no message of %d bytes and queue offset %" PRId64 " begins", e->position, e->size,
                   e->queue_offset);
    err_free(error);
}

/* False: what follows is not looked at. */
static bool check_entry(struct kept_queue *q, int64_t at, const struct compaction_entry *e)
{
    if (e->position < q->expected || e->queue_offset <= q->last) {
        report_add(&q->c->r, q->level, q->file, at, remade,
                   "position %" PRId64 " and queue offset %" PRId64 " do not follow those before it", e->position, e->queue_offset);
        return false;
    }
    check_message(q, at, e);
    q->expected = e->position + e->size;
    q->last = e->queue_offset;
    q->messages++;
    return true;
}

static bool is_end(struct slice rest)
{
    uint8_t mark[COMPACTION_ENTRY_BYTES];
    compaction_entry_put_end(mark);
    if (rest.n >= sizeof mark && !memcmp(rest.p, mark, sizeof mark)) rest = slice_skip(rest, sizeof mark);
    for (size_t i = 0; i < rest.n; i++)
        if (rest.p[i]) return false;
    return true;
}

static void check_entries(struct kept_queue *q, struct slice bytes)
{
    size_t at = 0;
    struct compaction_entry e;
    for (; at + COMPACTION_ENTRY_BYTES <= bytes.n && compaction_entry_get(bytes.p + at, &e); at += COMPACTION_ENTRY_BYTES)
        if (!check_entry(q, (int64_t)at, &e)) return;
    if (!is_end(slice_skip(bytes, at)))
        report_add(&q->c->r, q->level, q->file, (int64_t)at, remade, "there is something else than entries");
}

static void check_pair(struct kept_queue *q, const char *name)
{
    enum { FILE_BYTES_MAX = 1 << 30 };
    char path[PATH_BYTES];
    struct buf bytes = BUF_EMPTY;
    if (!segment_start(name, &q->start)) return;
    q->expected = q->start;
    name_in(q->file, ENTRIES, q, name);
    view_path(&q->c->v, q->file, path);
    err_t e = fs_read_file(q->c->v.fs, path, FILE_BYTES_MAX, &bytes);
    if (e) {
        report_add(&q->c->r, NOTE, q->file, -1, remade, "%s", err_text(e));
        err_free(e);
        buf_done(&bytes);
        return;
    }
    char log[PATH_BYTES];
    name_in(log, LOGS, q, name);
    view_path(&q->c->v, log, path);
    e = log_walk_open(&q->walk, q->c->v.fs, path, q->start);
    if (!e) check_entries(q, buf_slice(&bytes));
    else report_add(&q->c->r, q->level, log, -1, "sets it aside", "%s", err_text(e));
    err_free(e);
    log_walk_close(&q->walk);
    buf_done(&bytes);
}

/* Names in a folder of the queue's. */
static void names_of(struct kept_queue *q, const char *name, struct buf *out)
{
    char folder[PATH_BYTES];
    name_in(folder, LOGS, q, name);
    err_t e = view_names(&q->c->v, folder, out);
    if (e) report_add(&q->c->r, DAMAGE, folder, -1, "does not start", "%s", err_text(e));
    err_free(e);
}

static void check_leftovers(struct kept_queue *q)
{
    char folder[PATH_BYTES];
    struct buf aside = BUF_EMPTY, damaged = BUF_EMPTY;
    names_of(q, COMPACTING, &aside);
    name_in(folder, LOGS, q, COMPACTING);
    if (view_name_count(&aside))
        report_add(&q->c->r, NOTE, folder, -1, "finishes it, or removes it", "a compaction is under way, or was cut off");
    names_of(q, "damaged", &damaged);
    name_in(folder, LOGS, q, "damaged");
    if (view_name_count(&damaged))
        report_add(&q->c->r, DAMAGE, folder, -1, "does not read it; it may be removed",
                   "%zu files were set aside because they could not be used", view_name_count(&damaged));
    view_names_done(&aside);
    view_names_done(&damaged);
}

static void check_queue(struct check *c, const char *topic, const char *id)
{
    struct kept_queue q = {.c = c, .topic = topic, .id = id, .last = -1, .level = c->v.abort ? NOTE : DAMAGE};
    struct buf files = BUF_EMPTY;
    char folder[PATH_BYTES];
    snprintf(folder, sizeof folder, LOGS "/%s/%s", topic, id);
    err_t e = view_names(&c->v, folder, &files);
    if (e) report_add(&c->r, DAMAGE, folder, -1, "does not start", "%s", err_text(e));
    err_free(e);
    for (size_t i = 0; i < view_name_count(&files); i++) check_pair(&q, view_name(&files, i));
    check_leftovers(&q);
    view_names_done(&files);
    c->kept_queues++;
    c->kept += q.messages;
}

static void check_topic(struct check *c, const char *topic)
{
    struct buf ids = BUF_EMPTY;
    char folder[PATH_BYTES];
    int32_t id;
    enum { ID_DIGITS_MAX = 10 };
    if (!queue_topic_is_legal(slice_text(topic))) return;
    snprintf(folder, sizeof folder, LOGS "/%s", topic);
    err_drop(view_names(&c->v, folder, &ids), "a file among the folders is none of ours");
    for (size_t i = 0; i < view_name_count(&ids); i++) {
        const char *name = view_name(&ids, i);
        if (strlen(name) <= ID_DIGITS_MAX && slice_to_i32(slice_text(name), &id)) check_queue(c, topic, name);
    }
    view_names_done(&ids);
}

void check_compaction(struct check *c)
{
    struct buf topics = BUF_EMPTY;
    err_t e = view_names(&c->v, LOGS, &topics);
    if (e) report_add(&c->r, DAMAGE, LOGS, -1, "does not start", "%s", err_text(e));
    err_free(e);
    for (size_t i = 0; i < view_name_count(&topics); i++) check_topic(c, view_name(&topics, i));
    view_names_done(&topics);
}
