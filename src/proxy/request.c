/* One RPC: its parts, its answer, its end. */
#include "proxy/state.h"
#include "proxy/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The memory that a decoded request may take; what its answer takes is in proportion to that. */
enum { REQUEST_ARENA_MAX = 64 << 20 };

struct request *request_new(struct proxy *p, struct grpc_call *call, const struct rpc_row *rpc, struct slice client_id)
{
    struct request *r = must_zero(sizeof *r);
    r->data = CALL_REQUEST;
    r->proxy = p;
    r->call = call;
    r->rpc = rpc;
    r->arena = ARENA_EMPTY;
    list_add(&p->requests, &r->node);
    r->arena.limit = SIZE_MAX / 2;
    r->client_id = arena_copy(&r->arena, client_id);
    r->client = clients_find(&p->clients, client_id);
    return r;
}

err_t request_keep(struct request *r, struct slice bytes, const struct pb_message *kind, void *out)
{
    r->bytes = must_alloc(bytes.n ? bytes.n : 1);
    if (bytes.n) memcpy(r->bytes, bytes.p, bytes.n);
    r->arena.limit = REQUEST_ARENA_MAX;
    err_t e = pb_decode(kind, slice_of(r->bytes, bytes.n), &r->arena, out);
    r->arena.limit = SIZE_MAX / 2;
    return e;
}

void *request_take(struct request *r, size_t n)
{
    void *p = arena_take(&r->arena, n);
    assert(p && "a request's arena has room for its answer");
    return p;
}

struct slice request_printf(struct request *r, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    char *text = request_take(r, (size_t)n + 1);
    va_start(args, fmt);
    vsnprintf(text, (size_t)n + 1, fmt, args);
    va_end(args);
    return slice_of(text, (size_t)n);
}

struct v2_status *status_new(struct request *r, int32_t code, struct slice text)
{
    struct v2_status *s = request_take(r, sizeof *s);
    s->code = code;
    s->message = text.n ? text : code_name(code);
    return s;
}

struct v2_status *status_ok(struct request *r) { return status_new(r, V2_CODE_OK, SLICE("OK")); }

void request_free(struct request *r)
{
    list_remove(&r->node);
    facts_release(r);
    arena_done(&r->arena);
    free(r->bytes);
    free(r);
}

void request_answer(struct request *r, const void *response)
{
    struct pb_out *out = &r->proxy->out;
    if (r->call) {
        pb_out_clear(out);
        pb_encode(r->rpc->response, response, out);
        grpc_send_copy(r->call, pb_out_slice(out));
        grpc_finish(r->call, GRPC_OK, (struct slice){NULL, 0});
    }
    request_free(r);
}

/* All responses begin with their status. */
static void answer_status(struct request *r, int32_t code, struct slice text)
{
    void *response = request_take(r, r->rpc->response->size);
    const struct pb_field *status = &r->rpc->response->fields[0];
    assert(status->part == &v2_status_pb);
    *(struct v2_status **)(void *)((uint8_t *)response + status->at) = status_new(r, code, text);
    if (status->case_at != PB_NOWHERE) *(int32_t *)(void *)((uint8_t *)response + status->case_at) = (int32_t)status->number;
    request_answer(r, response);
}

void request_refuse_bare(struct request *r, int32_t code, struct slice text) { answer_status(r, code, text); }

static void refuse(struct request *r, int32_t code, struct slice text)
{
    if (r->rpc->handle == serve_receive_message) receive_refuse(r, code, text);
    else answer_status(r, code, text);
}

void request_refuse(struct request *r, int32_t code, const char *fmt, ...)
{
    char text[1024];
    va_list args;
    va_start(args, fmt);
    int n = vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    size_t length = (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    while (!utf8_valid(slice_of(text, length))) length--;   /* cut within a character */
    refuse(r, code, arena_copy(&r->arena, slice_of(text, length)));
}

void request_fail(struct request *r, err_t e)
{
    struct slice text = arena_copy(&r->arena, slice_text(err_text(e)));
    int32_t code = code_of_error(err_code(e));
    err_free(e);
    refuse(r, code, utf8_valid(text) ? text : (struct slice){NULL, 0});
}

void request_fail_reply(struct request *r, const struct frame *f)
{
    struct slice text = f->remark.n ? arena_copy(&r->arena, f->remark) : request_printf(r, "%d", f->code);
    refuse(r, code_of_response(f->code), utf8_valid(text) ? text : (struct slice){NULL, 0});
}

void request_ok(struct request *r) { answer_status(r, V2_CODE_OK, SLICE("OK")); }

void request_want(struct request *r, unsigned what, struct slice topic, struct slice group, void (*next)(struct request *r))
{
    facts_want(r, what, topic, group, next);
}

bool request_has_route(struct request *r)
{
    if (r->wanted.route) return true;
    err_t e = r->wanted.route_error;
    r->wanted.route_error = NULL;
    request_fail(r, e);
    return false;
}

struct broker_peer *request_broker(struct request *r, struct slice name) { return brokers_find(&r->proxy->brokers, name); }
