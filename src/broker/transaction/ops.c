#include "broker/transaction/transaction.h"

#include "base/log.h"

#include <stdlib.h>

enum { RETRY_MS = 1000, NUMBER_MAX = 20 };

struct op_write {
    struct transactions *t;
    struct appended at;
    int64_t largest;
    struct buf body;
    append_done *done;      /* NULL: nobody waits, it is tried again */
    void *ctx;
};

static void put_offset(struct buf *body, int64_t offset)
{
    buf_put_i64_text(body, offset);
    buf_put_u8(body, ',');
}

/* The offset of the first copy too: a start that has read only that one shall know. */
static void put_half(struct buf *body, const struct half *half)
{
    if (half->first_offset != half->queue_offset) put_offset(body, half->first_offset);
    put_offset(body, half->queue_offset);
}

/* --- writing --- */

static void put_again(struct transactions *t, const struct op_write *w)
{
    buf_put_slice(&t->ops, buf_slice(&w->body));
    if (w->largest > t->ops_largest) t->ops_largest = w->largest;
    t->ops_refused = true;
    if (!t->broker->stopping) timer_start(t->broker->tasks, &t->ops_timer, RETRY_MS);
}

static void on_written(void *ctx, err_t e)
{
    struct op_write *w = ctx;
    bool stored = !e || err_code(e) == ERR_FLUSH_DISK_TIMEOUT;
    if (stored) halves_note_op(&w->t->halves, w->at.queue_offset, w->largest);
    if (stored && w->at.queue_offset >= w->t->op_end) w->t->op_end = w->at.queue_offset + 1;
    if (!stored && !w->done) put_again(w->t, w);
    if (w->done) w->done(w->ctx, e);
    else err_drop(e, "ends are written again");
    buf_done(&w->body);
    free(w);
}

/* Takes w, also when it fails. */
static err_t append(struct op_write *w)
{
    struct broker *b = w->t->broker;
    struct message m = {
        .topic = OP_TOPIC, .born_ms = tasks_wall_ms(b->tasks), .born_host = b->advertised, .body = buf_slice(&w->body),
        .properties = SLICE("WAIT\1true\2TAGS\1d\2"),
    };
    err_t e = transactions_put(w->t, &m, on_written, w, &w->at);
    if (!e) return NULL;
    if (!w->done) put_again(w->t, w);
    buf_done(&w->body);
    free(w);
    return e;
}

static struct op_write *write_new(struct transactions *t, int64_t largest, append_done *done, void *ctx)
{
    struct op_write *w = must_zero(sizeof *w);
    w->t = t;
    w->largest = largest;
    w->body = BUF_EMPTY;
    w->done = done;
    w->ctx = ctx;
    return w;
}

err_t ops_write(struct transactions *t, const struct half *half, append_done *done, void *ctx)
{
    struct op_write *w = write_new(t, half->queue_offset, done, ctx);
    put_half(&w->body, half);
    return append(w);
}

/* As many whole offsets from the front as fit, but one at least. */
static size_t cut(struct slice text, size_t most)
{
    if (text.n <= most) return text.n;
    const uint8_t *comma = memrchr(text.p, ',', most);
    if (!comma) comma = memchr(text.p, ',', text.n);
    return comma ? (size_t)(comma - text.p) + 1 : text.n;
}

void ops_flush(struct transactions *t)
{
    struct buf all = t->ops;
    int64_t largest = t->ops_largest;
    size_t at = 0;
    err_t e = NULL;
    if (!all.n) return;
    t->ops = BUF_EMPTY;
    t->ops_largest = -1;
    t->ops_refused = false;
    timer_stop(t->broker->tasks, &t->ops_timer);
    while (at < all.n) {   /* what is refused goes back to t->ops */
        struct op_write *w = write_new(t, largest, NULL, NULL);
        size_t n = cut(slice_of(all.p + at, all.n - at), e ? all.n : (size_t)t->broker->cfg->broker.transaction_op_bytes);
        buf_put(&w->body, all.p + at, n);
        at += n;
        err_t failed = append(w);
        if (!e) e = failed;
        else err_free(failed);   /* for the same reason */
    }
    err_drop(e, "ends are written again");
    buf_done(&all);
}

static void on_due(void *ctx) { ops_flush(ctx); }

void ops_init(struct transactions *t)
{
    t->ops = BUF_EMPTY;
    t->ops_largest = -1;
    timer_init(&t->ops_timer, on_due, t);
}

/* Without an index a start cannot find out what was committed: then nothing is gathered. */
void ops_add(struct transactions *t, const struct half *half)
{
    const struct config *cfg = t->broker->cfg;
    put_half(&t->ops, half);
    if (half->queue_offset > t->ops_largest) t->ops_largest = half->queue_offset;
    if (t->broker->stopping) return;
    bool at_once = t->ops.n >= (size_t)cfg->broker.transaction_op_bytes || !cfg->store.index;
    if (at_once && !t->ops_refused) ops_flush(t);
    else if (!t->ops_timer.armed) timer_start(t->broker->tasks, &t->ops_timer, cfg->broker.transaction_op_ms);
}

/* --- reading --- */

int64_t ops_read(struct slice body, void (*each)(void *ctx, int64_t offset), void *ctx)
{
    struct slice part;
    int64_t largest = -1;
    while (slice_split(&body, ',', &part)) {
        int64_t offset;
        if (part.n > NUMBER_MAX || !slice_to_i64(part, &offset) || offset < 0) continue;
        each(ctx, offset);
        if (offset > largest) largest = offset;
    }
    return largest;
}
