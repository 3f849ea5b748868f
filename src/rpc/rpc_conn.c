#include "rpc/rpc_internal.h"

#include "base/log.h"
#include "base/metrics.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { SLOTS_MAX = 65536, IDLE_SCAN_MS = 5000, REMARK_MAX_BYTES = 4096 };

/* A request of ours that waits for its reply. */
struct rpc_pending {
    struct rpc_conn *conn;
    struct timer timeout;
    int32_t opaque;
    rpc_done *done;
    void *ctx;
};

struct rpc_options rpc_options_default(void)
{
    return (struct rpc_options){.idle_close_ms = 120000, .max_reply_bytes = (size_t)64 << 20, .stalled_close_ms = 30000};
}

struct tasks *rpc_tasks(struct loop *loop) { return &loop->tasks; }

/* --- connections --- */

static void count(struct rpc_hub *h, enum metric which, int64_t n)
{
    if (h->options.metrics) metric_add(h->options.metrics, which, n);
}

const struct addr *rpc_conn_remote(const struct rpc_conn *c) { return &c->remote; }
int rpc_conn_tag(const struct rpc_conn *c) { return c->tag; }
uint64_t rpc_conn_id(const struct rpc_conn *c) { return c->id; }
bool rpc_conn_open(const struct rpc_conn *c) { return c->conn; }
struct list *rpc_conn_waiting(struct rpc_conn *c) { return &c->waiting; }

struct rpc_conn *rpc_conn_ref(struct rpc_conn *c)
{
    c->refs++;
    return c;
}

void rpc_conn_unref(struct rpc_conn *c)
{
    assert(c->refs);
    if (--c->refs) return;
    assert(list_empty(&c->waiting));   /* R4 */
    free(c->pending);
    free(c);
}

/* Takes the pending request out of its slot and tells its owner how it ended. */
static void finish(struct rpc_pending *p, err_t e, const struct rpc_reply *reply)
{
    p->conn->pending[(uint32_t)p->opaque & (SLOTS_MAX - 1)] = NULL;
    p->conn->in_flight--;
    timer_stop(&p->conn->hub->loop->tasks, &p->timeout);
    rpc_done *done = p->done;
    void *ctx = p->ctx;
    free(p);
    done(ctx, e, reply);
}

static void fail_pending(struct rpc_conn *c)
{
    for (uint32_t i = 0; i < c->slots; i++)
        if (c->pending[i]) finish(c->pending[i], err_new(ERR_CLOSED, NULL), NULL);
}

void rpc_conn_close(struct rpc_conn *c, const char *why)
{
    if (!c->conn) return;
    char remote[ADDR_TEXT_MAX];
    log_debug("conn.closed conn=%llu remote=%s why=\"%s\"", (unsigned long long)c->id, addr_format(&c->remote, remote), why);
    conn_close(c->conn);
    c->conn = NULL;
    count(c->hub, METRIC_CONNECTIONS, -1);
    list_remove(&c->node);
    fail_pending(c);
    struct rpc_service service = c->hub->service;
    if (service.closed) service.closed(service.ctx, c);
    rpc_conn_unref(c);
}

/* --- requests and replies coming in --- */

static void take_reply(struct rpc_conn *c, const struct frame *f)
{
    uint32_t slot = (uint32_t)f->opaque & (SLOTS_MAX - 1);
    struct rpc_pending *p = slot < c->slots ? c->pending[slot] : NULL;
    if (!p || p->opaque != f->opaque) return;   /* too late, or never asked for */
    struct rpc_reply reply = {.frame = f};
    finish(p, NULL, &reply);
}

static void take_request(struct rpc_conn *c, const struct frame *f)
{
    struct call *call = must_alloc(sizeof *call);
    *call = (struct call){
        .conn = rpc_conn_ref(c), .frame = f, .body = f->body, .code = f->code, .version = f->version, .opaque = f->opaque,
        .language = f->language, .form = f->form, .oneway = f->flag & FRAME_FLAG_ONEWAY,
        .begun_ms = tasks_mono_ms(&c->hub->loop->tasks),
    };
    c->unanswered++;
    c->hub->service.handle(c->hub->service.ctx, call);
}

static void refuse(struct rpc_conn *c, err_t e)
{
    char remote[ADDR_TEXT_MAX];
    if (log_may(&c->hub->refused, "conn.refused", tasks_mono_ms(&c->hub->loop->tasks)))
        log_info("conn.refused conn=%llu remote=%s why=\"%s\"", (unsigned long long)c->id, addr_format(&c->remote, remote), err_text(e));
    err_free(e);
    count(c->hub, METRIC_FRAMES_REFUSED, 1);
    rpc_conn_close(c, "broken frame");
}

