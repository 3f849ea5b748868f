#include "grpc/reflection.h"

#include "base/buf.h"
#include "grpc/fields.h"

#include <stdlib.h>

enum { FILES_MAX = 8 };

/* Numbers of fields. */
enum {
    FILE_NAME = 1, FILE_PACKAGE = 2, FILE_MESSAGE = 4, FILE_ENUM = 5, FILE_SERVICE = 6,          /* FileDescriptorProto */
    ANY_NAME = 1, MESSAGE_NESTED = 3, MESSAGE_ENUM = 4, SERVICE_METHOD = 2,                       /* what is in it */
    ASK_FILE = 3, ASK_SYMBOL = 4, ASK_EXTENSION = 5, ASK_EXTENSIONS = 6, ASK_SERVICES = 7,        /* ServerReflectionRequest */
    REPLY_REQUEST = 2, REPLY_FILE = 4, REPLY_SERVICES = 6, REPLY_ERROR = 7,                       /* ServerReflectionResponse */
    ERROR_CODE = 1, ERROR_TEXT = 2,
};

struct reflection {
    struct grpc_service services[REFLECTION_SERVICES];
    struct slice files[FILES_MAX];
    size_t count;
};

/* --- descriptors --- */

static struct slice text_of(struct slice message, uint32_t number)
{
    struct field_read f;
    while (field_next(&message, &f))
        if (f.number == number && f.bytes.p) return f.bytes;
    return (struct slice){NULL, 0};
}

/* "a.b.C" without "a.b", when it is in there; false: it is not. */
static bool cut_name(struct slice *symbol, struct slice name)
{
    if (!slice_starts(*symbol, name)) return false;
    if (symbol->n == name.n) {
        *symbol = (struct slice){NULL, 0};
        return true;
    }
    if (name.n && symbol->p[name.n] != '.') return false;
    *symbol = slice_skip(*symbol, name.n ? name.n + 1 : 0);
    return true;
}

static bool has_member(struct slice message, struct slice symbol);

/* Whether an element, a message, enum, service or method, is the symbol or holds it. */
static bool is_or_holds(struct slice element, struct slice symbol)
{
    return cut_name(&symbol, text_of(element, ANY_NAME)) && (!symbol.n || has_member(element, symbol));
}

static bool has_member(struct slice message, struct slice symbol)
{
    struct field_read f;
    for (struct slice rest = message; field_next(&rest, &f);) {
        bool member = f.number == MESSAGE_NESTED || f.number == MESSAGE_ENUM || f.number == SERVICE_METHOD;
        if (member && f.bytes.p && is_or_holds(f.bytes, symbol)) return true;
    }
    return false;
}

static bool file_has(struct slice file, struct slice symbol)
{
    struct field_read f;
    if (!cut_name(&symbol, text_of(file, FILE_PACKAGE)) || !symbol.n) return false;
    while (field_next(&file, &f)) {
        bool member = f.number == FILE_MESSAGE || f.number == FILE_ENUM || f.number == FILE_SERVICE;
        if (member && f.bytes.p && is_or_holds(f.bytes, symbol)) return true;
    }
    return false;
}

/* --- answers --- */

static void put_error(struct buf *reply, enum grpc_status status, const char *text)
{
    struct buf b = BUF_EMPTY;
    field_put_varint(&b, ERROR_CODE, status);
    field_put_bytes(&b, ERROR_TEXT, slice_text(text));
    field_put_bytes(reply, REPLY_ERROR, buf_slice(&b));
    buf_done(&b);
}

static void put_file(struct buf *reply, struct slice file)
{
    struct buf b = BUF_EMPTY;
    field_put_bytes(&b, 1, file);
    field_put_bytes(reply, REPLY_FILE, buf_slice(&b));
    buf_done(&b);
}

static void put_service(struct buf *list, struct slice package, struct slice name)
{
    struct buf full = BUF_EMPTY, b = BUF_EMPTY;
    buf_printf(&full, "%.*s%s%.*s", SLICE_ARG(package), package.n ? "." : "", SLICE_ARG(name));
    field_put_bytes(&b, 1, buf_slice(&full));
    field_put_bytes(list, 1, buf_slice(&b));
    buf_done(&full);
    buf_done(&b);
}

static void put_services(const struct reflection *r, struct buf *reply)
{
    struct buf list = BUF_EMPTY;
    struct field_read f;
    for (size_t i = 0; i < r->count; i++)
        for (struct slice rest = r->files[i]; field_next(&rest, &f);)
            if (f.number == FILE_SERVICE && f.bytes.p) put_service(&list, text_of(r->files[i], FILE_PACKAGE), text_of(f.bytes, ANY_NAME));
    field_put_bytes(reply, REPLY_SERVICES, buf_slice(&list));
    buf_done(&list);
}

static void find_file(const struct reflection *r, bool by_symbol, struct slice what, struct buf *reply)
{
    for (size_t i = 0; i < r->count; i++) {
        struct slice file = r->files[i];
        if (!(by_symbol ? file_has(file, what) : slice_eq(text_of(file, FILE_NAME), what))) continue;
        put_file(reply, file);
        return;
    }
    put_error(reply, GRPC_NOT_FOUND, by_symbol ? "there is no such symbol" : "there is no such file");
}

/* False: the request cannot be read. Of several questions in one the last one counts. */
static bool answer(const struct reflection *r, struct slice request, struct buf *reply)
{
    struct field_read f, asked = {.number = 0};
    struct slice rest = request;
    while (field_next(&rest, &f))
        if (f.number >= ASK_FILE && f.number <= ASK_SERVICES && f.bytes.p) asked = f;
    if (rest.n) return false;
    field_put_bytes(reply, REPLY_REQUEST, request);
    if (asked.number == ASK_SERVICES) put_services(r, reply);
    else if (asked.number == ASK_FILE || asked.number == ASK_SYMBOL) find_file(r, asked.number == ASK_SYMBOL, asked.bytes, reply);
    else if (asked.number) put_error(reply, GRPC_NOT_FOUND, "there are no extensions");
    else put_error(reply, GRPC_INVALID_ARGUMENT, "nothing is asked");
    return true;
}

/* --- the service --- */

static bool begin(void *ctx, struct grpc_call *c, struct slice method)
{
    (void)ctx, (void)c;
    return slice_eq(method, SLICE("ServerReflectionInfo"));
}

static void message(void *ctx, struct grpc_call *c, struct slice bytes)
{
    struct buf reply = BUF_EMPTY;
    if (answer(ctx, bytes, &reply)) grpc_send_copy(c, buf_slice(&reply));
    else grpc_finish(c, GRPC_INVALID_ARGUMENT, SLICE("the request cannot be read"));
    buf_done(&reply);
}

static void half_closed(void *ctx, struct grpc_call *c)
{
    (void)ctx;
    grpc_finish(c, GRPC_OK, SLICE(""));
}

static void gone(void *ctx, struct grpc_call *c) { (void)ctx, (void)c; }

struct reflection *reflection_new(void)
{
    struct reflection *r = must_zero(sizeof *r);
    r->services[0] = (struct grpc_service){"grpc.reflection.v1.ServerReflection", begin, message, half_closed, gone, r};
    r->services[1] = r->services[0];
    r->services[1].name = "grpc.reflection.v1alpha.ServerReflection";
    return r;
}

void reflection_add(struct reflection *r, struct slice descriptor)
{
    if (r->count < FILES_MAX) r->files[r->count++] = descriptor;
}

const struct grpc_service *reflection_service(struct reflection *r, int version) { return &r->services[version]; }
void reflection_free(struct reflection *r) { free(r); }
