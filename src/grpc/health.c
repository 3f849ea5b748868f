#include "grpc/health.h"

#include "base/buf.h"
#include "base/list.h"
#include "grpc/fields.h"

#include <stdlib.h>

enum { NAMES_MAX = 16, REQUEST_SERVICE = 1, RESPONSE_STATUS = 1 };
enum serving { SERVING = 1, NOT_SERVING = 2, SERVICE_UNKNOWN = 3 };

struct health {
    struct grpc_service service;
    const char *names[NAMES_MAX];
    size_t count;
    struct list watches;
    bool leaving;
};

struct check {
    struct list_node node;     /* of a watch that has begun */
    struct grpc_call *call;
    bool watches, asked;
};

static enum serving look(const struct health *h, struct slice name)
{
    bool known = !name.n;
    for (size_t i = 0; i < h->count; i++) known |= slice_eq(name, slice_text(h->names[i]));
    return !known ? SERVICE_UNKNOWN : h->leaving ? NOT_SERVING : SERVING;
}

static void answer(struct grpc_call *c, enum serving serving)
{
    struct buf b = BUF_EMPTY;
    field_put_varint(&b, RESPONSE_STATUS, serving);
    grpc_send_copy(c, buf_slice(&b));
    buf_done(&b);
}

static void finish(struct check *k, enum grpc_status status, const char *text)
{
    struct grpc_call *c = k->call;
    list_remove(&k->node);
    free(k);
    grpc_finish(c, status, slice_text(text));
}

static bool begin(void *ctx, struct grpc_call *c, struct slice method)
{
    (void)ctx;
    bool watches = slice_eq(method, SLICE("Watch"));
    if (!watches && !slice_eq(method, SLICE("Check"))) return false;
    struct check *k = must_zero(sizeof *k);
    list_node_init(&k->node);
    k->call = c;
    k->watches = watches;
    grpc_call_set_data(c, k);
    return true;
}

/* False: it is not a request. */
static bool read_request(struct slice bytes, struct slice *name)
{
    struct field_read f;
    *name = (struct slice){NULL, 0};
    while (field_next(&bytes, &f))
        if (f.number == REQUEST_SERVICE && f.bytes.p) *name = f.bytes;
    return !bytes.n;
}

static void message(void *ctx, struct grpc_call *c, struct slice bytes)
{
    struct health *h = ctx;
    struct check *k = grpc_call_data(c);
    struct slice name;
    if (k->asked) {
        finish(k, GRPC_INVALID_ARGUMENT, "one request is enough");
        return;
    }
    k->asked = true;
    if (!read_request(bytes, &name)) {
        finish(k, GRPC_INVALID_ARGUMENT, "the request cannot be read");
        return;
    }
    enum serving serving = look(h, name);
    if (!k->watches && serving == SERVICE_UNKNOWN) {
        finish(k, GRPC_NOT_FOUND, "there is no such service");
        return;
    }
    answer(c, serving);
    if (!k->watches) finish(k, GRPC_OK, "");
    else if (h->leaving) finish(k, GRPC_UNAVAILABLE, "the server stops");
    else list_add(&h->watches, &k->node);
}

static void half_closed(void *ctx, struct grpc_call *c)
{
    (void)ctx;
    struct check *k = grpc_call_data(c);
    if (!k->asked) finish(k, GRPC_INVALID_ARGUMENT, "the request is missing");
}

static void gone(void *ctx, struct grpc_call *c)
{
    (void)ctx;
    struct check *k = grpc_call_data(c);
    list_remove(&k->node);
    free(k);
}

struct health *health_new(void)
{
    struct health *h = must_zero(sizeof *h);
    h->service = (struct grpc_service){"grpc.health.v1.Health", begin, message, half_closed, gone, h};
    list_init(&h->watches);
    return h;
}

const struct grpc_service *health_service(struct health *h) { return &h->service; }

void health_add(struct health *h, const char *name)
{
    if (h->count < NAMES_MAX) h->names[h->count++] = name;
}

void health_leave(struct health *h)
{
    h->leaving = true;
    while (!list_empty(&h->watches)) {
        struct check *k = LIST_OWNER(list_first(&h->watches), struct check, node);
        answer(k->call, NOT_SERVING);
        finish(k, GRPC_UNAVAILABLE, "the server stops");
    }
}

void health_free(struct health *h) { free(h); }