static void on_unit(void *ctx, uint8_t *p, size_t n)
{
    struct rpc_conn *c = ctx;
    struct frame *f = &c->hub->frame;
    err_t e = frame_decode(p, n, f);
    if (e) {
        refuse(c, e);
        return;
    }
    rpc_conn_ref(c);
    if (f->flag & FRAME_FLAG_RESPONSE) take_reply(c, f);
    else take_request(c, f);
    rpc_conn_unref(c);
}

static void on_end(void *ctx, err_t e)
{
    struct rpc_conn *c = ctx;
    if (err_code(e) == ERR_FRAME || err_code(e) == ERR_BUSY) {
        refuse(c, e);
        return;
    }
    rpc_conn_close(c, e ? err_text(e) : "closed by the other end");
    err_free(e);
}

static const struct conn_events conn_events = {.size = frame_size, .unit = on_unit, .end = on_end};

struct rpc_conn *rpc_conn_new(struct rpc_hub *h, struct stream *s, const struct addr *remote)
{
    static atomic_ullong ids;
    struct rpc_conn *c = must_zero(sizeof *c);
    c->hub = h;
    c->refs = 1;
    c->remote = *remote;
    c->tag = h->tag;
    c->id = atomic_fetch_add(&ids, 1) + 1;
    count(h, METRIC_CONNECTIONS, 1);
    list_init(&c->waiting);
    list_add(&h->conns, &c->node);
    struct conn_limits limits = {h->options.max_reply_bytes, h->options.stalled_close_ms};
    c->conn = conn_new(&h->group, s, &conn_events, &limits, c);
    return c;
}

/* --- replies going out --- */

static void call_free(struct call *call)
{
    call->conn->unanswered--;
    rpc_conn_unref(call->conn);
    free(call);
}

static void tell_answered(const struct call *call, int32_t code)
{
    if (!call->conn->conn) return;
    const struct rpc_service *service = &call->conn->hub->service;
    if (service->answered) service->answered(service->ctx, call, code);
}

static bool wants_reply(const struct call *call) { return !call->oneway && call->conn->conn; }

/* Texts of clients stand in remarks; a header's length has 24 bits. A character that is cut loses all of its bytes. */
static struct slice cut_remark(const char *remark)
{
    struct slice s = slice_text(remark);
    if (s.n <= REMARK_MAX_BYTES) return s;
    s.n = REMARK_MAX_BYTES;
    while (s.n && (s.p[s.n] & 0xC0) == 0x80) s.n--;
    return s;
}

static void begin_reply(struct call *call, struct frame_writer *w, int32_t code, const char *remark, const struct header_kind *kind,
                        const void *header)
{
    struct frame_head head = {
        .form = call->form, .code = code, .language = LANGUAGE_OTHER, .version = RPC_VERSION, .opaque = call->opaque,
        .flag = FRAME_FLAG_RESPONSE, .remark = cut_remark(remark),
    };
    frame_begin(w, conn_out(call->conn->conn), &head);
    if (kind) header_write(kind, header, w);
}

void call_reply_more(struct call *call, int32_t code, const char *remark, const struct header_kind *kind, const void *header,
                     void (*more)(void *ctx, struct frame_writer *w), void *ctx, struct slice body)
{
    if (wants_reply(call)) {
        struct frame_writer w;
        begin_reply(call, &w, code, remark, kind, header);
        if (more) more(ctx, &w);
        frame_end(&w, body.n);
        buf_put_slice(w.out, body);
        conn_sent(call->conn->conn);
    }
    tell_answered(call, code);
    call_free(call);
}

void call_reply(struct call *call, int32_t code, const char *remark, const struct header_kind *kind, const void *header, struct slice body)
{
    call_reply_more(call, code, remark, kind, header, NULL, NULL, body);
}

void call_reply_pinned(struct call *call, int32_t code, const char *remark, const struct header_kind *kind, const void *header,
                       struct pinned *parts, size_t count)
{
    if (wants_reply(call)) {
        size_t bytes = 0;
        for (size_t i = 0; i < count; i++) bytes += parts[i].bytes.n;
        struct frame_writer w;
        begin_reply(call, &w, code, remark, kind, header);
        frame_end(&w, bytes);
        for (size_t i = 0; i < count; i++) conn_out_pinned(call->conn->conn, &parts[i]);
        conn_sent(call->conn->conn);
    }
    for (size_t i = 0; i < count; i++) pin_release(&parts[i]);
    tell_answered(call, code);
    call_free(call);
}

void call_reply_ok(struct call *call) { call_reply(call, RESPONSE_SUCCESS, NULL, NULL, NULL, (struct slice){NULL, 0}); }

