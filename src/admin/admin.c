#include "admin/session.h"

#include "os/tasks.h"
#include "rpc/rpc.h"

#include <assert.h>
#include <stdlib.h>

enum { RPC_GRACE_MS = 1000 };   /* our deadline comes first, and tells in its own words */

/* A server that was asked. */
struct contact {
    struct list_node node;
    struct slice address;
    struct rpc_peer *peer;
};

/* A request under way. Off the list: nobody waits for it any more. */
struct asking {
    struct list_node node;
    struct admin *admin;
    struct slice address;
    const struct header_kind *heard_kind;
    struct heard *heard;
    answered *done;
    void *ctx;
};

struct admin {
    struct admin_options options;
    struct arena arena;         /* answers */
    struct arena jobs;
    struct list contacts;
    struct list asking;
    struct timer deadline;
    bool expired;
    admin_done *done;
    void *ctx;
};

struct arena *admin_arena(struct admin *a) { return &a->arena; }
void *admin_take(struct admin *a, size_t n) { return arena_take(&a->jobs, n); }
const struct admin_options *admin_options(const struct admin *a) { return &a->options; }

bool admin_is_silence(err_t e)
{
    enum err_code c = err_code(e);
    return c == ERR_TIMEOUT || c == ERR_CLOSED || c == ERR_NETWORK || c == ERR_ADDRESS;
}

static err_t too_late(const struct admin *a, struct slice address)
{
    return err_new(ERR_TIMEOUT, "%.*s: no answer within %lld ms", SLICE_ARG(address), (long long)a->options.timeout_ms);
}

static void on_deadline(void *ctx)
{
    struct admin *a = ctx;
    struct list late;
    a->expired = true;
    list_move(&a->asking, &late);
    while (!list_empty(&late)) {
        struct asking *q = LIST_OWNER(list_first(&late), struct asking, node);
        list_remove(&q->node);
        if (q->heard) *q->heard = (struct heard){.code = -1};
        q->done(q->ctx, too_late(a, q->address), (struct slice){NULL, 0});
    }
}

struct admin *admin_new(const struct admin_options *o)
{
    struct admin *a = must_zero(sizeof *a);
    a->options = *o;
    a->arena = ARENA_EMPTY;
    a->jobs.limit = SIZE_MAX;
    list_init(&a->contacts);
    list_init(&a->asking);
    timer_init(&a->deadline, on_deadline, a);
    return a;
}

void admin_free(struct admin *a)
{
    if (!a) return;
    timer_stop(rpc_tasks(a->options.loop), &a->deadline);
    while (!list_empty(&a->asking)) list_remove(list_first(&a->asking));
    while (!list_empty(&a->contacts)) {
        struct contact *c = LIST_OWNER(list_first(&a->contacts), struct contact, node);
        list_remove(&c->node);
        rpc_peer_free(c->peer);
        free(c);
    }
    arena_done(&a->arena);
    arena_done(&a->jobs);
    free(a);
}

void admin_begin(struct admin *a, admin_done *done, void *ctx)
{
    assert_on_loop(rpc_tasks(a->options.loop));
    a->done = done;
    a->ctx = ctx;
    a->expired = false;
    timer_start(rpc_tasks(a->options.loop), &a->deadline, a->options.timeout_ms);
}

void admin_end(struct admin *a, err_t e)
{
    timer_stop(rpc_tasks(a->options.loop), &a->deadline);
    a->done(a->ctx, e);
}

/* --- asking --- */

static struct rpc_peer *contact(struct admin *a, struct slice address)
{
    LIST_EACH(&a->contacts, node) {
        struct contact *c = LIST_OWNER(node, struct contact, node);
        if (slice_eq(c->address, address)) return c->peer;
    }
    struct contact *c = must_zero(sizeof *c);
    c->address = arena_copy(&a->jobs, address);
    c->peer = rpc_peer_new(a->options.loop, address, NULL, NULL);
    list_add(&a->contacts, &c->node);
    return c->peer;
}

/* The first line of what a server says: the original adds a second one with a link. */
static struct slice first_line(struct slice remark)
{
    struct slice line = remark;
    return slice_split(&remark, '\n', &line) ? slice_trim(line) : SLICE("no reason given");
}

