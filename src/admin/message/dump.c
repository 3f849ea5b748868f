/* dumpCompactionLog: the messages in a file of a compacted topic (store/compaction/compactionLog/TOPIC/QUEUE/…), read as it lies there.
 * Facts: docs/protocol/compaction.md. Nobody is asked, and a broker may have the file open. */
#include "admin/message/message.h"

#include <stdlib.h>

enum { PART_BYTES = 4 << 20, RECORD_MOST_BYTES = 256 << 20 };

struct dump {
    const char *path;
    int64_t at;                     /* of the part in the file */
    uint8_t *part;
    size_t room, n;                 /* of the part; bytes in it */
    struct arena lot;               /* what is printed of the part */
    int64_t rows, limit;
    bool over;
};

/* What stands at `used` of the part is no record. */
static err_t judge(struct dump *d, enum record_kind kind, size_t used)
{
    size_t left = d->n - used;
    d->over = kind != RECORD_DAMAGED;
    if (d->over) return NULL;
    bool cut = d->n == d->room && (left < 4 || record_total_size(d->part + used) > left);
    if (cut && used) return NULL;                       /* the next part begins with it */
    if (cut && d->room < RECORD_MOST_BYTES) {
        d->room *= 2;
        return NULL;
    }
    return err_new(ERR_CORRUPT, "%s: at %lld of it is no whole record", d->path, (long long)(d->at + (int64_t)used));
}

static err_t read_records(struct job *j, struct dump *d, struct table *t, size_t *used)
{
    *used = 0;
    while (!d->over && *used < d->n) {
        struct found f = {.broker = {.name = {NULL, 0}}};
        enum record_kind kind = record_read(slice_of(d->part + *used, d->n - *used), &f.message);
        if (kind != RECORD_WHOLE) return judge(d, kind, *used);
        f.body_bytes = (int64_t)f.message.body.n;
        message_row(j, t, &f, false);
        *used += record_total_size(d->part + *used);
        d->over = ++d->rows >= d->limit;
    }
    return NULL;
}

static err_t read_part(struct job *j, struct dump *d)
{
    free(d->part);
    d->part = must_alloc(d->room);
    err_t e = j->read_part(d->path, d->at, d->room, d->part, &d->n);
    if (!e && !d->n) d->over = true;
    return e;
}

/* The rows of a part are printed before the next one takes its place. */
static err_t dump_part(struct job *j, struct dump *d)
{
    size_t used = 0;
    err_t e = read_part(j, d);
    if (e) return e;
    outcome_init(&j->outcome, &d->lot);
    struct table *t = message_table(j, false);
    e = read_records(j, d, t, &used);
    d->at += (int64_t)used;
    if (j->emit && table_rows(t)) j->emit(j);
    outcome_init(&j->outcome, job_arena(j));
    arena_done(&d->lot);
    d->lot = ARENA_EMPTY;
    return e;
}

static void dump_file(struct job *j)
{
    struct dump d = {.path = (const char *)job_copy(j, job_param(j, "file")).p, .room = PART_BYTES, .lot = ARENA_EMPTY};
    err_t e = param_i64(j->params, "limit", INT64_MAX, &d.limit);
    if (!e && !slice_trim(job_param(j, "file")).n) e = err_new(ERR_USAGE, "it needs -f FILE");
    if (!e && d.limit < 1) e = err_new(ERR_USAGE, "--limit is 1 at least");
    if (!e && !j->read_part) e = err_new(ERR_NOT_SUPPORTED, "files cannot be read here");
    while (!e && !d.over) e = dump_part(j, &d);
    free(d.part);
    if (e) {
        job_fail(j, e);
        return;
    }
    outcome_number(&j->outcome, "messageCount", d.rows);
    job_end(j);
}

static const struct param params[] = {
    {"file", "f", PARAM_VALUE, "FILE", "the file (needed)"},
    {"limit", NULL, PARAM_VALUE, "N", "ends after so many messages"},
    {.name = NULL},
};

const struct command message_dump_commands[] = {
    {.name = "dumpCompactionLog", .params = params, .start = dump_file, .summary = "the messages in a file of a compacted topic",
     .help = "Prints the messages that lie in one file of a compacted topic, as they stand there. No server is asked.\n\n"
             "Example:\n  skylark admin dumpCompactionLog -f store/compaction/compactionLog/Prices/0/00000000000000000000\n"},
    {.name = NULL},
};