void call_fail(struct call *call, err_t e)
{
    log_debug("call.failed conn=%llu code=%d opaque=%d error=%s text=\"%s\"", (unsigned long long)call->conn->id, call->code,
              call->opaque, err_name(err_code(e)), err_text(e));
    call_reply(call, err_response(e), err_text(e), NULL, NULL, (struct slice){NULL, 0});
    err_free(e);
}

void call_drop(struct call *call) { call_free(call); }

/* --- requests going out --- */

static void pending_timeout(void *ctx)
{
    struct rpc_pending *p = ctx;
    finish(p, err_new(ERR_TIMEOUT, NULL), NULL);
}

/* A free slot's number; the table doubles when all are taken. */
static bool find_slot(struct rpc_conn *c, uint32_t *out)
{
    if (c->in_flight == c->slots) {
        if (c->slots == SLOTS_MAX) return false;
        uint32_t slots = c->slots ? c->slots * 2 : 8;
        struct rpc_pending **pending = must_zero(slots * sizeof(struct rpc_pending *));
        if (c->slots) memcpy(pending, c->pending, c->slots * sizeof(struct rpc_pending *));
        free(c->pending);
        c->pending = pending;
        c->slots = slots;
    }
    uint32_t slot = c->sequence & (c->slots - 1);
    while (c->pending[slot]) slot = (slot + 1) & (c->slots - 1);
    *out = slot;
    return true;
}

static err_t add_pending(struct rpc_conn *c, const struct rpc_request *r, int32_t *opaque)
{
    uint32_t slot;
    if (!find_slot(c, &slot)) return err_new(ERR_BUSY, "%d requests wait for their replies", SLOTS_MAX);
    *opaque = (int32_t)((++c->sequence & 0x7FFF) << 16 | slot);
    if (!r->done) return NULL;   /* oneway: nothing to wait for */
    struct rpc_pending *p = must_zero(sizeof *p);
    p->conn = c;
    p->opaque = *opaque;
    p->done = r->done;
    p->ctx = r->ctx;
    timer_init(&p->timeout, pending_timeout, p);
    timer_start(&c->hub->loop->tasks, &p->timeout, r->timeout_ms);
    c->pending[slot] = p;
    c->in_flight++;
    return NULL;
}

/* JSON is understood by everybody; within the process the binary header costs a third, but has room for small codes only. */
static enum frame_form request_form(const struct rpc_conn *c, int32_t code)
{
    return c->hub->options.within_process && code <= INT16_MAX ? FRAME_BINARY : FRAME_JSON;
}

void rpc_conn_request(struct rpc_conn *c, const struct rpc_request *r)
{
    int32_t opaque = 0;
    err_t e = c->conn ? add_pending(c, r, &opaque) : err_new(ERR_CLOSED, NULL);
    if (e) {
        if (r->done) r->done(r->ctx, e, NULL);
        else err_drop(e, "a oneway request is not answered");
        return;
    }
    struct frame_head head = {
        .form = request_form(c, r->code), .code = r->code, .language = LANGUAGE_OTHER, .version = RPC_VERSION, .opaque = opaque,
        .flag = r->done ? 0 : FRAME_FLAG_ONEWAY, .remark = {NULL, 0},
    };
    struct frame_writer w;
    frame_begin(&w, conn_out(c->conn), &head);
    if (r->kind) header_write(r->kind, r->header, &w);
    frame_end(&w, r->body.n);
    buf_put_slice(w.out, r->body);
    conn_sent(c->conn);
}

/* --- hubs --- */

static void scan_idle(void *ctx)
{
    struct rpc_hub *h = ctx;
    int64_t now = tasks_mono_ms(&h->loop->tasks);
    LIST_EACH(&h->conns, node) {
        struct rpc_conn *c = LIST_OWNER(node, struct rpc_conn, node);
        if (now - conn_active_ms(c->conn) > h->options.idle_close_ms) rpc_conn_close(c, "idle");
    }
    timer_start(&h->loop->tasks, &h->idle_scan, IDLE_SCAN_MS);
}

void hub_init(struct rpc_hub *h, struct loop *loop, int tag, const struct rpc_service *service, const struct rpc_options *options)
{
    h->loop = loop;
    h->tag = tag;
    h->service = *service;
    h->options = options ? *options : rpc_options_default();
    list_init(&h->conns);
    conn_group_init(&h->group, loop);
    timer_init(&h->idle_scan, scan_idle, h);
    if (h->options.idle_close_ms) timer_start(&loop->tasks, &h->idle_scan, IDLE_SCAN_MS);
}

void hub_done(struct rpc_hub *h)
{
    timer_stop(&h->loop->tasks, &h->idle_scan);
    while (!list_empty(&h->conns)) rpc_conn_close(LIST_OWNER(list_first(&h->conns), struct rpc_conn, node), "shutdown");
    conn_group_done(&h->group);
}
