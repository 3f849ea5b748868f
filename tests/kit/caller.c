#include "kit/test.h"

#include "kit/caller.h"

#include <stdlib.h>

enum { CONNECT_MS = 5000, CALL_MS = 30000 };

struct caller {
    struct sim *sim;
    struct loop *loop;
    struct stream *stream;      /* NULL when over */
    bool connected, failed, ended;
    bool later;
    struct buf writing;         /* what a WRITE_LATER needs */
    struct buf queued;          /* what comes after it */
    struct buf in;
    struct list answers;
    int32_t opaque;
    enum frame_form form;
};

void answer_free(struct answer *a)
{
    if (!a) return;
    if (list_linked(&a->node)) list_remove(&a->node);
    buf_done(&a->bytes);
    free(a);
}

/* --- the stream --- */

static void write_queued(struct caller *c)
{
    if (c->later || !c->queued.n || !c->stream) return;
    struct buf empty = c->writing;
    c->writing = c->queued;
    c->queued = empty;
    buf_clear(&c->queued);
    struct iovec part = {c->writing.p, c->writing.n};
    c->later = stream_write(c->stream, &part, 1) == WRITE_LATER;
}

static void on_written(void *ctx)
{
    struct caller *c = ctx;
    c->later = false;
    write_queued(c);
}

static void take_frame(struct caller *c, size_t n)
{
    struct answer *a = must_zero(sizeof *a);
    buf_put(&a->bytes, c->in.p, n);
    EXPECT_OK(frame_decode(a->bytes.p, n, &a->frame));
    list_add(&c->answers, &a->node);
}

static void on_data(void *ctx, uint8_t *p, size_t n)
{
    struct caller *c = ctx;
    buf_put(&c->in, p, n);
    for (;;) {
        size_t size;
        EXPECT_OK(frame_size(c->in.p, c->in.n, &size));
        if (!size || size > c->in.n) return;
        take_frame(c, size);
        c->in.n -= size;
        memmove(c->in.p, c->in.p + size, c->in.n);
    }
}

static void on_end(void *ctx, err_t e)
{
    struct caller *c = ctx;
    err_free(e);
    c->ended = true;
    stream_close(c->stream);
    c->stream = NULL;
}

static void on_connected(void *ctx, err_t e, struct stream *s)
{
    static const struct stream_events events = {on_data, on_end, on_written};
    struct caller *c = ctx;
    c->connected = !e;
    c->failed = e;
    err_free(e);
    c->stream = s;
    if (s) stream_start(s, &events, c);
}

static bool decided(void *ctx) { return ((struct caller *)ctx)->connected || ((struct caller *)ctx)->failed; }

struct caller *caller_open(struct sim *s, struct loop *l, const char *host, uint16_t port)
{
    struct caller *c = must_zero(sizeof *c);
    struct connect *k;
    c->sim = s;
    c->loop = l;
    list_init(&c->answers);
    EXPECT_OK(loop_connect(l, slice_text(host), port, CONNECT_MS, on_connected, c, &k));
    sim_run_until(s, decided, c, CONNECT_MS + 1000);
    if (!c->connected) fail_msg("no connection to %s:%u", host, port);
    return c;
}

void caller_close(struct caller *c)
{
    if (!c) return;
    if (c->stream) stream_close(c->stream);
    LIST_EACH(&c->answers, n) answer_free(LIST_OWNER(n, struct answer, node));
    buf_done(&c->writing);
    buf_done(&c->queued);
    buf_done(&c->in);
    free(c);
}

void caller_use(struct caller *c, enum frame_form form) { c->form = form; }

void caller_send(struct caller *c, struct slice bytes)
{
    buf_put_slice(&c->queued, bytes);
    write_queued(c);
}

void caller_pause(struct caller *c, bool paused)
{
    if (c->stream) stream_pause(c->stream, paused);
}

static void send_frame(struct caller *c, const struct frame_head *head, const struct header_kind *kind, const void *header, struct slice body)
{
    struct frame_writer w;
    struct buf b = BUF_EMPTY;
    frame_begin(&w, &b, head);
    if (kind) header_write(kind, header, &w);
    frame_end(&w, body.n);
    buf_put_slice(&b, body);
    caller_send(c, buf_slice(&b));
    buf_done(&b);
}

int32_t caller_request(struct caller *c, int32_t code, const struct header_kind *kind, const void *header, struct slice body)
{
    struct frame_head head = {.form = c->form, .code = code, .language = LANGUAGE_OTHER, .version = VERSION_5_5_0, .opaque = ++c->opaque};
    send_frame(c, &head, kind, header, body);
    return head.opaque;
}

void caller_oneway(struct caller *c, int32_t code, const struct header_kind *kind, const void *header, struct slice body)
{
    struct frame_head head = {
        .form = c->form, .code = code, .language = LANGUAGE_OTHER, .version = VERSION_5_5_0, .opaque = ++c->opaque, .flag = FRAME_FLAG_ONEWAY,
    };
    send_frame(c, &head, kind, header, body);
}

void caller_answer(struct caller *c, const struct answer *asked, int32_t code, struct slice remark, struct slice body)
{
    struct frame_head head = {
        .form = c->form, .code = code, .language = LANGUAGE_OTHER, .version = VERSION_5_5_0, .opaque = asked->frame.opaque,
        .flag = FRAME_FLAG_RESPONSE, .remark = remark,
    };
    send_frame(c, &head, NULL, NULL, body);
}

/* --- waiting --- */

struct wanted {
    struct caller *caller;
    bool reply;
    int32_t number;             /* opaque of a reply, code of a request */
    struct answer *found;
};

static bool look(void *ctx)
{
    struct wanted *w = ctx;
    LIST_EACH(&w->caller->answers, n) {
        struct answer *a = LIST_OWNER(n, struct answer, node);
        if (!!(a->frame.flag & FRAME_FLAG_RESPONSE) != w->reply) continue;
        if (w->reply ? a->frame.opaque != w->number : w->number != -1 && a->frame.code != w->number) continue;
        w->found = a;
        return true;
    }
    return w->caller->ended;
}

static struct answer *await(struct wanted w, int64_t limit_ms)
{
    sim_run_until(w.caller->sim, look, &w, limit_ms);
    if (w.found) list_remove(&w.found->node);
    return w.found;
}

struct answer *caller_reply(struct caller *c, int32_t opaque, int64_t limit_ms) { return await((struct wanted){c, true, opaque, NULL}, limit_ms); }
struct answer *caller_asked(struct caller *c, int32_t code, int64_t limit_ms) { return await((struct wanted){c, false, code, NULL}, limit_ms); }

struct answer *caller_call(struct caller *c, int32_t code, const struct header_kind *kind, const void *header, struct slice body)
{
    struct answer *a = caller_reply(c, caller_request(c, code, kind, header, body), CALL_MS);
    if (!a) fail_msg("no reply to request %d%s", code, c->ended ? ": the connection was closed" : "");
    return a;
}

static bool is_over(void *ctx) { return ((struct caller *)ctx)->ended; }
bool caller_ended(struct caller *c, int64_t limit_ms) { return sim_run_until(c->sim, is_over, c, limit_ms); }

size_t caller_unread(const struct caller *c)
{
    size_t n = 0;
    for (const struct list_node *a = c->answers.head.next; a != &c->answers.head; a = a->next) n++;
    return n;
}