static err_t refusal(const struct frame *f)
{
    struct slice text = first_line(f->remark);
    switch (f->code) {
    case RESPONSE_TOPIC_NOT_EXIST: return err_new(ERR_TOPIC_NOT_FOUND, "%.*s", SLICE_ARG(text));
    case RESPONSE_SUBSCRIPTION_GROUP_NOT_EXIST: return err_new(ERR_GROUP_NOT_FOUND, "%.*s", SLICE_ARG(text));
    case RESPONSE_CONSUMER_NOT_ONLINE: return err_new(ERR_NOT_ONLINE, "%.*s", SLICE_ARG(text));
    case RESPONSE_REQUEST_CODE_NOT_SUPPORTED:
        return err_new(ERR_NOT_SUPPORTED, "it does not know the request: it is a server of another kind or version");
    default: return err_new(ERR_REFUSED, "%.*s (code %d)", SLICE_ARG(text), f->code);
    }
}

/* The typed header of an answer, with texts of its own. */
static void *keep_header(struct arena *arena, const struct header_kind *kind, const struct frame *f)
{
    uint8_t *header = arena_take(arena, kind->size);
    err_t e = header ? header_decode(kind, f, header) : NULL;
    if (!header || e) {
        err_free(e);   /* who needs it says so */
        return NULL;
    }
    for (size_t i = 0; i < kind->count; i++) {
        struct slice text;
        if (kind->rows[i].type != FIELD_TYPE_text) continue;
        memcpy(&text, header + kind->rows[i].at, sizeof text);
        text = arena_copy(arena, text);
        memcpy(header + kind->rows[i].at, &text, sizeof text);
    }
    return header;
}

static void hear(struct asking *q, err_t e, const struct rpc_reply *reply)
{
    if (!q->heard) return;
    *q->heard = (struct heard){.code = -1};
    if (e) return;
    q->heard->code = reply->frame->code;
    if (reply->frame->code) q->heard->body = arena_copy(&q->admin->arena, reply->frame->body);
    if (q->heard_kind) q->heard->header = keep_header(&q->admin->arena, q->heard_kind, reply->frame);
}

static err_t take_reply(struct admin *a, err_t e, const struct rpc_reply *reply, struct slice address, struct slice *body)
{
    if (err_code(e) == ERR_CLOSED || err_code(e) == ERR_TIMEOUT) return err_in(e, "%.*s", SLICE_ARG(address));
    if (!e && reply->frame->code) return refusal(reply->frame);
    if (!e) *body = arena_copy(&a->arena, reply->frame->body);
    if (!e && reply->frame->body.n && !body->p)
        return err_new(ERR_BODY, "the answers are too large: more than %d MiB", ARENA_LIMIT_BYTES >> 20);
    return e;
}

static void on_reply(void *ctx, err_t e, const struct rpc_reply *reply)
{
    struct asking *q = ctx;
    struct slice body = {NULL, 0};
    if (!list_linked(&q->node)) {
        err_free(e);   /* its fate was told at the deadline, or the admin is gone */
        free(q);
        return;
    }
    list_remove(&q->node);
    hear(q, e, reply);
    e = take_reply(q->admin, e, reply, q->address, &body);
    q->done(q->ctx, e, body);
    free(q);
}

void admin_ask(struct admin *a, struct slice address, const struct request *r, answered *done, void *ctx)
{
    assert_on_loop(rpc_tasks(a->options.loop));
    if (a->expired) {
        if (r->heard) *r->heard = (struct heard){.code = -1};
        done(ctx, too_late(a, address), (struct slice){NULL, 0});
        return;
    }
    struct asking *q = must_zero(sizeof *q);
    *q = (struct asking){.admin = a, .address = arena_copy(&a->jobs, address), .done = done, .ctx = ctx};
    q->heard_kind = r->heard_kind;
    q->heard = r->heard;
    list_add(&a->asking, &q->node);
    struct rpc_request request = {
        .code = r->code, .kind = r->kind, .header = r->header, .body = r->body,
        .timeout_ms = a->options.timeout_ms + RPC_GRACE_MS, .done = on_reply, .ctx = q,
    };
    rpc_peer_request(contact(a, address), &request);
}
