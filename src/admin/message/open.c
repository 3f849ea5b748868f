/* Messages as their producers had them: compressed bodies are opened, batches are taken apart. What cannot be opened stays as it is, and says why.
 * Facts: docs/protocol/store.md 2 (which flag), 2.1 (a batch). */
#include "admin/message/message.h"

#include "codec/compress.h"
#include "codec/queue_entry.h"

/* A body of a few bytes may say that it is large: one message, and all of a command, have a limit. */
enum { BODY_MOST_BYTES = 32 << 20, ALL_MOST_BYTES = 256 << 20, KEPT_BYTES = 64 << 10 };

void opening_begin(struct opening *o) { o->left_bytes = ALL_MOST_BYTES; }

static struct found *add_found(struct job *j, struct founds *out, const struct found *f)
{
    struct found *slot = arena_list_add(job_arena(j), (void **)&out->list.items, &out->list.count, sizeof *slot);
    if (slot) *slot = *f;
    return slot;
}

/* Of a body that is only shown its beginning is kept; a batch is needed whole. */
static err_t open_body(struct job *j, struct opening *o, struct found *f)
{
    struct message *m = &f->message;
    struct buf plain = BUF_EMPTY;
    size_t limit = o->left_bytes < BODY_MOST_BYTES ? (size_t)o->left_bytes : BODY_MOST_BYTES;
    if (!limit) return err_new(ERR_BODY, "this command has opened %d MiB already", ALL_MOST_BYTES >> 20);
    err_t e = decompress_body(m->sys_flag, m->body, limit, &plain);
    if (!e) {
        struct slice kept = buf_slice(&plain);
        if (!(m->sys_flag & SYS_FLAG_INNER_BATCH) && kept.n > KEPT_BYTES) kept.n = KEPT_BYTES;
        f->body_bytes = (int64_t)plain.n;
        m->body = job_copy(j, plain.n ? kept : SLICE(""));
        m->sys_flag &= ~SYS_FLAG_COMPRESSED;
        o->left_bytes -= (int64_t)plain.n;
    }
    buf_done(&plain);
    return e;
}

static void take_apart(struct job *j, const struct found *batch, struct founds *out)
{
    struct slice rest = batch->message.body;
    struct message one;
    bool broken = false;
    int64_t n = 0;
    while (n < BATCH_COUNT_MAX && batch_next(&rest, &one, &broken)) {
        struct found f = *batch;
        f.message.flag = one.flag;
        f.message.body = one.body;
        f.message.properties = one.properties;
        f.message.sys_flag &= ~(SYS_FLAG_INNER_BATCH | SYS_FLAG_NEED_UNWRAP);
        f.message.queue_offset += n++;
        f.body_bytes = (int64_t)one.body.n;
        if (!add_found(j, out, &f)) return;
    }
    broken |= n == BATCH_COUNT_MAX && rest.n > 0;
    if (!broken && n) return;
    struct found f = *batch;
    f.message.queue_offset += n;
    f.wrong = job_text(j, n ? "the rest of the batch is broken" : "the batch is broken");
    add_found(j, out, &f);
}

void message_open(struct job *j, struct opening *o, const struct found *f, struct founds *out)
{
    struct found opened = *f;
    if (f->message.sys_flag & SYS_FLAG_COMPRESSED) {
        err_t e = open_body(j, o, &opened);
        if (e) opened.wrong = job_copy(j, slice_text(err_text(e)));
        err_free(e);   /* it stands where the body would */
    }
    if (!opened.wrong.p && (f->message.sys_flag & SYS_FLAG_INNER_BATCH)) take_apart(j, &opened, out);
    else add_found(j, out, &opened);
}
